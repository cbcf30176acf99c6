//! The waves in a thick specimen of several slices; see [`crate::ptycho::multislice`].
//!
//! Of every frame, with the transfer functions A_s between slices:
//!
//! ```text
//! forward    ψ_1 = S[P],   ψ_{s+1} = A_s[ψ_s O_s],   exit wave ψ_N O_N
//! adjoint    χ_N = χ,      χ_s = A_s⁻[conj(O_{s+1}) χ_{s+1}]
//! gradients  g_{O_s} = Σ conj(ψ_s) χ_s,   g_P = Σ S⁻¹[conj(O_1) χ_1],   of Δz_s: Re⟨A_s[iκ F(ψ_s O_s)], conj(O_{s+1}) χ_{s+1}⟩
//! ```
//!
//! A_s⁻ is the adjoint, with conj(exp(iκΔz)). The sums on a slice are those of a thin object with ψ_s for the probe and χ_s for χ.

mod batches;
mod likelihood;
#[cfg(test)]
mod tests;

pub(super) use batches::update;
pub(super) use likelihood::{gradient, line_sums};

use super::engine::CpuEngine;
use super::model::{PointRamps, Scratch, shifted};
use super::propagation::Propagator;
use super::window::{Layout, Window};
use crate::fft::{FftScratch, Real, TransposedFft2};
use crate::ptycho::EngineError;
use crate::ptycho::multislice::{Distances, SlicePlan, factor};
use num_complex::Complex;
use rayon::prelude::*;

/// The slices of a specimen, and how waves travel between them.
pub(super) struct Slices<T: Real> {
    pub(super) plan: SlicePlan,
    pub(super) distances: Distances,
    /// κ (column, row), rad/m.
    kappa: Vec<Option<f64>>,
    /// exp(iκΔz)/(rows · columns) (column, row), of each distance, or one for all.
    factors: Vec<Vec<Complex<T>>>,
    /// Σ Re⟨c, χ⟩ and Σ|c|² of each distance in the present iteration.
    pub(super) sums: Vec<[f64; 2]>,
}

impl<T: Real> Slices<T> {
    pub(super) fn new(plan: &SlicePlan, [rows, columns]: [usize; 2]) -> Self {
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
    pub(super) fn count(&self) -> usize {
        self.plan.count()
    }

    /// Computes the transfer functions of the present distances.
    pub(super) fn propagate_over_distances(&mut self) {
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
    pub(super) fn finish(&mut self, iteration: usize) {
        if self.plan.refine && iteration >= self.plan.refine_from {
            self.distances.advance(&self.sums);
            self.propagate_over_distances();
        }
        self.sums.fill([0.0; 2]);
    }

    /// Whether an iteration needs the sums of the distances.
    pub(super) fn refines(&self, iteration: usize) -> bool {
        self.plan.refine && iteration >= self.plan.refine_from
    }

    fn factor(&self, gap: usize) -> &[Complex<T>] {
        &self.factors[gap.min(self.factors.len() - 1)]
    }

    /// Replaces `wave` (row, column) behind slice `gap` by that at the next one.
    fn forward(&self, wave: &mut [Complex<T>], gap: usize, medium: &mut Medium<'_, T>) {
        medium.fft.forward(wave, medium.spectrum, medium.scratch);
        let pairs = medium.spectrum.iter_mut().zip(self.factor(gap));
        pairs.for_each(|(v, k)| *v *= k);
        medium.fft.inverse(medium.spectrum, wave, medium.scratch);
    }

    /// The adjoint of [`Self::forward`].
    fn adjoint(&self, wave: &mut [Complex<T>], gap: usize, medium: &mut Medium<'_, T>) {
        medium.fft.forward(wave, medium.spectrum, medium.scratch);
        let pairs = medium.spectrum.iter_mut().zip(self.factor(gap));
        pairs.for_each(|(v, k)| *v *= k.conj());
        medium.fft.inverse(medium.spectrum, wave, medium.scratch);
    }

    /// Re⟨c, χ⟩ and |c|² of a frame's wave `behind` slice `gap` (row, column) and χ times conj(O) at the next slice, c the derivative
    /// of the wave there by the distance. Overwrites both waves, χ with its adjoint propagation.
    fn adjoint_with_distance(
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

    /// Writes the unnormalised detector waves of the exit waves of a frame, with the shifted probe in `window`, to
    /// `scratch.model`.
    pub(super) fn model_spectra(
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
pub(super) struct Medium<'a, T: Real> {
    fft: &'a TransposedFft2<T>,
    /// (column, row).
    spectrum: &'a mut [Complex<T>],
    scratch: &'a mut FftScratch<T>,
}

/// A slice (row, column) of the object (layer, row, column).
pub(super) fn layer<'a, T>(
    layout: &Layout,
    object: &'a [Complex<T>],
    slice: usize,
) -> &'a [Complex<T>] {
    &object[slice * layout.object_pixels()..][..layout.object_pixels()]
}

/// Calls `take` with each row of a wave (row, column) and the same row of a window on a slice.
fn rows<'a, T: Real>(
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
fn multiply<T: Real>(
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
fn multiply_conjugate<T: Real>(
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
fn add_product<T: Real>(
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

/// The waves at every slice: slice by slice (frame, mode, row, column), from the shifted probes on.
pub(super) type Incident<T> = Vec<Vec<Complex<T>>>;

/// The engine's slices; an engine without them has no such function called.
fn slices_of<T: Real>(engine: &CpuEngine<T>) -> &Slices<T> {
    // Callers are reached with slices only.
    match &engine.slices {
        Some(slices) => slices,
        None => unreachable!("an engine without slices"),
    }
}

/// S\[P\] and the waves at the other slices, of `frames` with these `ramps`.
pub(super) fn incident<T: Real>(
    engine: &CpuEngine<T>,
    subpixel: bool,
    probe_spectra: &[Complex<T>],
    frames: &[u32],
    ramps: &[PointRamps<T>],
) -> Incident<T> {
    let CpuEngine {
        layout,
        fft,
        object,
        probe,
        ..
    } = engine;
    let slices = slices_of(engine);
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    let mut probes = vec![Complex::default(); frames.len() * waves];
    probes.par_chunks_mut(waves).zip(ramps).for_each_init(
        || Scratch::new(layout, fft),
        |scratch, (to, ramps)| {
            if subpixel {
                shifted(probe_spectra, ramps, to, fft, scratch);
            } else {
                to.copy_from_slice(probe);
            }
        },
    );
    let mut all = vec![probes];
    for gap in 0..slices.count() - 1 {
        let mut next = all[gap].clone();
        next.par_chunks_mut(waves).zip(frames).for_each_init(
            || Scratch::new(layout, fft),
            |scratch, (of_frame, frame)| {
                let corner = layout.corners[*frame as usize];
                for wave in of_frame.chunks_exact_mut(pixels) {
                    multiply(layout, corner, layer(layout, object, gap), wave);
                    slices.forward(wave, gap, &mut medium(scratch, fft));
                }
            },
        );
        all.push(next);
    }
    all
}

fn medium<'a, T: Real>(scratch: &'a mut Scratch<T>, fft: &'a TransposedFft2<T>) -> Medium<'a, T> {
    Medium {
        fft,
        spectrum: &mut scratch.spectrum,
        scratch: &mut scratch.fft,
    }
}

/// Takes χ (frame, mode, row, column) from slice `gap` + 1 to slice `gap`; with `distance` the sums [Re⟨c, χ⟩, |c|²] of each frame.
pub(super) fn step_back<T: Real>(
    engine: &CpuEngine<T>,
    frames: &[u32],
    before: &[Complex<T>],
    chi: &mut [Complex<T>],
    gap: usize,
    distance: bool,
) -> Vec<[f64; 2]> {
    let CpuEngine {
        layout,
        fft,
        object,
        ..
    } = engine;
    let slices = slices_of(engine);
    let pixels = layout.pixels();
    let waves = layout.modes * pixels;
    chi.par_chunks_mut(waves)
        .zip(before.par_chunks(waves))
        .zip(frames)
        .map_init(
            || (Scratch::new(layout, fft), vec![Complex::default(); pixels]),
            |(scratch, behind), ((chi, before), frame)| {
                let corner = layout.corners[*frame as usize];
                let mut sums = [0.0; 2];
                for (chi, before) in chi
                    .chunks_exact_mut(pixels)
                    .zip(before.chunks_exact(pixels))
                {
                    multiply_conjugate(layout, corner, layer(layout, object, gap + 1), chi);
                    if !distance {
                        slices.adjoint(chi, gap, &mut medium(scratch, fft));
                        continue;
                    }
                    behind.copy_from_slice(before);
                    multiply(layout, corner, layer(layout, object, gap), behind);
                    let Scratch {
                        spectrum,
                        wave,
                        fft: own,
                        ..
                    } = &mut *scratch;
                    let mut medium = Medium {
                        fft,
                        spectrum,
                        scratch: own,
                    };
                    let own = slices.adjoint_with_distance(chi, behind, gap, &mut medium, wave);
                    sums = [sums[0] + own[0], sums[1] + own[1]];
                }
                sums
            },
        )
        .collect()
}

/// First-order change of a frame's exit wave in one mode, (row, column), along changes of the slices and of the probe: writes it to
/// `change`, which has the change of the shifted probe (zeros: none). `incident(s)` is the wave at slice s.
pub(super) fn exit_change<'a, T: Real>(
    engine: &CpuEngine<T>,
    corner: [u32; 2],
    incident: impl Fn(usize) -> &'a [Complex<T>],
    of_object: Option<&[Complex<T>]>,
    change: &mut [Complex<T>],
    medium: &mut Medium<'_, T>,
) {
    let CpuEngine { layout, object, .. } = engine;
    let slices = slices_of(engine);
    for slice in 0..slices.count() {
        multiply(layout, corner, layer(layout, object, slice), change);
        if let Some(of_object) = of_object {
            let of_slice = layer(layout, of_object, slice);
            add_product(layout, corner, of_slice, incident(slice), change);
        }
        if slice + 1 < slices.count() {
            slices.forward(change, slice, medium);
        }
    }
}

/// Adds each frame's sums of a distance to those of the iteration.
pub(super) fn add_distance_sums<T: Real>(
    engine: &mut CpuEngine<T>,
    of_gaps: &[Vec<[f64; 2]>],
) -> Result<(), EngineError> {
    for (gap, of_frames) in of_gaps.iter().enumerate() {
        let all = engine.ranks.gathered(of_frames)?;
        if let Some(slices) = &mut engine.slices {
            for sums in all {
                slices.sums[gap][0] += sums[0];
                slices.sums[gap][1] += sums[1];
            }
        }
    }
    Ok(())
}
