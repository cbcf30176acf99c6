//! The sums of a batch that the variations are changed by.

use super::VariationBuffers;
use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::frames::FrameBuffers;
use crate::engines::cuda::memory::layout::Layout;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    variation_equations::PtychoVariationEquations,
    variation_sums::{PtychoVariationSums, TOGETHER},
};

/// The object, and corners and fractions of the frames.
type WindowArrays<'a, M> = (
    &'a <M as Device>::Buffer<Complex32>,
    &'a <M as Device>::Buffer<[u32; 2]>,
    &'a <M as Device>::Buffer<[f32; 2]>,
);

impl<M: Device> VariationBuffers<M> {
    /// The sums of a batch on the shapes, and the equations of its frames, from the spectra of
    /// conj(O)·χ in the work waves.
    pub(in crate::engines::cuda) fn sum(
        &mut self,
        device: &M,
        layout: &Layout,
        (object, corners, fractions): WindowArrays<'_, M>,
        frames: &FrameBuffers<M>,
        batch: Batch,
    ) -> Result<()> {
        if let Some(of) = &mut self.further {
            of.sum(device, layout, (object, corners, fractions), frames, batch)?;
        }
        let pixels = layout.pixels() as usize;
        let scale = frames.layers_scale(layout);
        let groups = self.count.div_ceil(TOGETHER) as usize;
        device.launch(
            &PtychoVariationSums {
                sums: self.sums.write(),
                spectra: frames.work.read(),
                coefficients: self.coefficients[0].read(),
                fractions: fractions.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                variations: self.count,
                scale,
            },
            Work::Elements(groups * pixels),
        )?;
        if frames.exact {
            device.fft(&self.fft, &mut self.sums, Direction::Inverse)?;
        }
        if self.forming {
            return Ok(());
        }
        let needed = batch.count as usize * (self.count * (self.count + 1)) as usize;
        if self.equations.len() < needed {
            self.equations = device.alloc("the coefficients' equations", needed)?;
        }
        device.launch(
            &PtychoVariationEquations {
                equations: self.equations.write(),
                spectra: frames.work.read(),
                shape_spectra: frames.shape_spectra.read(),
                shapes: self.shapes[0].read(),
                object: object.read(),
                corners: corners.read(),
                fractions: fractions.read(),
                order: frames.order.read(),
                frames: layout.frames,
                first: batch.first,
                count: batch.count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                variations: self.count,
                scale,
            },
            Work::Blocks(batch.count as usize),
        )
    }
}
