//! Mirrors cpu/projections/probe_update.rs: probe update P ← [c_p P + Σ conj(O) ψ] / [c_p + Σ
//! |O|²].

use crate::UpdateVersion;
use crate::engines::cuda::devices::exchange::Exchange;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Launch, Work};
use warpstride_kernels::ptycho::{
    probe_change::PtychoProbeChange,
    probe_finish::PtychoProbeFinish,
    probe_update_atomic::{PtychoProbeUpdateAtomic, PtychoProbeUpdateAtomicBf16},
    probe_update_tiled::{PtychoProbeUpdateTiled, PtychoProbeUpdateTiledBf16},
};

/// Some of the frames of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engines::cuda) struct Part {
    /// Whether no others were added before.
    pub(in crate::engines::cuda) first: bool,
    /// Whether no others are added afterwards.
    pub(in crate::engines::cuda) last: bool,
}

impl Part {
    /// All frames.
    pub(in crate::engines::cuda) const ALL: Self = Self {
        first: true,
        last: true,
    };

    /// What the sums of a part are multiplied by, if those of all parts are multiplied by `scale`
    /// in the end.
    pub(in crate::engines::cuda) fn scale(self, scale: f32) -> f32 {
        if self.last { scale } else { 1.0 }
    }
}

/// Performs one update, including the real-space support; does nothing if the gate is closed.
pub(in crate::engines::cuda) fn probe_update<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    version: UpdateVersion,
    weight: f64,
    exchange: &mut Exchange<M>,
) -> Result<()> {
    add_frames(device, layout, buffers, version, Part::ALL)?;
    finish(device, layout, buffers, version, weight, exchange)
}

/// Adds the frames of `layout` to the sums; the last frames of a scan come first. Does nothing if
/// the gate is closed.
pub(in crate::engines::cuda) fn add_frames<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    version: UpdateVersion,
    part: Part,
) -> Result<()> {
    let Layout {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        slices,
        ..
    } = *layout;
    let scale = buffers.wave_scale(layout);
    // One thread per pixel, in groups of one block; the emulator's smaller blocks make more groups,
    // over which the kernel strides.
    let threads = <PtychoProbeUpdateTiled<'_, M::Space> as Launch<M::Space>>::INFO.block[0];
    let groups = layout.pixels().div_ceil(threads) as usize;
    let blocks = slices as usize * modes as usize * groups;
    match version {
        UpdateVersion::Tiled => {
            macro_rules! update {
                ($kernel:ident, $waves:ident) => {
                    device.launch(
                        &$kernel {
                            numerators: buffers.probe_sums.write(),
                            denominators: buffers.probe_weights.write(),
                            object: buffers.object.read(),
                            psi: buffers.$waves.read(),
                            corners: buffers.corners.read(),
                            gate: buffers.gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            slices,
                            add: u32::from(!part.first),
                            scale: part.scale(scale),
                        },
                        Work::Blocks(blocks),
                    )
                };
            }
            if buffers.packed() {
                update!(PtychoProbeUpdateTiledBf16, packed_waves)
            } else {
                update!(PtychoProbeUpdateTiled, waves)
            }
        }
        UpdateVersion::Atomic => {
            if part.first {
                device.zero(&mut buffers.probe_sums)?;
                device.zero(&mut buffers.probe_weights)?;
            }
            macro_rules! update {
                ($kernel:ident, $waves:ident) => {
                    device.launch(
                        &$kernel {
                            numerator: buffers.probe_sums.write(),
                            denominator: buffers.probe_weights.write(),
                            object: buffers.object.read(),
                            psi: buffers.$waves.read(),
                            corners: buffers.corners.read(),
                            gate: buffers.gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            slices,
                            scale,
                        },
                        Work::Blocks(blocks),
                    )
                };
            }
            if buffers.packed() {
                update!(PtychoProbeUpdateAtomicBf16, packed_waves)
            } else {
                update!(PtychoProbeUpdateAtomic, waves)
            }
        }
    }
}

/// Updates the probe from the sums over all frames of all devices, including the real-space
/// support; does nothing if the gate is closed.
pub(in crate::engines::cuda) fn finish<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    version: UpdateVersion,
    weight: f64,
    exchange: &mut Exchange<M>,
) -> Result<()> {
    let Buffers {
        probe,
        probe_sums,
        probe_weights,
        support,
        gate,
        ..
    } = buffers;
    let own = match version {
        UpdateVersion::Tiled => layout.slices,
        UpdateVersion::Atomic => 1,
    };
    let ((sums, weights), slices, devices) =
        exchange.slices(device, (probe_sums, probe_weights), own)?;
    device.launch(
        &PtychoProbeFinish {
            probe: probe.write(),
            numerators: sums.read(),
            denominators: weights.read(),
            support: support.read(),
            gate: gate.read(),
            modes: layout.modes,
            pixels: layout.pixels(),
            slices,
            weight: weight as f32,
            incremental: 0,
            devices,
        },
        Work::Elements(layout.probe_elements()),
    )
}

/// Closes the gate if ‖P − P_before‖ is below `tolerance`·‖P_before‖.
pub(in crate::engines::cuda) fn check_convergence<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    tolerance: f64,
) -> Result<()> {
    device.launch(
        &PtychoProbeChange {
            before: buffers.probe_before.read(),
            after: buffers.probe.read(),
            gate: buffers.gate.write(),
            elements: layout.probe_elements() as u32,
            tolerance: tolerance as f32,
        },
        Work::Blocks(1),
    )
}
