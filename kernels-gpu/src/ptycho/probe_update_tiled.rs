//! Probe update by output pixels: the sums `Σ conj(O) ψ` and `Σ |O|²` over slices of the frames, one result a slice,
//! without atomics and with the same bits every time.
//!
//! A thread processes one pixel of one mode over the frames of one slice, from the last; its neighbours process the
//! neighbouring pixels, so every access is a row. Reads ψ, 8 bytes (4 in bf16) per pixel and mode of device memory; the object
//! from the caches; writes 12 bytes per slice, pixel and mode. The slices fill the device: one 128 × 128 probe has
//! only 64 blocks of pixels.
//!
//! Block of 256: independent threads with little state, so that six blocks hide the latency.

use super::probe_sums::sums_over_frames;
use warpstride_device::prelude::*;

macro_rules! kernels {
    ($($(#[doc = $doc:expr])* $wave:ty: $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[kernel(block = 256, min_blocks = 6, hot)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(slices * modes * rows * columns)] numerators: *mut Complex32,
            #[len(slices * rows * columns)] denominators: *mut f32,
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
            add: u32,
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
                let (layer_at, slice_at) = (
                    layer as usize * pixels as usize + pixel as usize,
                    slice as usize * pixels as usize + pixel as usize,
                );
                let start = if add == 0 {
                    (Complex32::ZERO, 0.0)
                } else {
                    (*numerators.add(layer_at), *denominators.add(slice_at))
                };
                let (numerator, denominator) = sums_over_frames(
                    object,
                    object_columns,
                    window,
                    corners,
                    psi.add(mode as usize * pixels as usize + pixel as usize),
                    frame_stride,
                    frames,
                    slices,
                    slice,
                    start,
                );
                *numerators.add(layer_at) = numerator.scale(scale);
                if mode == 0 {
                    *denominators.add(slice_at) = denominator;
                }
            }
        }
    )*};
}

kernels! {
    /// `numerators` (slice, mode, row, column) and `denominators` (slice, row, column) for `slices` > 0 slices of the frames of
    /// `psi`; `add` not 0: added to what is there. The numerators are multiplied by `scale` at the end. Does nothing while `*gate` is
    /// not 0.
    ///
    /// The frames of a scan can come in blocks, the last block first, each block's end a multiple of `slices` frames before the
    /// scan's end: the sums have the same order, and with a `scale` of 1 for all blocks but the last launch the same bits.
    Complex32: ptycho_probe_update_tiled;
    /// [`ptycho_probe_update_tiled`] with ψ in bf16.
    u32: ptycho_probe_update_tiled_bf16;
}
