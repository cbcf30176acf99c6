//! Values of a block: written from the start field and the source, and read back into the whole
//! field.

use ndarray::{Array2, ArrayViewMut2};

use super::block::{Block, drain_on_error, two};
use super::kernels::GpuReal;
use crate::{JacobiError, Problem};
use warpstride_cuda::gpu::{self, DeviceGroup, StreamId};

/// Number of vectors converted and copied at a time.
const CHUNK: usize = 1 << 20;

impl<G: DeviceGroup, T: GpuReal> Block<G, T> {
    /// Writes the start values to all fields, and the source to its buffer, and waits for the
    /// copies.
    pub(super) fn fill(&mut self, group: &G, problem: &Problem<T>) -> gpu::Result<()> {
        if problem.start().is_some() {
            let mut row_of = vec![T::zero(); problem.nx()];
            self.fill_rows(group, problem, Target::Field, |row, quads| {
                problem.start_row(row, &mut row_of);
                to_quads(&row_of, quads);
            })?;
        } else if !problem.boundary().periodic_columns() {
            let values: Vec<T> = (0..self.buffer_rows())
                .map(|row| {
                    let row = self.grid_row(row, problem);
                    row.map_or_else(T::zero, |row| problem.textbook_column(row))
                })
                .collect();
            let mut columns = group.alloc(self.device, "the fixed columns", values.len())?;
            group.upload(&mut columns, 0, &values)?;
            use warpstride_cuda::gpu::Buffer as _;
            let queued = T::fixed_columns(
                group,
                self.device,
                StreamId::Bulk,
                self.fields[0].write(),
                columns.read(),
                values.len() as u32,
                self.geometry.pitch,
                self.geometry.nx,
            );
            let done = queued.and_then(|()| group.synchronize(self.device, StreamId::Bulk));
            drain_on_error(group, done)?;
        }
        if let Some(source) = problem.source() {
            self.fill_rows(group, problem, Target::Source, |row, quads| {
                let values = source.row(row);
                match values.as_slice() {
                    Some(values) => to_quads(values, quads),
                    None => to_quads(&values.to_vec(), quads),
                }
            })?;
        }
        for other in 1..self.fields.len() {
            let (from, to) = two(&mut self.fields, 0, other);
            group.copy(self.device, StreamId::Bulk, from, to)?;
        }
        group.synchronize(self.device, StreamId::Bulk)
    }

    /// Fills a buffer, several rows at a time.
    fn fill_rows(
        &mut self,
        group: &G,
        problem: &Problem<T>,
        target: Target,
        mut row_of: impl FnMut(usize, &mut [T::Quad]),
    ) -> gpu::Result<()> {
        let pitch = self.geometry.pitch as usize;
        let rows = self.buffer_rows();
        let rows_per_chunk = (CHUNK / pitch).clamp(1, rows);
        let mut chunk = vec![T::Quad::default(); rows_per_chunk * pitch];
        for first in (0..rows).step_by(rows_per_chunk) {
            let count = rows_per_chunk.min(rows - first);
            for (row, quads) in (first..).zip(chunk.chunks_mut(pitch)).take(count) {
                match self.grid_row(row, problem) {
                    Some(row) => row_of(row, quads),
                    None => quads.fill(T::Quad::default()),
                }
            }
            let buffer = match (target, &mut self.source) {
                (Target::Source, Some(source)) => source,
                _ => &mut self.fields[0],
            };
            group.upload(buffer, first * pitch, &chunk[..count * pitch])?;
        }
        Ok(())
    }

    /// Copies the block's own rows of field `from` to their position in the whole field.
    pub(super) fn read(
        &self,
        group: &G,
        from: usize,
        field: &mut ArrayViewMut2<'_, T>,
    ) -> gpu::Result<()> {
        let pitch = self.geometry.pitch as usize;
        let halo = self.geometry.halo as usize;
        let rows_per_chunk = (CHUNK / pitch).clamp(1, self.rows.len());
        let mut chunk = vec![T::Quad::default(); rows_per_chunk * pitch];
        for first in (0..self.rows.len()).step_by(rows_per_chunk) {
            let count = rows_per_chunk.min(self.rows.len() - first);
            let chunk = &mut chunk[..count * pitch];
            group.download(&self.fields[from], (halo + first) * pitch, chunk)?;
            for (row, quads) in (self.rows.start + first..).zip(chunk.chunks(pitch)) {
                let values = quads.iter().flat_map(T::values);
                for (cell, value) in field.row_mut(row).iter_mut().zip(values) {
                    *cell = *value;
                }
            }
        }
        Ok(())
    }
}

/// The buffer to fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Field,
    Source,
}

fn to_quads<T: GpuReal>(values: &[T], quads: &mut [T::Quad]) {
    for (quad, values) in quads.iter_mut().zip(values.chunks(T::VECTOR_LEN)) {
        *quad = T::quad(values);
    }
}

/// The parts of a whole field that no block contains.
pub(super) struct Border<T> {
    /// The grid, without start field and source.
    grid: Problem<T>,
    first: Vec<T>,
    last: Vec<T>,
}

impl<T: GpuReal> Border<T> {
    pub(super) fn of(problem: &Problem<T>) -> Self {
        let (nx, ny) = (problem.nx(), problem.ny());
        let row = |y: usize| {
            let mut row = vec![T::zero(); nx];
            problem.start_row(y, &mut row);
            row
        };
        Self::new(problem, [row(0), row(ny - 1)])
    }

    /// With the first and the last row of the start field.
    pub(super) fn new(problem: &Problem<T>, [first, last]: [Vec<T>; 2]) -> Self {
        Self {
            grid: problem.without_values(),
            first,
            last,
        }
    }

    /// The grid, without start field and source.
    pub(super) fn grid(&self) -> &Problem<T> {
        &self.grid
    }

    /// The first and the last row of the start field.
    pub(super) fn rows(&self) -> [&[T]; 2] {
        [&self.first, &self.last]
    }

    /// A field of zeros, except for the first and the last row.
    pub(super) fn field(&self) -> Result<Array2<T>, JacobiError> {
        let (ny, nx) = (self.grid.ny(), self.grid.nx());
        let out_of_memory = JacobiError::HostMemory {
            what: "the field",
            needed: ny * nx * size_of::<T>(),
        };
        let mut values: Vec<T> = Vec::new();
        if values.try_reserve_exact(ny * nx).is_err() {
            return Err(out_of_memory);
        }
        values.extend_from_slice(&self.first);
        values.resize((ny - 1) * nx, T::zero());
        values.extend_from_slice(&self.last);
        Array2::from_shape_vec((ny, nx), values).map_err(|_| out_of_memory)
    }

    /// Sets the ghost rows and columns.
    pub(super) fn fill_ghosts(&self, field: &mut Array2<T>) {
        self.grid.fill_ghosts(field);
    }
}
