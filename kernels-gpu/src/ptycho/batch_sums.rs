//! The sums of a batch on the object and on the probe, one launch: `Σ conj(P) χ` and `Σ |P|²` by tiles of the object,
//! `Σ conj(O) χ` and `Σ |O|²` by pixels of the probe; and the largest weights. Without atomics but for the maxima, whose
//! order does not matter: the same bits every time. One mode at whole
//! pixels is the same P for all frames; shifted probes are those of each frame, and the sums on the probe are then those of
//! the spectra that the frames' kernels have left.
//!
//! The frames of a batch are in four shares, each summed apart; their sums are added in pairs. So a device that has one or two of the shares
//! computes the sums of those with the same bits as one that has all four.
//!
//! A tile of the object is as in `object_direction`. Of the probe a block has 32 consecutive pixels, each share two of its 8 warps,
//! of which one has every second frame, and adds the warps' sums in this order. Reads χ twice, 16 bytes per pixel of the batch, from the L2
//! cache if the batch is small; writes 12 bytes per pixel of the probe, and of the object within the batch's bounds, which
//! every block finds for itself, unless they are given. Block of 32 × 8, as `object_direction`.

use super::batch_bounds::{Bounds, bounds_of};
use super::batch_shares::{SHARES, ShareEnds, ShareSums, StoredShareSums};
use super::frame_chi::range_of;
use super::pie_pass::{OBJECT, PROBE};
use super::tile_frames::{TILE_COLUMNS, TILE_ROWS};
use warpstride_device::prelude::*;

const THREADS: u32 = TILE_ROWS * TILE_COLUMNS;
const WARPS: u32 = THREADS / 32;
/// Warps that sum the frames of a share.
const TEAM: u32 = WARPS / SHARES as u32;
/// The bit of a listed frame's number from which on its share is.
const SHARE_BIT: u32 = 30;
/// Frames of a thread that are loaded together.
const TOGETHER: usize = 8;

/// What both sums read.
struct Batch {
    chi: *const Complex32,
    probe: *const Complex32,
    /// From a frame's probe to the next one's.
    probe_stride: usize,
    spectra: *const Complex32,
    object: *const Complex32,
    corners: *const [u32; 2],
    /// Frames of the batch.
    order: *const u32,
    count: u32,
    /// Where the shares of the batch end.
    ends: ShareEnds,
    modes: u32,
    rows: u32,
    columns: u32,
    object_columns: u32,
}

/// Keeps the largest weight of the block in `largest`.
#[inline(always)]
unsafe fn keep_largest(largest: *mut u32, weight: f32) {
    let most = reduce::block_max(weight);
    if thread::index_in_block() == 0 {
        atomic::max_u32(largest, most.to_bits());
    }
}

/// The sums of one pixel of a tile, and whether any frame touches the tile. `ended` has space for each thread of the block.
#[inline(always)]
unsafe fn tile_sums(
    of: &Batch,
    ended: *mut [[f32; 3]; 2],
    first_row: u32,
    first_column: u32,
) -> (Complex32, f32, bool) {
    // The listed frames: number in the batch and its share, top, left.
    let kept = shared_array![[u32; 3]; THREADS as usize];
    let counts = shared_array![u32; WARPS as usize];
    let thread_index = thread::index_in_block();
    let pixels = (of.rows * of.columns) as usize;
    let row = first_row + thread::thread_idx_y();
    let column = first_column + thread::thread_idx_x();
    let mut sums = StoredShareSums::new(ended.add(thread_index as usize));
    let mut touched = false;
    let mut base = 0;
    while base < of.count {
        let member = base + thread_index;
        let mut corner = [0, 0];
        let mut touches = false;
        if member < of.count {
            corner = *of.corners.add(*of.order.add(member as usize) as usize);
            touches = corner[0] < first_row + TILE_ROWS
                && corner[0] + of.rows > first_row
                && corner[1] < first_column + TILE_COLUMNS
                && corner[1] + of.columns > first_column;
        }
        let votes = warp::ballot(warp::FULL, touches);
        if warp::lane_id() == 0 {
            *counts.add(warp::warp_id() as usize) = votes.count_ones();
        }
        thread::sync_threads();
        let (mut before, mut total) = (0, 0);
        for w in 0..WARPS as usize {
            if w == warp::warp_id() as usize {
                before = total;
            }
            total += *counts.add(w);
        }
        if touches {
            let lower = votes & ((1 << warp::lane_id()) - 1);
            let place = before + lower.count_ones();
            let share = of.ends.share_of(member);
            *kept.add(place as usize) = [member | (share << SHARE_BIT), corner[0], corner[1]];
        }
        thread::sync_threads();
        touched |= total > 0;
        // Of a frame one mode after the other, so that the order of a share's terms does not depend on the frames before it.
        let (mut k, mut mode) = (0, 0);
        while k < total {
            // Frames beyond the end of the list, or that do not contain the pixel, have weight 0.
            let mut p = [Complex32::ZERO; TOGETHER];
            let mut wave = [Complex32::ZERO; TOGETHER];
            let mut inside = [0.0; TOGETHER];
            // Two bits for each.
            let mut shares = 0_u32;
            for u in 0..TOGETHER {
                let [listed, top, left] = *kept.add(k.min(total - 1) as usize);
                let member = listed & ((1 << SHARE_BIT) - 1);
                // A negative difference wraps to a large number.
                let (r, c) = (row.wrapping_sub(top), column.wrapping_sub(left));
                let mut at = mode as usize * pixels;
                if k < total && r < of.rows && c < of.columns {
                    inside[u] = 1.0;
                    at += (r * of.columns + c) as usize;
                }
                p[u] = *of.probe.add(member as usize * of.probe_stride + at);
                wave[u] = *of
                    .chi
                    .add(member as usize * of.modes as usize * pixels + at);
                shares |= (listed >> SHARE_BIT) << (2 * u);
                mode += 1;
                if mode == of.modes {
                    (k, mode) = (k + 1, 0);
                }
            }
            for u in 0..TOGETHER {
                sums.go_on_to((shares >> (2 * u)) & 3);
                let p = p[u].scale(inside[u]);
                sums.numerator = p.conj_mul_add(wave[u], sums.numerator);
                sums.weight += p.norm_sqr();
            }
        }
        thread::sync_threads();
        base += THREADS;
    }
    let (numerator, weight) = sums.total();
    (numerator, weight, touched)
}

/// The places of a batch, whose shares end at `ends`, that the thread's warp has: the first one, after which it has every [`TEAM`]th, and the
/// end of its share.
#[inline(always)]
fn of_warp(ends: [u32; SHARES]) -> (u32, u32) {
    let (share, place) = (thread::thread_idx_y() / TEAM, thread::thread_idx_y() % TEAM);
    let (mut from, mut to) = (0, ends[0]);
    for k in 1..SHARES {
        if share >= k as u32 {
            (from, to) = (ends[k - 1], ends[k]);
        }
    }
    (from + place, to)
}

/// The sums of one pixel of the probe, of the thread's warp's frames.
#[inline(always)]
unsafe fn probe_sums(of: &Batch, pixel: u32) -> (Complex32, f32) {
    let (row, column) = (pixel / of.columns, pixel % of.columns);
    let pixels = (of.rows * of.columns) as usize;
    let window = of
        .object
        .add(row as usize * of.object_columns as usize + column as usize);
    let mut sum = Complex32::ZERO;
    let mut weight = 0.0;
    let (mut member, end) = of_warp(of.ends.load());
    while member < end {
        let mut o = [Complex32::ZERO; TOGETHER];
        let mut wave = [Complex32::ZERO; TOGETHER];
        let mut there = [0.0; TOGETHER];
        for u in 0..TOGETHER {
            let next = member + u as u32 * TEAM;
            if next < end {
                there[u] = 1.0;
            }
            let next = next.min(end - 1) as usize;
            let [top, left] = *of.corners.add(*of.order.add(next) as usize);
            o[u] = *window.add(top as usize * of.object_columns as usize + left as usize);
            wave[u] = *of.chi.add(next * pixels + pixel as usize);
        }
        for u in 0..TOGETHER {
            let o = o[u].scale(there[u]);
            sum = o.conj_mul_add(wave[u], sum);
            weight += o.norm_sqr();
        }
        member += TOGETHER as u32 * TEAM;
    }
    (sum, weight)
}

/// The sum of one pixel of the spectra of a mode, and the weight of one of the probe, of the thread's warp's slices and
/// frames.
#[inline(always)]
unsafe fn spectrum_sums(of: &Batch, slices: u32, mode: u32, pixel: u32) -> (Complex32, f32) {
    let (row, column) = (pixel / of.columns, pixel % of.columns);
    let pixels = (of.rows * of.columns) as usize;
    let spectra = of.spectra.add(mode as usize * pixels + pixel as usize);
    let pixels = of.modes as usize * pixels;
    let window = of
        .object
        .add(row as usize * of.object_columns as usize + column as usize);
    let mut sum = Complex32::ZERO;
    let mut weight = 0.0;
    // Spectra of all frames are in the frames' shares, slices of them in shares of their own.
    let ends = if slices == of.count {
        of.ends.load()
    } else {
        let quarter = slices.div_ceil(SHARES as u32);
        [1, 2, 3, 4].map(|k| (k * quarter).min(slices))
    };
    let (mut member, end) = of_warp(ends);
    while member < end {
        let mut values = [Complex32::ZERO; TOGETHER];
        for u in 0..TOGETHER {
            let next = member + u as u32 * TEAM;
            if next < end {
                values[u] = *spectra.add(next as usize * pixels);
            }
        }
        for value in values {
            sum += value;
        }
        member += TOGETHER as u32 * TEAM;
    }
    let (mut member, end) = of_warp(of.ends.load());
    while member < end {
        let mut o = [Complex32::ZERO; TOGETHER];
        for u in 0..TOGETHER {
            let next = member + u as u32 * TEAM;
            if next < end {
                let [top, left] = *of.corners.add(*of.order.add(next as usize) as usize);
                o[u] = *window.add(top as usize * of.object_columns as usize + left as usize);
            }
        }
        for o in o {
            weight += o.norm_sqr();
        }
        member += TOGETHER as u32 * TEAM;
    }
    (sum, weight)
}

/// For the frames `order[first..first + count]`, (first, count) = `ranges[batch]`, count at most `most`: `numerators` and
/// `weights` (row, column) on the object if `updates` has the bit [`OBJECT`], `sums` and `probe_weights` (row, column) on
/// the probe if it has [`PROBE`]; the numerators are multiplied by `scale`. Sums on the object are written for the tiles within
/// `bounds` (top, left, bottom, right), which become those of the batch's windows, or with `whole` not 0 those of the object, or otherwise, if some are given, `given_bounds[batch]`. `largest` (object, probe), which must be 0
/// before, become the bits of the largest weights. With `probes` = 1 all frames have the same probe, with `most` each of the
/// batch its own. With `slices` = 0 there is one mode, and `spectra` are not read; otherwise `sums` are those of the first
/// min(`slices`, count) of them. `share_ends[batch]` has the places in the batch where its shares end. Other combinations do nothing.
#[kernel(block = (32, 8), min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_batch_sums(
    #[len(object_rows * object_columns)] numerators: *mut Complex32,
    #[len(object_rows * object_columns)] weights: *mut f32,
    #[len(modes * rows * columns)] sums: *mut Complex32,
    #[len(rows * columns)] probe_weights: *mut f32,
    #[len(2)] largest: *mut u32,
    #[len(1)] bounds: *mut [u32; 4],
    #[len(probes * modes * rows * columns)] probe: *const Complex32,
    #[len(slices * modes * rows * columns)] spectra: *const Complex32,
    #[len(most * modes * rows * columns)] chi: *const Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    #[len(batches)] ranges: *const [u32; 2],
    #[len(batches)] share_ends: *const [u32; SHARES],
    #[len(given)] given_bounds: *const [u32; 4],
    frames: u32,
    most: u32,
    batches: u32,
    batch: u32,
    probes: u32,
    slices: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    updates: u32,
    given: u32,
    whole: u32,
    scale: f32,
) {
    let incomplete = (probes != 1 && probes < most) || (slices == 0 && modes > 1);
    if batch >= batches || columns == 0 || object_columns == 0 || modes == 0 || incomplete {
        return;
    }
    let (first, count) = range_of(ranges, batch, frames, most);
    let of = Batch {
        chi,
        probe,
        probe_stride: if probes > 1 {
            (modes * rows * columns) as usize
        } else {
            0
        },
        spectra,
        object,
        corners,
        order: order.add(first as usize),
        count,
        ends: ShareEnds {
            ends: share_ends.add(batch as usize),
            count,
        },
        modes,
        rows,
        columns,
        object_columns,
    };
    let partial = shared_array![Complex32; THREADS as usize];
    let partial_weights = shared_array![f32; THREADS as usize];
    let ended = shared_array![[[f32; 3]; 2]; THREADS as usize];
    let pixels = rows * columns;
    let groups = pixels.div_ceil(32).max(1);
    let layers = groups * modes;
    let within = if whole == 0 && batch < given {
        Bounds::from_array(*given_bounds.add(batch as usize)).within(object_rows, object_columns)
    } else if whole == 0 {
        let shapes = [[rows, columns], [object_rows, object_columns]];
        bounds_of(corners, of.order, count, shapes[0], shapes[1])
    } else {
        Bounds::whole(object_rows, object_columns)
    };
    if thread::block_idx_x() == 0 && thread::index_in_block() == 0 {
        *bounds = within.to_array();
    }
    let across = within.columns().div_ceil(TILE_COLUMNS).max(1);
    let tiles = (within.bottom - within.top).div_ceil(TILE_ROWS) * across;
    for item in thread::block_stride(layers + tiles) {
        if item < layers {
            if updates & PROBE == 0 {
                continue;
            }
            let mode = item / groups;
            let pixel = 32 * (item % groups) + thread::thread_idx_x();
            let own = pixel.min(pixels - 1);
            let (sum, weight) = if slices > 0 {
                spectrum_sums(&of, slices.min(count), mode, own)
            } else {
                probe_sums(&of, own)
            };
            let place = thread::index_in_block() as usize;
            *partial.add(place) = sum;
            *partial_weights.add(place) = weight;
            thread::sync_threads();
            let mut of_shares = ShareSums::new();
            for w in 0..WARPS {
                let place = (w * 32 + thread::thread_idx_x()) as usize;
                of_shares.go_on_to(w / TEAM);
                of_shares.numerator += *partial.add(place);
                of_shares.weight += *partial_weights.add(place);
            }
            let (sum, weight) = of_shares.total();
            if thread::thread_idx_y() == 0 && pixel < pixels {
                *sums.add((mode * pixels + pixel) as usize) = sum.scale(scale);
                // The same for all modes.
                if mode == 0 {
                    *probe_weights.add(pixel as usize) = weight;
                }
            }
            keep_largest(largest.add(1), weight);
            continue;
        }
        if updates & OBJECT == 0 {
            continue;
        }
        let tile = item - layers;
        let first_row = within.top + tile / across * TILE_ROWS;
        let first_column = within.left + tile % across * TILE_COLUMNS;
        let (numerator, weight, touched) = tile_sums(&of, ended, first_row, first_column);
        let row = first_row + thread::thread_idx_y();
        let column = first_column + thread::thread_idx_x();
        let inside = row < object_rows && column < object_columns;
        if inside {
            let at = row as usize * object_columns as usize + column as usize;
            *numerators.add(at) = numerator.scale(scale);
            *weights.add(at) = weight;
        }
        if touched {
            keep_largest(largest, if inside { weight } else { 0.0 });
        }
    }
}
