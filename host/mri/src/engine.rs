//! The interface of every back end of the reconstruction.

use super::{Method, Problem, ProblemError, Recipe};
use ndarray::Array3;
use num_complex::Complex;
use serde::Serialize;
use warpstride_core::run::Setup;
use warpstride_cuda::gpu::GpuError;
use warpstride_fft::Real;

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
    #[error(
        "the tolerance: expected at least {smallest:e} and less than 1 in {precision}, found {tolerance:e}"
    )]
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

    /// From now on [`advance`](Self::advance) does one iteration, so that a caller can end the run
    /// after any, however long they take.
    fn one_by_one(&mut self);

    /// The image after the last iteration, (slice, row, column). Before the first iteration it is
    /// the start image of the method.
    ///
    /// # Errors
    /// An error of the device.
    fn image(&mut self) -> Result<Array3<Complex<f64>>, MriError>;

    /// The data residual Σ w |d − Eρ|²/Σ w |d|² of this image: the share of the signal that the
    /// image does not explain. `None` for the adjoint, whose scale is not that of the samples, and
    /// for zero data.
    ///
    /// # Errors
    /// An error of the device.
    fn data_residual(&mut self) -> Result<Option<f64>, MriError> {
        Ok(None)
    }
}

/// Σ w |d|² of a problem, the scale of [`Engine::data_residual`].
pub(crate) fn signal_squared(problem: &Problem) -> f64 {
    let coils = problem.samples().rows().into_iter();
    coils
        .map(|coil| match problem.weights() {
            Some(weights) => {
                let each = coil.iter().zip(weights);
                each.map(|(d, w)| w * d.norm_sqr()).sum::<f64>()
            }
            None => coil.iter().map(Complex::norm_sqr).sum(),
        })
        .sum()
}

/// Σ w |d − Eρ|² = Σ w |d|² − Re⟨ρ, b⟩ − Re⟨ρ, r⟩ with b = EᴴWd and r = b − EᴴWEρ, relative to
/// `signal` = Σ w |d|². It needs no operator, and is accurate to the operator's tolerance.
pub(crate) fn relative_data_residual<T: Real>(
    signal: f64,
    image: &[Complex<T>],
    b: &[Complex<T>],
    rest: impl IntoIterator<Item = Complex<T>>,
) -> Option<f64> {
    let product = |a: Complex<T>, b: Complex<T>| {
        let [re, im, re_b, im_b] = [a.re, a.im, b.re, b.im].map(Real::wide);
        re * re_b + im * im_b
    };
    let explained: f64 = image
        .iter()
        .zip(b)
        .zip(rest)
        .map(|((rho, b), r)| product(*rho, *b) + product(*rho, r))
        .sum();
    (signal > 0.0).then(|| ((signal - explained) / signal).max(0.0))
}

/// When conjugate gradients stop before all iterations are done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    enough: f64,
    least: usize,
    rounding: f64,
}

impl Stop {
    /// As the recipe says; the other methods do all iterations.
    pub(super) fn new(recipe: &Recipe) -> Self {
        let gradients = recipe.method == Method::Cg;
        Self {
            enough: if gradients { recipe.min_residual } else { 0.0 },
            least: recipe.min_iterations,
            rounding: if gradients { recipe.rounding } else { 0.0 },
        }
    }

    /// Whether the iteration of this number, from 1, with this residual is the last. A residual of
    /// exactly 0 stops nothing: there is nothing to do in the iterations that are left.
    pub(super) fn after(self, iteration: usize, residual: f64) -> bool {
        let enough = iteration >= self.least && self.enough > 0.0 && residual <= self.enough;
        enough || (residual > 0.0 && residual <= self.rounding)
    }
}
