//! Start field and source from arrays in the memory of a device, and the field into one, without
//! copies through the host.

use super::block::{Block, drain_on_error, two};
use super::engine::GroupEngine;
use super::kernels::GpuReal;
use super::plan::Plan;
use super::values::Border;
use crate::{JacobiError, Problem, Stopping};
use warpstride_cuda::cuda::RowLayout;
use warpstride_cuda::gpu::{self, Buffer as _, RowCopies, StreamId};

/// The stream of the copies.
const STREAM: StreamId = StreamId::Bulk;

/// Refuses an array of another length than that of the grid.
fn expect_cells<T: GpuReal>(
    problem: &Problem<T>,
    what: &'static str,
    found: usize,
) -> Result<(), JacobiError> {
    let expected = problem.ny() * problem.nx();
    if found == expected {
        return Ok(());
    }
    Err(JacobiError::ArrayLength {
        what,
        expected,
        found,
    })
}

impl<T: GpuReal, G: RowCopies> GroupEngine<T, G> {
    /// Like [`GroupEngine::new`], with start field and source of the grid (row, column) in C order
    /// in the memory of the group's only device, from which they are copied. Start field and source
    /// of `problem` are not used. Values that are not finite show in the norm of the first sweep.
    ///
    /// # Errors
    /// As [`GroupEngine::new`]; the group has several devices, or an array has another length than
    /// the grid.
    pub fn of_arrays(
        group: G,
        problem: &Problem<T>,
        (field, source): (&G::Buffer<T>, Option<&G::Buffer<T>>),
        rule: Stopping,
        plan: Plan,
    ) -> Result<Self, JacobiError> {
        let devices = group.devices();
        if devices != 1 {
            return Err(JacobiError::SeveralDevices(devices));
        }
        expect_cells(problem, "the start field", field.len())?;
        if let Some(source) = source {
            expect_cells(problem, "the source", source.len())?;
        }
        let sourced = (problem, source.is_some());
        Self::filled(group, sourced, rule, plan, |group, blocks| {
            for block in blocks {
                block.fill_from(group, problem, (field, source))?;
            }
            let (nx, ny) = (problem.nx(), problem.ny());
            let mut rows = [0, (ny - 1) * nx].map(|at| (at, vec![T::zero(); nx]));
            for (at, row) in &mut rows {
                group.download(field, *at, row)?;
            }
            Ok(Border::new(problem, rows.map(|(_, row)| row)))
        })
    }

    /// Copies the field after the last sweep, with its ghost rows and columns, to an array (row,
    /// column) in C order in the memory of the device of [`GroupEngine::of_arrays`], and waits for
    /// the copies.
    ///
    /// # Errors
    /// The group has several devices, the array has another length than the grid, or an error of
    /// the device.
    pub fn field_into(&mut self, array: &mut G::Buffer<T>) -> Result<(), JacobiError> {
        let devices = self.group.devices();
        if devices != 1 {
            return Err(JacobiError::SeveralDevices(devices));
        }
        expect_cells(self.border.grid(), "the field", array.len())?;
        let (group, block) = (&self.group, &self.blocks.blocks[0]);
        let copied = block.read_into(group, &self.border, self.current, array);
        let done = copied.and_then(|()| group.synchronize(block.device, STREAM));
        Ok(drain_on_error(group, done)?)
    }
}

/// Bytes from the first value of a row of an array (row, column) to that of the next.
fn row_bytes<T: GpuReal>(problem: &Problem<T>) -> usize {
    problem.nx() * size_of::<T>()
}

impl<T: GpuReal, G: RowCopies> Block<G, T> {
    /// Where a cell of the grid is in a buffer of the block, the only one of its grid.
    fn cell(&self, row: usize, column: usize) -> RowLayout {
        let pitch = self.geometry.pitch as usize * size_of::<T::Quad>();
        let row = row + self.geometry.halo as usize - self.rows.start;
        RowLayout {
            start: row * pitch + column * size_of::<T>(),
            pitch,
        }
    }

    /// Rows of the grid that the buffers have: without a halo the inner ones only.
    fn kept_rows(&self, problem: &Problem<T>) -> std::ops::Range<usize> {
        match self.geometry.halo {
            0 => self.rows.clone(),
            _ => 0..problem.ny(),
        }
    }

    /// Writes the start values to all fields and the source to its buffer, and waits for the
    /// copies.
    fn fill_from(
        &mut self,
        group: &G,
        problem: &Problem<T>,
        (field, source): (&G::Buffer<T>, Option<&G::Buffer<T>>),
    ) -> gpu::Result<()> {
        let rows = self.kept_rows(problem);
        let width = row_bytes(problem);
        let (size, place) = ([rows.len(), width], (self.device, STREAM));
        let from = RowLayout {
            start: rows.start * width,
            pitch: width,
        };
        let to = self.cell(rows.start, 0);
        group.copy_rows(place, size, (field, from), (&mut self.fields[0], to))?;
        if let (Some(source), Some(buffer)) = (source, &mut self.source) {
            group.copy_rows(place, size, (source, from), (buffer, to))?;
        }
        for other in 1..self.fields.len() {
            let (from, to) = two(&mut self.fields, 0, other);
            group.copy(self.device, STREAM, from, to)?;
        }
        group.synchronize(self.device, STREAM)
    }

    /// Queues the copies of field `from` to an array of the whole grid.
    fn read_into(
        &self,
        group: &G,
        border: &Border<T>,
        from: usize,
        array: &mut G::Buffer<T>,
    ) -> gpu::Result<()> {
        let grid = border.grid();
        let (nx, ny) = (grid.nx(), grid.ny());
        let (value, width) = (size_of::<T>(), row_bytes(grid));
        // A rectangle of rows and columns of the grid that another one stands for.
        let mut copy = |[rows, columns]: [usize; 2], from_cell: [usize; 2], to_cell: [usize; 2]| {
            let to = RowLayout {
                start: to_cell[0] * width + to_cell[1] * value,
                pitch: width,
            };
            let source = (&self.fields[from], self.cell(from_cell[0], from_cell[1]));
            let place = (self.device, STREAM);
            group.copy_rows(place, [rows, columns * value], source, (&mut *array, to))
        };
        let rows = self.kept_rows(grid);
        copy([rows.len(), nx], [rows.start, 0], [rows.start, 0])?;
        let boundary = grid.boundary();
        if boundary.periodic_columns() {
            copy([ny - 2, 1], [1, nx - 2], [1, 0])?;
            copy([ny - 2, 1], [1, 1], [1, nx - 1])?;
        }
        if boundary.periodic_rows() {
            for (from, to) in [(ny - 2, 0), (1, ny - 1)] {
                copy([1, nx - 2], [from, 1], [to, 1])?;
                if boundary.periodic_columns() {
                    copy([1, 1], [from, nx - 2], [to, 0])?;
                    copy([1, 1], [from, 1], [to, nx - 1])?;
                }
            }
            if !boundary.periodic_columns() {
                let [first, last] = border.rows();
                for (row, values) in [(0, first), (ny - 1, last)] {
                    for column in [0, nx - 1] {
                        let corner = &values[column..=column];
                        group.upload(array, row * nx + column, corner)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuEngine;
    use crate::cuda::Scheme;
    use crate::{Boundary, Engine as _};
    use ndarray::Array2;
    use warpstride_cuda::gpu::{DeviceGroup as _, EmulatedDeviceGroup};

    const BOUNDARIES: [Boundary; 3] = [Boundary::Textbook, Boundary::Dirichlet, Boundary::Periodic];

    fn values<T: GpuReal>(shape: [usize; 2], seed: u64) -> Array2<T> {
        let value = |(y, x): (usize, usize)| {
            let number = (y as u64 * 7919 + x as u64 * 104_729 + seed).wrapping_mul(2_654_435_761);
            T::nearest((number % 10_007) as f64 / 1e3 - 5.0)
        };
        Array2::from_shape_fn(shape, value)
    }

    /// The field of arrays on a device is that of the CPU, bit for bit, border and corners
    /// included.
    fn agrees<T: GpuReal>() {
        for (boundary, shape) in BOUNDARIES
            .into_iter()
            .flat_map(|of| [[3, 3], [9, 8], [20, 13], [31, 67]].map(|shape| (of, shape)))
        {
            for (sourced, tolerance, depth) in [(false, -1.0, 1), (true, 1e-2, 2), (true, -1.0, 4)]
            {
                let case = format!("{boundary:?} {shape:?} {sourced} {depth}");
                let [ny, nx] = shape;
                let rule = Stopping {
                    iterations: 37,
                    tolerance,
                    check_every: 3,
                };
                let (field, source) = (values::<T>(shape, 1), values::<T>(shape, 2));
                let grid = Problem::new(nx, ny, boundary).unwrap();
                let mut problem = grid.clone().with_start(field.clone()).unwrap();
                if sourced {
                    problem = problem.with_source(source.clone()).unwrap();
                }
                let mut expected = CpuEngine::new(&problem, rule, 1).unwrap();
                while !expected.finished() {
                    expected.advance().unwrap();
                }
                let group = EmulatedDeviceGroup::new(1);
                let buffer = |values: &Array2<T>| {
                    let mut buffer = group.alloc(0, "an array", ny * nx).unwrap();
                    group
                        .upload(&mut buffer, 0, values.as_slice().unwrap())
                        .unwrap();
                    buffer
                };
                let (start, source) = (buffer(&field), buffer(&source));
                let mut found = buffer(&Array2::from_elem(shape, T::nan()));
                let plan = Plan {
                    scheme: if depth == 1 {
                        Scheme::Overlap
                    } else {
                        Scheme::Temporal
                    },
                    time_block: depth,
                    ..Plan::default()
                };
                let arrays = (&start, sourced.then_some(&source));
                let mut engine = GroupEngine::of_arrays(&group, &grid, arrays, rule, plan).unwrap();
                while !engine.finished() {
                    engine.advance().unwrap();
                }
                engine.field_into(&mut found).unwrap();
                let mut read = Array2::from_elem(shape, T::zero());
                group
                    .download(&found, 0, read.as_slice_mut().unwrap())
                    .unwrap();
                let bits = |of: &Array2<T>| of.mapv(|value| value.widened().to_bits());
                let wanted = bits(&expected.field().unwrap());
                assert_eq!(bits(&read), wanted, "{case}");
                assert_eq!(bits(&engine.field().unwrap()), wanted, "{case}");
                assert_eq!(engine.sweeps(), expected.sweeps(), "{case}");
                // The start field is only read.
                group
                    .download(&start, 0, read.as_slice_mut().unwrap())
                    .unwrap();
                assert_eq!(bits(&read), bits(&field), "{case}");
            }
        }
    }

    #[test]
    fn the_field_of_arrays_is_that_of_the_cpu() {
        agrees::<f32>();
        agrees::<f64>();
    }

    #[test]
    fn what_is_refused() {
        let grid = Problem::<f32>::new(5, 4, Boundary::Dirichlet).unwrap();
        let new = |group: &EmulatedDeviceGroup, lengths: [usize; 2]| {
            let [field, source] = lengths.map(|len| group.alloc(0, "an array", len).unwrap());
            let arrays = (&field, Some(&source));
            let made =
                GroupEngine::of_arrays(group, &grid, arrays, Stopping::default(), Plan::default());
            made.map(drop).map_err(|why| why.to_string())
        };
        let one = EmulatedDeviceGroup::new(1);
        assert_eq!(new(&one, [20, 20]), Ok(()));
        assert_eq!(
            new(&one, [21, 20]).unwrap_err(),
            "the start field: expected 20 values, as many as the grid, found 21"
        );
        assert_eq!(
            new(&one, [20, 4]).unwrap_err(),
            "the source: expected 20 values, as many as the grid, found 4"
        );
        assert_eq!(
            new(&EmulatedDeviceGroup::new(2), [20, 20]).unwrap_err(),
            "arrays in the memory of a device: expected one device, found 2"
        );
    }

    #[test]
    fn values_that_are_not_finite_show_in_the_first_norm() {
        let grid = Problem::<f32>::new(5, 4, Boundary::Dirichlet).unwrap();
        let group = EmulatedDeviceGroup::new(1);
        for (wrong, cell) in [(f32::NAN, 7), (f32::INFINITY, 1)] {
            let mut values = vec![0.5_f32; 20];
            values[cell] = wrong;
            let mut field = group.alloc(0, "an array", 20).unwrap();
            group.upload(&mut field, 0, &values).unwrap();
            let rule = Stopping::default();
            let made = GroupEngine::of_arrays(&group, &grid, (&field, None), rule, Plan::default());
            let failed = made.unwrap().advance().unwrap_err();
            assert!(matches!(failed, JacobiError::NotFinite { sweep: 0, .. }));
        }
    }
}
