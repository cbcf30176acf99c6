//! What frame scales leave open: a ramp of log|O|.
//!
//! With O(r) exp(−a·r), P(u) exp(a·u) and s exp(2a·p) for the scale of the frame at p, no intensity
//! changes, so the data say nothing about a. The ramp is chosen such that log|O| has none over the
//! lit region, as that of its phase is in pictures; then the scales do not drift across the scan.

use crate::Frames;
use crate::quality::LitRegion;
use nalgebra::{Matrix3, Vector3};
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;

/// Part of the mean of |O| over the lit region below which a pixel says nothing about the ramp.
const DARK: f64 = 0.01;
/// Largest change of log|O| over the object that is taken for a ramp.
const STEEPEST: f64 = 1.0;

/// Removes the ramp of the first layer of `object` (layer, row, column) from all of them, which are
/// modes; the mean of the scales and the probe's power stay. `fluence` says what is lit. Returns
/// whether there was a ramp.
pub(crate) fn remove_intensity_ramp(
    object: &mut Array3<Complex<f64>>,
    probe: &mut Array3<Complex<f64>>,
    frames: &mut Frames,
    fluence: &Array2<f64>,
) -> bool {
    let first = object.index_axis(Axis(0), 0).to_owned();
    let Some(ramp) = ramp(&first, &LitRegion::default().weight(fluence)) else {
        return false;
    };
    let (_, rows, columns) = probe.dim();
    let centre = centre(first.dim());
    let exponent = |place: [f64; 2], middle: [f64; 2]| {
        ramp[0] * (place[0] - middle[0]) + ramp[1] * (place[1] - middle[1])
    };
    let middle = [rows as f64 / 2.0, columns as f64 / 2.0];
    let power = |probe: &Array3<Complex<f64>>| probe.iter().map(Complex::norm_sqr).sum::<f64>();
    let before = power(probe);
    for ((_, row, column), value) in probe.indexed_iter_mut() {
        *value *= exponent([row as f64, column as f64], middle).exp();
    }
    let pairs = frames.corners.iter().zip(&frames.fractions);
    for (scale, (corner, fraction)) in frames.scales.iter_mut().zip(pairs) {
        let place = [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis] + middle[axis]);
        *scale *= (2.0 * exponent(place, centre)).exp();
    }
    let mean = frames.scales.iter().sum::<f64>() / frames.scales.len().max(1) as f64;
    frames.scales.iter_mut().for_each(|scale| *scale /= mean);
    let after = power(probe);
    let factor = if after > 0.0 && before > 0.0 {
        (before / after).sqrt()
    } else {
        1.0
    };
    probe.mapv_inplace(|value| value * factor);
    let factor = mean.sqrt() / factor;
    for ((_, row, column), value) in object.indexed_iter_mut() {
        *value *= factor * (-exponent([row as f64, column as f64], centre)).exp();
    }
    true
}

fn centre((rows, columns): (usize, usize)) -> [f64; 2] {
    [rows as f64 / 2.0, columns as f64 / 2.0]
}

/// Slopes of log|O| along rows and columns, per pixel; `None` if they are not determined or too
/// steep.
fn ramp(object: &Array2<Complex<f64>>, lit: &Array2<f64>) -> Option<[f64; 2]> {
    let total: f64 = lit.sum();
    let mean = object.iter().zip(lit).map(|(o, w)| o.norm() * w);
    let dark = DARK * mean.sum::<f64>() / total;
    let middle = centre(object.dim());
    let (mut matrix, mut right) = (Matrix3::zeros(), Vector3::zeros());
    for (((row, column), value), weight) in object.indexed_iter().zip(lit) {
        let modulus = value.norm();
        if *weight > 0.0 && modulus > dark {
            let place = Vector3::new(row as f64 - middle[0], column as f64 - middle[1], 1.0);
            matrix += place * place.transpose();
            right += place * modulus.ln();
        }
    }
    let slopes = matrix.cholesky()?.solve(&right);
    let (rows, columns) = object.dim();
    let change = slopes[0].abs() * rows as f64 + slopes[1].abs() * columns as f64;
    (change <= STEEPEST).then_some([slopes[0], slopes[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ramp that was put on object, probe and scales is taken off all three.
    #[test]
    fn a_ramp_is_removed_from_object_probe_and_scales() {
        let [slope, other] = [3e-3, -2e-3];
        let value = |r: usize, c: usize| {
            let phase = ((r * 7 + c * 3) % 11) as f64 / 11.0;
            Complex::from_polar(0.8, phase)
        };
        let ramp = |r: f64, c: f64| (slope * r + other * c).exp();
        // Two modes, of which the second is weak.
        let mut object = Array3::from_shape_fn((2, 60, 50), |(k, r, c)| {
            value(r, c) * ramp(r as f64, c as f64) * [1.0, 0.1][k]
        });
        let flat = Array3::from_shape_fn((2, 16, 16), |(m, r, c)| {
            Complex::new((m + r) as f64, c as f64 + 0.5)
        });
        let mut probe = flat.clone();
        for ((_, r, c), p) in probe.indexed_iter_mut() {
            *p /= ramp(r as f64, c as f64);
        }
        let corners: Vec<[u32; 2]> = (0..12).map(|i| [4 * i, 3 * i]).collect();
        let fractions = vec![[0.25, -0.5]; 12];
        let truth: Vec<f64> = (0..12).map(|i| 1.0 + 0.1 * f64::from(i % 3 - 1)).collect();
        let place = |i: usize| {
            let [r, c] = corners[i].map(f64::from);
            ramp(r + 0.25, c - 0.5).powi(-2)
        };
        let scales: Vec<f64> = (0..12).map(|i| truth[i] * place(i)).collect();
        let mut frames = Frames {
            positions: vec![[0.0; 2]; 12],
            corners: corners.clone(),
            fractions,
            scales,
        };
        let fluence = Array2::from_elem((60, 50), 1.0);
        let before = probe.iter().map(Complex::norm_sqr).sum::<f64>();
        assert!(remove_intensity_ramp(
            &mut object,
            &mut probe,
            &mut frames,
            &fluence
        ));
        for (found, expected) in frames.scales.iter().zip(&truth) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
        let after = probe.iter().map(Complex::norm_sqr).sum::<f64>();
        assert!((after / before - 1.0).abs() < 1e-12);
        let constant = |values: Vec<f64>| values.iter().all(|v| (v / values[0] - 1.0).abs() < 1e-9);
        for layer in object.outer_iter() {
            assert!(constant(layer.iter().map(|o| o.norm()).collect()));
        }
        assert!(constant(
            probe
                .iter()
                .zip(&flat)
                .map(|(p, f)| (p / f).norm())
                .collect()
        ));
    }

    #[test]
    fn dark_and_steep_objects_are_left_alone() {
        let fluence = Array2::from_elem((8, 8), 1.0);
        let steep =
            Array3::from_shape_fn((1, 8, 8), |(_, r, _)| Complex::new((r as f64).exp(), 0.0));
        for object in [Array3::zeros((1, 8, 8)), steep] {
            let mut changed = object.clone();
            let mut probe = Array3::from_elem((1, 4, 4), Complex::new(1.0, 0.0));
            let mut frames = Frames {
                positions: vec![[0.0; 2]; 2],
                corners: vec![[0, 0], [4, 4]],
                fractions: vec![[0.0; 2]; 2],
                scales: vec![0.9, 1.1],
            };
            let removed = remove_intensity_ramp(&mut changed, &mut probe, &mut frames, &fluence);
            assert!(!removed);
            assert_eq!((changed, frames.scales), (object, vec![0.9, 1.1]));
        }
    }
}
