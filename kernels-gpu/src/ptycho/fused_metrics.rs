//! Metrics of how well the model explains the counts, as `ptycho_model_metrics`, from object and probe in one kernel:
//! one probe mode, whole-pixel positions, frames of 64² or 128² pixels.
//!
//! A block has one frame at a time, 32 values a thread ([`crate::fft::frame`]). Reads 4 bytes a pixel of device memory;
//! probe and object come from L2.

use super::FREE;
use super::frame_chi::{MetricSums, prefetch};
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Values of the model that a thread loads together.
const TOGETHER: usize = 8;
/// Magnitudes that it loads together.
const MAGNITUDES: usize = 16;

macro_rules! kernels {
    ($(#[doc = $doc:expr] $name:ident, $a:literal, $threads:literal, $blocks:literal, $bytes:literal;)*) => {$(
        #[doc = $doc]
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = $bytes)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(side * side)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames * side * side)] magnitudes: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(side)] roots: *const Complex32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            frames: u32,
            side: u32,
            object_rows: u32,
            object_columns: u32,
        ) {
            let _ = object_rows;
            if side as usize != Frame::<$a>::SIDE {
                return;
            }
            const { assert!($bytes == 4 * (Frame::<$a>::WORDS + WarpSums::<4>::WORDS)) };
            let memory: *mut f32 = shared::dynamic_shared_mem();
            let transform = Frame::<$a>::new(memory, roots);
            let found = WarpSums::<4>::new(memory.add(Frame::<$a>::WORDS));
            for frame in thread::block_stride(frames) {
                let mut x: Values = [Complex32::ZERO; VALUES];
                let corner = *corners.add(frame as usize);
                let magnitudes = magnitudes.add(frame as usize * Frame::<$a>::PIXELS);
                prefetch::<$a>(magnitudes);
                exit_wave(&transform, probe, object, corner, object_columns, &mut x);
                transform.forward(&mut x);
                sums(&transform, magnitudes, &x).note(&found);
                thread::sync_threads();
                if warp_number() == 0 {
                    let sums = MetricSums::of_block(found.total($threads / 32));
                    if warp::lane_id() == 0 {
                        *photon.add(frame as usize) = sums.photon();
                        *residual.add(frame as usize) = sums.roots;
                        *free.add(frame as usize) = sums.hidden;
                    }
                }
            }
        }
    )*};
}

kernels! {
    /// `photon`, `residual` and `free` of every frame of 64² pixels; `side` must be 64.
    ptycho_fused_metrics_64, 2, 128, 4, 17_408;
    /// `photon`, `residual` and `free` of every frame of 128² pixels; `side` must be 128.
    ptycho_fused_metrics_128, 4, 512, 1, 68_096;
}

/// `x` becomes P·O, in the order that the transform expects.
#[inline(always)]
unsafe fn exit_wave<const A: usize>(
    transform: &Frame<A>,
    probe: *const Complex32,
    object: *const Complex32,
    [top, left]: [u32; 2],
    object_columns: u32,
    x: &mut Values,
) {
    let (row, column) = transform.place();
    let probe = probe.add(row * Frame::<A>::SIDE + column);
    let object =
        object.add((top as usize + row) * object_columns as usize + left as usize + column);
    let stride = thread::hidden(A as u32 * object_columns);
    let load = |group: usize| {
        let mut pairs = [[Complex32::ZERO; 2]; TOGETHER];
        for u in 0..TOGETHER {
            let n = group * TOGETHER + u;
            pairs[u] = [
                *probe.add(n * Frame::<A>::THREADS),
                *object.add((n as u32 * stride) as usize),
            ];
        }
        pairs
    };
    let mut ahead = load(0);
    for group in 0..VALUES / TOGETHER {
        let pairs = ahead;
        if group + 1 < VALUES / TOGETHER {
            ahead = load(group + 1);
        }
        // Keeps the assembler from loading everything at once.
        warp::sync_warp(warp::FULL);
        for u in 0..TOGETHER {
            x[reversed(group * TOGETHER + u, 5)] = pairs[u][0] * pairs[u][1];
        }
    }
}

/// A thread's sums.
#[inline(always)]
unsafe fn sums<const A: usize>(
    transform: &Frame<A>,
    magnitudes: *const f32,
    x: &Values,
) -> MetricSums {
    let (row, column) = transform.spectrum_place();
    let at = magnitudes.add(row * Frame::<A>::SIDE + column);
    let mut sums = MetricSums::ZERO;
    for group in 0..VALUES / MAGNITUDES {
        let mut loaded = [0.0; MAGNITUDES];
        for u in 0..MAGNITUDES {
            loaded[u] = *at.add(Frame::<A>::spectrum_offset(group * MAGNITUDES + u));
        }
        // The loads stay together, before the branches.
        warp::sync_warp(warp::FULL);
        for u in 0..MAGNITUDES {
            let magnitude = loaded[u];
            let model = x[group * MAGNITUDES + u].norm_sqr() * (1.0 / Frame::<A>::PIXELS as f32);
            let root = float::sqrt_approx(model);
            if magnitude >= 0.0 {
                let counts = magnitude * magnitude;
                let (by_count, by_root) = (model - counts, root - magnitude);
                sums.photons += float::div_approx(by_count * by_count, counts + 1.0);
                sums.roots = by_root.mul_add(by_root, sums.roots);
                sums.valid += 1.0;
            } else if magnitude <= FREE {
                let by_root = root - (FREE - magnitude);
                sums.hidden = by_root.mul_add(by_root, sums.hidden);
            }
        }
    }
    sums
}
