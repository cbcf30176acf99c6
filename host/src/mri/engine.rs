//! What every back end of the reconstruction offers.

use super::ProblemError;
use crate::gpu::GpuError;
use ndarray::Array3;
use num_complex::Complex;
use serde::Serialize;

/// |r|²/|b|² after an iteration: b = EᴴWd, r = b − (EᴴWE + λ)ρ (without λ for the ℓ1 methods).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Residual {
    /// Iterations done, from 1.
    pub iteration: usize,
    /// |r|²/|b|².
    pub residual: f64,
}

/// How an engine computes, for summaries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// The device's name.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: &'static str,
}

/// Why a reconstruction cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum MriError {
    /// A device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// What was measured.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Numbers left the range.
    #[error(
        "the residual of iteration {iteration} is {residual}: the values leave the range of this precision; scale the data, or take --precision f64"
    )]
    NotFinite {
        /// Iterations done.
        iteration: usize,
        /// What it came to.
        residual: f64,
    },
    /// An operator that cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A tolerance that no kernel reaches.
    #[error(
        "a tolerance of {tolerance:e} is not reached in {precision}: the smallest is {smallest:e}"
    )]
    Tolerance {
        /// As asked for.
        tolerance: f64,
        /// `f32` or `f64`.
        precision: &'static str,
        /// What is reached.
        smallest: f64,
    },
    /// Not enough memory on the host.
    #[error(
        "out of host memory: {what} needs {needed} bytes; take a smaller matrix or fewer coils"
    )]
    HostMemory {
        /// What it was for.
        what: &'static str,
        /// Bytes asked for.
        needed: usize,
    },
}

/// An image on its way. Made of a [`Problem`](super::Problem) and a [`Recipe`](super::Recipe).
pub trait Engine {
    /// How it computes.
    fn setup(&self) -> &Setup;

    /// Iterations planned.
    fn planned(&self) -> usize;

    /// Iterations done.
    fn done(&self) -> usize;

    /// Does some of the remaining iterations (as many as suit the engine, at least one), or the
    /// adjoint where there are none, and waits for them. Gives their residuals.
    ///
    /// # Errors
    /// The machine's; the image is then lost.
    fn advance(&mut self) -> Result<Vec<Residual>, MriError>;

    /// The image after the last iteration, (slice, row, column). Before the first it is what the
    /// method starts from.
    ///
    /// # Errors
    /// The machine's.
    fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError>;
}
