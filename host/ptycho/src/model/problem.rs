//! A scan prepared for iteration: magnitudes, windows, start values.

use super::detector::Detector;
use super::fly::FlyPaths;
use super::magnitudes::Magnitudes;
use super::multislice::SlicePlan;
use super::near_field::NearField;
use super::object_layout::ObjectLayout;
use crate::data::{Mask, PixelPositions, Scan, VariableProbe};
use crate::engines::regions::{REGIONS, Regions, Windows, chosen_note};
use crate::positions::refinement::PositionOptions;
use crate::quality::free_pixels::FREE;
use crate::session::recipe::{GpuStep, GpuWaves, Recipe};
use crate::start;
use crate::{ProblemError, StartProbe};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::hash::Hasher;
use std::sync::Arc;
use warpstride_core::system::ScratchError;
use warpstride_core::text::{count, shortest};

/// Input of the engines on all back ends.
#[derive(Debug, Clone)]
pub struct Problem {
    /// √counts of the frames.
    pub magnitudes: Magnitudes,
    /// Σ w I over all frames, photons, without free pixels.
    pub total_counts: f64,
    /// Σ I over the free pixels of all frames, photons.
    pub free_counts: f64,
    /// Windows of the frames on the object.
    pub positions: PixelPositions,
    /// Start object (row, column); of an object with layers the first.
    pub object: Array2<Complex<f64>>,
    /// The other layers of the start object (layer − 1, row, column); none for an object with one
    /// layer.
    pub more_layers: Array3<Complex<f64>>,
    /// Motion during the exposures.
    pub(crate) fly: FlyPaths,
    /// Start probe (mode, row, column).
    pub probe: Array3<Complex<f64>>,
    /// Variance of √counts caused by photon noise, averaged over valid pixels, counts.
    pub poisson_bound: f64,
    /// Mean power of the brightest frame per pixel, photons.
    pub mean_power: f64,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// The slices of a thick specimen, which are the layers of the object; `None` for a thin one.
    pub slices: Option<SlicePlan>,
    /// The propagation to the near field; `None` if frames are far fields.
    pub near_field: Option<NearField>,
    /// The detector's blur and background; `None` if frames are the model's intensities themselves.
    pub detector: Option<Detector>,
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
    /// The regions of the scan, if an engine of the recipe works on them.
    pub(crate) regions: Option<Arc<Regions>>,
    /// Number of variations of the first probe mode.
    pub opr_modes: usize,
    /// First iteration of the run that updates them.
    pub opr_from: usize,
    /// Variations from which the run starts, at most `opr_modes` of them for all frames; the
    /// others, all of them with `None`, are formed when they are first updated.
    pub start_variations: Option<VariableProbe>,
    /// Seed of random choices.
    pub seed: u64,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Problem {
    /// Prepares `scan` for `recipe`, with a start probe of both; [`Problem::prepare`] makes that,
    /// too.
    ///
    /// # Errors
    /// Returns [`ProblemError`] if the scan cannot be reconstructed.
    pub fn new(scan: &Scan, recipe: &Recipe, start: StartProbe) -> Result<Self, ProblemError> {
        let [frames, rows, columns] = scan.shape();
        let ObjectLayout {
            pixel,
            positions,
            fly,
            slices,
        } = ObjectLayout::new(scan, recipe)?;
        let of_start = start.modes.dim();
        if of_start != (recipe.probe_modes, rows, columns) {
            return Err(ProblemError::StartProbe {
                expected: [recipe.probe_modes, rows, columns],
                found: of_start.into(),
            });
        }
        let mut notes = Vec::new();
        let free = super::detector::free_pixels(scan, recipe);
        if let Some(with_free) = &free {
            notes.push(format!(
                "free_pixels = {}: the background is estimated on pixels that no update sees",
                shortest(with_free.free_pixels)
            ));
        }
        let recipe = free.as_ref().unwrap_or(recipe);
        let (magnitudes, free_counts) = Magnitudes::new(scan, recipe)?;
        let total_counts = scan.sums().total() - free_counts;
        notes.extend(slices.as_ref().and_then(|plan| plan.note([rows, columns])));
        let mut has_free = recipe.free_pixels <= 0.0;
        if !has_free {
            magnitudes.blocks(|_, block| {
                has_free = has_free || block.iter().any(|m| *m <= FREE);
                Ok::<(), ScratchError>(())
            })?;
        }
        if !has_free {
            notes.push(format!(
                "free_pixels = {}: no pixel is free, so R_free is not computed",
                shortest(recipe.free_pixels)
            ));
        }
        let near = scan.geometry().is_near_field();
        let detector = Detector::new(&recipe.detector, &magnitudes, near)?;
        notes.extend(start.notes);
        let mut probe = start.modes;
        let object = start::object(positions.object_shape, recipe.seed);
        let mut mean_power = scan.brightest_frame() / (rows * columns) as f64;
        if let Some(detector) = &detector {
            // The background is not light of the probe.
            let light = detector.mean_light(scan);
            let factor = (light / mean_power).sqrt();
            if factor.is_finite() {
                probe.mapv_inplace(|p| p * factor);
                mean_power = light;
            }
        }
        let shape = [frames, probe.dim().0, rows, columns];
        // A region would have to have variations of its own.
        let uses_regions = slices.is_none()
            && recipe.opr_modes == 0
            && recipe
                .engines
                .iter()
                .any(|spec| spec.uses_regions(shape, positions.object_shape));
        if recipe.waves_of_mode() == 1 && slices.is_none() && recipe.opr_modes == 0 {
            notes.extend(chosen_note(&recipe.engines, shape, positions.object_shape));
        } else if recipe.waves_of_mode() > 1
            && recipe.engines.iter().any(|e| e.regions == Some(REGIONS))
        {
            notes.push(format!(
                "regions = {REGIONS}: computed without them, as there are several object modes or points of an exposure"
            ));
        }
        let windows = Windows {
            corners: &positions.corners,
            object_shape: positions.object_shape,
            shape: [rows, columns],
            bound: recipe.positions.bound,
        };
        if frames < REGIONS && recipe.engines.iter().any(|e| e.regions == Some(REGIONS)) {
            notes.push(format!(
                "regions = {REGIONS}: the scan has {}, fewer than regions; computed without them",
                count(frames, ["frame", "frames"])
            ));
        }
        let uses_regions = uses_regions && recipe.waves_of_mode() == 1;
        let regions = uses_regions.then(|| Arc::new(Regions::new(&windows)));
        let mut problem = Self {
            poisson_bound: poisson_bound(scan),
            magnitudes,
            total_counts,
            free_counts,
            positions,
            fly,
            more_layers: more_layers(slices.as_ref(), &object, recipe.seed),
            object,
            slices,
            probe,
            mean_power,
            pixel,
            near_field: NearField::of(scan.geometry()),
            detector,
            refinement: recipe.positions.clone(),
            fit_frame_scales: recipe.fit_frame_scales,
            exact_first: (recipe.engines.first()).is_some_and(|e| e.subpixel == Some(true))
                || recipe.fly.moves()
                || (recipe.object_modes > 1
                    && (recipe.engines.first()).is_some_and(|e| e.name.projects())),
            gpu_step: recipe.gpu.step,
            gpu_waves: recipe.gpu.waves,
            projects_first: recipe.engines.first().is_some_and(|e| e.name.projects()),
            regions,
            opr_modes: recipe.opr_modes,
            opr_from: recipe.opr_from,
            start_variations: None,
            seed: recipe.seed,
            notes,
        };
        problem.make_object_modes(&[], recipe.object_modes);
        Ok(problem)
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
        let near = self.near_field.map(|near| {
            let [row, column] = near.pixel;
            [near.distance, near.wavelength, row, column]
        });
        // The distances come from the recipe, or from a start result.
        let slices = self.slices.iter().flat_map(|plan| {
            let [row, column] = plan.pixel;
            [plan.wavelength, row, column]
                .into_iter()
                .chain(plan.distances.iter().copied())
        });
        let slices: Vec<f64> = slices.collect();
        let sizes = self.shape().map(|n| n as u64);
        let positions = &self.positions;
        [
            bytemuck::cast_slice::<f64, u8>(&numbers),
            bytemuck::cast_slice(near.as_slice()),
            bytemuck::cast_slice(&slices),
            bytemuck::cast_slice(&sizes),
            bytemuck::cast_slice(&positions.corners),
            bytemuck::cast_slice(&positions.fractions),
            recipe.as_bytes(),
        ]
        .concat()
    }

    /// Photons of the brightest frame, to which engines by mini-batches scale the probe: those of
    /// the start probe, unless it is of an earlier result.
    #[must_use]
    pub fn power(&self) -> f64 {
        let [_, _, rows, columns] = self.shape();
        self.mean_power * (rows * columns) as f64
    }

    /// Bytes that differ, in all likelihood, if object or probe do.
    #[must_use]
    pub fn start_digest(&self) -> Vec<u8> {
        let hash = |values: &[Complex<f64>]| {
            let mut hasher = std::hash::DefaultHasher::new();
            hasher.write(bytemuck::cast_slice(values));
            hasher.finish()
        };
        let layers = (!self.more_layers.is_empty()).then_some(&self.more_layers);
        let parts = [
            self.object.as_slice().map(hash),
            self.probe.as_slice().map(hash),
            layers.and_then(|of| of.as_slice()).map(hash),
        ];
        parts
            .into_iter()
            .flatten()
            .flat_map(u64::to_le_bytes)
            .collect()
    }

    /// Whether an engine of the recipe has mini-batches on regions of the scan.
    #[must_use]
    pub fn has_regions(&self) -> bool {
        self.regions.is_some()
    }

    /// Layers of the object.
    #[must_use]
    pub fn object_layers(&self) -> usize {
        1 + self.more_layers.dim().0
    }

    /// Mutually incoherent layers of the object; 1 for slices.
    #[must_use]
    pub fn object_modes(&self) -> usize {
        match self.slices {
            Some(_) => 1,
            None => self.object_layers(),
        }
    }

    /// Exit waves of a frame: points of an exposure times layers of the object times probe modes.
    #[must_use]
    pub fn waves(&self) -> usize {
        self.fly.points() * self.object_modes() * self.probe.dim().0
    }

    /// The start object of all layers (layer, row, column), in this order.
    pub(crate) fn object_values(&self) -> impl Iterator<Item = &Complex<f64>> {
        self.object.iter().chain(&self.more_layers)
    }

    /// Numbers of frames, probe modes, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 4] {
        let [frames, rows, columns] = self.magnitudes.shape();
        [frames, self.probe.dim().0, rows, columns]
    }
}

/// The slices of the start object behind the first one; without slices none.
fn more_layers(
    slices: Option<&SlicePlan>,
    first: &Array2<Complex<f64>>,
    seed: u64,
) -> Array3<Complex<f64>> {
    let (rows, columns) = first.dim();
    let more = slices.map_or(0, |plan| plan.count() - 1);
    let mut layers = Array3::zeros((more, rows, columns));
    for (n, mut layer) in layers.outer_iter_mut().enumerate() {
        layer.assign(&start::object(
            [rows, columns],
            seed.wrapping_add(n as u64 + 1),
        ));
    }
    layers
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
pub(crate) fn poisson_bound(scan: &Scan) -> f64 {
    let [frames, rows, columns] = scan.shape();
    let sum = &scan.sums().of_pixels;
    let count = match scan.mask() {
        Mask::Shared(m) => m.mapv(|valid| if valid { frames as f64 } else { 0.0 }),
        Mask::PerFrame(m) => {
            let mut count = Array2::<f64>::zeros((rows, columns));
            for frame in m.outer_iter() {
                count.zip_mut_with(&frame, |n, valid| *n += f64::from(u8::from(*valid)));
            }
            count
        }
    };
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
