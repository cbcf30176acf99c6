//! The fused launches for several modes, whose probes are shifted or not.

use super::super::{Pair, number};
use super::Fused;
use crate::engines::cuda::batches::fused_batches::launch_by_side;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::likelihood::Noise;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    modes_gradient::{PtychoModesGradient64, PtychoModesGradient128},
    modes_line::{PtychoModesLine64, PtychoModesLine128},
};

impl<M: Device> Fused<M> {
    /// Computes f, ξ, D, shifted probes, the sums of the probe's gradient, losses and metrics.
    pub(super) fn modes_gradients(
        &mut self,
        (device, layout, probe_fft): (&M, &Layout, &M::Fft),
        buffers: &Buffers<M>,
        frames: &mut FrameBuffers<M>,
        losses: &mut M::Buffer<f64>,
        noise: Noise,
    ) -> Result<()> {
        let Some(shared) = &mut self.shared else {
            return Ok(());
        };
        let (layers, kept) = if shared.shifts {
            frames.transform_probe(device, buffers, probe_fft)?;
            (&frames.probe_spectra, layout.frames)
        } else {
            (&buffers.probe, 0)
        };
        let [errors, moved, photon, residual, free] = &mut self.metrics;
        launch_by_side!(
            device,
            self.side,
            Work::Blocks(shared.slices as usize),
            PtychoModesGradient64
                | PtychoModesGradient128 {
                    xi: self.xi.write(),
                    spectra: self.spectra.write(),
                    probes: shared.probes.write(),
                    sums: shared.sums.write(),
                    slopes: shared.slopes.write(),
                    losses: losses.write(),
                    errors: errors.write(),
                    moved: moved.write(),
                    photon: photon.write(),
                    residual: residual.write(),
                    free: free.write(),
                    layers: layers.read(),
                    object: buffers.object.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    fractions: buffers.fractions.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    kept,
                    slices: shared.slices,
                    modes: layout.modes,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                    summed: u32::from(shared.summed),
                    noise: number(noise),
                }
        )
    }

    /// Computes the frames' sums along the line.
    pub(super) fn modes_line(
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
        let (layers, probe, probes) = if shared.shifts {
            frames.transform_layers(device, &buffers.open, probe_direction, probe_fft)?;
            (&frames.probe_spectra, &shared.probes, layout.frames)
        } else {
            (probe_direction, &buffers.probe, 1)
        };
        launch_by_side!(
            device,
            self.side,
            Work::Blocks(shared.slices as usize),
            PtychoModesLine64
                | PtychoModesLine128 {
                    sums: self.line.write(),
                    changes: shared.changes.write(),
                    xi: self.xi.read(),
                    spectra: self.spectra.read(),
                    slopes: shared.slopes.read(),
                    probe: probe.read(),
                    layers: layers.read(),
                    object: buffers.object.read(),
                    direction: direction.read(),
                    magnitudes: buffers.magnitudes.read(),
                    scales: buffers.scales.read(),
                    corners: buffers.corners.read(),
                    fractions: buffers.fractions.read(),
                    roots: self.roots.read(),
                    frames: layout.frames,
                    probes,
                    slices: shared.slices,
                    modes: layout.modes,
                    object_rows: layout.object_rows,
                    object_columns: layout.object_columns,
                    shifted: u32::from(shared.shifts),
                    noise: number(noise),
                }
        )
    }
}
