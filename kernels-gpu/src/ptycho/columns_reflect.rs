//! The first of the three kernels of a projection engine's step in passes over rows and columns: the reflected waves,
//! transformed along their columns of 64, 128, 256 or 512 values.
//!
//! `work` is `(1−c) ψ + c P·O` of a group of frames, every mode of its own. A block handles a tile of 16 neighbouring
//! columns of one layer, as [`crate::fft::columns`]. Reads 8 bytes a value (ψ; probe and object are in L2) and writes 8.

use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Columns of a tile.
pub const WIDTH: u32 = 16;
/// Values that a thread loads together.
const TOGETHER: usize = 8;

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, $threads:literal threads, $blocks:literal blocks: $name:ident;)*) => {$(
        #[doc = concat!("The reflected waves of frames of ", stringify!($length), " rows; `rows` must be ", stringify!($length), ", `columns` a multiple of 16.")]
        ///
        /// The group is the frames `first..first + count`; with c = 1 `psi` is not read. `roots` are exp(−2πi k/rows).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $length * 128)]
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
            let waves = Waves {
                exchange: shared::dynamic_shared_mem(),
                psi,
                probe,
                object,
                corners: corners.add(first as usize),
                roots,
                first,
                modes,
                columns,
                object_columns,
                c,
            };
            for item in thread::block_stride(count * modes * tiles) {
                waves.reflect::<$a, $b>(work, item / tiles, item % tiles);
            }
        }
    )*};
}

kernels! {
    64 = 8 * 8, 128 threads, 8 blocks: ptycho_columns_reflect_64;
    128 = 16 * 8, 128 threads, 6 blocks: ptycho_columns_reflect_128;
    256 = 16 * 16, 256 threads, 3 blocks: ptycho_columns_reflect_256;
    512 = 32 * 16, 256 threads, 2 blocks: ptycho_columns_reflect_512;
}

struct Waves {
    /// A tile in shared memory.
    exchange: *mut Complex32,
    psi: *const Complex32,
    probe: *const Complex32,
    object: *const Complex32,
    /// Corners of the group's frames.
    corners: *const [u32; 2],
    roots: *const Complex32,
    first: u32,
    modes: u32,
    columns: u32,
    object_columns: u32,
    c: f32,
}

/// The thread's number in its column, and its column in the tile.
#[inline(always)]
pub(super) fn place() -> (u32, u32) {
    let index = thread::hidden(thread::thread_idx_x());
    (index / WIDTH, index % WIDTH)
}

impl Waves {
    /// Tile number `tile` of layer (frame of the group, mode) number `layer`.
    #[inline(always)]
    unsafe fn reflect<const A: usize, const B: usize>(
        &self,
        work: *mut Complex32,
        layer: u32,
        tile: u32,
    ) {
        let mut x = [Complex32::ZERO; A];
        if self.c == 1.0 {
            self.load::<A, B, false>(layer, tile, &mut x);
        } else {
            self.load::<A, B, true>(layer, tile, &mut x);
        }
        thread::sync_threads();
        let (t, inner) = place();
        let exchange = self.exchange.add(inner as usize);
        Line::<A, B, B, { WIDTH as usize }>::new(exchange, self.roots, t as usize)
            .forward(&mut x, thread::sync_threads);
        let (t, inner) = place();
        let pitch = thread::hidden(self.columns);
        let layer = work.add(layer as usize * (A * B) * pitch as usize);
        let target = layer.add((t * pitch + tile * WIDTH + inner) as usize);
        for v in 0..A {
            let row = Line::<A, B, B, { WIDTH as usize }>::spectrum_offset(v) as u32;
            *target.add((row * pitch) as usize) = x[v];
        }
    }

    /// The values of the thread's column, in the order that the transform expects.
    #[inline(always)]
    unsafe fn load<const A: usize, const B: usize, const PSI: bool>(
        &self,
        layer: u32,
        tile: u32,
        x: &mut [Complex32; A],
    ) {
        let (member, mode) = (layer / self.modes, layer % self.modes);
        let [top, left] = *self.corners.add(member as usize);
        let (t, inner) = place();
        let column = tile * WIDTH + inner;
        let pixels = (A * B) * self.columns as usize;
        let start = (t * self.columns + column) as usize;
        let whole = self.first as usize * self.modes as usize + layer as usize;
        let psi = self.psi.add(whole * pixels + start);
        let probe = self.probe.add(mode as usize * pixels + start);
        let corner = (top + t) as usize * self.object_columns as usize + (left + column) as usize;
        let object = self.object.add(corner);
        let step = B as u32 * self.columns;
        let object_step = B as u32 * self.object_columns;
        for group in 0..A / TOGETHER {
            // Keeps the assembler from loading everything at once.
            warp::sync_warp(warp::FULL);
            for u in 0..TOGETHER {
                let n1 = (group * TOGETHER + u) as u32;
                let at = (n1 * step) as usize;
                let exit = *probe.add(at) * *object.add((n1 * object_step) as usize);
                let wave = if PSI {
                    exit.scale_add(self.c, (*psi.add(at)).scale(1.0 - self.c))
                } else {
                    exit
                };
                x[Line::<A, B, B, { WIDTH as usize }>::register(n1 as usize)] = wave;
            }
        }
    }
}
