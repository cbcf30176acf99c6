//! A reconstruction in progress.

use crate::errors::Failure;
use crate::wording::all_in_python;
use ndarray::Array3;
use num_complex::Complex;
use std::time::{Duration, Instant};
use warpstride::mri::{Engine, Recipe, ReconstructionSteps};
use warpstride::run::{Interrupt, Steps};

/// Iterations with their residuals, iterations of the recipe, whether the run is finished.
pub(crate) type Progress = (Vec<(usize, f64)>, usize, bool);

/// A computation in progress.
pub(crate) struct Running<E: Engine + ?Sized = dyn Engine> {
    pub(crate) steps: ReconstructionSteps<E>,
    pub(crate) residuals: Vec<f64>,
    pub(crate) recipe: Recipe,
    /// Maps on the host.
    pub(crate) maps: Option<Array3<Complex<f64>>>,
    pub(crate) density: &'static str,
    pub(crate) notes: Vec<String>,
    pub(crate) problems: Vec<String>,
}

impl<E: Engine + ?Sized> Running<E> {
    /// Does iterations for about this time, at least one; without time exactly one.
    pub(crate) fn advance(
        &mut self,
        time: Duration,
        interrupt: &Interrupt,
    ) -> Result<Progress, Failure> {
        if time.is_zero() {
            self.steps.engine_mut().one_by_one();
        }
        let begun = Instant::now();
        let mut entries = Vec::new();
        while !(self.steps.finished() || interrupt.requested()) {
            entries.extend(self.steps.advance()?);
            if begun.elapsed() >= time {
                break;
            }
        }
        let found = entries.iter().map(|entry| entry.residual);
        self.residuals.extend(found);
        let entries = entries
            .iter()
            .map(|entry| (entry.iteration, entry.residual));
        Ok((
            entries.collect(),
            self.steps.planned(),
            self.steps.finished(),
        ))
    }

    /// A JSON document with all but arrays.
    pub(crate) fn facts(&mut self) -> Result<String, Failure> {
        let data_residual = self.steps.data_residual()?;
        let engine = self.steps.engine();
        let setup = engine.setup();
        Ok(serde_json::json!({
            "data_residual": data_residual,
            "converged": engine.converged(),
            "backend": setup.backend,
            "device": setup.device,
            "precision": setup.precision,
            "density": self.density,
            "recipe": self.recipe,
            "notes": all_in_python(self.notes.iter().cloned()),
            "problems": all_in_python(self.problems.iter().cloned()),
        })
        .to_string())
    }
}
