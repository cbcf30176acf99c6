//! Jacobi relaxation of Laplace's and Poisson's equation on a regular grid, on the CPU or on
//! several GPUs.
//!
//! An [`Engine`] is created from a [`Problem`] (grid, boundary, start field, source) and a
//! [`Stopping`] rule: [`cpu::CpuEngine`], or [`cuda::GroupEngine`] on any
//! [`warpstride_cuda::gpu::DeviceGroup`]. All engines give the same field, bit for bit, because a
//! sweep has no reduction and its additions have a fixed order. `docs/multi-gpu.md` describes the
//! mathematics and the ladder of schemes.
//!
//! # Example
//! ```
//! use warpstride_cuda::gpu::EmulatedDeviceGroup;
//! use warpstride_jacobi::cpu::CpuEngine;
//! use warpstride_jacobi::cuda::{GroupEngine, Plan};
//! use warpstride_jacobi::{Boundary, Engine, Problem, Stopping};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let problem = Problem::<f32>::new(40, 30, Boundary::Textbook)?; // columns, rows
//! let rule = Stopping { iterations: 20, ..Stopping::default() };
//! let mut on_cpu = CpuEngine::new(&problem, rule, 1)?;
//! let mut on_three = GroupEngine::new(EmulatedDeviceGroup::new(3), &problem, rule, Plan::default())?;
//! let engines: [&mut dyn Engine<f32>; 2] = [&mut on_cpu, &mut on_three];
//! for engine in engines {
//!     let mut norms = Vec::new();
//!     while !engine.finished() {
//!         norms.extend(engine.advance()?.norms);
//!     }
//!     // √(ny − 1) / 4 in real arithmetic.
//!     assert!((norms[0].norm - 29.0_f64.sqrt() / 4.0).abs() < 1e-6);
//! }
//! assert_eq!(on_cpu.field()?, on_three.field()?); // (row, column), bit for bit
//! # Ok(())
//! # }
//! ```
//!
//! On GPUs the group is a [`CudaDeviceGroup`](warpstride_cuda::gpu::CudaDeviceGroup).

#![cfg_attr(
    not(all(feature = "plots", feature = "selftest")),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

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
