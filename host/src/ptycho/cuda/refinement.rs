//! Mirrors cpu/refinement.rs: normal equations of each frame's position and intensity scale.

use super::buffers::{Buffers, Layout};
use super::frames::{FrameBuffers, ShiftTo};
use crate::gpu::{Buffer, Device, ReadBack, Result};
use crate::ptycho::refinement::NormalEquations;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::position_equations::PtychoPositionEquations;

/// The equations of every frame; waits for the device.
pub(super) fn normal_equations<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &Buffers<M>,
    frames: &mut FrameBuffers<M>,
    probe_fft: &M::Fft,
) -> Result<Vec<NormalEquations>> {
    let mut equations = device.alloc("the positions' equations", layout.frames as usize)?;
    frames.scaled = false;
    frames.transform_probe(device, buffers, probe_fft)?;
    for batch in frames.all(device, layout)? {
        frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
        frames.model(device, layout, buffers, batch)?;
        frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 1)?;
        frames.model_beside(device, layout, buffers, batch, false)?;
        frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 2)?;
        frames.model_beside(device, layout, buffers, batch, true)?;
        device.launch(
            &PtychoPositionEquations {
                equations: equations.write(),
                spectra: frames.chi.read(),
                by_row: frames.work.read(),
                by_column: frames.more.read(),
                magnitudes: buffers.magnitudes.read(),
                scales: buffers.scales.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                pixels: layout.pixels(),
                scale: layout.scale(),
            },
            Work::Blocks(batch.count as usize),
        )?;
    }
    let found: Vec<[f32; 9]> = device.read_back(&equations)?.wait()?;
    Ok(found.iter().map(|e| e.map(f64::from)).collect())
}
