//! The step of projection engines in three kernels, which transform a group of frames along
//! columns, along rows and back, and back along columns: any number of probe modes that fits a
//! block, frames of 64, 128, 256 or 512 rows and columns.
//!
//! The exit waves are in real space, as those of [`super::fused`]; the groups share one work array.

use crate::Step;
use crate::engines::cuda::batches::fused_batches::roots;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::step_plan::group_of;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    column_tiles::WIDTH,
    columns_finish::{
        PtychoColumnsFinish64, PtychoColumnsFinish64Bf16, PtychoColumnsFinish128,
        PtychoColumnsFinish128Bf16, PtychoColumnsFinish256, PtychoColumnsFinish256Bf16,
        PtychoColumnsFinish512, PtychoColumnsFinish512Bf16, PtychoFrameFactors, PtychoTileSums,
    },
    columns_reflect::{
        PtychoColumnsReflect64, PtychoColumnsReflect64Bf16, PtychoColumnsReflect128,
        PtychoColumnsReflect128Bf16, PtychoColumnsReflect256, PtychoColumnsReflect256Bf16,
        PtychoColumnsReflect512, PtychoColumnsReflect512Bf16,
    },
    rows_metrics::{
        PtychoRowsMetrics64, PtychoRowsMetrics128, PtychoRowsMetrics256, PtychoRowsMetrics512,
        PtychoRowsMetricsSums, ROW_SUMS,
    },
    rows_project::{
        self, PtychoRowsProject64, PtychoRowsProject128, PtychoRowsProject256, PtychoRowsProject512,
    },
};

/// The object's sums and what they need.
pub(in crate::engines::cuda) struct Sums<M: Device> {
    /// (frame): 1/Σw.
    pub(in crate::engines::cuda) weights: M::Buffer<f32>,
    /// (row, column) of the object: Σ conj(P) ψ in fixed point; zero between iterations.
    pub(in crate::engines::cuda) sums: M::Buffer<u64>,
    /// (row, column) of the object: exponents of the units of the sums in 1.
    pub(in crate::engines::cuda) quanta: M::Buffer<u8>,
    /// 1 element: the largest part of ψ that is allowed.
    pub(in crate::engines::cuda) limit: M::Buffer<f32>,
    /// 1 element: number of threads that saw a larger one.
    pub(in crate::engines::cuda) exceeding: M::Buffer<u32>,
}

/// Memory of the step in passes.
pub(in crate::engines::cuda) struct Passes<M: Device> {
    /// Frames of a group.
    group: u32,
    /// (frame of the group, mode, row, column): reflected waves, then projected ones, transformed
    /// along columns.
    work: M::Buffer<Complex32>,
    /// (frame, row, sum): parts of the metrics; of a projection (frame, row): parts of the errors.
    row_sums: M::Buffer<f32>,
    /// (frame): factor of what the projection changes, and 0.
    factors: M::Buffer<[f32; 2]>,
    /// (frame, mode, tile): parts of Σ|Δψ|².
    tile_moved: M::Buffer<f32>,
    /// exp(−2πi k/rows) and exp(−2πi k/columns).
    row_roots: M::Buffer<Complex32>,
    column_roots: M::Buffer<Complex32>,
}

/// Launches the kernel for `$length`.
macro_rules! launch {
    ($device:ident, $length:expr, [$of_64:ident $of_128:ident $of_256:ident $of_512:ident], $work:expr, $fields:tt) => {
        match $length {
            64 => $device.launch(&launch!(@ $of_64 $fields), $work),
            128 => $device.launch(&launch!(@ $of_128 $fields), $work),
            256 => $device.launch(&launch!(@ $of_256 $fields), $work),
            _ => $device.launch(&launch!(@ $of_512 $fields), $work),
        }
    };
    (@ $name:ident { $($fields:tt)* }) => { $name { $($fields)* } };
}

impl<M: Device> Passes<M> {
    pub(in crate::engines::cuda) fn new(device: &M, layout: &Layout) -> Result<Self> {
        let frames = layout.frames as usize;
        let group = group_of(frames, layout.probe_elements());
        let tiles = layer_tiles(layout);
        let rows = frames * layout.rows as usize;
        Ok(Self {
            group: group as u32,
            work: device.alloc("the waves of a group", group * layout.probe_elements())?,
            row_sums: device.alloc("the sums of rows", rows * ROW_SUMS)?,
            factors: device.alloc("the factors of frames", frames)?,
            tile_moved: device.alloc("the sums of tiles", frames * tiles)?,
            row_roots: roots(device, layout.rows)?,
            column_roots: roots(device, layout.columns)?,
        })
    }

    /// `(1−c) ψ + c P·O`, transformed along columns.
    fn reflect(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        (first, count): (u32, u32),
        c: f32,
    ) -> Result<()> {
        macro_rules! reflect {
            ($waves:ident, [$($kernel:ident)*]) => {
                launch!(
            device,
            layout.rows,
            [$($kernel)*],
            Work::Turns(count as usize * layer_tiles(layout)),
            {
                work: self.work.write(),
                psi: buffers.$waves.read(),
                probe: buffers.probe.read(),
                object: buffers.object.read(),
                corners: buffers.corners.read(),
                roots: self.row_roots.read(),
                frames: layout.frames,
                first,
                count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                c,
            }
        )
            };
        }
        if buffers.packed() {
            reflect!(packed_waves, [PtychoColumnsReflect64Bf16 PtychoColumnsReflect128Bf16 PtychoColumnsReflect256Bf16 PtychoColumnsReflect512Bf16])
        } else {
            reflect!(waves, [PtychoColumnsReflect64 PtychoColumnsReflect128 PtychoColumnsReflect256 PtychoColumnsReflect512])
        }
    }

    /// Replaces the magnitudes of a group's spectra.
    fn replace(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &Buffers<M>,
        (first, count): (u32, u32),
    ) -> Result<()> {
        let unit = layout.scale().sqrt();
        let blocks = count as usize * blocks_of_frame(layout);
        launch!(
            device,
            layout.columns,
            [PtychoRowsProject64 PtychoRowsProject128 PtychoRowsProject256 PtychoRowsProject512],
            Work::Blocks(blocks),
            {
                work: self.work.write(),
                magnitudes: buffers.magnitudes.read(),
                roots: self.column_roots.read(),
                row_errors: self.row_sums.write(),
                frames: layout.frames,
                first,
                count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                unit,
            }
        )
    }

    /// The new exit waves of a group, and their shares of the object's sums.
    fn finish(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        (first, count): (u32, u32),
        step: &Step,
        sums: &mut Sums<M>,
    ) -> Result<()> {
        device.launch(
            &PtychoFrameFactors {
                row_errors: self.row_sums.read(),
                weights: sums.weights.read(),
                errors: buffers.errors.write(),
                factors: self.factors.write(),
                frames: layout.frames,
                first,
                count,
                rows: layout.rows,
                unit: layout.scale().sqrt(),
                bound: step.bound as f32,
                b: step.coefficients.b as f32,
            },
            Work::Blocks((count as usize).div_ceil(4)),
        )?;
        macro_rules! finish {
            ($waves:ident, [$($kernel:ident)*]) => {
                launch!(
            device,
            layout.rows,
            [$($kernel)*],
            Work::Turns(count as usize * layer_tiles(layout)),
            {
                work: self.work.read(),
                psi: buffers.$waves.write(),
                probe: buffers.probe.read(),
                object: buffers.object.read(),
                corners: buffers.corners.read(),
                factors: self.factors.read(),
                roots: self.row_roots.read(),
                sums: sums.sums.write(),
                quanta: sums.quanta.read(),
                limit: sums.limit.read(),
                exceeding: sums.exceeding.write(),
                tile_moved: self.tile_moved.write(),
                frames: layout.frames,
                first,
                count,
                modes: layout.modes,
                rows: layout.rows,
                columns: layout.columns,
                tiles: layout.columns / WIDTH,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                moves: u32::from(step.metrics.exit),
            }
        )
            };
        }
        if buffers.packed() {
            finish!(packed_waves, [PtychoColumnsFinish64Bf16 PtychoColumnsFinish128Bf16 PtychoColumnsFinish256Bf16 PtychoColumnsFinish512Bf16])
        } else {
            finish!(waves, [PtychoColumnsFinish64 PtychoColumnsFinish128 PtychoColumnsFinish256 PtychoColumnsFinish512])
        }
    }

    /// Queues one projection of every frame, and its sums.
    pub(in crate::engines::cuda) fn project(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        step: &Step,
        sums: &mut Sums<M>,
    ) -> Result<()> {
        for group in groups(layout.frames, self.group) {
            let c = step.coefficients.c as f32;
            self.reflect(device, layout, buffers, group, c)?;
            self.replace(device, layout, buffers, group)?;
            self.finish(device, layout, buffers, group, step, sums)?;
        }
        if !step.metrics.exit {
            return Ok(());
        }
        device.launch(
            &PtychoTileSums {
                tile_moved: self.tile_moved.read(),
                moved: buffers.moved.write(),
                frames: layout.frames,
                tiles: layer_tiles(layout) as u32,
            },
            Work::Elements(layout.frames as usize),
        )
    }

    /// A projection as [`Self::project`], and the milliseconds that each of its kernels took.
    pub(in crate::engines::cuda) fn times(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        step: &Step,
        sums: &mut Sums<M>,
    ) -> Result<[(&'static str, f32); 3]> {
        let mut total = [0.0; 3];
        for group in groups(layout.frames, self.group) {
            let c = step.coefficients.c as f32;
            total[0] += device.time_ms(&mut || self.reflect(device, layout, buffers, group, c))?;
            total[1] += device.time_ms(&mut || self.replace(device, layout, buffers, group))?;
            total[2] +=
                device.time_ms(&mut || self.finish(device, layout, buffers, group, step, sums))?;
        }
        let [reflect, project, finish] = total;
        Ok([
            ("columns, reflected", reflect),
            ("rows, projected", project),
            ("columns, finished", finish),
        ])
    }

    /// Writes `photon`, `residual` and `free` of the current object and probe.
    pub(in crate::engines::cuda) fn model_metrics(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
    ) -> Result<()> {
        for (first, count) in groups(layout.frames, self.group) {
            self.reflect(device, layout, buffers, (first, count), 1.0)?;
            launch!(
                device,
                layout.columns,
                [PtychoRowsMetrics64 PtychoRowsMetrics128 PtychoRowsMetrics256 PtychoRowsMetrics512],
                Work::Blocks(count as usize * blocks_of_frame(layout)),
                {
                    work: self.work.read(),
                    magnitudes: buffers.magnitudes.read(),
                    roots: self.column_roots.read(),
                    row_sums: self.row_sums.write(),
                    frames: layout.frames,
                    first,
                    count,
                    modes: layout.modes,
                    rows: layout.rows,
                    columns: layout.columns,
                    unit: layout.scale().sqrt(),
                }
            )?;
        }
        device.launch(
            &PtychoRowsMetricsSums {
                row_sums: self.row_sums.read(),
                photon: buffers.photon.write(),
                residual: buffers.residual.write(),
                free: buffers.free.write(),
                frames: layout.frames,
                rows: layout.rows,
            },
            Work::Blocks(layout.frames as usize),
        )
    }
}

/// Tiles of columns of all modes.
fn layer_tiles(layout: &Layout) -> usize {
    layout.modes as usize * (layout.columns / WIDTH) as usize
}

/// Blocks that have the rows of a frame.
fn blocks_of_frame(layout: &Layout) -> usize {
    rows_project::blocks_of_frame(layout.modes, layout.rows, layout.columns) as usize
}

/// The first frame and number of frames of every group.
fn groups(frames: u32, group: u32) -> impl Iterator<Item = (u32, u32)> {
    let group = group.max(1);
    let first = (0..frames).step_by(group as usize);
    first.map(move |first| (first, group.min(frames - first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_every_frame_once() {
        let all = |frames, group| groups(frames, group).collect::<Vec<_>>();
        assert_eq!(all(7, 3), [(0, 3), (3, 3), (6, 1)]);
        assert_eq!(all(6, 6), [(0, 6)]);
        assert_eq!(all(0, 1), []);
    }
}
