//! Transforms by warpstride's own kernels, as launches on any device.
//!
//! Frames of 64² and large batches of 128² take one pass over memory. Other shapes take one pass
//! along rows and one along each further axis.

#[cfg(test)]
mod tests;

use std::f64::consts::TAU;

use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Read, Space, Work, Write};
use warpstride_kernels::fft::columns::{
    FftColumns64, FftColumns96, FftColumns128, FftColumns160, FftColumns192, FftColumns240,
    FftColumns256, FftColumns320, FftColumns384, FftColumns480, FftColumns512,
};
use warpstride_kernels::fft::frames::{
    FftFrames64, FftFrames64InPlace, FftFrames128, FftFrames128InPlace,
};
use warpstride_kernels::fft::rows::{
    FftRows64, FftRows64InPlace, FftRows96, FftRows96InPlace, FftRows128, FftRows128InPlace,
    FftRows160, FftRows160InPlace, FftRows192, FftRows192InPlace, FftRows240, FftRows240InPlace,
    FftRows256, FftRows256InPlace, FftRows320, FftRows320InPlace, FftRows384, FftRows384InPlace,
    FftRows480, FftRows480InPlace, FftRows512, FftRows512InPlace,
};

use super::{Buffer, Device, Direction, Result};

/// The lengths of an axis that the kernels transform.
const LENGTHS: [usize; 11] = [64, 96, 128, 160, 192, 240, 256, 320, 384, 480, 512];

/// Whether frames are transformed in one pass, a frame by one block. Fewer frames of 128² would
/// leave multiprocessors idle (H200: 32 frames take 8.6 µs in one pass and 6.3 µs in two, 64 frames
/// 8.7 and 8.8).
fn one_pass(shape: &[usize], batch: usize) -> bool {
    match shape {
        [64, 64] => true,
        [128, 128] => batch >= 64,
        _ => false,
    }
}

/// A pass over all values of the arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Square frames of this side, in both axes.
    Frames(usize),
    /// Rows of this length, so many an array.
    Rows(usize, usize),
    /// An axis of this length, in so many sub-arrays an array, with this many values between
    /// neighbours along the axis.
    Columns(usize, usize, usize),
}

impl Pass {
    fn length(self) -> usize {
        match self {
            Self::Frames(length) | Self::Rows(length, _) | Self::Columns(length, ..) => length,
        }
    }
}

/// The passes of a transform: plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FftPasses {
    passes: Vec<Pass>,
    batch: usize,
}

impl FftPasses {
    /// The passes of a transform of `batch` arrays, or `None` if the kernels do not serve it:
    /// `shape` is (column), (row, column) or (slice, row, column), each axis of a length that the
    /// kernels transform.
    #[must_use]
    pub fn new(shape: &[usize], batch: usize) -> Option<Self> {
        let served = shape.iter().all(|length| LENGTHS.contains(length));
        let elements = shape.iter().try_fold(batch, |n, len| n.checked_mul(*len))?;
        // The kernels count rows, arrays and tiles in 32 bits.
        if !served || !matches!(shape.len(), 1..=3) || u32::try_from(elements / 8).is_err() {
            return None;
        }
        let array: usize = shape.iter().product();
        let mut passes = Vec::new();
        if one_pass(shape, batch) {
            passes.push(Pass::Frames(shape[0]));
        } else {
            let columns = shape[shape.len() - 1];
            passes.push(Pass::Rows(columns, array / columns));
            let mut inner = columns;
            for length in shape.iter().rev().skip(1) {
                passes.push(Pass::Columns(*length, array / (inner * length), inner));
                inner *= length;
            }
        }
        Some(Self { passes, batch })
    }

    /// The number of arrays.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The lengths of the axes, each once.
    fn lengths(&self) -> Vec<usize> {
        let mut lengths: Vec<_> = self.passes.iter().map(|pass| pass.length()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Whether a kernel of this name is launched.
    #[must_use]
    pub fn uses_kernel(&self, name: &str) -> bool {
        self.passes.iter().any(|pass| {
            let (what, length) = match pass {
                Pass::Frames(length) => ("frames", length),
                Pass::Rows(length, _) => ("rows", length),
                Pass::Columns(length, ..) => ("columns", length),
            };
            let kernel = format!("fft_{what}_{length}");
            name.strip_prefix(&kernel)
                .is_some_and(|rest| matches!(rest, "" | "_in_place"))
        })
    }
}

/// A queue that launches kernels.
pub(super) type Queue<'q, S> = &'q dyn Fn(&(dyn AnyLaunch<S> + Sync), Work) -> Result<()>;

/// A planned transform by warpstride's own kernels.
#[derive(Debug)]
pub struct KernelFft<B> {
    passes: FftPasses,
    /// exp(−2πi k/N) of each length N.
    roots: Vec<(usize, B)>,
}

impl<B> KernelFft<B> {
    /// Uploads the tables of `passes`.
    ///
    /// # Errors
    /// Memory is exhausted, or an error of the driver.
    pub fn new<D: Device<Buffer<Complex32> = B>>(device: &D, passes: FftPasses) -> Result<Self> {
        let table = |length: usize| {
            let mut buffer =
                device.alloc::<Complex32>("roots of unity of the transforms", length)?;
            device.upload::<Complex32, Complex32>(&mut buffer, &roots(length))?;
            Ok((length, buffer))
        };
        let roots = passes.lengths().into_iter().map(table);
        Ok(Self {
            roots: roots.collect::<Result<_>>()?,
            passes,
        })
    }

    /// Queues the transform of `from` into `to`, or of `to` in place without `from`, times `scale`.
    ///
    /// # Errors
    /// A buffer is too short, or an error of the driver.
    pub fn queue<D: Device<Buffer<Complex32> = B>>(
        &self,
        device: &D,
        from: Option<&B>,
        to: &mut B,
        direction: Direction,
        scale: f32,
    ) -> Result<()>
    where
        B: Buffer<D::Space, Complex32>,
    {
        self.queue_on::<D::Space>(
            &|launch, work| device.launch_any(launch, work),
            from,
            to,
            direction,
            scale,
        )
    }

    pub(super) fn queue_on<S: Space>(
        &self,
        queue: Queue<'_, S>,
        from: Option<&B>,
        to: &mut B,
        direction: Direction,
        scale: f32,
    ) -> Result<()>
    where
        B: Buffer<S, Complex32>,
    {
        let FftPasses { passes, batch } = &self.passes;
        let sign = match direction {
            Direction::Forward => 1.0,
            Direction::Inverse => -1.0,
        };
        for (number, pass) in passes.iter().enumerate() {
            let last = number + 1 == passes.len();
            let parameters = Parameters {
                arrays: *batch,
                sign,
                scale: if last { scale } else { 1.0 },
            };
            let from = from.filter(|_| number == 0).map(B::read);
            parameters.queue(queue, *pass, from, to.write(), self.roots(*pass)?)?;
        }
        Ok(())
    }

    fn roots<S: Space>(&self, pass: Pass) -> Result<Read<'_, S, Complex32>>
    where
        B: Buffer<S, Complex32>,
    {
        let found = self.roots.iter().find(|(len, _)| *len == pass.length());
        found
            .map(|(_, table)| table.read())
            .ok_or_else(|| unserved(pass))
    }
}

/// The error of a pass that no kernel serves. [`FftPasses::new`] makes none.
fn unserved(pass: Pass) -> super::GpuError {
    super::GpuError::TransformSize {
        shape: vec![pass.length()],
        batch: 1,
    }
}

/// exp(−2πi k/N) for k = 0 … N − 1, rounded from double precision.
fn roots(length: usize) -> Vec<Complex32> {
    let root = |k: usize| {
        let (sin, cos) = (TAU * k as f64 / length as f64).sin_cos();
        Complex32::new(cos as f32, -sin as f32)
    };
    (0..length).map(root).collect()
}

/// What all launches of a pass have in common.
#[derive(Debug, Clone, Copy)]
struct Parameters {
    arrays: usize,
    sign: f32,
    scale: f32,
}

impl Parameters {
    fn queue<S: Space>(
        self,
        queue: Queue<'_, S>,
        pass: Pass,
        from: Option<Read<'_, S, Complex32>>,
        to: Write<'_, S, Complex32>,
        roots: Read<'_, S, Complex32>,
    ) -> Result<()> {
        let Self { sign, scale, .. } = self;
        // `FftPasses::new` limits the numbers.
        let all = |per_array: usize| (self.arrays * per_array) as u32;
        macro_rules! frames {
            ($kernel:ident, $in_place:ident) => {{
                let count = all(1);
                let work = Work::Blocks(self.arrays);
                match from {
                    Some(from) => queue(
                        &$kernel {
                            from,
                            to,
                            roots,
                            count,
                            sign,
                            scale,
                        },
                        work,
                    ),
                    None => queue(
                        &$in_place {
                            data: to,
                            roots,
                            count,
                            sign,
                            scale,
                        },
                        work,
                    ),
                }
            }};
        }
        macro_rules! rows {
            ($kernel:ident, $in_place:ident, $per_array:ident, $per_block:literal) => {{
                let rows = all($per_array);
                let work = Work::Blocks((rows as usize).div_ceil($per_block));
                match from {
                    Some(from) => queue(
                        &$kernel {
                            from,
                            to,
                            roots,
                            rows,
                            sign,
                            scale,
                        },
                        work,
                    ),
                    None => queue(
                        &$in_place {
                            data: to,
                            roots,
                            rows,
                            sign,
                            scale,
                        },
                        work,
                    ),
                }
            }};
        }
        macro_rules! columns {
            ($kernel:ident, $per_array:ident, $columns:ident, $width:literal) => {{
                let count = all($per_array);
                let work = Work::Blocks(count as usize * $columns.div_ceil($width));
                let columns = $columns as u32;
                queue(
                    &$kernel {
                        data: to,
                        roots,
                        count,
                        columns,
                        sign,
                        scale,
                    },
                    work,
                )
            }};
        }
        match pass {
            Pass::Frames(64) => frames!(FftFrames64, FftFrames64InPlace),
            Pass::Frames(128) => frames!(FftFrames128, FftFrames128InPlace),
            Pass::Rows(64, n) => rows!(FftRows64, FftRows64InPlace, n, 16),
            Pass::Rows(96, n) => rows!(FftRows96, FftRows96InPlace, n, 8),
            Pass::Rows(128, n) => rows!(FftRows128, FftRows128InPlace, n, 16),
            Pass::Rows(160, n) => rows!(FftRows160, FftRows160InPlace, n, 8),
            Pass::Rows(192, n) => rows!(FftRows192, FftRows192InPlace, n, 8),
            Pass::Rows(240, n) => rows!(FftRows240, FftRows240InPlace, n, 8),
            Pass::Rows(256, n) => rows!(FftRows256, FftRows256InPlace, n, 8),
            Pass::Rows(320, n) => rows!(FftRows320, FftRows320InPlace, n, 8),
            Pass::Rows(384, n) => rows!(FftRows384, FftRows384InPlace, n, 8),
            Pass::Rows(480, n) => rows!(FftRows480, FftRows480InPlace, n, 8),
            Pass::Rows(512, n) => rows!(FftRows512, FftRows512InPlace, n, 8),
            Pass::Columns(64, n, inner) => columns!(FftColumns64, n, inner, 16),
            Pass::Columns(96, n, inner) => columns!(FftColumns96, n, inner, 16),
            Pass::Columns(128, n, inner) => columns!(FftColumns128, n, inner, 16),
            Pass::Columns(160, n, inner) => columns!(FftColumns160, n, inner, 16),
            Pass::Columns(192, n, inner) => columns!(FftColumns192, n, inner, 16),
            Pass::Columns(240, n, inner) => columns!(FftColumns240, n, inner, 16),
            Pass::Columns(256, n, inner) => columns!(FftColumns256, n, inner, 16),
            Pass::Columns(320, n, inner) => columns!(FftColumns320, n, inner, 16),
            Pass::Columns(384, n, inner) => columns!(FftColumns384, n, inner, 16),
            Pass::Columns(480, n, inner) => columns!(FftColumns480, n, inner, 16),
            Pass::Columns(512, n, inner) => columns!(FftColumns512, n, inner, 16),
            _ => Err(unserved(pass)),
        }
    }
}
