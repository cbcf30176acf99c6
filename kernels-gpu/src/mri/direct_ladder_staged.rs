//! The next rungs of the textbook's ladder for Fᴴd: k-space in chunks in shared memory.
//!
//! The textbook puts chunks of k-space into constant memory, at most 64 KiB and one launch a chunk. Here the block
//! stages 256 samples at a time in shared memory, where all threads of a warp read the same word equally fast, in one
//! launch. For one voxel and sample: `mri_ladder_chunks` 5 shared reads, `mri_ladder_structs` and
//! `mri_ladder_hardware` 2, of an array of structures; `mri_ladder_voxels` 2 for 4 voxels. Sine, cosine and phase
//! take about 30 instructions (hardware: 12), the sum 4. Each thread computes one voxel (or 4). Blocks of 256: full
//! occupancy.

use super::direct_ladder_global::turns;
use warpstride_device::prelude::*;

/// Samples that are staged together.
pub(super) const CHUNK: u32 = 256;
/// Voxels of each thread of `mri_ladder_voxels`.
const VOXELS: usize = 4;

/// k-space as an array of structures: kx, ky, kz, 0 and Re Mu, Im Mu, cos and sin of 2πkx, Mu =
/// conj(φ) d.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
pub unsafe fn mri_ladder_pack(
    #[len(2 * samples)] out: *mut F32x4,
    #[len(samples)] kx: *const f32,
    #[len(samples)] ky: *const f32,
    #[len(samples)] kz: *const f32,
    #[len(samples)] mu: *const Complex32,
    samples: usize,
) {
    for m in thread::grid_stride(samples) {
        let mu = *mu.add(m);
        let step = phase::sincos_turns_accurate(*kx.add(m));
        *out.add(2 * m) = F32x4([*kx.add(m), *ky.add(m), *kz.add(m), 0.0]);
        *out.add(2 * m + 1) = F32x4([mu.re, mu.im, step.re, step.im]);
    }
}

/// k-space in chunks in shared memory, an array for each quantity.
#[kernel(block = 256, hot)]
#[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
pub unsafe fn mri_ladder_chunks(
    #[len(voxels)] out: *mut Complex32,
    #[len(voxels)] x: *const f32,
    #[len(voxels)] y: *const f32,
    #[len(voxels)] z: *const f32,
    #[len(samples)] kx: *const f32,
    #[len(samples)] ky: *const f32,
    #[len(samples)] kz: *const f32,
    #[len(samples)] mu: *const Complex32,
    voxels: u32,
    samples: u32,
) {
    let staged = shared_array![f32; 5 * CHUNK as usize];
    let width = thread::block_threads();
    for tile in thread::block_stride(voxels.div_ceil(width)) {
        let n = tile * width + thread::index_in_block();
        let at = n.min(voxels - 1) as usize;
        let place = [*x.add(at), *y.add(at), *z.add(at)];
        let mut sum = Complex32::ZERO;
        let mut first = 0;
        while first < samples {
            let count = (samples - first).min(CHUNK);
            thread::sync_threads();
            for i in thread::thread_stride(count) {
                let m = (first + i) as usize;
                let mu = *mu.add(m);
                let values = [*kx.add(m), *ky.add(m), *kz.add(m), mu.re, mu.im];
                for (q, value) in values.iter().enumerate() {
                    *staged.add(q * CHUNK as usize + i as usize) = *value;
                }
            }
            thread::sync_threads();
            for i in 0..count as usize {
                let of = |q: usize| *staged.add(q * CHUNK as usize + i);
                let wave = phase::sincos_turns_accurate(turns([of(0), of(1), of(2)], place));
                sum = wave.mul_add(Complex32::new(of(3), of(4)), sum);
            }
            first += count;
        }
        if n < voxels {
            *out.add(n as usize) = sum;
        }
    }
}

macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident: $voxels:expr, $rotation:path;)*) => {$(
        $(#[$doc])*
        #[kernel(block = 256, hot)]
        #[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
        pub unsafe fn $name(
            #[len(voxels)] out: *mut Complex32,
            #[len(voxels)] x: *const f32,
            #[len(voxels)] y: *const f32,
            #[len(voxels)] z: *const f32,
            #[len(2 * samples)] points: *const F32x4,
            voxels: u32,
            samples: u32,
        ) {
            const OWN: usize = $voxels;
            let staged = shared_array![F32x4; 2 * CHUNK as usize];
            let width = thread::block_threads();
            for tile in thread::block_stride(voxels.div_ceil(width * OWN as u32)) {
                let first_voxel = tile * width * OWN as u32 + thread::index_in_block();
                let mut places = [[0.0; 3]; OWN];
                let mut sums = [Complex32::ZERO; OWN];
                for (i, place) in places.iter_mut().enumerate() {
                    let at = (first_voxel + i as u32 * width).min(voxels - 1) as usize;
                    *place = [*x.add(at), *y.add(at), *z.add(at)];
                }
                let mut first = 0;
                while first < samples {
                    let count = stage(staged, points, first, samples);
                    for i in 0..count as usize {
                        let [kx, ky, kz, _] = (*staged.add(2 * i)).0;
                        let [re, im, ..] = (*staged.add(2 * i + 1)).0;
                        for n in 0..OWN {
                            let wave = $rotation(turns([kx, ky, kz], places[n]));
                            sums[n] = wave.mul_add(Complex32::new(re, im), sums[n]);
                        }
                    }
                    first += count;
                }
                for (i, sum) in sums.iter().enumerate() {
                    let n = first_voxel + i as u32 * width;
                    if n < voxels {
                        *out.add(n as usize) = *sum;
                    }
                }
            }
        }
    )*};
}

/// Stages the block's next chunk and returns its number of samples. All threads call it together.
#[inline(always)]
pub(super) unsafe fn stage(
    staged: *mut F32x4,
    points: *const F32x4,
    first: u32,
    samples: u32,
) -> u32 {
    let count = (samples - first).min(CHUNK);
    thread::sync_threads();
    for i in thread::thread_stride(2 * count) {
        *staged.add(i as usize) = *points.add(2 * first as usize + i as usize);
    }
    thread::sync_threads();
    count
}

structs! {
    /// An array of structures.
    mri_ladder_structs: 1, phase::sincos_turns_accurate;
    /// The device's approximate sine and cosine.
    mri_ladder_hardware: 1, phase::sincos_turns_fast;
    /// Four voxels a thread, which share the reads.
    mri_ladder_voxels: VOXELS, phase::sincos_turns_fast;
}
