//! Multiplies spectra by the transfer function of free space, for near fields, and shifts each frame's waves back by the fraction of
//! a pixel by which its probe is shifted: times exp(+2πi (k_r f_r/rows + k_c f_c/columns)), the conjugate of the ramp of
//! `shifted_spectra`, k the signed frequencies (that of n/2 is −n/2).
//!
//! A thread processes one element: reads 8 bytes, and 8 of the factors, which all layers share and the L2 cache holds; writes 8;
//! a sine and cosine if frames are between pixels. 8 bytes more for a derivative. Block of 256: the threads are independent.

use super::shifted_spectra::{frequency, ramp};
use warpstride_device::prelude::*;

/// `spectra ← spectra · factors · conj(ramp)`, or with `conjugate` not 0 `spectra · conj(factors) · ramp`, with the same factors
/// (row, column) for every layer, and the ramps of the frames `order[first..first + count]`, each of `modes` layers; layers after
/// them, and all layers with no `frames`, have the ramp 1. `derivative` 1 (rows) or 2 (columns): adds 2πi k/n · `beside`, the
/// derivative by that shift back of the waves whose spectra after this launch are `beside`; 0: none, with `beside_layers` 0.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the frames' fractions and their shapes"
)]
pub unsafe fn ptycho_near_field_factors(
    #[len(layers * rows * columns)] spectra: *mut Complex32,
    #[len(beside_layers * rows * columns)] beside: *const Complex32,
    #[len(rows * columns)] factors: *const Complex32,
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    layers: u32,
    beside_layers: u32,
    derivative: u32,
    conjugate: u32,
) {
    let pixels = rows as usize * columns as usize;
    if pixels == 0 || modes == 0 {
        return;
    }
    let between = first < frames && count <= frames - first;
    for at in thread::grid_stride(layers as usize * pixels) {
        let (layer, pixel) = (at / pixels, at % pixels);
        let (row, column) = (pixel as u32 / columns, pixel as u32 % columns);
        let (r, c) = (frequency(row, rows), frequency(column, columns));
        let mut factor = *factors.add(pixel);
        let member = layer as u32 / modes;
        if between && member < count {
            let frame = *order.add((first + member) as usize);
            factor = factor * ramp([r, c], *fractions.add(frame as usize)).conj();
        }
        if conjugate != 0 {
            factor = factor.conj();
        }
        let mut value = *spectra.add(at) * factor;
        if derivative != 0 && (layer as u32) < beside_layers {
            let by = core::f32::consts::TAU * if derivative == 1 { r } else { c };
            let other = *beside.add(at);
            value += Complex32::new(-other.im * by, other.re * by);
        }
        *spectra.add(at) = value;
    }
}
