//! What every back end of the relaxation offers.

use super::Real;
use crate::gpu::GpuError;
use ndarray::Array2;
use serde::Serialize;

/// The residual norm √Σ(new − old)² of one sweep, over the cells that a sweep computes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Norm {
    /// Number of the sweep, from 0.
    pub sweep: usize,
    /// The norm, summed in double precision.
    pub norm: f64,
}

/// What one call of [`Engine::advance`] did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Advance {
    /// Norms of the checked sweeps, in order.
    pub norms: Vec<Norm>,
    /// Whether the tolerance was met: the last of the norms is the first that is not greater, and
    /// the field is the one after that sweep.
    pub converged: bool,
}

/// How an engine computes, for summaries.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Setup {
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// Numbers of the GPUs; empty on the CPU.
    pub devices: Vec<usize>,
    /// Names of the devices, in that order.
    pub device_names: Vec<String>,
    /// The rung of the ladder.
    pub scheme: &'static str,
    /// Sweeps of one pass over the memory.
    pub time_block: usize,
    /// Whether halos go from device to device without the host; `None`: there are no halos.
    pub p2p: Option<bool>,
    /// What was adapted to the grid, and why.
    pub notes: Vec<String>,
    /// Bytes per second that all devices together copy (read + written), measured at the start.
    pub copy_bytes_per_second: Option<f64>,
}

/// A piece of work of a device, by the device's own clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// Place of the device in [`Setup::devices`].
    pub device: usize,
    /// Number of the batch of sweeps, from 0. Between two batches the host reads the norms.
    pub batch: usize,
    /// Its stream: `bulk`, `top`, `bottom`, …
    pub lane: &'static str,
    /// Kernel or copy.
    pub name: &'static str,
    /// Microseconds after the start of the run.
    pub start_us: f64,
    /// Microseconds after the start of the run.
    pub end_us: f64,
}

/// Why a relaxation cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum JacobiError {
    /// A device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A plan that cannot be followed.
    #[error(transparent)]
    Plan(#[from] super::cuda::PlanError),
    /// More devices than rows, or none.
    #[error(transparent)]
    Decomposition(#[from] super::DecompositionError),
    /// The field left the numbers.
    #[error(
        "the residual norm of sweep {sweep} is {norm}: squared changes leave the range of this precision (in f32 changes above 1e19 do); take a smaller start field or source, or f64"
    )]
    NotFinite {
        /// Number of the sweep, from 0.
        sweep: usize,
        /// What it came to.
        norm: f64,
    },
    /// Not enough memory on the host.
    #[error("out of host memory: {what} needs {needed} bytes; take a smaller grid")]
    HostMemory {
        /// What it was for.
        what: &'static str,
        /// Bytes asked for.
        needed: usize,
    },
}

/// A field and its sweeps. The rule of stopping is given when it is made.
pub trait Engine<T: Real> {
    /// How it computes.
    fn setup(&self) -> &Setup;

    /// Sweeps done.
    fn sweeps(&self) -> usize;

    /// Whether the tolerance was met or all sweeps are done.
    fn finished(&self) -> bool;

    /// Does some of the remaining sweeps (as many as suit the engine, at least one) and waits for
    /// them. Nothing where it is finished.
    ///
    /// # Errors
    /// The machine's; the field is then lost.
    fn advance(&mut self) -> Result<Advance, JacobiError>;

    /// The field after the last sweep, (row, column), with its ghost rows and columns.
    ///
    /// # Errors
    /// The machine's, or no memory for it.
    fn field(&mut self) -> Result<Array2<T>, JacobiError>;

    /// Work of the devices since the last call, where the engine was made to record it.
    ///
    /// # Errors
    /// The machine's.
    fn take_spans(&mut self) -> Result<Vec<Span>, JacobiError>;
}
