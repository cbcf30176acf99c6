//! Object update O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²], in bands of object rows.
//!
//! Frames are added a few at a time, while their exit waves are still in a cache. Each pixel sums
//! over the frames in order, so neither the number of threads nor that of frames at a time changes
//! a bit.

use super::complex_products::add_conjugate_products;
use super::engine::{Layout, mode_power};
use super::simd::vectorised;
use crate::fft::Real;
use num_complex::Complex;
use rayon::prelude::*;
use std::ops::Range;

/// Object rows per task: small enough to occupy any number of cores, large enough that looping over
/// the frames has negligible cost.
const BAND: usize = 8;

/// The sums of an object update over the frames added so far.
pub(super) struct ObjectSums<T> {
    /// Columns of the object.
    width: usize,
    /// Σ|P|² over the modes (row, column) of a frame.
    power: Vec<T>,
    /// Σ conj(P) ψ (row, column) of the object.
    numerators: Vec<Complex<T>>,
    /// Σ|P|² (row, column) of the object.
    weights: Vec<T>,
}

impl<T: Real> ObjectSums<T> {
    /// Sums over no frames, for this probe (mode, row, column).
    pub(super) fn new(layout: &Layout, probe: &[Complex<T>]) -> Self {
        let [height, width] = layout.object_shape;
        Self {
            width,
            power: mode_power(probe, layout.modes, layout.pixels()),
            numerators: vec![Complex::default(); height * width],
            weights: vec![T::default(); height * width],
        }
    }

    /// Adds `frames` with the exit waves `exit` (frame, mode, row, column) of these frames alone.
    pub(super) fn add(
        &mut self,
        layout: &Layout,
        probe: &[Complex<T>],
        frames: Range<usize>,
        exit: &[Complex<T>],
    ) {
        let rows = BAND * self.width;
        let corners = &layout.corners[frames];
        let power = &self.power;
        self.numerators
            .par_chunks_mut(rows)
            .zip(self.weights.par_chunks_mut(rows))
            .enumerate()
            .for_each(|(band, (numerators, weights))| {
                vectorised(Band {
                    layout,
                    first: band * BAND,
                    corners,
                    probe,
                    power,
                    exit,
                    numerators,
                    weights,
                });
            });
    }

    /// Updates the object; `weight` is c_o, photons.
    pub(super) fn finish(&self, object: &mut [Complex<T>], weight: f64, clip: Option<[f64; 2]>) {
        let weight = T::of(weight);
        let rows = BAND * self.width;
        let sums = (self.numerators.par_chunks(rows)).zip(self.weights.par_chunks(rows));
        object
            .par_chunks_mut(rows)
            .zip(sums)
            .for_each(|(object, (numerators, weights))| {
                for ((o, n), d) in object.iter_mut().zip(numerators).zip(weights) {
                    let total = *d + weight;
                    if total > T::default() {
                        *o = (o.scale(weight) + n).unscale(total);
                    }
                    if let Some(limits) = clip {
                        *o = clipped(*o, limits);
                    }
                }
            });
    }
}

/// Adds frames to a band of object rows.
struct Band<'a, T> {
    layout: &'a Layout,
    /// First object row of the band.
    first: usize,
    /// Corners of the frames to add.
    corners: &'a [[u32; 2]],
    probe: &'a [Complex<T>],
    power: &'a [T],
    exit: &'a [Complex<T>],
    /// Rows of the band.
    numerators: &'a mut [Complex<T>],
    weights: &'a mut [T],
}

impl<T: Real> pulp::WithSimd for Band<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Layout {
            modes,
            rows,
            columns,
            object_shape: [_, width],
            ..
        } = *self.layout;
        let pixels = rows * columns;
        let last = self.first + self.weights.len() / width;
        for (frame, corner) in self.corners.iter().enumerate() {
            let [top, left] = corner.map(|v| v as usize);
            for row in self.first.max(top)..last.min(top + rows) {
                let start = (row - self.first) * width + left;
                let own = (row - top) * columns;
                let sums = &mut self.numerators[start..start + columns];
                for mode in 0..modes {
                    let psi = &self.exit[(frame * modes + mode) * pixels + own..][..columns];
                    let probe = &self.probe[mode * pixels + own..][..columns];
                    add_conjugate_products(simd, sums, probe, psi);
                }
                let weights = &mut self.weights[start..start + columns];
                for (sum, power) in weights.iter_mut().zip(&self.power[own..own + columns]) {
                    *sum += *power;
                }
            }
        }
    }
}

/// Clips the modulus of `value` to the limits; zero becomes the lower limit.
pub(crate) fn clipped<T: Real>(value: Complex<T>, [low, high]: [f64; 2]) -> Complex<T> {
    let modulus = value.norm_sqr().sqrt();
    let target = modulus.max(T::of(low)).min(T::of(high));
    if target == modulus {
        value
    } else if modulus > T::default() {
        value.scale(target / modulus)
    } else {
        Complex::new(target, T::default())
    }
}
