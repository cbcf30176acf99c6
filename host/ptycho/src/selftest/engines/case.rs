//! What the comparisons of engines have in common.

use crate::{
    Engine, EngineError, Problem, ProblemError, SimulateError, Step, StepErrors, UpdateVersion,
};

/// The reason why a comparison of engines could not complete.
#[derive(Debug, thiserror::Error)]
pub enum EngineCaseError {
    /// An engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The scan could not be simulated.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// The simulated scan could not be prepared for reconstruction.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

pub(super) fn named(problem: &Problem, version: UpdateVersion, sequence: &str) -> String {
    let [frames, modes, rows, columns] = problem.shape();
    let version = match version {
        UpdateVersion::Tiled => "tiled",
        UpdateVersion::Atomic => "atomic",
    };
    let detector = problem.detector.as_ref().map_or("", |_| ", detector");
    format!("{sequence}, {version}, {frames} × {modes} × {rows} × {columns}{detector}")
}

pub(super) fn metrics(
    engine: &mut dyn Engine,
    steps: &[Step],
) -> Result<Vec<f64>, EngineCaseError> {
    for step in steps {
        engine.step(step)?;
    }
    // Every problem of these has free pixels.
    let each = |errors: StepErrors| {
        let start = errors.start;
        [
            Some(errors.fourier),
            errors.exit,
            start.map(|model| model.photon),
            start.map(|model| model.r_factor),
            start.and_then(|model| model.r_free),
        ]
        .map(|metric| metric.unwrap_or(f64::NAN))
    };
    Ok(engine.errors(true)?.into_iter().flat_map(each).collect())
}
