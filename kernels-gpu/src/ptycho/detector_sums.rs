//! Sums of each pixel of the detector over the frames of a batch, from which its background is updated: with v = I_m + δ, S = I_m − b and
//! r = I − I_m, over the frames in which the pixel is valid and not free Σ 1, Σ 1/v, Σ S/v, Σ S²/v, Σ r/v, Σ r S/v, Σ r²/v, Σ I and Σ S; over
//! those in which it is free Σ 1, Σ I, Σ S, Σ S², Σ I S and Σ I².
//!
//! A thread processes one pixel over the frames of the batch, in order and in double precision, and adds to the sums of the batches
//! before. Reads 8 bytes per pixel and frame, reads and writes 120 per pixel; a quotient and 15 operations a value. Block of 128:
//! the threads are independent, and few pixels should occupy many multiprocessors.

use super::FREE;
use warpstride_device::prelude::*;

/// Sums of a pixel.
pub const TERMS: usize = 15;
/// Sums over the frames in which a pixel is not free; the others follow.
const SEEN: usize = 9;
/// Frames that are loaded together.
const TOGETHER: usize = 4;
/// √counts of a masked pixel.
const MASKED: f32 = -1.0;

/// Adds the terms of the frames `order[first..first + count]` with intensities `measured` (member, pixel) to `sums` (term, pixel);
/// `floor` is δ, photons.
#[kernel(block = 128, min_blocks = 2, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_sums(
    #[len(15 * pixels)] sums: *mut f64,
    #[len(count * pixels)] measured: *const f32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(pixels)] background: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    pixels: u32,
    floor: f64,
) {
    if first >= frames || count > frames - first {
        return;
    }
    let size = pixels as usize;
    for pixel in thread::grid_stride(size) {
        let dark = f64::from(*background.add(pixel));
        let mut own = [0.0_f64; TERMS];
        for term in 0..TERMS {
            own[term] = *sums.add(term * size + pixel);
        }
        let mut member = 0;
        while member < count {
            let mut models = [0.0_f32; TOGETHER];
            let mut found = [MASKED; TOGETHER];
            for u in 0..TOGETHER {
                let other = member + u as u32;
                if other < count {
                    let frame = *order.add((first + other) as usize) as usize;
                    models[u] = *measured.add(other as usize * size + pixel);
                    found[u] = *magnitudes.add(frame * size + pixel);
                }
            }
            for u in 0..TOGETHER {
                let (magnitude, model) = (found[u], f64::from(models[u]));
                let light = model - dark;
                if magnitude >= 0.0 {
                    let counts = f64::from(magnitude) * f64::from(magnitude);
                    let (r, weight) = (counts - model, 1.0 / (model + floor));
                    own[0] += 1.0;
                    own[1] += weight;
                    own[2] += light * weight;
                    own[3] += light * light * weight;
                    own[4] += r * weight;
                    own[5] += r * light * weight;
                    own[6] += r * r * weight;
                    own[7] += counts;
                    own[8] += light;
                } else if magnitude <= FREE {
                    let root = f64::from(FREE - magnitude);
                    let counts = root * root;
                    own[SEEN] += 1.0;
                    own[SEEN + 1] += counts;
                    own[SEEN + 2] += light;
                    own[SEEN + 3] += light * light;
                    own[SEEN + 4] += counts * light;
                    own[SEEN + 5] += counts * counts;
                }
            }
            member += TOGETHER as u32;
        }
        for term in 0..TERMS {
            *sums.add(term * size + pixel) = own[term];
        }
    }
}
