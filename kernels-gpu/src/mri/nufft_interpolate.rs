//! NUFFT type 2, last step: the samples interpolated from the fine grid.
//!
//! A block does one heap of points of one image at a time and copies the heap's tile into shared
//! memory, several loads of a thread under way together. The weights are those of `nufft_spread.rs`,
//! so that the two are adjoint to rounding.
//!
//! Two axes: a thread does a point, with all weights in registers. The points are sorted by their
//! cells, so that most threads of a warp look at the same few cells. w = 5: 175 instructions a point and
//! thread; 25 loads in two or three passes over shared memory each: 2.1 million points on 132
//! multiprocessors at 1.75 GHz, 0.02 ms.
//!
//! Three axes: w lanes share a point. Lane dx evaluates its piece of the polynomials for all axes
//! (coefficients in registers), gets the others' weights along y and z by shuffles, adds up its w² cells,
//! and the lanes' sums are added by a tree. A row of w cells lies in neighbouring banks, and w = 5's six
//! points of a warp meet in about four passes: 17 a point, with a thread a point it would be 24. 0.15 ms.
//!
//! Reads the padded tile once a heap (3.1 or 23 KB, the borders from L2) and 16 bytes a point, writes 8
//! (a sector of 32 where samples are in any order). Block of 128: six tiles of 24 KB on a
//! multiprocessor make 24 warps.

#[cfg(not(target_arch = "nvptx64"))]
use super::nufft_tile::own_cells;
use super::nufft_tile::{NufftHeap, NufftPoint, TileLayout, terms};
use super::nufft_weights;
use warpstride_device::prelude::*;

/// Global memory of a launch.
struct Task {
    samples: *mut Complex32,
    fine: *const Complex32,
    points: *const NufftPoint,
    heaps: *const NufftHeap,
    coefficients: *const f32,
    count: u32,
    heap_count: u32,
    tiles: [u32; 3],
    first_image: u32,
    images: u32,
}

/// Copies a padded tile of the periodic fine grid into shared memory; `N` loads of a thread are under
/// way together.
#[inline(always)]
unsafe fn copy_tile<const W: usize, const A: usize, const N: usize>(
    tile: *mut Complex32,
    fine: *const Complex32,
    origin: [u32; 3],
    size: [u32; 3],
) {
    let layout = const { TileLayout::new(W as u32, A as u32) };
    let [columns, rows, slices] = layout.padded;
    let cells = columns * rows * slices;
    let (own, threads) = (thread::index_in_block(), thread::block_threads());
    // No axis is shorter than a tile, so that one step back is enough.
    let wrapped = |place: u32, size: u32| if place < size { place } else { place - size };
    let mut first = own;
    while first < cells + own {
        let mut values = [Complex32::ZERO; N];
        for (n, value) in values.iter_mut().enumerate() {
            let cell = (first + n as u32 * threads).min(cells - 1);
            let (x, row) = (cell % columns, cell / columns);
            let x = wrapped(origin[0] + x, size[0]);
            let y = wrapped(origin[1] + row % rows, size[1]);
            let z = wrapped(origin[2] + row / rows, size[2]);
            let line = z as usize * size[1] as usize + y as usize;
            *value = *fine.add(line * size[0] as usize + x as usize);
        }
        for (n, value) in values.iter().enumerate() {
            let cell = first + n as u32 * threads;
            if cell < cells {
                let (x, row) = (cell % columns, cell / columns);
                *tile.add((row * layout.pitch + x) as usize) = *value;
            }
        }
        first += N as u32 * threads;
    }
}

/// One block's work in two axes: a thread a point.
#[inline(always)]
unsafe fn interpolate_plane<const W: usize>(task: &Task, tile: *mut Complex32, room: *mut F32x4) {
    let layout = const { TileLayout::new(W as u32, 2) };
    if task.heap_count == 0 {
        return;
    }
    let fine: [u32; 3] = core::array::from_fn(|axis| task.tiles[axis] * layout.own[axis]);
    let fine_cells = fine[0] as usize * fine[1] as usize;
    nufft_weights::keep::<W>(task.coefficients, room);
    for item in thread::block_stride(task.heap_count * task.images) {
        let (image, heap_index) = (item / task.heap_count, item % task.heap_count);
        let heap = *task.heaps.add(heap_index as usize);
        let from = task.fine.add(image as usize * fine_cells);
        copy_tile::<W, 2, 4>(tile, from, heap.origin, fine);
        thread::sync_threads();
        for number in thread::thread_stride(heap.points) {
            let point = *task.points.add((heap.first + number) as usize);
            let arguments = [point.argument(0), point.argument(1)];
            let mut along_x = [0.0; W];
            let mut along_y = [0.0; W];
            for (piece, (x, y)) in along_x.iter_mut().zip(&mut along_y).enumerate() {
                [*x, *y] = nufft_weights::at::<W, 2>(room, piece, arguments);
            }
            let cells = tile.add((point.cell(1) * layout.pitch + point.cell(0)) as usize);
            let mut sum = Complex32::ZERO;
            for (row, y) in along_y.into_iter().enumerate() {
                let mut line = Complex32::ZERO;
                for (column, x) in along_x.into_iter().enumerate() {
                    let at = cells.add(row * layout.pitch as usize + column);
                    line = (*at).scale_add(x, line);
                }
                sum = line.scale_add(y, sum);
            }
            let at = (task.first_image + image) as usize * task.count as usize;
            *task.samples.add(at + point.sample as usize) = sum;
        }
        thread::sync_threads();
    }
}

/// One block's work in three axes. `T`: terms of a polynomial.
#[inline(always)]
unsafe fn interpolate_volume<const W: usize, const T: usize>(task: &Task, tile: *mut Complex32) {
    let layout = const { TileLayout::new(W as u32, 3) };
    let lane = warp::lane_id();
    let width = W as u32;
    let groups = const { warp::SIZE / W as u32 };
    let (group, piece) = (lane / width, lane % width);
    let leader = group * width;
    if task.heap_count == 0 {
        return;
    }
    let fine: [u32; 3] = core::array::from_fn(|axis| task.tiles[axis] * layout.own[axis]);
    let fine_cells = fine[0] as usize * fine[1] as usize * fine[2] as usize;

    let mut coefficients = [0.0; T];
    for (power, coefficient) in coefficients.iter_mut().enumerate() {
        *coefficient = *task.coefficients.add(piece as usize * T + power);
    }

    for item in thread::block_stride(task.heap_count * task.images) {
        let (image, heap_index) = (item / task.heap_count, item % task.heap_count);
        let heap = *task.heaps.add(heap_index as usize);
        let from = task.fine.add(image as usize * fine_cells);
        copy_tile::<W, 3, 8>(tile, from, heap.origin, fine);
        thread::sync_threads();

        let step = thread::block_threads() / warp::SIZE * groups;
        let mut first = warp::warp_id() * groups;
        while first < heap.points {
            let number = first + group;
            let point = *task
                .points
                .add((heap.first + number.min(heap.points - 1)) as usize);
            let mut own = [0.0; 3];
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
            let mut along_z = [0.0; W];
            for (other, weight) in along_z.iter_mut().enumerate() {
                *weight = warp::shuffle_idx(warp::FULL, own[2], leader + other as u32);
            }
            let row = point.cell(2) * layout.padded[1] + point.cell(1);
            let base = row * layout.pitch + point.cell(0) + piece;
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
            if piece == 0 && group < groups && number < heap.points {
                let at = (task.first_image + image) as usize * task.count as usize;
                *task.samples.add(at + point.sample as usize) = sum;
            }
            first += step;
        }
        thread::sync_threads();
    }
}

/// The arguments of every kernel here, and its work.
macro_rules! interpolate_kernels {
    ($($name:ident: $axes:literal axes, width $w:literal, $blocks:literal, |$task:ident, $tile:ident| $work:expr;)*) => {$(
        /// Samples of images `first_image…first_image + images` from their fine grids:
        /// `Σ φ(cell − point) · fine` at every point.
        #[kernel(block = 128, min_blocks = $blocks, hot)]
        #[allow(clippy::too_many_arguments, reason = "the points, how they are sorted, and the grid")]
        pub unsafe fn $name(
            #[len((first_image + images) * count)] samples: *mut Complex32,
            #[len(images * tiles_x * tiles_y * tiles_z * own_cells($axes))] fine: *const Complex32,
            #[len(count)] points: *const NufftPoint,
            #[len(heap_count)] heaps: *const NufftHeap,
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
            let $tile = shared_array![Complex32; LAYOUT.shared_cells()];
            let $task = Task {
                samples,
                fine,
                points,
                heaps,
                coefficients,
                count,
                heap_count,
                tiles: [tiles_x, tiles_y, tiles_z],
                first_image,
                images,
            };
            $work
        }
    )*};
}

macro_rules! planes {
    ($($name:ident: width $w:literal;)*) => {
        interpolate_kernels! {$(
            $name: 2 axes, width $w, 8, |task, tile| {
                let room = shared_array![F32x4; $w * nufft_weights::quads($w)];
                interpolate_plane::<$w>(&task, tile, room);
            };
        )*}
    };
}

macro_rules! volumes {
    ($($name:ident: width $w:literal, $blocks:literal;)*) => {
        interpolate_kernels! {$(
            $name: 3 axes, width $w, $blocks, |task, tile| {
                interpolate_volume::<$w, { terms($w) }>(&task, tile);
            };
        )*}
    };
}

planes! {
    mri_nufft_interpolate_2d_w2: width 2;
    mri_nufft_interpolate_2d_w3: width 3;
    mri_nufft_interpolate_2d_w4: width 4;
    mri_nufft_interpolate_2d_w5: width 5;
    mri_nufft_interpolate_2d_w6: width 6;
    mri_nufft_interpolate_2d_w7: width 7;
    mri_nufft_interpolate_2d_w8: width 8;
}

volumes! {
    mri_nufft_interpolate_3d_w2: width 2, 8;
    mri_nufft_interpolate_3d_w3: width 3, 8;
    mri_nufft_interpolate_3d_w4: width 4, 8;
    mri_nufft_interpolate_3d_w5: width 5, 6;
    mri_nufft_interpolate_3d_w6: width 6, 5;
    mri_nufft_interpolate_3d_w7: width 7, 5;
    mri_nufft_interpolate_3d_w8: width 8, 4;
}
