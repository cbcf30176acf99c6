//! One iteration of an engine, resolved from the recipe.

use super::batch_shares::{FRAMES_OF_DEVICE, SHARES};
use super::cpu::Denominator;
use super::likelihood::LikelihoodMethod;
use super::normalisation::EVERY;
use super::{BatchOrder, EngineSpec, PositionOptions, Problem, Refinement};

/// Pixels of all modes in a batch from which on devices divide it; twice as many of small frames, which take half the time.
const PIXELS_TO_DIVIDE: usize = 6_000_000;
/// Pixels of a small frame.
const SMALL_FRAME: usize = 128 * 128;

/// Coefficients of ψ ← (1−a−b) ψ + a P·O + b F⁻¹ Π F[(1−c) ψ + c P·O].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Weight of P·O.
    pub a: f64,
    /// Weight of the projected wave.
    pub b: f64,
    /// Weight of P·O in the reflected wave.
    pub c: f64,
}

impl Coefficients {
    /// Difference map (Thibault et al., Ultramicroscopy 109, 338 (2009)): a = −α, b = 1, c = 1+α.
    #[must_use]
    pub fn dm(alpha: f64) -> Self {
        Self {
            a: -alpha,
            b: 1.0,
            c: 1.0 + alpha,
        }
    }

    /// RAAR (Luke, Inverse Problems 21, 37 (2005)): a = 1−2β, b = β, c = 2.
    #[must_use]
    pub fn raar(beta: f64) -> Self {
        Self {
            a: 1.0 - 2.0 * beta,
            b: beta,
            c: 2.0,
        }
    }

    /// Alternating projections: a = 0, b = c = 1, so ψ ← F⁻¹ Π F[P·O].
    #[must_use]
    pub fn ap() -> Self {
        Self {
            a: 0.0,
            b: 1.0,
            c: 1.0,
        }
    }

    /// Whether a + b c = 1, as in all engines: ψ ← P·O + b F⁻¹[(Π − 1) F[(1−c) ψ + c P·O]] then, because the weight of the old ψ
    /// besides, 1 − a − b c, is 0. The kernels of fused steps compute this.
    #[must_use]
    pub fn ends_at_model(self) -> bool {
        (self.a + self.b * self.c - 1.0).abs() < 1e-12
    }

    /// Weight of ψ: 1−a−b.
    #[must_use]
    pub fn keep(self) -> f64 {
        1.0 - self.a - self.b
    }
}

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

/// The metrics of an iteration that cost time. The Fourier error comes with the iteration itself and is
/// always computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMetrics {
    /// err_exit of this iteration.
    pub exit: bool,
    /// err_phot, R and R_free of the model from which the iteration starts; they belong to the entry of
    /// the iteration before.
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
pub(super) struct ScanSizes {
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
    pub(super) fn new(problem: &Problem) -> Self {
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
    /// The step of `spec` in iteration `run_iteration`, counted from 1, of a run on `problem`, with all
    /// metrics.
    #[must_use]
    pub fn new(spec: &EngineSpec, problem: &Problem, run_iteration: usize) -> Self {
        Self::resolve(spec, &ScanSizes::new(problem), run_iteration)
    }

    /// Whether several devices can divide the frames of this iteration: a projection on whole pixels, or mini-batches without a
    /// regulariser and variable probes. (Two or four devices divide batches of at least four frames for each, or have whole regions.)
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

    /// Whether the iteration ends with fixing the mixture of modes and, in engines by mini-batches, the
    /// scale between object and probe. Projections do not need it: their exit waves hold both. Conjugate
    /// gradients are orthogonal to a change of the scale, so that a single mode stays as it is.
    #[must_use]
    pub(super) fn normalises(&self, modes: usize) -> bool {
        !matches!(self.method, Method::Projection)
            && (modes > 1 || matches!(self.method, Method::Batches(_)))
            && self.update_object
            && self.update_probe
            && self.iteration.is_multiple_of(EVERY)
    }

    /// Whether the iteration ends with making `modes` modes of the object orthogonal. Projections have exit waves of each of them,
    /// and do not.
    #[must_use]
    pub(super) fn mixes_objects(&self, modes: usize) -> bool {
        modes > 1
            && !matches!(self.method, Method::Projection)
            && self.update_object
            && self.iteration.is_multiple_of(EVERY)
    }

    /// Like [`Step::new`], but from what the steps of all iterations share.
    pub(super) fn resolve(spec: &EngineSpec, sizes: &ScanSizes, run_iteration: usize) -> Self {
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

/// The kinds of iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Projection of the exit waves, then updates of object and probe from all of them.
    Projection,
    /// Updates of object and probe after each mini-batch of frames.
    Batches(BatchMethod),
    /// Maximum likelihood by conjugate gradient on all frames.
    Likelihood(LikelihoodMethod),
}

/// An iteration over mini-batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchMethod {
    /// Most frames of a batch.
    pub size: usize,
    /// Where the frames of a batch lie.
    pub order: BatchOrder,
    /// How the steps are chosen.
    pub update: BatchUpdate,
    /// Whether the batches are those of the regions of the scan, each of which has its own copy of object and probe.
    pub regions: bool,
}

/// How a batch updates object and probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BatchUpdate {
    /// LSQ-ML: steps that are optimal in the mean of the batch.
    LeastSquares {
        /// Share of the last change that is repeated.
        momentum: f64,
        /// Regulariser of the object.
        smoothness: Smoothness,
    },
    /// ePIE and rPIE: given steps.
    Pie {
        /// α of the object's denominator, 1 for ePIE.
        object_alpha: f64,
        /// α of the probe's denominator, 1 for ePIE.
        probe_alpha: f64,
        /// Factor on the object's update.
        object_step: f64,
        /// Factor on the probe's update.
        probe_step: f64,
    },
}

/// A regulariser: the weight times Σ h·|O_n − O_i|² over neighbouring pixels of the lit object. The
/// likelihood Σ(√I_model − √I)² has the same unit, so a weight of 1/(2σ²) belongs to differences of
/// standard deviation σ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothness {
    /// The weight; 0: none.
    pub weight: f64,
    /// δ of h = 1/√(1 + |O_n − O_i|²/δ²), which spares edges; 0: h = 1.
    pub edge: f64,
}

impl BatchMethod {
    /// Whether so many devices can divide the batches of a scan of `frames` frames: two or four, with four frames of a batch for each.
    pub(crate) fn divides_among(&self, devices: usize, frames: usize) -> bool {
        devices > 1
            && SHARES.is_multiple_of(devices)
            && self.size.min(frames) >= FRAMES_OF_DEVICE * devices
            && self.smoothness().is_none()
    }

    /// Whether devices that divide batches of frames with so many modes, rows and columns take less time than if each computes all of them: what they
    /// exchange in a batch takes about 0.1 ms, and much longer if its windows are spread over the object (docs/optimisation-log.md, section 31).
    pub(crate) fn gains_by_division(&self, frames: usize, of_frame: [usize; 3]) -> bool {
        let pixels = of_frame
            .into_iter()
            .fold(self.size.min(frames), usize::saturating_mul);
        let [_, rows, columns] = of_frame;
        let least = if rows.saturating_mul(columns) <= SMALL_FRAME {
            2 * PIXELS_TO_DIVIDE
        } else {
            PIXELS_TO_DIVIDE
        };
        self.order == BatchOrder::Compact && pixels >= least
    }

    /// The regulariser, if there is one.
    pub(crate) fn smoothness(&self) -> Option<Smoothness> {
        match self.update {
            BatchUpdate::LeastSquares { smoothness, .. } => {
                (smoothness.weight > 0.0).then_some(smoothness)
            }
            BatchUpdate::Pie { .. } => None,
        }
    }

    /// Share of the last change that is repeated.
    pub(crate) fn momentum(&self) -> f64 {
        match self.update {
            BatchUpdate::LeastSquares { momentum, .. } => momentum,
            BatchUpdate::Pie { .. } => 0.0,
        }
    }

    /// How the object's weights become denominators.
    pub(crate) fn object_denominator(&self) -> Denominator {
        match self.update {
            BatchUpdate::LeastSquares { .. } => Denominator::Floor,
            BatchUpdate::Pie { object_alpha, .. } => Denominator::Mixed(object_alpha),
        }
    }

    /// How the probe's weights become denominators.
    pub(crate) fn probe_denominator(&self) -> Denominator {
        match self.update {
            BatchUpdate::LeastSquares { .. } => Denominator::Floor,
            BatchUpdate::Pie { probe_alpha, .. } => Denominator::Mixed(probe_alpha),
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
