//! The samples in the order in which the grid has them.

use super::layout::{Bands, Layout};
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

/// Where samples fall on an axis, and which band of it has a cell.
struct Axis {
    cells: f64,
    half_touched: f64,
    /// Of every cell, its band and how far it is from the band's start.
    bands: Vec<(u16, u16)>,
}

impl Axis {
    fn new(layout: &Layout, axis: usize) -> Self {
        let bands = |bands: &Bands| {
            let cells = 0..layout.cells[axis];
            cells
                .map(|cell| {
                    let band = bands.of(cell);
                    (band as u16, (cell - bands.start(band)) as u16)
                })
                .collect()
        };
        Self {
            cells: layout.cells[axis] as f64,
            half_touched: 0.5 * layout.touched[axis] as f64,
            bands: axis
                .checked_sub(1)
                .map_or_else(Vec::new, |i| bands(&layout.bands[i])),
        }
    }

    /// First cell and position of k, in cycles/pixel.
    #[inline(always)]
    fn place(&self, k: f64) -> (usize, f64) {
        let from = (k - k.floor()) * self.cells - self.half_touched;
        let first = from.ceil();
        let wrapped = if first < 0.0 {
            first + self.cells
        } else {
            first
        };
        (wrapped as u32 as usize, 2.0 * (first - from) - 1.0)
    }
}

/// The axes that k-space has.
struct Places {
    axes: Vec<Axis>,
    bins: usize,
    bands_y: usize,
}

impl Places {
    /// Rod and bin of a sample, as one number.
    #[inline(always)]
    fn key(&self, k: &[f64]) -> u32 {
        let (x, _) = self.axes[0].place(k[0]);
        let (y, _) = self.axes[1].place(k[1]);
        let mut rod = self.axes[1].bands[y].0 as usize;
        if let [_, _, z] = &self.axes[..] {
            rod += self.bands_y * z.bands[z.place(k[2]).0].0 as usize;
        }
        (rod * self.bins + x / BIN) as u32
    }

    #[inline(always)]
    fn point<T: Real>(&self, k: &[f64]) -> Point<T> {
        let (x, at_x) = self.axes[0].place(k[0]);
        let (y, at_y) = self.axes[1].place(k[1]);
        let (mut z, mut at_z) = (0, 0.0);
        if let [_, _, axis] = &self.axes[..] {
            let place = axis.place(k[2]);
            (z, at_z) = (axis.bands[place.0].1, place.1);
        }
        Point {
            x: x as u32,
            y: self.axes[1].bands[y].1,
            z,
            position: [T::of(at_x), T::of(at_y), T::of(at_z)],
        }
    }
}

/// A task of finding keys, compiled once for each set of vector instructions.
struct Keys<'a> {
    places: &'a Places,
    /// (sample, axis).
    k: &'a [f64],
    axes: usize,
    keys: &'a mut [u32],
}

impl pulp::NullaryFnOnce for Keys<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (key, k) in self.keys.iter_mut().zip(self.k.chunks_exact(self.axes)) {
            *key = self.places.key(k);
        }
    }
}

/// A task of finding sorted points, as [`Keys`].
struct Points<'a, T> {
    places: &'a Places,
    /// (sample, axis), of all samples.
    k: &'a [f64],
    axes: usize,
    order: &'a [u32],
    points: &'a mut [Point<T>],
}

impl<T: Real> pulp::NullaryFnOnce for Points<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (point, sample) in self.points.iter_mut().zip(self.order) {
            *point = self
                .places
                .point(&self.k[*sample as usize * self.axes..][..self.axes]);
        }
    }
}

/// Samples of a task.
const CHUNK: usize = 1 << 13;

impl<T: Real> SortedPoints<T> {
    pub(super) fn new(layout: &Layout, trajectory: ArrayView2<'_, f64>) -> Self {
        let (count, axes) = trajectory.dim();
        let trajectory = trajectory.as_standard_layout();
        let k = trajectory.as_slice().unwrap_or_default();
        let bins = layout.cells[0].div_ceil(BIN);
        let places = Places {
            axes: (0..axes).map(|axis| Axis::new(layout, axis)).collect(),
            bins,
            bands_y: layout.bands[0].count,
        };
        // Rounding is one instruction of the vector sets, and a call without them.
        let arch = pulp::Arch::new();
        let mut keys = vec![0_u32; count];
        keys.par_chunks_mut(CHUNK)
            .zip(k.par_chunks(CHUNK * axes))
            .for_each(|(keys, k)| {
                arch.dispatch(Keys {
                    places: &places,
                    k,
                    axes,
                    keys,
                });
            });
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
        let mut points = vec![Point::default(); count];
        points
            .par_chunks_mut(CHUNK)
            .zip(order.par_chunks(CHUNK))
            .for_each(|(points, order)| {
                arch.dispatch(Points {
                    places: &places,
                    k,
                    axes,
                    order,
                    points,
                });
            });
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
