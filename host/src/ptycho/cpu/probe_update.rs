//! Probe update P ← [c_p P + Σ conj(O) ψ] / [c_p + Σ |O|²], in bands of rows.

use super::complex_products::add_conjugate_products;
use super::engine::{Layout, frames_together};
use super::simd::vectorised;
use crate::fft::Real;
use num_complex::Complex;
use rayon::prelude::*;

/// Rows per task: in every frame they are contiguous, so that a task reads whole pages of memory,
/// and their sums stay in the first-level cache.
const BAND: usize = 4;

/// Updates the probe; `weight` is c_p, frames.
pub(super) fn probe_update<T: Real>(
    layout: &Layout,
    object: &[Complex<T>],
    probe: &mut [Complex<T>],
    exit: &[Complex<T>],
    weight: f64,
) {
    let together = frames_together::<T>(layout.modes * layout.pixels());
    ProbeSums::new(layout, object, exit, together).finish(layout, probe, weight);
}

/// The sums of a probe update over all frames.
pub(super) struct ProbeSums<T> {
    bands: Vec<Band<T>>,
}

impl<T: Real> ProbeSums<T> {
    /// Adds `together` frames at a time. Each pixel sums over the frames in order, from the last one
    /// on, because the exit waves of the last ones are still in a cache; neither the number of threads
    /// nor that of frames at a time changes a bit.
    pub(super) fn new(
        layout: &Layout,
        object: &[Complex<T>],
        exit: &[Complex<T>],
        together: usize,
    ) -> Self {
        let waves = layout.modes * layout.pixels();
        let band = |first: usize| {
            let count = BAND.min(layout.rows - first) * layout.columns;
            Band {
                first,
                numerators: vec![Complex::default(); layout.modes * count],
                denominators: vec![T::default(); count],
            }
        };
        let mut bands: Vec<Band<T>> = (0..layout.rows).step_by(BAND).map(band).collect();
        let chunks = (layout.corners.chunks(together)).zip(exit.chunks(together * waves));
        for (corners, exit) in chunks.rev() {
            bands.par_iter_mut().for_each(|band| {
                vectorised(AddFrames {
                    layout,
                    corners,
                    object,
                    exit,
                    band,
                });
            });
        }
        Self { bands }
    }

    /// Updates the probe (mode, row, column); `weight` is c_p, frames.
    pub(super) fn finish(&self, layout: &Layout, probe: &mut [Complex<T>], weight: f64) {
        let weight = T::of(weight);
        for band in &self.bands {
            let count = band.denominators.len();
            for (mode, numerators) in band.numerators.chunks_exact(count).enumerate() {
                let start = mode * layout.pixels() + band.first * layout.columns;
                let sums = numerators.iter().zip(&band.denominators);
                for (p, (n, d)) in probe[start..][..count].iter_mut().zip(sums) {
                    let total = *d + weight;
                    if total > T::default() {
                        *p = (p.scale(weight) + n).unscale(total);
                    }
                }
            }
        }
    }
}

/// Sums of a band of the frames' rows.
struct Band<T> {
    /// First row.
    first: usize,
    /// Σ conj(O) ψ (mode, row, column).
    numerators: Vec<Complex<T>>,
    /// Σ|O|² (row, column).
    denominators: Vec<T>,
}

/// Adds frames to the sums of a band, the last one first.
struct AddFrames<'a, T> {
    layout: &'a Layout,
    /// Corners of the frames to add.
    corners: &'a [[u32; 2]],
    object: &'a [Complex<T>],
    /// Exit waves of these frames (frame, mode, row, column).
    exit: &'a [Complex<T>],
    band: &'a mut Band<T>,
}

impl<T: Real> pulp::WithSimd for AddFrames<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Layout {
            modes,
            columns,
            object_shape: [_, width],
            ..
        } = *self.layout;
        let pixels = self.layout.pixels();
        let Band {
            first,
            numerators,
            denominators,
        } = self.band;
        let count = denominators.len();
        for (frame, corner) in self.corners.iter().enumerate().rev() {
            let [top, left] = corner.map(|v| v as usize);
            for row in 0..count / columns {
                let own = row * columns;
                let object = &self.object[(top + *first + row) * width + left..][..columns];
                let denominators = &mut denominators[own..own + columns];
                for (sum, o) in denominators.iter_mut().zip(object) {
                    *sum += o.norm_sqr();
                }
                for mode in 0..modes {
                    let at = (frame * modes + mode) * pixels + *first * columns + own;
                    let psi = &self.exit[at..at + columns];
                    let sums = &mut numerators[mode * count + own..][..columns];
                    add_conjugate_products(simd, sums, object, psi);
                }
            }
        }
    }
}

/// Returns ‖after − before‖² and ‖before‖².
pub(super) fn change<T: Real>(before: &[Complex<T>], after: &[Complex<T>]) -> [f64; 2] {
    let moved = before
        .iter()
        .zip(after)
        .map(|(b, a)| (*a - *b).norm_sqr().wide())
        .sum();
    [moved, before.iter().map(|b| b.norm_sqr().wide()).sum()]
}
