//! Type 1's first half: samples to the fine grid.

use super::lanes::{Lanes, Rows};
use super::layout::Layout;
use super::points::{Part, SortedPoints};
use crate::fft::Real;
use num_complex::Complex;
use rayon::prelude::*;

/// Parts of a rod that are in memory at a time.
const TOGETHER: usize = 8;

/// `grid = Σ` of all samples' kernels, (z, y, x).
///
/// Rods whose bands have the same parities touch different rows, each of which is lent to its rod; the
/// kinds of parities follow each other, and so do the parts of a rod. So every cell's sum has one
/// order.
pub(super) fn spread<T: Real>(
    layout: &Layout,
    lanes: &Lanes<T>,
    points: &SortedPoints<T>,
    samples: &[Complex<T>],
    grid: &mut [Complex<T>],
) {
    let [columns, rows, _] = layout.cells;
    grid.par_chunks_mut(columns * rows.min(64))
        .for_each(|part| part.fill(Complex::default()));
    for z_parity in 0..layout.bands[1].parities() {
        let z_owners = layout.bands[1].owners(z_parity);
        for y_parity in 0..layout.bands[0].parities() {
            let y_owners = layout.bands[0].owners(y_parity);
            let mut rods: Vec<Rod<'_, T>> = (0..layout.rods()).map(Rod::new).collect();
            let planes = grid.chunks_exact_mut(columns * rows);
            for (plane, owner) in planes.zip(&z_owners) {
                let Some((z_band, z)) = *owner else { continue };
                for (row, owner) in plane.chunks_exact_mut(columns).zip(&y_owners) {
                    if let Some((y_band, y)) = *owner {
                        let rod = &mut rods[layout.rod((y_band, z_band))];
                        rod.rows.push((y, z, row));
                    }
                }
            }
            rods.retain(|rod| !rod.rows.is_empty() && !points.of_rod[rod.number].is_empty());
            rods.into_par_iter()
                .with_max_len(1)
                .for_each_init(Vec::new, |array, rod| {
                    rod.spread(layout, lanes, points, samples, array);
                });
        }
    }
}

/// A rod with the rows that it may write: (y, z, row), y and z from the rod's start.
struct Rod<'a, T> {
    number: usize,
    rows: Vec<(usize, usize, &'a mut [Complex<T>])>,
}

impl<T: Real> Rod<'_, T> {
    fn new(number: usize) -> Self {
        Self {
            number,
            rows: Vec::new(),
        }
    }

    fn spread(
        mut self,
        layout: &Layout,
        lanes: &Lanes<T>,
        points: &SortedPoints<T>,
        samples: &[Complex<T>],
        array: &mut Vec<Complex<T>>,
    ) {
        let parts = &points.parts[points.of_rod[self.number].clone()];
        if let [part] = parts {
            spread_part(layout, lanes, points, part, samples, array);
            self.add(layout, lanes, part, array);
            return;
        }
        for parts in parts.chunks(TOGETHER) {
            let arrays: Vec<_> = parts
                .par_iter()
                .map(|part| {
                    let mut array = Vec::new();
                    spread_part(layout, lanes, points, part, samples, &mut array);
                    array
                })
                .collect();
            for (part, array) in parts.iter().zip(&arrays) {
                self.add(layout, lanes, part, array);
            }
        }
    }

    /// Adds a part's array to the rows. Where a band is all of an axis, several of the array's rows may
    /// belong to one of the grid.
    fn add(&mut self, layout: &Layout, lanes: &Lanes<T>, part: &Part, array: &[Complex<T>]) {
        let [columns, grid_rows, planes] = layout.cells;
        let (height, depth) = layout.heights(self.number);
        let pitch = lanes.pitch(part.x.len());
        for (y, z, row) in &mut self.rows {
            for z in (*z..depth).step_by(planes) {
                for y in (*y..height).step_by(grid_rows) {
                    let mut from = &array[(z * height + y) * pitch..][..pitch];
                    let mut to = part.x.start;
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

/// A part's array, (z, y, x).
fn spread_part<T: Real>(
    layout: &Layout,
    lanes: &Lanes<T>,
    points: &SortedPoints<T>,
    part: &Part,
    samples: &[Complex<T>],
    array: &mut Vec<Complex<T>>,
) {
    let rows = part_rows(layout, lanes, part);
    let (height, depth) = layout.heights(part.rod);
    array.clear();
    array.resize(height * depth * rows.pitch, Complex::default());
    // Collected before they are used, so that the loads do not wait for each other.
    let mut values = [Complex::default(); 128];
    let mut first = part.points.start;
    for order in points.order[part.points.clone()].chunks(values.len()) {
        for (value, sample) in values.iter_mut().zip(order) {
            *value = samples[*sample as usize];
        }
        let range = first..first + order.len();
        lanes.spread(points, range.clone(), &values[..order.len()], rows, array);
        first = range.end;
    }
}

/// How a part's array lies.
pub(super) fn part_rows<T: Real>(layout: &Layout, lanes: &Lanes<T>, part: &Part) -> Rows {
    Rows {
        start: part.x.start,
        pitch: lanes.pitch(part.x.len()),
        height: layout.heights(part.rod).0,
        deep: layout.touched[2] > 1,
    }
}
