//! Whether the phase of an object follows its absorption.
//!
//! For X-rays the refractive index is 1 − δ + iβ with positive δ and β, so with waves exp(+ikz)
//! matter of thickness t multiplies them by exp(−kβt − ikδt): where there is more of it, modulus
//! and phase are both smaller. The conjugate object has the opposite phase. The differences of
//! neighbouring pixels are compared, which need no empty region as a reference, no unwrapped phase
//! and no removal of a phase ramp.

use crate::Frames;
use crate::model::fluence::fluence;
use crate::quality::LitRegion;
use ndarray::{Array2, Array3};
use num_complex::Complex;

/// Correlation between the steps of the phase and those of log|O| from one lit pixel to the next,
/// from −1 to 1: positive for matter in X-rays, negative for its conjugate. `None` if nothing is
/// lit or the object is constant.
#[must_use]
pub fn absorption_correlation(
    object: &Array2<Complex<f64>>,
    probe: &Array3<Complex<f64>>,
    frames: &Frames,
) -> Option<f64> {
    let lit = LitRegion::default().weight(&fluence(object.dim(), probe, frames));
    let (mut products, mut phases, mut moduli) = (0.0, 0.0, 0.0);
    for axis in 0..2 {
        let steps = steps(object, &lit, axis);
        // A phase ramp adds the same step everywhere, a modulus ramp likewise.
        let ramp = steps.iter().map(|q| q / q.norm()).sum::<Complex<f64>>();
        let mean = steps.iter().map(|q| q.norm().ln()).sum::<f64>() / steps.len().max(1) as f64;
        let ramp = Complex::cis(-ramp.arg());
        for step in steps {
            let (phase, modulus) = ((step * ramp).arg(), step.norm().ln() - mean);
            products += phase * modulus;
            phases += phase * phase;
            moduli += modulus * modulus;
        }
    }
    let correlation = products / (phases * moduli).sqrt();
    correlation.is_finite().then_some(correlation)
}

/// Quotients of neighbouring lit pixels along `axis`.
fn steps(object: &Array2<Complex<f64>>, lit: &Array2<f64>, axis: usize) -> Vec<Complex<f64>> {
    let (rows, columns) = object.dim();
    let pixels = (0..rows).flat_map(|r| (0..columns).map(move |c| [r, c]));
    let quotient = |from: [usize; 2]| {
        let mut to = from;
        to[axis] += 1;
        let value = object.get(to)? / object[from];
        let both = lit[from] > 0.0 && lit[to] > 0.0;
        (both && value.is_finite() && value.norm_sqr() > 0.0).then_some(value)
    };
    pixels.filter_map(quotient).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thickness of a specimen whose transmission is exp((−β − iδ) t), with a phase ramp.
    fn matter(delta: f64, ramp: f64) -> Array2<Complex<f64>> {
        Array2::from_shape_fn((24, 20), |(r, c)| {
            let (y, x) = (r as f64, c as f64);
            let thickness = 1.0 + (0.9 * y).sin() * (0.7 * x + 0.2 * y).cos();
            Complex::from_polar(
                (-0.1 * thickness).exp(),
                ramp * (y - 2.0 * x) - delta * thickness,
            )
        })
    }

    fn of(object: &Array2<Complex<f64>>) -> Option<f64> {
        let frames = Frames {
            corners: vec![[0, 0]],
            fractions: vec![[0.0; 2]],
            positions: vec![[0.0; 2]],
            scales: vec![1.0],
        };
        let probe = Array3::from_elem((1, 24, 20), Complex::new(1.0, 0.0));
        absorption_correlation(object, &probe, &frames)
    }

    #[test]
    fn matter_and_its_conjugate_have_opposite_signs_whatever_the_ramp() {
        for ramp in [0.0, 0.4] {
            let object = matter(0.5, ramp);
            let (own, other) = (of(&object), of(&object.mapv(|v| v.conj())));
            // The mean direction of steps is not exactly that of the mean step.
            assert!(own.unwrap() > 0.999);
            assert!((own.unwrap() + other.unwrap()).abs() < 1e-9);
        }
    }

    /// Steps of more than half a turn would be taken for smaller ones of the other sign; steps
    /// below are not.
    #[test]
    fn phases_beyond_a_turn_do_not_matter() {
        assert!(of(&matter(2.0, 0.0)).unwrap() > 0.99);
    }

    #[test]
    fn a_constant_object_has_no_sign() {
        assert_eq!(
            of(&Array2::from_elem((24, 20), Complex::new(0.5, 0.5))),
            None
        );
    }
}
