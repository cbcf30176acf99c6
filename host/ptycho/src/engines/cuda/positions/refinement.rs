//! Mirrors cpu/positions/refinement.rs: normal equations of each frame's position and intensity
//! scale.

use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo};
use crate::engines::cuda::memory::layout::Layout;
use crate::positions::refinement::NormalEquations;
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::position_equations::PtychoPositionEquations;

/// The equations of every frame; waits for the device.
pub(in crate::engines::cuda) fn normal_equations<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    frames: &mut FrameBuffers<M>,
    probe_fft: &M::Fft,
) -> Result<Vec<NormalEquations>> {
    frames.scaled = false;
    // Kept, because nothing is freed while graphs exist.
    let mut equations = match frames.equations.take() {
        Some(equations) => equations,
        None => device.alloc("the positions' equations", layout.frames as usize)?,
    };
    frames.transform_probe(device, buffers, probe_fft)?;
    let lists = frames.lists(layout);
    // Blocks of frames come in this order.
    let mut found: Vec<(M::ReadBack<[f32; 9]>, usize)> = Vec::new();
    frames.each(
        device,
        layout,
        buffers,
        &lists,
        Metrics::Unchanged,
        &mut |layout, buffers, frames, batches| {
            for batch in batches {
                let batch = *batch;
                frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 0)?;
                frames.begin_model(device, layout, buffers, batch)?;
                frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 1)?;
                frames.model_beside(device, layout, buffers, batch, false)?;
                frames.shift(device, layout, buffers, batch, ShiftTo::Probes, 2)?;
                frames.model_beside(device, layout, buffers, batch, true)?;
                frames.finish_model(device, buffers)?;
                if let Some(mut detector) = buffers.detector.take() {
                    let from = (&*buffers, &*frames);
                    let done = detector.equations(device, layout, from, batch, &mut equations);
                    buffers.detector = Some(detector);
                    done?;
                    continue;
                }
                device.launch(
                    &PtychoPositionEquations {
                        equations: equations.write(),
                        spectra: frames.chi.read(),
                        by_row: frames.by_rows().read(),
                        by_column: frames.more.read(),
                        magnitudes: buffers.magnitudes.read(),
                        scales: buffers.scales.read(),
                        order: frames.order.read(),
                        frames: layout.frames,
                        first: batch.first,
                        count: batch.count,
                        modes: layout.waves(),
                        pixels: layout.pixels(),
                        scale: layout.scale(),
                    },
                    Work::Blocks(batch.count as usize),
                )?;
            }
            found.push((device.read_back(&equations)?, layout.frames as usize));
            Ok(())
        },
    )?;
    let mut all = Vec::with_capacity(layout.frames as usize);
    for (block, count) in found {
        all.extend(block.wait()?.iter().take(count).map(|e| e.map(f64::from)));
    }
    frames.equations = Some(equations);
    Ok(all)
}
