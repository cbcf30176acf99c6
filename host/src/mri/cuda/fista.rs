//! Mirrors cpu/fista.rs: accelerated proximal steps; momenta and residuals stay on the device.

use super::sense::Sense;
use super::sums::squares;
use super::total_variation::TotalVariation;
use super::wavelet::Wavelet;
use crate::gpu::{Buffer, Machine, Result};
use crate::mri::cpu::{MARGIN, POWER_STEPS};
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::fista_ahead::MriFistaAhead;
use warpstride_kernels::mri::fista_point::MriFistaPoint;
use warpstride_kernels::mri::scaled_copy::MriScaledCopy;

/// A regulariser's proximal step.
pub(super) enum Regulariser<M: Machine> {
    TotalVariation(TotalVariation<M>),
    Wavelet(Wavelet<M>),
}

/// The state between two iterations, x = 0 at first. Names as on the CPU.
pub(super) struct Fista<M: Machine> {
    regulariser: Regulariser<M>,
    length: usize,
    b: M::Buffer<Complex32>,
    x: M::Buffer<Complex32>,
    a_x: M::Buffer<Complex32>,
    y: M::Buffer<Complex32>,
    a_y: M::Buffer<Complex32>,
    next: M::Buffer<Complex32>,
    a_next: M::Buffer<Complex32>,
    step: f64,
    mu: f64,
    start_squared: f64,
    iterations: usize,
    momenta: M::Buffer<f32>,
    /// (iteration, stretch) of the last [`MOST_TOLD`] iterations, in turn.
    squares: M::Buffer<f64>,
    rows: usize,
    iteration: M::Buffer<u32>,
}

/// Iterations whose residuals the device keeps.
pub(super) const MOST_TOLD: usize = 64;

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

impl<M: Machine> Fista<M> {
    /// For the right-hand side `b` = EᴴWd, with `lambda` in units of its largest modulus.
    pub(super) fn new(
        machine: &M,
        sense: &mut Sense<M>,
        regulariser: Regulariser<M>,
        b: M::Buffer<Complex32>,
        lambda: f64,
        iterations: usize,
    ) -> Result<Self> {
        let length = b.len();
        let rows = iterations.min(MOST_TOLD);
        let vector = || machine.alloc("vectors of FISTA", length);
        let mut partial = machine.alloc("sums", PARTIAL_SUMS)?;
        let start_squared = squares(machine, &b, &mut partial)?;
        let (mut v, mut image) = (vector()?, vector()?);
        machine.copy(&b, &mut image)?;
        let mut largest = start_squared.sqrt();
        for _ in 0..POWER_STEPS {
            if largest == 0.0 {
                break;
            }
            let scaled = MriScaledCopy {
                from: image.read(),
                to: v.write(),
                voxels: length as u32,
                factor: (1.0 / largest) as f32,
            };
            machine.launch(&scaled, Work::Elements(length))?;
            sense.normal(machine, &v, &mut image)?;
            largest = squares(machine, &image, &mut partial)?.sqrt();
        }
        let mut values = vec![Complex::<f32>::default(); length];
        machine.download(&b, &mut values)?;
        let modulus = |v: &Complex<f32>| f64::from(v.re).hypot(f64::from(v.im));
        let brightest = values.iter().map(modulus).fold(0.0, f64::max);
        let mut on_machine = machine.alloc("momenta", iterations)?;
        machine.upload(&mut on_machine, &momenta(iterations))?;
        let mut iteration = machine.alloc("number of the iteration", 1)?;
        machine.upload(&mut iteration, &[u32::MAX])?;
        machine.zero(&mut v)?;
        machine.zero(&mut image)?;
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
            step: if start_squared > 0.0 && largest > 0.0 {
                1.0 / (MARGIN * largest)
            } else {
                0.0
            },
            mu: lambda * brightest,
            start_squared,
            iterations,
            momenta: on_machine,
            squares: machine.alloc("residuals", rows * PARTIAL_SUMS)?,
            rows,
            iteration,
        })
    }

    /// Queues one iteration.
    pub(super) fn queue(&mut self, machine: &M, sense: &mut Sense<M>) -> Result<()> {
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
        machine.launch(&point, Work::Elements(self.length))?;
        let weight = self.step * self.mu;
        match &mut self.regulariser {
            Regulariser::TotalVariation(variation) => {
                variation.queue(machine, &mut self.next, weight)?;
            }
            Regulariser::Wavelet(wavelet) => wavelet.queue(machine, &mut self.next, weight)?,
        }
        sense.normal(machine, &self.next, &mut self.a_next)?;
        let ahead = MriFistaAhead {
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
            voxels,
            iterations: self.iterations as u32,
            rows: self.rows as u32,
        };
        machine.launch(&ahead, Work::Blocks(PARTIAL_SUMS))
    }

    /// Waits; |b − Ax|²/|b|² after the iterations `from` (0: after the first) to `to`, at most the last
    /// [`MOST_TOLD`].
    pub(super) fn residuals(&self, machine: &M, from: usize, to: usize) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; self.squares.len()];
        machine.download(&self.squares, &mut sums)?;
        let of = |iteration: usize| -> f64 {
            let row = &sums[iteration % self.rows * PARTIAL_SUMS..][..PARTIAL_SUMS];
            if self.start_squared == 0.0 {
                return 0.0;
            }
            row.iter().sum::<f64>() / self.start_squared
        };
        Ok((from..to).map(of).collect())
    }

    /// x.
    pub(super) fn image(&self) -> &M::Buffer<Complex32> {
        &self.x
    }
}
