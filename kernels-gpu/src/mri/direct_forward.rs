//! Samples from images by direct summation: d_m = Σ_x ρ(x) exp(−2πi k_m·x) on a Cartesian grid.
//!
//! The adjoint of `direct_adjoint`, with the same tables. With E = ρ(c+j) + ρ(c−j) and O = ρ(c+j) − ρ(c−j) for the
//! pairs of voxels of a row, where c is the centre of the columns and θ = 2π k_x j, g(m, row) = Σ_j (E cos θ − iO sin
//! θ) is a real matrix product of 2 FMA for a voxel and sample, and d_m = Σ_rows exp(−2πi(k_x c + k_y y + k_z z))
//! g(m, row).
//!
//! A block computes 128 samples of one image and walks through its part of the rows, 64 at a time, and within these
//! through the pairs, 8 at a time: each thread computes the cosines and sines of 4 neighbouring pairs for one sample,
//! and E and O for 2 pairs and rows, in shared memory while the previous tables are summed, 8 samples × 4 rows a
//! thread. After its 64 rows the rows' phases are applied.
//!
//! Lower bound: 2 FMA for a voxel and sample, 128 a clock and multiprocessor; on an H200 (132, 1.83 GHz) 1.55·10¹³
//! pairs/s. In addition there are 4 shared reads of 16 bytes for 64 FMA, the tables (about 90 instructions of 1100
//! for a thread and 8 pairs) and the rows' phases (about 400 for a thread and 64 rows). The image is read once for
//! every 128 samples, from L2. Block of 256 at 128 registers: two on a multiprocessor.

use super::direct_axes::{
    Axes, GROUP, GROUPS, HALF, THREADS, Tile, four, rotated, rotation, rotation_at, share,
};
use warpstride_device::prelude::*;

/// Samples in a block.
pub const SAMPLES: u32 = 128;
/// Rows that are summed together.
pub const ROWS: u32 = GROUP * GROUPS;
/// Pairs whose tables are computed together.
const STEP: u32 = 8;
/// Lines of a table: cosines and sines, or E and O, of each pair.
const LINES: usize = 2 * STEP as usize;
/// Elements of a line of the samples' table.
const WAVES: usize = SAMPLES as usize;
/// Elements of a line of the rows' table: two halves, and 4 for lines to begin in different banks.
const VOXELS: usize = 2 * HALF + 4;
/// Elements of the two tables of one step.
const TABLES: usize = LINES * (WAVES + VOXELS);
/// Samples that a thread sums.
const OWN: usize = 8;
/// Bytes of shared memory: the tables of two steps, the threads' sums over the rows so far, and the samples' turns
/// and steps along y.
const SHARED: usize = 4 * 2 * TABLES + 8 * OWN * THREADS as usize + 24 * WAVES;

/// Writes the sums over each part of the rows of `values` (image, slice, row, column) to `out` (part, image, sample).
/// `turns`, `steps`, `hardware` as in `direct_adjoint`.
#[kernel(block = (32, 8), min_blocks = 2, hot, shared = SHARED)]
#[allow(
    clippy::too_many_arguments,
    reason = "two arrays, a trajectory and a grid"
)]
pub unsafe fn mri_direct_forward(
    #[len(parts * images * samples)] out: *mut Complex32,
    #[len(images * slices * rows * columns)] values: *const Complex32,
    #[len(samples)] turns: *const U32x4,
    #[len(samples)] steps: *const F32x4,
    samples: u32,
    images: u32,
    slices: u32,
    rows: u32,
    columns: u32,
    parts: u32,
    hardware: u32,
) {
    let tables: *mut f32 = shared::dynamic_shared_mem();
    let kept: *mut Complex32 = tables.add(2 * TABLES).cast();
    let block_turns: *mut U32x4 = kept.add(OWN * THREADS as usize).cast();
    let block_steps: *mut Complex32 = block_turns.add(WAVES).cast();
    let axes = Axes {
        slices,
        rows,
        columns,
    };
    let groups = slices as usize * axes.groups() as usize;
    let row_tiles = groups.div_ceil(GROUPS as usize);
    let sample_tiles = samples.div_ceil(SAMPLES);
    let tiles = sample_tiles as usize * images as usize * parts as usize;
    let voxels = slices as usize * rows as usize * columns as usize;
    if tiles.max(voxels) >= ABSENT as usize || parts == 0 || sample_tiles == 0 {
        return;
    }
    let own = thread::index_in_block();
    let place = Tile::of_thread();
    let pair_steps = axes.pairs().div_ceil(STEP);
    // (part, image, first sample) of a tile: computed again where it is needed, because the sums take the registers.
    let place_of = |tile: u32| {
        let (tile, part) = (tile / parts, tile % parts);
        (part, tile / sample_tiles, tile % sample_tiles * SAMPLES)
    };
    for tile in thread::block_stride(tiles as u32) {
        let (part, _, first) = place_of(tile);
        let at = (first + own % SAMPLES).min(samples - 1) as usize;
        let (turns, steps) = (
            mem::load_read_only(turns.add(at)),
            mem::load_read_only(steps.add(at)),
        );
        let [x_re, x_im, y_re, y_im] = steps.0;
        if own < SAMPLES {
            *block_turns.add(own as usize) = turns;
            *block_steps.add(own as usize) = Complex32::new(y_re, y_im);
        }
        let wave = Wave {
            turn: turns.0[0],
            step: Complex32::new(x_re, x_im),
        };
        for i in 0..OWN {
            *kept.add(i * THREADS as usize + own as usize) = Complex32::ZERO;
        }

        let (mut row_tile, end) = share(row_tiles as u32, part, parts);
        while row_tile < end {
            let (_, image, _) = place_of(tile);
            let of_image = values.add(image as usize * voxels);
            let first_group = row_tile as usize * GROUPS as usize;
            let voxels = Voxels::of(of_image, first_group, groups, axes);
            let mut sums = [[Complex32::ZERO; 4]; OWN];
            wave.make(tables, axes, 0, hardware);
            voxels.make(tables, voxels.load(0));
            thread::sync_threads();
            for step in 0..pair_steps {
                let here = step % 2;
                let other = tables.add((1 - here) as usize * TABLES);
                let more = step + 1 < pair_steps;
                let next = voxels.load(step + 1);
                if more {
                    wave.make(other, axes, step + 1, hardware);
                }
                add(&mut sums, tables.add(here as usize * TABLES), place);
                if more {
                    voxels.make(other, next);
                }
                thread::sync_threads();
            }
            let place = Tile {
                x: thread::hidden(place.x),
                y: thread::hidden(place.y),
            };
            // A group that does not exist has sums of zero.
            let group = row_tile as usize * GROUPS as usize + place.y as usize;
            let of_slice = axes.groups().max(1) as usize;
            let (slice, row) = (group / of_slice, group % of_slice * GROUP as usize);
            let at = axes.half_pixels(slice as u32, row as u32);
            let kept = kept.add(place.thread() as usize);
            for (i, of_rows) in sums.iter().enumerate() {
                let sample = sample_of(place.x, i as u32) as usize;
                let phases = rotated(
                    rotation_at(*block_turns.add(sample), at, hardware),
                    *block_steps.add(sample),
                );
                let mut sum = *kept.add(i * THREADS as usize);
                for (phase, row) in phases.iter().zip(of_rows) {
                    sum = phase.conj_mul_add(*row, sum);
                }
                *kept.add(i * THREADS as usize) = sum;
            }
            row_tile += 1;
        }

        thread::sync_threads();
        let (part, image, first) = place_of(thread::hidden(tile));
        let sample = first + own;
        if own < SAMPLES && sample < samples {
            let (x, i) = ((own % 64) / 4, own % 4 + own / 64 * 4);
            let mut sum = Complex32::ZERO;
            for y in 0..GROUPS {
                let thread = Tile { x, y }.thread();
                sum += *kept.add(i as usize * THREADS as usize + thread as usize);
            }
            let of_part = part as usize * images as usize + image as usize;
            *out.add(of_part * samples as usize + sample as usize) = sum;
        }
        thread::sync_threads();
    }
}

/// The i-th of the 8 samples of the threads at `x`, as an index in the block.
#[inline(always)]
fn sample_of(x: u32, i: u32) -> u32 {
    4 * x + i % 4 + i / 4 * 64
}

/// The sample whose cosines and sines a thread computes.
struct Wave {
    turn: u32,
    step: Complex32,
}

impl Wave {
    /// Computes half of the step's pairs.
    #[inline(always)]
    unsafe fn make(&self, tables: *mut f32, axes: Axes, step: u32, hardware: u32) {
        let own = thread::index_in_block();
        let (sample, half) = (own % SAMPLES, own / SAMPLES);
        let pair = step * STEP + half * GROUP;
        let seed = rotation(self.turn.wrapping_mul(axes.offset(pair)), hardware);
        let first = tables.add((half * 2 * GROUP) as usize * WAVES + sample as usize);
        for (i, e) in rotated(seed, self.step).iter().enumerate() {
            *first.add(2 * i * WAVES) = e.re;
            *first.add((2 * i + 1) * WAVES) = e.im;
        }
    }
}

/// Stands for a row that does not exist.
const ABSENT: u32 = u32::MAX;

/// The two rows for which a thread computes E and O, one pair in eight.
struct Voxels {
    image: *const Complex32,
    /// Where the rows begin in the image, or [`ABSENT`].
    rows: [u32; 2],
    pair: u32,
    row: u32,
    axes: Axes,
}

impl Voxels {
    #[inline(always)]
    unsafe fn of(image: *const Complex32, first_group: usize, groups: usize, axes: Axes) -> Self {
        let own = thread::index_in_block();
        let row = own / STEP;
        let mut rows = [ABSENT; 2];
        for i in 0..2 {
            let row = row as usize + i * ROWS as usize / 2;
            let group = first_group + row / GROUP as usize;
            if group < groups {
                let of_slice = axes.groups().max(1) as usize;
                let in_slice = group % of_slice * GROUP as usize + row % GROUP as usize;
                if in_slice < axes.rows as usize {
                    let row = group / of_slice * axes.rows as usize + in_slice;
                    rows[i] = (row * axes.columns as usize) as u32;
                }
            }
        }
        Self {
            image,
            rows,
            pair: own % STEP,
            row,
            axes,
        }
    }

    /// The pair's two voxels in each row; 0 where a voxel does not exist.
    #[inline(always)]
    unsafe fn load(&self, step: u32) -> [[Complex32; 2]; 2] {
        let pair = step * STEP + self.pair;
        let mut voxels = [[Complex32::ZERO; 2]; 2];
        if pair < self.axes.pairs() {
            let (above, below) = self.axes.columns_of(pair);
            for i in 0..2 {
                if self.rows[i] != ABSENT {
                    let row = self.image.add(self.rows[i] as usize);
                    voxels[i][0] = mem::load_read_only(row.add(above as usize));
                    if below != above {
                        voxels[i][1] = mem::load_read_only(row.add(below as usize));
                    }
                }
            }
        }
        voxels
    }

    /// Puts E into the cosine's line and −iO into the sine's; real parts in the first half.
    #[inline(always)]
    unsafe fn make(&self, tables: *mut f32, voxels: [[Complex32; 2]; 2]) {
        let line = tables.add(LINES * WAVES + 2 * self.pair as usize * VOXELS);
        for (i, [above, below]) in voxels.iter().enumerate() {
            let (even, odd) = (*above + *below, *above - *below);
            let at = line.add(self.row as usize + i * ROWS as usize / 2);
            *at = even.re;
            *at.add(HALF) = even.im;
            *at.add(VOXELS) = odd.im;
            *at.add(VOXELS + HALF) = -odd.re;
        }
    }
}

/// Adds the pairs of one step.
#[inline(always)]
unsafe fn add(sums: &mut [[Complex32; 4]; OWN], tables: *const f32, place: Tile) {
    for line in 0..LINES {
        let waves = tables.add(line * WAVES);
        let voxels = tables.add(LINES * WAVES + line * VOXELS);
        let waves = [four(waves, 4 * place.x), four(waves, 64 + 4 * place.x)];
        let re = four(voxels, 4 * place.y);
        let im = four(voxels, HALF as u32 + 4 * place.y);
        for (i, of_rows) in sums.iter_mut().enumerate() {
            let wave = waves[i / 4][i % 4];
            for r in 0..4 {
                of_rows[r].re = GpuFloat::mul_add(wave, re[r], of_rows[r].re);
                of_rows[r].im = GpuFloat::mul_add(wave, im[r], of_rows[r].im);
            }
        }
    }
}
