//! Mirrors cpu/metrics.rs: the sums behind err_phot and R.

use super::buffers::{Buffers, Layout};
use super::fourier_projection::build;
use crate::gpu::{Buffer, Direction, Machine, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::model_metrics::ModelMetrics;

/// Leaves each frame's sums in `photon` and `residual`.
pub(super) fn model_metrics<M: Machine>(
    machine: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
) -> Result<()> {
    build(machine, layout, buffers, [1.0, 0.0])?;
    machine.fft(fft, &mut buffers.aux, Direction::Forward)?;
    machine.launch(
        &ModelMetrics {
            spectra: buffers.aux.read(),
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
