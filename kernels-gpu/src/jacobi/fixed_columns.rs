//! Sets the first and the last column of a field before the first sweep.
//!
//! A thread processes one row: reads one value, writes it twice. Launched once for each field of a run. Block of 256:
//! the threads are independent.

use warpstride_device::prelude::*;

/// Sets columns 0 and `nx` − 1 of every row `y` to `values[y]`; a row has `pitch` vectors.
#[kernel(block = 256, hot)]
pub unsafe fn jacobi_fixed_columns_f32(
    #[len(rows * pitch)] field: *mut F32x4,
    #[len(rows)] values: *const f32,
    rows: u32,
    pitch: u32,
    nx: u32,
) {
    if nx == 0 || nx.div_ceil(4) > pitch {
        return;
    }
    for y in thread::grid_stride(rows as usize) {
        let row = field.add(y * pitch as usize).cast::<f32>();
        let value = *values.add(y);
        *row = value;
        *row.add(nx as usize - 1) = value;
    }
}

/// [`jacobi_fixed_columns_f32`] in double precision.
#[kernel(block = 256, hot, f64)]
pub unsafe fn jacobi_fixed_columns_f64(
    #[len(rows * pitch)] field: *mut F64x2,
    #[len(rows)] values: *const f64,
    rows: u32,
    pitch: u32,
    nx: u32,
) {
    if nx == 0 || nx.div_ceil(2) > pitch {
        return;
    }
    for y in thread::grid_stride(rows as usize) {
        let row = field.add(y * pitch as usize).cast::<f64>();
        let value = *values.add(y);
        *row = value;
        *row.add(nx as usize - 1) = value;
    }
}
