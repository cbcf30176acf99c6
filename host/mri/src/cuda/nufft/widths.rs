//! Dispatch of kernel width and number of axes to a kernel.

use super::NufftSizes;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::nufft_interpolate::*;
use warpstride_kernels::mri::nufft_spread::*;
use warpstride_kernels::mri::nufft_tile::{NufftPoint, NufftSubproblem};

/// The sorted points on a device.
pub(crate) struct Points<M: Device> {
    pub(crate) points: M::Buffer<NufftPoint>,
    pub(crate) subproblems: M::Buffer<NufftSubproblem>,
    pub(crate) coefficients: M::Buffer<f32>,
    /// In the sorted order; empty if there are none.
    pub(crate) weights: M::Buffer<f32>,
}

/// A batch of the images of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageBatch {
    pub(crate) first_image: usize,
    pub(crate) images: usize,
}

/// Launches the kernel of the given width; the last arm is never used by another width.
macro_rules! launch_of {
    ($device:ident, $work:expr, $choice:expr, $($key:pat => $kernel:ident),*; $fields:tt) => {
        match $choice {
            $($key => $device.launch(&$kernel $fields, $work),)*
        }
    };
}

/// Spreads the samples of a batch: one slot for every subproblem and image.
pub(crate) fn spread<M: Device>(
    device: &M,
    sizes: &NufftSizes,
    points: &Points<M>,
    (samples, slots): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
    weighted: bool,
    part: ImageBatch,
) -> Result<()> {
    let subproblems = points.subproblems.len();
    launch_of!(
        device, Work::Blocks(subproblems * part.images), (sizes.axes, sizes.width),
        (2, 2) => MriNufftSpread2dW2, (2, 3) => MriNufftSpread2dW3, (2, 4) => MriNufftSpread2dW4,
        (2, 5) => MriNufftSpread2dW5, (2, 6) => MriNufftSpread2dW6, (2, 7) => MriNufftSpread2dW7,
        (2, _) => MriNufftSpread2dW8,
        (_, 2) => MriNufftSpread3dW2, (_, 3) => MriNufftSpread3dW3, (_, 4) => MriNufftSpread3dW4,
        (_, 5) => MriNufftSpread3dW5, (_, 6) => MriNufftSpread3dW6, (_, 7) => MriNufftSpread3dW7,
        _ => MriNufftSpread3dW8;
        {
            slots: slots.write(),
            samples: samples.read(),
            points: points.points.read(),
            heaps: points.subproblems.read(),
            weights: points.weights.read(),
            coefficients: points.coefficients.read(),
            count: points.points.len() as u32,
            heap_count: subproblems as u32,
            weighted: u32::from(weighted),
            first_image: part.first_image as u32,
            images: part.images as u32,
        }
    )
}

/// Interpolates the samples of a batch from their fine grids.
pub(crate) fn interpolate<M: Device>(
    device: &M,
    sizes: &NufftSizes,
    points: &Points<M>,
    (fine, samples): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
    part: ImageBatch,
) -> Result<()> {
    let subproblems = points.subproblems.len();
    launch_of!(
        device, Work::Blocks(subproblems * part.images), (sizes.axes, sizes.width),
        (2, 2) => MriNufftInterpolate2dW2, (2, 3) => MriNufftInterpolate2dW3,
        (2, 4) => MriNufftInterpolate2dW4, (2, 5) => MriNufftInterpolate2dW5,
        (2, 6) => MriNufftInterpolate2dW6, (2, 7) => MriNufftInterpolate2dW7,
        (2, _) => MriNufftInterpolate2dW8,
        (_, 2) => MriNufftInterpolate3dW2, (_, 3) => MriNufftInterpolate3dW3,
        (_, 4) => MriNufftInterpolate3dW4, (_, 5) => MriNufftInterpolate3dW5,
        (_, 6) => MriNufftInterpolate3dW6, (_, 7) => MriNufftInterpolate3dW7,
        _ => MriNufftInterpolate3dW8;
        {
            samples: samples.write(),
            fine: fine.read(),
            points: points.points.read(),
            heaps: points.subproblems.read(),
            coefficients: points.coefficients.read(),
            count: points.points.len() as u32,
            heap_count: subproblems as u32,
            tiles_x: sizes.tiles[0] as u32,
            tiles_y: sizes.tiles[1] as u32,
            tiles_z: sizes.tiles[2] as u32,
            first_image: part.first_image as u32,
            images: part.images as u32,
        }
    )
}
