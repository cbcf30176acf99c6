//! Images from samples by direct summation: ρ(x) = Σ_m d_m exp(+2πi k_m·x) on a Cartesian grid.
//!
//! The exponential is separable. With B(m, row) = d_m exp(2πi(k_x c + k_y y + k_z z)) = a + ib, where c is the centre
//! of the columns, the two voxels c ± j of a row are Σ(a cos θ − b sin θ) ± … with θ = 2π k_x j. Four real sums over
//! the samples, Σ a cos, Σ b sin, Σ a sin and Σ b cos, give both voxels: 2 FMA for a voxel and sample, half of what
//! complex products take. This is a real matrix product of 128 × 128 for each block, with the samples as inner index.
//!
//! A block computes 64 pairs × 64 rows of voxels (rows of all images, slices and coils alike) and walks through its
//! part of the samples, 16 at a time: each thread computes the cosines and sines of 4 neighbouring pairs, and B of 4
//! neighbouring rows, for one sample in shared memory (one sine and cosine each, three rotations), while the tables
//! of the previous samples are summed, 8 × 8 sums a thread. After every 1024 samples the sums are added to the image,
//! so that rounding errors grow only with √1024.
//!
//! Lower bound: 2 FMA for a voxel and sample, 128 a clock and multiprocessor; on an H200 (132, 1.83 GHz) 1.55·10¹³
//! pairs/s. In addition there are 4 shared reads of 16 bytes for 64 FMA, and the tables: about 80 instructions of
//! 1090 for a thread and 16 samples. Reads 40 bytes a sample and block from L2. Block of 256 at 128 registers: two on
//! a multiprocessor, so that one computes tables while the other sums.

use super::direct_axes::{
    Axes, GROUP, GROUPS, HALF, Tile, four, put, rotated, rotation, rotation_at, share,
};
use warpstride_device::prelude::*;

/// Samples whose tables are computed together.
pub const STEP: u32 = 16;
/// Pairs in a block.
pub const PAIRS: u32 = 64;
/// Steps after which the sums are added to the image.
const FLUSH: u32 = 64;
/// Elements of a table's line: two halves, and 4 for lines to begin in different banks.
const LINE: usize = 2 * HALF + 4;
/// Elements of the two tables of one step.
const TABLES: usize = 2 * STEP as usize * LINE;

/// Writes the sums over each part of the samples `values` (image, sample) to `out` (part, image, slice, row, column).
/// `turns`: kx, ky, kz as fractions of a turn for half a pixel; `steps`: cosine and sine of the phase of one pixel
/// along x, then along y. `hardware` ≠ 0: computes seeds by the device's approximate sine and cosine.
#[kernel(block = (32, 8), min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "two arrays, a trajectory and a grid"
)]
pub unsafe fn mri_direct_adjoint(
    #[len(parts * images * slices * rows * columns)] out: *mut Complex32,
    #[len(images * samples)] values: *const Complex32,
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
    let tables = shared_array![f32; 2 * TABLES];
    let axes = Axes {
        slices,
        rows,
        columns,
    };
    let groups = images as usize * slices as usize * axes.groups() as usize;
    let row_tiles = groups.div_ceil(GROUPS as usize);
    let pair_tiles = axes.pairs().div_ceil(PAIRS);
    let tiles = row_tiles * pair_tiles as usize * parts as usize;
    if tiles > u32::MAX as usize || tiles == 0 || parts == 0 || pair_tiles == 0 {
        return;
    }
    let maker = thread::index_in_block();
    let (slot, made) = (maker % STEP, maker / STEP);
    let place = Tile::of_thread();
    for tile in thread::block_stride(tiles as u32) {
        let (tile, part) = (tile / parts, tile % parts);
        let (row_tile, first_pair) = (tile / pair_tiles, tile % pair_tiles * PAIRS);
        let first_group = row_tile as usize * GROUPS as usize;
        let source = Source {
            values,
            turns,
            steps,
            samples,
            hardware,
            rows: Rows::of(first_group + made as usize, groups, axes),
            offset: axes.offset(first_pair + GROUP * made),
            place: axes,
        };
        let (begin, end) = share(samples.div_ceil(STEP), part, parts);
        let mut fresh = true;
        let mut next = Sample::default();
        if begin < end {
            source.make(tables, slot, made, source.load(begin * STEP + slot));
            next = source.load((begin + 1).min(end - 1) * STEP + slot);
        }
        thread::sync_threads();
        let mut step = begin;
        loop {
            let mut sums = Sums::zero();
            let stop = end.min(step + FLUSH);
            while step < stop {
                let here = (step - begin) % 2;
                if step + 1 < end {
                    let other = tables.add((1 - here) as usize * TABLES);
                    source.make(other, slot, made, next);
                    next = source.load((step + 2).min(end - 1) * STEP + slot);
                }
                sums.add(tables.add(here as usize * TABLES), place);
                thread::sync_threads();
                step += 1;
            }
            let place = Tile {
                x: thread::hidden(place.x),
                y: thread::hidden(place.y),
            };
            let target = Target {
                out: out.add(part as usize * images as usize * axes.voxels()),
                rows: Rows::of(first_group + place.y as usize, groups, axes),
                first_pair: first_pair + GROUP * place.x,
                axes,
            };
            target.put(&sums, fresh);
            fresh = false;
            if step == end {
                break;
            }
        }
    }
}

impl Axes {
    #[inline(always)]
    fn voxels(self) -> usize {
        self.slices as usize * self.rows as usize * self.columns as usize
    }
}

/// A group of neighbouring rows.
#[derive(Clone, Copy)]
struct Rows {
    image: usize,
    slice: u32,
    first: u32,
    /// The number of rows; 0 if the group does not exist.
    count: u32,
}

impl Rows {
    #[inline(always)]
    fn of(group: usize, groups: usize, axes: Axes) -> Self {
        if group >= groups {
            return Self {
                image: 0,
                slice: 0,
                first: 0,
                count: 0,
            };
        }
        let of_slice = axes.groups().max(1) as usize;
        let slices = axes.slices.max(1) as usize;
        let (slice, first) = (group / of_slice, group % of_slice * GROUP as usize);
        let (image, slice) = (slice / slices, slice % slices);
        Self {
            image,
            slice: slice as u32,
            first: first as u32,
            count: (axes.rows - first as u32).min(GROUP),
        }
    }
}

/// What a thread needs of one sample.
#[derive(Clone, Copy, Default)]
struct Sample {
    turns: U32x4,
    steps: F32x4,
    value: Complex32,
}

/// The data that a thread computes tables from.
struct Source {
    values: *const Complex32,
    turns: *const U32x4,
    steps: *const F32x4,
    samples: u32,
    hardware: u32,
    rows: Rows,
    /// Position of the thread's first pair, in half pixels.
    offset: u32,
    place: Axes,
}

impl Source {
    /// A sample. Beyond the last one: the last one's position, and the value 0.
    #[inline(always)]
    unsafe fn load(&self, sample: u32) -> Sample {
        let at = sample.min(self.samples - 1) as usize;
        let value = if sample < self.samples && self.rows.count > 0 {
            let of_image = self.rows.image * self.samples as usize;
            mem::load_read_only(self.values.add(of_image + at))
        } else {
            Complex32::ZERO
        };
        Sample {
            turns: mem::load_read_only(self.turns.add(at)),
            steps: mem::load_read_only(self.steps.add(at)),
            value,
        }
    }

    /// Computes the cosines and sines of four pairs, and B of four rows.
    #[inline(always)]
    unsafe fn make(&self, tables: *mut f32, slot: u32, made: u32, sample: Sample) {
        let line = tables.add(slot as usize * LINE);
        let [x_re, x_im, y_re, y_im] = sample.steps.0;
        let seed = rotation(sample.turns.0[0].wrapping_mul(self.offset), self.hardware);
        let pairs = rotated(seed, Complex32::new(x_re, x_im));
        put(line, GROUP * made, pairs.map(|e| e.re));
        put(line, HALF as u32 + GROUP * made, pairs.map(|e| e.im));

        let line = line.add(STEP as usize * LINE);
        let place = self.place.half_pixels(self.rows.slice, self.rows.first);
        let seed = sample.value * rotation_at(sample.turns, place, self.hardware);
        let rows = rotated(seed, Complex32::new(y_re, y_im));
        put(line, GROUP * made, rows.map(|b| b.re));
        put(line, HALF as u32 + GROUP * made, rows.map(|b| b.im));
    }
}

/// A thread's sums over the samples, (pair, row): B = a + ib times cosine and sine.
struct Sums {
    a_cos: [[f32; 4]; 4],
    b_sin: [[f32; 4]; 4],
    a_sin: [[f32; 4]; 4],
    b_cos: [[f32; 4]; 4],
}

impl Sums {
    #[inline(always)]
    fn zero() -> Self {
        Self {
            a_cos: [[0.0; 4]; 4],
            b_sin: [[0.0; 4]; 4],
            a_sin: [[0.0; 4]; 4],
            b_cos: [[0.0; 4]; 4],
        }
    }

    /// Adds the samples of one step.
    #[inline(always)]
    unsafe fn add(&mut self, tables: *const f32, place: Tile) {
        for sample in 0..STEP as usize {
            let pairs = tables.add(sample * LINE);
            let rows = pairs.add(STEP as usize * LINE);
            let cos = four(pairs, 4 * place.x);
            let sin = four(pairs, HALF as u32 + 4 * place.x);
            let a = four(rows, 4 * place.y);
            let b = four(rows, HALF as u32 + 4 * place.y);
            for j in 0..4 {
                for r in 0..4 {
                    self.a_cos[j][r] = GpuFloat::mul_add(a[r], cos[j], self.a_cos[j][r]);
                    self.b_sin[j][r] = GpuFloat::mul_add(b[r], sin[j], self.b_sin[j][r]);
                    self.a_sin[j][r] = GpuFloat::mul_add(a[r], sin[j], self.a_sin[j][r]);
                    self.b_cos[j][r] = GpuFloat::mul_add(b[r], cos[j], self.b_cos[j][r]);
                }
            }
        }
    }
}

/// The position of a thread's voxels.
struct Target {
    out: *mut Complex32,
    rows: Rows,
    first_pair: u32,
    axes: Axes,
}

impl Target {
    /// Writes the voxels (`fresh`), or adds to them.
    #[inline(always)]
    unsafe fn put(&self, sums: &Sums, fresh: bool) {
        let axes = self.axes;
        let slice = self.rows.image * axes.slices as usize + self.rows.slice as usize;
        let first = slice * axes.rows as usize + self.rows.first as usize;
        for r in 0..4 {
            if r >= self.rows.count as usize {
                break;
            }
            let row = self.out.add((first + r) * axes.columns as usize);
            for j in 0..4 {
                let pair = self.first_pair + j as u32;
                if pair >= axes.pairs() {
                    break;
                }
                let (ac, bs) = (sums.a_cos[j][r], sums.b_sin[j][r]);
                let (as_, bc) = (sums.a_sin[j][r], sums.b_cos[j][r]);
                let (above, below) = axes.columns_of(pair);
                let put = |column: u32, value: Complex32| {
                    let voxel = row.add(column as usize);
                    *voxel = if fresh { value } else { *voxel + value };
                };
                put(above, Complex32::new(ac - bs, as_ + bc));
                if below != above {
                    put(below, Complex32::new(ac + bs, bc - as_));
                }
            }
        }
    }
}
