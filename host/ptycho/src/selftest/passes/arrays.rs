//! Device arrays of the cases, and launches of the kernels for lines of every length.

use super::super::fused_step::{exponent, quantum};
use super::super::shape::Shape;
use super::super::waves::Waves;
use super::scan::{Scan, groups, narrow};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::column_tiles::WIDTH;
use warpstride_kernels::ptycho::columns_finish::{
    PtychoColumnsFinish64, PtychoColumnsFinish64Bf16, PtychoColumnsFinish128,
    PtychoColumnsFinish128Bf16, PtychoColumnsFinish256, PtychoColumnsFinish256Bf16,
    PtychoColumnsFinish512, PtychoColumnsFinish512Bf16, PtychoFrameFactors, PtychoTileSums,
};
use warpstride_kernels::ptycho::columns_reflect::{
    PtychoColumnsReflect64, PtychoColumnsReflect64Bf16, PtychoColumnsReflect128,
    PtychoColumnsReflect128Bf16, PtychoColumnsReflect256, PtychoColumnsReflect256Bf16,
    PtychoColumnsReflect512, PtychoColumnsReflect512Bf16,
};
use warpstride_kernels::ptycho::rows_metrics::{
    PtychoRowsMetrics64, PtychoRowsMetrics128, PtychoRowsMetrics256, PtychoRowsMetrics512, ROW_SUMS,
};
use warpstride_kernels::ptycho::rows_project::{
    self, PtychoRowsProject64, PtychoRowsProject128, PtychoRowsProject256, PtychoRowsProject512,
};
use warpstride_selftest::bench::CaseDevice;

/// Device arrays of a case.
pub(super) struct Arrays<M: Device> {
    /// First frame and number of frames of each group, and its waves.
    pub(super) groups: Vec<([u32; 2], M::Buffer<Complex32>)>,
    pub(super) psi: Waves<M>,
    pub(super) probe: M::Buffer<Complex32>,
    pub(super) object: M::Buffer<Complex32>,
    pub(super) magnitudes: M::Buffer<f32>,
    pub(super) corners: M::Buffer<[u32; 2]>,
    pub(super) weights: M::Buffer<f32>,
    pub(super) row_roots: M::Buffer<Complex32>,
    pub(super) column_roots: M::Buffer<Complex32>,
    pub(super) quanta: M::Buffer<u8>,
    pub(super) sums: M::Buffer<u64>,
    pub(super) exceeding: M::Buffer<u32>,
    pub(super) row_errors: M::Buffer<f32>,
    pub(super) row_sums: M::Buffer<f32>,
    pub(super) errors: M::Buffer<f32>,
    pub(super) factors: M::Buffer<[f32; 2]>,
    pub(super) tile_moved: M::Buffer<f32>,
    pub(super) moved: M::Buffer<f32>,
}

/// Launches the kernel for lines of `$length` values.
macro_rules! launch {
    ($device:ident, $length:expr, $work:expr, [$($kernel:ident)*], $fields:tt) => {
        launch!(@ $device, $length, $work, $fields, $($kernel)*)
    };
    (@ $device:ident, $length:expr, $work:expr, $fields:tt, $a:ident $b:ident $c:ident $d:ident) => {
        match $length {
            64 => $device.launch(&launch!($a $fields), $work),
            128 => $device.launch(&launch!($b $fields), $work),
            256 => $device.launch(&launch!($c $fields), $work),
            _ => $device.launch(&launch!($d $fields), $work),
        }
    };
    ($kernel:ident { $($fields:tt)* }) => { $kernel { $($fields)* } };
}

impl<M: Device> Arrays<M> {
    /// Groups with these waves, or to be written if there are none.
    pub(super) fn new(
        on: CaseDevice<'_, M>,
        scan: &Scan,
        waves: Option<&[Complex<f64>]>,
    ) -> Result<Self> {
        let shape = scan.shape;
        let roots = |length: u32| {
            let turn = -std::f64::consts::TAU / f64::from(length);
            let roots = (0..length).map(|k| Complex::cis(turn * f64::from(k)));
            on.upload(&narrow(&roots.collect::<Vec<_>>()))
        };
        let work = |[first, count]: [u32; 2]| {
            let [start, len] = [first, count].map(|n| n as usize * shape.probe_elements());
            let work = match waves {
                Some(waves) => on.upload(&narrow(&waves[start..start + len])),
                None => on.poisoned(len),
            };
            Ok(([first, count], work?))
        };
        let pixels = 0..shape.object_elements();
        let quanta: Vec<u8> = pixels.map(quantum).map(exponent).collect();
        let frames = shape.frames as usize;
        let rows = frames * shape.rows as usize;
        Ok(Self {
            groups: groups(&shape)
                .into_iter()
                .map(work)
                .collect::<Result<_>>()?,
            psi: Waves::upload(on, &scan.psi, scan.stored)?,
            probe: on.upload(&scan.probe)?,
            object: on.upload(&scan.object)?,
            magnitudes: on.upload(&scan.magnitudes)?,
            corners: on.upload(&scan.corners)?,
            weights: on.upload(&scan.weights)?,
            row_roots: roots(shape.rows)?,
            column_roots: roots(shape.columns)?,
            quanta: on.upload(&quanta)?,
            sums: on.upload(&vec![0_u64; quanta.len()])?,
            exceeding: on.upload(&[0_u32])?,
            row_errors: on.poisoned(rows)?,
            row_sums: on.poisoned(rows * ROW_SUMS)?,
            errors: on.poisoned(frames)?,
            factors: on.poisoned(frames)?,
            tile_moved: on.poisoned(frames * layer_tiles(&shape) as usize)?,
            moved: on.poisoned(frames)?,
        })
    }

    pub(super) fn reflect(&mut self, device: &M, shape: Shape, c: f32) -> Result<()> {
        let Shape {
            frames,
            modes,
            rows,
            columns,
            object_rows,
            object_columns,
            ..
        } = shape;
        for ([first, count], work) in &mut self.groups {
            let (first, count) = (*first, *count);
            macro_rules! reflect {
                ($psi:ident, [$($kernel:ident)*]) => {
            launch!(device, rows, Work::Turns((count * layer_tiles(&shape)) as usize),
            [$($kernel)*],
            {
                work: work.write(),
                psi: $psi.read(),
                probe: self.probe.read(),
                object: self.object.read(),
                corners: self.corners.read(),
                roots: self.row_roots.read(),
                frames,
                first,
                count,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                c,
            })
                };
            }
            match &self.psi {
                Waves::F32(psi) => {
                    reflect!(psi, [PtychoColumnsReflect64 PtychoColumnsReflect128 PtychoColumnsReflect256 PtychoColumnsReflect512])
                }
                Waves::Bf16(psi) => {
                    reflect!(psi, [PtychoColumnsReflect64Bf16 PtychoColumnsReflect128Bf16 PtychoColumnsReflect256Bf16 PtychoColumnsReflect512Bf16])
                }
            }?;
        }
        Ok(())
    }

    pub(super) fn project(&mut self, device: &M, shape: Shape) -> Result<()> {
        let Shape {
            frames,
            modes,
            rows,
            columns,
            ..
        } = shape;
        for ([first, count], work) in &mut self.groups {
            let (first, count) = (*first, *count);
            launch!(device, columns, Work::Blocks((count * blocks_of_frame(&shape)) as usize),
            [PtychoRowsProject64 PtychoRowsProject128 PtychoRowsProject256 PtychoRowsProject512],
            {
                work: work.write(),
                magnitudes: self.magnitudes.read(),
                roots: self.column_roots.read(),
                row_errors: self.row_errors.write(),
                frames,
                first,
                count,
                modes,
                rows,
                columns,
                unit: unit(&shape),
            })?;
        }
        Ok(())
    }

    pub(super) fn metrics(&mut self, device: &M, shape: Shape) -> Result<()> {
        let Shape {
            frames,
            modes,
            rows,
            columns,
            ..
        } = shape;
        for ([first, count], work) in &mut self.groups {
            let (first, count) = (*first, *count);
            launch!(device, columns, Work::Blocks((count * blocks_of_frame(&shape)) as usize),
            [PtychoRowsMetrics64 PtychoRowsMetrics128 PtychoRowsMetrics256 PtychoRowsMetrics512],
            {
                work: work.read(),
                magnitudes: self.magnitudes.read(),
                roots: self.column_roots.read(),
                row_sums: self.row_sums.write(),
                frames,
                first,
                count,
                modes,
                rows,
                columns,
                unit: unit(&shape),
            })?;
        }
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        device: &M,
        shape: Shape,
        limit: &M::Buffer<f32>,
        (bound, [_, _, b, _]): (f32, [f32; 4]),
        moves: bool,
    ) -> Result<()> {
        let Shape {
            frames,
            modes,
            rows,
            columns,
            object_rows,
            object_columns,
            ..
        } = shape;
        for ([first, count], work) in &self.groups {
            let (first, count) = (*first, *count);
            let errors = PtychoFrameFactors {
                row_errors: self.row_errors.read(),
                weights: self.weights.read(),
                errors: self.errors.write(),
                factors: self.factors.write(),
                frames,
                first,
                count,
                rows,
                unit: unit(&shape),
                bound,
                b,
            };
            device.launch(&errors, Work::Blocks(count.div_ceil(4) as usize))?;
            macro_rules! finish {
                ($psi:ident, [$($kernel:ident)*]) => {
            launch!(device, rows, Work::Turns((count * layer_tiles(&shape)) as usize),
            [$($kernel)*],
            {
                work: work.read(),
                psi: $psi.write(),
                probe: self.probe.read(),
                object: self.object.read(),
                corners: self.corners.read(),
                factors: self.factors.read(),
                roots: self.row_roots.read(),
                sums: self.sums.write(),
                quanta: self.quanta.read(),
                limit: limit.read(),
                exceeding: self.exceeding.write(),
                tile_moved: self.tile_moved.write(),
                frames,
                first,
                count,
                modes,
                rows,
                columns,
                tiles: columns / WIDTH,
                object_rows,
                object_columns,
                moves: u32::from(moves),
            })
                };
            }
            match &mut self.psi {
                Waves::F32(psi) => {
                    finish!(psi, [PtychoColumnsFinish64 PtychoColumnsFinish128 PtychoColumnsFinish256 PtychoColumnsFinish512])
                }
                Waves::Bf16(psi) => {
                    finish!(psi, [PtychoColumnsFinish64Bf16 PtychoColumnsFinish128Bf16 PtychoColumnsFinish256Bf16 PtychoColumnsFinish512Bf16])
                }
            }?;
        }
        if !moves {
            return Ok(());
        }
        let sums = PtychoTileSums {
            tile_moved: self.tile_moved.read(),
            moved: self.moved.write(),
            frames,
            tiles: layer_tiles(&shape),
        };
        device.launch(&sums, Work::Elements(frames as usize))
    }

    /// The largest error of the waves of a group.
    pub(super) fn worst(&self, on: CaseDevice<'_, M>, waves: &[Complex<f64>]) -> Result<f64> {
        let mut worst = 0.0_f64;
        let mut rest = waves;
        for (_, work) in &self.groups {
            let (own, later) = rest.split_at(work.len().min(rest.len()));
            worst = worst.max(on.error(work, own)?);
            rest = later;
        }
        Ok(worst)
    }
}

/// 1/√(rows · columns)
fn unit(shape: &Shape) -> f32 {
    (shape.pixels() as f64).sqrt().recip() as f32
}

/// Tiles of columns of all modes.
pub(super) fn layer_tiles(shape: &Shape) -> u32 {
    shape.modes * (shape.columns / WIDTH)
}

/// Blocks that have the rows of a frame.
fn blocks_of_frame(shape: &Shape) -> u32 {
    rows_project::blocks_of_frame(shape.modes, shape.rows, shape.columns)
}
