//! The rows of one device: fields, halos, sums, and what tells the neighbours.

use std::ops::Range;

use super::kernels::{Geometry, GpuReal, Memory, Part};
use crate::gpu::{Buffer, Fleet, Result};
use crate::jacobi::Problem;

/// Rows of a strip for each sweep of a pass: the rows that two strips both compute are so few.
const ROWS_A_SWEEP: usize = 24;
/// Fewest rows of a strip where the device is full.
const FEWEST_ROWS: usize = 64;
/// Fewest rows of a strip, full or not: with fewer the rows read twice cost more than idle warps.
const LOWEST_STRIP: usize = 10;
/// Most strips queued for each that the device holds at once.
const MOST_WAVES: usize = 8;

/// How a pass of so many sweeps is cut into launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The rows that the device above waits for; nothing where there is none.
    pub(super) top: Part,
    /// The rows that the device below waits for.
    pub(super) bottom: Part,
    /// The others.
    pub(super) bulk: Part,
    /// Sums of a sweep.
    pub(super) sums: u32,
}

impl Layout {
    /// For `rows` rows in `windows` windows on a device that holds `resident` warps; the `outer`
    /// rows on both sides by themselves.
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
                wanted: 0,
                sums_stride: 0,
                sums_offset: next,
            };
            next += (strips * windows) as u32;
            part
        };
        let wave = (resident / windows).max(1);
        let rows_of_a_strip = (ROWS_A_SWEEP * sweeps).max(FEWEST_ROWS);
        let waves = (bulk.len() / rows_of_a_strip / wave).clamp(1, MOST_WAVES);
        let strips = (waves * wave).min(bulk.len() / LOWEST_STRIP).max(1);
        Self {
            top: part(0..bulk.start, 1),
            bottom: part(bulk.end..rows, 1),
            bulk: part(bulk, strips),
            sums: next,
        }
    }
}

/// A block of rows on its device.
pub(super) struct Block<F: Fleet, T: GpuReal> {
    /// Place of the device in the fleet.
    pub(super) device: usize,
    /// Rows of the grid.
    pub(super) rows: Range<usize>,
    pub(super) geometry: Geometry,
    /// Two or three; the field is in one of them.
    pub(super) fields: Vec<F::Buffer<T::Quad>>,
    pub(super) source: Option<F::Buffer<T::Quad>>,
    /// Sums of squared changes, (sweep of the batch, strip and window).
    pub(super) sums: F::Buffer<f64>,
    pub(super) sums_stride: u32,
    /// Sums of whole sweeps, one a check of the batch.
    pub(super) totals: F::Buffer<f64>,
    /// By sweeps of a pass, from 1.
    pub(super) layouts: Vec<Layout>,
    /// Behind the launches of the last two passes.
    pub(super) bulk_done: [F::Mark; 2],
    pub(super) top_done: [F::Mark; 2],
    pub(super) bottom_done: [F::Mark; 2],
}

/// What a block is made from.
pub(super) struct Shape {
    pub(super) rows: Range<usize>,
    pub(super) depth: usize,
    pub(super) fields: usize,
    /// Devices of the run.
    pub(super) devices: usize,
    /// Most sweeps of a batch.
    pub(super) batch: usize,
    /// Most checks of a batch.
    pub(super) checks: usize,
    /// Whether the outer rows are computed by themselves.
    pub(super) split: bool,
}

impl Shape {
    /// Rows of the neighbours, above and below.
    fn halo(&self, periodic: bool) -> usize {
        if self.devices == 1 && periodic {
            0
        } else {
            self.depth
        }
    }

    /// Bytes of a field of the block.
    pub(super) fn field_bytes<T: GpuReal>(&self, nx: usize, periodic: bool) -> usize {
        (self.rows.len() + 2 * self.halo(periodic)) * nx.div_ceil(T::LANES) * size_of::<T::Quad>()
    }
}

impl<F: Fleet, T: GpuReal> Block<F, T> {
    /// Memory for the block, without values.
    pub(super) fn new(
        fleet: &F,
        device: usize,
        problem: &Problem<T>,
        shape: &Shape,
    ) -> Result<Self> {
        let boundary = problem.boundary();
        let (rows, pitch) = (shape.rows.len(), problem.nx().div_ceil(T::LANES));
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
            held_below: if fixed && is_first { 0 } else { -far },
            held_from: if fixed && is_last {
                rows as i32
            } else {
                2 * far
            },
        };
        let len = (rows + 2 * halo) * pitch;
        let mut fields = Vec::new();
        for _ in 0..shape.fields {
            fields.push(fleet.alloc(device, "the field", len)?);
        }
        let source = match problem.source() {
            Some(_) => Some(fleet.alloc(device, "the source", len)?),
            None => None,
        };
        let mut block = Self {
            device,
            rows: shape.rows.clone(),
            geometry,
            fields,
            source,
            sums: fleet.alloc(device, "the norms", 0)?,
            sums_stride: 0,
            totals: fleet.alloc(device, "the norms", shape.checks)?,
            layouts: Vec::new(),
            bulk_done: [fleet.mark(device)?, fleet.mark(device)?],
            top_done: [fleet.mark(device)?, fleet.mark(device)?],
            bottom_done: [fleet.mark(device)?, fleet.mark(device)?],
        };
        let outer = if shape.split { shape.depth } else { 0 };
        for sweeps in 1..=shape.depth {
            let memory = block.memory(0, 1, 0..0)?;
            let resident = T::resident_warps(fleet, device, sweeps, geometry, memory)?;
            let windows = problem.nx().div_ceil(T::own_columns(sweeps));
            block
                .layouts
                .push(Layout::new(rows, windows, resident, sweeps, outer));
        }
        let strides = block.layouts.iter().map(|layout| layout.sums);
        block.sums_stride = strides.max().unwrap_or(0);
        let sums = shape.batch * block.sums_stride as usize;
        block.sums = fleet.alloc(device, "the norms", sums)?;
        Ok(block)
    }

    /// Field `from` as input, field `to` as output, and so many of the sums.
    pub(super) fn memory(
        &mut self,
        from: usize,
        to: usize,
        sums: Range<usize>,
    ) -> Result<Memory<'_, F::Space, T::Quad>> {
        use crate::gpu::RangedBuffer as _;
        let (input, out) = two(&mut self.fields, from, to);
        Ok(Memory {
            input: input.read(),
            out: out.write(),
            source: self.source.as_ref().map(Buffer::read),
            sums: self.sums.write_range(sums)?,
        })
    }

    /// The row of the grid that a row of the buffer stands for; `None` beyond a fixed border.
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

    /// Rows of the buffer.
    pub(super) fn buffer_rows(&self) -> usize {
        (self.geometry.rows + 2 * self.geometry.halo) as usize
    }
}

/// Two different elements.
pub(super) fn two<B>(fields: &mut [B], from: usize, to: usize) -> (&B, &mut B) {
    let (low, high) = fields.split_at_mut(from.max(to));
    if from < to {
        (&low[from], &mut high[0])
    } else {
        (&high[0], &mut low[to])
    }
}
