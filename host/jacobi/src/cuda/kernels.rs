//! The kernels, selected by precision and number of sweeps.

use bytemuck::Pod;
use warpstride_device::launch::{Read, Space, Work, Write};
use warpstride_device::{F32x4, F64x2};
use warpstride_kernels::jacobi::fixed_columns::{JacobiFixedColumnsF32, JacobiFixedColumnsF64};

use crate::Real;
use warpstride_cuda::gpu::{DeviceGroup, Result, StreamId};

/// The parameters that all launches of a device have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Rows of the block.
    pub rows: u32,
    /// Rows of the neighbours in the buffer, on each side.
    pub halo: u32,
    /// Vectors per row.
    pub pitch: u32,
    /// Columns of the grid.
    pub nx: u32,
    /// Whether the block is its own neighbour.
    pub wraps: bool,
    /// Whether columns wrap around.
    pub periodic_columns: bool,
    /// Rows before this one keep their values.
    pub fixed_below: i32,
    /// Rows from this one on keep their values.
    pub fixed_from: i32,
}

/// The rows that a launch computes, and the norms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// First row, relative to the block.
    pub first_row: u32,
    /// One past the last row.
    pub end_row: u32,
    /// Strips of rows.
    pub strips: u32,
    /// Bit mask of the sweeps of the pass whose norm is computed, the first in bit 0.
    pub norm_mask: u32,
    /// Number of sums per sweep.
    pub sums_stride: u32,
    /// Index of the launch's first sum within a sweep.
    pub sums_offset: u32,
}

/// The buffers of a launch.
pub struct Memory<'a, S: Space, Q> {
    /// The field before the pass.
    pub input: Read<'a, S, Q>,
    /// The field after the pass.
    pub out: Write<'a, S, Q>,
    /// The source, if there is one.
    pub source: Option<Read<'a, S, Q>>,
    /// Sums of squared changes.
    pub sums: Write<'a, S, f64>,
}

/// Warps per thread block, to compute the number of blocks.
const WARPS_PER_BLOCK: u32 = 4;
/// Threads per warp.
const WARP: usize = 32;

/// An element type for which there are kernels.
pub trait GpuReal: Real {
    /// A vector of neighbouring cells, handled by one thread.
    type Quad: Pod + Send + Sync + Default;
    /// The number of cells in a vector.
    const VECTOR_LEN: usize;

    /// A vector of at most [`GpuReal::VECTOR_LEN`] values, padded with zeros.
    fn quad(values: &[Self]) -> Self::Quad;

    /// The values of a vector.
    fn values(quad: &Self::Quad) -> &[Self];

    /// The number of columns that a warp computes in a pass of `sweeps`. It must agree with the
    /// kernels.
    #[must_use]
    fn own_columns(sweeps: usize) -> usize {
        let margin = if sweeps == 1 {
            0
        } else {
            sweeps.next_multiple_of(Self::VECTOR_LEN)
        };
        WARP * Self::VECTOR_LEN - 2 * margin
    }

    /// Queues a pass of `sweeps` (1 to 8) over a part of a block.
    ///
    /// # Errors
    /// An error of the device.
    fn pass<G: DeviceGroup>(
        group: &G,
        device: usize,
        stream: StreamId,
        sweeps: usize,
        geometry: Geometry,
        part: Part,
        memory: Memory<'_, G::Space, Self::Quad>,
    ) -> Result<()>;

    /// The number of warps of such a pass that are resident on a device at once.
    ///
    /// # Errors
    /// An error of the device.
    fn resident_warps<G: DeviceGroup>(
        group: &G,
        device: usize,
        sweeps: usize,
        geometry: Geometry,
        memory: Memory<'_, G::Space, Self::Quad>,
    ) -> Result<usize>;

    /// Queues a launch that writes the first and the last column of `rows` rows.
    ///
    /// # Errors
    /// An error of the device.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of a launch, its device and stream"
    )]
    fn fixed_columns<G: DeviceGroup>(
        group: &G,
        device: usize,
        stream: StreamId,
        field: Write<'_, G::Space, Self::Quad>,
        values: Read<'_, G::Space, Self>,
        rows: u32,
        pitch: u32,
        nx: u32,
    ) -> Result<()>;
}

/// The kernels of relaxations in the precision `T`, with or without a source, for
/// [`CudaDeviceGroup::new`](warpstride_cuda::gpu::CudaDeviceGroup::new).
#[must_use]
pub fn kernels<T: Real>(source: bool) -> warpstride_cuda::cuda::Kernels {
    warpstride_core::kernels::unpacked(warpstride_ptx::JACOBI)
        .only(|kernel| uses_kernel::<T>(source, kernel))
}

/// Whether relaxations in the precision `T`, with or without a source, launch `kernel`.
#[must_use]
pub fn uses_kernel<T: Real>(source: bool, kernel: &str) -> bool {
    let passes = if source {
        "jacobi_poisson"
    } else {
        "jacobi_laplace"
    };
    let is_typed = kernel.starts_with(passes) || kernel.starts_with("jacobi_fixed_columns");
    kernel == "jacobi_norms" || is_typed && kernel.contains(T::NAME)
}

/// The number of thread blocks of a launch, with one warp per strip and window.
fn blocks(nx: u32, own_columns: usize, strips: u32) -> u32 {
    let items = u64::from(nx).div_ceil(own_columns as u64) * u64::from(strips);
    u32::try_from(items.div_ceil(u64::from(WARPS_PER_BLOCK))).unwrap_or(i32::MAX as u32)
}

/// Calls a method with the launch for a number of sweeps, with or without a source.
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
    (@of $group:ident.$method:ident $before:tt $after:tt,
     $sweeps:ident, $geometry:ident, $part:ident, $memory:ident,
     $($n:pat => $laplace:ident $poisson:ident,)*) => {
        match ($sweeps, $memory.source) {
            $(
                ($n, None) => by_sweeps!(@call $group.$method $before $after
                    by_sweeps!(@launch $laplace, $geometry, $part, $memory, [])),
                ($n, Some(source)) => by_sweeps!(@call $group.$method $before $after
                    by_sweeps!(@launch $poisson, $geometry, $part, $memory, [source])),
            )*
        }
    };
    (@call $group:ident.$method:ident ($($before:expr),*) ($($after:expr)?) $launch:expr) => {
        $group.$method($($before,)* $launch $(, $after)?)
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
            held_below: $geometry.fixed_below,
            held_from: $geometry.fixed_from,
            wanted: $part.norm_mask,
            sums_stride: $part.sums_stride,
            sums_offset: $part.sums_offset,
        }
    };
}

pub(crate) use by_sweeps;

macro_rules! gpu_real {
    ($real:ident, $quad:ty, $vector_len:literal, $columns:ident) => {
        impl GpuReal for $real {
            type Quad = $quad;
            const VECTOR_LEN: usize = $vector_len;

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

            fn pass<G: DeviceGroup>(
                group: &G,
                device: usize,
                stream: StreamId,
                sweeps: usize,
                geometry: Geometry,
                part: Part,
                memory: Memory<'_, G::Space, $quad>,
            ) -> Result<()> {
                let blocks = blocks(geometry.nx, Self::own_columns(sweeps), part.strips);
                let work = Work::Grid([blocks, 1, 1]);
                by_sweeps!($real group.launch (device, stream) (work),
                    sweeps, geometry, part, memory,)
            }

            fn resident_warps<G: DeviceGroup>(
                group: &G,
                device: usize,
                sweeps: usize,
                geometry: Geometry,
                memory: Memory<'_, G::Space, $quad>,
            ) -> Result<usize> {
                let part = Part::default();
                let blocks = by_sweeps!($real group.resident_blocks (device) (),
                    sweeps, geometry, part, memory,)?;
                Ok(blocks * WARPS_PER_BLOCK as usize)
            }

            fn fixed_columns<G: DeviceGroup>(
                group: &G,
                device: usize,
                stream: StreamId,
                field: Write<'_, G::Space, $quad>,
                values: Read<'_, G::Space, Self>,
                rows: u32,
                pitch: u32,
                nx: u32,
            ) -> Result<()> {
                let launch = $columns { field, values, rows, pitch, nx };
                group.launch(device, stream, &launch, Work::Elements(rows as usize))
            }
        }
    };
}

gpu_real!(f32, F32x4, 4, JacobiFixedColumnsF32);

gpu_real!(f64, F64x2, 2, JacobiFixedColumnsF64);
