//! Mirrors cpu/conjugate_gradients.rs: an iteration is EᴴWE and three launches; α, β and |r|² stay
//! on the device. If several devices share the coils, each has all of ρ, r and p.

use super::sense::Sense;
use super::sums::{real_product, squares};
use crate::Recipe;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::cg_curvature::MriCgCurvature;
use warpstride_kernels::mri::cg_direction::MriCgDirection;
use warpstride_kernels::mri::cg_step::MriCgStep;

/// The state between two iterations, with ρ = 0 at first.
pub(super) struct ConjugateGradients<M: Device> {
    length: usize,
    lambda: f32,
    /// |r|² from which on ρ stays as it is, after so many iterations.
    enough: f64,
    least: u32,
    /// |r|² from which on ρ stays as it is in any case.
    rounding: f64,
    rho: M::Buffer<Complex32>,
    residual: M::Buffer<Complex32>,
    direction: M::Buffer<Complex32>,
    /// A p
    applied: M::Buffer<Complex32>,
    curvature: M::Buffer<f64>,
    squares: M::Buffer<f64>,
    /// |r|² at the start and after every iteration.
    history: M::Buffer<f64>,
    entries: usize,
    iteration: M::Buffer<u32>,
}

impl<M: Device> ConjugateGradients<M> {
    /// Starts from the right-hand side `b` = EᴴWd and the recipe's λ, iterations, and residuals at
    /// which ρ stays as it is.
    pub(super) fn new(device: &M, b: M::Buffer<Complex32>, recipe: &Recipe) -> Result<Self> {
        let length = b.len();
        let vector = || device.alloc("vectors of conjugate gradients", length);
        let mut direction = vector()?;
        device.copy(&b, &mut direction)?;
        let mut partial = device.alloc("sums", PARTIAL_SUMS)?;
        let start = squares(device, &b, &mut partial)?;
        let mut history = vec![0.0; recipe.iterations + 1];
        history[0] = start;
        let mut on_device = device.alloc("residuals", history.len())?;
        device.upload(&mut on_device, &history)?;
        let mut iteration = device.alloc("number of the iteration", 1)?;
        device.upload(&mut iteration, &[u32::MAX])?;
        Ok(Self {
            length,
            lambda: recipe.lambda as f32,
            enough: recipe.min_residual * start,
            least: u32::try_from(recipe.min_iterations).unwrap_or(u32::MAX),
            rounding: recipe.rounding * start,
            rho: vector()?,
            residual: b,
            direction,
            applied: vector()?,
            curvature: device.alloc("sums", PARTIAL_SUMS)?,
            squares: partial,
            entries: history.len(),
            history: on_device,
            iteration,
        })
    }

    /// Queues A p of the coils of `sense`, the first half of an iteration.
    pub(super) fn apply(&mut self, device: &M, sense: &mut Sense<M>) -> Result<()> {
        sense.normal(device, &self.direction, &mut self.applied)
    }

    /// A p, whose sum over all coils [`Self::update`] needs.
    pub(super) fn applied(&mut self) -> &mut M::Buffer<Complex32> {
        &mut self.applied
    }

    /// Queues the second half of an iteration.
    pub(super) fn update(&mut self, device: &M) -> Result<()> {
        let voxels = self.length as u32;
        let entries = self.entries as u32;
        let curvature = MriCgCurvature {
            direction: self.direction.read(),
            applied: self.applied.write(),
            curvature: self.curvature.write(),
            iteration: self.iteration.write(),
            voxels,
            lambda: self.lambda,
        };
        device.launch(&curvature, Work::Blocks(PARTIAL_SUMS))?;
        let step = MriCgStep {
            image: self.rho.write(),
            residual: self.residual.write(),
            direction: self.direction.read(),
            applied: self.applied.read(),
            curvature: self.curvature.read(),
            squares: self.squares.write(),
            history: self.history.read(),
            iteration: self.iteration.read(),
            voxels,
            entries,
            enough: self.enough,
            least: self.least,
            rounding: self.rounding,
        };
        device.launch(&step, Work::Blocks(PARTIAL_SUMS))?;
        let direction = MriCgDirection {
            direction: self.direction.write(),
            residual: self.residual.read(),
            squares: self.squares.read(),
            history: self.history.write(),
            iteration: self.iteration.read(),
            voxels,
            entries,
        };
        device.launch(&direction, Work::Elements(self.length))
    }

    /// Waits, and returns |r|²/|b|² after the iterations `from` (0: after the first) to `to`.
    pub(super) fn residuals(&self, device: &M, from: usize, to: usize) -> Result<Vec<f64>> {
        let mut history = vec![0.0; self.entries];
        device.download(&self.history, &mut history)?;
        let start = history[0];
        let relative = |square: &f64| if start == 0.0 { 0.0 } else { square / start };
        Ok(history[from + 1..=to].iter().map(relative).collect())
    }

    /// Waits, and returns b − EᴴWEρ, which is r + λρ.
    pub(super) fn rest(&self, device: &M, image: &[Complex<f32>]) -> Result<Vec<Complex<f32>>> {
        let mut rest = vec![Complex::default(); self.length];
        device.download(&self.residual, &mut rest)?;
        for (rest, rho) in rest.iter_mut().zip(image) {
            *rest += rho.scale(self.lambda);
        }
        Ok(rest)
    }

    /// Waits, and returns Re⟨ρ, b⟩ + Re⟨ρ, b − EᴴWEρ⟩ with this b = EᴴWd.
    pub(super) fn explained(&mut self, device: &M, b: &mut M::Buffer<Complex32>) -> Result<f64> {
        let with_b = real_product(device, &self.rho, b)?;
        let with_rest = real_product(device, &self.rho, &mut self.residual)?;
        let square = squares(device, &self.rho, &mut self.curvature)?;
        Ok(with_b + with_rest + f64::from(self.lambda) * square)
    }

    /// ρ.
    pub(super) fn image(&self) -> &M::Buffer<Complex32> {
        &self.rho
    }
}
