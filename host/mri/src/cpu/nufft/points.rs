//! The samples in the order in which they lie on the grid.

use super::layout::{Bands, Layout};
use ndarray::ArrayView2;
use rayon::prelude::*;
use std::ops::Range;
use warpstride_fft::Real;

/// Width of a bin along x, in cells; samples of a bin keep their order.
const BIN_CELLS: usize = 8;

/// Most samples of a subproblem. It is independent of the number of threads, because the order of
/// summation depends on it.
const MAX_POINTS: usize = 1 << 14;

/// The position of a sample within its pencil.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point<T> {
    /// The first cell that it touches: along x in the grid, along y and z in its pencil.
    pub(super) x: u32,
    pub(super) y: u16,
    pub(super) z: u16,
    /// Position between the cells, −1 … 1: the argument of the kernel's polynomials.
    pub(super) position: [T; 3],
}

/// Neighbouring samples of a pencil, computed in an array of their own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subproblem {
    pub(super) pencil: usize,
    /// Range of the sorted samples.
    pub(super) points: Range<usize>,
    /// Range of their first cells along x.
    pub(super) x: Range<usize>,
}

/// All samples, sorted by pencil and by x.
pub(super) struct SortedPoints<T> {
    pub(super) points: Vec<Point<T>>,
    /// Index of the sample that each sorted point is.
    pub(super) order: Vec<u32>,
    /// Index among the sorted points of each sample.
    pub(super) ranks: Vec<u32>,
    /// Ordered by pencil, and by x within a pencil.
    pub(super) subproblems: Vec<Subproblem>,
    /// Range of the subproblems of each pencil.
    pub(super) of_pencil: Vec<Range<usize>>,
}

/// The mapping from k to cells of an axis, and from cells to bands.
struct Axis {
    cells: f64,
    half_touched: f64,
    /// The band of every cell, and the cell's distance from the band's start.
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
    fn locate(&self, k: f64) -> (usize, f64) {
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

/// The axes of k-space.
struct PointLocator {
    axes: Vec<Axis>,
    bins: usize,
    bands_y: usize,
}

impl PointLocator {
    /// Pencil and bin of a sample, combined in one number.
    #[inline(always)]
    fn key(&self, k: &[f64]) -> u32 {
        let (x, _) = self.axes[0].locate(k[0]);
        let (y, _) = self.axes[1].locate(k[1]);
        let mut pencil = self.axes[1].bands[y].0 as usize;
        if let [_, _, z] = &self.axes[..] {
            pencil += self.bands_y * z.bands[z.locate(k[2]).0].0 as usize;
        }
        (pencil * self.bins + x / BIN_CELLS) as u32
    }

    #[inline(always)]
    fn point<T: Real>(&self, k: &[f64]) -> Point<T> {
        let (x, at_x) = self.axes[0].locate(k[0]);
        let (y, at_y) = self.axes[1].locate(k[1]);
        let (mut z, mut at_z) = (0, 0.0);
        if let [_, _, axis] = &self.axes[..] {
            let (cell, position) = axis.locate(k[2]);
            (z, at_z) = (axis.bands[cell].1, position);
        }
        Point {
            x: x as u32,
            y: self.axes[1].bands[y].1,
            z,
            position: [T::of(at_x), T::of(at_y), T::of(at_z)],
        }
    }
}

/// A task that computes keys, compiled once for each vector instruction set.
struct KeyTask<'a> {
    locator: &'a PointLocator,
    /// (sample, axis).
    k: &'a [f64],
    axes: usize,
    keys: &'a mut [u32],
}

impl pulp::NullaryFnOnce for KeyTask<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (key, k) in self.keys.iter_mut().zip(self.k.chunks_exact(self.axes)) {
            *key = self.locator.key(k);
        }
    }
}

/// A task that computes sorted points, like [`KeyTask`].
struct PointTask<'a, T> {
    locator: &'a PointLocator,
    /// (sample, axis), of all samples.
    k: &'a [f64],
    axes: usize,
    order: &'a [u32],
    points: &'a mut [Point<T>],
}

impl<T: Real> pulp::NullaryFnOnce for PointTask<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (point, sample) in self.points.iter_mut().zip(self.order) {
            *point = self
                .locator
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
        let bins = layout.cells[0].div_ceil(BIN_CELLS);
        let locator = PointLocator {
            axes: (0..axes).map(|axis| Axis::new(layout, axis)).collect(),
            bins,
            bands_y: layout.bands[0].count,
        };
        // Rounding is one instruction of the vector instruction sets, and a call without them.
        let arch = pulp::Arch::new();
        let mut keys = vec![0_u32; count];
        keys.par_chunks_mut(CHUNK)
            .zip(k.par_chunks(CHUNK * axes))
            .for_each(|(keys, k)| {
                arch.dispatch(KeyTask {
                    locator: &locator,
                    k,
                    axes,
                    keys,
                });
            });
        let mut next = vec![0_u32; layout.pencils() * bins + 1];
        for key in &keys {
            next[*key as usize + 1] += 1;
        }
        for key in 1..next.len() {
            next[key] += next[key - 1];
        }
        let point_ranges: Vec<Range<usize>> = (0..layout.pencils())
            .map(|pencil| next[pencil * bins] as usize..next[(pencil + 1) * bins] as usize)
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
                arch.dispatch(PointTask {
                    locator: &locator,
                    k,
                    axes,
                    order,
                    points,
                });
            });
        let mut subproblems = Vec::new();
        let mut of_pencil = Vec::new();
        for (pencil, range) in point_ranges.into_iter().enumerate() {
            let first = subproblems.len();
            for start in range.clone().step_by(MAX_POINTS) {
                let range = start..range.end.min(start + MAX_POINTS);
                let x = points[range.clone()].iter().map(|p| p.x as usize);
                let (low, high) = x.fold((usize::MAX, 0), |(l, h), x| (l.min(x), h.max(x)));
                subproblems.push(Subproblem {
                    pencil,
                    points: range,
                    x: low..high + 1,
                });
            }
            of_pencil.push(first..subproblems.len());
        }
        Self {
            points,
            order,
            ranks,
            subproblems,
            of_pencil,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }
}
