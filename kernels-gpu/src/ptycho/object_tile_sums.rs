//! The sums over the frames at one object pixel of a tile: those of `object_update_tiled` and `object_sums_tiled`.

use super::tile_frames::{THREADS, Tile};
use super::wave_storage::{Wave, value};
use warpstride_device::prelude::*;

/// Pairs of a frame and a mode that a thread loads together.
const TOGETHER: usize = 4;

/// `start` plus `Σ conj(P) ψ` and `Σ |P|²` over the frames, in their order, at the object pixel (row, column) of the thread; the arrays are the probe
/// (mode, row, column), its power (row, column), ψ (frame, mode, row, column) and the frames' corners. All threads of the block call it.
#[inline(always)]
pub(super) unsafe fn sums_of_tile<W: Wave>(
    at: &Tile,
    [row, column]: [u32; 2],
    (probe, power, psi, corners): (*const Complex32, *const f32, *const W, *const [u32; 2]),
    frames: u32,
    [modes, rows, columns]: [u32; 3],
    start: (Complex32, f32),
) -> (Complex32, f32) {
    let pixels = (rows * columns) as usize;
    let (mut numerator, mut denominator) = start;
    let mut base = 0;
    while base < frames {
        let total = at.list(corners, base, frames, [rows, columns]);
        // Pairs of a frame and a mode, all modes of a frame after the other: the order does not depend on how many frames
        // are listed together.
        let pairs = total * modes;
        let mut pair = 0;
        while pair < pairs {
            // Pairs beyond the end, or whose frames do not contain the pixel, have weight 0.
            let mut weights = [0.0; TOGETHER];
            let mut power_weights = [0.0; TOGETHER];
            let mut places = [0; TOGETHER];
            let mut p = [Complex32::ZERO; TOGETHER];
            let mut wave = [Complex32::ZERO; TOGETHER];
            for u in 0..TOGETHER {
                let own = (pair + u as u32).min(pairs - 1);
                let (listed, mode) = (own / modes, own % modes);
                let [frame, top, left] = *at.kept.add(listed as usize);
                // A negative difference wraps to a large number.
                let (r, c) = (row.wrapping_sub(top), column.wrapping_sub(left));
                if pair + (u as u32) < pairs && r < rows && c < columns {
                    weights[u] = 1.0;
                    power_weights[u] = if mode == 0 { 1.0 } else { 0.0 };
                    places[u] = (r * columns + c) as usize;
                }
                let layer = mode as usize * pixels + places[u];
                p[u] = *probe.add(layer);
                wave[u] = value(&*psi.add(frame as usize * modes as usize * pixels + layer));
            }
            for u in 0..TOGETHER {
                numerator = p[u].scale(weights[u]).conj_mul_add(wave[u], numerator);
            }
            for u in 0..TOGETHER {
                denominator = (*power.add(places[u])).mul_add(power_weights[u], denominator);
            }
            pair += TOGETHER as u32;
        }
        thread::sync_threads();
        base += THREADS;
    }
    (numerator, denominator)
}
