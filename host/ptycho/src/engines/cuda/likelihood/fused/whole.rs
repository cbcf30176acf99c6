//! The fused launches at whole pixels, for one mode.

use super::super::Pair;
use super::Fused;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::likelihood::Noise;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    frame_gradient::{
        PtychoFrameGradientAmplitude64, PtychoFrameGradientAmplitude128,
        PtychoFrameGradientPoisson64, PtychoFrameGradientPoisson128,
    },
    frame_line::{
        PtychoFrameLineAmplitude64, PtychoFrameLineAmplitude128, PtychoFrameLinePoisson64,
        PtychoFrameLinePoisson128,
    },
};

impl<M: Device> Fused<M> {
    /// Computes f, ξ, losses and metrics at whole pixels.
    pub(super) fn whole_gradients(
        &mut self,
        (device, layout, _): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        losses: &mut M::Buffer<f64>,
        noise: Noise,
    ) -> Result<()> {
        let [errors, moved, photon, residual, free] = &mut self.metrics;
        launch!(
            device,
            (noise, self.side),
            Work::Blocks(layout.frames as usize),
            PtychoFrameGradientPoisson64
                | PtychoFrameGradientPoisson128
                | PtychoFrameGradientAmplitude64
                | PtychoFrameGradientAmplitude128 {
                    xi: self.xi.write(),
                    spectra: self.spectra.write(),
                    losses: losses.write(),
                    errors: errors.write(),
                    moved: moved.write(),
                    photon: photon.write(),
                    residual: residual.write(),
                    free: free.write(),
                    probe: buffers.probe.read(),
                    object: buffers.object.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )
    }

    /// Computes the frames' sums along the line at whole pixels.
    pub(super) fn whole_line(
        &mut self,
        (device, layout, _): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        [direction, probe_direction]: &Pair<M>,
        noise: Noise,
    ) -> Result<()> {
        launch!(
            device,
            (noise, self.side),
            Work::Blocks(layout.frames as usize),
            PtychoFrameLinePoisson64
                | PtychoFrameLinePoisson128
                | PtychoFrameLineAmplitude64
                | PtychoFrameLineAmplitude128 {
                    sums: self.line.write(),
                    xi: self.xi.read(),
                    spectra: self.spectra.read(),
                    probe: buffers.probe.read(),
                    probe_direction: probe_direction.read(),
                    object: buffers.object.read(),
                    direction: direction.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                }
        )
    }
}
