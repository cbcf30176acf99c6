//! Sums over images for which the host waits.

use crate::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::squares::MriSquares;

/// |values|², using `partial` as scratch.
pub(super) fn squares<M: Device>(
    device: &M,
    values: &M::Buffer<Complex32>,
    partial: &mut M::Buffer<f64>,
) -> Result<f64> {
    let launch = MriSquares {
        values: values.read(),
        squares: partial.write(),
        voxels: values.len() as u32,
    };
    device.launch(&launch, Work::Blocks(PARTIAL_SUMS))?;
    let mut sums = [0.0; PARTIAL_SUMS];
    device.download(partial, &mut sums)?;
    Ok(sums.iter().sum())
}
