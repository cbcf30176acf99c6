//! The summary of a relaxation.

use super::{Boundary, Execution, IdleGap, Norm, Problem, Real, Run, Stopping, idle_gaps};
use serde::Serialize;
use warpstride_core::run::RunRecord;
use warpstride_files::npy::Element;

/// The summary of a run: what `--json` prints. An iteration is a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// What held at the border.
    pub boundary: Boundary,
    /// What the summaries of all sciences have: where it computed, files, times, notes.
    #[serde(flatten)]
    pub record: RunRecord,
    /// How it did its sweeps.
    #[serde(flatten)]
    pub execution: Execution,
    /// Sweeps done.
    pub iterations: usize,
    /// Whether the tolerance was met.
    pub converged: bool,
    /// The norm to stop at.
    pub tolerance: f64,
    /// Norms of the checked sweeps.
    pub norms: Vec<Norm>,
    /// Cells that a sweep computes, times sweeps, over the seconds of the run.
    pub cells_per_second: f64,
    /// Seconds in which the devices read and write each of these cells once a sweep, at the speed
    /// that they copied at when the run began; not in the emulator.
    pub floor_seconds: Option<f64>,
    /// `floor_seconds` over the seconds of the run; above 1 where a pass over the memory does
    /// several sweeps.
    pub share_of_floor: Option<f64>,
    /// Seconds of the same sweeps on the first device alone, where they were asked for; not in the
    /// emulator.
    pub single_seconds: Option<f64>,
    /// `single_seconds / (devices · seconds)`.
    pub efficiency: Option<f64>,
    /// Idle time between sweeps, where a timeline was recorded; not in the emulator.
    pub idle_gap_us: Option<Vec<IdleGap>>,
}

impl RunSummary {
    /// The summary of a run so far; its record has the notes of the engine, but no files and no
    /// set-up.
    #[must_use]
    pub fn new<T: Real + Element>(
        run: &Run<'_, T>,
        problem: &Problem<T>,
        stopping: Stopping,
    ) -> Self {
        let (steps, seconds) = (run.steps(), run.seconds());
        let engine = steps.engine();
        let (execution, sweeps) = (engine.execution().clone(), engine.sweeps());
        let mut record = RunRecord::new(engine.setup().clone(), seconds);
        record.notes.clone_from(&execution.notes);
        let cells = (problem.nx() - 2) as f64 * (problem.ny() - 2) as f64 * sweeps as f64;
        let measured = !record.setup.is_emulated();
        let floor_seconds = execution
            .copy_bytes_per_second
            .filter(|_| measured)
            .map(|rate| cells * 2.0 * T::BYTES as f64 / rate);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let gaps = idle_gaps(steps.spans());
        Self {
            nx: problem.nx(),
            ny: problem.ny(),
            boundary: problem.boundary(),
            record,
            iterations: sweeps,
            converged: steps.converged(),
            tolerance: stopping.tolerance,
            norms: run.entries().to_vec(),
            cells_per_second: share(cells, seconds),
            floor_seconds,
            share_of_floor: floor_seconds.map(|floor| share(floor, seconds)),
            single_seconds: None,
            efficiency: None,
            idle_gap_us: (measured && !gaps.is_empty()).then_some(gaps),
            execution,
        }
    }

    /// With the seconds of the same sweeps on the first device alone.
    #[must_use]
    pub fn against_one_device(mut self, single_seconds: f64) -> Self {
        let all = self.execution.devices.len() as f64 * self.record.seconds;
        self.single_seconds = Some(single_seconds);
        self.efficiency = (all > 0.0).then(|| single_seconds / all);
        self
    }
}
