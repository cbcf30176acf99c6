//! Changes the shapes of the probe's variations by the sums of a batch.
//!
//! A thread processes one pixel of one shape: reads 28 bytes, and the coefficients of the batch from the caches; writes 16. Block
//! of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `change = momentum · change + part · steps[1] · sums/√((w p_k)² + δ²)` and `shapes += change`, with the weight w, p_k the
/// mean of c_jk² over the frames `order[first..first + count]`, and δ = `floor` · `strongest` · the largest weight (its bits in `largest`).
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_variation_advance(
    #[len(variations * pixels)] shapes: *mut Complex32,
    #[len(variations * pixels)] changes: *mut Complex32,
    #[len(variations * pixels)] sums: *const Complex32,
    #[len(pixels)] weights: *const f32,
    #[len(1)] largest: *const u32,
    #[len(2)] steps: *const f32,
    #[len(frames * variations)] coefficients: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    variations: u32,
    pixels: u32,
    strongest: f32,
    floor: f32,
    momentum: f32,
    part: f32,
) {
    if pixels == 0 || count == 0 || first >= frames || count > frames - first {
        return;
    }
    let floor = f32::from_bits(*largest) * strongest * floor;
    let factor = part * *steps.add(1);
    for at in thread::grid_stride(variations as usize * pixels as usize) {
        let (k, pixel) = (at / pixels as usize, at % pixels as usize);
        let mut power = 0.0;
        for member in 0..count {
            let frame = *order.add((first + member) as usize) as usize;
            let c = *coefficients.add(frame * variations as usize + k);
            power = c.mul_add(c, power);
        }
        let own = *weights.add(pixel) * power / count as f32;
        let divisor = GpuFloat::sqrt(own.mul_add(own, floor * floor));
        let mut change = (*changes.add(at)).scale(momentum);
        if divisor > 0.0 {
            change += (*sums.add(at)).scale(factor / divisor);
        }
        *changes.add(at) = change;
        *shapes.add(at) += change;
    }
}
