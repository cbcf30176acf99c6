//! Mirrors cpu/propagation.rs: propagation of exit waves to the detector and back, unnormalised as the transforms of cuFFT are.

use crate::gpu::{Buffer, Device, Direction, Result};
use crate::ptycho::Problem;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::near_field_factors::PtychoNearFieldFactors;

/// Propagates layers (layer, row, column) by a plan for their transforms.
pub(super) struct Propagator<M: Device> {
    /// The transfer function with the shift to (0, 0), times 1/√(rows · columns) (row, column); empty in the far field.
    factors: M::Buffer<Complex32>,
}

impl<M: Device> Propagator<M> {
    /// Uploads the transfer function of the problem's near field, if it has one.
    pub(super) fn new(device: &M, problem: &Problem) -> Result<Self> {
        let [_, _, rows, columns] = problem.shape();
        let Some(near) = &problem.near_field else {
            let factors = device.alloc("the transfer function", 0)?;
            return Ok(Self { factors });
        };
        let scale = 1.0 / ((rows * columns) as f64).sqrt();
        let narrow = |v: Complex<f64>| Complex::new((v.re * scale) as f32, (v.im * scale) as f32);
        let values: Vec<Complex<f32>> = near
            .factors([rows, columns])
            .into_iter()
            .map(narrow)
            .collect();
        let mut factors = device.alloc("the transfer function", values.len())?;
        device.upload(&mut factors, &values)?;
        Ok(Self { factors })
    }

    /// Whether waves travel to the near field, so that launches which transform waves themselves cannot be taken.
    pub(super) fn is_near_field(&self) -> bool {
        !self.factors.is_empty()
    }

    /// Propagates `waves` to the detector, or back, in place.
    pub(super) fn propagate(
        &self,
        device: &M,
        fft: &M::Fft,
        waves: &mut M::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        if !self.is_near_field() {
            return device.fft(fft, waves, direction);
        }
        device.fft(fft, waves, Direction::Forward)?;
        self.finish(device, fft, waves, direction)
    }

    /// Propagates `from` to the detector, or back, into `to`.
    pub(super) fn propagate_to(
        &self,
        device: &M,
        fft: &M::Fft,
        from: &M::Buffer<Complex32>,
        to: &mut M::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        if !self.is_near_field() {
            return device.fft_to(fft, from, to, direction);
        }
        device.fft_to(fft, from, to, Direction::Forward)?;
        self.finish(device, fft, to, direction)
    }

    /// From spectra to waves at the other end.
    fn finish(
        &self,
        device: &M,
        fft: &M::Fft,
        spectra: &mut M::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        let pixels = self.factors.len();
        let layers = spectra.len() / pixels;
        device.launch(
            &PtychoNearFieldFactors {
                spectra: spectra.write(),
                factors: self.factors.read(),
                layers: layers as u32,
                pixels: pixels as u32,
                conjugate: u32::from(direction == Direction::Inverse),
            },
            Work::Elements(layers * pixels),
        )?;
        device.fft(fft, spectra, Direction::Inverse)
    }
}
