//! Wavelets: averages and details along one axis, and the inverse.
//!
//! A thread processes one voxel of one image: reads 32 bytes (three of four values from the cache), writes 8. Values
//! outside of the level's corner are copied, so that two arrays can be used alternately. Block of 256: the threads
//! are independent.

use super::voxel::Voxel;
use warpstride_device::prelude::*;

/// Daubechies' low-pass taps with two vanishing moments: (1 + √3, 3 + √3, 3 − √3, 1 − √3)/(4√2).
const LOW: [f32; 4] = [0.482_962_9, 0.836_516_3, 0.224_143_87, -0.129_409_52];
/// The high-pass taps: the low-pass ones in reverse order with alternating signs.
const HIGH: [f32; 4] = [LOW[3], -LOW[2], LOW[1], -LOW[0]];

/// One pass along `axis` (0, 1, 2: column, row, slice) of the first `corner_…` voxels, periodic, with an even number
/// along the axis. The forward pass puts averages into the first half and details into the second; with `inverse` ≠ 0
/// they are transformed back.
#[kernel(block = 256, hot)]
pub unsafe fn mri_wavelet_pass(
    #[len(images * slices * rows * columns)] from: *const Complex32,
    #[len(images * slices * rows * columns)] to: *mut Complex32,
    columns: u32,
    rows: u32,
    slices: u32,
    images: u32,
    corner_columns: u32,
    corner_rows: u32,
    corner_slices: u32,
    axis: u32,
    inverse: u32,
) {
    let voxels = columns as usize * rows as usize * slices as usize;
    let corner = [
        corner_columns.min(columns),
        corner_rows.min(rows),
        corner_slices.min(slices),
    ];
    let size = match axis {
        0 => corner[0],
        1 => corner[1],
        _ => corner[2],
    };
    let half = size / 2;
    for at in thread::grid_stride(images as usize * voxels) {
        let voxel = Voxel::of(at % voxels, columns, rows);
        let inside = voxel.column < corner[0] && voxel.row < corner[1] && voxel.slice < corner[2];
        if !inside || half == 0 {
            *to.add(at) = *from.add(at);
            continue;
        }
        let (index, stride) = voxel.along(axis);
        let line = from.add(at - index as usize * stride);
        let value = |i: u32| *line.add(i as usize * stride);
        *to.add(at) = if inverse == 0 {
            let (i, high) = (index % half, index >= half);
            let term = |k: usize| {
                let place = 2 * i + k as u32;
                let place = if place >= size { place - size } else { place };
                value(place).scale(if high { HIGH[k] } else { LOW[k] })
            };
            (term(0) + term(1)) + (term(2) + term(3))
        } else {
            let (i, odd) = (index / 2, index % 2 == 1);
            let before = if i == 0 { half - 1 } else { i - 1 };
            let tap = |taps: [f32; 4], k: usize| if odd { taps[k + 1] } else { taps[k] };
            (value(i).scale(tap(LOW, 0)) + value(before).scale(tap(LOW, 2)))
                + (value(half + i).scale(tap(HIGH, 0)) + value(half + before).scale(tap(HIGH, 2)))
        };
    }
}
