//! One iteration of an engine, resolved from the recipe.

use crate::model::normalisation::EVERY;
use crate::{Coefficients, Method};
use crate::{EngineSpec, PositionOptions, Problem, Refinement};

/// Parameters of one iteration, resolved from the recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// What the iteration does.
    pub method: Method,
    /// Whether frames are at their exact positions, or at the nearest pixel.
    pub subpixel: bool,
    /// What of each frame is refined after the iteration.
    pub refinement: Option<Refinement>,
    /// Seed of random choices.
    pub seed: u64,
    /// Number of the iteration in the run, from 1.
    pub iteration: usize,
    /// Coefficients of the exit-wave update.
    pub coefficients: Coefficients,
    /// Power bound, counts; 0 if off.
    pub bound: f64,
    /// Whether the object is updated.
    pub update_object: bool,
    /// Whether the probe is updated.
    pub update_probe: bool,
    /// Whether the recipe has variations of the first probe mode.
    pub varies: bool,
    /// Whether they are updated.
    pub update_variations: bool,
    /// Largest number of alternations of object and probe updates.
    pub overlap_loops: usize,
    /// Value of ‖ΔP‖/‖P‖ below which the alternations end.
    pub overlap_tolerance: f64,
    /// Absolute weight of the current object (photons).
    pub object_weight: f64,
    /// Absolute weight of the current probe (frames).
    pub probe_weight: f64,
    /// Limits of |object|.
    pub clip_object: Option<[f64; 2]>,
    /// Diameter of the probe's support, as a fraction of the frame.
    pub probe_support: Option<f64>,
    /// Diameter of the support of the probe's far field, as a fraction of the detector.
    pub probe_fourier_support: Option<f64>,
    /// Distance of the probe from the centre beyond which it is moved back, pixels.
    pub centre_tolerance: Option<f64>,
    /// The metrics to compute. They change nothing else of the iteration.
    pub metrics: StepMetrics,
}

/// The metrics of an iteration that cost time. The Fourier error comes with the iteration itself
/// and is always computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMetrics {
    /// err_exit of this iteration.
    pub exit: bool,
    /// err_phot, R and R_free of the model from which the iteration starts; they belong to the
    /// entry of the iteration before.
    pub start: bool,
}

impl StepMetrics {
    /// All metrics.
    pub const ALL: Self = Self {
        exit: true,
        start: true,
    };
    /// The Fourier error only.
    pub const NONE: Self = Self {
        exit: false,
        start: false,
    };

    /// Whether there are metrics besides the Fourier error.
    #[must_use]
    pub fn any(self) -> bool {
        self.exit || self.start
    }
}

/// What the steps of a run take from its scan and recipe.
#[derive(Debug, Clone)]
pub(crate) struct ScanSizes {
    refinement: PositionOptions,
    fit_frame_scales: bool,
    poisson_bound: f64,
    mean_power: f64,
    /// Frames, modes, rows, columns.
    shape: [usize; 4],
    object_shape: [usize; 2],
    regions: bool,
    /// Whether the specimen moves during the exposures: frames are at their exact positions then.
    moves: bool,
    /// Whether the object has modes: projections have frames at their exact positions then.
    has_object_modes: bool,
    seed: u64,
    /// Number of variations of the first probe mode, and the first iteration that updates them.
    variations: [usize; 2],
}

impl ScanSizes {
    pub(crate) fn new(problem: &Problem) -> Self {
        Self {
            poisson_bound: problem.poisson_bound,
            mean_power: problem.mean_power,
            shape: problem.shape(),
            object_shape: problem.positions.object_shape,
            regions: problem.regions.is_some(),
            moves: problem.fly.points() > 1,
            has_object_modes: problem.object_modes() > 1,
            seed: problem.seed,
            variations: [problem.opr_modes, problem.opr_from],
            refinement: problem.refinement.clone(),
            fit_frame_scales: problem.fit_frame_scales,
        }
    }
}

impl Step {
    /// The step of `spec` in iteration `run_iteration`, counted from 1, of a run on `problem`, with
    /// all metrics.
    #[must_use]
    pub fn new(spec: &EngineSpec, problem: &Problem, run_iteration: usize) -> Self {
        Self::resolve(spec, &ScanSizes::new(problem), run_iteration)
    }

    /// Whether several devices can divide the frames of this iteration: a projection on whole
    /// pixels, or mini-batches without a regulariser and variable probes. (Two or four devices
    /// divide batches of at least four frames for each, or have whole regions.)
    #[must_use]
    pub fn can_be_divided(&self) -> bool {
        match &self.method {
            Method::Projection => !self.subpixel,
            Method::Batches(method) => method.smoothness().is_none() && !self.varies,
            Method::Likelihood(_) => false,
        }
    }

    /// Whether the iteration projects exit waves.
    #[must_use]
    pub fn is_projection(&self) -> bool {
        self.method == Method::Projection
    }

    /// Whether the iteration ends with fixing the mixture of modes and, in engines by mini-batches,
    /// the scale between object and probe. Projections do not need it: their exit waves hold both.
    /// Conjugate gradients are orthogonal to a change of the scale, so that a single mode stays as
    /// it is.
    #[must_use]
    pub(crate) fn normalises(&self, modes: usize) -> bool {
        !matches!(self.method, Method::Projection)
            && (modes > 1 || matches!(self.method, Method::Batches(_)))
            && self.update_object
            && self.update_probe
            && self.iteration.is_multiple_of(EVERY)
    }

    /// Whether the iteration ends with making `modes` modes of the object orthogonal. Projections
    /// have exit waves of each of them, and do not.
    #[must_use]
    pub(crate) fn mixes_objects(&self, modes: usize) -> bool {
        modes > 1
            && !matches!(self.method, Method::Projection)
            && self.update_object
            && self.iteration.is_multiple_of(EVERY)
    }

    /// Like [`Step::new`], but from what the steps of all iterations share.
    pub(crate) fn resolve(spec: &EngineSpec, sizes: &ScanSizes, run_iteration: usize) -> Self {
        let ScanSizes {
            poisson_bound,
            mean_power,
            shape,
            object_shape,
            regions,
            moves,
            has_object_modes,
            seed,
            variations,
            ..
        } = *sizes;
        let subpixel =
            spec.subpixel.unwrap_or(false) || moves || (has_object_modes && spec.name.projects());
        let mut method = spec.method(shape[0]);
        if let Method::Batches(of_batches) = &mut method {
            of_batches.regions = regions && spec.uses_regions(shape, object_shape);
        }
        Self {
            method,
            subpixel,
            seed,
            refinement: subpixel
                .then(|| sizes.refinement.at(run_iteration, sizes.fit_frame_scales))
                .flatten(),
            iteration: run_iteration,
            coefficients: spec.coefficients(),
            bound: spec.bound(poisson_bound),
            update_object: spec.update_object,
            update_probe: spec.update_probe && run_iteration >= spec.probe_from,
            varies: variations[0] > 0,
            update_variations: matches!(method, Method::Batches(_))
                && spec.update_probe
                && variations[0] > 0
                && run_iteration >= variations[1].max(spec.probe_from),
            overlap_loops: spec.overlap_loops.unwrap_or(1),
            overlap_tolerance: spec.overlap_tolerance.unwrap_or(0.0),
            object_weight: spec.object_inertia.unwrap_or(0.0) * mean_power,
            probe_weight: spec.probe_inertia.unwrap_or(0.0) * shape[0] as f64,
            clip_object: spec.clip_object,
            probe_support: spec.probe_support,
            probe_fourier_support: spec.probe_fourier_support,
            centre_tolerance: spec.probe_centre_tolerance,
            metrics: StepMetrics::ALL,
        }
    }
}

/// Metrics of one iteration, before they become a history entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepErrors {
    /// Mean over frames of Σ w (af − √I)² / Σ w.
    pub fourier: f64,
    /// Mean |Δψ|² over frames and pixels, if [`StepMetrics::exit`] asks for it.
    pub exit: Option<f64>,
    /// Errors of the model (object and probe) from which the iteration started, if
    /// [`StepMetrics::start`] asks for them.
    pub start: Option<ModelErrors>,
}

/// Deviation of a model from the measured counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelErrors {
    /// err_phot: mean over frames of Σ w (I_model − I)²/(I + 1) / Σ w.
    pub photon: f64,
    /// R: Σ w (√I_model − √I)² / Σ w I.
    pub r_factor: f64,
    /// R_free: the same over the free pixels, if there are any with counts.
    pub r_free: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_engines_end_at_the_model() {
        for parameter in [1e-6, 0.1, 0.75, 1.0, 2.0] {
            for coefficients in [
                Coefficients::dm(parameter),
                Coefficients::raar(parameter),
                Coefficients::ap(),
            ] {
                assert!(coefficients.ends_at_model(), "{coefficients:?}");
            }
        }
        let other = Coefficients {
            a: 0.5,
            b: 0.5,
            c: 2.0,
        };
        assert!(!other.ends_at_model());
    }
}
