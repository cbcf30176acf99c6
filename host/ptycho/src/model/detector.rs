//! The detector's model: a pixel measures I = G ∗ S + b, where S = c_j Σ|f|² is the intensity that
//! arrives, G a Gaussian (partial coherence, spread charge), and b ≥ 0 a background in photons, the
//! same in every frame.
//!
//! G is circular on the array of the detector, separable, normalised and even, so it is its own
//! adjoint. The derivative of a loss Σ L(I) by S is G ∗ D, with D the derivative by I.
//!
//! Roots of counts are biased: E√n ≈ √λ − 1/(8√λ) for Poisson counts n of mean λ. A fit of
//! amplitudes to weak light on a background would therefore take a part of the background for
//! missing light. Where the background is b, amplitudes are compared with √(n + min(1, b)/4), whose
//! mean is √λ within 0.3 % for λ = b ≥ 2 and within 2.2 % for λ = b = 1 (F. J. Anscombe, Biometrika
//! 35, 246 (1948), for the family).

mod background;
mod darkest;
mod doubtful;
#[cfg(test)]
mod engines;
mod kernel;
mod saved;

pub(crate) use background::{SEEN, TERMS, free_terms, seen_terms, updated};
pub use doubtful::detector_problems;
pub(crate) use kernel::{Kernel, blur};
pub(crate) use saved::{save_background, saved_background};

use super::magnitudes::Magnitudes;
use crate::data::{DetectorModel, Mask, Scan};
use crate::quality::free_pixels::free_share;
use crate::session::recipe::{Background, BackgroundFit, DetectorOptions, Recipe};
use darkest::darkest_quarter;
use ndarray::{Array2, Axis};
use warpstride_core::system::ScratchError;

/// Part of the darkest pixels' mean counts that is the first guess of a background in a near field,
/// in which no pixel is dark.
const NEAR: f64 = 0.1;
/// Counts that are added to counts and model of the background's likelihood, in units of the mean
/// counts of a pixel.
const FLOOR: f64 = 1e-3;

/// The detector of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Detector {
    /// Standard deviations of the blur (row direction, column direction), pixels.
    pub blur: [f64; 2],
    /// Start background (row, column), photons, zero frequency at (0, 0); all 0 without one.
    pub background: Array2<f64>,
    /// How the background is fitted.
    pub fit: BackgroundFit,
    /// First iteration of the run that updates it.
    pub from: usize,
    /// Photons that the likelihood of the background adds to counts and model.
    pub floor: f64,
    /// Whether a background is known or fitted.
    pub has_background: bool,
}

impl Detector {
    /// The detector that the options describe; `None` if frames are the intensities themselves.
    /// `near` says whether frames are near fields, in which no pixel is dark.
    pub(crate) fn new(
        options: &DetectorOptions,
        magnitudes: &Magnitudes,
        near: bool,
    ) -> Result<Option<Self>, ScratchError> {
        if options.is_ideal() {
            return Ok(None);
        }
        let [_, rows, columns] = magnitudes.shape();
        let (fit, start, floor) = match options.background {
            Background::Known(photons) => (BackgroundFit::Off, photons, 1.0),
            Background::Fit(BackgroundFit::Off) => (BackgroundFit::Off, 0.0, 1.0),
            Background::Fit(fit) => {
                let (dark, mean) = dark_counts(magnitudes)?;
                let floor = (FLOOR * mean).max(f64::MIN_POSITIVE);
                let guess = if near { NEAR * dark } else { dark };
                (fit, guess.max(floor), floor)
            }
        };
        Ok(Some(Self {
            blur: options.blur.sigmas(),
            background: Array2::from_elem((rows, columns), start),
            fit,
            from: options.background_from,
            floor,
            has_background: options.has_background(),
        }))
    }

    /// The kernels along rows' direction and columns' direction; `None` without blur.
    pub(crate) fn kernels(&self) -> Option<[Kernel; 2]> {
        let (rows, columns) = self.background.dim();
        let blurs = self.blur.iter().any(|sigma| *sigma > 0.0);
        blurs.then(|| {
            [
                Kernel::new(self.blur[0], rows),
                Kernel::new(self.blur[1], columns),
            ]
        })
    }

    /// Mean power of the brightest frame of `scan` per pixel without the background, photons: at
    /// least 1 % of that with it. Only valid pixels have counts, so only their background is
    /// subtracted.
    pub(crate) fn mean_light(&self, scan: &Scan) -> f64 {
        let [_, rows, columns] = scan.shape();
        let pixels = (rows * columns) as f64;
        let counts = &scan.sums().of_frames;
        let brightest = (0..counts.len())
            .max_by(|a, b| counts[*a].total_cmp(&counts[*b]))
            .unwrap_or_default();
        let valid = match scan.mask() {
            Mask::Shared(mask) => mask.iter().filter(|valid| **valid).count(),
            Mask::PerFrame(mask) => {
                let mask = mask.index_axis(Axis(0), brightest);
                mask.iter().filter(|valid| **valid).count()
            }
        };
        let mean = scan.brightest_frame() / pixels;
        let background = self.background.mean().unwrap_or_default();
        (mean - background * (valid as f64 / pixels)).max(0.01 * mean)
    }
}

/// The recipe with free pixels, if a background is fitted and the recipe has none.
pub(crate) fn free_pixels(scan: &Scan, recipe: &Recipe) -> Option<Recipe> {
    (recipe.detector.fits_background() && recipe.free_pixels == 0.0).then(|| {
        let [frames, rows, columns] = scan.shape();
        Recipe {
            free_pixels: free_share(frames * rows * columns, true),
            ..recipe.clone()
        }
    })
}

/// What is added to counts before their root is compared with an amplitude on a background of
/// `background` photons.
#[inline]
pub(crate) fn root_correction(background: f64) -> f64 {
    0.25 * background.min(1.0)
}

/// What a result has of a detector: the blur, and the background (row, column) with the zero
/// frequency moved from (0, 0) to the middle of the frames.
pub(crate) fn measured_by(blur: [f64; 2], background: Option<Array2<f64>>) -> DetectorModel {
    DetectorModel {
        blur,
        background: background.map(|b| {
            let (rows, columns) = b.dim();
            Array2::from_shape_fn((rows, columns), |(row, column)| {
                let place = |i: usize, n: usize| (i + n - n / 2) % n;
                b[[place(row, rows), place(column, columns)]]
            })
        }),
    }
}

/// The background of a result with the zero frequency at (0, 0).
pub(crate) fn background_of(of: &DetectorModel) -> Option<Array2<f64>> {
    let b = of.background.as_ref()?;
    let (rows, columns) = b.dim();
    Some(Array2::from_shape_fn((rows, columns), |(row, column)| {
        b[[(row + rows / 2) % rows, (column + columns / 2) % columns]]
    }))
}

/// Mean counts of the darkest quarter of the pixels, and of all pixels; over the frames in which
/// they are valid and not free.
fn dark_counts(magnitudes: &Magnitudes) -> Result<(f64, f64), ScratchError> {
    let [_, rows, columns] = magnitudes.shape();
    let mut sums = vec![[0.0_f64; 2]; rows * columns];
    magnitudes.blocks(|_, block| {
        for frame in block.outer_iter() {
            for (sum, magnitude) in sums.iter_mut().zip(&frame) {
                if *magnitude >= 0.0 {
                    sum[0] += f64::from(*magnitude) * f64::from(*magnitude);
                    sum[1] += 1.0;
                }
            }
        }
        Ok::<(), ScratchError>(())
    })?;
    let mut means: Vec<f64> = (sums.iter())
        .filter(|sum| sum[1] > 0.0)
        .map(|sum| sum[0] / sum[1])
        .collect();
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let dark = mean_of(darkest_quarter(&mut means, |mean| *mean));
    Ok((dark, mean_of(&means)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masked pixels have neither counts nor a background that could be subtracted.
    #[test]
    fn the_background_of_valid_pixels_is_no_light() {
        let geometry = crate::data::Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: crate::data::Propagation::FarField,
        };
        let counts = ndarray::Array3::from_elem((2, 8, 8), 10.0);
        let positions = Array2::from_shape_fn((2, 2), |(frame, _)| frame as f64 * 1e-7);
        let mask = Array2::from_shape_fn((8, 8), |(_, column)| column < 2);
        let mask = Some(Mask::Shared(mask));
        let scan = Scan::new(counts, mask, positions, geometry, None).unwrap();
        let detector = Detector {
            blur: [0.0; 2],
            background: Array2::from_elem((8, 8), 4.0),
            fit: BackgroundFit::Off,
            from: 1,
            floor: 1.0,
            has_background: true,
        };
        // A quarter of 10 − 4.
        assert!((detector.mean_light(&scan) - 1.5).abs() < 1e-12);
    }

    /// Sums over the Poisson distribution.
    #[test]
    fn corrected_roots_have_the_root_of_the_mean() {
        for (lambda, background, tolerance) in [
            (1.0, 1.0, 0.025),
            (2.0, 2.0, 0.003),
            (5.0, 2.0, 0.003),
            (2.5, 0.5, 0.04),
        ] {
            let mut weight = f64::exp(-lambda);
            let mut mean = 0.0;
            for n in 0..200 {
                mean += weight * (f64::from(n) + root_correction(background)).sqrt();
                weight *= lambda / f64::from(n + 1);
            }
            let deviation = (mean / lambda.sqrt() - 1.0).abs();
            assert!(deviation < tolerance, "{lambda} {background}: {deviation}");
        }
    }
}
