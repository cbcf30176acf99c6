//! Mirrors cpu/wavelet.rs: soft thresholding of orthonormal wavelet coefficients.

use crate::Grid;
use crate::cpu::{Level, coarsest, levels};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::soft_threshold::MriSoftThreshold;
use warpstride_kernels::mri::wavelet_pass::MriWaveletPass;

/// The wavelet transform of some images on a grid.
pub(super) struct Wavelet<M: Device> {
    grid: Grid,
    images: usize,
    levels: Vec<Level>,
    work: M::Buffer<Complex32>,
}

impl<M: Device> Wavelet<M> {
    pub(super) fn new(device: &M, grid: Grid, images: usize) -> Result<Self> {
        Ok(Self {
            grid,
            images,
            levels: levels(grid),
            work: device.alloc("wavelet coefficients", images * grid.voxels())?,
        })
    }

    /// Queues the replacement of `image` z by the x that minimises ½|x − z|² + `threshold`
    /// Σ|details of x|.
    pub(super) fn queue(
        &mut self,
        device: &M,
        image: &mut M::Buffer<Complex32>,
        threshold: f64,
    ) -> Result<()> {
        // There are as many inverse as forward passes, so the result is in the original buffer.
        for level in self.levels.clone() {
            for axis in [2, 1, 0] {
                self.pass(device, image, level, axis, false)?;
            }
        }
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let [corner_slices, corner_rows, corner_columns] =
            coarsest(self.grid, &self.levels).map(|n| n as u32);
        let soft = MriSoftThreshold {
            coefficients: image.write(),
            columns,
            rows,
            slices,
            images: self.images as u32,
            corner_columns,
            corner_rows,
            corner_slices,
            threshold: threshold as f32,
        };
        device.launch(&soft, Work::Elements(self.work.len()))?;
        for level in self.levels.clone().into_iter().rev() {
            for axis in [0, 1, 2] {
                self.pass(device, image, level, axis, true)?;
            }
        }
        Ok(())
    }

    /// One pass along `axis` (slices, rows, columns) if the level halves it.
    fn pass(
        &mut self,
        device: &M,
        image: &mut M::Buffer<Complex32>,
        level: Level,
        axis: usize,
        inverse: bool,
    ) -> Result<()> {
        if !level.halved[axis] {
            return Ok(());
        }
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let [corner_slices, corner_rows, corner_columns] = level.corner.map(|n| n as u32);
        let launch = MriWaveletPass {
            from: image.read(),
            to: self.work.write(),
            columns,
            rows,
            slices,
            images: self.images as u32,
            corner_columns,
            corner_rows,
            corner_slices,
            axis: 2 - axis as u32,
            inverse: u32::from(inverse),
        };
        device.launch(&launch, Work::Elements(image.len()))?;
        std::mem::swap(image, &mut self.work);
        Ok(())
    }
}
