//! NUFFT type 2, last step: interpolates the samples from the fine grid.
//!
//! A block processes one subproblem of one image at a time. It copies the subproblem's tile to shared memory; then w
//! lanes share a point: lane dx evaluates its piece of the polynomials for all axes (coefficients in registers), gets
//! the other weights along y and z by shuffles, adds its w (two axes) or w² (three) cells, and the lanes' sums are
//! added by a tree. The weights are those of `nufft_spread.rs`, so that the two kernels are adjoint up to rounding.
//!
//! w = 5: a warp processes six points with about 80 (two axes) or 170 (three) instructions. A row of w cells lies in
//! neighbouring banks, and six points take about four passes instead of the two that their 16-byte halves need: 3 or
//! 17 passes over shared memory a point; 2.1 million points on 132 multiprocessors at 1.75 GHz: 0.03 or 0.15 ms.
//! Reads the padded tile once a subproblem (3.1 or 23 KB, the borders from L2) and 16 bytes a point, writes 8 (a
//! sector of 32 if samples are in arbitrary order).
//!
//! Block of 128: nine tiles of 24 KB on a multiprocessor make 36 warps.

use super::nufft_tile::own_cells;
use super::nufft_tile::{NufftPoint, NufftSubproblem, TileLayout, terms};
use warpstride_device::prelude::*;

/// Global memory of a launch.
struct Task {
    samples: *mut Complex32,
    fine: *const Complex32,
    points: *const NufftPoint,
    subproblems: *const NufftSubproblem,
    coefficients: *const f32,
    count: u32,
    subproblem_count: u32,
    tiles: [u32; 3],
    first_image: u32,
    images: u32,
}

/// The work of one block. `Z`: cells along z, 1 or W; `T`: terms of a polynomial; `A`: axes.
#[inline(always)]
unsafe fn interpolate<const W: usize, const Z: usize, const T: usize, const A: usize>(
    task: &Task,
    tile: *mut Complex32,
) {
    let layout = const { TileLayout::new(W as u32, A as u32) };
    let lane = warp::lane_id();
    let width = W as u32;
    let groups = const { warp::SIZE / W as u32 };
    let (group, piece) = (lane / width, lane % width);
    let leader = group * width;
    if task.subproblem_count == 0 {
        return;
    }
    let fine: [u32; 3] = core::array::from_fn(|axis| task.tiles[axis] * layout.own[axis]);
    let fine_cells = fine[0] as usize * fine[1] as usize * fine[2] as usize;

    let mut coefficients = [0.0; T];
    for (power, coefficient) in coefficients.iter_mut().enumerate() {
        *coefficient = *task.coefficients.add(piece as usize * T + power);
    }

    for item in thread::block_stride(task.subproblem_count * task.images) {
        let (image, index) = (item / task.subproblem_count, item % task.subproblem_count);
        let subproblem = *task.subproblems.add(index as usize);
        let from = task.fine.add(image as usize * fine_cells);
        for i in thread::thread_stride(layout.padded.iter().product()) {
            let (x, rest) = (i % layout.padded[0], i / layout.padded[0]);
            let (y, z) = (rest % layout.padded[1], rest / layout.padded[1]);
            let cell = [x, y, z];
            let mut at = 0;
            for axis in [2, 1, 0] {
                // No axis is shorter than a tile, so one subtraction is enough.
                let place = subproblem.origin[axis] + cell[axis];
                let place = if place < fine[axis] {
                    place
                } else {
                    place - fine[axis]
                };
                at = at * fine[axis] as usize + place as usize;
            }
            *tile.add((rest * layout.pitch + x) as usize) = *from.add(at);
        }
        thread::sync_threads();

        let step = thread::block_threads() / warp::SIZE * groups;
        let mut first = warp::warp_id() * groups;
        while first < subproblem.points {
            let number = first + group;
            let point = *task
                .points
                .add((subproblem.first + number.min(subproblem.points - 1)) as usize);
            let mut own = [0.0; A];
            for (axis, weight) in own.iter_mut().enumerate() {
                let argument = point.argument(axis);
                for power in (0..T).rev() {
                    *weight = GpuFloat::mul_add(*weight, argument, coefficients[power]);
                }
            }
            let mut along_y = [0.0; W];
            for (other, weight) in along_y.iter_mut().enumerate() {
                *weight = warp::shuffle_idx(warp::FULL, own[1], leader + other as u32);
            }
            let mut along_z = [1.0; Z];
            let mut base = point.cell(0) + point.cell(1) * layout.pitch + piece;
            if A == 3 {
                for (other, weight) in along_z.iter_mut().enumerate() {
                    *weight = warp::shuffle_idx(warp::FULL, own[A - 1], leader + other as u32);
                }
                base += point.cell(2) * layout.pitch * layout.padded[1];
            }
            let cells = tile.add(base as usize);
            let mut sum = Complex32::ZERO;
            for (z, weight) in along_z.iter().enumerate() {
                let mut plane = Complex32::ZERO;
                for (y, weight) in along_y.iter().enumerate() {
                    let row = z * layout.padded[1] as usize + y;
                    plane = (*cells.add(row * layout.pitch as usize)).scale_add(*weight, plane);
                }
                sum = plane.scale_add(*weight, sum);
            }
            let mut sum = sum.scale(own[0]);
            let mut left = width;
            while left > 1 {
                let half = left.div_ceil(2);
                let other = warp::shuffle_down(warp::FULL, sum, half);
                if piece + half < left {
                    sum += other;
                }
                left = half;
            }
            if piece == 0 && group < groups && number < subproblem.points {
                let at = (task.first_image + image) as usize * task.count as usize;
                *task.samples.add(at + point.sample as usize) = sum;
            }
            first += step;
        }
        thread::sync_threads();
    }
}

macro_rules! interpolate_kernels {
    ($($name:ident: $axes:literal axes, width $w:literal, $z:literal, $blocks:literal;)*) => {$(
        /// Samples of images `first_image…first_image + images` from their fine grids: `Σ φ(cell − point) · fine` at
        /// every point.
        #[kernel(block = 128, min_blocks = $blocks, hot)]
        #[allow(clippy::too_many_arguments, reason = "the points, how they are sorted, and the grid")]
        pub unsafe fn $name(
            #[len((first_image + images) * count)] samples: *mut Complex32,
            #[len(images * tiles_x * tiles_y * tiles_z * own_cells($axes))] fine: *const Complex32,
            #[len(count)] points: *const NufftPoint,
            #[len(heap_count)] heaps: *const NufftSubproblem,
            #[len($w * terms($w))] coefficients: *const f32,
            count: u32,
            heap_count: u32,
            tiles_x: u32,
            tiles_y: u32,
            tiles_z: u32,
            first_image: u32,
            images: u32,
        ) {
            const LAYOUT: TileLayout = TileLayout::new($w, $axes);
            let tile = shared_array![Complex32; LAYOUT.shared_cells()];
            let task = Task {
                samples,
                fine,
                points,
                subproblems: heaps,
                coefficients,
                count,
                subproblem_count: heap_count,
                tiles: [tiles_x, tiles_y, tiles_z],
                first_image,
                images,
            };
            interpolate::<$w, $z, { terms($w) }, $axes>(&task, tile);
        }
    )*};
}

interpolate_kernels! {
    mri_nufft_interpolate_2d_w2: 2 axes, width 2, 1, 8;
    mri_nufft_interpolate_2d_w3: 2 axes, width 3, 1, 8;
    mri_nufft_interpolate_2d_w4: 2 axes, width 4, 1, 8;
    mri_nufft_interpolate_2d_w5: 2 axes, width 5, 1, 8;
    mri_nufft_interpolate_2d_w6: 2 axes, width 6, 1, 8;
    mri_nufft_interpolate_2d_w7: 2 axes, width 7, 1, 8;
    mri_nufft_interpolate_2d_w8: 2 axes, width 8, 1, 8;
    mri_nufft_interpolate_3d_w2: 3 axes, width 2, 2, 8;
    mri_nufft_interpolate_3d_w3: 3 axes, width 3, 3, 8;
    mri_nufft_interpolate_3d_w4: 3 axes, width 4, 4, 8;
    mri_nufft_interpolate_3d_w5: 3 axes, width 5, 5, 6;
    mri_nufft_interpolate_3d_w6: 3 axes, width 6, 6, 6;
    mri_nufft_interpolate_3d_w7: 3 axes, width 7, 7, 5;
    mri_nufft_interpolate_3d_w8: 3 axes, width 8, 8, 4;
}
