//! Probe update P ← [c_p P + Σ conj(O) ψ] / [c_p + Σ |O|²], in bands of rows.

use crate::EngineError;
use crate::engines::cpu::arrays::complex_products::add_conjugate_products;
use crate::engines::cpu::arrays::part_sums::ProbePart;
use crate::engines::cpu::arrays::simd::vectorised;
use crate::engines::cpu::arrays::window::Layout;
use crate::engines::cpu::engine::frames_together;
use crate::engines::ranks::{PartSums, Parts, Ranks};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Rows per task: in every frame they are contiguous, so that a task reads whole pages of memory,
/// and their sums stay in the first-level cache.
const BAND: usize = 4;

/// Updates the probe; `weight` is c_p, frames. `exit` has the exit waves of this rank's frames.
pub(in crate::engines::cpu) fn probe_update<T: Real>(
    layout: &Layout,
    ranks: &Ranks,
    object: &[Complex<T>],
    probe: &mut [Complex<T>],
    exit: &[Complex<T>],
    weight: f64,
) -> Result<(), EngineError> {
    let together = frames_together::<T>(layout.modes * layout.pixels());
    let parts = ranks.parts(layout.corners.len());
    let total = ranks.total(sums(layout, &parts, object, exit, together))?;
    if let Some(total) = total {
        finish(layout, &total, probe, weight);
    }
    Ok(())
}

/// The sums of this rank's parts, `together` frames at a time. Each pixel sums over the frames of a
/// part in order, from the last one on, because the exit waves of the last ones are still in a
/// cache; neither the number of threads nor that of frames at a time changes a bit.
pub(in crate::engines::cpu) fn sums<T: Real>(
    layout: &Layout,
    parts: &Parts,
    object: &[Complex<T>],
    exit: &[Complex<T>],
    together: usize,
) -> PartSums<ProbePart<T>> {
    let waves = layout.modes * layout.pixels();
    let begin = parts.own_frames().start;
    let of_part = |part: usize| {
        let frames = parts.frames(part);
        let exit = &exit[(frames.start - begin) * waves..(frames.end - begin) * waves];
        (
            part,
            part_sums(layout, &layout.corners[frames], object, exit, together),
        )
    };
    let mut of_parts: Vec<_> = parts.own().rev().map(of_part).collect();
    let mut sums = PartSums::new(parts.count());
    while let Some((part, of_part)) = of_parts.pop() {
        sums.push(part, of_part);
    }
    sums
}

/// Sums over frames with these corners.
fn part_sums<T: Real>(
    layout: &Layout,
    corners: &[[u32; 2]],
    object: &[Complex<T>],
    exit: &[Complex<T>],
    together: usize,
) -> ProbePart<T> {
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
    let chunks = (corners.chunks(together)).zip(exit.chunks(together * waves));
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
    let mut sums = ProbePart::zeros(layout);
    for band in bands {
        let (start, count) = (band.first * layout.columns, band.denominators.len());
        sums.weights[start..start + count].copy_from_slice(&band.denominators);
        for (mode, numerators) in band.numerators.chunks_exact(count).enumerate() {
            let to = &mut sums.numerators[mode * layout.pixels() + start..][..count];
            to.copy_from_slice(numerators);
        }
    }
    sums
}

/// Updates the probe (mode, row, column) from the sums over all frames; `weight` is c_p, frames.
pub(in crate::engines::cpu) fn finish<T: Real>(
    layout: &Layout,
    sums: &ProbePart<T>,
    probe: &mut [Complex<T>],
    weight: f64,
) {
    let weight = T::of(weight);
    let pixels = layout.pixels();
    let modes = (probe.chunks_exact_mut(pixels)).zip(sums.numerators.chunks_exact(pixels));
    for (probe, numerators) in modes {
        let sums = numerators.iter().zip(&sums.weights);
        for (p, (n, d)) in probe.iter_mut().zip(sums) {
            let total = *d + weight;
            if total > T::default() {
                *p = (p.scale(weight) + n).unscale(total);
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
pub(in crate::engines::cpu) fn change<T: Real>(
    before: &[Complex<T>],
    after: &[Complex<T>],
) -> [f64; 2] {
    let moved = before
        .iter()
        .zip(after)
        .map(|(b, a)| (*a - *b).norm_sqr().wide())
        .sum();
    [moved, before.iter().map(|b| b.norm_sqr().wide()).sum()]
}
