//! Mirrors `model_errors` of cpu/fourier_projection.rs, for the end of a run: the sums behind err_phot
//! and R of the present object and probe. (During a run `fourier_step` computes them.)

use super::buffers::{Buffers, Layout};
use super::fourier_projection::model_spectra;
use crate::gpu::{Buffer, Machine, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::model_metrics::ModelMetrics;

/// Leaves each frame's sums in `photon` and `residual`.
pub(super) fn model_metrics<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
) -> Result<()> {
    model_spectra(machine, layout, buffers, fft)?;
    machine.launch(
        &ModelMetrics {
            spectra: buffers.waves.read(),
            magnitudes: buffers.magnitudes.read(),
            photon: buffers.photon.write(),
            residual: buffers.residual.write(),
            frames: layout.frames,
            modes: layout.modes,
            pixels: layout.pixels(),
            scale: layout.scale(),
        },
        Work::Blocks(layout.frames as usize),
    )
}
