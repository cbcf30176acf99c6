//! Exit waves: `aux = c_po · P · O + c_psi · ψ`, the argument of every engine's Fourier step.
//!
//! A block does one frame at a time, a thread one pixel of it in all modes, so that the object's
//! value is read once for them. Row and column go along by addition: the only divisions are two at
//! the start of a thread.
//!
//! Reads ψ, probe, object, corners; writes aux. From device memory per pixel and mode: ψ 8 (none
//! when `c_psi` is 0) and aux 8 bytes; per pixel the object's 8 divided by its overlap. The probe
//! is the same for all frames and stays in the caches.
//!
//! Block of 256: little state in a thread, no shared memory, so any multiple of 32 would be right;
//! 256 gives full occupancy with eight blocks on a multiprocessor and short tails in small frames.

use warpstride_device::prelude::*;

/// `aux = c_po · P · O + c_psi · ψ` for every frame and mode; ψ is not read when `c_psi` is 0.
///
/// Every corner (row, column) must lie so that its frame is inside the object.
#[kernel(block = 256, min_blocks = 8, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn exit_wave_build(
    #[len(frames * modes * rows * columns)] aux: *mut Complex32,
    #[len(frames * modes * rows * columns)] psi: *const Complex32,
    #[len(modes * rows * columns)] probe: *const Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    frames: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    c_po: f32,
    c_psi: f32,
) {
    let _ = object_rows;
    if columns == 0 {
        return;
    }
    let pixels = rows * columns;
    let thread = thread::index_in_block();
    let threads = thread::block_threads();
    let (first_row, first_column) = (thread / columns, thread % columns);
    let (row_step, column_step) = (threads / columns, threads % columns);

    for frame in thread::block_stride(frames) {
        let [corner_row, corner_column] = *corners.add(frame as usize);
        let window =
            object.add(corner_row as usize * object_columns as usize + corner_column as usize);
        let frame_start = frame as usize * modes as usize * pixels as usize;
        let (mut row, mut column) = (first_row, first_column);
        for pixel in thread::thread_stride(pixels) {
            let object_value =
                *window.add(row as usize * object_columns as usize + column as usize);
            let mut probe_at = pixel as usize;
            for _ in 0..modes {
                let exit = *probe.add(probe_at) * object_value;
                let at = frame_start + probe_at;
                *aux.add(at) = if c_psi == 0.0 {
                    exit.scale(c_po)
                } else {
                    exit.scale_add(c_po, (*psi.add(at)).scale(c_psi))
                };
                probe_at += pixels as usize;
            }
            row += row_step;
            column += column_step;
            if column >= columns {
                column -= columns;
                row += 1;
            }
        }
    }
}
