//! The first half of type 1: spreading samples to the fine grid.

use super::layout::Layout;
use super::points::{SortedPoints, Subproblem};
use super::simd::{Rows, SimdKernel};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Subproblems of a pencil whose arrays are in memory at a time.
const ARRAYS_AT_ONCE: usize = 8;

/// `grid` = the sum of all samples' kernels, (z, y, x).
///
/// Pencils whose bands have the same parities touch different rows, each of which is borrowed by
/// its pencil. The four groups of parities are processed one after another, and so are the
/// subproblems of a pencil, so the order of summation of every cell is fixed.
pub(super) fn spread<T: Real>(
    layout: &Layout,
    kernel: &SimdKernel<T>,
    points: &SortedPoints<T>,
    samples: &[Complex<T>],
    grid: &mut [Complex<T>],
) {
    let [columns, rows, _] = layout.cells;
    grid.par_chunks_mut(columns * rows.min(64))
        .for_each(|chunk| chunk.fill(Complex::default()));
    for z_parity in 0..layout.bands[1].parities() {
        let z_owners = layout.bands[1].owners(z_parity);
        for y_parity in 0..layout.bands[0].parities() {
            let y_owners = layout.bands[0].owners(y_parity);
            let mut pencils: Vec<Pencil<'_, T>> = (0..layout.pencils()).map(Pencil::new).collect();
            let planes = grid.chunks_exact_mut(columns * rows);
            for (plane, owner) in planes.zip(&z_owners) {
                let Some((z_band, z)) = *owner else { continue };
                for (row, owner) in plane.chunks_exact_mut(columns).zip(&y_owners) {
                    if let Some((y_band, y)) = *owner {
                        let pencil = &mut pencils[layout.pencil((y_band, z_band))];
                        pencil.rows.push((y, z, row));
                    }
                }
            }
            pencils.retain(|pencil| {
                !pencil.rows.is_empty() && !points.of_pencil[pencil.number].is_empty()
            });
            pencils
                .into_par_iter()
                .with_max_len(1)
                .for_each_init(Vec::new, |array, pencil| {
                    pencil.spread(layout, kernel, points, samples, array);
                });
        }
    }
}

/// A pencil with the rows that it may write: (y, z, row), y and z relative to the pencil's start.
struct Pencil<'a, T> {
    number: usize,
    rows: Vec<(usize, usize, &'a mut [Complex<T>])>,
}

impl<T: Real> Pencil<'_, T> {
    fn new(number: usize) -> Self {
        Self {
            number,
            rows: Vec::new(),
        }
    }

    fn spread(
        mut self,
        layout: &Layout,
        kernel: &SimdKernel<T>,
        points: &SortedPoints<T>,
        samples: &[Complex<T>],
        array: &mut Vec<Complex<T>>,
    ) {
        let subproblems = &points.subproblems[points.of_pencil[self.number].clone()];
        if let [subproblem] = subproblems {
            spread_subproblem(layout, kernel, points, subproblem, samples, array);
            self.add(layout, kernel, subproblem, array);
            return;
        }
        for subproblems in subproblems.chunks(ARRAYS_AT_ONCE) {
            let arrays: Vec<_> = subproblems
                .par_iter()
                .map(|subproblem| {
                    let mut array = Vec::new();
                    spread_subproblem(layout, kernel, points, subproblem, samples, &mut array);
                    array
                })
                .collect();
            for (subproblem, array) in subproblems.iter().zip(&arrays) {
                self.add(layout, kernel, subproblem, array);
            }
        }
    }

    /// Adds the array of a subproblem to the rows. If a band covers an entire axis, several rows of
    /// the array may belong to one row of the grid.
    fn add(
        &mut self,
        layout: &Layout,
        kernel: &SimdKernel<T>,
        subproblem: &Subproblem,
        array: &[Complex<T>],
    ) {
        let [columns, grid_rows, planes] = layout.cells;
        let (height, depth) = layout.heights(self.number);
        let pitch = kernel.pitch(subproblem.x.len());
        for (y, z, row) in &mut self.rows {
            for z in (*z..depth).step_by(planes) {
                for y in (*y..height).step_by(grid_rows) {
                    let mut from = &array[(z * height + y) * pitch..][..pitch];
                    let mut to = subproblem.x.start;
                    while !from.is_empty() {
                        let count = from.len().min(columns - to);
                        let (now, later) = from.split_at(count);
                        for (out, v) in row[to..].iter_mut().zip(now) {
                            *out += *v;
                        }
                        (from, to) = (later, 0);
                    }
                }
            }
        }
    }
}

/// The array of a subproblem, (z, y, x).
fn spread_subproblem<T: Real>(
    layout: &Layout,
    kernel: &SimdKernel<T>,
    points: &SortedPoints<T>,
    subproblem: &Subproblem,
    samples: &[Complex<T>],
    array: &mut Vec<Complex<T>>,
) {
    let rows = subproblem_rows(layout, kernel, subproblem);
    let (height, depth) = layout.heights(subproblem.pencil);
    array.clear();
    array.resize(height * depth * rows.pitch, Complex::default());
    // The values are gathered before they are used, so that the loads do not wait for each other.
    let mut values = [Complex::default(); 128];
    let mut first = subproblem.points.start;
    for order in points.order[subproblem.points.clone()].chunks(values.len()) {
        for (value, sample) in values.iter_mut().zip(order) {
            *value = samples[*sample as usize];
        }
        let range = first..first + order.len();
        kernel.spread(points, range.clone(), &values[..order.len()], rows, array);
        first = range.end;
    }
}

/// Layout of the array of a subproblem.
pub(super) fn subproblem_rows<T: Real>(
    layout: &Layout,
    kernel: &SimdKernel<T>,
    subproblem: &Subproblem,
) -> Rows {
    Rows {
        start: subproblem.x.start,
        pitch: kernel.pitch(subproblem.x.len()),
        height: layout.heights(subproblem.pencil).0,
        deep: layout.touched[2] > 1,
    }
}
