//! The first of the three kernels of a projection engine's step in passes over rows and columns: the reflected waves,
//! transformed along their columns of 64, 128, 256 or 512 values.
//!
//! `work` is `(1−c) ψ + c P·O` of a group of frames, every mode of its own. A block handles a tile of 16 neighbouring
//! columns of one mode, as [`crate::fft::columns`], in one frame after another, and keeps this part of the probe in shared
//! memory where it fits (`column_tiles`). While it transforms a tile, the next one's ψ arrives in the exchange. Reads 8 bytes a value of device memory (ψ) and writes 8; the object, 8
//! bytes, comes from L2, whose rate is the limit (benches/runs/2026-11-25-h200/passes.md).

use super::column_tiles::{ProbeTile, Tile, Tiles, WIDTH, place};
use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 8;

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, $threads:literal threads, $blocks:literal blocks, $bytes:literal bytes: $name:ident;)*) => {$(
        #[doc = concat!("The reflected waves of frames of ", stringify!($length), " rows; `rows` must be ", stringify!($length), ", `columns` a multiple of 16.")]
        ///
        /// The group is the frames `first..first + count`; with c = 1 `psi` is not read. `roots` are exp(−2πi k/rows).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $bytes)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(count * modes * rows * columns)] work: *mut Complex32,
            #[len(frames * modes * rows * columns)] psi: *const Complex32,
            #[len(modes * rows * columns)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(rows)] roots: *const Complex32,
            frames: u32,
            first: u32,
            count: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            object_rows: u32,
            object_columns: u32,
            c: f32,
        ) {
            let _ = object_rows;
            let tiles = columns / WIDTH;
            let whole = tiles != 0 && tiles * WIDTH == columns;
            if rows != $length || !whole || modes == 0 || first >= frames || count > frames - first
            {
                return;
            }
            let exchange: *mut Complex32 = shared::dynamic_shared_mem();
            let waves = Waves {
                probe: ProbeTile {
                    exchange,
                    probe,
                    columns,
                },
                tiles: Tiles { modes, tiles },
                psi,
                object,
                corners: corners.add(first as usize),
                roots,
                first,
                object_columns,
                c,
            };
            let mut number = thread::block_idx_x();
            if number >= waves.tiles.step() {
                return;
            }
            waves.probe.keep::<$a, $b>(&waves.tiles.at(number));
            waves.read_ahead::<$a, $b>(number, count);
            while number < count * waves.tiles.of_frame() {
                waves.reflect::<$a, $b>(work, number, count);
                number += waves.tiles.step();
                if waves.tiles.step() < waves.tiles.of_frame() {
                    waves.probe.keep::<$a, $b>(&waves.tiles.at(number));
                }
            }
        }
    )*};
}

kernels! {
    64 = 8 * 8, 128 threads, 8 blocks, 16_384 bytes: ptycho_columns_reflect_64;
    128 = 16 * 8, 128 threads, 6 blocks, 32_768 bytes: ptycho_columns_reflect_128;
    256 = 16 * 16, 256 threads, 3 blocks, 65_536 bytes: ptycho_columns_reflect_256;
    512 = 32 * 16, 256 threads, 2 blocks, 65_536 bytes: ptycho_columns_reflect_512;
}

struct Waves {
    probe: ProbeTile,
    tiles: Tiles,
    psi: *const Complex32,
    object: *const Complex32,
    /// Corners of the group's frames.
    corners: *const [u32; 2],
    roots: *const Complex32,
    first: u32,
    object_columns: u32,
    c: f32,
}

impl Waves {
    /// The columns of the tile with this number.
    #[inline(always)]
    unsafe fn reflect<const A: usize, const B: usize>(
        &self,
        work: *mut Complex32,
        number: u32,
        count: u32,
    ) {
        let mut x = [Complex32::ZERO; A];
        if self.c == 1.0 {
            self.load::<A, B, false>(number, &mut x);
        } else {
            self.load::<A, B, true>(number, &mut x);
        }
        self.line::<A, B>().outer(&mut x, thread::sync_threads);
        thread::sync_threads();
        self.read_ahead::<A, B>(number + self.tiles.step(), count);
        self.line::<A, B>().inner(&mut x);
        let (t, inner) = place();
        let tile = self.tiles.at(number);
        let pitch = thread::hidden(self.probe.columns);
        let layer = tile.member as usize * self.tiles.modes as usize + tile.mode as usize;
        let layer = work.add(layer * (A * B) * pitch as usize);
        let target = layer.add((t * pitch + tile.first + inner) as usize);
        for v in 0..A {
            let row = Line::<A, B, B, { WIDTH as usize }>::spectrum_offset(v) as u32;
            *target.add((row * pitch) as usize) = x[v];
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

    /// Begins to read ψ of the tile with this number, if there is one, to the thread's slots of the exchange.
    #[inline(always)]
    unsafe fn read_ahead<const A: usize, const B: usize>(&self, number: u32, count: u32) {
        let there = self.c != 1.0 && number < count * self.tiles.of_frame();
        let (psi, step) = self.psi::<A, B>(&self.tiles.at(number));
        let line = self.line::<A, B>();
        for n1 in 0..A {
            mem::copy_complex_ahead(there, line.slot(n1), psi.add((n1 as u32 * step) as usize));
        }
    }

    /// Where the thread finds ψ of its first row, and from a row to its next one.
    #[inline(always)]
    unsafe fn psi<const A: usize, const B: usize>(&self, tile: &Tile) -> (*const Complex32, u32) {
        let (t, inner) = place();
        let columns = self.probe.columns;
        let frame = self.first as usize + tile.member as usize;
        let layer = frame * self.tiles.modes as usize + tile.mode as usize;
        let start = (t * columns + tile.first + inner) as usize;
        let pixels = (A * B) * columns as usize;
        (self.psi.add(layer * pixels + start), B as u32 * columns)
    }

    /// The values of the thread's column, in the order that the transform expects.
    #[inline(always)]
    unsafe fn load<const A: usize, const B: usize, const PSI: bool>(
        &self,
        number: u32,
        x: &mut [Complex32; A],
    ) {
        let tile = self.tiles.at(number);
        let [top, left] = *self.corners.add(tile.member as usize);
        let (t, inner) = place();
        let column = tile.first + inner;
        let corner = (top + t) as usize * self.object_columns as usize + (left + column) as usize;
        let object = self.object.add(corner);
        let object_step = B as u32 * self.object_columns;
        let (probe, probe_pitch) = self.probe.rows::<A, B>(&tile);
        let line = self.line::<A, B>();
        for group in 0..A / TOGETHER {
            // Keeps the assembler from loading everything at once.
            warp::sync_warp(warp::FULL);
            if PSI && group == 0 {
                mem::wait_for_copies();
            }
            for u in 0..TOGETHER {
                let n1 = (group * TOGETHER + u) as u32;
                let probe = *probe.add((n1 * B as u32 * probe_pitch) as usize);
                let exit = probe * *object.add((n1 * object_step) as usize);
                let wave = if PSI {
                    let psi = *line.slot(n1 as usize);
                    exit.scale_add(self.c, psi.scale(1.0 - self.c))
                } else {
                    exit
                };
                x[Line::<A, B, B, { WIDTH as usize }>::register(n1 as usize)] = wave;
            }
        }
    }
}
