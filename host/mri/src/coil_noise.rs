//! Coils that have much more noise than the others.

use crate::data::KSpace;

/// Share of the largest |k| beyond which samples are mostly noise, and below which they are mostly
/// signal.
const OUTER: f64 = 0.8;
const INNER: f64 = 0.2;
/// Fewest samples of which a median tells anything.
const FEWEST: usize = 32;
/// A coil is noisy if its noise is so many times that of the other coils, and so is its noise
/// relative to its signal: a coil with another gain has both more noise and more signal, and a
/// distant one less signal. The coils of phantoms and of a measured heart, without such a coil,
/// have up to 2.1 of both.
const NOISE: f64 = 3.5;
const RELATIVE: f64 = 2.5;
/// Level of the outer samples, relative to the signal, below which they are no noise to be told of:
/// those of data without noise hold the edges of the object.
const LEAST: f64 = 1e-3;

/// A coil with much more noise than the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NoisyCoil {
    /// Its number among all that were measured, from 0.
    pub(super) coil: usize,
    /// Its noise in units of the median of all coils.
    pub(super) factor: f64,
}

/// The noisy coils of `kspace`, by the samples far from the centre of k-space.
pub(super) fn noisy_coils(kspace: &KSpace) -> Vec<NoisyCoil> {
    let square = |sample: usize| -> f64 {
        let row = kspace.trajectory().row(sample);
        row.iter().map(|k| k * k).sum()
    };
    let squares: Vec<f64> = (0..kspace.count()).map(square).collect();
    let reach = squares.iter().copied().fold(0.0, f64::max);
    let within = |keep: &dyn Fn(f64) -> bool| -> Vec<usize> {
        (0..squares.len())
            .filter(|sample| keep(squares[*sample]))
            .collect()
    };
    let outer = within(&|square| square >= OUTER * OUTER * reach);
    let inner = within(&|square| square <= INNER * INNER * reach);
    if kspace.coils() < 2 || outer.len() < FEWEST || inner.is_empty() {
        return Vec::new();
    }
    let levels: Vec<[f64; 2]> = (kspace.samples().rows().into_iter())
        .map(|coil| {
            let moduli = |samples: &[usize]| -> Vec<f64> {
                samples.iter().map(|sample| coil[*sample].norm()).collect()
            };
            let signal: f64 = moduli(&inner).iter().map(|v| v * v).sum();
            let signal = (signal / inner.len() as f64).sqrt();
            [lower_median(moduli(&outer)), signal]
        })
        .collect();
    // A coil without signal has no noise either.
    let present = || levels.iter().filter(|[_, signal]| *signal > 0.0);
    let noise = lower_median(present().map(|[noise, _]| *noise).collect());
    let relative = lower_median(present().map(|[noise, signal]| noise / signal).collect());
    let coils = levels.iter().enumerate();
    coils
        .filter(|(_, [level, signal])| {
            *level > NOISE * noise
                && noise > 0.0
                && *level > (RELATIVE * relative).max(LEAST) * signal
        })
        .map(|(coil, [level, _])| NoisyCoil {
            coil: kspace.coil_numbers()[coil],
            factor: level / noise,
        })
        .collect()
}

/// The median; the lower one of two.
fn lower_median(mut values: Vec<f64>) -> f64 {
    let Some(middle) = values.len().checked_sub(1).map(|last| last / 2) else {
        return 0.0;
    };
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimulateOptions, simulate};
    use num_complex::Complex;

    /// Samples of four coils, each times its factor and with noise of its strength.
    fn found(factors: [f64; 4], noise: [f64; 4]) -> Vec<usize> {
        let options = SimulateOptions {
            matrix: 32,
            coils: 4,
            ..SimulateOptions::default()
        };
        let kspace = simulate(&options).unwrap().kspace;
        let mut samples = kspace.samples().clone();
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        for (coil, mut row) in samples.rows_mut().into_iter().enumerate() {
            for value in &mut row {
                let added = Complex::new(random(), random()) * noise[coil];
                *value = (*value + added) * factors[coil];
            }
        }
        let kspace = KSpace::new(
            kspace.extent().clone(),
            kspace.trajectory().clone(),
            samples,
            kspace.readouts().to_vec(),
        );
        let coils = noisy_coils(&kspace.unwrap());
        coils.into_iter().map(|noisy| noisy.coil).collect()
    }

    #[test]
    fn a_coil_with_more_noise_is_found_and_one_with_another_gain_is_not() {
        let equal = [1.0; 4];
        assert_eq!(found(equal, [0.0; 4]), [0; 0]);
        assert_eq!(found(equal, [10.0; 4]), [0; 0]);
        assert_eq!(found(equal, [5.0, 5.0, 100.0, 5.0]), [2]);
        assert_eq!(found(equal, [100.0, 5.0, 100.0, 5.0]), [0, 2]);
        assert_eq!(found([1.0, 20.0, 1.0, 0.05], [5.0; 4]), [0; 0]);
        assert_eq!(found([1.0, 8.0, 1.0, 1.0], [0.0; 4]), [0; 0]);
        // A coil without signal.
        assert_eq!(found([1.0, 0.0, 1.0, 1.0], [5.0; 4]), [0; 0]);
    }
}
