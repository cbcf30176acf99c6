//! Jacobi relaxation of Laplace's and Poisson's equation on a regular grid, on the CPU and over
//! several GPUs.
//!
//! A [`Problem`] (grid, boundary, start field, source) and a [`Stopping`] rule make an [`Engine`]:
//! [`cpu::CpuEngine`], or [`cuda::FleetEngine`] on any [`crate::gpu::Fleet`]. The field is the same,
//! bit for bit, whatever computes it: a sweep has no reduction, and its additions have one order.
//! `docs/multi-gpu.md` has the mathematics and the ladder of schemes.

mod course;
pub mod cpu;
pub mod cuda;
mod decomposition;
mod engine;
mod idle;
mod outcome;
mod problem;
mod stopping;

pub use course::{Course, CourseError};
pub use decomposition::{Decomposition, DecompositionError};
pub use engine::{Advance, Engine, JacobiError, Norm, Setup, Span};
pub use idle::{IdleGap, idle_gaps};
pub use outcome::Outcome;
pub use problem::{Boundary, Problem, ProblemError, Real};
pub use stopping::Stopping;
