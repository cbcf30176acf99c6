//! The last of the three kernels of a projection engine's step in passes: transforms back along columns of 64, 128, 256 or
//! 512 values, writes the new exit waves and adds to the object's sums.
//!
//! With A = P·O and f the transform of the reflected wave `(1−c) ψ + c A`, the step is `ψ ← A + b (1−k) F⁻¹[(m/|f| − 1) f]`
//! (`ptycho::fused_step`); k of a frame is known when all its rows have been projected.
//!
//! A block handles a tile of 16 columns of one mode, in one frame after another (`column_tiles`).
//! Of a value 8 bytes of device memory are read (the other's transform), 8 written, 4 if ψ is in bf16;
//! ψ of before is read only for Σ|Δψ|². The object and its sums are in L2: 64-bit integers in fixed point
//! (`ptycho::fixed_point`), so that the order of the frames does not change a bit. Kernels
//! whose name ends in `_bf16` have ψ as pairs of bf16 (`wave_storage`); the sums are those of the waves as they are stored.

use super::column_tiles::{Column, KEPT, TileKernel, Tiles, WIDTH};
use super::fixed_point::{packed, quantum};
use super::wave_storage::{Wave, stored, value};
use warpstride_device::prelude::*;

/// Most values that a thread handles together.
const TOGETHER: usize = 4;

/// Values that a thread handles together; four of a column of 512 spill registers.
const fn together(a: usize) -> usize {
    if a == 32 { 2 } else { TOGETHER }
}

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, $threads:literal threads, $blocks:literal blocks, $bytes:literal bytes, $wave:ty: $name:ident;)*) => {$(
        #[doc = concat!("The new waves of frames of ", stringify!($length), " rows; `rows` must be ", stringify!($length), ", `columns` 16 · `tiles`.")]
        ///
        /// The group is the frames `first..first + count`, of which `work` has the projected waves; `factors` are those of
        /// [`ptycho_frame_factors`]. If `moves` is not 0, Σ|Δψ|² of each tile goes to `tile_moved` (frame, mode, tile).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $bytes)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model, their shapes and the engine's coefficients"
        )]
        pub unsafe fn $name(
            #[len(count * modes * rows * columns)] work: *const Complex32,
            #[len(frames * modes * rows * columns)] psi: *mut $wave,
            #[len(modes * rows * columns)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] factors: *const [f32; 2],
            #[len(rows)] roots: *const Complex32,
            #[len(object_rows * object_columns)] sums: *mut u64,
            #[len(object_rows * object_columns)] quanta: *const u8,
            #[len(1)] limit: *const f32,
            #[len(1)] exceeding: *mut u32,
            #[len(frames * modes * tiles)] tile_moved: *mut f32,
            frames: u32,
            first: u32,
            count: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            tiles: u32,
            object_rows: u32,
            object_columns: u32,
            moves: u32,
        ) {
            let _ = object_rows;
            let whole = tiles != 0 && tiles * WIDTH == columns;
            if rows != $length || !whole || modes == 0 || first >= frames || count > frames - first
            {
                return;
            }
            let finish = Finish {
                tiles: Tiles {
                    memory: shared::dynamic_shared_mem(),
                    roots,
                    probe,
                    object,
                    corners: corners.add(first as usize),
                    count,
                    modes,
                    columns,
                    object_columns,
                },
                work,
                psi,
                factors: factors.add(first as usize),
                sums,
                quanta,
                limit,
                exceeding,
                tile_moved,
                first,
                moves: moves != 0,
            };
            finish.tiles.run::<$a, $b>(&finish);
        }
    )*};
}

kernels! {
    64 = 8 * 8, 128 threads, 4 blocks, 16_656 bytes, Complex32: ptycho_columns_finish_64;
    128 = 16 * 8, 128 threads, 4 blocks, 33_040 bytes, Complex32: ptycho_columns_finish_128;
    256 = 16 * 16, 256 threads, 2 blocks, 65_936 bytes, Complex32: ptycho_columns_finish_256;
    512 = 32 * 16, 256 threads, 2 blocks, 65_936 bytes, Complex32: ptycho_columns_finish_512;
    64 = 8 * 8, 128 threads, 4 blocks, 16_656 bytes, u32: ptycho_columns_finish_64_bf16;
    128 = 16 * 8, 128 threads, 4 blocks, 33_040 bytes, u32: ptycho_columns_finish_128_bf16;
    256 = 16 * 16, 256 threads, 2 blocks, 65_936 bytes, u32: ptycho_columns_finish_256_bf16;
    512 = 32 * 16, 256 threads, 2 blocks, 65_936 bytes, u32: ptycho_columns_finish_512_bf16;
}

struct Finish<W> {
    tiles: Tiles,
    work: *const Complex32,
    psi: *mut W,
    /// Factors of the group's frames.
    factors: *const [f32; 2],
    sums: *mut u64,
    /// Exponents of the units of a sum in 1, for every object pixel.
    quanta: *const u8,
    /// Largest part of ψ for which no sum leaves its range.
    limit: *const f32,
    exceeding: *mut u32,
    tile_moved: *mut f32,
    /// First frame of the group.
    first: u32,
    /// Whether Σ|Δψ|² is asked for.
    moves: bool,
}

/// The part k of its reflected wave that a frame keeps: with it the frame's error is at most `bound`, if that is not 0.
#[inline(always)]
pub(super) fn kept(error: f32, bound: f32) -> f32 {
    if bound <= 0.0 {
        0.0
    } else if error <= bound {
        1.0
    } else {
        GpuFloat::sqrt(bound / error)
    }
}

impl<W: Wave, const A: usize, const B: usize> TileKernel<A, B> for Finish<W> {
    #[inline(always)]
    unsafe fn begin(&self, member: u32) {
        self.read_ahead::<A, B>(member);
    }

    #[inline(always)]
    unsafe fn handle(&self, member: u32) {
        self.finish::<A, B>(member);
    }
}

impl<W: Wave> Finish<W> {
    /// Begins to read corner and factor of a frame, if there is one.
    #[inline(always)]
    unsafe fn read_ahead<const A: usize, const B: usize>(&self, member: u32) {
        self.tiles.read_corner_ahead::<A, B>(member);
        self.tiles.read_factor_ahead::<A, B>(member, self.factors);
    }

    /// The tile in frame number `member` of the group.
    #[inline(always)]
    unsafe fn finish<const A: usize, const B: usize>(&self, member: u32) {
        let tiles = &self.tiles;
        let mut x = [Complex32::ZERO; A];
        let source = self.work.add(tiles.start::<A, B>(member));
        for n1 in 0..A {
            let value = *source.add(((n1 * B) as u32 * tiles.columns) as usize);
            x[Column::<A, B>::register(n1)] = value.conj();
        }
        mem::wait_for_copies();
        tiles.take_words::<A, B>();
        // All have read the exchange, and the copied words.
        thread::sync_threads();
        self.read_ahead::<A, B>(tiles.next::<A, B>(member));
        let column = tiles.column::<A, B>();
        column.forward(&mut x, thread::sync_threads);
        let (corner, factor) = tiles.taken::<A, B>();
        let on_object = tiles.on_object::<A, B>(corner);
        if self.moves {
            let at = self.places::<A, B>(member, on_object);
            let moved = reduce::block_sum(at.moved::<A, B>(&x, factor));
            if thread::index_in_block() == 0 {
                let tile = tiles.first_column::<A, B>() / WIDTH;
                let frame = (self.first + member) as usize;
                let layer = frame * tiles.modes as usize + tiles.mode::<A, B>() as usize;
                let number = layer * (tiles.columns / WIDTH) as usize + tile as usize;
                *(self.tile_moved).add(number) = moved;
            }
        }
        let at = self.places::<A, B>(member, on_object);
        let mut largest = 0.0_f32;
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
                    at.finish::<A, B, $group>(&x, &loaded, factor, &mut largest);
                }
            )*};
        }
        groups!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        let _ = ahead;
        if largest > *self.limit {
            atomic::add_u32(self.exceeding, 1);
        }
    }

    /// Nothing of it is kept in registers from one call to the next.
    #[inline(always)]
    unsafe fn places<const A: usize, const B: usize>(
        &self,
        member: u32,
        on_object: u32,
    ) -> Places<W> {
        let tiles = &self.tiles;
        let pitch = thread::recomputed(tiles.columns);
        let object_pitch = thread::recomputed(tiles.object_columns);
        let on_object = thread::recomputed(on_object) as usize;
        let (probe, probe_pitch) = tiles.probe::<A, B>();
        let frame = thread::recomputed(self.first + member);
        Places {
            psi: self.psi.add(tiles.start::<A, B>(frame)),
            probe,
            object: self.tiles.object.add(on_object),
            sums: self.sums.add(on_object),
            quanta: self.quanta.add(on_object),
            pitch,
            probe_pitch,
            object_pitch,
        }
    }
}

/// Where a thread finds its first value.
struct Places<W> {
    psi: *mut W,
    probe: *const Complex32,
    object: *const Complex32,
    sums: *mut u64,
    quanta: *const u8,
    /// Columns of a frame, of the probe where it is read, and of the object.
    pitch: u32,
    probe_pitch: u32,
    object_pitch: u32,
}

/// P (unless it is in shared memory), O and the exponent of a value's quantum.
type Loaded = ([Complex32; 2], u32);

impl<W: Wave> Places<W> {
    /// What the values of a group need from L2.
    #[inline(always)]
    unsafe fn load<const A: usize, const B: usize>(&self, group: usize) -> [Loaded; TOGETHER] {
        let mut loaded = [([Complex32::ZERO; 2], 0); TOGETHER];
        for u in 0..together(A) {
            let row = row::<A, B>(group * together(A) + u);
            let on_object = (row * self.object_pitch) as usize;
            let mut waves = [Complex32::ZERO, *self.object.add(on_object)];
            if A * B > KEPT {
                waves[0] = *self.probe.add((row * self.probe_pitch) as usize);
            }
            loaded[u] = (waves, u32::from(*self.quanta.add(on_object)));
        }
        loaded
    }

    /// The values of a group, from the unnormalised inverse transform's conjugate and its factor.
    #[inline(always)]
    unsafe fn finish<const A: usize, const B: usize, const GROUP: usize>(
        &self,
        x: &[Complex32; A],
        loaded: &[Loaded; TOGETHER],
        factor: f32,
        largest: &mut f32,
    ) {
        // Keeps the assembler from loading everything at once.
        warp::sync_warp(warp::FULL);
        for u in 0..together(A) {
            let v = GROUP * together(A) + u;
            let row = row::<A, B>(v);
            let ([mut probe, object], exponent) = loaded[u];
            if A * B <= KEPT {
                probe = *self.probe.add((row * self.probe_pitch) as usize);
            }
            let new: W = stored(x[v].conj().scale_add(factor, probe * object));
            *self.psi.add((row * self.pitch) as usize) = new;
            let new = value(&new);
            *largest = largest.max(new.re.abs()).max(new.im.abs());
            let share = probe.conj() * new.scale(quantum(exponent));
            let sum = self.sums.add((row * self.object_pitch) as usize);
            atomic::add_u64(sum, packed(share));
        }
    }

    /// Σ|Δψ|² of the thread's values as they are stored, with as few registers as possible.
    #[inline(always)]
    unsafe fn moved<const A: usize, const B: usize>(&self, x: &[Complex32; A], factor: f32) -> f32 {
        let mut moved = 0.0;
        for v in 0..A {
            if v.is_multiple_of(together(A)) {
                warp::sync_warp(warp::FULL);
            }
            let row = row::<A, B>(v);
            let probe = *self.probe.add((row * self.probe_pitch) as usize);
            let object = *self.object.add((row * self.object_pitch) as usize);
            let old = value(&*self.psi.add((row * self.pitch) as usize));
            let new: W = stored(x[v].conj().scale_add(factor, probe * object));
            moved += (value(&new) - old).norm_sqr();
        }
        moved
    }
}

/// Rows from a thread's first value to value `v`.
#[inline(always)]
fn row<const A: usize, const B: usize>(v: usize) -> u32 {
    Column::<A, B>::spectrum_offset(v) as u32
}

/// For the frames `first..first + count`, a warp each: `errors[frame] = weights[frame] Σ row_errors[frame, row]`, and the factor
/// b (1−k) `unit` of F⁻¹[(m/|f| − 1) f] in the new wave, the first of a pair, where k keeps the error at most at `bound`.
/// `unit` is 1/√(rows · columns).
#[kernel(block = 128)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the frames and the engine's coefficients"
)]
pub unsafe fn ptycho_frame_factors(
    #[len(frames * rows)] row_errors: *const f32,
    #[len(frames)] weights: *const f32,
    #[len(frames)] errors: *mut f32,
    #[len(frames)] factors: *mut [f32; 2],
    frames: u32,
    first: u32,
    count: u32,
    rows: u32,
    unit: f32,
    bound: f32,
    b: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::warp_stride(count) {
        let frame = (first + member) as usize;
        let mut sum = 0.0;
        for row in thread::every(warp::lane_id(), warp::SIZE, rows) {
            sum += *row_errors.add(frame * rows as usize + row as usize);
        }
        let sum = reduce::warp_sum(sum);
        if warp::lane_id() == 0 {
            let error = sum * *weights.add(frame);
            *errors.add(frame) = error;
            *factors.add(frame) = [b * (1.0 - kept(error, bound)) * unit, 0.0];
        }
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
