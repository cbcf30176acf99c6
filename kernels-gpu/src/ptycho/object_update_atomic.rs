//! Object update by frames: the sums `Σ conj(P) ψ` and `Σ |P|²` with atomic additions.
//!
//! A block processes one part of a frame at a time, a thread one pixel of it in all modes, so that ψ is read in whole
//! rows. Reads ψ, 8 bytes (4 in bf16) per pixel and mode of device memory, and adds 12 bytes per pixel in L2: a vector addition
//! for the complex sum on sm_90, two additions before. The order of the additions is not fixed, so neither are the
//! last bits.
//!
//! Block of 256, as `exit_wave_build`.

use super::wave_storage::value;
use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

macro_rules! kernels {
    ($($(#[doc = $doc:expr])* $wave:ty: $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[kernel(block = 256, min_blocks = 6, hot, variant = 90)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(object_rows * object_columns)] numerator: *mut Complex32,
            #[len(object_rows * object_columns)] denominator: *mut f32,
            #[len(modes * rows * columns)] probe: *const Complex32,
            #[len(rows * columns)] power: *const f32,
            #[len(frames * modes * rows * columns)] psi: *const $wave,
            #[len(frames)] corners: *const [u32; 2],
            #[len(1)] gate: *const u32,
            frames: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            object_rows: u32,
            object_columns: u32,
            parts: u32,
            scale: f32,
        ) {
            let _ = object_rows;
            if columns == 0 || parts == 0 || *gate != 0 {
                return;
            }
            let pixels = rows * columns;
            for item in thread::block_stride(frames * parts) {
                let (frame, part) = (item / parts, item % parts);
                let [top, left] = *corners.add(frame as usize);
                let corner = top as usize * object_columns as usize + left as usize;
                let waves = psi.add(frame as usize * modes as usize * pixels as usize);
                let (from, to) = part_of(pixels, parts, part);
                for (pixel, row, column) in WindowWalk::new(from, to, columns) {
                    let place = corner + row as usize * object_columns as usize + column as usize;
                    let mut sum = Complex32::ZERO;
                    let mut at = pixel as usize;
                    for _ in 0..modes {
                        sum = (*probe.add(at)).conj_mul_add(value(&*waves.add(at)), sum);
                        at += pixels as usize;
                    }
                    atomic::add_global_complex(numerator.add(place), sum.scale(scale));
                    atomic::add_global(denominator.add(place), *power.add(pixel as usize));
                }
            }
        }
    )*};
}

kernels! {
    /// Adds every frame's contribution, from `scale · psi`, to `numerator` and `denominator`, which must be zero before.
    /// Does nothing while `*gate` is not 0.
    Complex32: ptycho_object_update_atomic;
    /// [`ptycho_object_update_atomic`] with ψ in bf16.
    u32: ptycho_object_update_atomic_bf16;
}
