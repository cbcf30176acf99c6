//! Multiplies spectra by the transfer function of free space, for near fields.
//!
//! A thread processes one element: reads 8 bytes, and 8 of the factors, which all layers share and the L2 cache holds; writes 8.
//! Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `spectra ← spectra · factors`, or with `conjugate` not 0 `spectra · conj(factors)`, with the same factors (pixel) for every
/// layer.
#[kernel(block = 256)]
pub unsafe fn ptycho_near_field_factors(
    #[len(layers * pixels)] spectra: *mut Complex32,
    #[len(pixels)] factors: *const Complex32,
    layers: u32,
    pixels: u32,
    conjugate: u32,
) {
    if pixels == 0 {
        return;
    }
    for at in thread::grid_stride(layers as usize * pixels as usize) {
        let factor = *factors.add(at % pixels as usize);
        let factor = if conjugate != 0 {
            factor.conj()
        } else {
            factor
        };
        *spectra.add(at) = *spectra.add(at) * factor;
    }
}
