//! The fused launches at exact positions, for one mode: the probe is shifted to every frame in the
//! registers of its block.

use super::super::Pair;
use super::Fused;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::likelihood::Noise;
use warpstride_cuda::gpu::{Buffer, Device, Result};
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

impl<M: Device> Fused<M> {
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
        let Some(shared) = &mut self.shared else {
            return Ok(());
        };
        let [errors, moved, photon, residual, free] = &mut self.metrics;
        launch!(
            device,
            (noise, self.side),
            Work::Blocks(shared.slices as usize),
            PtychoExactGradientPoisson64
                | PtychoExactGradientPoisson128
                | PtychoExactGradientAmplitude64
                | PtychoExactGradientAmplitude128 {
                    xi: self.xi.write(),
                    spectra: self.spectra.write(),
                    probes: shared.probes.write(),
                    sums: shared.sums.write(),
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
                    slices: shared.slices,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                    summed: u32::from(shared.summed),
                }
        )
    }

    /// Computes the frames' sums along the line.
    pub(super) fn exact_line(
        &mut self,
        (device, layout, probe_fft): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        frames: &mut FrameBuffers<M>,
        [direction, probe_direction]: &Pair<M>,
        noise: Noise,
    ) -> Result<()> {
        let Some(shared) = &mut self.shared else {
            return Ok(());
        };
        frames.transform_layers(device, &buffers.open, probe_direction, probe_fft)?;
        launch!(
            device,
            (noise, self.side),
            Work::Blocks(shared.slices as usize),
            PtychoExactLinePoisson64
                | PtychoExactLinePoisson128
                | PtychoExactLineAmplitude64
                | PtychoExactLineAmplitude128 {
                    sums: self.line.write(),
                    changes: shared.changes.write(),
                    xi: self.xi.read(),
                    spectra: self.spectra.read(),
                    probes: shared.probes.read(),
                    direction_spectrum: frames.probe_spectra.read(),
                    object: buffers.object.read(),
                    direction: direction.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    fractions: buffers.fractions.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    slices: shared.slices,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )
    }
}
