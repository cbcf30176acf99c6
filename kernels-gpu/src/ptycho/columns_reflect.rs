//! The first of the three kernels of a projection engine's step in passes over rows and columns: the reflected waves,
//! transformed along their columns of 64, 128, 256 or 512 values.
//!
//! `work` is `(1−c) ψ + c P·O` of a group of frames, every mode of its own. A block handles a tile of 16 neighbouring
//! columns of one mode, as [`crate::fft::columns`], in one frame after another (`column_tiles`). Reads 8 bytes a value of
//! device memory (ψ; 4 of ψ in bf16) and writes 8; the object, 8 bytes, comes from L2.
//!
//! Kernels whose name ends in `_bf16` have ψ as pairs of bf16 (`wave_storage`).

use super::column_tiles::{Column, TileKernel, Tiles, WIDTH};
use super::wave_storage::{Wave, value};
use warpstride_device::prelude::*;

/// Values that a thread handles together.
const TOGETHER: usize = 8;

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, $threads:literal threads, $blocks:literal blocks, $bytes:literal bytes, $wave:ty: $name:ident;)*) => {$(
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
            #[len(frames * modes * rows * columns)] psi: *const $wave,
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
            let waves = Waves {
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
                first,
                c,
            };
            waves.tiles.run::<$a, $b>(&waves);
        }
    )*};
}

kernels! {
    64 = 8 * 8, 128 threads, 8 blocks, 16_656 bytes, Complex32: ptycho_columns_reflect_64;
    128 = 16 * 8, 128 threads, 5 blocks, 33_040 bytes, Complex32: ptycho_columns_reflect_128;
    256 = 16 * 16, 256 threads, 3 blocks, 65_936 bytes, Complex32: ptycho_columns_reflect_256;
    512 = 32 * 16, 256 threads, 2 blocks, 65_936 bytes, Complex32: ptycho_columns_reflect_512;
    64 = 8 * 8, 128 threads, 8 blocks, 16_656 bytes, u32: ptycho_columns_reflect_64_bf16;
    128 = 16 * 8, 128 threads, 5 blocks, 33_040 bytes, u32: ptycho_columns_reflect_128_bf16;
    256 = 16 * 16, 256 threads, 3 blocks, 65_936 bytes, u32: ptycho_columns_reflect_256_bf16;
    512 = 32 * 16, 256 threads, 2 blocks, 65_936 bytes, u32: ptycho_columns_reflect_512_bf16;
}

struct Waves<W> {
    tiles: Tiles,
    work: *mut Complex32,
    psi: *const W,
    /// First frame of the group.
    first: u32,
    c: f32,
}

impl<W: Wave, const A: usize, const B: usize> TileKernel<A, B> for Waves<W> {
    #[inline(always)]
    unsafe fn begin(&self, member: u32) {
        self.tiles.read_corner_ahead::<A, B>(member);
    }

    #[inline(always)]
    unsafe fn handle(&self, member: u32) {
        self.reflect::<A, B>(member);
    }
}

impl<W: Wave> Waves<W> {
    /// The tile in frame number `member` of the group.
    #[inline(always)]
    unsafe fn reflect<const A: usize, const B: usize>(&self, member: u32) {
        let tiles = &self.tiles;
        let mut x = [Complex32::ZERO; A];
        mem::wait_for_copies();
        warp::sync_warp(warp::FULL);
        if self.c == 1.0 {
            self.load::<A, B, false>(member, &mut x);
        } else {
            self.load::<A, B, true>(member, &mut x);
        }
        // All have read the exchange, and the corner.
        thread::sync_threads();
        tiles.read_corner_ahead::<A, B>(tiles.next::<A, B>(member));
        let column = tiles.column::<A, B>();
        column.forward(&mut x, thread::sync_threads);
        let target = self.work.add(tiles.start::<A, B>(member));
        let pitch = thread::hidden(tiles.columns);
        for v in 0..A {
            let row = Column::<A, B>::spectrum_offset(v) as u32;
            *target.add((row * pitch) as usize) = x[v];
        }
    }

    /// The values of the thread's column, in the order that the transform expects.
    #[inline(always)]
    unsafe fn load<const A: usize, const B: usize, const PSI: bool>(
        &self,
        member: u32,
        x: &mut [Complex32; A],
    ) {
        let tiles = &self.tiles;
        let on_object = tiles.on_object::<A, B>(tiles.corner::<A, B>());
        let object = tiles.object.add(on_object as usize);
        let (probe, probe_pitch) = tiles.probe::<A, B>();
        let psi = self.psi.add(tiles.start::<A, B>(self.first + member));
        for group in 0..A / TOGETHER {
            // Keeps the assembler from loading everything at once.
            warp::sync_warp(warp::FULL);
            for u in 0..TOGETHER {
                let n1 = group * TOGETHER + u;
                let row = (n1 * B) as u32;
                let probe = *probe.add((row * probe_pitch) as usize);
                let exit = probe * *object.add((row * tiles.object_columns) as usize);
                x[Column::<A, B>::register(n1)] = if PSI {
                    let psi = value(&*psi.add((row * tiles.columns) as usize));
                    exit.scale_add(self.c, psi.scale(1.0 - self.c))
                } else {
                    exit
                };
            }
        }
    }
}
