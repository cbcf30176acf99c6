//! A scan prepared for iteration: magnitudes, windows, start values.

use super::free_pixels::{FREE, FreePixels, free_magnitude};
use super::recipe::{GpuStep, GpuWaves, Recipe};
use super::refinement::PositionOptions;
use super::start;
use crate::data::{Mask, PixelPositions, PositionError, Scan};
use crate::text::shortest;
use ndarray::{ArcArray, Array2, Array3, Axis, Ix3};
use num_complex::Complex;
use rayon::prelude::*;

/// Why a scan cannot be reconstructed with a recipe.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// The positions are not plausible.
    #[error(transparent)]
    Positions(#[from] PositionError),
    /// The start probe cannot be made.
    #[error(transparent)]
    Start(#[from] start::StartError),
    /// An array has too many elements for 32-bit indices.
    #[error("the {what}: expected at most {limit} elements, found {elements}")]
    TooMany {
        /// The array.
        what: &'static str,
        /// Number of elements.
        elements: usize,
        /// Largest number of elements.
        limit: usize,
    },
}

/// Input of the engines on all back ends.
#[derive(Debug, Clone)]
pub struct Problem {
    /// √counts (frame, row, column), zero frequency at (0, 0); −1 where the pixel is masked, −2 − √counts
    /// where it is free. Copies of a problem share them.
    pub magnitudes: ArcArray<f32, Ix3>,
    /// Σ w I over all frames, photons, without free pixels.
    pub total_counts: f64,
    /// Σ I over the free pixels of all frames, photons.
    pub free_counts: f64,
    /// Windows of the frames on the object.
    pub positions: PixelPositions,
    /// Start object (row, column).
    pub object: Array2<Complex<f64>>,
    /// Start probe (mode, row, column).
    pub probe: Array3<Complex<f64>>,
    /// Variance of √counts caused by photon noise, averaged over valid pixels, counts.
    pub poisson_bound: f64,
    /// Mean power of the brightest frame per pixel, photons.
    pub mean_power: f64,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// Refinement of the positions.
    pub refinement: PositionOptions,
    /// Whether the frames' intensity scales are fitted.
    pub fit_frame_scales: bool,
    /// Whether the first engine of the recipe projects exit waves, which are allocated for it.
    pub projects_first: bool,
    /// How a GPU computes projections.
    pub gpu_step: GpuStep,
    /// How a GPU stores the exit waves of a fused step.
    pub gpu_waves: GpuWaves,
    /// Whether the first engine has frames at their exact positions.
    pub exact_first: bool,
    /// Seed of random choices.
    pub seed: u64,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Problem {
    /// Prepares `scan` for `recipe`.
    ///
    /// # Errors
    /// Returns [`ProblemError`] if the scan cannot be reconstructed.
    pub fn new(scan: &Scan, recipe: &Recipe) -> Result<Self, ProblemError> {
        let [frames, rows, columns] = scan.shape();
        let pixel = scan.object_pixel();
        let positions = PixelPositions::new(
            scan.positions(),
            pixel,
            [rows, columns],
            recipe.positions.margin(),
        )?;
        // Kernels count pixels, parts and layers in 32 bits, with a margin for the stride.
        let limit = i32::MAX as usize;
        let object_elements = positions.object_shape[0].saturating_mul(positions.object_shape[1]);
        for (what, elements) in [
            ("object", object_elements),
            (
                "frame",
                rows.saturating_mul(columns)
                    .saturating_mul(recipe.probe_modes),
            ),
            ("list of frames", frames),
        ] {
            if elements > limit {
                return Err(ProblemError::TooMany {
                    what,
                    elements,
                    limit,
                });
            }
        }
        let magnitudes = magnitudes(scan, recipe);
        let free_counts = free_counts(&magnitudes);
        let all: f64 = scan.frames().iter().map(|v| f64::from(*v)).sum();
        let total_counts = all - free_counts;
        let mut notes = Vec::new();
        if recipe.free_pixels > 0.0 && !magnitudes.iter().any(|m| *m <= FREE) {
            notes.push(format!(
                "free_pixels = {}: no pixel is free, so R_free is not computed",
                shortest(recipe.free_pixels)
            ));
        }
        let probe = start::probe(scan, recipe, &mut notes)?;
        let object = start::object(positions.object_shape, recipe.seed);
        let mean_power = scan.brightest_frame() / (rows * columns) as f64;
        Ok(Self {
            poisson_bound: poisson_bound(scan),
            magnitudes: magnitudes.into_shared(),
            total_counts,
            free_counts,
            positions,
            object,
            probe,
            mean_power,
            pixel,
            refinement: recipe.positions.clone(),
            fit_frame_scales: recipe.fit_frame_scales,
            exact_first: (recipe.engines.first()).is_some_and(|e| e.subpixel == Some(true)),
            gpu_step: recipe.gpu.step,
            gpu_waves: recipe.gpu.waves,
            projects_first: recipe.engines.first().is_some_and(|e| e.name.projects()),
            seed: recipe.seed,
            notes,
        })
    }

    /// Bytes that differ, in all likelihood, if scan or recipe do.
    #[must_use]
    pub fn digest(&self, recipe: &str) -> Vec<u8> {
        let numbers = [
            self.total_counts,
            self.free_counts,
            self.poisson_bound,
            self.mean_power,
        ];
        let sizes = self.shape().map(|n| n as u64);
        let positions = &self.positions;
        [
            bytemuck::cast_slice::<f64, u8>(&numbers),
            bytemuck::cast_slice(&sizes),
            bytemuck::cast_slice(&positions.corners),
            bytemuck::cast_slice(&positions.fractions),
            recipe.as_bytes(),
        ]
        .concat()
    }

    /// Numbers of frames, probe modes, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 4] {
        let (frames, rows, columns) = self.magnitudes.dim();
        [frames, self.probe.dim().0, rows, columns]
    }
}

/// Σ I over the free pixels; summed frame by frame, whatever the number of threads.
fn free_counts(magnitudes: &Array3<f32>) -> f64 {
    let of_frame = |frame: ndarray::ArrayView2<'_, f32>| -> f64 {
        let roots = frame.iter().filter_map(|m| free_magnitude(*m));
        roots.map(|m| f64::from(m).powi(2)).sum()
    };
    let frames: Vec<f64> = (magnitudes.axis_iter(Axis(0)).into_par_iter())
        .map(of_frame)
        .collect();
    frames.iter().sum()
}

/// √counts with the zero frequency moved from (rows/2, columns/2) to (0, 0); −1 where masked, −2 −
/// √counts where free.
fn magnitudes(scan: &Scan, recipe: &Recipe) -> Array3<f32> {
    let [frames, rows, columns] = scan.shape();
    let mut out = Array3::zeros((frames, rows, columns));
    out.axis_iter_mut(Axis(0))
        .into_par_iter()
        .enumerate()
        .for_each(|(f, mut frame)| {
            let counts = scan.frames().index_axis(Axis(0), f);
            let mut free = FreePixels::new(recipe.free_pixels, recipe.seed, f);
            for ((row, column), value) in frame.indexed_iter_mut() {
                let source = [(row + rows / 2) % rows, (column + columns / 2) % columns];
                let valid = match scan.mask() {
                    Mask::Shared(m) => m[source],
                    Mask::PerFrame(m) => m[[f, source[0], source[1]]],
                };
                let root = counts[source].sqrt();
                *value = match (valid, free.next()) {
                    (false, _) => -1.0,
                    (true, false) => root,
                    (true, true) => FREE - root,
                };
            }
        });
    out
}

/// Mean square deviation of √n from √λ for Poisson counts n of mean λ: 2 λ for weak light (most
/// pixels are 0, a few are 1), 1/4 for strong light.
fn variance_of_root(lambda: f64) -> f64 {
    // From here on the series 1/4 + 3/(32 λ) is accurate to 2 %, so the sum is not needed.
    const STRONG: f64 = 40.0;
    if lambda <= 0.0 {
        return 0.0;
    }
    if lambda >= STRONG {
        return 0.25 + 3.0 / (32.0 * lambda);
    }
    let root = lambda.sqrt();
    let mut probability = (-lambda).exp();
    let mut sum = 0.0;
    let last = (lambda + 12.0 * root + 20.0) as usize;
    for n in 0..=last {
        sum += probability * ((n as f64).sqrt() - root).powi(2);
        probability *= lambda / (n + 1) as f64;
    }
    sum
}

/// Variance of √counts averaged over valid pixels, with each pixel's mean over the frames as an
/// estimate of its expectation.
pub(super) fn poisson_bound(scan: &Scan) -> f64 {
    let [frames, rows, columns] = scan.shape();
    let mut sum = Array2::<f64>::zeros((rows, columns));
    let mut count = Array2::<f64>::zeros((rows, columns));
    for f in 0..frames {
        let counts = scan.frames().index_axis(Axis(0), f);
        for ((pixel, value), s) in counts.indexed_iter().zip(sum.iter_mut()) {
            let valid = match scan.mask() {
                Mask::Shared(m) => m[pixel],
                Mask::PerFrame(m) => m[[f, pixel.0, pixel.1]],
            };
            if valid {
                *s += f64::from(*value);
                count[pixel] += 1.0;
            }
        }
    }
    let (mut total, mut weight) = (0.0, 0.0);
    for (s, n) in sum.iter().zip(&count) {
        if *n > 0.0 {
            total += n * variance_of_root(s / n);
            weight += n;
        }
    }
    if weight > 0.0 { total / weight } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_a_root_has_the_known_limits() {
        assert!((variance_of_root(1e-6) / 2e-6 - 1.0).abs() < 2e-3);
        assert!((variance_of_root(1e4) - 0.25).abs() < 1e-4);
        // The two branches agree at the boundary.
        assert!((variance_of_root(39.999) - variance_of_root(40.0)).abs() < 2e-3);
    }
}
