//! Mirrors `model_errors` of cpu/fourier_projection.rs: err_phot, R and R_free of the current object and
//! probe at the end of a run. (During a run the kernel `ptycho_fourier_step` computes them.)

use super::buffers::{Buffers, Layout};
use super::fourier_projection::model_spectra;
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
