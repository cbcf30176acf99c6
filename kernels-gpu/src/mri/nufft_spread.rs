//! NUFFT type 1, first step: spreads samples onto tiles of the fine grid.
//!
//! A block is one warp and processes one subproblem of one image at a time: it owns the tile in shared memory, takes
//! the points one after the other, and writes the tile to a slot of its own. So there are no atomic updates and no
//! barriers beyond the warp, and the order of the sums is fixed.
//!
//! 32 points at a time are prepared, one a lane: record, sample and 3 w polynomials (w + 2 coefficients, from shared
//! memory by broadcast), written to shared memory as (sample × x-weight), y- and z-weights. Then, for each point, the
//! lanes are the w × w cells (x, y) of its footprint, and move along z with all loads before the stores. Meanwhile
//! the next point's weights are loaded, as are the next 32 records and samples.
//!
//! w = 5: a point takes 9 (two axes) or 32 (three) instructions of the warp and 1/32 of about 150 or 250 of the
//! preparation; 2.1 million points on 132 multiprocessors at 1.75 GHz with four instructions a cycle: 0.03 and 0.09
//! ms. Accesses to shared memory have no bank conflicts (`nufft_tile.rs`): 50 or 250 bytes a cycle would suffice.
//! Reads 16 + 8 bytes a point (the samples in arbitrary order: a sector of 32 each), writes a slot a subproblem: 3.2
//! or 23 KB.
//!
//! Block of 32, because each warp has its own tile.

use super::nufft_tile::slot_cells;
use super::nufft_tile::{NufftPoint, NufftSubproblem, TileLayout, terms};
use warpstride_device::prelude::*;

const LANES: usize = warp::SIZE as usize;
/// Points prepared together, and one that the prefetch may touch. Odd, so that a column of weights lies in different
/// banks.
const COLUMN: usize = LANES + 1;

/// Shared memory of a block.
struct SharedMemory {
    tile: *mut Complex32,
    /// (piece, point): sample × weight along x.
    along_x: *mut Complex32,
    /// (piece, point).
    along_y: *mut f32,
    /// (point, piece / 4): weights along z.
    along_z: *mut F32x4,
    /// (point): where the footprint begins in the tile.
    base: *mut u32,
    /// (piece, power / 4).
    coefficients: *mut F32x4,
}

/// Global memory of a launch.
struct Task {
    slots: *mut Complex32,
    samples: *const Complex32,
    points: *const NufftPoint,
    subproblems: *const NufftSubproblem,
    weights: *const f32,
    coefficients: *const f32,
    count: u32,
    subproblem_count: u32,
    weighted: u32,
    first_image: u32,
    images: u32,
}

/// What a lane needs of one point: for each of its `P` cells (x, y), sample × x-weight and y-weight; the `Z` weights
/// along z.
#[derive(Clone, Copy)]
struct Ready<const P: usize, const Z: usize> {
    base: u32,
    x: [Complex32; P],
    y: [f32; P],
    z: [f32; Z],
}

/// The polynomials of one piece at the arguments of `A` axes. `row` has its coefficients.
#[inline(always)]
unsafe fn weights<const A: usize>(
    row: *const F32x4,
    terms: usize,
    arguments: [f32; A],
) -> [f32; A] {
    let mut sums = [0.0; A];
    for quad in (0..terms.div_ceil(4)).rev() {
        let F32x4(powers) = *row.add(quad);
        for inner in (0..4).rev() {
            if quad * 4 + inner < terms {
                for axis in 0..A {
                    sums[axis] = GpuFloat::mul_add(sums[axis], arguments[axis], powers[inner]);
                }
            }
        }
    }
    sums
}

/// The work of one warp. `P`: cells (x, y) a lane, ⌈W²/32⌉; `Z`: cells along z, 1 or W; `A`: axes.
#[inline(always)]
unsafe fn spread<const W: usize, const P: usize, const Z: usize, const A: usize>(
    task: &Task,
    shared: &SharedMemory,
) {
    let layout = const { TileLayout::new(W as u32, A as u32) };
    let terms = const { terms(W) };
    let quads = terms.div_ceil(4);
    let plane = (layout.pitch * layout.padded[1]) as usize;
    let lane = warp::lane_id() as usize;
    if task.subproblem_count == 0 {
        return;
    }

    for i in thread::thread_stride((W * quads * 4) as u32) {
        let (piece, power) = (i as usize / (quads * 4), i as usize % (quads * 4));
        let value = if power < terms {
            *task.coefficients.add(piece * terms + power)
        } else {
            0.0
        };
        *shared.coefficients.cast::<f32>().add(i as usize) = value;
    }

    for item in thread::block_stride(task.subproblem_count * task.images) {
        let (image, index) = (item / task.subproblem_count, item % task.subproblem_count);
        let subproblem = *task.subproblems.add(index as usize);
        let of_image = (task.first_image + image) as usize * task.count as usize;
        let load = |point: u32| {
            *task
                .points
                .add((subproblem.first + point.min(subproblem.points - 1)) as usize)
        };
        let load_sample = |point: u32, sample: u32| {
            let value = *task.samples.add(of_image + sample as usize);
            if task.weighted != 0 {
                let at = subproblem.first + point.min(subproblem.points - 1);
                value.scale(*task.weights.add(at as usize))
            } else {
                value
            }
        };
        let own = lane as u32;
        let mut point = load(own);
        let mut later = load(own + warp::SIZE);
        let mut value = load_sample(own, point.sample);

        for i in thread::thread_stride(layout.shared_cells() as u32) {
            *shared.tile.add(i as usize) = Complex32::ZERO;
        }

        let mut done = 0;
        while done < subproblem.points {
            // All lanes have finished with the previous 32 points; the tile's zeros and the coefficients are visible.
            warp::sync_warp(warp::FULL);
            prepare::<W, A>(shared, &point, value, &layout, lane);
            warp::sync_warp(warp::FULL);

            done += warp::SIZE;
            value = load_sample(done + own, later.sample);
            point = later;
            later = load(done + warp::SIZE + own);

            let together = (subproblem.points + warp::SIZE - done).min(warp::SIZE) as usize;
            let mut next = ready::<W, P, Z, A>(shared, 0, lane);
            for j in 0..together {
                let now = next;
                next = ready::<W, P, Z, A>(shared, j + 1, lane);
                for p in 0..P {
                    let cell = lane + p * LANES;
                    if cell < W * W {
                        let offset = cell / W * layout.pitch as usize + cell % W;
                        let at = shared.tile.add(now.base as usize + offset);
                        let mut old = [Complex32::ZERO; Z];
                        for z in 0..Z {
                            old[z] = *at.add(z * plane);
                        }
                        let share = now.x[p].scale(now.y[p]);
                        for z in 0..Z {
                            *at.add(z * plane) = share.scale_add(now.z[z], old[z]);
                        }
                    }
                }
                warp::sync_warp(warp::FULL);
            }
        }

        let slot = task.slots.add(item as usize * layout.slot_cells());
        for i in thread::thread_stride(layout.slot_cells() as u32) {
            let (row, x) = (i / layout.slot_pitch, i % layout.slot_pitch);
            let value = if x < layout.padded[0] {
                *shared.tile.add((row * layout.pitch + x) as usize)
            } else {
                Complex32::ZERO
            };
            *slot.add(i as usize) = value;
        }
        warp::sync_warp(warp::FULL);
    }
}

/// Writes a lane's point to shared memory.
#[inline(always)]
unsafe fn prepare<const W: usize, const A: usize>(
    shared: &SharedMemory,
    point: &NufftPoint,
    value: Complex32,
    layout: &TileLayout,
    lane: usize,
) {
    let terms = const { terms(W) };
    let quads = terms.div_ceil(4);
    let mut arguments = [0.0; A];
    for (axis, argument) in arguments.iter_mut().enumerate() {
        *argument = point.argument(axis);
    }
    let mut base = point.cell(0) + point.cell(1) * layout.pitch;
    if A == 3 {
        base += point.cell(2) * layout.pitch * layout.padded[1];
    }
    *shared.base.add(lane) = base;
    let mut along_z = [0.0; 8];
    for piece in 0..W {
        let sums = weights(shared.coefficients.add(piece * quads), terms, arguments);
        *shared.along_x.add(piece * COLUMN + lane) = value.scale(sums[0]);
        *shared.along_y.add(piece * COLUMN + lane) = sums[1];
        if A == 3 {
            along_z[piece] = sums[A - 1];
        }
    }
    if A == 3 {
        let of_z = W.div_ceil(4);
        for quad in 0..of_z {
            let four = [0, 1, 2, 3].map(|inner| along_z[quad * 4 + inner]);
            *shared.along_z.add(lane * of_z + quad) = F32x4(four);
        }
    }
}

/// The weights of prepared point `j`.
#[inline(always)]
unsafe fn ready<const W: usize, const P: usize, const Z: usize, const A: usize>(
    shared: &SharedMemory,
    j: usize,
    lane: usize,
) -> Ready<P, Z> {
    let mut ready = Ready {
        base: *shared.base.add(j),
        x: [Complex32::ZERO; P],
        y: [0.0; P],
        z: [1.0; Z],
    };
    for p in 0..P {
        // Lanes beyond the footprint read its last cell and ignore it.
        let cell = (lane + p * LANES).min(W * W - 1);
        ready.x[p] = *shared.along_x.add(cell % W * COLUMN + j);
        ready.y[p] = *shared.along_y.add(cell / W * COLUMN + j);
    }
    if A == 3 {
        let of_z = W.div_ceil(4);
        for quad in 0..of_z {
            let F32x4(four) = *shared.along_z.add(j * of_z + quad);
            for inner in 0..4 {
                if quad * 4 + inner < Z {
                    ready.z[quad * 4 + inner] = four[inner];
                }
            }
        }
    }
    ready
}

macro_rules! spread_kernels {
    ($($name:ident: $axes:literal axes, width $w:literal, $p:literal $z:literal, $blocks:literal;)*) => {$(
        /// Spreads the samples of images `first_image…first_image + images`: slot (image, subproblem) gets the tile
        /// `Σ φ(cell − point) · sample`, with each sample times its point's weight (in the sorted order) if
        /// `weighted` is 1 (otherwise it is 0).
        #[kernel(block = 32, min_blocks = $blocks, hot)]
        #[allow(clippy::too_many_arguments, reason = "the points, how they are sorted, and what is spread")]
        pub unsafe fn $name(
            #[len(images * heap_count * slot_cells($w, $axes))] slots: *mut Complex32,
            #[len((first_image + images) * count)] samples: *const Complex32,
            #[len(count)] points: *const NufftPoint,
            #[len(heap_count)] heaps: *const NufftSubproblem,
            #[len(weighted * count)] weights: *const f32,
            #[len($w * terms($w))] coefficients: *const f32,
            count: u32,
            heap_count: u32,
            weighted: u32,
            first_image: u32,
            images: u32,
        ) {
            const LAYOUT: TileLayout = TileLayout::new($w, $axes);
            const OF_Z: usize = if $axes == 3 { ($w as usize).div_ceil(4) } else { 0 };
            const TERMS: usize = terms($w).div_ceil(4);
            let shared = SharedMemory {
                tile: shared_array![Complex32; LAYOUT.shared_cells()],
                along_x: shared_array![Complex32; $w * COLUMN],
                along_y: shared_array![f32; $w * COLUMN],
                along_z: shared_array![F32x4; OF_Z * COLUMN + 1],
                base: shared_array![u32; COLUMN],
                coefficients: shared_array![F32x4; $w * TERMS],
            };
            let task = Task {
                slots,
                samples,
                points,
                subproblems: heaps,
                weights,
                coefficients,
                count,
                subproblem_count: heap_count,
                weighted,
                first_image,
                images,
            };
            spread::<$w, $p, $z, $axes>(&task, &shared);
        }
    )*};
}

spread_kernels! {
    mri_nufft_spread_2d_w2: 2 axes, width 2, 1 1, 24;
    mri_nufft_spread_2d_w3: 2 axes, width 3, 1 1, 24;
    mri_nufft_spread_2d_w4: 2 axes, width 4, 1 1, 24;
    mri_nufft_spread_2d_w5: 2 axes, width 5, 1 1, 24;
    mri_nufft_spread_2d_w6: 2 axes, width 6, 2 1, 24;
    mri_nufft_spread_2d_w7: 2 axes, width 7, 2 1, 24;
    mri_nufft_spread_2d_w8: 2 axes, width 8, 2 1, 24;
    mri_nufft_spread_3d_w2: 3 axes, width 2, 1 2, 12;
    mri_nufft_spread_3d_w3: 3 axes, width 3, 1 3, 12;
    mri_nufft_spread_3d_w4: 3 axes, width 4, 1 4, 10;
    mri_nufft_spread_3d_w5: 3 axes, width 5, 1 5, 8;
    mri_nufft_spread_3d_w6: 3 axes, width 6, 2 6, 6;
    mri_nufft_spread_3d_w7: 3 axes, width 7, 2 7, 5;
    mri_nufft_spread_3d_w8: 3 axes, width 8, 2 8, 4;
}
