//! The interface of every back end of the reconstruction.

use super::ProblemError;
use crate::gpu::GpuError;
use crate::run::Setup;
use ndarray::Array3;
use num_complex::Complex;
use serde::Serialize;

/// |r|²/|b|² after an iteration, with b = EᴴWd and r = b − (EᴴWE + λ)ρ (without λ for the ℓ1
/// methods).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Residual {
    /// Iterations done, from 1.
    pub iteration: usize,
    /// |r|²/|b|².
    pub residual: f64,
}

/// Why a reconstruction failed.
#[derive(Debug, thiserror::Error)]
pub enum MriError {
    /// An error of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Invalid input data.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Overflow.
    #[error(
        "the residual of iteration {iteration}: expected a finite number, found {residual}: the values overflow this precision; scale the data or use --precision f64"
    )]
    NotFinite {
        /// Iterations done.
        iteration: usize,
        /// Its residual.
        residual: f64,
    },
    /// A combination of options that no operator supports.
    #[error("{0}")]
    Unsupported(String),
    /// A tolerance that no kernel reaches.
    #[error("the tolerance: expected at least {smallest:e} in {precision}, found {tolerance:e}")]
    Tolerance {
        /// The requested tolerance.
        tolerance: f64,
        /// `f32` or `f64`.
        precision: &'static str,
        /// The smallest tolerance.
        smallest: f64,
    },
    /// Not enough memory on the host.
    #[error("out of host memory: {what} needs {needed} bytes; use a smaller matrix or fewer coils")]
    HostMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// The requested bytes.
        needed: usize,
    },
}

/// A reconstruction in progress, made from a [`Problem`](super::Problem) and a
/// [`Recipe`](super::Recipe).
pub trait Engine {
    /// The back end, device and precision.
    fn setup(&self) -> &Setup;

    /// Number of planned iterations.
    fn planned(&self) -> usize;

    /// Number of iterations done.
    fn done(&self) -> usize;

    /// Whether conjugate gradients have reached
    /// [`Recipe::min_residual`](super::Recipe::min_residual): there is nothing left to do.
    fn converged(&self) -> bool {
        false
    }

    /// Does some of the remaining iterations (as many as suit the engine, at least one), or the
    /// adjoint if none are planned, and waits for them. Returns their residuals; none once
    /// [converged](Self::converged).
    ///
    /// # Errors
    /// An error of the device; the image is then lost.
    fn advance(&mut self) -> Result<Vec<Residual>, MriError>;

    /// The image after the last iteration, (slice, row, column). Before the first iteration it is
    /// the start image of the method.
    ///
    /// # Errors
    /// An error of the device.
    fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError>;
}
