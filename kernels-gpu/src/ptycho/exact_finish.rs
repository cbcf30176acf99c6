//! The directions of a batch at exact positions from its sums, as `batch_finish` at whole pixels, one launch: the sum
//! of the probe is a spectrum, which is transformed back first; its direction is transformed for the sums of the steps.
//! For frames of 64² or 128², which a block holds in its registers ([`Frame`]).
//!
//! One block processes a mode of the probe, in two transforms, one after the other, which is the time of the launch
//! (23 µs for 128² on an H200); the others meanwhile eight values of the object in each thread: 12 bytes read, 8 written
//! a value. Blocks of 512 or 128 threads, 128 registers.

use super::batch_bounds::Bounds;
use super::direction_finish::divided;
use super::exact_advance::TOGETHER;
use super::exact_frame::{load_spectrum, store_spectrum, turned};
use super::pie_pass::{OBJECT, PROBE};
use crate::fft::frame::{Frame, VALUES};
use warpstride_device::prelude::*;

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// `object ← object/D(W)` within `bounds` as `batch_finish`. `probe`, a spectrum before, becomes its unnormalised inverse
        /// transform divided by D(W), and `probe_spectrum` that one's unnormalised transform unless `transforms` is 0.
        /// A direction whose bit ([`OBJECT`], [`PROBE`]) is not in `updates`, and its spectrum, become 0. The modes of
        /// the probe have the same weights. `roots` are exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = 4 * Frame::<$a>::WORDS)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays and the constants of the method"
        )]
        pub unsafe fn $name(
            #[len(elements)] object: *mut Complex32,
            #[len(modes * $side * $side)] probe: *mut Complex32,
            #[len(modes * $side * $side)] probe_spectrum: *mut Complex32,
            #[len(elements)] weights: *const f32,
            #[len($side * $side)] probe_weights: *const f32,
            #[len(2)] largest: *const u32,
            #[len(1)] bounds: *const [u32; 4],
            #[len($side)] roots: *const Complex32,
            elements: u32,
            columns: u32,
            modes: u32,
            updates: u32,
            transforms: u32,
            extra: f32,
            floor: f32,
            object_alpha: f32,
            probe_alpha: f32,
        ) {
            let transform = Frame::<$a>::new(shared::dynamic_shared_mem::<f32>(), roots);
            let bounds = Bounds::from_array(*bounds).within(elements / columns.max(1), columns);
            let within = bounds.pixels();
            let groups = within.div_ceil($threads * TOGETHER) as u32;
            for item in thread::block_stride(modes + groups) {
                if item >= modes {
                    let first = ((item - modes) * $threads * TOGETHER as u32 + thread::thread_idx_x()) as usize;
                    let most = f32::from_bits(*largest) + extra;
                    let mut values = [(Complex32::ZERO, 0.0); TOGETHER];
                    for k in 0..TOGETHER {
                        let at = first + k * $threads;
                        if at < within {
                            let at = bounds.place(at, columns);
                            values[k] = (*object.add(at), *weights.add(at) + extra);
                        }
                    }
                    for k in 0..TOGETHER {
                        let at = first + k * $threads;
                        let (value, weight) = values[k];
                        if at < within {
                            let at = bounds.place(at, columns);
                            *object.add(at) = if updates & OBJECT != 0 {
                                divided(value, weight, most, floor, object_alpha)
                            } else {
                                Complex32::ZERO
                            };
                        }
                    }
                    continue;
                }
                let layer = item as usize * Frame::<$a>::PIXELS;
                let (probe, probe_spectrum) = (probe.add(layer), probe_spectrum.add(layer));
                let mut x = [Complex32::ZERO; VALUES];
                if updates & PROBE != 0 {
                    load_spectrum(&transform, &mut x, probe);
                    transform.inverse(&mut x);
                }
                let (row, column) = transform.place();
                let own = row * Frame::<$a>::SIDE + column;
                let most = f32::from_bits(*largest.add(1));
                let (to, of) = (probe.add(own), probe_weights.add(own));
                for group in 0..VALUES / TOGETHER {
                    // Loads that follow a store wait for it.
                    let mut given = [0.0; TOGETHER];
                    for k in 0..TOGETHER {
                        given[k] = *of.add((group * TOGETHER + k) * $a * Frame::<$a>::SIDE);
                    }
                    for k in 0..TOGETHER {
                        let n = group * TOGETHER + k;
                        if updates & PROBE != 0 {
                            x[n] = divided(x[n], given[k], most, floor, probe_alpha);
                        }
                        *to.add(n * $a * Frame::<$a>::SIDE) = x[n];
                    }
                }
                if transforms != 0 {
                    x = turned(&x);
                    if updates & PROBE != 0 {
                        transform.forward(&mut x);
                    }
                    store_spectrum(&transform, &x, probe_spectrum);
                }
                // The block's next mode uses the same shared memory.
                thread::sync_threads();
            }
        }
    )*};
}

sizes! {
    ptycho_exact_finish_64, 2, 64, 128, 4;
    ptycho_exact_finish_128, 4, 128, 512, 1;
}
