//! Mirrors cpu/fista.rs: accelerated proximal gradient steps; momenta and residuals stay on the
//! device.

use super::sense::Sense;
use super::sums::{real_product, squares};
use super::total_variation::TotalVariation;
use super::wavelet::Wavelet;
use crate::cpu::EIGENVALUE_MARGIN;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::fista_extrapolate::MriFistaExtrapolate;
use warpstride_kernels::mri::fista_point::MriFistaPoint;
use warpstride_kernels::mri::scaled_copy::MriScaledCopy;

/// The proximal step of a regulariser.
pub(super) enum Regulariser<M: Device> {
    TotalVariation(TotalVariation<M>),
    Wavelet(Wavelet<M>),
}

/// The state between two iterations, with x = 0 at first. Names are those of the CPU version.
pub(super) struct Fista<M: Device> {
    regulariser: Regulariser<M>,
    length: usize,
    b: M::Buffer<Complex32>,
    x: M::Buffer<Complex32>,
    a_x: M::Buffer<Complex32>,
    y: M::Buffer<Complex32>,
    a_y: M::Buffer<Complex32>,
    next: M::Buffer<Complex32>,
    a_next: M::Buffer<Complex32>,
    /// |A v| of the last step of the power iteration; at first |b|.
    largest: f64,
    partial: M::Buffer<f64>,
    step: f64,
    mu: f64,
    start_squared: f64,
    iterations: usize,
    momenta: M::Buffer<f32>,
    /// Partial sums of |b − Ax|² of the last [`RESIDUAL_HISTORY`] iterations, as a ring buffer
    /// (iteration, part).
    squares: M::Buffer<f64>,
    rows: usize,
    iteration: M::Buffer<u32>,
}

/// Number of iterations whose residuals the device stores.
pub(super) const RESIDUAL_HISTORY: usize = 64;

/// (t − 1)/t' of every iteration.
fn momenta(iterations: usize) -> Vec<f32> {
    let mut t = 1.0_f64;
    let each = (0..iterations).map(|_| {
        let next = f64::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
        let momentum = (t - 1.0) / next;
        t = next;
        momentum as f32
    });
    each.collect()
}

impl<M: Device> Fista<M> {
    /// Starts from the right-hand side `b` = EᴴWd, with `lambda` in units of its largest modulus.
    /// The power iteration comes next: [`POWER_STEPS`](crate::cpu::POWER_STEPS) times
    /// [`Self::queue_power_step`] and [`Self::end_power_step`], then [`Self::end_power_iteration`].
    pub(super) fn new(
        device: &M,
        regulariser: Regulariser<M>,
        b: M::Buffer<Complex32>,
        lambda: f64,
        iterations: usize,
    ) -> Result<Self> {
        let length = b.len();
        let rows = iterations.min(RESIDUAL_HISTORY);
        let vector = || device.alloc("vectors of FISTA", length);
        let mut partial = device.alloc("sums", PARTIAL_SUMS)?;
        let start_squared = squares(device, &b, &mut partial)?;
        let (v, mut image) = (vector()?, vector()?);
        device.copy(&b, &mut image)?;
        let mut values = vec![Complex::<f32>::default(); length];
        device.download(&b, &mut values)?;
        let modulus = |v: &Complex<f32>| f64::from(v.re).hypot(f64::from(v.im));
        let brightest = values.iter().map(modulus).fold(0.0, f64::max);
        let mut on_device = device.alloc("momenta", iterations)?;
        device.upload(&mut on_device, &momenta(iterations))?;
        let mut iteration = device.alloc("number of the iteration", 1)?;
        device.upload(&mut iteration, &[u32::MAX])?;
        Ok(Self {
            regulariser,
            length,
            b,
            x: v,
            a_x: image,
            y: vector()?,
            a_y: vector()?,
            next: vector()?,
            a_next: vector()?,
            largest: start_squared.sqrt(),
            partial,
            step: 0.0,
            mu: lambda * brightest,
            start_squared,
            iterations,
            momenta: on_device,
            squares: device.alloc("residuals", rows * PARTIAL_SUMS)?,
            rows,
            iteration,
        })
    }

    /// Queues v = A v/|A v|, from b at first, and A v of the coils of `sense`, whose sum over all
    /// coils [`Self::end_power_step`] needs in [`Self::power_image`]. Queues nothing if A v is 0.
    pub(super) fn queue_power_step(&mut self, device: &M, sense: &mut Sense<M>) -> Result<()> {
        if self.largest == 0.0 {
            return Ok(());
        }
        let scaled = MriScaledCopy {
            from: self.a_x.read(),
            to: self.x.write(),
            voxels: self.length as u32,
            factor: (1.0 / self.largest) as f32,
        };
        device.launch(&scaled, Work::Elements(self.length))?;
        sense.normal(device, &self.x, &mut self.a_x)
    }

    /// A v of the power iteration.
    pub(super) fn power_image(&mut self) -> &mut M::Buffer<Complex32> {
        &mut self.a_x
    }

    /// Waits for |A v|, the next estimate of the largest eigenvalue.
    pub(super) fn end_power_step(&mut self, device: &M) -> Result<()> {
        if self.largest > 0.0 {
            self.largest = squares(device, &self.a_x, &mut self.partial)?.sqrt();
        }
        Ok(())
    }

    /// Sets the step by the largest eigenvalue, and x = 0.
    pub(super) fn end_power_iteration(&mut self, device: &M) -> Result<()> {
        if self.start_squared > 0.0 && self.largest > 0.0 {
            self.step = 1.0 / (EIGENVALUE_MARGIN * self.largest);
        }
        device.zero(&mut self.x)?;
        device.zero(&mut self.a_x)
    }

    /// Queues the proximal step and A of its result for the coils of `sense`, the first half of an
    /// iteration.
    pub(super) fn apply(&mut self, device: &M, sense: &mut Sense<M>) -> Result<()> {
        let voxels = self.length as u32;
        let point = MriFistaPoint {
            next: self.next.write(),
            ahead: self.y.read(),
            applied_ahead: self.a_y.read(),
            b: self.b.read(),
            iteration: self.iteration.write(),
            voxels,
            step: self.step as f32,
        };
        device.launch(&point, Work::Elements(self.length))?;
        let weight = self.step * self.mu;
        match &mut self.regulariser {
            Regulariser::TotalVariation(variation) => {
                variation.queue(device, &mut self.next, weight)?;
            }
            Regulariser::Wavelet(wavelet) => wavelet.queue(device, &mut self.next, weight)?,
        }
        sense.normal(device, &self.next, &mut self.a_next)
    }

    /// A of the proximal step's result, whose sum over all coils [`Self::update`] needs.
    pub(super) fn applied(&mut self) -> &mut M::Buffer<Complex32> {
        &mut self.a_next
    }

    /// Queues the second half of an iteration.
    pub(super) fn update(&mut self, device: &M) -> Result<()> {
        let extrapolate = MriFistaExtrapolate {
            ahead: self.y.write(),
            now: self.x.write(),
            next: self.next.read(),
            applied_ahead: self.a_y.write(),
            applied_now: self.a_x.write(),
            applied_next: self.a_next.read(),
            b: self.b.read(),
            momenta: self.momenta.read(),
            squares: self.squares.write(),
            iteration: self.iteration.read(),
            voxels: self.length as u32,
            iterations: self.iterations as u32,
            rows: self.rows as u32,
        };
        device.launch(&extrapolate, Work::Blocks(PARTIAL_SUMS))
    }

    /// Waits, and returns |b − Ax|²/|b|² after the iterations `from` (0: after the first) to `to`,
    /// which must be among the last [`RESIDUAL_HISTORY`].
    pub(super) fn residuals(&self, device: &M, from: usize, to: usize) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; self.squares.len()];
        device.download(&self.squares, &mut sums)?;
        let of = |iteration: usize| -> f64 {
            let row = &sums[iteration % self.rows * PARTIAL_SUMS..][..PARTIAL_SUMS];
            if self.start_squared == 0.0 {
                return 0.0;
            }
            row.iter().sum::<f64>() / self.start_squared
        };
        Ok((from..to).map(of).collect())
    }

    /// Waits, and returns b − EᴴWEx.
    pub(super) fn rest(&self, device: &M) -> Result<Vec<Complex<f32>>> {
        let mut rest = vec![Complex::default(); self.length];
        let mut applied = rest.clone();
        device.download(&self.b, &mut rest)?;
        device.download(&self.a_x, &mut applied)?;
        for (rest, applied) in rest.iter_mut().zip(&applied) {
            *rest -= *applied;
        }
        Ok(rest)
    }

    /// Waits, and returns Re⟨x, b⟩ + Re⟨x, b − EᴴWEx⟩.
    pub(super) fn explained(&mut self, device: &M) -> Result<f64> {
        let with_b = real_product(device, &self.x, &mut self.b)?;
        let with_applied = real_product(device, &self.x, &mut self.a_x)?;
        Ok(2.0 * with_b - with_applied)
    }

    /// x.
    pub(super) fn image(&self) -> &M::Buffer<Complex32> {
        &self.x
    }
}
