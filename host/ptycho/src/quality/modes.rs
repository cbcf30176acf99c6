//! Orthogonal probe modes: an equivalent set of modes that can be compared between runs.

use nalgebra::DMatrix;
use ndarray::{Array3, Axis, s};
use num_complex::Complex;

/// Orthogonal probe modes, strongest first, and the fraction of the power in each.
#[derive(Debug, Clone, PartialEq)]
pub struct OrthogonalModes {
    /// (mode, row, column), √photons.
    pub probe: Array3<Complex<f64>>,
    /// Fraction of the total power in each mode; the sum is 1, or 0 for a dark probe.
    pub power: Vec<f64>,
}

/// Orthogonalises `probe` (mode, row, column). The intensity depends on the modes only through
/// Σ P_m* P_m, which is invariant under unitary mixtures; the eigenvectors of the Gram matrix
/// G_mn = ⟨P_m, P_n⟩ give the mixture of orthogonal modes (Thibault & Menzel 2013). The shape, the
/// total power and the sum of |P|² at every pixel do not change. Values must be finite.
#[must_use]
pub fn orthogonalise(probe: &Array3<Complex<f64>>) -> OrthogonalModes {
    let modes = probe.len_of(Axis(0));
    let inner = |m: usize, n: usize| -> Complex<f64> {
        let (left, right) = (probe.slice(s![m, .., ..]), probe.slice(s![n, .., ..]));
        left.iter().zip(right).map(|(a, b)| a.conj() * b).sum()
    };
    let gram = DMatrix::from_fn(modes, modes, inner);
    let eigen = gram.symmetric_eigen();
    let mut order: Vec<usize> = (0..modes).collect();
    order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));

    let mut mixed = Array3::zeros(probe.raw_dim());
    for (to, from) in order.iter().enumerate() {
        let mut mode = mixed.index_axis_mut(Axis(0), to);
        for n in 0..modes {
            mode.scaled_add(
                eigen.eigenvectors[(n, *from)],
                &probe.index_axis(Axis(0), n),
            );
        }
    }
    let power: Vec<f64> = mixed
        .outer_iter()
        .map(|mode| mode.iter().map(Complex::norm_sqr).sum())
        .collect();
    let whole: f64 = power.iter().sum();
    let power = power
        .into_iter()
        .map(|p| if whole > 0.0 { p / whole } else { 0.0 })
        .collect();
    OrthogonalModes {
        probe: mixed,
        power,
    }
}

/// Like [`orthogonalise`] for a probe whose first mode varies from frame to frame: that one stays,
/// and the others are made orthogonal to each other.
#[must_use]
pub fn orthogonalise_others(probe: &Array3<Complex<f64>>) -> OrthogonalModes {
    if probe.len_of(Axis(0)) < 2 {
        return OrthogonalModes {
            probe: probe.clone(),
            power: vec![1.0; probe.len_of(Axis(0))],
        };
    }
    let others = orthogonalise(&probe.slice(s![1.., .., ..]).to_owned());
    let mut all = probe.clone();
    all.slice_mut(s![1.., .., ..]).assign(&others.probe);
    let power = |mode: usize| -> f64 {
        all.index_axis(Axis(0), mode)
            .iter()
            .map(Complex::norm_sqr)
            .sum()
    };
    let power: Vec<f64> = (0..all.len_of(Axis(0))).map(power).collect();
    let whole: f64 = power.iter().sum();
    let share = |p: f64| if whole > 0.0 { p / whole } else { 0.0 };
    OrthogonalModes {
        power: power.into_iter().map(share).collect(),
        probe: all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn power(probe: &Array3<Complex<f64>>) -> f64 {
        probe.iter().map(Complex::norm_sqr).sum()
    }

    #[test]
    fn modes_become_orthogonal_and_the_power_is_conserved() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(3);
        let mut value = || Complex::new(random.random::<f64>(), random.random::<f64>() - 0.5);
        let probe = Array3::from_shape_fn((4, 9, 6), |(m, ..)| value() * (1.0 + m as f64));
        let found = orthogonalise(&probe);

        assert!((power(&found.probe) / power(&probe) - 1.0).abs() < 1e-12);
        assert!((found.power.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(found.power.is_sorted_by(|a, b| a >= b));
        for m in 0..4 {
            for n in 0..m {
                let overlap: Complex<f64> = found
                    .probe
                    .slice(s![m, .., ..])
                    .iter()
                    .zip(found.probe.slice(s![n, .., ..]))
                    .map(|(a, b)| a.conj() * b)
                    .sum();
                assert!(overlap.norm() < 1e-12 * power(&probe), "{m} {n} {overlap}");
            }
        }
        for r in 0..9 {
            for c in 0..6 {
                let at = |p: &Array3<Complex<f64>>| -> f64 {
                    p.slice(s![.., r, c]).iter().map(Complex::norm_sqr).sum()
                };
                assert!((at(&found.probe) - at(&probe)).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn orthogonal_modes_keep_their_power() {
        let mut probe = Array3::zeros((2, 1, 2));
        probe[[0, 0, 0]] = Complex::new(0.0, 1.0);
        probe[[1, 0, 1]] = Complex::new(3.0, 0.0);
        let found = orthogonalise(&probe);
        assert!((found.power[0] - 0.9).abs() < 1e-15);
        assert!((found.probe[[0, 0, 1]].norm() - 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_modes_of_a_dark_probe_have_no_power() {
        assert_eq!(orthogonalise(&Array3::zeros((2, 3, 3))).power, [0.0, 0.0]);
    }
}
