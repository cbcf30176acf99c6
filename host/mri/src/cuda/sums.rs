//! Sums over images for which the host waits.

use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::PARTIAL_SUMS;
use warpstride_kernels::mri::cg_curvature::MriCgCurvature;
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

/// Re⟨a, b⟩. The launch is that of conjugate gradients with λ = 0, so `b` keeps its values, unless
/// `a` is not finite.
pub(super) fn real_product<M: Device>(
    device: &M,
    a: &M::Buffer<Complex32>,
    b: &mut M::Buffer<Complex32>,
) -> Result<f64> {
    let mut partial = device.alloc("sums", PARTIAL_SUMS)?;
    let mut iteration = device.alloc("number of the iteration", 1)?;
    let launch = MriCgCurvature {
        direction: a.read(),
        applied: b.write(),
        curvature: partial.write(),
        iteration: iteration.write(),
        voxels: a.len() as u32,
        lambda: 0.0,
    };
    device.launch(&launch, Work::Blocks(PARTIAL_SUMS))?;
    let mut sums = [0.0; PARTIAL_SUMS];
    device.download(&partial, &mut sums)?;
    Ok(sums.iter().sum())
}
