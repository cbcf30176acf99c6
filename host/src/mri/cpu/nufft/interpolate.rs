//! Type 2's second half: samples of the fine grid. Mirrors `spread.rs`, with all parts at once, for
//! they only read the grid.

use super::lanes::Lanes;
use super::layout::Layout;
use super::points::{Part, SortedPoints};
use super::spread::part_rows;
use crate::fft::Real;
use num_complex::Complex;
use rayon::prelude::*;

/// `samples = Σ` of the cells that each of them touches of `grid`, (z, y, x).
pub(super) fn interpolate<T: Real>(
    layout: &Layout,
    lanes: &Lanes<T>,
    points: &SortedPoints<T>,
    grid: &[Complex<T>],
    samples: &mut [Complex<T>],
) {
    let mut sorted = vec![Complex::default(); samples.len()];
    let mut rest = &mut sorted[..];
    let mut work = Vec::with_capacity(points.parts.len());
    for part in &points.parts {
        let values = rest.split_off_mut(..part.points.len());
        work.push((part, values.expect("the parts have all points")));
    }
    work.into_par_iter()
        .with_max_len(1)
        .for_each_init(Vec::new, |array, (part, values)| {
            copy(layout, lanes, part, grid, array);
            let rows = part_rows(layout, lanes, part);
            lanes.interpolate(points, part.points.clone(), array, rows, values);
        });
    samples
        .par_iter_mut()
        .zip(&points.ranks)
        .with_min_len(1 << 12)
        .for_each(|(value, rank)| *value = sorted[*rank as usize]);
}

/// The part of the grid that a part's samples touch, (z, y, x).
fn copy<T: Real>(
    layout: &Layout,
    lanes: &Lanes<T>,
    part: &Part,
    grid: &[Complex<T>],
    array: &mut Vec<Complex<T>>,
) {
    let [columns, rows, planes] = layout.cells;
    let (y_band, z_band) = layout.bands_of(part.rod);
    let (height, depth) = layout.heights(part.rod);
    let (y_start, z_start) = (layout.bands[0].start(y_band), layout.bands[1].start(z_band));
    let pitch = lanes.pitch(part.x.len());
    array.clear();
    array.reserve(height * depth * pitch);
    for z in 0..depth {
        for y in 0..height {
            let row = (z_start + z) % planes * rows + (y_start + y) % rows;
            let row = &grid[row * columns..][..columns];
            let (mut from, mut left) = (part.x.start, pitch);
            while left > 0 {
                let count = left.min(columns - from);
                array.extend_from_slice(&row[from..][..count]);
                (from, left) = (0, left - count);
            }
        }
    }
}
