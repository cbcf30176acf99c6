//! The CPU back end: threads over particles and points, vector units over wave vectors.

mod engine;
mod number;
mod tile;

pub use engine::CpuEngine;
