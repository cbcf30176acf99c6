//! Mirrors cpu/total_variation.rs: the proximal step of total variation.

use crate::Grid;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::tv_dual_step::MriTvDualStep;
use warpstride_kernels::mri::tv_primal::MriTvPrimal;

/// Dual steps in one proximal step, as on the CPU.
const INNER_STEPS: usize = crate::cpu::INNER_STEPS;

/// The dual variables of some images, (image, axis, voxel), with p = 0 at first.
pub(super) struct TotalVariation<M: Device> {
    grid: Grid,
    images: usize,
    dual: M::Buffer<Complex32>,
    extrapolated: M::Buffer<Complex32>,
    work: M::Buffer<Complex32>,
}

impl<M: Device> TotalVariation<M> {
    pub(super) fn new(device: &M, grid: Grid, images: usize) -> Result<Self> {
        let length = images * grid.voxels();
        let dual = || device.alloc("dual variables of total variation", length * grid.axes);
        Ok(Self {
            grid,
            images,
            dual: dual()?,
            extrapolated: dual()?,
            work: device.alloc("images of total variation", length)?,
        })
    }

    /// Queues the replacement of `image` z by the x that minimises ½|x − z|² + `weight` TV(x),
    /// approximately.
    pub(super) fn queue(
        &mut self,
        device: &M,
        image: &mut M::Buffer<Complex32>,
        weight: f64,
    ) -> Result<()> {
        if weight <= 0.0 {
            return Ok(());
        }
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let (axes, images) = (self.grid.axes as u32, self.images as u32);
        let voxels = Work::Elements(image.len());
        device.copy(&self.dual, &mut self.extrapolated)?;
        let mut t = 1.0_f64;
        for inner in 0..=INNER_STEPS {
            let last = inner == INNER_STEPS;
            let primal = MriTvPrimal {
                out: self.work.write(),
                z: image.read(),
                dual: if last {
                    self.dual.read()
                } else {
                    self.extrapolated.read()
                },
                columns,
                rows,
                slices,
                axes,
                images,
                weight: weight as f32,
            };
            device.launch(&primal, voxels)?;
            if last {
                break;
            }
            let next = f64::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
            let dual_step = MriTvDualStep {
                dual: self.dual.write(),
                ahead: self.extrapolated.write(),
                image: self.work.read(),
                columns,
                rows,
                slices,
                axes,
                images,
                step: (1.0 / (4.0 * self.grid.axes as f64 * weight)) as f32,
                momentum: ((t - 1.0) / next) as f32,
            };
            device.launch(&dual_step, voxels)?;
            t = next;
        }
        device.copy(&self.work, image)
    }
}
