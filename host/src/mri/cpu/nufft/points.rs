//! The samples in the order in which the grid has them.

use super::layout::Layout;
use crate::fft::Real;
use ndarray::ArrayView2;
use rayon::prelude::*;
use std::ops::Range;

/// Cells along x within which samples keep their order.
const BIN: usize = 8;

/// Most samples of a part. Independent of the number of threads, for sums over a part and then over
/// parts depend on it.
const MOST: usize = 1 << 14;

/// Where a sample is, within its rod.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point<T> {
    /// The first cell that it touches: along x in the grid, along y and z in its rod.
    pub(super) x: u32,
    pub(super) y: u16,
    pub(super) z: u16,
    /// Where it is between the cells, −1 … 1: what the kernel's polynomials take.
    pub(super) position: [T; 3],
}

/// Neighbouring samples of a rod, done in an array of their own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) rod: usize,
    /// Of the sorted samples.
    pub(super) points: Range<usize>,
    /// First cells along x.
    pub(super) x: Range<usize>,
}

/// All samples, sorted by rod and along it.
pub(super) struct SortedPoints<T> {
    pub(super) points: Vec<Point<T>>,
    /// Which sample it is, of each sorted one.
    pub(super) order: Vec<u32>,
    /// Where it was sorted to, of each sample.
    pub(super) ranks: Vec<u32>,
    /// By rods, each along x.
    pub(super) parts: Vec<Part>,
    /// The parts of each rod.
    pub(super) of_rod: Vec<Range<usize>>,
}

/// First cell and position of k, in cycles/pixel, on an axis.
fn first_cell(layout: &Layout, axis: usize, k: f64) -> (usize, f64) {
    let (cells, touched) = (layout.cells[axis], layout.touched[axis]);
    let from = (k - k.floor()) * cells as f64 - 0.5 * touched as f64;
    let first = from.ceil();
    let position = 2.0 * (first - from) - 1.0;
    let wrapped = (first as isize).rem_euclid(cells as isize) as usize;
    (wrapped, position)
}

impl<T: Real> SortedPoints<T> {
    pub(super) fn new(layout: &Layout, trajectory: ArrayView2<'_, f64>) -> Self {
        let (count, axes) = trajectory.dim();
        let bins = layout.cells[0].div_ceil(BIN);
        let place = |sample: usize| -> [(usize, f64); 3] {
            std::array::from_fn(|axis| {
                if axis < axes {
                    first_cell(layout, axis, trajectory[[sample, axis]])
                } else {
                    (0, 0.0)
                }
            })
        };
        let keys: Vec<u32> = (0..count)
            .into_par_iter()
            .with_min_len(1 << 12)
            .map(|sample| {
                let [(x, _), (y, _), (z, _)] = place(sample);
                let rod = layout.rod((layout.bands[0].of(y), layout.bands[1].of(z)));
                (rod * bins + x / BIN) as u32
            })
            .collect();
        let mut next = vec![0_u32; layout.rods() * bins + 1];
        for key in &keys {
            next[*key as usize + 1] += 1;
        }
        for key in 1..next.len() {
            next[key] += next[key - 1];
        }
        let of_rods: Vec<Range<usize>> = (0..layout.rods())
            .map(|rod| next[rod * bins] as usize..next[(rod + 1) * bins] as usize)
            .collect();
        let mut order = vec![0; count];
        let mut ranks = vec![0; count];
        for (sample, key) in keys.iter().enumerate() {
            let rank = &mut next[*key as usize];
            order[*rank as usize] = sample as u32;
            ranks[sample] = *rank;
            *rank += 1;
        }
        let points: Vec<Point<T>> = order
            .par_iter()
            .with_min_len(1 << 12)
            .map(|sample| {
                let [x, y, z] = place(*sample as usize);
                let local = |axis: usize, cell: usize| {
                    let bands = &layout.bands[axis];
                    (cell - bands.start(bands.of(cell))) as u16
                };
                Point {
                    x: x.0 as u32,
                    y: local(0, y.0),
                    z: local(1, z.0),
                    position: [T::of(x.1), T::of(y.1), T::of(z.1)],
                }
            })
            .collect();
        let mut parts = Vec::new();
        let mut of_rod = Vec::new();
        for (rod, range) in of_rods.into_iter().enumerate() {
            let first = parts.len();
            for start in range.clone().step_by(MOST) {
                let range = start..range.end.min(start + MOST);
                let x = points[range.clone()].iter().map(|p| p.x as usize);
                let (low, high) = x.fold((usize::MAX, 0), |(l, h), x| (l.min(x), h.max(x)));
                parts.push(Part {
                    rod,
                    points: range,
                    x: low..high + 1,
                });
            }
            of_rod.push(first..parts.len());
        }
        Self {
            points,
            order,
            ranks,
            parts,
            of_rod,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }
}
