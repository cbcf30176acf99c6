//! The probe's direction of a batch: the spectra of conj(O)·χ, shifted back by each frame's fraction of a pixel, summed
//! over slices of the batch; and `Σ |O|²`.
//!
//! A thread processes one pixel of one mode over the frames of one slice, in order. Reads 8 bytes per pixel and mode
//! of device memory; the object comes from the caches; writes 12 bytes per slice, pixel and mode. Block of 256, as
//! `probe_update_tiled`.

use super::batch_shares::SHARES;
use super::probe_sums::slice_of;
use super::shifted_spectra::{frequency, ramp};
use warpstride_device::prelude::*;

/// `sums` (slice, mode, row, column) and `weights` (slice, row, column) of the frames `order[first..first + count]` in
/// `slices` > 0 slices, or with `apart` not 0, a multiple of 4 slices, a quarter of them for each share of the frames; the first three shares end at places `end_0`, `end_1` and `end_2`
/// of the batch. Added to what is there if `add` is not 0. With `scaled` not 0, values have the roots of the
/// frames' scales as factors and weights the scales. Weights are sums over the `layers` layers of the object.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_probe_direction(
    #[len(slices * modes * rows * columns)] sums: *mut Complex32,
    #[len(slices * rows * columns)] weights: *mut f32,
    #[len(count * modes * rows * columns)] spectra: *const Complex32,
    #[len(layers * object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    slices: u32,
    scaled: u32,
    add: u32,
    apart: u32,
    end_0: u32,
    end_1: u32,
    end_2: u32,
    layers: u32,
) {
    let size = object_rows as usize * object_columns as usize;
    let threads = thread::block_threads();
    if slices == 0 || columns == 0 || modes == 0 || threads == 0 {
        return;
    }
    let pixels = rows * columns;
    let groups = pixels.div_ceil(threads);
    if groups == 0 || first > frames || count > frames - first {
        return;
    }
    for item in thread::block_stride(slices * modes * groups) {
        let (layer, group) = (item / groups, item % groups);
        let (slice, mode) = (layer / modes, layer % modes);
        let pixel = group * threads + thread::index_in_block();
        if pixel >= pixels {
            continue;
        }
        let (row, column) = (pixel / columns, pixel % columns);
        let at_frequency = [frequency(row, rows), frequency(column, columns)];
        let window = row as usize * object_columns as usize + column as usize;
        let (from, to) = if apart == 0 {
            slice_of(count, slices, slice)
        } else {
            let of_share = slices.div_ceil(SHARES as u32);
            let ends = [end_0, end_1, end_2, count];
            let share = (slice / of_share) as usize;
            let (mut start, mut end) = (0, ends[0].min(count));
            for k in 1..SHARES {
                if share >= k {
                    (start, end) = (end, ends[k].clamp(end, count));
                }
            }
            let (from, to) = slice_of(end - start, of_share, slice % of_share);
            (start + from, start + to)
        };
        let mut sum = Complex32::ZERO;
        let mut weight = 0.0;
        for member in from..to {
            let frame = *order.add((first + member) as usize) as usize;
            let layer = (member * modes + mode) as usize * pixels as usize;
            let mut value = *spectra.add(layer + pixel as usize);
            let mut factor = 1.0;
            if scaled != 0 {
                factor = *scales.add(frame);
                value = value.scale(GpuFloat::sqrt(factor));
            }
            sum = ramp(at_frequency, *fractions.add(frame)).conj_mul_add(value, sum);
            if mode == 0 {
                let [top, left] = *corners.add(frame);
                let corner = top as usize * object_columns as usize + left as usize;
                for layer in 0..layers as usize {
                    weight = (*object.add(layer * size + corner + window))
                        .norm_sqr()
                        .mul_add(factor, weight);
                }
            }
        }
        let to = sums.add(layer as usize * pixels as usize + pixel as usize);
        *to = if add != 0 { *to + sum } else { sum };
        if mode == 0 {
            let to = weights.add(slice as usize * pixels as usize + pixel as usize);
            *to = if add != 0 { *to + weight } else { weight };
        }
    }
}
