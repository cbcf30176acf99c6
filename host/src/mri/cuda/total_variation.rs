//! Mirrors cpu/total_variation.rs: the proximal step of total variation.

use crate::gpu::{Buffer, Machine, Result};
use crate::mri::Grid;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::variation_ascend::MriVariationAscend;
use warpstride_kernels::mri::variation_primal::MriVariationPrimal;

/// Steps on the dual in one proximal step, as on the CPU.
const INNER_STEPS: usize = crate::mri::cpu::INNER_STEPS;

/// The dual variables of some images, (image, axis, voxel), p = 0 at first.
pub(super) struct TotalVariation<M: Machine> {
    grid: Grid,
    images: usize,
    dual: M::Buffer<Complex32>,
    ahead: M::Buffer<Complex32>,
    work: M::Buffer<Complex32>,
}

impl<M: Machine> TotalVariation<M> {
    pub(super) fn new(machine: &M, grid: Grid, images: usize) -> Result<Self> {
        let length = images * grid.voxels();
        let dual = || machine.alloc("dual variables of total variation", length * grid.axes);
        Ok(Self {
            grid,
            images,
            dual: dual()?,
            ahead: dual()?,
            work: machine.alloc("images of total variation", length)?,
        })
    }

    /// Queues: `image` z becomes the x of the least ½|x − z|² + `weight` TV(x), nearly.
    pub(super) fn queue(
        &mut self,
        machine: &M,
        image: &mut M::Buffer<Complex32>,
        weight: f64,
    ) -> Result<()> {
        if weight <= 0.0 {
            return Ok(());
        }
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let (axes, images) = (self.grid.axes as u32, self.images as u32);
        let voxels = Work::Elements(image.len());
        machine.copy(&self.dual, &mut self.ahead)?;
        let mut t = 1.0_f64;
        for inner in 0..=INNER_STEPS {
            let last = inner == INNER_STEPS;
            let primal = MriVariationPrimal {
                out: self.work.write(),
                z: image.read(),
                dual: if last {
                    self.dual.read()
                } else {
                    self.ahead.read()
                },
                columns,
                rows,
                slices,
                axes,
                images,
                weight: weight as f32,
            };
            machine.launch(&primal, voxels)?;
            if last {
                break;
            }
            let next = f64::midpoint(1.0, (1.0 + 4.0 * t * t).sqrt());
            let ascend = MriVariationAscend {
                dual: self.dual.write(),
                ahead: self.ahead.write(),
                image: self.work.read(),
                columns,
                rows,
                slices,
                axes,
                images,
                step: (1.0 / (4.0 * self.grid.axes as f64 * weight)) as f32,
                momentum: ((t - 1.0) / next) as f32,
            };
            machine.launch(&ascend, voxels)?;
            t = next;
        }
        machine.copy(&self.work, image)
    }
}
