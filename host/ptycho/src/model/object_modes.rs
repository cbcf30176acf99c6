//! Modes of the object: mutually incoherent states of the specimen, or what vibrations and drifts
//! make of it (Thibault & Menzel, Nature 494, 68 (2013)).
//!
//! Any unitary mixture of them gives the same intensities. The modes are the eigenvectors of their
//! Gram matrix, weighted by the fluence, so that what was never lit has no part, strongest first.

use super::normalisation::normalisation;
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Power of each further mode at the start, in units of the first one's.
const START_POWER: f64 = 0.05;
/// Passes of the smoothing with (1, 2, 1)/4 of the random factor of a further mode along each axis.
const SMOOTHING: usize = 2;
/// Distance between the seeds of the modes' random factors.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The first object and further modes (mode, row, column), of which `given` are the first ones that
/// are known. Others are the first object times a random factor, orthogonal to all before them
/// where `fluence` (row, column) is not 0. Returns those after the first.
pub(crate) fn further_modes(
    first: &Array2<Complex<f64>>,
    given: &[Array2<Complex<f64>>],
    modes: usize,
    fluence: &Array2<f64>,
    seed: u64,
) -> Array3<Complex<f64>> {
    let (rows, columns) = first.dim();
    let mut further = Array3::zeros((modes.max(1) - 1, rows, columns));
    let power = inner(first.view(), first.view(), fluence).re;
    for n in 0..further.dim().0 {
        let mut mode = match given.get(n) {
            Some(given) => given.clone(),
            None => {
                let seed = seed.wrapping_add((n as u64 + 1).wrapping_mul(SEED_STEP));
                let mut mode = random_factor([rows, columns], seed);
                mode.zip_mut_with(first, |mode, first| *mode *= first);
                for before in
                    std::iter::once(first.view()).chain(further.slice(s![..n, .., ..]).outer_iter())
                {
                    let norm = inner(before, before, fluence).re;
                    if norm > 0.0 {
                        let share = inner(before, mode.view(), fluence) / norm;
                        mode.scaled_add(-share, &before);
                    }
                }
                mode.zip_mut_with(fluence, |mode, lit| {
                    if *lit <= 0.0 {
                        *mode = Complex::default();
                    }
                });
                let own = inner(mode.view(), mode.view(), fluence).re;
                let factor = if own > 0.0 {
                    START_POWER * power / own
                } else {
                    0.0
                };
                mode.mapv_inplace(|v| v * factor.sqrt());
                mode
            }
        };
        if !mode.iter().all(|v| v.re.is_finite() && v.im.is_finite()) {
            mode.fill(Complex::default());
        }
        further.index_axis_mut(Axis(0), n).assign(&mode);
    }
    further
}

/// Complex values of random moduli and phases that are alike in neighbouring pixels.
fn random_factor(shape: [usize; 2], seed: u64) -> Array2<Complex<f64>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut part = || 2.0 * random.random::<f64>() - 1.0;
    let mut values = Array2::from_shape_simple_fn(shape, || Complex::new(part(), part()));
    for axis in [Axis(0), Axis(1)] {
        for mut line in values.lanes_mut(axis) {
            for _ in 0..SMOOTHING {
                let before = line.to_owned();
                let last = before.len().saturating_sub(1);
                for (at, value) in line.iter_mut().enumerate() {
                    let sides = before[at.saturating_sub(1)] + before[(at + 1).min(last)];
                    *value = (before[at] * 2.0 + sides) * 0.25;
                }
            }
        }
    }
    values
}

/// Σ w conj(a) b.
fn inner(
    a: ArrayView2<'_, Complex<f64>>,
    b: ArrayView2<'_, Complex<f64>>,
    weight: &Array2<f64>,
) -> Complex<f64> {
    let pairs = a.iter().zip(b).zip(weight);
    pairs.map(|((a, b), w)| a.conj() * b * *w).sum()
}

/// Replaces `modes` (mode, row, column) by orthogonal ones under the weight `fluence` (row,
/// column), strongest first; returns the share of the power in each. Nothing changes for modes
/// without power.
pub(crate) fn orthogonalise_objects(
    modes: &mut Array3<Complex<f64>>,
    fluence: &Array2<f64>,
) -> Vec<f64> {
    let count = modes.dim().0;
    if count == 1 {
        return vec![1.0];
    }
    let gram = |modes: &Array3<Complex<f64>>| -> Vec<Complex<f64>> {
        let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
        let of = |n| modes.index_axis(Axis(0), n);
        pairs.map(|(a, b)| inner(of(a), of(b), fluence)).collect()
    };
    if let Some(found) = normalisation(&gram(modes), None) {
        let before = modes.clone();
        for (to, mut mode) in modes.outer_iter_mut().enumerate() {
            mode.fill(Complex::default());
            for (from, old) in before.outer_iter().enumerate() {
                mode.scaled_add(found.mixture[to * count + from], &old);
            }
        }
    }
    let after = gram(modes);
    let power = |n: usize| after[n * count + n].re;
    let total: f64 = (0..count).map(power).sum();
    let share = |n| if total > 0.0 { power(n) / total } else { 0.0 };
    (0..count).map(share).collect()
}

impl crate::Problem {
    /// Makes the modes of the start object after the first, of which `given` are known.
    pub(crate) fn make_object_modes(&mut self, given: &[Array2<Complex<f64>>], modes: usize) {
        if modes <= 1 {
            return;
        }
        let frames = crate::Frames {
            corners: self.positions.corners.clone(),
            fractions: Vec::new(),
            positions: Vec::new(),
            scales: Vec::new(),
        };
        let fluence = crate::model::fluence::fluence(self.object.dim(), &self.probe, &frames);
        self.more_layers = further_modes(&self.object, given, modes, &fluence, self.seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start;

    fn problem() -> (Array2<Complex<f64>>, Array2<f64>) {
        let object = start::object([13, 11], 3);
        let fluence =
            Array2::from_shape_fn(
                (13, 11),
                |(r, c)| {
                    if r > 9 { 0.0 } else { 1.0 + (r * c) as f64 }
                },
            );
        (object, fluence)
    }

    #[test]
    fn modes_at_the_start_are_weak_orthogonal_and_lit() {
        let (object, fluence) = problem();
        let further = further_modes(&object, &[], 4, &fluence, 7);
        assert_eq!(further.dim(), (3, 13, 11));
        let power = inner(object.view(), object.view(), &fluence).re;
        for (n, mode) in further.outer_iter().enumerate() {
            let own = inner(mode, mode, &fluence).re;
            assert!((own / power / START_POWER - 1.0).abs() < 1e-9);
            assert!(inner(object.view(), mode, &fluence).norm() < 1e-9 * power);
            for other in further.outer_iter().take(n) {
                assert!(inner(other, mode, &fluence).norm() < 1e-9 * power);
            }
        }
        // A pixel that was never lit has one mode.
        assert!(
            further
                .slice(s![.., 10.., ..])
                .iter()
                .all(|v| v.norm() < 1e-12)
        );
        assert_eq!(further, further_modes(&object, &[], 4, &fluence, 7));
        assert_ne!(further, further_modes(&object, &[], 4, &fluence, 8));
        let dark = further_modes(&object, &[], 2, &Array2::zeros((13, 11)), 7);
        assert!(dark.iter().all(|v| v.norm() == 0.0));
    }

    #[test]
    fn orthogonal_modes_have_the_same_sum_of_moduli_at_every_pixel() {
        let (object, fluence) = problem();
        let further = further_modes(&object, &[], 3, &fluence, 7);
        let mut modes = ndarray::concatenate![Axis(0), object.insert_axis(Axis(0)), further];
        // Mixed, weaker first.
        let before = modes.clone();
        modes
            .index_axis_mut(Axis(0), 0)
            .assign(&(&before.slice(s![1, .., ..]) * Complex::new(0.5, 0.0)));
        modes
            .index_axis_mut(Axis(0), 1)
            .assign(&(&before.slice(s![0, .., ..]) + &before.slice(s![1, .., ..])));
        let mixed = modes.clone();
        let shares = orthogonalise_objects(&mut modes, &fluence);
        assert!(
            shares.is_sorted_by(|a, b| a >= b) && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-12
        );
        for r in 0..13 {
            for c in 0..11 {
                let sum = |of: &Array3<Complex<f64>>| -> f64 {
                    of.slice(s![.., r, c]).iter().map(Complex::norm_sqr).sum()
                };
                assert!((sum(&modes) - sum(&mixed)).abs() < 1e-12);
            }
        }
        let of = |n| modes.index_axis(Axis(0), n);
        let total: f64 = (0..3).map(|n| inner(of(n), of(n), &fluence).re).sum();
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            assert!(inner(of(a), of(b), &fluence).norm() < 1e-12 * total);
        }
    }
}
