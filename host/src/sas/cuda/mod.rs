//! The GPU's half: all wave vectors, directions, particles and parameter vectors of a call in one launch, in double
//! or single precision, on any [`Machine`](crate::gpu::Machine).
//!
//! In the order in which a call meets them: `plan.rs` of the room (what a vector asks for), [`cut`] (how its sums are
//! cut into tasks, from the vector alone), [`members`] (that as kernels read it), [`engine`] (launches).

mod cut;
mod engine;
mod grid;
mod members;
mod resident;

pub use cut::Tuning;
pub use engine::{GpuEngine, needs};
