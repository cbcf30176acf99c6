//! Moves layers cyclically by a shift that only the device knows.
//!
//! A thread processes one element: reads 8 bytes, writes 8; nothing while the shift is zero. A move takes two
//! launches, to a work array (`back` 0) and back (`back` 1). Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `back` 0: `to[r + shift₀, c + shift₁] = from[r, c]`, cyclically, in every layer; `back` 1: `to =
/// from`. Does nothing while the shift is zero.
#[kernel(block = 256)]
pub unsafe fn ptycho_roll_layers(
    #[len(layers * rows * columns)] to: *mut Complex32,
    #[len(layers * rows * columns)] from: *const Complex32,
    #[len(2)] shift: *const i32,
    layers: u32,
    rows: u32,
    columns: u32,
    back: u32,
) {
    let moves = [*shift, *shift.add(1)];
    if moves == [0, 0] || rows == 0 || columns == 0 {
        return;
    }
    let by_rows = moves[0].rem_euclid(rows as i32) as usize;
    let by_columns = moves[1].rem_euclid(columns as i32) as usize;
    let (rows, columns) = (rows as usize, columns as usize);
    for at in thread::grid_stride(layers as usize * rows * columns) {
        let source = if back != 0 {
            at
        } else {
            let (line, column) = (at / columns, at % columns);
            let (layer, row) = (line / rows, line % rows);
            let row = (row + rows - by_rows) % rows;
            let column = (column + columns - by_columns) % columns;
            (layer * rows + row) * columns + column
        };
        *to.add(at) = *from.add(source);
    }
}
