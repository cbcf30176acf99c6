//! Directions of conjugate gradients with β of Polak and Ribière, object and probe in one launch.
//!
//! Every block adds up the same few sums in the same order and has β itself, instead of a launch of one block before.
//! A block has one part of the values of object or probe: reads 16 bytes a value, writes 8. Block of 512: as
//! `conjugate_precondition`.

use super::block_parts::{block_sums, part, parts};
use warpstride_device::prelude::*;

/// Values of a thread that are loaded together.
const TOGETHER: usize = 4;

/// Numbers of a search along a line, which the host reads: ⟨g, z⟩, ⟨g_last, z⟩, ⟨g, h⟩, β; the step along the
/// direction, slope and half the second derivative of the regulariser; ⟨g, z⟩ of the last iteration.
pub const SEARCH: usize = 8;
/// The place of β among them.
pub const BETA: usize = 3;
/// The place of the step among them.
pub const STEP: usize = 4;
/// The place of ⟨g, z⟩ of the last iteration among them.
pub const LAST: usize = 7;

/// `direction ← β · direction − descent` of object and probe; with β = 0 whatever it was before. β is `beta`; if that is
/// NaN, (⟨g, z⟩ − ⟨g_last, z⟩)/⟨g, z⟩ of the last iteration, 0 if that is not positive and finite or −z + β h no descent.
/// The sums are those of `sums` (`ptycho_conjugate_precondition`); `search` has the last one and gets them and β. A block
/// has `share` values.
#[kernel(block = 512, min_blocks = 1, hot, f64)]
#[allow(clippy::too_many_arguments, reason = "the arrays of object and probe")]
pub unsafe fn ptycho_conjugate_direction(
    #[len(elements)] direction: *mut Complex32,
    #[len(probe_elements)] probe_direction: *mut Complex32,
    #[len(8)] search: *mut f64,
    #[len(elements)] descent: *const Complex32,
    #[len(probe_elements)] probe_descent: *const Complex32,
    #[len(blocks)] sums: *const [f64; 3],
    blocks: u32,
    share: u32,
    elements: u32,
    probe_elements: u32,
    beta: f32,
) {
    if share == 0 {
        return;
    }
    let mut factor = beta;
    if beta.is_nan() {
        let mut own = [0.0; 3];
        for block in thread::thread_stride(blocks) {
            let of_block = *sums.add(block as usize);
            for n in 0..3 {
                own[n] += of_block[n];
            }
        }
        let [norm, mixed, along] = block_sums(own);
        let found = (norm - mixed) / *search.add(LAST);
        // False for a NaN.
        let descends = found > 0.0 && found < f64::MAX && found * along < norm;
        let found = if descends { found } else { 0.0 };
        factor = found as f32;
        if thread::block_idx_x() == 0 && thread::index_in_block() == 0 {
            *search = norm;
            *search.add(1) = mixed;
            *search.add(2) = along;
            *search.add(BETA) = found;
        }
    }
    let threads = thread::block_threads();
    let lengths = [elements, probe_elements];
    for block in thread::block_stride(parts(share, lengths)) {
        let own = part(block, share, lengths);
        let (to, from) = if own.of_probe {
            (probe_direction, probe_descent)
        } else {
            (direction, descent)
        };
        let mut first = own.from + thread::index_in_block();
        while first < own.to {
            let mut z = [Complex32::ZERO; TOGETHER];
            let mut h = [Complex32::ZERO; TOGETHER];
            for u in 0..TOGETHER {
                // Beyond the end the last value, which is not used.
                let at = (first + u as u32 * threads).min(own.to - 1) as usize;
                z[u] = (*from.add(at)).scale(-1.0);
                if factor != 0.0 {
                    h[u] = *to.add(at);
                }
            }
            for u in 0..TOGETHER {
                let at = first + u as u32 * threads;
                if at < own.to {
                    let mut value = z[u];
                    if factor != 0.0 {
                        value = h[u].scale_add(factor, value);
                    }
                    *to.add(at as usize) = value;
                }
            }
            first += TOGETHER as u32 * threads;
        }
    }
}
