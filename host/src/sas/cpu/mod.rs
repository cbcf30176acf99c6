//! The CPU half: particles and points over threads, wave vectors over vector units.

mod engine;
mod number;
mod tile;

pub use engine::CpuEngine;
