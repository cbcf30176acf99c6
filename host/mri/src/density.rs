//! Density weights: the volume of k-space that each sample represents, cycles²/pixel² or
//! cycles³/pixel³, so that FᴴWd is the image if sampling suffices.

use super::{Encoding, Grid};
use ndarray::{Array1, ArrayView2};
use num_complex::Complex;
use std::f64::consts::PI;
use std::ops::Range;

/// A sample whose convolved weight is smaller than this share of the mean keeps its weight: the
/// value is rounding, not density.
const MIN_RELATIVE_WEIGHT: f64 = 1e-9;

/// |k| (|k|² in a volume) for evenly spread spokes, scaled so that the weights add up to the disc
/// (ball) that the trajectory reaches. All samples at the origin share a disc (ball) of radius half
/// a step: a quarter step in units of |k|, a twelfth of its square in a volume; half of that if the spokes begin or end there,
/// of which there are twice as many.
///
/// `trajectory`: (sample, axis), cycles/pixel; `readouts`: the samples of each spoke.
#[must_use]
pub fn ramp(trajectory: ArrayView2<'_, f64>, readouts: &[Range<usize>]) -> Array1<f64> {
    let axes = trajectory.ncols();
    let radius = |sample: usize| -> f64 {
        let row = trajectory.row(sample);
        row.iter().map(|k| k * k).sum::<f64>().sqrt()
    };
    let step = |sample: usize| -> f64 {
        let rows = trajectory.row(sample);
        let next = trajectory.row(sample + 1);
        let square = rows.iter().zip(next).map(|(a, b)| (a - b) * (a - b));
        square.sum::<f64>().sqrt()
    };
    let mut weights = Array1::zeros(trajectory.nrows());
    let mut reach = 0.0_f64;
    for readout in readouts {
        let between = readout.len().saturating_sub(1);
        let inner = readout.start..readout.start + between;
        let mean = inner.map(step).sum::<f64>() / between.max(1) as f64;
        let at_end = |sample: usize| radius(sample) < mean / 4.0;
        let is_half = between > 0 && (at_end(readout.start) || at_end(readout.end - 1));
        let share = if is_half { 0.5 } else { 1.0 };
        for sample in readout.clone() {
            let k = radius(sample);
            reach = reach.max(k);
            // Spokes with wider steps represent more volume along their direction.
            weights[sample] = mean
                * if axes == 3 {
                    (k * k).max(share * mean * mean / 12.0)
                } else {
                    k.max(share * mean / 4.0)
                };
        }
    }
    let volume = if axes == 3 {
        4.0 / 3.0 * PI * reach.powi(3)
    } else {
        PI * reach * reach
    };
    let total = weights.sum();
    if total > 0.0 && volume > 0.0 {
        weights *= volume / total;
    } else {
        // All samples are at the origin.
        weights.fill(1.0);
    }
    weights
}

/// The fixed point of w ← w/|K w| (J. G. Pipe, P. Menon, Magn. Reson. Med. 41 (1999) 179), with K
/// the convolution with the kernel of K. O. Johnson and J. G. Pipe (Magn. Reson. Med. 61 (2009)
/// 439): the transform of a disc (ball) of the field of view convolved with itself. It is nowhere
/// negative, and vanishes beyond the distances within the field of view.
///
/// `doubled` is F of the trajectory on the [doubled](Grid::doubled) grid, which holds that
/// convolution.
#[must_use]
pub fn pipe_menon(doubled: &dyn Encoding<f64>, steps: usize) -> Array1<f64> {
    let taper = taper(doubled.grid());
    let mut weights = vec![1.0; doubled.samples()];
    let mut image = vec![Complex::default(); taper.len()];
    let mut samples = vec![Complex::default(); weights.len()];
    for _ in 0..steps.max(1) {
        for (sample, weight) in samples.iter_mut().zip(&weights) {
            *sample = Complex::from(*weight);
        }
        doubled.adjoint(&samples, &mut image);
        for (value, taper) in image.iter_mut().zip(&taper) {
            *value *= *taper;
        }
        doubled.forward(&image, &mut samples);
        let mean = samples.iter().map(|s| s.norm()).sum::<f64>() / samples.len().max(1) as f64;
        for (weight, sample) in weights.iter_mut().zip(&samples) {
            let convolved = sample.norm();
            if convolved > MIN_RELATIVE_WEIGHT * mean {
                *weight /= convolved;
            }
        }
    }
    Array1::from_vec(weights)
}

/// A disc (ball) of half the grid's sides convolved with itself, 1 in the middle.
fn taper(doubled: Grid) -> Vec<f64> {
    let [slices, rows, columns] = doubled.shape;
    let share = |at: usize, side: usize| {
        let from_middle = at as f64 - (side / 2) as f64;
        2.0 * from_middle / side as f64
    };
    let mut taper = Vec::with_capacity(doubled.voxels());
    for slice in 0..slices {
        let z = if doubled.axes == 3 {
            share(slice, slices)
        } else {
            0.0
        };
        for row in 0..rows {
            let y = share(row, rows);
            for column in 0..columns {
                let x = share(column, columns);
                let r = (x * x + y * y + z * z).sqrt().min(1.0);
                taper.push(if doubled.axes == 3 {
                    1.0 - 1.5 * r + 0.5 * r.powi(3)
                } else {
                    2.0 / PI * (r.acos() - r * (1.0 - r * r).sqrt())
                });
            }
        }
    }
    taper
}

#[cfg(test)]
mod tests {
    use super::super::cpu::Direct;
    use super::super::trajectory::Path;
    use super::*;
    use ndarray::Array2;

    fn direct(grid: Grid, trajectory: &Array2<f64>) -> Direct<f64> {
        Direct::new(grid, trajectory.view(), None).unwrap()
    }

    /// Relative error of FᴴWF applied to an image that is smooth over a few voxels, including its
    /// scale.
    fn error(grid: Grid, trajectory: &Array2<f64>, weights: &Array1<f64>) -> f64 {
        let [slices, rows, columns] = grid.shape;
        let middle = |n: usize, side: usize| n as f64 - (side / 2) as f64;
        let image: Vec<Complex<f64>> = (0..grid.voxels())
            .map(|n| {
                let position = [
                    middle(n / columns / rows, slices),
                    middle(n / columns % rows, rows),
                    middle(n % columns, columns),
                ];
                let square: f64 = position.iter().map(|v| v * v).sum();
                Complex::from((-square / 2.56).exp())
            })
            .collect();
        let encoding = direct(grid, trajectory);
        let mut samples = vec![Complex::default(); trajectory.nrows()];
        encoding.forward(&image, &mut samples);
        for (sample, weight) in samples.iter_mut().zip(weights) {
            *sample *= *weight;
        }
        let mut back = vec![Complex::default(); image.len()];
        encoding.adjoint(&samples, &mut back);
        let norm = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>().sqrt();
        let error_norm = norm(&mut back.iter().zip(&image).map(|(a, b)| (a - b).norm_sqr()));
        error_norm / norm(&mut image.iter().map(|v| v.norm_sqr()))
    }

    #[test]
    fn the_weighted_forward_and_adjoint_transforms_give_the_image() {
        for (path, volume, most) in [
            (Path::Radial, false, [0.03, 0.04]),
            // Golden angles leave gaps of two different widths.
            (Path::Golden, false, [0.15, 0.04]),
            (Path::Spiral, false, [f64::INFINITY, 0.06]),
            (Path::Radial, true, [0.1, 0.1]),
        ] {
            let side = if volume { 8 } else { 16 };
            let grid = if volume {
                Grid::three(side, side, side)
            } else {
                Grid::two(side, side)
            };
            let spokes = path.nyquist_spokes(side, volume);
            let samples = path.nyquist_samples(side, spokes);
            let t = path.trajectory(side, spokes, samples, volume);
            let readouts: Vec<Range<usize>> = (0..spokes)
                .map(|s| s * t.length..(s + 1) * t.length)
                .collect();
            let by_ramp = ramp(t.positions.view(), &readouts);
            let doubled = direct(grid.doubled(), &t.positions);
            let by_pipe = pipe_menon(&doubled, 10);
            let found = [by_ramp, by_pipe].map(|w| error(grid, &t.positions, &w));
            for (found, most) in found.into_iter().zip(most) {
                assert!(found < most, "{path:?} {volume}: {found}");
            }
        }
    }

    #[test]
    fn a_cartesian_grid_has_uniform_weights_that_fill_k_space() {
        let side = 16;
        let positions = Array2::from_shape_fn((side * side, 2), |(sample, axis)| {
            let index = if axis == 0 {
                sample % side
            } else {
                sample / side
            };
            index as f64 / side as f64 - 0.5
        });
        let grid = Grid::two(side, side);
        let weights = pipe_menon(&direct(grid.doubled(), &positions), 10);
        for weight in &weights {
            // k-space is periodic: no sample is at an edge.
            assert!(
                (weight * (side * side) as f64 - 1.0).abs() < 0.05,
                "{weight}"
            );
        }
    }

    #[test]
    fn spokes_that_begin_at_the_origin_share_its_disc() {
        // Two half spokes are a whole one, but for a second sample at the origin.
        let whole = Array2::from_shape_fn((9, 2), |(j, axis)| match axis {
            0 => (j as f64 - 4.0) / 8.0,
            _ => 0.0,
        });
        let halves = Array2::from_shape_fn((10, 2), |(j, axis)| match axis {
            0 => [-1.0, 1.0][j / 5] * (j % 5) as f64 / 8.0,
            _ => 0.0,
        });
        let one = ramp(whole.view(), std::slice::from_ref(&(0..9)));
        let two = ramp(halves.view(), &[0..5, 5..10]);
        for (found, expected) in [
            (two[0] + two[5], one[4]),
            (two[1], one[3]),
            (two[9], one[8]),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn samples_at_the_origin_only_have_weights() {
        let positions = Array2::zeros((4, 2));
        let whole = 0..4;
        let weights = ramp(positions.view(), &[whole]);
        assert!(weights.iter().all(|w| *w == 1.0));
        let weights = pipe_menon(&direct(Grid::two(8, 8), &positions), 3);
        assert!(weights.iter().all(|w| w.is_finite() && *w > 0.0));
    }
}
