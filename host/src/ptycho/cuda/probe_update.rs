//! Mirrors cpu/probe_update.rs: probe update P ← [c_p P + Σ conj(O) ψ] / [c_p + Σ |O|²].

use super::buffers::{Buffers, Layout};
use crate::gpu::{Buffer, Device, Result};
use crate::ptycho::UpdateVersion;
use warpstride_device::launch::{Launch, Work};
use warpstride_kernels::ptycho::{
    probe_change::PtychoProbeChange,
    probe_finish::PtychoProbeFinish,
    probe_update_atomic::{PtychoProbeUpdateAtomic, PtychoProbeUpdateAtomicBf16},
    probe_update_tiled::{PtychoProbeUpdateTiled, PtychoProbeUpdateTiledBf16},
};

/// Performs one update, including the real-space support; does nothing if the gate is closed.
pub(super) fn probe_update<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    version: UpdateVersion,
    weight: f64,
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
    let finished = match version {
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
                            scale,
                        },
                        Work::Blocks(blocks),
                    )
                };
            }
            if buffers.packed() {
                update!(PtychoProbeUpdateTiledBf16, packed_waves)?
            } else {
                update!(PtychoProbeUpdateTiled, waves)?
            }
            slices
        }
        UpdateVersion::Atomic => {
            device.zero(&mut buffers.probe_sums)?;
            device.zero(&mut buffers.probe_weights)?;
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
                update!(PtychoProbeUpdateAtomicBf16, packed_waves)?
            } else {
                update!(PtychoProbeUpdateAtomic, waves)?
            }
            1
        }
    };
    device.launch(
        &PtychoProbeFinish {
            probe: buffers.probe.write(),
            numerators: buffers.probe_sums.read(),
            denominators: buffers.probe_weights.read(),
            support: buffers.support.read(),
            gate: buffers.gate.read(),
            modes,
            pixels: layout.pixels(),
            slices: finished,
            weight: weight as f32,
            incremental: 0,
        },
        Work::Elements(layout.probe_elements()),
    )
}

/// Closes the gate if ‖P − P_before‖ is below `tolerance`·‖P_before‖.
pub(super) fn check_convergence<M: Device>(
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
