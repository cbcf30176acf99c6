//! Mirrors cpu/probe_update.rs: P ← [c_p P + Σ conj(O) ψ] / [c_p + Σ |O|²].

use super::buffers::{Buffers, Layout};
use crate::gpu::{Buffer, Machine, Result};
use crate::ptycho::UpdateVersion;
use warpstride_device::launch::{Launch, Work};
use warpstride_kernels::ptycho::{
    probe_change::ProbeChange, probe_finish::ProbeFinish, probe_update_atomic::ProbeUpdateAtomic,
    probe_update_tiled::ProbeUpdateTiled,
};

/// One update with the real-space support; nothing while the gate is shut.
pub(super) fn probe_update<M: Machine>(
    machine: &M,
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
    // One thread a pixel in groups of a block; the emulator's smaller blocks make more groups, which
    // the kernel walks by stride.
    let threads = <ProbeUpdateTiled<'_, M::Space> as Launch<M::Space>>::INFO.block[0];
    let groups = layout.pixels().div_ceil(threads) as usize;
    let blocks = slices as usize * modes as usize * groups;
    let finished = match version {
        UpdateVersion::Tiled => {
            machine.launch(
                &ProbeUpdateTiled {
                    numerators: buffers.probe_sums.write(),
                    denominators: buffers.probe_weights.write(),
                    object: buffers.object.read(),
                    psi: buffers.waves.read(),
                    corners: buffers.corners.read(),
                    gate: buffers.gate.read(),
                    frames,
                    modes,
                    rows,
                    columns,
                    object_rows,
                    object_columns,
                    slices,
                    scale: layout.scale(),
                },
                Work::Blocks(blocks),
            )?;
            slices
        }
        UpdateVersion::Atomic => {
            machine.zero(&mut buffers.probe_sums)?;
            machine.zero(&mut buffers.probe_weights)?;
            machine.launch(
                &ProbeUpdateAtomic {
                    numerator: buffers.probe_sums.write(),
                    denominator: buffers.probe_weights.write(),
                    object: buffers.object.read(),
                    psi: buffers.waves.read(),
                    corners: buffers.corners.read(),
                    gate: buffers.gate.read(),
                    frames,
                    modes,
                    rows,
                    columns,
                    object_rows,
                    object_columns,
                    slices,
                    scale: layout.scale(),
                },
                Work::Blocks(blocks),
            )?;
            1
        }
    };
    machine.launch(
        &ProbeFinish {
            probe: buffers.probe.write(),
            numerators: buffers.probe_sums.read(),
            denominators: buffers.probe_weights.read(),
            support: buffers.support.read(),
            gate: buffers.gate.read(),
            modes,
            pixels: layout.pixels(),
            slices: finished,
            weight: weight as f32,
        },
        Work::Elements(layout.probe_elements()),
    )
}

/// Shuts the gate when ‖P − P_before‖ is below `tolerance`·‖P_before‖.
pub(super) fn judge_change<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    tolerance: f64,
) -> Result<()> {
    machine.launch(
        &ProbeChange {
            before: buffers.probe_before.read(),
            after: buffers.probe.read(),
            gate: buffers.gate.write(),
            elements: layout.probe_elements() as u32,
            tolerance: tolerance as f32,
        },
        Work::Blocks(1),
    )
}
