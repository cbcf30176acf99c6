//! Mirrors `model_errors` of cpu/projections/fourier_projection.rs: err_phot, R and R_free of the
//! current object and probe at the end of a run. (During a run the kernel `ptycho_fourier_step`
//! computes them.)

use super::memory::buffers::Buffers;
use super::memory::frame_stream::Metrics;
use super::memory::frames::{FrameBuffers, ShiftTo};
use super::memory::layout::Layout;
use super::projections::fourier_projection::model_spectra;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::model_metrics::PtychoModelMetrics;

/// Writes the sums of each frame to `photon`, `residual` and `free`.
pub(super) fn model_metrics<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
) -> Result<()> {
    model_spectra(device, layout, buffers, fft)?;
    if let Some(mut detector) = buffers.detector.take() {
        let done = detector.metrics(device, layout, buffers);
        buffers.detector = Some(detector);
        return done;
    }
    device.launch(
        &PtychoModelMetrics {
            spectra: buffers.waves.read(),
            magnitudes: buffers.magnitudes.read(),
            photon: buffers.photon.write(),
            residual: buffers.residual.write(),
            free: buffers.free.write(),
            frames: layout.frames,
            modes: layout.waves(),
            pixels: layout.pixels(),
            scale: layout.scale(),
        },
        Work::Blocks(layout.frames as usize),
    )
}

/// err_phot, R and R_free of every frame with its shifted probe, in `buffers`.
pub(super) fn all_errors<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    frames: &mut FrameBuffers<M>,
    probe_fft: &M::Fft,
) -> Result<()> {
    frames.scaled = false;
    frames.transform_probe(device, buffers, probe_fft)?;
    let lists = frames.lists(layout);
    frames.each(
        device,
        layout,
        buffers,
        &lists,
        Metrics::Written,
        &mut |layout, buffers, frames, batches| {
            for batch in batches {
                frames.shift(device, layout, buffers, *batch, ShiftTo::Probes, 0)?;
                frames.model(device, layout, buffers, *batch)?;
                frames.deviation(device, layout, buffers, *batch)?;
            }
            Ok(())
        },
    )
}
