//! Variable probes (orthogonal probe relaxation, Odstrčil et al., Opt. Express 24, 8360 (2016)):
//! the first probe mode of frame j is P_j = P_0 + Σ_k c_jk U_k with real c_jk. Engines by
//! mini-batches update c and U from χ (Odstrčil, Menzel & Guizar-Sicairos, Opt. Express 26, 3108
//! (2018)).
//!
//! With the back-projections G_j = S⁻¹\[conj(O) χ_j\] of the first mode, −2 Re⟨U_k, G_j⟩ and −2 Σ_j
//! c_jk G_j are the derivatives of Σ(√I_model − √I)² by c_jk and by U_k. The variations begin as
//! random sums Σ_j ±G_j of the first iteration that updates them, which span what frames have in
//! addition to the mean probe (a randomised range finder: Halko, Martinsson & Tropp, SIAM Rev. 53,
//! 217 (2011)); so do further ones beside those of an earlier result that has fewer than the
//! recipe. After each iteration they are made orthonormal and ordered by power, from their Gram
//! matrix and the covariance of their coefficients alone.

use nalgebra::DMatrix;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Most variations.
pub(crate) const MOST: usize = 16;
/// First iteration of a run that updates them, unless a recipe says otherwise: the mean probe is
/// formed before.
pub(crate) const FROM: usize = 10;
/// Part of the optimal step of a coefficient, or of the probe's step by which a shape changes.
pub(crate) const PART: f64 = 0.5;
/// Share of a coefficient's last change that is repeated. A frame has one change an iteration.
pub(crate) const COEFFICIENT_MOMENTUM: f64 = 0.8;
/// Share of a shape's last change that is repeated.
pub(crate) const SHAPE_MOMENTUM: f64 = 0.5;
/// Added to the diagonal of a frame's equations, in units of its mean.
pub(crate) const DAMPING: f64 = 0.1;
/// Eigenvalues of the Gram matrix below this part of the largest one are those of no shape.
const NO_SHAPE: f64 = 1e-10;

/// Name of the saved shapes (k, row, column).
pub(crate) const SHAPES: &str = "variable probe: shapes";
/// Name of their last changes.
pub(crate) const SHAPE_CHANGES: &str = "variable probe: changes of the shapes";
/// Name of the saved coefficients, with their last changes as imaginary parts (frame, k).
pub(crate) const COEFFICIENTS: &str = "variable probe: coefficients and their changes";

/// Weights ±1 (frame, variation) of the random sums with which the variations begin.
pub(crate) fn random_weights(seed: u64, frames: usize, count: usize) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(0x6f70_7220_7365_6564));
    let sign = |_| if random.random::<bool>() { 1.0 } else { -1.0 };
    (0..frames * count).map(sign).collect()
}

/// Those of [`random_weights`] for the variations from `present` to `count`, which are formed
/// beside others that are there (frame, variation − `present`).
pub(crate) fn further_weights(seed: u64, frames: usize, [present, count]: [usize; 2]) -> Vec<f64> {
    let all = random_weights(seed, frames, count);
    let of_frame = |frame: &[f64]| frame[present.min(count)..].to_vec();
    all.chunks_exact(count.max(1)).flat_map(of_frame).collect()
}

/// How many variations there are among `count` values of `frames` frames in a saved state of a run
/// with `most` of them: fewer, as long as those beyond an earlier result's are not formed.
pub(crate) fn saved_count(count: usize, frames: usize, most: usize) -> usize {
    let found = count / frames.max(1);
    if found * frames == count && (1..=most).contains(&found) {
        found
    } else {
        // An array of another length is refused.
        most
    }
}

/// Orthonormal shapes (k, pixel) of the same number and, as far as that is possible, the same span
/// as the random sums `sums`, without what they have of the orthonormal shapes `present`. `None` if
/// values are not finite.
pub(crate) fn further_shapes(
    present: &[Complex<f64>],
    sums: &[Complex<f64>],
    pixels: usize,
) -> Option<Vec<Complex<f64>>> {
    let inner = |a: &[Complex<f64>], b: &[Complex<f64>]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| a.re * b.re + a.im * b.im);
        products.sum()
    };
    let mut rest = sums.to_vec();
    for layer in rest.chunks_exact_mut(pixels) {
        for shape in present.chunks_exact(pixels) {
            let share = inner(shape, layer);
            let pairs = layer.iter_mut().zip(shape);
            pairs.for_each(|(to, u)| *to -= u * share);
        }
    }
    let layers = || rest.chunks_exact(pixels);
    let gram: Vec<f64> = layers()
        .flat_map(|a| layers().map(move |b| inner(a, b)))
        .collect();
    let found = Rotation::new(&gram, None)?;
    let count = rest.len() / pixels;
    let mut shapes = vec![Complex::default(); rest.len()];
    for (new, to) in shapes.chunks_exact_mut(pixels).enumerate() {
        for (old, from) in layers().enumerate() {
            let share = found.shapes[new * count + old];
            to.iter_mut().zip(from).for_each(|(to, v)| *to += v * share);
        }
    }
    Some(shapes)
}

/// Values (frame, k) with zeros for `further` variations more of each frame.
pub(crate) fn with_zeros(values: &[f64], count: usize, further: usize) -> Vec<f64> {
    let of_frame = |frame: &[f64]| [frame, &vec![0.0; further]].concat();
    values
        .chunks_exact(count.max(1))
        .flat_map(of_frame)
        .collect()
}

/// The largest mean square over the frames of a variation's coefficients (frame, k).
pub(crate) fn strongest(coefficients: &[f64], count: usize) -> f64 {
    let frames = (coefficients.len() / count.max(1)).max(1) as f64;
    let power = |k: usize| {
        let own = coefficients.iter().skip(k).step_by(count.max(1));
        own.map(|c| c * c).sum::<f64>() / frames
    };
    (0..count).map(power).fold(0.0, f64::max)
}

/// Solves a frame's damped equations `matrix` (k, l; the upper half is used) · x = `right` by
/// Cholesky's decomposition; zeros where the shapes have no power in the frame, or if values are
/// not finite.
pub(crate) fn solve(matrix: &[f64], right: &[f64]) -> Vec<f64> {
    let count = right.len();
    let trace: f64 = (0..count).map(|k| matrix[k * count + k]).sum();
    let damping = DAMPING * trace / count as f64;
    if !(trace > 0.0 && trace.is_finite() && right.iter().all(|v| v.is_finite())) {
        return vec![0.0; count];
    }
    let mut lower = vec![0.0; count * count];
    let mut x = right.to_vec();
    for k in 0..count {
        for l in 0..=k {
            let mut sum = matrix[l * count + k];
            if k == l {
                sum += damping;
            }
            for i in 0..l {
                sum -= lower[k * count + i] * lower[l * count + i];
            }
            lower[k * count + l] = if k == l {
                sum.max(f64::MIN_POSITIVE).sqrt()
            } else {
                sum / lower[l * count + l]
            };
        }
        for i in 0..k {
            x[k] -= lower[k * count + i] * x[i];
        }
        x[k] /= lower[k * count + k];
    }
    for k in (0..count).rev() {
        for i in k + 1..count {
            x[k] -= lower[i * count + k] * x[i];
        }
        x[k] /= lower[k * count + k];
    }
    x
}

/// Other shapes and coefficients of the same probes: orthonormal shapes, ordered by power.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rotation {
    /// (old): P_0 + Σ_k mean_k U_k is the new P_0.
    pub(crate) mean: Vec<f64>,
    /// (new, old): the new shapes are these sums of the old ones.
    pub(crate) shapes: Vec<f64>,
    /// (new, old): the new coefficients are these sums of the old ones, less their means.
    coefficients: Vec<f64>,
}

impl Rotation {
    /// The rotation of shapes with the Gram matrix Re⟨U_k, U_l⟩ (k, l) and these coefficients
    /// (frame, k); without coefficients, of shapes of equal weight. `None` if values are not
    /// finite.
    pub(crate) fn new(gram: &[f64], coefficients: Option<&[f64]>) -> Option<Self> {
        let count = (gram.len() as f64).sqrt() as usize;
        let values = coefficients.unwrap_or_default();
        if !gram.iter().chain(values).all(|v| v.is_finite()) || count == 0 {
            return None;
        }
        let frames = (values.len() / count).max(1) as f64;
        let mut mean = vec![0.0; count];
        for frame in values.chunks_exact(count) {
            mean.iter_mut()
                .zip(frame)
                .for_each(|(m, c)| *m += c / frames);
        }
        let covariance = match coefficients {
            None => DMatrix::identity(count, count),
            Some(values) => {
                let mut sums = DMatrix::zeros(count, count);
                for frame in values.chunks_exact(count) {
                    for k in 0..count {
                        for l in 0..count {
                            sums[(k, l)] += (frame[k] - mean[k]) * (frame[l] - mean[l]) / frames;
                        }
                    }
                }
                sums
            }
        };
        let gram = DMatrix::from_fn(count, count, |k, l| {
            0.5 * (gram[k * count + l] + gram[l * count + k])
        });
        let eigen = gram.symmetric_eigen();
        let least = eigen.eigenvalues.iter().fold(0.0, |a: f64, b| a.max(*b)) * NO_SHAPE;
        let power = |exponent: f64| {
            let scaled = eigen
                .eigenvalues
                .map(|v| if v > least { v.powf(exponent) } else { 0.0 });
            &eigen.eigenvectors * DMatrix::from_diagonal(&scaled) * eigen.eigenvectors.transpose()
        };
        let (root, inverse) = (power(0.5), power(-0.5));
        let product = &root * covariance * &root;
        let powers = (&product + product.transpose())
            .scale(0.5)
            .symmetric_eigen();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| powers.eigenvalues[*b].total_cmp(&powers.eigenvalues[*a]));
        let turned = |of: &DMatrix<f64>| -> Vec<f64> {
            let rows = order.iter().flat_map(|from| {
                let vector = powers.eigenvectors.column(*from);
                // A shape keeps its sign: its largest share of an old one is positive.
                let largest = vector
                    .iter()
                    .fold(0.0, |a: f64, b| if b.abs() > a.abs() { *b } else { a });
                let sign = if largest < 0.0 { -1.0 } else { 1.0 };
                let row = vector.transpose() * of * sign;
                row.iter().copied().collect::<Vec<f64>>()
            });
            rows.collect()
        };
        let found = Self {
            mean,
            shapes: turned(&inverse),
            coefficients: turned(&root),
        };
        let all = found.shapes.iter().chain(&found.coefficients);
        all.into_iter().all(|v| v.is_finite()).then_some(found)
    }

    /// The new coefficients (frame, k), and their changes (frame, k) in the same way: both less the
    /// mean. Coefficients of a frame whose variation has more than `power` photons are reduced to
    /// that, and its changes begin anew.
    pub(crate) fn coefficients(&self, values: &mut [f64], changes: &mut [f64], power: f64) {
        let count = self.mean.len();
        let frames = (values.len() / count).max(1) as f64;
        let mut mean = vec![0.0; count];
        for frame in changes.chunks_exact(count) {
            mean.iter_mut()
                .zip(frame)
                .for_each(|(m, c)| *m += c / frames);
        }
        let turn = |frame: &mut [f64], mean: &[f64]| {
            let old: Vec<f64> = frame.iter().zip(mean).map(|(c, m)| c - m).collect();
            for (new, to) in frame.iter_mut().enumerate() {
                let row = &self.coefficients[new * count..][..count];
                *to = row.iter().zip(&old).map(|(a, b)| a * b).sum();
            }
        };
        let pairs = values
            .chunks_exact_mut(count)
            .zip(changes.chunks_exact_mut(count));
        for (frame, changes) in pairs {
            turn(frame, &self.mean);
            turn(changes, &mean);
            let own: f64 = frame.iter().map(|c| c * c).sum();
            if own > power {
                let factor = (power / own).sqrt();
                frame.iter_mut().for_each(|c| *c *= factor);
                changes.fill(0.0);
            }
        }
    }
}

#[cfg(test)]
mod drift;
#[cfg(test)]
mod engines;

#[cfg(test)]
mod tests {
    use super::*;

    fn random(count: usize) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(4);
        (0..count).map(|_| random.random::<f64>() - 0.4).collect()
    }

    fn gram(shapes: &[f64], pixels: usize) -> Vec<f64> {
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        let layers = || shapes.chunks_exact(pixels);
        layers()
            .flat_map(|a| layers().map(move |b| inner(a, b)))
            .collect()
    }

    /// Σ_k c_jk U_k of every frame.
    fn sums(coefficients: &[f64], shapes: &[f64], count: usize, pixels: usize) -> Vec<f64> {
        let frames = coefficients.chunks_exact(count);
        let of_frame =
            |c: &[f64], i: usize| (0..count).map(|k| c[k] * shapes[k * pixels + i]).sum();
        frames
            .flat_map(|c| (0..pixels).map(move |i| of_frame(c, i)))
            .collect()
    }

    #[test]
    fn shapes_become_orthonormal_and_ordered_and_every_probe_stays() {
        const COUNT: usize = 3;
        const PIXELS: usize = 40;
        const FRAMES: usize = 17;
        let mut shapes = random(COUNT * PIXELS);
        // The second one is small, and the third one no shape of its own.
        shapes[PIXELS..2 * PIXELS]
            .iter_mut()
            .for_each(|v| *v *= 1e-2);
        for i in 0..PIXELS {
            shapes[2 * PIXELS + i] = 2.0 * shapes[i];
        }
        let mut values = random(COUNT * FRAMES);
        let mut changes = vec![0.0; values.len()];
        let before = sums(&values, &shapes, COUNT, PIXELS);
        let found = Rotation::new(&gram(&shapes, PIXELS), Some(&values)).unwrap();
        let mean = sums(&found.mean, &shapes, COUNT, PIXELS);
        let new: Vec<f64> = (0..COUNT * PIXELS)
            .map(|at| {
                let (new, i) = (at / PIXELS, at % PIXELS);
                (0..COUNT)
                    .map(|old| found.shapes[new * COUNT + old] * shapes[old * PIXELS + i])
                    .sum()
            })
            .collect();
        found.coefficients(&mut values, &mut changes, f64::INFINITY);
        let after = sums(&values, &new, COUNT, PIXELS);
        for (i, (a, b)) in before.iter().zip(&after).enumerate() {
            assert!((a - b - mean[i % PIXELS]).abs() < 1e-9, "{i}: {a} {b}");
        }
        let gram = gram(&new, PIXELS);
        for k in 0..COUNT {
            for l in 0..COUNT {
                let expected = if k == l && k < 2 { 1.0 } else { 0.0 };
                assert!((gram[k * COUNT + l] - expected).abs() < 1e-6, "{gram:?}");
            }
        }
        let power = |k: usize| {
            values
                .iter()
                .skip(k)
                .step_by(COUNT)
                .map(|c| c * c)
                .sum::<f64>()
        };
        assert!(power(0) > power(1) && power(1) > power(2));
        // Uncorrelated, with the mean 0.
        let product: f64 = values.chunks_exact(COUNT).map(|c| c[0] * c[1]).sum();
        assert!(product.abs() < 1e-9 * power(0));
        assert!(values.iter().step_by(COUNT).sum::<f64>().abs() < 1e-9);
        let limit = 0.5
            * values
                .chunks_exact(COUNT)
                .map(|c| c[0] * c[0])
                .fold(0.0, f64::max);
        let again = Rotation::new(&gram, Some(&values)).unwrap();
        again.coefficients(&mut values, &mut changes, limit);
        let largest = values
            .chunks_exact(COUNT)
            .map(|c| c.iter().map(|c| c * c).sum::<f64>());
        assert!(largest.fold(0.0, f64::max) < limit * (1.0 + 1e-9));
    }

    #[test]
    fn equal_shapes_and_values_that_are_not_finite_are_harmless() {
        assert!(Rotation::new(&[f64::NAN], None).is_none());
        assert!(Rotation::new(&[], None).is_none());
        let zeros = Rotation::new(&[0.0; 4], Some(&[0.0; 8])).unwrap();
        assert_eq!(zeros.shapes, [0.0; 4]);
        assert_eq!(solve(&[0.0; 4], &[1.0, 2.0]), [0.0; 2]);
        assert_eq!(solve(&[f64::NAN; 4], &[1.0, 2.0]), [0.0; 2]);
    }

    #[test]
    fn damped_equations_are_solved() {
        const COUNT: usize = 4;
        let half = random(COUNT * COUNT);
        let matrix: Vec<f64> = gram(&half, COUNT);
        let right = random(COUNT);
        let found = solve(&matrix, &right);
        let trace: f64 = (0..COUNT).map(|k| matrix[k * COUNT + k]).sum();
        for k in 0..COUNT {
            let row: f64 = (0..COUNT).map(|l| matrix[k * COUNT + l] * found[l]).sum();
            let damped = row + DAMPING * trace / COUNT as f64 * found[k];
            assert!((damped - right[k]).abs() < 1e-12);
        }
    }

    #[test]
    fn further_shapes_are_orthonormal_and_beside_the_present_ones() {
        const PIXELS: usize = 30;
        let values = random(2 * 4 * PIXELS);
        let complex: Vec<Complex<f64>> = (values.chunks_exact(2))
            .map(|v| Complex::new(v[0], v[1]))
            .collect();
        let (first, sums) = complex.split_at(PIXELS);
        let norm = first.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let present: Vec<_> = first.iter().map(|v| v / norm).collect();
        let found = further_shapes(&present, sums, PIXELS).unwrap();
        let all = [&present[..], &found[..]].concat();
        for (k, a) in all.chunks_exact(PIXELS).enumerate() {
            for (l, b) in all.chunks_exact(PIXELS).enumerate() {
                let product: f64 = a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum();
                let expected = if k == l { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-12, "{k} {l}: {product}");
            }
        }
        // They span the sums.
        for sum in sums.chunks_exact(PIXELS) {
            let mut rest = sum.to_vec();
            for shape in all.chunks_exact(PIXELS) {
                let share: f64 = shape.iter().zip(sum).map(|(u, v)| (u.conj() * v).re).sum();
                rest.iter_mut()
                    .zip(shape)
                    .for_each(|(r, u)| *r -= u * share);
            }
            assert!(rest.iter().all(|v| v.norm() < 1e-12));
        }
        assert!(further_shapes(&present, &[Complex::from(f64::NAN); PIXELS], PIXELS).is_none());
        let weights = further_weights(3, 5, [1, 4]);
        let whole = random_weights(3, 5, 4);
        assert_eq!(weights.len(), 15);
        assert_eq!(weights[3..6], whole[5..8]);
        assert_eq!(further_weights(3, 5, [0, 4]), whole);
        assert_eq!(
            with_zeros(&[1.0, 2.0], 1, 2),
            [1.0, 0.0, 0.0, 2.0, 0.0, 0.0]
        );
        assert_eq!(
            [(6, 3), (7, 3), (15, 3), (0, 3)].map(|(n, f)| saved_count(n, f, 4)),
            [2, 4, 4, 4]
        );
    }

    #[test]
    fn random_weights_depend_on_the_seed_alone() {
        let weights = random_weights(3, 50, 4);
        assert_eq!(weights, random_weights(3, 50, 4));
        assert_ne!(weights, random_weights(4, 50, 4));
        assert!(weights.iter().all(|w| w.abs() == 1.0));
        assert!(weights.iter().sum::<f64>().abs() < 60.0);
    }
}
