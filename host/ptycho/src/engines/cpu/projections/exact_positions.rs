//! Projection engines at exact positions: exit waves ψ = √c S\[P\]·O with each frame's own shifted
//! probe and intensity scale c. The updates go through the frames a few at a time, so that only
//! their shifted probes are in memory.

use super::object_update::clipped;
use crate::engines::cpu::arrays::part_sums::{ObjectPart, ProbePart};
use crate::engines::cpu::arrays::window::Layout;
use crate::engines::cpu::batches::batch_engine::sums::{
    add_object_sums, add_probe_sums, divide, for_each_window_value, inverse_layers,
};
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted, spectra};
use crate::engines::ranks::PartSums;
use crate::engines::updates::Denominator;
use crate::{EngineError, Step};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::{Real, TransposedFft2};

/// Frames whose shifted probes are in memory together.
const CHUNK: usize = 64;

/// The shifted probe of one thread's frame.
pub(in crate::engines::cpu) struct Shifter<'p, T> {
    whole: &'p [Complex<T>],
    /// The frame's own probe, and scratch memory; only at exact positions.
    own: Option<(Vec<Complex<T>>, Scratch<T>)>,
}

impl<'p, T: Real> Shifter<'p, T> {
    pub(in crate::engines::cpu) fn new(whole: &'p [Complex<T>]) -> Self {
        Self { whole, own: None }
    }

    /// √c S\[P\] of a frame, or P itself unless `exact`.
    pub(in crate::engines::cpu) fn probe(
        &mut self,
        layout: &Layout,
        probe_spectra: &[Complex<T>],
        frame: usize,
        exact: bool,
        fft: &TransposedFft2<T>,
    ) -> &[Complex<T>] {
        if !exact {
            return self.whole;
        }
        let make = || (layout.moved(self.whole), Scratch::new(layout, fft));
        let (own, scratch) = self.own.get_or_insert_with(make);
        own_probe(layout, probe_spectra, frame, own, fft, scratch);
        own
    }
}

/// Writes √c S\[P\] of one frame to `to` (point, mode, row, column).
pub(in crate::engines::cpu) fn own_probe<T: Real>(
    layout: &Layout,
    probe_spectra: &[Complex<T>],
    frame: usize,
    to: &mut [Complex<T>],
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) {
    let ramps = PointRamps::new(layout, frame, layout.fractions[frame]);
    shifted(probe_spectra, &ramps, to, fft, scratch);
    let root = T::of(layout.scale(frame).sqrt());
    to.iter_mut().for_each(|v| *v = v.scale(root));
}

/// O ← \[c_o O + Σ √c conj(S\[P\]) ψ\]/\[c_o + Σ c |S\[P\]|²\].
pub(in crate::engines::cpu) fn object_update<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
) -> Result<(), EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        object,
        probe,
        exit,
        ..
    } = engine;
    let pixels = layout.pixels();
    let [moved, waves] = [layout.probes(), layout.waves()].map(|n| n * pixels);
    let probe_spectra = spectra(probe, pixels, fft);
    let parts = ranks.parts(layout.corners.len());
    let begin = parts.own_frames().start;
    let mut sums = PartSums::new(parts.count());
    let mut probes = vec![Complex::default(); CHUNK.min(parts.own_frames().len()) * moved];
    for part in parts.own() {
        let of_part = parts.frames(part);
        let mut own = ObjectPart::under(layout, layout.corners[of_part.clone()].iter().copied());
        let exit = &exit[(of_part.start - begin) * waves..];
        let frames: Vec<u32> = of_part.map(|frame| frame as u32).collect();
        for (frames, exit) in frames.chunks(CHUNK).zip(exit.chunks(CHUNK * waves)) {
            let probes = &mut probes[..frames.len() * moved];
            probes.par_chunks_mut(moved).zip(frames).for_each_init(
                || Scratch::new(layout, fft),
                |scratch, (to, frame)| {
                    own_probe(layout, &probe_spectra, *frame as usize, to, fft, scratch);
                },
            );
            add_object_sums(layout, frames, (probes, exit), &mut own);
        }
        sums.push(part, own);
    }
    let Some(total) = ranks.total(sums)? else {
        return Ok(());
    };
    let (numerators, weights) = total.whole(layout.object_shape);
    let weight = T::of(step.object_weight);
    let weights = weights.iter().cycle();
    for ((o, n), d) in object.iter_mut().zip(&numerators).zip(weights) {
        let total = *d + weight;
        if total > T::default() {
            *o = (o.scale(weight) + n).unscale(total);
        }
        if let Some(limits) = step.clip_object {
            *o = clipped(*o, limits);
        }
    }
    Ok(())
}

/// P ← P + Σ √c S⁻¹\[conj(O) (ψ − √c S\[P\] O)\]/D(c_p + V), V = Σ c |O|², D as in LSQ-ML. The
/// shifts do not commute with |O|², so the quotient of the sums themselves would not keep a P that
/// fits, and without the floor of D single bright pixels of O would make it diverge.
pub(in crate::engines::cpu) fn probe_update<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
) -> Result<(), EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        object,
        probe,
        exit,
        ..
    } = engine;
    let pixels = layout.pixels();
    let waves = layout.waves() * pixels;
    let probe_spectra = spectra(probe, pixels, fft);
    let ramps: Vec<PointRamps<T>> = (layout.fractions.iter().enumerate())
        .map(|(frame, fraction)| PointRamps::new(layout, frame, *fraction))
        .collect();
    let scale = |frame: usize| layout.scale(frame);
    let parts = ranks.parts(layout.corners.len());
    let begin = parts.own_frames().start;
    let mut sums = PartSums::new(parts.count());
    let mut rest = vec![Complex::default(); CHUNK.min(parts.own_frames().len()) * waves];
    for part in parts.own() {
        let of_part = parts.frames(part);
        let mut own = ProbePart::zeros(layout);
        let exit = &exit[(of_part.start - begin) * waves..];
        let frames: Vec<u32> = of_part.map(|frame| frame as u32).collect();
        for (frames, exit) in frames.chunks(CHUNK).zip(exit.chunks(CHUNK * waves)) {
            let rest = &mut rest[..frames.len() * waves];
            let chunk = rest.par_chunks_mut(waves).zip(exit.par_chunks(waves));
            chunk.zip(frames).for_each_init(
                || (Scratch::new(layout, fft), layout.moved(probe)),
                |(scratch, own), ((to, exit), frame)| {
                    let frame = *frame as usize;
                    own_probe(layout, &probe_spectra, frame, own, fft, scratch);
                    let waves = to.chunks_exact_mut(pixels).zip(exit.chunks_exact(pixels));
                    for (wave, (to, exit)) in waves.enumerate() {
                        let corner = layout.corners[frame];
                        let [moved, layer] = layout.parts_of(wave);
                        let own = &own[moved * pixels..][..pixels];
                        let object = layout.layer(object, layer);
                        for_each_window_value(layout, corner, object, |i, o| {
                            to[i] = exit[i] - own[i] * o;
                        });
                    }
                },
            );
            let first = frames.first().map_or(0, |frame| *frame as usize);
            let of_frames = (frames, &ramps[first..first + frames.len()]);
            add_probe_sums(layout, fft, object, of_frames, rest, scale, &mut own);
        }
        sums.push(part, own);
    }
    let Some(ProbePart {
        numerators: mut sums,
        weights,
    }) = ranks.total(sums)?
    else {
        return Ok(());
    };
    inverse_layers(&mut sums, pixels, fft);
    let extra = T::of(step.probe_weight);
    divide(&mut sums, &weights, extra, layout.modes, Denominator::Floor);
    probe.iter_mut().zip(sums).for_each(|(p, sum)| *p += sum);
    Ok(())
}
