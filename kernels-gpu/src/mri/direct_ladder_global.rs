//! The first rungs of the textbook's ladder for Fᴴd: k-space and image in global memory.
//!
//! Data as in the textbook: an array for each of kx, ky, kz (cycles/pixel), φ, d by sample, and x, y, z (pixels) and
//! the result by voxel. Every phase is in turns, so its reduction is exact whatever its magnitude. For one voxel and
//! sample: `mri_ladder_scatter` 7 reads and 2 atomic additions, `mri_ladder_gather` 12 reads and 2 writes,
//! `mri_ladder_split` 10 and 2, `mri_ladder_registers` 5 and none. A thread processes one sample (scatter) or one
//! voxel. Blocks of 256: full occupancy.

use warpstride_device::prelude::*;

/// k·x in turns.
#[inline(always)]
pub(super) fn turns(k: [f32; 3], x: [f32; 3]) -> f32 {
    let yz = GpuFloat::mul_add(k[1], x[1], k[2] * x[2]);
    GpuFloat::mul_add(k[0], x[0], yz)
}

/// conj(φ) d.
#[inline(always)]
unsafe fn mu(phi: *const Complex32, data: *const Complex32, sample: usize) -> Complex32 {
    (*phi.add(sample)).conj() * *data.add(sample)
}

#[inline(always)]
unsafe fn at(x: *const f32, y: *const f32, z: *const f32, i: usize) -> [f32; 3] {
    [*x.add(i), *y.add(i), *z.add(i)]
}

/// Each thread adds the wave of one sample to every voxel: `re`, `im` must be zero before.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
pub unsafe fn mri_ladder_scatter(
    #[len(voxels)] re: *mut f32,
    #[len(voxels)] im: *mut f32,
    #[len(voxels)] x: *const f32,
    #[len(voxels)] y: *const f32,
    #[len(voxels)] z: *const f32,
    #[len(samples)] kx: *const f32,
    #[len(samples)] ky: *const f32,
    #[len(samples)] kz: *const f32,
    #[len(samples)] phi: *const Complex32,
    #[len(samples)] data: *const Complex32,
    voxels: usize,
    samples: usize,
) {
    for m in thread::grid_stride(samples) {
        let mu = mu(phi, data, m);
        let k = at(kx, ky, kz, m);
        for n in 0..voxels {
            let wave = phase::sincos_turns_accurate(turns(k, at(x, y, z, n))) * mu;
            atomic::add_global(re.add(n), wave.re);
            atomic::add_global(im.add(n), wave.im);
        }
    }
}

/// Each thread gathers every sample's wave for one voxel, in memory.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
pub unsafe fn mri_ladder_gather(
    #[len(voxels)] re: *mut f32,
    #[len(voxels)] im: *mut f32,
    #[len(voxels)] x: *const f32,
    #[len(voxels)] y: *const f32,
    #[len(voxels)] z: *const f32,
    #[len(samples)] kx: *const f32,
    #[len(samples)] ky: *const f32,
    #[len(samples)] kz: *const f32,
    #[len(samples)] phi: *const Complex32,
    #[len(samples)] data: *const Complex32,
    voxels: usize,
    samples: usize,
) {
    for n in thread::grid_stride(voxels) {
        *re.add(n) = 0.0;
        *im.add(n) = 0.0;
        for m in 0..samples {
            let t = turns(at(kx, ky, kz, m), at(x, y, z, n));
            let wave = phase::sincos_turns_accurate(t) * mu(phi, data, m);
            *re.add(n) += wave.re;
            *im.add(n) += wave.im;
        }
    }
}

/// Computes Mu = conj(φ) d separately.
#[kernel(block = 256)]
pub unsafe fn mri_ladder_mu(
    #[len(samples)] out: *mut Complex32,
    #[len(samples)] phi: *const Complex32,
    #[len(samples)] data: *const Complex32,
    samples: usize,
) {
    for m in thread::grid_stride(samples) {
        *out.add(m) = mu(phi, data, m);
    }
}

/// The gather, with Mu computed before.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
pub unsafe fn mri_ladder_split(
    #[len(voxels)] re: *mut f32,
    #[len(voxels)] im: *mut f32,
    #[len(voxels)] x: *const f32,
    #[len(voxels)] y: *const f32,
    #[len(voxels)] z: *const f32,
    #[len(samples)] kx: *const f32,
    #[len(samples)] ky: *const f32,
    #[len(samples)] kz: *const f32,
    #[len(samples)] mu: *const Complex32,
    voxels: usize,
    samples: usize,
) {
    for n in thread::grid_stride(voxels) {
        *re.add(n) = 0.0;
        *im.add(n) = 0.0;
        for m in 0..samples {
            let t = turns(at(kx, ky, kz, m), at(x, y, z, n));
            let wave = phase::sincos_turns_accurate(t) * *mu.add(m);
            *re.add(n) += wave.re;
            *im.add(n) += wave.im;
        }
    }
}

/// The gather, with the voxel's position and sums in registers.
#[kernel(block = 256, hot)]
#[allow(clippy::too_many_arguments, reason = "the textbook's arrays")]
pub unsafe fn mri_ladder_registers(
    #[len(voxels)] re: *mut f32,
    #[len(voxels)] im: *mut f32,
    #[len(voxels)] x: *const f32,
    #[len(voxels)] y: *const f32,
    #[len(voxels)] z: *const f32,
    #[len(samples)] kx: *const f32,
    #[len(samples)] ky: *const f32,
    #[len(samples)] kz: *const f32,
    #[len(samples)] mu: *const Complex32,
    voxels: usize,
    samples: usize,
) {
    for n in thread::grid_stride(voxels) {
        let place = at(x, y, z, n);
        let mut sum = Complex32::ZERO;
        for m in 0..samples {
            let t = turns(at(kx, ky, kz, m), place);
            sum = phase::sincos_turns_accurate(t).mul_add(*mu.add(m), sum);
        }
        *re.add(n) = sum.re;
        *im.add(n) = sum.im;
    }
}
