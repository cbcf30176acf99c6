//! The last of the three kernels of a projection engine's step in passes: transforms back along columns of 64, 128, 256 or
//! 512 values, writes the new exit waves and adds to the object's sums.
//!
//! With A = P·O and f the transform of the reflected wave `(1−c) ψ + c A`, the step is `ψ ← A + b (1−k) F⁻¹[(m/|f| − 1) f]`
//! (`ptycho::fused_step`); k of a frame is known when all its rows have been projected.
//!
//! A block handles a tile of 16 columns of one mode, in one frame after another, and keeps this part of the probe in shared
//! memory where it fits (`column_tiles`). While it handles a tile, the next one arrives in the exchange. Of a value 8 bytes of device memory are read (the other's transform), 8 written;
//! ψ of before is read only for Σ|Δψ|². The object and its sums are in L2: 64-bit integers in fixed point
//! (`ptycho::fixed_point`), so that the order of the frames does not change a bit.

use super::column_tiles::{KEPT, ProbeTile, Tiles, WIDTH, place};
use super::fixed_point::{packed, quantum};
use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Most values that a thread handles together.
const TOGETHER: usize = 4;

/// Values that a thread handles together; four of a column of 512 spill registers.
const fn together(a: usize) -> usize {
    if a == 32 { 2 } else { TOGETHER }
}

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, $threads:literal threads, $blocks:literal blocks, $bytes:literal bytes: $name:ident;)*) => {$(
        #[doc = concat!("The new waves of frames of ", stringify!($length), " rows; `rows` must be ", stringify!($length), ", `columns` 16 · `tiles`.")]
        ///
        /// The group is the frames `first..first + count`, of which `work` has the projected waves; `errors` are those of
        /// [`ptycho_row_errors`]. If `moves` is not 0, Σ|Δψ|² of each tile goes to `tile_moved` (frame, mode, tile). `unit` is
        /// 1/√(rows · columns).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $bytes)]
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
            #[len(frames)] errors: *const f32,
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
            unit: f32,
            bound: f32,
            b: f32,
            moves: u32,
        ) {
            let _ = object_rows;
            let whole = tiles != 0 && tiles * WIDTH == columns;
            if rows != $length || !whole || modes == 0 || first >= frames || count > frames - first
            {
                return;
            }
            let exchange: *mut Complex32 = shared::dynamic_shared_mem();
            let finish = Finish {
                probe: ProbeTile {
                    exchange,
                    probe,
                    columns,
                },
                tiles: Tiles { modes, tiles },
                work,
                psi,
                object,
                corners,
                errors,
                roots,
                sums,
                quanta,
                limit,
                exceeding,
                tile_moved,
                first,
                object_columns,
                unit,
                bound,
                b,
                moves: moves != 0,
            };
            let mut number = thread::block_idx_x();
            if number >= finish.tiles.step() {
                return;
            }
            finish.probe.keep::<$a, $b>(&finish.tiles.at(number));
            finish.read_ahead::<$a, $b>(number, count);
            while number < count * finish.tiles.of_frame() {
                finish.finish::<$a, $b>(number, count);
                number += finish.tiles.step();
                if finish.tiles.step() < finish.tiles.of_frame() {
                    finish.probe.keep::<$a, $b>(&finish.tiles.at(number));
                }
            }
        }
    )*};
}

kernels! {
    64 = 8 * 8, 128 threads, 4 blocks, 16_384 bytes: ptycho_columns_finish_64;
    128 = 16 * 8, 128 threads, 4 blocks, 32_768 bytes: ptycho_columns_finish_128;
    256 = 16 * 16, 256 threads, 2 blocks, 65_536 bytes: ptycho_columns_finish_256;
    512 = 32 * 16, 256 threads, 2 blocks, 65_536 bytes: ptycho_columns_finish_512;
}

struct Finish {
    probe: ProbeTile,
    tiles: Tiles,
    work: *const Complex32,
    psi: *mut Complex32,
    object: *const Complex32,
    corners: *const [u32; 2],
    errors: *const f32,
    roots: *const Complex32,
    sums: *mut u64,
    /// Exponents of the units of a sum in 1, for every object pixel.
    quanta: *const u8,
    /// Largest part of ψ for which no sum leaves its range.
    limit: *const f32,
    exceeding: *mut u32,
    tile_moved: *mut f32,
    first: u32,
    object_columns: u32,
    unit: f32,
    bound: f32,
    b: f32,
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

impl Finish {
    /// The columns of the tile with this number.
    #[inline(always)]
    unsafe fn finish<const A: usize, const B: usize>(&self, number: u32, count: u32) {
        let mut x = [Complex32::ZERO; A];
        mem::wait_for_copies();
        let line = self.line::<A, B>();
        for n1 in 0..A {
            let register = Line::<A, B, B, { WIDTH as usize }>::register(n1);
            x[register] = (*line.slot(n1)).conj();
        }
        self.line::<A, B>().outer(&mut x, thread::sync_threads);
        thread::sync_threads();
        self.read_ahead::<A, B>(number + self.tiles.step(), count);
        self.line::<A, B>().inner(&mut x);
        let frame = self.first as usize + self.tiles.at(number).member as usize;
        let factor = self.b * (1.0 - kept(*self.errors.add(frame), self.bound)) * self.unit;
        if self.moves {
            let at = self.places::<A, B>(number);
            let moved = reduce::block_sum(at.moved::<A, B>(&x, factor));
            if thread::index_in_block() == 0 {
                let first = self.first as usize * self.tiles.of_frame() as usize;
                *(self.tile_moved).add(first + number as usize) = moved;
            }
        }
        let at = self.places::<A, B>(number);
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

    #[inline(always)]
    unsafe fn line<const A: usize, const B: usize>(&self) -> Line<A, B, B, { WIDTH as usize }> {
        let (t, inner) = place();
        Line::new(
            self.probe.exchange.add(inner as usize),
            self.roots,
            t as usize,
        )
    }

    /// Begins to read the tile with this number of `work`, if there is one, to the thread's slots of the exchange.
    #[inline(always)]
    unsafe fn read_ahead<const A: usize, const B: usize>(&self, number: u32, count: u32) {
        let there = number < count * self.tiles.of_frame();
        let tile = self.tiles.at(number);
        let (t, inner) = place();
        let columns = self.probe.columns;
        let layer = tile.member as usize * self.tiles.modes as usize + tile.mode as usize;
        let start = (t * columns + tile.first + inner) as usize;
        let source = self.work.add(layer * (A * B) * columns as usize + start);
        let line = self.line::<A, B>();
        for n1 in 0..A {
            let row = n1 as u32 * B as u32 * columns;
            mem::copy_complex_ahead(there, line.slot(n1), source.add(row as usize));
        }
    }

    /// Nothing of it is kept in registers from one call to the next.
    #[inline(always)]
    unsafe fn places<const A: usize, const B: usize>(&self, number: u32) -> Places {
        let (t, inner) = place();
        let tile = self.tiles.at(thread::recomputed(number));
        let frame = self.first as usize + tile.member as usize;
        let [top, left] = *self.corners.add(frame);
        let column = tile.first + inner;
        let pitch = thread::recomputed(self.probe.columns);
        let object_pitch = thread::recomputed(self.object_columns);
        let start = (t * pitch + column) as usize;
        let layer = frame * self.tiles.modes as usize + tile.mode as usize;
        let pixels = (A * B) * pitch as usize;
        let corner = (top + t) as usize * object_pitch as usize + (left + column) as usize;
        let (probe, probe_pitch) = self.probe.rows::<A, B>(&tile);
        Places {
            psi: self.psi.add(layer * pixels + start),
            probe,
            object: self.object.add(corner),
            sums: self.sums.add(corner),
            quanta: self.quanta.add(corner),
            pitch,
            probe_pitch: if A * B > KEPT { pitch } else { probe_pitch },
            object_pitch,
        }
    }
}

/// Where a thread finds its first value.
struct Places {
    psi: *mut Complex32,
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
type Loaded = ([Complex32; 2], u8);

impl Places {
    /// What the values of a group need from L2.
    #[inline(always)]
    unsafe fn load<const A: usize, const B: usize>(&self, group: usize) -> [Loaded; TOGETHER] {
        let mut loaded = [([Complex32::ZERO; 2], 0); TOGETHER];
        for u in 0..together(A) {
            let row = row::<A, B>(group * together(A) + u);
            let on_object = (row * self.object_pitch) as usize;
            let mut waves = [Complex32::ZERO; 2];
            if A * B > KEPT {
                waves[0] = *self.probe.add((row * self.probe_pitch) as usize);
            }
            waves[1] = *self.object.add(on_object);
            loaded[u] = (waves, *self.quanta.add(on_object));
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
            let new = x[v].conj().scale_add(factor, probe * object);
            *self.psi.add((row * self.pitch) as usize) = new;
            *largest = largest.max(new.re.abs()).max(new.im.abs());
            let share = probe.conj() * new.scale(quantum(exponent));
            let sum = self.sums.add((row * self.object_pitch) as usize);
            atomic::add_u64(sum, packed(share));
        }
    }

    /// Σ|Δψ|² of the thread's values, with as few registers as possible.
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
            let old = *self.psi.add((row * self.pitch) as usize);
            let new = x[v].conj().scale_add(factor, probe * object);
            moved += (new - old).norm_sqr();
        }
        moved
    }
}

/// Rows from a thread's first value to value `v`.
#[inline(always)]
fn row<const A: usize, const B: usize>(v: usize) -> u32 {
    Line::<A, B, B, { WIDTH as usize }>::spectrum_offset(v) as u32
}

/// `errors[frame] = weights[frame] Σ row_errors[frame, row]` of the frames `first..first + count`, a warp for each frame.
#[kernel(block = 128)]
pub unsafe fn ptycho_row_errors(
    #[len(frames * rows)] row_errors: *const f32,
    #[len(frames)] weights: *const f32,
    #[len(frames)] errors: *mut f32,
    frames: u32,
    first: u32,
    count: u32,
    rows: u32,
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
            *errors.add(frame) = sum * *weights.add(frame);
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
