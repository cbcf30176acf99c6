//! Probe update with atomics: the sums of `probe_update_tiled`, with all slices added to one result.
//!
//! A slice's sums are added to a single numerator and denominator instead of being stored separately, which saves the
//! memory of the slices; the order of the additions is not fixed, so neither are the last bits. Block of 256, as
//! `probe_update_tiled`.

use super::probe_sums::sums_over_frames;
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
            #[len(modes * rows * columns)] numerator: *mut Complex32,
            #[len(rows * columns)] denominator: *mut f32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames * modes * rows * columns)] psi: *const $wave,
            #[len(frames)] corners: *const [u32; 2],
            #[len(1)] gate: *const u32,
            frames: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            object_rows: u32,
            object_columns: u32,
            slices: u32,
            scale: f32,
        ) {
            let _ = object_rows;
            let threads = thread::block_threads();
            if *gate != 0 || slices == 0 || columns == 0 || modes == 0 || threads == 0 {
                return;
            }
            let pixels = rows * columns;
            let groups = pixels.div_ceil(threads);
            if groups == 0 {
                return;
            }
            let frame_stride = modes as usize * pixels as usize;
            for item in thread::block_stride(slices * modes * groups) {
                let (layer, group) = (item / groups, item % groups);
                let (slice, mode) = (layer / modes, layer % modes);
                let pixel = group * threads + thread::index_in_block();
                if pixel >= pixels {
                    continue;
                }
                let window =
                    (pixel / columns) as usize * object_columns as usize + (pixel % columns) as usize;
                let at = mode as usize * pixels as usize + pixel as usize;
                let (sum, power) = sums_over_frames(
                    object,
                    object_columns,
                    window,
                    corners,
                    psi.add(at),
                    frame_stride,
                    frames,
                    slices,
                    slice,
                    (Complex32::ZERO, 0.0),
                );
                atomic::add_global_complex(numerator.add(at), sum.scale(scale));
                if mode == 0 {
                    atomic::add_global(denominator.add(pixel as usize), power);
                }
            }
        }
    )*};
}

kernels! {
    /// Adds to `numerator` (mode, row, column) and `denominator` (row, column), which must be zero before, in `slices` >
    /// 0 slices of the frames of `scale · psi`. Does nothing while `*gate` is not 0.
    Complex32: ptycho_probe_update_atomic;
    /// [`ptycho_probe_update_atomic`] with ψ in bf16.
    u32: ptycho_probe_update_atomic_bf16;
}
