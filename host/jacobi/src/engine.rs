//! The interface of all engines of the relaxation.

use super::Real;
use ndarray::Array2;
use serde::Serialize;
use warpstride_core::run::Setup;
use warpstride_cuda::gpu::GpuError;

/// The residual norm √Σ(new − old)² of one sweep, over the cells that the sweep computes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Norm {
    /// Index of the sweep, from 0.
    pub sweep: usize,
    /// The norm, summed in double precision.
    pub norm: f64,
}

/// The result of one call of [`Engine::advance`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Advance {
    /// Norms of the checked sweeps, in order.
    pub norms: Vec<Norm>,
    /// Whether the tolerance was met: the last norm is the first that does not exceed it, and the
    /// field is the one after that sweep.
    pub converged: bool,
}

/// How an engine does its sweeps.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Execution {
    /// Numbers of the GPUs; empty on the CPU.
    pub devices: Vec<usize>,
    /// Names of the devices, in that order.
    #[serde(skip)]
    pub device_names: Vec<String>,
    /// The step of the ladder.
    pub scheme: &'static str,
    /// Sweeps of one pass over the memory.
    pub time_block: usize,
    /// Whether halos go from device to device without the host; `None`: there are no halos.
    pub p2p: Option<bool>,
    /// What was adapted to the grid, and why.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Bytes per second that all devices together copy (read + written), measured at the start.
    #[serde(skip)]
    pub copy_bytes_per_second: Option<f64>,
}

/// The time of one operation of a device, by the clock of the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// Index of the device in [`Execution::devices`].
    pub device: usize,
    /// Index of the batch of sweeps, from 0. The host reads the norms between batches.
    pub batch: usize,
    /// Name of the stream: `bulk`, `top`, `bottom`, …
    pub stream: &'static str,
    /// Name of the kernel or copy.
    pub name: &'static str,
    /// Start in microseconds after the start of the run.
    pub start_us: f64,
    /// End in microseconds after the start of the run.
    pub end_us: f64,
}

/// An error of a relaxation.
#[derive(Debug, thiserror::Error)]
pub enum JacobiError {
    /// An error of a device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An invalid plan.
    #[error(transparent)]
    Plan(#[from] super::cuda::PlanError),
    /// More devices than rows, or no device.
    #[error(transparent)]
    Decomposition(#[from] super::DecompositionError),
    /// A residual norm is not finite.
    #[error(
        "the residual norm of sweep {sweep}: expected a finite number, found {norm}: squared changes \
         exceed the range of this precision (in f32 changes above 1e19 do); use a smaller start \
         field or source, or f64"
    )]
    NotFinite {
        /// Index of the sweep, from 0.
        sweep: usize,
        /// The norm.
        norm: f64,
    },
    /// Arrays in the memory of a device, for a group of several.
    #[error("arrays in the memory of a device: expected one device, found {0}")]
    SeveralDevices(usize),
    /// An array in the memory of a device that has another length than the grid.
    #[error("{what}: expected {expected} values, as many as the grid, found {found}")]
    ArrayLength {
        /// The array.
        what: &'static str,
        /// Cells of the grid.
        expected: usize,
        /// Values of the array.
        found: usize,
    },
    /// An allocation of host memory failed.
    #[error("out of host memory: {what} needs {needed} bytes; use a smaller grid")]
    HostMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// Bytes requested.
        needed: usize,
    },
}

/// A field and its sweeps. The stopping rule is given at construction.
pub trait Engine<T: Real> {
    /// The configuration of the engine.
    fn setup(&self) -> &Setup;

    /// How it does its sweeps.
    fn execution(&self) -> &Execution;

    /// The number of completed sweeps.
    fn sweeps(&self) -> usize;

    /// Whether the tolerance was met or all sweeps are done.
    fn finished(&self) -> bool;

    /// Does some of the remaining sweeps (at least one, as many as suit the engine) and waits for
    /// them. Does nothing if the engine is finished.
    ///
    /// # Errors
    /// An error of the device; the field is then lost.
    fn advance(&mut self) -> Result<Advance, JacobiError>;

    /// From now on [`advance`](Self::advance) does as few sweeps as the engine can, however long
    /// they take: a pass on the CPU, on GPUs a batch. Where a caller ends the relaxation then does
    /// not depend on time.
    fn one_by_one(&mut self);

    /// The field after the last sweep, (row, column), including its ghost rows and columns.
    ///
    /// # Errors
    /// An error of the device, or host memory is exhausted.
    fn field(&mut self) -> Result<Array2<T>, JacobiError>;

    /// The operations of the devices since the last call, if the engine was created with profiling.
    ///
    /// # Errors
    /// An error of the device.
    fn take_spans(&mut self) -> Result<Vec<Span>, JacobiError>;
}
