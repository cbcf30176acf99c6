//! The step that all projection engines share.

use super::{EngineSpec, Problem};

/// Coefficients of ψ ← (1−a−b) ψ + a P·O + b F⁻¹ Π F[(1−c) ψ + c P·O].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Weight of P·O.
    pub a: f64,
    /// Weight of the projected wave.
    pub b: f64,
    /// Reflection.
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

    /// Weight of ψ: 1−a−b.
    #[must_use]
    pub fn keep(self) -> f64 {
        1.0 - self.a - self.b
    }
}

/// Added to the modelled magnitude before dividing by it, √counts.
pub const MAGNITUDE_FLOOR: f64 = 1e-10;

/// What one iteration does, resolved from the recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Of the exit waves.
    pub coefficients: Coefficients,
    /// Power bound, counts; 0 for none.
    pub bound: f64,
    /// Object is updated.
    pub update_object: bool,
    /// Probe is updated.
    pub update_probe: bool,
    /// Most alternations.
    pub overlap_loops: usize,
    /// Alternations end below this ‖ΔP‖/‖P‖.
    pub overlap_tolerance: f64,
    /// Weight of the present object, absolute (photons).
    pub object_weight: f64,
    /// Weight of the present probe, absolute (frames).
    pub probe_weight: f64,
    /// |object| limits.
    pub clip_object: Option<[f64; 2]>,
    /// Diameter, share of the frame.
    pub probe_support: Option<f64>,
    /// Diameter, share of the detector.
    pub probe_fourier_support: Option<f64>,
    /// Pixels.
    pub centre_tolerance: Option<f64>,
}

impl Step {
    /// The step that `spec` asks for in iteration `run_iteration`, from 1, of a run on `problem`.
    #[must_use]
    pub fn new(spec: &EngineSpec, problem: &Problem, run_iteration: usize) -> Self {
        let sizes = (
            problem.poisson_bound,
            problem.mean_power,
            problem.shape()[0],
        );
        Self::resolve(spec, sizes, run_iteration)
    }

    /// As [`Step::new`], from the problem's Poisson bound, mean power and number of frames.
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

/// Figures of one iteration, before they become a history entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepErrors {
    /// Mean over frames of Σ w (af − √I)² / Σ w.
    pub fourier: f64,
    /// Mean |Δψ|² over frames and pixels.
    pub exit: f64,
    /// How well the object and probe that the iteration started from explain the counts.
    pub start: ModelErrors,
}

/// How well a model explains the counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelErrors {
    /// err_phot: mean over frames of Σ w (I_model − I)²/(I + 1) / Σ w.
    pub photon: f64,
    /// R: Σ w (√I_model − √I)² / Σ w I.
    pub r_factor: f64,
}
