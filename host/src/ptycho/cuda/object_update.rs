//! Mirrors cpu/object_update.rs: O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²].

use super::buffers::{Buffers, Layout};
use crate::gpu::{Buffer, Machine, Result};
use crate::ptycho::UpdateVersion;
use crate::ptycho::plan::TILE;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    layer_power::LayerPower, object_finish::ObjectFinish, object_update_atomic::ObjectUpdateAtomic,
    object_update_tiled::ObjectUpdateTiled,
};

/// Σ|P|² of the present probe.
pub(super) fn probe_power<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
) -> Result<()> {
    machine.launch(
        &LayerPower {
            waves: buffers.probe.read(),
            power: buffers.power.write(),
            layers: layout.modes,
            pixels: layout.pixels(),
        },
        Work::Elements(layout.pixels() as usize),
    )
}

/// One update; nothing while the gate is shut.
pub(super) fn object_update<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    version: UpdateVersion,
    weight: f64,
    clip: Option<[f64; 2]>,
) -> Result<()> {
    let Layout {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        parts,
        ..
    } = *layout;
    let [clip_low, clip_high] = clip.map_or([0.0, -1.0], |limits| limits.map(|v| v as f32));
    let weight = weight as f32;
    probe_power(machine, layout, buffers)?;
    match version {
        UpdateVersion::Tiled => machine.launch(
            &ObjectUpdateTiled {
                object: buffers.object.write(),
                probe: buffers.probe.read(),
                power: buffers.power.read(),
                psi: buffers.waves.read(),
                corners: buffers.corners.read(),
                gate: buffers.gate.read(),
                frames,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                scale: layout.scale(),
                weight,
                clip_low,
                clip_high,
            },
            Work::Blocks(
                (object_rows as usize).div_ceil(TILE[0])
                    * (object_columns as usize).div_ceil(TILE[1]),
            ),
        ),
        UpdateVersion::Atomic => {
            machine.zero(&mut buffers.object_work)?;
            machine.zero(&mut buffers.object_weights)?;
            machine.launch(
                &ObjectUpdateAtomic {
                    numerator: buffers.object_work.write(),
                    denominator: buffers.object_weights.write(),
                    probe: buffers.probe.read(),
                    power: buffers.power.read(),
                    psi: buffers.waves.read(),
                    corners: buffers.corners.read(),
                    gate: buffers.gate.read(),
                    frames,
                    modes,
                    rows,
                    columns,
                    object_rows,
                    object_columns,
                    parts,
                    scale: layout.scale(),
                },
                Work::Blocks(frames as usize * parts as usize),
            )?;
            machine.launch(
                &ObjectFinish {
                    object: buffers.object.write(),
                    numerator: buffers.object_work.read(),
                    denominator: buffers.object_weights.read(),
                    gate: buffers.gate.read(),
                    pixels: object_rows * object_columns,
                    weight,
                    clip_low,
                    clip_high,
                },
                Work::Elements(layout.object_elements()),
            )
        }
    }
}
