//! The batches of an iteration.

use super::update;
use crate::engines::batches::batches;
use crate::engines::cpu::batches::regions::side_by_side;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::projections::fourier_projection::FrameErrors;
use crate::engines::method::BatchMethod;
use crate::{EngineError, Step};
use warpstride_fft::Real;

/// One pass over all frames; returns each frame's errors, of the model before its batch's update.
pub(in crate::engines::cpu) fn iterate<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &BatchMethod,
) -> Result<Vec<FrameErrors>, EngineError> {
    let positions = engine.layout.positions(step.subpixel);
    let mut errors = vec![FrameErrors::default(); positions.len()];
    if let Some(regions) = engine.regions.clone().filter(|_| method.regions) {
        side_by_side(engine, step, method, &regions, &mut errors)?;
        engine.update_background();
        return Ok(errors);
    }
    let lists = batches(
        method.order,
        &positions,
        method.size,
        step.seed,
        step.iteration,
    );
    for frames in &lists {
        update(engine, step, method, frames, &mut errors)?;
    }
    engine.update_background();
    Ok(errors)
}
