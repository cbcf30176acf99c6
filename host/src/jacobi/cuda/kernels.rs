//! The kernels by precision and number of sweeps.

use bytemuck::Pod;
use warpstride_device::launch::{Read, Space, Work, Write};
use warpstride_device::{F32x4, F64x2};
use warpstride_kernels::jacobi::fixed_columns::{JacobiFixedColumnsF32, JacobiFixedColumnsF64};

use crate::gpu::{Fleet, Lane, Result};
use crate::jacobi::Real;

/// What every launch of a pass on a device has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Rows of the block.
    pub rows: u32,
    /// Rows of the neighbours in the buffer, above and below.
    pub halo: u32,
    /// Vectors of a row.
    pub pitch: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Whether the block is its own neighbour.
    pub wraps: bool,
    /// Whether columns wrap around.
    pub periodic_columns: bool,
    /// Rows before that one keep their values.
    pub held_below: i32,
    /// Rows from that one on keep their values.
    pub held_from: i32,
}

/// Which rows a launch computes, and which norms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// First row of the block.
    pub first_row: u32,
    /// Row after the last.
    pub end_row: u32,
    /// Strips of rows.
    pub strips: u32,
    /// Sweeps of the pass whose norm is wanted, the first in bit 0.
    pub wanted: u32,
    /// Sums of a sweep.
    pub sums_stride: u32,
    /// The launch's first sum of a sweep.
    pub sums_offset: u32,
}

/// The memory of a launch.
pub struct Memory<'a, S: Space, Q> {
    /// Field before the pass.
    pub input: Read<'a, S, Q>,
    /// Field after it.
    pub out: Write<'a, S, Q>,
    /// The source, if there is one.
    pub source: Option<Read<'a, S, Q>>,
    /// Sums of squared changes.
    pub sums: Write<'a, S, f64>,
}

/// Warps of a block, for the number of blocks.
const WARPS_OF_A_BLOCK: u32 = 4;
/// Threads of a warp.
const WARP: usize = 32;

/// Numbers that there are kernels for.
pub trait GpuReal: Real {
    /// Neighbouring cells of one thread.
    type Quad: Pod + Send + Sync + Default;
    /// How many.
    const LANES: usize;

    /// A vector of at most [`GpuReal::LANES`] values; 0 beyond them.
    fn quad(values: &[Self]) -> Self::Quad;

    /// Its values.
    fn values(quad: &Self::Quad) -> &[Self];

    /// Columns that a warp computes in a pass of `sweeps`. As in the kernels.
    #[must_use]
    fn own_columns(sweeps: usize) -> usize {
        let margin = if sweeps == 1 {
            0
        } else {
            sweeps.next_multiple_of(Self::LANES)
        };
        WARP * Self::LANES - 2 * margin
    }

    /// Queues a pass of `sweeps` (1 to 8) over a part of a block.
    ///
    /// # Errors
    /// The machine's.
    fn pass<F: Fleet>(
        fleet: &F,
        device: usize,
        lane: Lane,
        sweeps: usize,
        geometry: Geometry,
        part: Part,
        memory: Memory<'_, F::Space, Self::Quad>,
    ) -> Result<()>;

    /// Warps of that pass that a device holds at once.
    ///
    /// # Errors
    /// The machine's.
    fn resident_warps<F: Fleet>(
        fleet: &F,
        device: usize,
        sweeps: usize,
        geometry: Geometry,
        memory: Memory<'_, F::Space, Self::Quad>,
    ) -> Result<usize>;

    /// Queues the writing of the first and the last column of `rows` rows.
    ///
    /// # Errors
    /// The machine's.
    #[expect(clippy::too_many_arguments, reason = "a launch and its place")]
    fn fixed_columns<F: Fleet>(
        fleet: &F,
        device: usize,
        lane: Lane,
        field: Write<'_, F::Space, Self::Quad>,
        values: Read<'_, F::Space, Self>,
        rows: u32,
        pitch: u32,
        nx: u32,
    ) -> Result<()>;
}

/// Whether a relaxation of that precision, with or without a source, launches that kernel.
#[must_use]
pub fn launches<T: Real>(source: bool, kernel: &str) -> bool {
    let passes = if source {
        "jacobi_poisson"
    } else {
        "jacobi_laplace"
    };
    let of_a_kind = kernel.starts_with(passes) || kernel.starts_with("jacobi_fixed_columns");
    kernel == "jacobi_norms" || of_a_kind && kernel.contains(T::NAME)
}

/// Blocks for that part: a warp for every strip and window.
fn blocks(nx: u32, own_columns: usize, strips: u32) -> u32 {
    let items = u64::from(nx).div_ceil(own_columns as u64) * u64::from(strips);
    u32::try_from(items.div_ceil(u64::from(WARPS_OF_A_BLOCK))).unwrap_or(i32::MAX as u32)
}

/// One method call with the launch of so many sweeps, with or without a source.
macro_rules! by_sweeps {
    (f32 $($call:tt)*) => {
        by_sweeps!(@of $($call)*
            1 => JacobiLaplaceF32T1 JacobiPoissonF32T1,
            2 => JacobiLaplaceF32T2 JacobiPoissonF32T2,
            3 => JacobiLaplaceF32T3 JacobiPoissonF32T3,
            4 => JacobiLaplaceF32T4 JacobiPoissonF32T4,
            5 => JacobiLaplaceF32T5 JacobiPoissonF32T5,
            6 => JacobiLaplaceF32T6 JacobiPoissonF32T6,
            7 => JacobiLaplaceF32T7 JacobiPoissonF32T7,
            _ => JacobiLaplaceF32T8 JacobiPoissonF32T8,
        )
    };
    (f64 $($call:tt)*) => {
        by_sweeps!(@of $($call)*
            1 => JacobiLaplaceF64T1 JacobiPoissonF64T1,
            2 => JacobiLaplaceF64T2 JacobiPoissonF64T2,
            3 => JacobiLaplaceF64T3 JacobiPoissonF64T3,
            4 => JacobiLaplaceF64T4 JacobiPoissonF64T4,
            5 => JacobiLaplaceF64T5 JacobiPoissonF64T5,
            6 => JacobiLaplaceF64T6 JacobiPoissonF64T6,
            7 => JacobiLaplaceF64T7 JacobiPoissonF64T7,
            _ => JacobiLaplaceF64T8 JacobiPoissonF64T8,
        )
    };
    (@of $fleet:ident.$method:ident $before:tt $after:tt,
     $sweeps:ident, $geometry:ident, $part:ident, $memory:ident,
     $($n:pat => $laplace:ident $poisson:ident,)*) => {
        match ($sweeps, $memory.source) {
            $(
                ($n, None) => by_sweeps!(@call $fleet.$method $before $after
                    by_sweeps!(@launch $laplace, $geometry, $part, $memory, [])),
                ($n, Some(source)) => by_sweeps!(@call $fleet.$method $before $after
                    by_sweeps!(@launch $poisson, $geometry, $part, $memory, [source])),
            )*
        }
    };
    (@call $fleet:ident.$method:ident ($($before:expr),*) ($($after:expr)?) $launch:expr) => {
        $fleet.$method($($before,)* $launch $(, $after)?)
    };
    (@launch $kernel:ident, $geometry:ident, $part:ident, $memory:ident, [$($more:ident),*]) => {
        &warpstride_kernels::jacobi::pass::$kernel {
            out: $memory.out,
            input: $memory.input,
            $($more,)*
            sums: $memory.sums,
            rows: $geometry.rows,
            halo: $geometry.halo,
            pitch: $geometry.pitch,
            nx: $geometry.nx,
            first_row: $part.first_row,
            end_row: $part.end_row,
            strips: $part.strips,
            wraps: $geometry.wraps.into(),
            periodic_columns: $geometry.periodic_columns.into(),
            held_below: $geometry.held_below,
            held_from: $geometry.held_from,
            wanted: $part.wanted,
            sums_stride: $part.sums_stride,
            sums_offset: $part.sums_offset,
        }
    };
}

pub(crate) use by_sweeps;

macro_rules! gpu_real {
    ($real:ident, $quad:ty, $lanes:literal, $columns:ident) => {
        impl GpuReal for $real {
            type Quad = $quad;
            const LANES: usize = $lanes;

            fn quad(values: &[Self]) -> $quad {
                let mut quad = <$quad>::default();
                for (cell, value) in quad.0.iter_mut().zip(values) {
                    *cell = *value;
                }
                quad
            }

            fn values(quad: &$quad) -> &[Self] {
                &quad.0
            }

            fn pass<F: Fleet>(
                fleet: &F,
                device: usize,
                lane: Lane,
                sweeps: usize,
                geometry: Geometry,
                part: Part,
                memory: Memory<'_, F::Space, $quad>,
            ) -> Result<()> {
                let blocks = blocks(geometry.nx, Self::own_columns(sweeps), part.strips);
                let work = Work::Grid([blocks, 1, 1]);
                by_sweeps!($real fleet.launch (device, lane) (work),
                    sweeps, geometry, part, memory,)
            }

            fn resident_warps<F: Fleet>(
                fleet: &F,
                device: usize,
                sweeps: usize,
                geometry: Geometry,
                memory: Memory<'_, F::Space, $quad>,
            ) -> Result<usize> {
                let part = Part::default();
                let blocks = by_sweeps!($real fleet.resident_blocks (device) (),
                    sweeps, geometry, part, memory,)?;
                Ok(blocks * WARPS_OF_A_BLOCK as usize)
            }

            fn fixed_columns<F: Fleet>(
                fleet: &F,
                device: usize,
                lane: Lane,
                field: Write<'_, F::Space, $quad>,
                values: Read<'_, F::Space, Self>,
                rows: u32,
                pitch: u32,
                nx: u32,
            ) -> Result<()> {
                let launch = $columns { field, values, rows, pitch, nx };
                fleet.launch(device, lane, &launch, Work::Elements(rows as usize))
            }
        }
    };
}

gpu_real!(f32, F32x4, 4, JacobiFixedColumnsF32);

gpu_real!(f64, F64x2, 2, JacobiFixedColumnsF64);
