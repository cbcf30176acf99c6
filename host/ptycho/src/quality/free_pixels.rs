//! Free pixels: detector pixels that no update sees, on which R_free is computed.
//!
//! A. T. Brünger introduced R_free to crystallography (Nature 355 (1992) 472): R falls when an
//! engine fits noise, R_free rises. The pixels are others in each frame, since a pixel that is free
//! in all frames is not constrained by any.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
pub(crate) use warpstride_kernels::ptycho::FREE;

/// Free pixels that a scan should have, if that is between [`LEAST_SHARE`] and [`MOST_SHARE`] of
/// its pixels.
const ENOUGH_FREE: f64 = 20_000.0;
/// How many more they are where a background is fitted to them, and the largest share then.
const MORE_FREE: f64 = 4.0;
const MOST_SHARE_BACKGROUND: f64 = 0.1;
/// Least share of free pixels.
pub(crate) const LEAST_SHARE: f64 = 0.01;
/// Largest share of free pixels.
const MOST_SHARE: f64 = 0.05;

/// The share of free pixels for a scan with `valid` pixels that are not masked, all frames
/// together: at least a hundredth and at most a twentieth, otherwise as many as give 20 000 free
/// pixels; with a background that is `fitted` to them at most a tenth, otherwise as many as give 80 000.
#[must_use]
pub fn free_share(valid: usize, fitted: bool) -> f64 {
    let (enough, most) = if fitted {
        (MORE_FREE * ENOUGH_FREE, MOST_SHARE_BACKGROUND)
    } else {
        (ENOUGH_FREE, MOST_SHARE)
    };
    let share = enough / valid.max(1) as f64;
    // Two digits are enough, and short in the recipe.
    (share.clamp(LEAST_SHARE, most) * 1000.0).round() / 1000.0
}

/// √counts of a free pixel; `None` for others.
pub(crate) fn free_magnitude(magnitude: f32) -> Option<f32> {
    (magnitude <= FREE).then_some(FREE - magnitude)
}

/// The free pixels of a frame: a random share of all.
pub(crate) struct FreePixels {
    share: f64,
    random: Pcg64Mcg,
}

impl FreePixels {
    /// The free pixels of the frame of this number; ask for one pixel after the other.
    pub(crate) fn new(share: f64, seed: u64, frame: usize) -> Self {
        let mut state = [0; 16];
        state[..8].copy_from_slice(&seed.to_le_bytes());
        state[8..].copy_from_slice(&(frame as u64).to_le_bytes());
        Self {
            share,
            random: Pcg64Mcg::from_seed(state),
        }
    }

    /// Whether the next pixel is free.
    pub(crate) fn next(&mut self) -> bool {
        self.share > 0.0 && self.random.random::<f64>() < self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::cpu::CpuEngine;
    use crate::{Engine, EngineSpec, Problem, Recipe, SimulateOptions, Step, simulate};
    use warpstride_fft::Fft2;

    #[test]
    fn every_frame_and_seed_has_others() {
        let of = |seed, frame| {
            let mut free = FreePixels::new(0.02, seed, frame);
            (0..16_384).map(|_| free.next()).collect::<Vec<_>>()
        };
        for (seed, frame) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let these = of(seed, frame);
            let count = these.iter().filter(|free| **free).count();
            assert!((240..420).contains(&count), "{seed} {frame}: {count}");
            assert_eq!(these, of(seed, frame));
            let others = of(seed, frame + 2);
            let both = these
                .iter()
                .zip(&others)
                .filter(|(a, b)| **a && **b)
                .count();
            assert!(both < 25, "{both}");
        }
        assert!(of(7, 7).iter().any(|free| *free));
        let mut none = FreePixels::new(0.0, 0, 0);
        assert!((0..1000).all(|_| !none.next()));
    }

    #[test]
    fn free_pixels_have_other_magnitudes_than_masked_ones() {
        for m in [0.0, 1.0, 0.5, 255.0, 65_535.0] {
            assert_eq!(free_magnitude(FREE - m), Some(m));
            assert_eq!(free_magnitude(m), None);
        }
        assert_eq!(free_magnitude(-1.0), None);
    }

    /// A scan of 12 frames, and its problem with 5 % of the pixels free.
    fn problem() -> Problem {
        let options = SimulateOptions {
            frame: 32,
            positions: 12,
            photons: 1e6,
            ..SimulateOptions::default()
        };
        let recipe = Recipe {
            free_pixels: 0.05,
            ..Recipe::default()
        };
        Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap()
    }

    #[test]
    fn updates_see_free_pixels_no_more_than_masked_ones() {
        let free = problem();
        let mut masked = free.clone();
        masked
            .magnitudes
            .in_memory_mut()
            .unwrap()
            .mapv_inplace(|m| m.max(-1.0));
        masked.free_counts = 0.0;
        let mut other = free.clone();
        other
            .magnitudes
            .in_memory_mut()
            .unwrap()
            .mapv_inplace(|m| if m <= FREE { FREE - 3.0 } else { m });
        for name in ["dm", "raar", "ap"] {
            let spec = EngineSpec::parse(&format!("{name}:4")).unwrap();
            let run = |problem: &Problem| {
                let mut engine = CpuEngine::<f64>::new(problem);
                for iteration in 1..=4 {
                    engine.step(&Step::new(&spec, problem, iteration)).unwrap();
                }
                let errors: Vec<_> = (engine.errors(true).unwrap().iter())
                    .map(|e| {
                        let start = e.start.unwrap();
                        (e.fourier, e.exit, start.photon, start.r_factor)
                    })
                    .collect();
                (engine.object().unwrap(), engine.probe().unwrap(), errors)
            };
            let expected = run(&masked);
            assert_eq!(run(&free), expected, "{name}");
            assert_eq!(run(&other), expected, "{name}");
        }
    }

    /// From object and probe, with plain transforms.
    #[test]
    fn r_free_is_that_of_the_model() {
        let problem = problem();
        let mut engine = CpuEngine::<f64>::new(&problem);
        let spec = EngineSpec::parse("raar:3").unwrap();
        for iteration in 1..=3 {
            engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
        }
        let found = engine.metrics().unwrap();
        let (object, probe) = (engine.object().unwrap(), engine.probe().unwrap());
        let [mut free, mut free_counts, mut valid, mut counts] = [0.0; 4];
        let mut fft = Fft2::<f64>::new(32, 32);
        for (corner, magnitudes) in problem
            .positions
            .corners
            .iter()
            .zip(problem.magnitudes.in_memory().unwrap().outer_iter())
        {
            let [top, left] = corner.map(|v| v as usize);
            let window = object.slice(ndarray::s![top..top + 32, left..left + 32]);
            let mut wave: Vec<_> = probe.iter().zip(&window).map(|(p, o)| p * o).collect();
            fft.forward(&mut wave);
            let power: f64 = probe
                .iter()
                .zip(&window)
                .map(|(p, o)| (p * o).norm_sqr())
                .sum();
            let scale = power / wave.iter().map(|f| f.norm_sqr()).sum::<f64>();
            for (f, m) in wave.iter().zip(&magnitudes) {
                let model = (f.norm_sqr() * scale).sqrt();
                if *m >= 0.0 {
                    valid += (model - f64::from(*m)).powi(2);
                    counts += f64::from(*m).powi(2);
                } else if let Some(m) = free_magnitude(*m).map(f64::from) {
                    free += (model - m).powi(2);
                    free_counts += m.powi(2);
                }
            }
        }
        let r_free = found.r_free.unwrap();
        assert!(
            (r_free / (free / free_counts) - 1.0).abs() < 1e-9,
            "{r_free}"
        );
        assert!((problem.free_counts / free_counts - 1.0).abs() < 1e-12);
        // Noise that is not fitted: R_free is the larger of the two.
        assert!(r_free > valid / counts && found.r_factor < r_free);
    }
}
