//! How the model intensities of a frame deviate from its counts.

use crate::engines::cpu::arrays::simd::{PixelLoop, lanes, vectorised, wide_sum};
use crate::quality::free_pixels::FREE;
use num_complex::Complex;
use warpstride_fft::Real;

/// Sums of [`ModelSums`].
pub(in crate::engines::cpu) const MODEL_SUMS: usize = 4;

/// Deviation of the model P·O from the counts of one frame.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::engines::cpu) struct FrameModel {
    /// Σ w (I_model − I)²/(I+1) / Σ w.
    pub(in crate::engines::cpu) photon: f64,
    /// Σ w (√I_model − √I)².
    pub(in crate::engines::cpu) residual: f64,
    /// The same over the free pixels.
    pub(in crate::engines::cpu) free: f64,
}

/// Running sums over pixels, `N` of them side by side.
pub(in crate::engines::cpu) struct ModelSums<T, const N: usize> {
    /// Σ w (I_model − I)²/(I+1).
    photon: [T; N],
    /// Σ w (√I_model − √I)².
    residual: [T; N],
    /// The same over the free pixels.
    free: [T; N],
    /// Σ w.
    valid: [T; N],
}

impl<T: Real, const N: usize> ModelSums<T, N> {
    #[inline(always)]
    pub(in crate::engines::cpu) fn new() -> Self {
        let zero = [T::default(); N];
        Self {
            photon: zero,
            residual: zero,
            free: zero,
            valid: zero,
        }
    }

    /// Adds pixels with these model intensities, photons, and magnitudes, negative where masked or
    /// free.
    #[inline(always)]
    pub(in crate::engines::cpu) fn add(&mut self, intensities: &[T; N], magnitudes: &[f32; N]) {
        let (zero, one) = (T::zero(), T::one());
        for lane in 0..N {
            let magnitude = T::of(f64::from(magnitudes[lane]));
            let hidden = T::of(f64::from(FREE - magnitudes[lane]));
            let (valid, free) = (magnitudes[lane] >= 0.0, magnitudes[lane] <= FREE);
            let intensity = intensities[lane];
            let root = intensity.sqrt();
            let counts = magnitude * magnitude;
            let deviation = intensity - counts;
            let photon = deviation * deviation / (counts + one);
            let residual = root - magnitude;
            let of_free = root - hidden;
            self.photon[lane] += if valid { photon } else { zero };
            self.residual[lane] += if valid { residual * residual } else { zero };
            self.free[lane] += if free { of_free * of_free } else { zero };
            self.valid[lane] += if valid { one } else { zero };
        }
    }

    /// Counts pixels with these magnitudes.
    #[inline(always)]
    pub(in crate::engines::cpu) fn count(&mut self, magnitudes: &[f32; N]) {
        for (valid, magnitude) in self.valid.iter_mut().zip(magnitudes) {
            *valid += if *magnitude >= 0.0 {
                T::one()
            } else {
                T::zero()
            };
        }
    }

    /// The sums over the lanes: photon, residual, free, valid.
    #[inline(always)]
    pub(in crate::engines::cpu) fn total(&self) -> [f64; MODEL_SUMS] {
        [
            wide_sum(&self.photon),
            wide_sum(&self.residual),
            wide_sum(&self.free),
            wide_sum(&self.valid),
        ]
    }
}

/// The errors of a frame from its sums; 0 without valid pixels.
pub(in crate::engines::cpu) fn frame_model(
    [photon, residual, free, valid]: [f64; MODEL_SUMS],
) -> FrameModel {
    FrameModel {
        photon: if valid > 0.0 { photon / valid } else { 0.0 },
        residual,
        free,
    }
}

/// `scale` · Σ|f|² over the modes of `N` pixels from `start` on; `spectra` is (mode, pixel).
#[inline(always)]
pub(in crate::engines::cpu) fn intensities<T: Real, const N: usize>(
    spectra: &[Complex<T>],
    [modes, pixels]: [usize; 2],
    start: usize,
    scale: T,
) -> [T; N] {
    let mut sums = [T::zero(); N];
    for mode in 0..modes {
        let values = lanes::<_, N>(spectra, mode * pixels + start);
        for lane in 0..N {
            sums[lane] += values[lane].norm_sqr();
        }
    }
    sums.map(|sum| sum * scale)
}

/// Model intensities of a frame and their deviations.
struct Compare<'a, T> {
    /// Unnormalised transforms of the exit waves (mode, column, row).
    spectra: &'a [Complex<T>],
    /// (column, row).
    magnitudes: &'a [f32],
    /// Σ|f|² times this are photons.
    scale: T,
    /// Receives the model intensities, photons (column, row).
    intensities: &'a mut [T],
}

impl<T: Real> PixelLoop<MODEL_SUMS> for Compare<'_, T> {
    #[inline(always)]
    fn pixels<const N: usize>(&mut self, start: usize, end: usize) -> [f64; MODEL_SUMS] {
        let pixels = self.magnitudes.len();
        let shape = [self.spectra.len() / pixels, pixels];
        let mut sums = ModelSums::<T, N>::new();
        for at in (start..end).step_by(N) {
            let modelled = intensities::<T, N>(self.spectra, shape, at, self.scale);
            sums.add(&modelled, &lanes(self.magnitudes, at));
            self.intensities[at..at + N].copy_from_slice(&modelled);
        }
        sums.total()
    }
}

impl<T: Real> pulp::NullaryFnOnce for Compare<'_, T> {
    type Output = [f64; MODEL_SUMS];

    #[inline(always)]
    fn call(mut self) -> Self::Output {
        self.all(self.magnitudes.len())
    }
}

/// Writes `scale` · Σ|f|² of `spectra` (mode, column, row) to `intensities`.
pub(in crate::engines::cpu) fn write_intensities<T: Real>(
    spectra: &[Complex<T>],
    scale: T,
    intensities: &mut [T],
) {
    intensities.fill(T::zero());
    for spectrum in spectra.chunks_exact(intensities.len()) {
        for (sum, f) in intensities.iter_mut().zip(spectrum) {
            *sum += f.norm_sqr() * scale;
        }
    }
}

/// Deviations of intensities that a detector measures, photons (column, row).
struct CompareMeasured<'a, T> {
    measured: &'a [T],
    magnitudes: &'a [f32],
}

impl<T: Real> PixelLoop<MODEL_SUMS> for CompareMeasured<'_, T> {
    #[inline(always)]
    fn pixels<const N: usize>(&mut self, start: usize, end: usize) -> [f64; MODEL_SUMS] {
        let mut sums = ModelSums::<T, N>::new();
        for at in (start..end).step_by(N) {
            sums.add(&lanes(self.measured, at), &lanes(self.magnitudes, at));
        }
        sums.total()
    }
}

impl<T: Real> pulp::NullaryFnOnce for CompareMeasured<'_, T> {
    type Output = [f64; MODEL_SUMS];

    #[inline(always)]
    fn call(mut self) -> Self::Output {
        self.all(self.magnitudes.len())
    }
}

/// The deviations of `measured` intensities of the model, photons, from `magnitudes`, both (column,
/// row), and Σ w (√I_model − √I)²/Σ w.
pub(in crate::engines::cpu) fn compare_measured<T: Real>(
    measured: &[T],
    magnitudes: &[f32],
) -> (FrameModel, f64) {
    with_mean(vectorised(CompareMeasured {
        measured,
        magnitudes,
    }))
}

/// The errors of a frame from its sums, and Σ w (√I_model − √I)²/Σ w.
fn with_mean(sums: [f64; MODEL_SUMS]) -> (FrameModel, f64) {
    let [_, residual, _, valid] = sums;
    let mean = if valid > 0.0 { residual / valid } else { 0.0 };
    (frame_model(sums), mean)
}

/// Writes the model intensities `scale` · Σ|f|² of `spectra` (mode, column, row) to `intensities`,
/// and returns the deviations from `magnitudes` (column, row) and Σ w (√I_model − √I)²/Σ w.
pub(in crate::engines::cpu) fn compare<T: Real>(
    spectra: &[Complex<T>],
    magnitudes: &[f32],
    scale: T,
    intensities: &mut [T],
) -> (FrameModel, f64) {
    with_mean(vectorised(Compare {
        spectra,
        magnitudes,
        scale,
        intensities,
    }))
}
