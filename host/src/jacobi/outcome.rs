//! What a relaxation came to, in figures.

use super::{Boundary, Course, IdleGap, Norm, Problem, Real, Stopping, idle_gaps};
use crate::io::npy::Element;
use serde::Serialize;

/// Figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// What held at the border.
    pub boundary: Boundary,
    /// `f32` or `f64`.
    pub precision: &'static str,
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// The rung of the ladder.
    pub scheme: &'static str,
    /// Numbers of the GPUs; empty on the CPU.
    pub devices: Vec<usize>,
    /// Their names.
    pub device_names: Vec<String>,
    /// Sweeps of one pass over the memory.
    pub time_block: usize,
    /// Whether halos went from device to device; none: there were no halos.
    pub p2p: Option<bool>,
    /// Sweeps done.
    pub sweeps: usize,
    /// Whether the tolerance was met.
    pub converged: bool,
    /// The norm to stop at.
    pub tolerance: f64,
    /// Norms of the checked sweeps.
    pub norms: Vec<Norm>,
    /// Wall-clock seconds of the sweeps, without set-up and saving.
    pub seconds: f64,
    /// Wall-clock seconds of what came before the first sweep.
    pub setup_seconds: f64,
    /// Cells that a sweep computes, times sweeps, over `seconds`.
    pub cells_per_second: f64,
    /// Seconds in which the devices read and write each of these cells once a sweep, at the speed
    /// that they copied at when the run began.
    pub floor_seconds: Option<f64>,
    /// `floor_seconds / seconds`; above 1 where a pass over the memory does several sweeps.
    pub share_of_floor: Option<f64>,
    /// Seconds of the same sweeps on the first device alone, where they were asked for.
    pub single_seconds: Option<f64>,
    /// `single_seconds / (devices · seconds)`.
    pub efficiency: Option<f64>,
    /// Idle time between sweeps, where a timeline was recorded.
    pub idle_gap_us: Option<Vec<IdleGap>>,
    /// What was adapted to the grid or the machine, and why.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Figures of a run so far.
    #[must_use]
    pub fn new<T: Real + Element>(
        course: &Course<'_, T>,
        problem: &Problem<T>,
        stopping: Stopping,
        setup_seconds: f64,
    ) -> Self {
        let setup = course.engine().setup();
        let (sweeps, seconds) = (course.engine().sweeps(), course.seconds());
        let cells = (problem.nx() - 2) as f64 * (problem.ny() - 2) as f64 * sweeps as f64;
        let floor_seconds = setup
            .copy_bytes_per_second
            .map(|rate| cells * 2.0 * T::BYTES as f64 / rate);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let gaps = idle_gaps(course.spans());
        Self {
            nx: problem.nx(),
            ny: problem.ny(),
            boundary: problem.boundary(),
            precision: T::NAME,
            backend: setup.backend,
            scheme: setup.scheme,
            devices: setup.devices.clone(),
            device_names: setup.device_names.clone(),
            time_block: setup.time_block,
            p2p: setup.p2p,
            sweeps,
            converged: course.converged(),
            tolerance: stopping.tolerance,
            norms: course.norms().to_vec(),
            seconds,
            setup_seconds,
            cells_per_second: share(cells, seconds),
            floor_seconds,
            share_of_floor: floor_seconds.map(|floor| share(floor, seconds)),
            single_seconds: None,
            efficiency: None,
            idle_gap_us: (!gaps.is_empty()).then_some(gaps),
            notes: setup.notes.clone(),
        }
    }

    /// With the seconds of the same sweeps on the first device alone.
    #[must_use]
    pub fn against_one_device(mut self, single_seconds: f64) -> Self {
        let all = self.devices.len() as f64 * self.seconds;
        self.single_seconds = Some(single_seconds);
        self.efficiency = (all > 0.0).then(|| single_seconds / all);
        self
    }
}
