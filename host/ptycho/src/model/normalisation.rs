//! What the intensities leave open: the scale between object and probe, and unitary mixtures of the
//! probe's modes. Engines without exit waves fix both every few iterations, so that neither drifts.
//!
//! The probe keeps its power at the start, and the object takes the inverse factor. The modes are
//! the eigenvectors of their Gram matrix, strongest first (Thibault & Menzel 2013).

use nalgebra::DMatrix;
use num_complex::Complex;

/// Iterations from one normalisation to the next.
pub(crate) const EVERY: usize = 4;

/// Replacement of the modes and of the object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Normalisation {
    /// (new mode, old mode): the new modes are these sums of the old ones.
    pub(crate) mixture: Vec<Complex<f64>>,
    /// Factor on the object.
    pub(crate) object: f64,
}

impl Normalisation {
    /// Only the factor, without a mixture of modes: of modes of which the first one varies from
    /// frame to frame.
    pub(crate) fn only_scale(&mut self) {
        let modes = (self.mixture.len() as f64).sqrt() as usize;
        let factor = Complex::new(1.0 / self.object, 0.0);
        for (at, share) in self.mixture.iter_mut().enumerate() {
            *share = if at / modes == at % modes {
                factor
            } else {
                Complex::default()
            };
        }
    }
}

/// The normalisation of modes whose Gram matrix ⟨P_m, P_n⟩ (m, n) is `gram` to the total power
/// `power`, or their own if that is not given; `None` for a dark probe or values that are not
/// finite.
pub(crate) fn normalisation(gram: &[Complex<f64>], power: Option<f64>) -> Option<Normalisation> {
    let modes = (gram.len() as f64).sqrt() as usize;
    let matrix = DMatrix::from_fn(modes, modes, |m, n| gram[m * modes + n]);
    let found: f64 = (0..modes).map(|m| matrix[(m, m)].re).sum();
    let power = power.unwrap_or(found);
    let usable = gram.iter().all(|v| v.re.is_finite() && v.im.is_finite());
    if !(usable && found > 0.0 && power > 0.0) {
        return None;
    }
    // Exactly 1 for the modes' own power.
    let factor = (power / found).sqrt();
    let eigen = matrix.symmetric_eigen();
    let mut order: Vec<usize> = (0..modes).collect();
    order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
    let mut mixture = Vec::with_capacity(gram.len());
    for from in order {
        let column = eigen.eigenvectors.column(from);
        // Each mode keeps most of its phase: its largest share of an old mode is real and positive.
        let largest = column
            .iter()
            .fold(Complex::default(), |best: Complex<f64>, v| {
                if v.norm_sqr() > best.norm_sqr() {
                    *v
                } else {
                    best
                }
            });
        let turn = if largest.norm() > 0.0 {
            largest.conj() / largest.norm()
        } else {
            Complex::new(1.0, 0.0)
        };
        mixture.extend(column.iter().map(|v| v * turn * factor));
    }
    Some(Normalisation {
        mixture,
        object: 1.0 / factor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gram(modes: &[Vec<Complex<f64>>]) -> Vec<Complex<f64>> {
        let inner = |a: &[Complex<f64>], b: &[Complex<f64>]| {
            a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
        };
        let pairs = modes
            .iter()
            .flat_map(|a| modes.iter().map(move |b| inner(a, b)));
        pairs.collect()
    }

    #[test]
    fn modes_become_orthogonal_with_the_power_and_the_intensity_stays() {
        let modes: Vec<Vec<Complex<f64>>> = (0..3)
            .map(|m| {
                (0..20)
                    .map(|i| Complex::cis(f64::from(i * (m + 1))).scale(f64::from(m) + 0.5))
                    .collect()
            })
            .collect();
        let found = normalisation(&gram(&modes), Some(2.0)).unwrap();
        let mixed: Vec<Vec<Complex<f64>>> = (0..3)
            .map(|m| {
                let value = |i: usize| (0..3).map(|n| found.mixture[m * 3 + n] * modes[n][i]).sum();
                (0..20).map(value).collect()
            })
            .collect();
        let after = gram(&mixed);
        let power: f64 = (0..3).map(|m| after[m * 4].re).sum();
        assert!((power - 2.0).abs() < 1e-12);
        for (at, value) in after.iter().enumerate() {
            assert!(at % 4 == 0 || value.norm() < 1e-12);
        }
        assert!(after[0].re >= after[4].re && after[4].re >= after[8].re);
        // Σ|P|² · |O|² does not change at any pixel.
        for i in 0..20 {
            let sum = |of: &[Vec<Complex<f64>>]| of.iter().map(|m| m[i].norm_sqr()).sum::<f64>();
            let scaled = sum(&mixed) * found.object * found.object;
            assert!((scaled / sum(&modes) - 1.0).abs() < 1e-12);
        }
        assert!(normalisation(&[Complex::default()], Some(1.0)).is_none());
        assert!(normalisation(&[Complex::new(f64::NAN, 0.0)], Some(1.0)).is_none());
    }
}
