//! Jacobi relaxation of Laplace's and Poisson's equation on a regular grid, on the CPU or on
//! several GPUs.
//!
//! An [`Engine`] is created from a [`Problem`] (grid, boundary, start field, source) and a
//! [`Stopping`] rule: [`cpu::CpuEngine`], or [`cuda::GroupEngine`] on any
//! [`warpstride_cuda::gpu::DeviceGroup`]. All engines give the same field, bit for bit, because a sweep has
//! no reduction and its additions have a fixed order. `docs/multi-gpu.md` describes the mathematics
//! and the ladder of schemes.

mod boxed_engines;
pub mod cpu;
pub mod cuda;
mod decomposition;
mod engine;
mod idle;
mod memory_estimate;
mod problem;
pub mod report;
mod run;
mod run_summary;
mod science;
#[cfg(feature = "selftest")]
pub mod selftest;
mod stopping;

pub use boxed_engines::BoxedEngines;
pub use decomposition::{Decomposition, DecompositionError};
pub use engine::{Advance, Engine, Execution, JacobiError, Norm, Span};
pub use idle::{IdleGap, idle_gaps};
pub use memory_estimate::MemorySizes;
pub use problem::{Boundary, Problem, ProblemError, Real};
pub use run::{RelaxationSteps, Run, RunError};
pub use run_summary::RunSummary;
pub use science::SCIENCE;
pub use stopping::Stopping;
