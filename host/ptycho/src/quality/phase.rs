//! Removal of the phase ramp and the constant phase of an object for display.

use super::translation::WeightedImage;
use ndarray::Array2;
use num_complex::Complex;
use std::f64::consts::TAU;

/// An object with a flat background phase of zero.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatPhase {
    /// The object (row, column).
    pub object: Array2<Complex<f64>>,
    /// Ramp removed, (row, column), rad per pixel.
    pub ramp: [f64; 2],
    /// Constant phase, rad, removed after the ramp (which is zero at pixel (0, 0)).
    pub constant: f64,
}

/// Removes the phase ramp and the constant phase of an object, estimated where it has weight.
///
/// The ramp is the median of the phase steps between neighbours, measured relative to their mean
/// direction, so that steps beyond ±π are harmless; the few edges of the specimen do not affect a
/// median. The constant makes the median phase 0. Without any weight the object is left unchanged.
#[must_use]
pub fn flatten(image: WeightedImage<'_>) -> FlatPhase {
    let ramp = [0, 1].map(|axis| typical_phase(steps(image, axis)));
    let mut object = Array2::from_shape_fn(image.values.dim(), |(r, c)| {
        image.values[[r, c]] * Complex::cis(-ramp[0] * r as f64 - ramp[1] * c as f64)
    });
    let lit = object.iter().zip(image.weight).filter(|(_, w)| **w > 0.0);
    let constant = typical_phase(lit.map(|(v, _)| *v).collect());
    let turn = Complex::cis(-constant);
    object.par_mapv_inplace(|v| v * turn);
    FlatPhase {
        object,
        ramp,
        constant,
    }
}

/// O(r+1) O*(r) along `axis`, where both pixels have weight.
fn steps(image: WeightedImage<'_>, axis: usize) -> Vec<Complex<f64>> {
    let (rows, columns) = image.values.dim();
    let next = |(r, c): (usize, usize)| (r + usize::from(axis == 0), c + usize::from(axis == 1));
    image
        .values
        .indexed_iter()
        .filter(|(at, _)| {
            let n = next(*at);
            n.0 < rows && n.1 < columns && image.weight[*at] * image.weight[n] > 0.0
        })
        .map(|(at, v)| image.values[next(at)] * v.conj())
        .collect()
}

/// Median phase, measured relative to the direction of the sum, in [−π, π]; 0 without values.
fn typical_phase(values: Vec<Complex<f64>>) -> f64 {
    let sum: Complex<f64> = values.iter().filter(|v| v.is_finite()).sum();
    let direction = sum.arg();
    let turn = Complex::cis(-direction);
    let mut phases: Vec<f64> = values
        .into_iter()
        .filter(|v| v.is_finite() && v.norm_sqr() > 0.0)
        .map(|v| (v * turn).arg())
        .collect();
    if phases.is_empty() {
        return 0.0;
    }
    let middle = phases.len() / 2;
    let median = *phases.select_nth_unstable_by(middle, f64::total_cmp).1;
    let phase = direction + median;
    phase - TAU * (phase / TAU).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramp_and_constant_are_removed_and_the_specimen_is_kept() {
        let shape = (50, 70);
        let specimen = Array2::from_shape_fn(shape, |(r, c)| {
            let inside = (20..35).contains(&r) && (10..40).contains(&c);
            Complex::from_polar(0.8, if inside { -1.1 } else { 0.0 })
        });
        let weight = Array2::from_shape_fn(shape, |(r, c)| {
            f64::from((5..45).contains(&r) && (5..65).contains(&c))
        });
        let ramp = [0.31, -0.17];
        let mut tilted = Array2::from_shape_fn(shape, |(r, c)| {
            specimen[[r, c]] * Complex::cis(2.0 + ramp[0] * r as f64 + ramp[1] * c as f64)
        });
        // Values outside the lit region must not matter.
        tilted[[0, 0]] = Complex::from(1e6);
        tilted[[49, 69]] = Complex::new(f64::NAN, 0.0);
        let flat = flatten(WeightedImage {
            values: &tilted,
            weight: &weight,
        });
        for (found, given) in flat.ramp.into_iter().zip(ramp) {
            assert!((found - given).abs() < 1e-12);
        }
        for (at, w) in weight.indexed_iter() {
            assert!(*w == 0.0 || (flat.object[at] - specimen[at]).norm() < 1e-9);
        }
    }

    #[test]
    fn without_lit_pixels_nothing_is_removed() {
        let object = Array2::from_elem((3, 4), Complex::new(0.3, 0.7));
        let flat = flatten(WeightedImage {
            values: &object,
            weight: &Array2::zeros((3, 4)),
        });
        assert_eq!((flat.ramp, flat.constant), ([0.0; 2], 0.0));
        assert_eq!(flat.object, object);
    }
}
