//! The block of one device: fields, halos, sums, and the events for its neighbours.

use std::ops::Range;

use super::kernels::{Geometry, GpuReal, Memory, Part};
use crate::Problem;
use warpstride_cuda::gpu::{Buffer, DeviceGroup, Result};

/// Rows per strip for each sweep of a pass, so that only a small share of the rows is computed by
/// two strips.
const ROWS_PER_SWEEP: usize = 24;
/// Minimum number of rows per strip if the device is full.
const MIN_ROWS_FULL: usize = 64;
/// Minimum number of rows per strip, even if the device is not full: with fewer rows, reading rows
/// twice costs more than idle warps.
const MIN_ROWS: usize = 10;
/// Maximum number of waves of strips, one wave being what the device holds at once.
const MAX_WAVES: usize = 8;

/// The launches of a pass with a given number of sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The rows that the device above waits for; empty if there is none.
    pub(super) top: Part,
    /// The rows that the device below waits for.
    pub(super) bottom: Part,
    /// The other rows.
    pub(super) bulk: Part,
    /// Number of sums per sweep.
    pub(super) sums: u32,
}

impl Layout {
    /// The layout for `rows` rows in `windows` windows on a device that holds `resident` warps,
    /// with separate launches for the `outer` rows on each side.
    fn new(rows: usize, windows: usize, resident: usize, sweeps: usize, outer: usize) -> Self {
        let bulk = outer.min(rows)..rows.saturating_sub(outer).max(outer.min(rows));
        let mut next = 0;
        let mut part = |range: Range<usize>, strips: usize| {
            let strips = if range.is_empty() {
                0
            } else {
                strips.clamp(1, range.len())
            };
            let part = Part {
                first_row: range.start as u32,
                end_row: range.end as u32,
                strips: strips as u32,
                norm_mask: 0,
                sums_stride: 0,
                sums_offset: next,
            };
            next += (strips * windows) as u32;
            part
        };
        let wave = (resident / windows).max(1);
        let rows_per_strip = (ROWS_PER_SWEEP * sweeps).max(MIN_ROWS_FULL);
        let waves = (bulk.len() / rows_per_strip / wave).clamp(1, MAX_WAVES);
        let strips = (waves * wave).min(bulk.len() / MIN_ROWS).max(1);
        Self {
            top: part(0..bulk.start, 1),
            bottom: part(bulk.end..rows, 1),
            bulk: part(bulk, strips),
            sums: next,
        }
    }
}

/// A block of rows on its device.
pub(super) struct Block<G: DeviceGroup, T: GpuReal> {
    /// Index of the device in the group.
    pub(super) device: usize,
    /// Rows of the grid.
    pub(super) rows: Range<usize>,
    pub(super) geometry: Geometry,
    /// Two or three buffers, one of which holds the current field.
    pub(super) fields: Vec<G::Buffer<T::Quad>>,
    pub(super) source: Option<G::Buffer<T::Quad>>,
    /// Sums of squared changes, (sweep of the batch, strip and window).
    pub(super) sums: G::Buffer<f64>,
    pub(super) sums_stride: u32,
    /// Sums of whole sweeps, one per check of the batch.
    pub(super) totals: G::Buffer<f64>,
    /// Layouts for passes of 1, 2, … sweeps.
    pub(super) layouts: Vec<Layout>,
    /// Events after the launches of the last two passes.
    pub(super) bulk_done: [G::Event; 2],
    pub(super) top_done: [G::Event; 2],
    pub(super) bottom_done: [G::Event; 2],
}

/// The parameters of a block.
pub(super) struct Shape {
    pub(super) rows: Range<usize>,
    pub(super) depth: usize,
    pub(super) fields: usize,
    /// Whether there is a source.
    pub(super) source: bool,
    /// Number of devices of the run.
    pub(super) devices: usize,
    /// Maximum number of sweeps per batch.
    pub(super) batch: usize,
    /// Maximum number of checks per batch.
    pub(super) checks: usize,
    /// Whether the outer rows have separate launches.
    pub(super) split: bool,
}

impl Shape {
    /// The number of rows of the neighbours on each side.
    fn halo(&self, periodic: bool) -> usize {
        if self.devices == 1 && periodic {
            0
        } else {
            self.depth
        }
    }

    /// The size of a field of the block in bytes.
    pub(super) fn field_bytes<T: GpuReal>(&self, nx: usize, periodic: bool) -> usize {
        (self.rows.len() + 2 * self.halo(periodic))
            * nx.div_ceil(T::VECTOR_LEN)
            * size_of::<T::Quad>()
    }
}

impl<G: DeviceGroup, T: GpuReal> Block<G, T> {
    /// Allocates the memory of a block without writing values.
    pub(super) fn new(
        group: &G,
        device: usize,
        problem: &Problem<T>,
        shape: &Shape,
    ) -> Result<Self> {
        let boundary = problem.boundary();
        let (rows, pitch) = (shape.rows.len(), problem.nx().div_ceil(T::VECTOR_LEN));
        let halo = shape.halo(boundary.periodic_rows());
        let far = (rows + halo + 1) as i32;
        let (is_first, is_last) = (shape.rows.start == 1, shape.rows.end == problem.ny() - 1);
        let fixed = !boundary.periodic_rows();
        let geometry = Geometry {
            rows: rows as u32,
            halo: halo as u32,
            pitch: pitch as u32,
            nx: problem.nx() as u32,
            wraps: halo == 0,
            periodic_columns: boundary.periodic_columns(),
            fixed_below: if fixed && is_first { 0 } else { -far },
            fixed_from: if fixed && is_last {
                rows as i32
            } else {
                2 * far
            },
        };
        let len = (rows + 2 * halo) * pitch;
        let mut fields = Vec::new();
        for _ in 0..shape.fields {
            fields.push(group.alloc(device, "the field", len)?);
        }
        let source = match shape.source {
            true => Some(group.alloc(device, "the source", len)?),
            false => None,
        };
        let mut block = Self {
            device,
            rows: shape.rows.clone(),
            geometry,
            fields,
            source,
            sums: group.alloc(device, "the norms", 0)?,
            sums_stride: 0,
            totals: group.alloc(device, "the norms", shape.checks)?,
            layouts: Vec::new(),
            bulk_done: [group.event(device)?, group.event(device)?],
            top_done: [group.event(device)?, group.event(device)?],
            bottom_done: [group.event(device)?, group.event(device)?],
        };
        let outer = if shape.split { shape.depth } else { 0 };
        for sweeps in 1..=shape.depth {
            let memory = block.memory(0, 1, 0..0)?;
            let resident = T::resident_warps(group, device, sweeps, geometry, memory)?;
            let windows = problem.nx().div_ceil(T::own_columns(sweeps));
            block
                .layouts
                .push(Layout::new(rows, windows, resident, sweeps, outer));
        }
        let strides = block.layouts.iter().map(|layout| layout.sums);
        block.sums_stride = strides.max().unwrap_or(0);
        let sums = shape.batch * block.sums_stride as usize;
        block.sums = group.alloc(device, "the norms", sums)?;
        Ok(block)
    }

    /// The buffers of a launch: field `from` as input, field `to` as output, and a range of the
    /// sums.
    pub(super) fn memory(
        &mut self,
        from: usize,
        to: usize,
        sums: Range<usize>,
    ) -> Result<Memory<'_, G::Space, T::Quad>> {
        use warpstride_cuda::gpu::RangedBuffer as _;
        let (input, out) = two(&mut self.fields, from, to);
        Ok(Memory {
            input: input.read(),
            out: out.write(),
            source: self.source.as_ref().map(Buffer::read),
            sums: self.sums.write_range(sums)?,
        })
    }

    /// The row of the grid that row `row` of the buffer stands for; `None` beyond a fixed border.
    pub(super) fn grid_row(&self, row: usize, problem: &Problem<T>) -> Option<usize> {
        let inner = problem.ny() as i64 - 2;
        let row = (self.rows.start + row) as i64 - i64::from(self.geometry.halo);
        let row = if problem.boundary().periodic_rows() {
            1 + (row - 1).rem_euclid(inner)
        } else {
            row
        };
        usize::try_from(row).ok().filter(|row| *row < problem.ny())
    }

    /// The number of rows of the buffer.
    pub(super) fn buffer_rows(&self) -> usize {
        (self.geometry.rows + 2 * self.geometry.halo) as usize
    }
}

/// References to two different elements, the second one mutable.
pub(super) fn two<B>(fields: &mut [B], from: usize, to: usize) -> (&B, &mut B) {
    let (low, high) = fields.split_at_mut(from.max(to));
    if from < to {
        (&low[from], &mut high[0])
    } else {
        (&high[0], &mut low[to])
    }
}

/// Waits for all work after an error, because no work may be pending when memory is freed.
pub(super) fn drain_on_error<G: DeviceGroup, R>(group: &G, done: Result<R>) -> Result<R> {
    if done.is_err() {
        // The first error is the cause.
        drop(group.drain());
    }
    done
}
