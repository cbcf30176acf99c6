//! Object update O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²], in bands of object rows.
//!
//! Frames are added a few at a time, while their exit waves are still in a cache. Each pixel sums
//! over the frames of a part in order, and the parts are added along a fixed tree, so neither the
//! number of threads nor that of frames at a time nor that of ranks changes a bit.

use crate::EngineError;
use crate::engines::cpu::arrays::complex_products::add_conjugate_products;
use crate::engines::cpu::arrays::part_sums::{BAND, ObjectPart};
use crate::engines::cpu::arrays::simd::vectorised;
use crate::engines::cpu::arrays::window::{Layout, mode_power};
use crate::engines::ranks::{PartSums, Parts, Ranks};
use num_complex::Complex;
use rayon::prelude::*;
use std::ops::Range;
use warpstride_fft::Real;

/// The sums of an object update over the frames added so far.
pub(in crate::engines::cpu) struct ObjectSums<T> {
    /// Σ|P|² over the modes (row, column) of a frame.
    power: Vec<T>,
    parts: Parts,
    /// Σ conj(P) ψ and Σ|P|² over the frames of whole parts.
    sums: PartSums<ObjectPart<T>>,
    /// The same over some frames of the next part.
    part: Option<ObjectPart<T>>,
}

impl<T: Real> ObjectSums<T> {
    /// Sums over no frames, for this probe (mode, row, column) and a scan that is divided into
    /// `parts`.
    pub(in crate::engines::cpu) fn new(
        layout: &Layout,
        probe: &[Complex<T>],
        parts: &Parts,
    ) -> Self {
        Self {
            power: mode_power(probe, layout.modes, layout.pixels()),
            sums: PartSums::new(parts.count()),
            parts: parts.clone(),
            part: None,
        }
    }

    /// Adds `frames`, the next ones of this rank, with the exit waves `exit` (frame, mode, row,
    /// column) of these frames alone.
    pub(in crate::engines::cpu) fn add(
        &mut self,
        layout: &Layout,
        probe: &[Complex<T>],
        frames: Range<usize>,
        exit: &[Complex<T>],
    ) {
        let waves = layout.modes * layout.pixels();
        let mut first = frames.start;
        while first < frames.end {
            let part = self.parts.of_frame(first);
            let of_part = self.parts.frames(part);
            let end = of_part.end.min(frames.end);
            let corners = &layout.corners;
            let mut sums = self.part.take().unwrap_or_else(|| {
                ObjectPart::under(layout, corners[of_part.clone()].iter().copied())
            });
            let own = &exit[(first - frames.start) * waves..(end - frames.start) * waves];
            add_frames(
                layout,
                probe,
                &self.power,
                &corners[first..end],
                own,
                &mut sums,
            );
            if end == of_part.end {
                self.sums.push(part, sums);
            } else {
                self.part = Some(sums);
            }
            first = end;
        }
    }

    /// The sums over the frames of all ranks, on the whole object.
    pub(in crate::engines::cpu) fn total(
        self,
        layout: &Layout,
        ranks: &Ranks,
    ) -> Result<ObjectTotal<T>, EngineError> {
        let none = || ObjectPart::under(layout, std::iter::empty());
        let sums = ranks.total(self.sums)?.unwrap_or_else(none);
        let (numerators, weights) = sums.whole(layout.object_shape);
        Ok(ObjectTotal {
            numerators,
            weights,
        })
    }
}

/// Adds Σ conj(P) ψ and Σ|P|² of frames with these corners to `sums`.
fn add_frames<T: Real>(
    layout: &Layout,
    probe: &[Complex<T>],
    power: &[T],
    corners: &[[u32; 2]],
    exit: &[Complex<T>],
    sums: &mut ObjectPart<T>,
) {
    let (top, columns) = (sums.rows.start, sums.columns.clone());
    let rows = BAND * columns.len();
    (sums.numerators.par_chunks_mut(rows))
        .zip(sums.weights.par_chunks_mut(rows))
        .enumerate()
        .for_each(|(band, (numerators, weights))| {
            vectorised(Band {
                layout,
                first: top + band * BAND,
                left: columns.start,
                width: columns.len(),
                corners,
                probe,
                power,
                exit,
                numerators,
                weights,
            });
        });
}

/// The sums of an object update over all frames (row, column).
pub(in crate::engines::cpu) struct ObjectTotal<T> {
    /// Σ conj(P) ψ.
    pub(in crate::engines::cpu) numerators: Vec<Complex<T>>,
    /// Σ|P|².
    pub(in crate::engines::cpu) weights: Vec<T>,
}

impl<T: Real> ObjectTotal<T> {
    /// Updates the object; `weight` is c_o, photons.
    pub(in crate::engines::cpu) fn finish(
        &self,
        object: &mut [Complex<T>],
        weight: f64,
        clip: Option<[f64; 2]>,
    ) {
        let weight = T::of(weight);
        let sums = (self.numerators.par_chunks(PIXELS)).zip(self.weights.par_chunks(PIXELS));
        object
            .par_chunks_mut(PIXELS)
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

/// Pixels per task of the update itself.
const PIXELS: usize = 8192;

/// Adds frames to a band of object rows.
struct Band<'a, T> {
    layout: &'a Layout,
    /// First object row of the band.
    first: usize,
    /// First object column of the rectangle, and its columns.
    left: usize,
    width: usize,
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
            ..
        } = *self.layout;
        let width = self.width;
        let pixels = rows * columns;
        let last = self.first + self.weights.len() / width;
        for (frame, corner) in self.corners.iter().enumerate() {
            let [top, left] = corner.map(|v| v as usize);
            for row in self.first.max(top)..last.min(top + rows) {
                let start = (row - self.first) * width + left - self.left;
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
