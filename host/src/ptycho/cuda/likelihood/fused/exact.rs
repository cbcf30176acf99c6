//! The fused launches at exact positions: the probe is shifted to every frame in the registers of its block.

use super::super::Pair;
use super::Fused;
use crate::gpu::{Buffer, Device, Direction, Result};
use crate::ptycho::cuda::buffers::{Buffers, Layout};
use crate::ptycho::cuda::frames::FrameBuffers;
use crate::ptycho::likelihood::Noise;
use crate::ptycho::step_plan::slices_of;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    exact_gradient::{
        PtychoExactGradientAmplitude64, PtychoExactGradientAmplitude128,
        PtychoExactGradientPoisson64, PtychoExactGradientPoisson128,
    },
    exact_line::{
        PtychoExactLineAmplitude64, PtychoExactLineAmplitude128, PtychoExactLinePoisson64,
        PtychoExactLinePoisson128,
    },
};

/// Device memory of shifted probes and what is summed over frames.
pub(super) struct Exact<M: Device> {
    /// Whether the sums of the probe are computed.
    summed: bool,
    pub(super) slices: u32,
    /// (frame, row, column)
    pub(super) probes: M::Buffer<Complex32>,
    /// (slice, row, column): spectra of the probe's gradient.
    pub(super) sums: M::Buffer<Complex32>,
    /// (slice, row, column): the probe's shifted direction.
    changes: M::Buffer<Complex32>,
}

impl<M: Device> Exact<M> {
    fn new(device: &M, layout: &Layout) -> Result<Self> {
        let slices = slices_of(layout.frames);
        let pixels = layout.pixels() as usize;
        let sums = slices as usize * pixels;
        Ok(Self {
            summed: true,
            slices,
            probes: device.alloc("the shifted probes", layout.frames as usize * pixels)?,
            sums: device.alloc("the sums of the probe's gradient", sums)?,
            changes: device.alloc("the probe's shifted direction", sums)?,
        })
    }
}

impl<M: Device> Fused<M> {
    /// Makes ready for frames at their `exact` positions or not, and for the probe's gradient if it is `summed`.
    pub(super) fn place(
        &mut self,
        device: &M,
        layout: &Layout,
        (exact, summed): (bool, bool),
    ) -> Result<()> {
        if self.exact.is_some() != exact {
            self.exact = None;
            self.changed();
        }
        if !exact {
            return Ok(());
        }
        match &mut self.exact {
            Some(of) if of.summed == summed => {}
            Some(of) => {
                of.summed = summed;
                self.changed();
            }
            None => {
                self.exact = Some(Exact {
                    summed,
                    ..Exact::new(device, layout)?
                });
            }
        }
        Ok(())
    }

    /// Computes f, ξ, shifted probes, the sums of the probe's gradient, losses and metrics.
    pub(super) fn exact_gradients(
        &mut self,
        (device, layout, probe_fft): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        frames: &mut FrameBuffers<M>,
        losses: &mut M::Buffer<f64>,
        noise: Noise,
    ) -> Result<()> {
        frames.transform_probe(device, buffers, probe_fft)?;
        let Some(exact) = &mut self.exact else {
            return Ok(());
        };
        let [errors, moved, photon, residual, free] = &mut self.metrics;
        launch!(
            device,
            (noise, self.side),
            Work::Blocks(exact.slices as usize),
            PtychoExactGradientPoisson64
                | PtychoExactGradientPoisson128
                | PtychoExactGradientAmplitude64
                | PtychoExactGradientAmplitude128 {
                    xi: self.xi.write(),
                    spectra: self.spectra.write(),
                    probes: exact.probes.write(),
                    sums: exact.sums.write(),
                    losses: losses.write(),
                    errors: errors.write(),
                    moved: moved.write(),
                    photon: photon.write(),
                    residual: residual.write(),
                    free: free.write(),
                    probe_spectrum: frames.probe_spectra.read(),
                    object: buffers.object.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    fractions: buffers.fractions.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    slices: exact.slices,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                    summed: u32::from(exact.summed),
                }
        )
    }

    /// Transforms the sum of spectra in `probe` to the probe's gradient, if the frames are at exact positions.
    pub(super) fn gradient_from(
        &self,
        device: &M,
        probe: &mut M::Buffer<Complex32>,
        probe_fft: &M::Fft,
    ) -> Result<()> {
        match &self.exact {
            Some(exact) if exact.summed => device.fft(probe_fft, probe, Direction::Inverse),
            _ => Ok(()),
        }
    }

    /// Computes the frames' sums along the line; `false` at whole pixels.
    pub(super) fn exact_line(
        &mut self,
        (device, layout, probe_fft): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        frames: &mut FrameBuffers<M>,
        [direction, probe_direction]: &Pair<M>,
        noise: Noise,
    ) -> Result<bool> {
        let Some(exact) = &mut self.exact else {
            return Ok(false);
        };
        frames.transform_layers(device, &buffers.open, probe_direction, probe_fft)?;
        launch!(
            device,
            (noise, self.side),
            Work::Blocks(exact.slices as usize),
            PtychoExactLinePoisson64
                | PtychoExactLinePoisson128
                | PtychoExactLineAmplitude64
                | PtychoExactLineAmplitude128 {
                    sums: self.line.write(),
                    changes: exact.changes.write(),
                    xi: self.xi.read(),
                    spectra: self.spectra.read(),
                    probes: exact.probes.read(),
                    direction_spectrum: frames.probe_spectra.read(),
                    object: buffers.object.read(),
                    direction: direction.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    fractions: buffers.fractions.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    slices: exact.slices,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )?;
        Ok(true)
    }
}
