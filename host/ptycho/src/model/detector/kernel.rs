//! A normalised, even, circular Gaussian along one axis.

/// Half width of the Gaussian, standard deviations.
const REACH: f64 = 4.0;

/// Weights of neighbouring values along an axis of n values, whose ends are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kernel {
    /// Number of weights before that of the value itself.
    pub(crate) before: usize,
    /// The weights, first that of the value `before` places before; not more than n.
    pub(crate) weights: Vec<f64>,
}

impl Kernel {
    /// exp(−k²/2σ²) for |k| up to 4σ, normalised. A Gaussian that is wider than the axis goes round
    /// it.
    pub(crate) fn new(sigma: f64, n: usize) -> Self {
        if sigma <= 0.0 || n < 2 {
            return Self {
                before: 0,
                weights: vec![1.0],
            };
        }
        let reach = (REACH * sigma).ceil() as usize;
        let value = |k: usize| (-0.5 * (k as f64 / sigma).powi(2)).exp();
        let total = value(0) + 2.0 * (1..=reach).map(value).sum::<f64>();
        if 2 * reach < n {
            let weights = (0..=2 * reach).map(|k| value(k.abs_diff(reach)) / total);
            return Self {
                before: reach,
                weights: weights.collect(),
            };
        }
        let mut weights = vec![0.0; n];
        weights[0] = value(0);
        for k in 1..=reach {
            weights[k % n] += value(k);
            weights[(n - k % n) % n] += value(k);
        }
        weights.iter_mut().for_each(|w| *w /= total);
        Self { before: 0, weights }
    }
}

/// Blurs `values` (row, column) along both axes, in double precision.
pub(crate) fn blur(values: &mut [f64], [rows, columns]: [usize; 2], kernels: &[Kernel; 2]) {
    let axes = [(rows, columns, 1), (columns, 1, columns)];
    for ((n, step, other), kernel) in axes.into_iter().zip(kernels) {
        let mut line = vec![0.0; n];
        for start in 0..rows * columns / n.max(1) {
            let first = start * other;
            (0..n).for_each(|i| line[i] = values[first + i * step]);
            for i in 0..n {
                let at = |k: usize| line[(i + k + n - kernel.before) % n];
                let sum = kernel.weights.iter().enumerate().map(|(k, w)| w * at(k));
                values[first + i * step] = sum.sum();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G 1 = 1, ⟨G x, y⟩ = ⟨x, G y⟩, and G ≥ 0, also where the Gaussian is wider than the axis.
    #[test]
    fn kernels_are_normalised_and_their_own_adjoints() {
        for (sigma, n) in [
            (0.0, 5),
            (0.7, 9),
            (0.7, 4),
            (3.0, 5),
            (50.0, 7),
            (1.0, 1),
            (2.0, 2),
        ] {
            let kernel = Kernel::new(sigma, n);
            assert!(kernel.weights.len() <= n);
            assert!((kernel.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let shape = [3, n];
            let kernels = [Kernel::new(1.3, 3), kernel];
            let make = |seed: usize| -> Vec<f64> {
                let value = |i: usize| ((i * 7919 + seed * 104_729) % 1009) as f64 / 1009.0;
                (0..3 * n).map(value).collect()
            };
            let (x, y) = (make(1), make(2));
            let (mut gx, mut gy) = (x.clone(), y.clone());
            blur(&mut gx, shape, &kernels);
            blur(&mut gy, shape, &kernels);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!((dot(&gx, &y) / dot(&x, &gy) - 1.0).abs() < 1e-13, "{sigma}");
            let total = |x: &[f64]| x.iter().sum::<f64>();
            assert!((total(&gx) / total(&x) - 1.0).abs() < 1e-13);
        }
    }
}
