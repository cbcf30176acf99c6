//! The slices of a thick specimen, and how waves travel through them; see
//! [`crate::model::multislice`].

use super::propagation::Propagator;
use super::shift::Scratch;
use crate::engines::cpu::arrays::window::{Layout, Window};
use crate::model::multislice::{Distances, SlicePlan, factor};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::{FftScratch, Real, TransposedFft2};

/// The slices of a specimen, and how waves travel between them.
pub(in crate::engines::cpu) struct Slices<T: Real> {
    pub(in crate::engines::cpu) plan: SlicePlan,
    pub(in crate::engines::cpu) distances: Distances,
    /// κ (column, row), rad/m.
    pub(in crate::engines::cpu) kappa: Vec<Option<f64>>,
    /// exp(iκΔz)/(rows · columns) (column, row), of each distance, or one for all.
    factors: Vec<Vec<Complex<T>>>,
    /// Σ Re⟨c, χ⟩ and Σ|c|² of each distance in the present iteration.
    pub(in crate::engines::cpu) sums: Vec<[f64; 2]>,
}

impl<T: Real> Slices<T> {
    pub(in crate::engines::cpu) fn new(plan: &SlicePlan, [rows, columns]: [usize; 2]) -> Self {
        let of_rows = plan.kappa(rows, columns);
        let mut kappa = vec![None; of_rows.len()];
        transpose::transpose(&of_rows, &mut kappa, columns, rows);
        let mut new = Self {
            distances: Distances::new(plan),
            sums: vec![[0.0; 2]; plan.distances.len()],
            plan: plan.clone(),
            kappa,
            factors: Vec::new(),
        };
        new.propagate_over_distances();
        new
    }

    /// Number of slices.
    pub(in crate::engines::cpu) fn count(&self) -> usize {
        self.plan.count()
    }

    /// Computes the transfer functions of the present distances.
    pub(in crate::engines::cpu) fn propagate_over_distances(&mut self) {
        let scale = 1.0 / self.kappa.len().max(1) as f64;
        let distances = &self.distances.values;
        let equal = distances.windows(2).all(|pair| pair[0] == pair[1]);
        let of = |distance: &f64| -> Vec<Complex<T>> {
            let value = |kappa: &Option<f64>| {
                let value = factor(*kappa, *distance) * scale;
                Complex::new(T::of(value.re), T::of(value.im))
            };
            self.kappa.iter().map(value).collect()
        };
        let needed = if equal { 1 } else { distances.len() };
        self.factors = distances[..needed].par_iter().map(of).collect();
    }

    /// Ends an iteration: moves the distances, if they are refined.
    pub(in crate::engines::cpu) fn finish(&mut self, iteration: usize) {
        if self.plan.refine && iteration >= self.plan.refine_from {
            self.distances.advance(&self.sums);
            self.propagate_over_distances();
        }
        self.sums.fill([0.0; 2]);
    }

    /// Whether an iteration needs the sums of the distances.
    pub(in crate::engines::cpu) fn refines(&self, iteration: usize) -> bool {
        self.plan.refine && iteration >= self.plan.refine_from
    }

    pub(in crate::engines::cpu) fn factor(&self, gap: usize) -> &[Complex<T>] {
        &self.factors[gap.min(self.factors.len() - 1)]
    }

    /// Replaces `wave` (row, column) behind slice `gap` by that at the next one.
    pub(in crate::engines::cpu) fn forward(
        &self,
        wave: &mut [Complex<T>],
        gap: usize,
        medium: &mut Medium<'_, T>,
    ) {
        medium.fft.forward(wave, medium.spectrum, medium.scratch);
        let pairs = medium.spectrum.iter_mut().zip(self.factor(gap));
        pairs.for_each(|(v, k)| *v *= k);
        medium.fft.inverse(medium.spectrum, wave, medium.scratch);
    }

    /// The adjoint of [`Self::forward`].
    pub(in crate::engines::cpu) fn adjoint(
        &self,
        wave: &mut [Complex<T>],
        gap: usize,
        medium: &mut Medium<'_, T>,
    ) {
        medium.fft.forward(wave, medium.spectrum, medium.scratch);
        let pairs = medium.spectrum.iter_mut().zip(self.factor(gap));
        pairs.for_each(|(v, k)| *v *= k.conj());
        medium.fft.inverse(medium.spectrum, wave, medium.scratch);
    }

    /// Re⟨c, χ⟩ and |c|² of a frame's wave `behind` slice `gap` (row, column) and χ times conj(O)
    /// at the next slice, c the derivative of the wave there by the distance. Overwrites both
    /// waves, χ with its adjoint propagation.
    pub(in crate::engines::cpu) fn adjoint_with_distance(
        &self,
        chi: &mut [Complex<T>],
        behind: &mut [Complex<T>],
        gap: usize,
        medium: &mut Medium<'_, T>,
        work: &mut [Complex<T>],
    ) -> [f64; 2] {
        medium.fft.forward(behind, work, medium.scratch);
        medium.fft.forward(chi, medium.spectrum, medium.scratch);
        let mut sums = [0.0; 2];
        let pairs = medium.spectrum.iter_mut().zip(&*work);
        for ((v, e), (k, kappa)) in pairs.zip(self.factor(gap).iter().zip(&self.kappa)) {
            *v *= k.conj();
            if let Some(kappa) = kappa {
                // i κ e against χ, which has 1/(rows · columns) already.
                let product = e.conj() * *v;
                sums[0] += kappa * product.im.wide();
                sums[1] += kappa * kappa * e.norm_sqr().wide();
            }
        }
        sums[1] /= self.kappa.len().max(1) as f64;
        medium.fft.inverse(medium.spectrum, chi, medium.scratch);
        sums
    }

    /// Writes the unnormalised detector waves of the exit waves of a frame, with the shifted probe
    /// in `window`, to `scratch.model`.
    pub(in crate::engines::cpu) fn model_spectra(
        &self,
        window: &Window<'_, T>,
        fft: &TransposedFft2<T>,
        propagator: &Propagator<T>,
        scratch: &mut Scratch<T>,
    ) {
        let layout = window.layout;
        let pixels = layout.pixels();
        let Scratch {
            wave,
            spectrum,
            model,
            fft: own,
            ..
        } = scratch;
        for mode in 0..layout.modes {
            wave.copy_from_slice(&window.probe[mode * pixels..][..pixels]);
            for slice in 0..self.count() {
                let object = layer(layout, window.object, slice);
                multiply(layout, window.corner, object, wave);
                if slice + 1 < self.count() {
                    let medium = &mut Medium {
                        fft,
                        spectrum: &mut *spectrum,
                        scratch: &mut *own,
                    };
                    self.forward(wave, slice, medium);
                }
            }
            let to = &mut model[mode * pixels..(mode + 1) * pixels];
            propagator.forward(wave, to, window.fraction, own);
        }
    }
}

/// What a propagation works with.
pub(in crate::engines::cpu) struct Medium<'a, T: Real> {
    pub(in crate::engines::cpu) fft: &'a TransposedFft2<T>,
    /// (column, row).
    pub(in crate::engines::cpu) spectrum: &'a mut [Complex<T>],
    pub(in crate::engines::cpu) scratch: &'a mut FftScratch<T>,
}

/// A slice (row, column) of the object (layer, row, column).
pub(in crate::engines::cpu) fn layer<'a, T>(
    layout: &Layout,
    object: &'a [Complex<T>],
    slice: usize,
) -> &'a [Complex<T>] {
    &object[slice * layout.object_pixels()..][..layout.object_pixels()]
}

/// Calls `take` with each row of a wave (row, column) and the same row of a window on a slice.
pub(in crate::engines::cpu) fn rows<'a, T: Real>(
    layout: &'a Layout,
    corner: [u32; 2],
    slice: &'a [Complex<T>],
    wave: &'a mut [Complex<T>],
) -> impl Iterator<Item = (&'a mut [Complex<T>], &'a [Complex<T>])> {
    let [top, left] = corner.map(|v| v as usize);
    let width = layout.object_shape[1];
    wave.chunks_exact_mut(layout.columns)
        .enumerate()
        .map(move |(row, wave)| {
            let from = (top + row) * width + left;
            (wave, &slice[from..from + layout.columns])
        })
}

/// wave ← wave · O.
pub(in crate::engines::cpu) fn multiply<T: Real>(
    layout: &Layout,
    corner: [u32; 2],
    slice: &[Complex<T>],
    wave: &mut [Complex<T>],
) {
    for (wave, object) in rows(layout, corner, slice, wave) {
        wave.iter_mut().zip(object).for_each(|(v, o)| *v *= o);
    }
}

/// wave ← wave · conj(O).
pub(in crate::engines::cpu) fn multiply_conjugate<T: Real>(
    layout: &Layout,
    corner: [u32; 2],
    slice: &[Complex<T>],
    wave: &mut [Complex<T>],
) {
    for (wave, object) in rows(layout, corner, slice, wave) {
        wave.iter_mut()
            .zip(object)
            .for_each(|(v, o)| *v *= o.conj());
    }
}

/// wave ← wave + incident · δO.
pub(in crate::engines::cpu) fn add_product<T: Real>(
    layout: &Layout,
    corner: [u32; 2],
    slice: &[Complex<T>],
    incident: &[Complex<T>],
    wave: &mut [Complex<T>],
) {
    let incident = incident.chunks_exact(layout.columns);
    for ((wave, object), incident) in rows(layout, corner, slice, wave).zip(incident) {
        for ((v, o), p) in wave.iter_mut().zip(object).zip(incident) {
            *v += p * o;
        }
    }
}
