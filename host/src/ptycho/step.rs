//! The iteration step shared by all projection engines.

use super::{EngineSpec, Problem};

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

    /// Weight of ψ: 1−a−b.
    #[must_use]
    pub fn keep(self) -> f64 {
        1.0 - self.a - self.b
    }
}

/// Added to the modelled magnitude before dividing by it, √counts.
pub const MAGNITUDE_FLOOR: f64 = 1e-10;

/// Parameters of one iteration, resolved from the recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Coefficients of the exit-wave update.
    pub coefficients: Coefficients,
    /// Power bound, counts; 0 if off.
    pub bound: f64,
    /// Whether the object is updated.
    pub update_object: bool,
    /// Whether the probe is updated.
    pub update_probe: bool,
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
}

impl Step {
    /// The step of `spec` in iteration `run_iteration`, counted from 1, of a run on `problem`.
    #[must_use]
    pub fn new(spec: &EngineSpec, problem: &Problem, run_iteration: usize) -> Self {
        let sizes = (
            problem.poisson_bound,
            problem.mean_power,
            problem.shape()[0],
        );
        Self::resolve(spec, sizes, run_iteration)
    }

    /// Like [`Step::new`], but from the problem's Poisson bound, mean power and number of frames.
    pub(super) fn resolve(
        spec: &EngineSpec,
        (poisson_bound, mean_power, frames): (f64, f64, usize),
        run_iteration: usize,
    ) -> Self {
        Self {
            coefficients: spec.coefficients(),
            bound: spec.bound(poisson_bound),
            update_object: spec.update_object,
            update_probe: spec.update_probe && run_iteration >= spec.probe_from,
            overlap_loops: spec.overlap_loops,
            overlap_tolerance: spec.overlap_tolerance,
            object_weight: spec.object_inertia * mean_power,
            probe_weight: spec.probe_inertia * frames as f64,
            clip_object: spec.clip_object,
            probe_support: spec.probe_support,
            probe_fourier_support: spec.probe_fourier_support,
            centre_tolerance: spec.probe_centre_tolerance,
        }
    }
}

/// Metrics of one iteration, before they become a history entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepErrors {
    /// Mean over frames of Σ w (af − √I)² / Σ w.
    pub fourier: f64,
    /// Mean |Δψ|² over frames and pixels.
    pub exit: f64,
    /// Errors of the model (object and probe) from which the iteration started.
    pub start: ModelErrors,
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
