//! The last of the three kernels of a projection engine's step in passes: transforms back along columns of 64, 128, 256 or
//! 512 values, writes the new exit waves and adds to the object's sums.
//!
//! The step is `ψ ← keep ψ + a A + b F⁻¹[g f]` with A = P·O and `g = k + (1 − k) m/|f|` (`ptycho::fused_step`). As f is the
//! transform of `(1−c) ψ + c A`, this is `(keep + b k (1−c)) ψ + (a + b k c) A + b (1−k) F⁻¹[f m/|f|]`, and k may be known
//! after the magnitudes have been replaced.
//!
//! A block handles a tile of 16 columns in all modes. Of a value 16 bytes are read (the other's transform and ψ), 8 written;
//! probe and object are in L2, and the object's sums are 64-bit integers in fixed point (`ptycho::fixed_point`), so that the
//! order of the frames does not change a bit.

use super::columns_reflect::{WIDTH, place};
use super::fixed_point::packed;
use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Most values that a thread handles together.
const TOGETHER: usize = 4;

/// Values that a thread handles together; four of a column of 512 spill registers.
const fn together(a: usize) -> usize {
    if a == 32 { 2 } else { TOGETHER }
}

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, $threads:literal threads, $blocks:literal blocks: $name:ident;)*) => {$(
        #[doc = concat!("The new waves of frames of ", stringify!($length), " rows; `rows` must be ", stringify!($length), ", `columns` 16 · `tiles`.")]
        ///
        /// The group is the frames `first..first + count`, of which `work` has the projected waves; `row_errors` (frame, row)
        /// are their deviations, `weights` 1/Σw. Writes `errors`, and Σ|Δψ|² of each tile to `tile_moved` (frame, tile).
        /// `unit` is 1/√(rows · columns).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $length * 128)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model, their shapes and the engine's coefficients"
        )]
        pub unsafe fn $name(
            #[len(count * modes * rows * columns)] work: *const Complex32,
            #[len(frames * modes * rows * columns)] psi: *mut Complex32,
            #[len(modes * rows * columns)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] weights: *const f32,
            #[len(frames * rows)] row_errors: *const f32,
            #[len(rows)] roots: *const Complex32,
            #[len(object_rows * object_columns)] sums: *mut u64,
            #[len(object_rows * object_columns)] quanta: *const f32,
            #[len(1)] limit: *const f32,
            #[len(1)] exceeding: *mut u32,
            #[len(frames)] errors: *mut f32,
            #[len(frames * tiles)] tile_moved: *mut f32,
            frames: u32,
            first: u32,
            count: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            tiles: u32,
            object_rows: u32,
            object_columns: u32,
            unit: f32,
            bound: f32,
            keep: f32,
            a: f32,
            b: f32,
            c: f32,
        ) {
            let _ = object_rows;
            let whole = tiles != 0 && tiles * WIDTH == columns;
            if rows != $length || !whole || first >= frames || count > frames - first {
                return;
            }
            let step = Finish {
                exchange: shared::dynamic_shared_mem(),
                work,
                psi,
                probe,
                object,
                corners,
                weights,
                row_errors,
                roots,
                sums,
                quanta,
                limit,
                exceeding,
                errors,
                tile_moved,
                first,
                modes,
                columns,
                tiles,
                object_columns,
                unit,
                bound,
                keep,
                a,
                b,
                c,
            };
            for item in thread::block_stride(count * tiles) {
                step.finish::<$a, $b>(item / tiles, item % tiles);
            }
        }
    )*};
}

kernels! {
    64 = 8 * 8, 128 threads, 4 blocks: ptycho_columns_finish_64;
    128 = 16 * 8, 128 threads, 4 blocks: ptycho_columns_finish_128;
    256 = 16 * 16, 256 threads, 2 blocks: ptycho_columns_finish_256;
    512 = 32 * 16, 256 threads, 2 blocks: ptycho_columns_finish_512;
}

struct Finish {
    /// A tile in shared memory.
    exchange: *mut Complex32,
    work: *const Complex32,
    psi: *mut Complex32,
    probe: *const Complex32,
    object: *const Complex32,
    corners: *const [u32; 2],
    /// 1/Σw (frame).
    weights: *const f32,
    row_errors: *const f32,
    roots: *const Complex32,
    sums: *mut u64,
    /// Units of a sum in 1, for every object pixel.
    quanta: *const f32,
    /// Largest part of ψ for which no sum leaves its range.
    limit: *const f32,
    exceeding: *mut u32,
    errors: *mut f32,
    tile_moved: *mut f32,
    first: u32,
    modes: u32,
    columns: u32,
    tiles: u32,
    object_columns: u32,
    unit: f32,
    bound: f32,
    keep: f32,
    a: f32,
    b: f32,
    c: f32,
}

impl Finish {
    /// Factors of ψ, A and the unnormalised inverse transform.
    #[inline(always)]
    unsafe fn factors(&self, frame: u32, rows: u32, tile: u32) -> [f32; 3] {
        let of_frame = self.row_errors.add(frame as usize * rows as usize);
        let mut sum = 0.0;
        for row in thread::thread_stride(rows) {
            sum += *of_frame.add(row as usize);
        }
        let error = reduce::block_sum(sum) * *self.weights.add(frame as usize);
        if tile == 0 && thread::index_in_block() == 0 {
            *self.errors.add(frame as usize) = error;
        }
        let kept = if self.bound <= 0.0 {
            0.0
        } else if error <= self.bound {
            1.0
        } else {
            GpuFloat::sqrt(self.bound / error)
        };
        let own = self.b * kept;
        [
            own.mul_add(1.0 - self.c, self.keep),
            own.mul_add(self.c, self.a),
            self.b * (1.0 - kept) * self.unit,
        ]
    }

    /// Tile number `tile` of frame number `member` of the group.
    #[inline(always)]
    unsafe fn finish<const A: usize, const B: usize>(&self, member: u32, tile: u32) {
        let rows = (A * B) as u32;
        let frame = self.first + member;
        let factors = self.factors(frame, rows, tile);
        let [top, left] = *self.corners.add(frame as usize);
        let pixels = rows as usize * self.columns as usize;
        let (mut largest, mut moved) = (0.0_f32, 0.0_f32);
        for mode in 0..self.modes {
            let mut x = [Complex32::ZERO; A];
            let layer = member as usize * self.modes as usize + mode as usize;
            {
                let (t, inner) = place();
                let column = tile * WIDTH + inner;
                let source = (self.work).add(layer * pixels + (t * self.columns + column) as usize);
                let step = B as u32 * self.columns;
                for n1 in 0..A {
                    let value = *source.add((n1 as u32 * step) as usize);
                    x[Line::<A, B, B, { WIDTH as usize }>::register(n1)] = value.conj();
                }
            }
            thread::sync_threads();
            let (t, inner) = place();
            let exchange = self.exchange.add(inner as usize);
            Line::<A, B, B, { WIDTH as usize }>::new(exchange, self.roots, t as usize)
                .forward(&mut x, thread::sync_threads);
            let (t, inner) = place();
            let column = tile * WIDTH + inner;
            let pitch = thread::hidden(self.columns);
            let object_pitch = thread::hidden(self.object_columns);
            let start = (t * pitch + column) as usize;
            let layer = self.first as usize * self.modes as usize + layer;
            let corner = (top + t) as usize * object_pitch as usize + (left + column) as usize;
            let at = Places {
                psi: self.psi.add(layer * pixels + start),
                probe: self.probe.add(mode as usize * pixels + start),
                object: self.object.add(corner),
                sums: self.sums.add(corner),
                quanta: self.quanta.add(corner),
                pitch,
                object_pitch,
            };
            let mut ahead = at.load::<A, B>(0);
            // The compiler does not unroll a loop over so much.
            macro_rules! groups {
                ($($group:literal)*) => {$(
                    if $group < A / together(A) {
                        let loaded = ahead;
                        if $group + 1 < A / together(A) {
                            // Before the stores, beyond which no load can be moved.
                            ahead = at.load::<A, B>($group + 1);
                        }
                        at.finish::<A, B, $group>(&x, &loaded, factors, [&mut largest, &mut moved]);
                    }
                )*};
            }
            groups!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
        if largest > *self.limit {
            atomic::add_u32(self.exceeding, 1);
        }
        let moved = reduce::block_sum(moved);
        if thread::index_in_block() == 0 {
            *(self.tile_moved).add(frame as usize * self.tiles as usize + tile as usize) = moved;
        }
    }
}

/// Where a thread finds its first value.
struct Places {
    psi: *mut Complex32,
    probe: *const Complex32,
    object: *const Complex32,
    sums: *mut u64,
    quanta: *const f32,
    /// Columns of a frame and of the object.
    pitch: u32,
    object_pitch: u32,
}

impl Places {
    /// ψ, P, O and the units of the sums of a group of values.
    #[inline(always)]
    unsafe fn load<const A: usize, const B: usize>(
        &self,
        group: usize,
    ) -> [([Complex32; 3], f32); TOGETHER] {
        let mut loaded = [([Complex32::ZERO; 3], 0.0); TOGETHER];
        for u in 0..together(A) {
            let (at, on_object) = self.offsets::<A, B>(group * together(A) + u);
            let object = *self.object.add(on_object);
            let waves = [*self.psi.add(at), *self.probe.add(at), object];
            loaded[u] = (waves, *self.quanta.add(on_object));
        }
        loaded
    }

    /// The values of a group, from the unnormalised inverse transform's conjugate; `factors` are of ψ, A and the former.
    #[inline(always)]
    unsafe fn finish<const A: usize, const B: usize, const GROUP: usize>(
        &self,
        x: &[Complex32; A],
        loaded: &[([Complex32; 3], f32); TOGETHER],
        [of_psi, of_exit, of_new]: [f32; 3],
        [largest, moved]: [&mut f32; 2],
    ) {
        // Keeps the assembler from loading everything at once.
        warp::sync_warp(warp::FULL);
        for u in 0..together(A) {
            let v = GROUP * together(A) + u;
            let (at, on_object) = self.offsets::<A, B>(v);
            let ([old, probe, object], quantum) = loaded[u];
            let known = (probe * object).scale_add(of_exit, old.scale(of_psi));
            let new = x[v].conj().scale_add(of_new, known);
            *self.psi.add(at) = new;
            *moved += (new - old).norm_sqr();
            *largest = largest.max(new.re.abs()).max(new.im.abs());
            let share = probe.conj() * new.scale(quantum);
            atomic::add_u64(self.sums.add(on_object), packed(share));
        }
    }

    /// How far value `v` is behind the first, in a frame and on the object.
    #[inline(always)]
    fn offsets<const A: usize, const B: usize>(&self, v: usize) -> (usize, usize) {
        let row = Line::<A, B, B, { WIDTH as usize }>::spectrum_offset(v) as u32;
        (
            (row * self.pitch) as usize,
            (row * self.object_pitch) as usize,
        )
    }
}

/// `moved[frame] = Σ tile_moved[frame, tile]`, a thread for each frame.
#[kernel(block = 128)]
pub unsafe fn ptycho_tile_sums(
    #[len(frames * tiles)] tile_moved: *const f32,
    #[len(frames)] moved: *mut f32,
    frames: u32,
    tiles: u32,
) {
    for frame in thread::grid_stride(frames as usize) {
        let mut sum = 0.0;
        for tile in 0..tiles as usize {
            sum += *tile_moved.add(frame * tiles as usize + tile);
        }
        *moved.add(frame) = sum;
    }
}
