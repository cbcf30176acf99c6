//! Builds crates of `#[kernel]`s to PTX: finds a device compiler, links the bitcode, generates PTX, and checks it.
//!
//! The program `warpstride-build-ptx` builds any such crate; `cargo xtask build-ptx` builds warpstride's own with this
//! library. `docs/toolchain.md` describes the compiler and the steps, `docs/your-own-kernels.md` a crate of one's own.
//!
//! rustc calls the running program as its linker, so a program that uses this library starts with
//! [`linker::run_if_called_as_linker`].

#![expect(clippy::print_stdout, reason = "a build tool reports on the terminal")]

mod check;
pub mod compiler;
mod convergence;
pub mod debian;
mod dependencies;
mod device_build;
mod ir;
pub mod kernel;
pub mod linker;
mod lint;
pub mod process;
mod ptx;
pub mod ptxas;
pub mod wheel;

pub use check::check;
pub use device_build::{DeviceBuild, Linked, Package, RECIPE, Threading, check_barriers};
