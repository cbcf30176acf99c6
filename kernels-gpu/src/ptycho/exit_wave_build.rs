//! Exit waves: `aux = c_po · P · O + c_psi · ψ`, the argument of every engine's Fourier step.
//!
//! A block processes one part of a frame at a time, a thread one pixel of it in all modes, so that the object's value
//! is read once for them. Row and column advance by addition: the only divisions are at the start of a part.
//!
//! Reads ψ, probe, object, corners; writes aux. From device memory per pixel and mode: ψ 8 (none if `c_psi` is 0) and
//! aux 8 bytes (4 in bf16); per pixel the object's 8 divided by its overlap. The probe is the same for all frames and stays in
//! the caches.
//!
//! Block of 256: threads have little state and use no shared memory, so any multiple of 32 would be correct; 256
//! gives three quarters of full occupancy (40 registers, no spills) with six blocks on a multiprocessor, and short
//! tails in small frames.

use super::wave_storage::stored;
use super::window_walk::{WindowWalk, part_of};
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
            #[len(frames * modes * rows * columns)] aux: *mut $wave,
            #[len(psi_frames * modes * rows * columns)] psi: *const Complex32,
            #[len(modes * rows * columns)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames)] corners: *const [u32; 2],
            frames: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            object_rows: u32,
            object_columns: u32,
            parts: u32,
            c_po: f32,
            c_psi: f32,
            psi_frames: u32,
        ) {
            let _ = object_rows;
            if columns == 0 || parts == 0 {
                return;
            }
            let pixels = rows * columns;
            for item in thread::block_stride(frames * parts) {
                let (frame, part) = (item / parts, item % parts);
                let [top, left] = *corners.add(frame as usize);
                let window = object.add(top as usize * object_columns as usize + left as usize);
                let frame_start = frame as usize * modes as usize * pixels as usize;
                let (from, to) = part_of(pixels, parts, part);
                for (pixel, row, column) in WindowWalk::new(from, to, columns) {
                    let o = *window.add(row as usize * object_columns as usize + column as usize);
                    let mut probe_at = pixel as usize;
                    for _ in 0..modes {
                        let exit = *probe.add(probe_at) * o;
                        let at = frame_start + probe_at;
                        let value = if c_psi == 0.0 || frame >= psi_frames {
                            exit.scale(c_po)
                        } else {
                            exit.scale_add(c_po, (*psi.add(at)).scale(c_psi))
                        };
                        *aux.add(at) = stored(value);
                        probe_at += pixels as usize;
                    }
                }
            }
        }
    )*};
}

kernels! {
    /// `aux = c_po · P · O + c_psi · ψ` for every frame and mode; ψ, of the first `psi_frames` frames, is not read in others
    /// nor if `c_psi` is 0.
    ///
    /// Every corner (row, column) must lie so that its frame is inside the object. A frame is processed in `parts` > 0
    /// parts.
    Complex32: ptycho_exit_wave_build;
    /// [`ptycho_exit_wave_build`] with ψ in bf16.
    u32: ptycho_exit_wave_build_bf16;
}
