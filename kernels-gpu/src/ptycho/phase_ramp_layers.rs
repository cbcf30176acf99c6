//! Multiplies spectra by the phase ramp of a shift that only the device knows, which shifts the waves.
//!
//! A thread processes one element: reads 8 bytes, writes 8; nothing while the shift is zero, which is the usual case.
//! The angle is reduced in integers; sine and cosine are the accurate ones. Block of 256: the threads are
//! independent.

use warpstride_device::prelude::*;

/// `spectra[k, l] ← spectra[k, l] · exp(−2πi (k · shift₀/rows + l · shift₁/columns))` in every layer.
#[kernel(block = 256)]
pub unsafe fn ptycho_phase_ramp_layers(
    #[len(layers * rows * columns)] spectra: *mut Complex32,
    #[len(2)] shift: *const i32,
    layers: u32,
    rows: u32,
    columns: u32,
) {
    let moves = [*shift, *shift.add(1)];
    if moves == [0, 0] || rows == 0 || columns == 0 {
        return;
    }
    let by_rows = moves[0].rem_euclid(rows as i32) as usize;
    let by_columns = moves[1].rem_euclid(columns as i32) as usize;
    let (rows, columns) = (rows as usize, columns as usize);
    for at in thread::grid_stride(layers as usize * rows * columns) {
        let (line, column) = (at / columns, at % columns);
        let row = line % rows;
        let down = (row * by_rows % rows) as f32 / rows as f32;
        let right = (column * by_columns % columns) as f32 / columns as f32;
        let phase = phase::sincos_turns_accurate(down) * phase::sincos_turns_accurate(right);
        *spectra.add(at) = *spectra.add(at) * phase.conj();
    }
}
