//! Width and axes to kernel.

use super::NufftSizes;
use crate::gpu::{Buffer, Machine, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::nufft_interpolate::*;
use warpstride_kernels::mri::nufft_spread::*;
use warpstride_kernels::mri::nufft_tile::{NufftHeap, NufftPoint};

/// The sorted points on a machine.
pub(crate) struct Points<M: Machine> {
    pub(crate) points: M::Buffer<NufftPoint>,
    pub(crate) heaps: M::Buffer<NufftHeap>,
    pub(crate) coefficients: M::Buffer<f32>,
    /// In the sorted order; empty without.
    pub(crate) weights: M::Buffer<f32>,
}

/// Some of the images of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) first_image: usize,
    pub(crate) images: usize,
}

/// Launches the kernel of that width; the last one is that of any other, of which there is none.
macro_rules! launch_of {
    ($machine:ident, $work:expr, $choice:expr, $($key:pat => $kernel:ident),*; $fields:tt) => {
        match $choice {
            $($key => $machine.launch(&$kernel $fields, $work),)*
        }
    };
}

/// Spreads the part's samples: a slot for every heap and image.
pub(crate) fn spread<M: Machine>(
    machine: &M,
    sizes: &NufftSizes,
    on: &Points<M>,
    (samples, slots): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
    weighted: bool,
    part: Part,
) -> Result<()> {
    let heaps = on.heaps.len();
    launch_of!(
        machine, Work::Blocks(heaps * part.images), (sizes.axes, sizes.width),
        (2, 2) => MriNufftSpread2dW2, (2, 3) => MriNufftSpread2dW3, (2, 4) => MriNufftSpread2dW4,
        (2, 5) => MriNufftSpread2dW5, (2, 6) => MriNufftSpread2dW6, (2, 7) => MriNufftSpread2dW7,
        (2, _) => MriNufftSpread2dW8,
        (_, 2) => MriNufftSpread3dW2, (_, 3) => MriNufftSpread3dW3, (_, 4) => MriNufftSpread3dW4,
        (_, 5) => MriNufftSpread3dW5, (_, 6) => MriNufftSpread3dW6, (_, 7) => MriNufftSpread3dW7,
        _ => MriNufftSpread3dW8;
        {
            slots: slots.write(),
            samples: samples.read(),
            points: on.points.read(),
            heaps: on.heaps.read(),
            weights: on.weights.read(),
            coefficients: on.coefficients.read(),
            count: on.points.len() as u32,
            heap_count: heaps as u32,
            weighted: u32::from(weighted),
            first_image: part.first_image as u32,
            images: part.images as u32,
        }
    )
}

/// Interpolates the part's samples from their fine grids.
pub(crate) fn interpolate<M: Machine>(
    machine: &M,
    sizes: &NufftSizes,
    on: &Points<M>,
    (fine, samples): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
    part: Part,
) -> Result<()> {
    let heaps = on.heaps.len();
    launch_of!(
        machine, Work::Blocks(heaps * part.images), (sizes.axes, sizes.width),
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
            points: on.points.read(),
            heaps: on.heaps.read(),
            coefficients: on.coefficients.read(),
            count: on.points.len() as u32,
            heap_count: heaps as u32,
            tiles_x: sizes.tiles[0] as u32,
            tiles_y: sizes.tiles[1] as u32,
            tiles_z: sizes.tiles[2] as u32,
            first_image: part.first_image as u32,
            images: part.images as u32,
        }
    )
}
