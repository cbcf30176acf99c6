//! The last step of a probe update: computes values from slices, then applies the support.
//!
//! A thread processes one pixel of one mode: reads 12 bytes a slice, the probe and the support, writes the probe. The
//! slices of a 128 × 128 probe are about 3 MB and come from L2. Block of 256: the threads are independent; each loads eight
//! slices together, because there are too few of them to wait for one after the other (14 µs with 25 slices of 128²).

use warpstride_device::prelude::*;

/// Slices that a thread loads together.
const TOGETHER: u32 = 8;

/// `P ← support · [weight · P + Σ numerators] / [weight + Σ denominators]`, slices in their order; if `incremental` is
/// not 0, `P ← support · (P + Σ numerators / [weight + Σ denominators])`.
/// Slices of several `devices`, which have every `devices`th of them, are in the order (device, slice of the device). Does nothing while `*gate` is not 0.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_probe_finish(
    #[len(modes * pixels)] probe: *mut Complex32,
    #[len(slices * modes * pixels)] numerators: *const Complex32,
    #[len(slices * pixels)] denominators: *const f32,
    #[len(pixels)] support: *const f32,
    #[len(1)] gate: *const u32,
    modes: u32,
    pixels: u32,
    slices: u32,
    weight: f32,
    incremental: u32,
    devices: u32,
) {
    if *gate != 0 || pixels == 0 || devices == 0 {
        return;
    }
    let of_device = slices / devices;
    let layer = modes as usize * pixels as usize;
    for at in thread::grid_stride(layer) {
        let pixel = at % pixels as usize;
        let mut numerator = Complex32::ZERO;
        let mut denominator = weight;
        let mut first = 0;
        while first < slices {
            let mut loaded = [(Complex32::ZERO, 0.0); TOGETHER as usize];
            for u in 0..TOGETHER {
                if first + u < slices {
                    let slice = first + u;
                    let slice = (slice % devices * of_device + slice / devices) as usize;
                    loaded[u as usize] = (
                        *numerators.add(slice * layer + at),
                        *denominators.add(slice * pixels as usize + pixel),
                    );
                }
            }
            for (one, weight) in loaded {
                numerator += one;
                denominator += weight;
            }
            first += TOGETHER;
        }
        let mut value = *probe.add(at);
        if denominator > 0.0 {
            let change = numerator.scale(1.0 / denominator);
            value = if incremental != 0 {
                value + change
            } else {
                value.scale_add(weight, numerator).scale(1.0 / denominator)
            };
        }
        *probe.add(at) = value.scale(*support.add(pixel));
    }
}
