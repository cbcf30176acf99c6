//! A projection engine's step in Fourier space, one frame a block.
//!
//! The state is Ψ = F ψ, and the transform A = F[P·O] is given, both unnormalised (without 1/√N). With the reflected
//! wave `f = (1−c) Ψ + c A`: `af = √(scale · Σ_modes |f|²)`, `err = Σ w (af − m)² / Σ w` with m = √I and w = 1 where
//! m ≥ 0 (a masked pixel has m = −1, a free one m = −2 − √I); then `Ψ ← keep Ψ + a A + b g f` with `g = (m + (af − m) k)/(af + ε)`,
//! where k = 0 without a bound, 1 within it and √(bound/err) beyond; g = 1 where masked. With `I_m = scale · Σ |A|²`,
//! the step also computes the metrics of the model, `Σ w (I_m − I)²/(I + 1) / Σ w` and `Σ w (√I_m − √I)²`, the latter
//! also over the free pixels, and Σ |Δψ|² by Parseval's theorem.
//!
//! The block knows the error of the whole frame before it writes. Reads Ψ, A and m twice, the second time mostly from
//! L2, and writes Ψ: from device memory 24 bytes per pixel and mode and 4 per pixel. A thread loads four pixels
//! before it uses the first.
//!
//! Block of 1024, one on a multiprocessor: 132 frames of 128 × 128 in flight are 43 MB, which L2 holds until their
//! second visit.

use super::FREE;
use super::magnitude_floor::MAGNITUDE_FLOOR_F32;
use warpstride_device::prelude::*;

/// Pixels of a thread that are loaded together.
const TOGETHER: usize = 4;

/// One step of every frame and its metrics: `errors`, `moved` (Σ|Δψ|²), `photon`, `residual`, `free`. `bound`
/// 0: no bound.
#[kernel(block = 1024, min_blocks = 1, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model, their shapes and the engine's coefficients"
)]
pub unsafe fn ptycho_fourier_step(
    #[len(frames * modes * pixels)] spectra: *mut Complex32,
    #[len(frames * modes * pixels)] model: *const Complex32,
    #[len(frames * pixels)] magnitudes: *const f32,
    #[len(frames)] errors: *mut f32,
    #[len(frames)] moved: *mut f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    frames: u32,
    modes: u32,
    pixels: u32,
    scale: f32,
    bound: f32,
    keep: f32,
    a: f32,
    b: f32,
    c: f32,
) {
    for frame in thread::block_stride(frames) {
        let start = frame as usize * modes as usize * pixels as usize;
        let at = Frame {
            spectra: spectra.add(start),
            model: model.add(start),
            magnitudes: magnitudes.add(frame as usize * pixels as usize),
            modes,
            pixels,
            scale,
            c,
        };
        let mut sums = Sums::default();
        at.each_group(|pixel, together| {
            if together {
                at.look::<TOGETHER>(pixel, &mut sums);
            } else {
                at.look::<1>(pixel, &mut sums);
            }
        });
        let (deviation, count) = reduce::block_sum_pair(sums.deviation, sums.count);
        let (photons, roots) = reduce::block_sum_pair(sums.photon, sums.residual);
        let per_pixel = if count > 0.0 { 1.0 / count } else { 0.0 };
        let error = deviation * per_pixel;
        let kept = if bound <= 0.0 {
            0.0
        } else if error <= bound {
            1.0
        } else {
            GpuFloat::sqrt(bound / error)
        };
        let mut change = 0.0;
        let coefficients = [keep, a, b];
        at.each_group(|pixel, together| {
            change += if together {
                at.advance::<TOGETHER>(pixel, kept, coefficients)
            } else {
                at.advance::<1>(pixel, kept, coefficients)
            };
        });
        let (change, hidden) = reduce::block_sum_pair(change, sums.free);
        if thread::index_in_block() == 0 {
            *errors.add(frame as usize) = error;
            *moved.add(frame as usize) = change * scale;
            *photon.add(frame as usize) = photons * per_pixel;
            *residual.add(frame as usize) = roots;
            *free.add(frame as usize) = hidden;
        }
    }
}

/// One frame's arrays.
struct Frame {
    spectra: *mut Complex32,
    model: *const Complex32,
    magnitudes: *const f32,
    modes: u32,
    pixels: u32,
    scale: f32,
    c: f32,
}

/// A thread's sums over its pixels.
#[derive(Default)]
struct Sums {
    deviation: f32,
    count: f32,
    photon: f32,
    residual: f32,
    free: f32,
}

impl Frame {
    /// Calls `take(first pixel, true)` for as many groups of [`TOGETHER`] pixels, one block apart, as all threads
    /// have, then `take(pixel, false)` for single pixels.
    #[inline(always)]
    fn each_group(&self, mut take: impl FnMut(u32, bool)) {
        let threads = thread::block_threads();
        let own = thread::index_in_block();
        let group = threads * TOGETHER as u32;
        let mut first = 0;
        while self.pixels - first >= group {
            take(first + own, true);
            first += group;
        }
        while first < self.pixels {
            if own < self.pixels - first {
                take(first + own, false);
            }
            first += threads.min(self.pixels - first);
        }
    }

    /// Σ_modes |f|² and Σ_modes |A|² of `N` pixels, unscaled.
    #[inline(always)]
    unsafe fn intensities<const N: usize>(&self, pixel: u32) -> ([f32; N], [f32; N]) {
        let threads = thread::block_threads() as usize;
        let mut reflected = [0.0; N];
        let mut modelled = [0.0; N];
        let mut at = pixel as usize;
        for _ in 0..self.modes {
            let mut psi = [Complex32::ZERO; N];
            let mut model = [Complex32::ZERO; N];
            for u in 0..N {
                psi[u] = *self.spectra.add(at + u * threads);
                model[u] = *self.model.add(at + u * threads);
            }
            for u in 0..N {
                reflected[u] += self.reflected(psi[u], model[u]).norm_sqr();
                modelled[u] += model[u].norm_sqr();
            }
            at += self.pixels as usize;
        }
        (reflected, modelled)
    }

    #[inline(always)]
    fn reflected(&self, psi: Complex32, model: Complex32) -> Complex32 {
        model.scale_add(self.c, psi.scale(1.0 - self.c))
    }

    #[inline(always)]
    unsafe fn magnitudes<const N: usize>(&self, pixel: u32) -> [f32; N] {
        let threads = thread::block_threads() as usize;
        let mut magnitudes = [0.0; N];
        for (u, magnitude) in magnitudes.iter_mut().enumerate() {
            *magnitude = *self.magnitudes.add(pixel as usize + u * threads);
        }
        magnitudes
    }

    /// First visit: the frame's metrics.
    #[inline(always)]
    unsafe fn look<const N: usize>(&self, pixel: u32, sums: &mut Sums) {
        let magnitudes = self.magnitudes::<N>(pixel);
        let (reflected, modelled) = self.intensities::<N>(pixel);
        for u in 0..N {
            let magnitude = magnitudes[u];
            let valid = if magnitude >= 0.0 { 1.0 } else { 0.0 };
            let deviation = float::sqrt_approx(reflected[u] * self.scale) - magnitude;
            sums.deviation = (deviation * valid).mul_add(deviation, sums.deviation);
            let (model, counts) = (modelled[u] * self.scale, magnitude * magnitude);
            let by_count = model - counts;
            let root = float::sqrt_approx(model);
            let by_root = root - magnitude;
            let hidden = if magnitude <= FREE {
                root - (FREE - magnitude)
            } else {
                0.0
            };
            let weighted = float::div_approx(by_count * by_count, counts + 1.0);
            sums.photon = weighted.mul_add(valid, sums.photon);
            sums.residual = (by_root * valid).mul_add(by_root, sums.residual);
            sums.free = hidden.mul_add(hidden, sums.free);
            sums.count += valid;
        }
    }

    /// Second visit: the new Ψ; returns Σ |ΔΨ|².
    #[inline(always)]
    unsafe fn advance<const N: usize>(&self, pixel: u32, kept: f32, [keep, a, b]: [f32; 3]) -> f32 {
        let threads = thread::block_threads() as usize;
        let magnitudes = self.magnitudes::<N>(pixel);
        let (reflected, _) = self.intensities::<N>(pixel);
        let mut factors = [b; N];
        for u in 0..N {
            if magnitudes[u] >= 0.0 && kept != 1.0 {
                let af = float::sqrt_approx(reflected[u] * self.scale);
                let wanted = (af - magnitudes[u]).mul_add(kept, magnitudes[u]);
                factors[u] = float::div_approx(wanted, af + MAGNITUDE_FLOOR_F32) * b;
            }
        }
        let mut change = 0.0;
        let mut at = pixel as usize;
        for _ in 0..self.modes {
            let mut psi = [Complex32::ZERO; N];
            let mut model = [Complex32::ZERO; N];
            for u in 0..N {
                psi[u] = *self.spectra.add(at + u * threads);
                model[u] = *self.model.add(at + u * threads);
            }
            for u in 0..N {
                let reflected = self.reflected(psi[u], model[u]);
                let rest = model[u].scale_add(a, psi[u].scale(keep));
                let next = reflected.scale_add(factors[u], rest);
                change += (next - psi[u]).norm_sqr();
                *self.spectra.add(at + u * threads) = next;
            }
            at += self.pixels as usize;
        }
        change
    }
}
