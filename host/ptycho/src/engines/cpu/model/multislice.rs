//! The waves in a thick specimen of several slices; see [`crate::model::multislice`].
//!
//! Of every frame, with the transfer functions A_s between slices:
//!
//! ```text
//! forward    ψ_1 = S[P],   ψ_{s+1} = A_s[ψ_s O_s],   exit wave ψ_N O_N
//! adjoint    χ_N = χ,      χ_s = A_s⁻[conj(O_{s+1}) χ_{s+1}]
//! gradients  g_{O_s} = Σ conj(ψ_s) χ_s,   g_P = Σ S⁻¹[conj(O_1) χ_1],   of Δz_s: Re⟨A_s[iκ F(ψ_s O_s)], conj(O_{s+1}) χ_{s+1}⟩
//! ```
//!
//! A_s⁻ is the adjoint, with conj(exp(iκΔz)). The sums on a slice are those of a thin object with
//! ψ_s for the probe and χ_s for χ.

mod batches;
mod likelihood;
#[cfg(test)]
mod tests;

pub(in crate::engines::cpu) use batches::update;
pub(in crate::engines::cpu) use likelihood::{gradient, line_sums};

use super::shift::{PointRamps, Scratch, shifted};
use super::slices::{Medium, Slices, add_product, layer, multiply, multiply_conjugate};
use crate::EngineError;
use crate::engines::cpu::engine::CpuEngine;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::{Real, TransposedFft2};

/// The waves at every slice: slice by slice (frame, mode, row, column), from the shifted probes on.
pub(in crate::engines::cpu) type Incident<T> = Vec<Vec<Complex<T>>>;

/// The engine's slices; an engine without them has no such function called.
fn slices_of<T: Real>(engine: &CpuEngine<T>) -> &Slices<T> {
    // Callers are reached with slices only.
    match &engine.slices {
        Some(slices) => slices,
        None => unreachable!("an engine without slices"),
    }
}

/// S\[P\] and the waves at the other slices, of `frames` with these `ramps`.
pub(in crate::engines::cpu) fn incident<T: Real>(
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

/// Takes χ (frame, mode, row, column) from slice `gap` + 1 to slice `gap`; with `distance` the sums
/// [Re⟨c, χ⟩, |c|²] of each frame.
pub(in crate::engines::cpu) fn step_back<T: Real>(
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

/// First-order change of a frame's exit wave in one mode, (row, column), along changes of the
/// slices and of the probe: writes it to `change`, which has the change of the shifted probe
/// (zeros: none). `incident(s)` is the wave at slice s.
pub(in crate::engines::cpu) fn exit_change<'a, T: Real>(
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
pub(in crate::engines::cpu) fn add_distance_sums<T: Real>(
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
