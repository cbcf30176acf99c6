//! Normal equations of each frame's position and intensity scale; see
//! [`crate::positions::refinement`].

use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::batches::batch_engine::sums::for_each_window_value;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::model_spectra;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted, shifted_derivative};
use crate::engines::cpu::model::variable_probe::FrameProbes;
use crate::positions::refinement::NormalEquations;
use crate::{EngineError, MAGNITUDE_FLOOR};
use rayon::prelude::*;
use warpstride_fft::Real;

/// The equations of every frame.
pub(in crate::engines::cpu) fn normal_equations<T: Real>(
    engine: &CpuEngine<T>,
    subpixel: bool,
) -> Result<Vec<NormalEquations>, EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        propagator,
        magnitudes,
        detector,
        object,
        probe,
        ..
    } = engine;
    let pixels = layout.pixels();
    let scale = fft.scale();
    let of_frames = FrameProbes::new(engine);
    let own = ranks.parts(layout.corners.len()).own_frames();
    let equations: Vec<NormalEquations> = magnitudes[own.start * pixels..own.end * pixels]
        .par_chunks(pixels)
        .enumerate()
        .map_init(
            || {
                let zero = vec![T::default(); pixels];
                (
                    Scratch::new(layout, fft),
                    layout.moved(probe),
                    [zero.clone(), zero.clone(), zero],
                )
            },
            |(scratch, moved, [intensity, by_row, by_column]), (n, magnitudes)| {
                let frame = own.start + n;
                let fraction = layout.fraction(frame, subpixel);
                let ramps = PointRamps::new(layout, frame, fraction);
                let corner = layout.corners[frame];
                let probe_spectra = of_frames.spectra_of(frame);
                shifted(&probe_spectra, &ramps, moved, fft, scratch);
                let window = Window {
                    layout,
                    frame,
                    corner,
                    fraction,
                    probe: moved,
                    object,
                };
                model_spectra(&window, propagator, scratch);
                let frame_scale = layout.scale(frame);
                let factor = T::of(frame_scale) * scale * scale;
                intensity.fill(T::default());
                for spectrum in scratch.model.chunks_exact(pixels) {
                    for (sum, f) in intensity.iter_mut().zip(spectrum) {
                        *sum += f.norm_sqr() * factor;
                    }
                }
                // Σ_m Re(conj(f) ∂f) along both axes.
                for (axis, product) in [&mut *by_row, &mut *by_column].into_iter().enumerate() {
                    product.fill(T::default());
                    for n in 0..layout.waves() {
                        let [moved, layer] = layout.parts_of(n);
                        let (point, mode) = (moved / layout.modes, moved % layout.modes);
                        let spectrum = &probe_spectra[mode * pixels..][..pixels];
                        shifted_derivative(spectrum, &ramps, (point, axis), fft, scratch);
                        let wave = &mut scratch.wave;
                        let object = layout.layer(object, layer);
                        for_each_window_value(layout, corner, object, |i, o| wave[i] *= o);
                        let model = &scratch.model[n * pixels..][..pixels];
                        let along = (layout.fly.at(frame, point, fraction), axis);
                        let to = &mut scratch.spectrum;
                        propagator.forward_derivative(wave, model, to, along, &mut scratch.fft);
                        for ((sum, f), d) in product.iter_mut().zip(model).zip(&scratch.spectrum) {
                            *sum += (f.re * d.re + f.im * d.im) * factor;
                        }
                    }
                }
                // G ∗ S, without the background; and with it below.
                if let Some(detector) = detector {
                    for values in [&mut *intensity, by_row, by_column] {
                        detector.blur(values);
                    }
                }
                let mut sums = [0.0; 9];
                for (i, magnitude) in magnitudes.iter().enumerate() {
                    if *magnitude < 0.0 {
                        continue;
                    }
                    let (root, residual, s) = match detector {
                        None => {
                            let root = intensity[i].sqrt().wide();
                            (root, f64::from(*magnitude) - root, 0.5 * root)
                        }
                        Some(detector) => {
                            let light = intensity[i].wide();
                            let root = (light + detector.background_at(i).wide()).sqrt();
                            let residual = detector.amplitude(i, *magnitude) - root;
                            (root, residual, 0.5 * light / (root + MAGNITUDE_FLOOR))
                        }
                    };
                    let per_root = 1.0 / (root + MAGNITUDE_FLOOR);
                    let r = by_row[i].wide() * per_root;
                    let c = by_column[i].wide() * per_root;
                    let terms = [
                        r * r,
                        r * c,
                        c * c,
                        r * s,
                        c * s,
                        s * s,
                        r * residual,
                        c * residual,
                        s * residual,
                    ];
                    sums.iter_mut().zip(terms).for_each(|(sum, v)| *sum += v);
                }
                sums
            },
        )
        .collect();
    Ok(ranks.gathered(&equations)?)
}

#[cfg(test)]
mod tests;
