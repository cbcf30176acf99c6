//! The objective along a line: the sums over all frames that give its coefficients.

use super::gradient::root;
use crate::engines::cpu::arrays::window::{Layout, Window};
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::engine::Pair;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted, spectra};
use crate::engines::cpu::model::variable_probe::FrameProbes;
use crate::engines::likelihood::Noise;
use crate::{EngineError, Step};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Scratch memory of one thread.
struct Line<T> {
    scratch: Scratch<T>,
    /// S\[P\] and S\[h_P\] (point, mode, row, column).
    probes: [Vec<Complex<T>>; 2],
    /// Unnormalised f, a and b of one mode (column, row).
    waves: [Vec<Complex<T>>; 3],
    /// I_m, A1, …, A4 of each pixel, divided by their common factor.
    along: Vec<[T; 5]>,
}

/// Sums of [`Noise::line_terms`] over the pixels of all frames, along `direction`.
pub(super) fn sums<T: Real>(
    engine: &CpuEngine<T>,
    step: &Step,
    noise: Noise,
    direction: &Pair<T>,
) -> Result<[f64; 9], EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        probe,
        ..
    } = engine;
    let pixels = layout.pixels();
    let of_frames = FrameProbes::new(engine);
    let of_change = spectra(&direction[1], pixels, fft);
    let new = || Line {
        scratch: Scratch::new(layout, fft),
        probes: [layout.moved(probe), layout.moved(&direction[1])],
        waves: std::array::from_fn(|_| vec![Complex::default(); pixels]),
        along: vec![[T::default(); 5]; pixels],
    };
    let own = ranks.parts(layout.corners.len()).own_frames();
    let frames: Vec<[f64; 9]> = own
        .into_par_iter()
        .map_init(new, |line, frame| {
            let ramps =
                (step.subpixel).then(|| PointRamps::new(layout, frame, layout.fractions[frame]));
            let [moved, change] = &mut line.probes;
            of_frames.write(frame, ramps.as_ref(), moved, fft, &mut line.scratch);
            if let Some(ramps) = ramps {
                shifted(&of_change, &ramps, change, fft, &mut line.scratch);
            }
            along(engine, &direction[0], (frame, step.subpixel), line);
            let scale = (T::of(layout.scale(frame)) * fft.scale() * fft.scale()).wide();
            let magnitudes = &engine.magnitudes[frame * pixels..][..pixels];
            let detector = engine.detector.as_ref();
            if let Some(detector) = detector {
                for order in 0..5 {
                    let values = &mut line.scratch.factor;
                    let pairs = values.iter_mut().zip(&line.along);
                    pairs.for_each(|(to, along)| *to = along[order]);
                    detector.blur(values);
                    let pairs = line.along.iter_mut().zip(&*values);
                    pairs.for_each(|(along, value)| along[order] = *value);
                }
            }
            let mut sums = [0.0; 9];
            for (pixel, (along, magnitude)) in line.along.iter().zip(magnitudes).enumerate() {
                if *magnitude >= 0.0 {
                    let mut along = along.map(|v| v.wide() * scale);
                    along[0] += detector.map_or(0.0, |d| d.background_at(pixel).wide());
                    let root = root(detector, noise, pixel, *magnitude);
                    let terms = noise.line_terms(along, root);
                    sums.iter_mut().zip(terms).for_each(|(sum, v)| *sum += v);
                }
            }
            sums
        })
        .collect();
    let mut total = [0.0; 9];
    for sums in ranks.gathered(&frames)? {
        total.iter_mut().zip(sums).for_each(|(sum, v)| *sum += v);
    }
    Ok(total)
}

/// Writes `line.along` of a frame.
fn along<T: Real>(
    engine: &CpuEngine<T>,
    object_direction: &[Complex<T>],
    (frame, subpixel): (usize, bool),
    line: &mut Line<T>,
) {
    let CpuEngine {
        layout,
        propagator,
        object,
        ..
    } = engine;
    let Line {
        scratch,
        probes: [moved, change],
        waves,
        along,
    } = line;
    let corner = layout.corners[frame];
    let fraction = layout.fraction(frame, subpixel);
    along.fill([T::default(); 5]);
    let two = T::of(2.0);
    for n in 0..layout.waves() {
        let fraction = layout.shift(frame, n, fraction);
        let wave = &mut scratch.wave;
        window(layout, corner, moved, object).for_each_product(n, |i, v| wave[i] = v);
        propagator.forward(wave, &mut waves[0], fraction, &mut scratch.fft);
        window(layout, corner, moved, object_direction).for_each_product(n, |i, v| wave[i] = v);
        window(layout, corner, change, object).for_each_product(n, |i, v| wave[i] += v);
        propagator.forward(wave, &mut waves[1], fraction, &mut scratch.fft);
        window(layout, corner, change, object_direction).for_each_product(n, |i, v| wave[i] = v);
        propagator.forward(wave, &mut waves[2], fraction, &mut scratch.fft);
        let [f, a, b] = &*waves;
        let dot = |x: &Complex<T>, y: &Complex<T>| x.re * y.re + x.im * y.im;
        for (((along, f), a), b) in along.iter_mut().zip(f).zip(a).zip(b) {
            along[0] += f.norm_sqr();
            along[1] += two * dot(f, a);
            along[2] += two * dot(f, b) + a.norm_sqr();
            along[3] += two * dot(a, b);
            along[4] += b.norm_sqr();
        }
    }
}

/// The window for products only.
fn window<'a, T>(
    layout: &'a Layout,
    corner: [u32; 2],
    probe: &'a [Complex<T>],
    object: &'a [Complex<T>],
) -> Window<'a, T> {
    Window {
        layout,
        frame: 0,
        corner,
        fraction: [0.0; 2],
        probe,
        object,
    }
}
