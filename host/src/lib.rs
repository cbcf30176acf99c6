//! Scientific computing on NVIDIA GPUs with every kernel written in Rust.

pub mod cuda;
pub mod data;
pub mod fft;
pub mod gpu;
pub mod io;
pub mod ptycho;
pub mod report;
pub mod run;
pub mod selftest;
