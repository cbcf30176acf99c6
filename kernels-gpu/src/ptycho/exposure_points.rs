//! The points of the exposures of a batch of a fly scan, as frames of their own: windows, fractions, shares of the light.
//!
//! A thread processes one point: reads 24 bytes, writes 24. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// For the frames `order[first..first + count]` with `points` points each: the window of the frame, its fraction plus (s − (S−1)/2)/S times its
/// path, and 1/S, with `scaled` not 0 times the frame's scale; (frame of the batch, point). `point_order` becomes the numbers from 0 on. With
/// `path_frames` = 1 all frames have the same path; with others than `frames` it does nothing otherwise.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the frames' arrays and those of their points"
)]
pub unsafe fn ptycho_exposure_points(
    #[len(count * points)] point_corners: *mut [u32; 2],
    #[len(count * points)] point_fractions: *mut [f32; 2],
    #[len(count * points)] point_scales: *mut f32,
    #[len(count * points)] point_order: *mut u32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] scales: *const f32,
    #[len(path_frames)] paths: *const [f32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    path_frames: u32,
    first: u32,
    count: u32,
    points: u32,
    scaled: u32,
) {
    let unlike = path_frames != 1 && path_frames != frames;
    if points == 0 || first >= frames || count > frames - first || unlike {
        return;
    }
    let share = 1.0 / points as f32;
    for at in thread::grid_stride(count as usize * points as usize) {
        let (member, point) = (at as u32 / points, at as u32 % points);
        let frame = *order.add((first + member) as usize) as usize;
        let path = *paths.add(if path_frames == 1 { 0 } else { frame });
        let fraction = *fractions.add(frame);
        let part = (point as f32 - 0.5 * (points - 1) as f32) * share;
        let scale = if scaled != 0 { *scales.add(frame) } else { 1.0 };
        *point_corners.add(at) = *corners.add(frame);
        *point_fractions.add(at) = [
            part.mul_add(path[0], fraction[0]),
            part.mul_add(path[1], fraction[1]),
        ];
        *point_scales.add(at) = scale * share;
        *point_order.add(at) = at as u32;
    }
}
