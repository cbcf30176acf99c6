//! Scientific computing on NVIDIA GPUs with every kernel written in Rust.

pub mod data;
pub mod io;
pub mod ptycho;
pub mod report;
