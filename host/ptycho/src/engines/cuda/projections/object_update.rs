//! Mirrors cpu/projections/object_update.rs: object update O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ
//! |P|²].

use super::probe_update::Part;
use crate::UpdateVersion;
use crate::engines::cuda::devices::exchange::Exchange;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::update_version::TILE;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    layer_power::PtychoLayerPower,
    object_finish::PtychoObjectFinish,
    object_sums_tiled::{PtychoObjectSumsTiled, PtychoObjectSumsTiledBf16},
    object_update_atomic::{PtychoObjectUpdateAtomic, PtychoObjectUpdateAtomicBf16},
    object_update_tiled::{PtychoObjectUpdateTiled, PtychoObjectUpdateTiledBf16},
};

/// Limits of the object's modulus, as kernels take them.
pub(in crate::engines::cuda) fn clip_limits(clip: Option<[f64; 2]>) -> [f32; 2] {
    clip.map_or([0.0, -1.0], |limits| limits.map(|v| v as f32))
}

/// Computes Σ|P|² of the current probe.
pub(in crate::engines::cuda) fn probe_power<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
) -> Result<()> {
    device.launch(
        &PtychoLayerPower {
            waves: buffers.probe.read(),
            power: buffers.power.write(),
            layers: layout.modes,
            pixels: layout.pixels(),
        },
        Work::Elements(layout.pixels() as usize),
    )
}

/// Performs one update; does nothing if the gate is closed.
pub(in crate::engines::cuda) fn object_update<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    version: UpdateVersion,
    weight: f64,
    clip: Option<[f64; 2]>,
    exchange: &mut Exchange<M>,
) -> Result<()> {
    let Layout {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        ..
    } = *layout;
    let scale = buffers.wave_scale(layout);
    let [clip_low, clip_high] = clip_limits(clip);
    let weight = weight as f32;
    probe_power(device, layout, buffers)?;
    match version {
        UpdateVersion::Tiled if exchange.alone() => {
            macro_rules! update {
                ($kernel:ident, $waves:ident) => {
                    device.launch(
                        &$kernel {
                            object: buffers.object.write(),
                            probe: buffers.probe.read(),
                            power: buffers.power.read(),
                            psi: buffers.$waves.read(),
                            corners: buffers.corners.read(),
                            gate: buffers.gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            scale,
                            weight,
                            clip_low,
                            clip_high,
                        },
                        tiles(layout),
                    )
                };
            }
            if buffers.packed() {
                update!(PtychoObjectUpdateTiledBf16, packed_waves)
            } else {
                update!(PtychoObjectUpdateTiled, waves)
            }
        }
        _ => {
            add_frames(device, layout, buffers, version, Part::ALL)?;
            exchange.add_object(device, layout, buffers)?;
            finish(device, layout, buffers, weight, [clip_low, clip_high])
        }
    }
}

/// Adds the frames of `layout`, from the scan's first ones on, to the sums; for the tiled version
/// `object_weights` must have been allocated. The probe's power must be that of the current probe.
/// Does nothing if the gate is closed.
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
        parts,
        ..
    } = *layout;
    let scale = buffers.wave_scale(layout);
    match version {
        UpdateVersion::Tiled => {
            macro_rules! sums {
                ($kernel:ident, $waves:ident) => {
                    device.launch(
                        &$kernel {
                            numerators: buffers.object_work.write(),
                            weights: buffers.object_weights.write(),
                            probe: buffers.probe.read(),
                            power: buffers.power.read(),
                            psi: buffers.$waves.read(),
                            corners: buffers.corners.read(),
                            gate: buffers.gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            add: u32::from(!part.first),
                            scale: part.scale(scale),
                        },
                        tiles(layout),
                    )
                };
            }
            if buffers.packed() {
                sums!(PtychoObjectSumsTiledBf16, packed_waves)
            } else {
                sums!(PtychoObjectSumsTiled, waves)
            }
        }
        UpdateVersion::Atomic => {
            if part.first {
                device.zero(&mut buffers.object_work)?;
                device.zero(&mut buffers.object_weights)?;
            }
            macro_rules! update {
                ($kernel:ident, $waves:ident) => {
                    device.launch(
                        &$kernel {
                            numerator: buffers.object_work.write(),
                            denominator: buffers.object_weights.write(),
                            probe: buffers.probe.read(),
                            power: buffers.power.read(),
                            psi: buffers.$waves.read(),
                            corners: buffers.corners.read(),
                            gate: buffers.gate.read(),
                            frames,
                            modes,
                            rows,
                            columns,
                            object_rows,
                            object_columns,
                            parts,
                            scale,
                        },
                        Work::Blocks(frames as usize * parts as usize),
                    )
                };
            }
            if buffers.packed() {
                update!(PtychoObjectUpdateAtomicBf16, packed_waves)
            } else {
                update!(PtychoObjectUpdateAtomic, waves)
            }
        }
    }
}

/// One block for every tile of the object.
fn tiles(layout: &Layout) -> Work {
    Work::Blocks(
        (layout.object_rows as usize).div_ceil(TILE[0])
            * (layout.object_columns as usize).div_ceil(TILE[1]),
    )
}

/// Updates the object from the sums of [`add_frames`] over all frames, with limits of its modulus
/// as kernels take them; does nothing if the gate is closed.
pub(in crate::engines::cuda) fn finish<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    weight: f32,
    [clip_low, clip_high]: [f32; 2],
) -> Result<()> {
    device.launch(
        &PtychoObjectFinish {
            object: buffers.object.write(),
            numerator: buffers.object_work.read(),
            denominator: buffers.object_weights.read(),
            gate: buffers.gate.read(),
            pixels: layout.object_rows * layout.object_columns,
            plane: layout.object_rows * layout.object_columns,
            weight,
            clip_low,
            clip_high,
        },
        Work::Elements(layout.object_elements()),
    )
}
