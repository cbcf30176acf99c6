//! β of conjugate gradients and the step along their direction, computed where the sums behind them are, so that the host
//! does not wait for these.
//!
//! One block of 256 threads, over what some hundred blocks have left.

use warpstride_device::prelude::*;

/// `search` becomes Re⟨g, z⟩, Re⟨g_last, z⟩, Re⟨g, h⟩ and β of Polak and Ribière: (⟨g, z⟩ − ⟨g_last, z⟩)/`last`, 0 if that is not
/// positive and finite or −z + β h no descent. `object` and `probe` have the parts of the sums
/// (`ptycho_conjugate_products`), `last` is ⟨g, z⟩ of the last iteration, NaN if there is none. `factors[0]` becomes β.
#[kernel(block = 256, f64)]
pub unsafe fn ptycho_conjugate_factor(
    #[len(4)] search: *mut f64,
    #[len(2)] factors: *mut f32,
    #[len(blocks)] object: *const [f64; 3],
    #[len(blocks)] probe: *const [f64; 3],
    blocks: u32,
    last: f64,
) {
    if thread::block_idx_x() != 0 {
        return;
    }
    let mut own = [0.0; 3];
    for block in thread::thread_stride(blocks) {
        let (a, b) = (*object.add(block as usize), *probe.add(block as usize));
        for n in 0..3 {
            own[n] += a[n] + b[n];
        }
    }
    let mut total = [0.0; 3];
    for n in 0..3 {
        total[n] = reduce::block_sum_f64(own[n]);
    }
    if thread::index_in_block() == 0 {
        let [norm, mixed, along] = total;
        let beta = (norm - mixed) / last;
        // False for a NaN.
        let descends = beta > 0.0 && beta < f64::MAX && beta * along < norm;
        let beta = if descends { beta } else { 0.0 };
        *search = norm;
        *search.add(1) = mixed;
        *search.add(2) = along;
        *search.add(3) = beta;
        *factors = beta as f32;
    }
}

/// `search` becomes the step along the direction, 0 if the objective does not fall along it, and slope and half the second
/// derivative of the regulariser, whose `weight` is 0 if there is none. `sums` (frame) are slope, half the
/// second derivative and its part that is never negative of the frames' losses, `smoothness` (block) the parts of
/// `ptycho_smoothness_sums`. `factors[1]` becomes the step.
#[kernel(block = 256, f64)]
pub unsafe fn ptycho_line_step(
    #[len(3)] search: *mut f64,
    #[len(2)] factors: *mut f32,
    #[len(frames)] sums: *const [f64; 3],
    #[len(blocks)] smoothness: *const [f32; 2],
    frames: u32,
    blocks: u32,
    weight: f64,
) {
    if thread::block_idx_x() != 0 {
        return;
    }
    let mut own = [0.0; 5];
    for frame in thread::thread_stride(frames) {
        let of_frame = *sums.add(frame as usize);
        for n in 0..3 {
            own[n] += of_frame[n];
        }
    }
    if weight > 0.0 {
        for block in thread::thread_stride(blocks) {
            let [squares, products] = *smoothness.add(block as usize);
            own[3] += f64::from(squares);
            own[4] += f64::from(products);
        }
    }
    let mut total = [0.0; 5];
    for n in 0..5 {
        total[n] = reduce::block_sum_f64(own[n]);
    }
    if thread::index_in_block() == 0 {
        let [slope, whole, bent, squares, products] = total;
        let (smooth_slope, smooth_bent) = (-2.0 * weight * products, weight * squares);
        let slope = slope + smooth_slope;
        let whole = whole + smooth_bent;
        let curvature = if whole > 0.0 {
            whole
        } else {
            bent + smooth_bent
        };
        let step = -0.5 * slope / curvature;
        // False for a NaN.
        let falls = slope < 0.0 && curvature > 0.0 && step > 0.0 && step < f64::MAX;
        let step = if falls { step } else { 0.0 };
        *search = step;
        *search.add(1) = smooth_slope;
        *search.add(2) = smooth_bent;
        *factors.add(1) = step as f32;
    }
}
