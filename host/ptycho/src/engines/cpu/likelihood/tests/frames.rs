//! Positions and scales of frames have the derivatives of the likelihood and of the normal
//! equations.

use super::super::gradient::loss;
use super::models::{FIELDS, MODELS, plain_step};
use crate::Step;
use crate::engines::cpu::CpuEngine;
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::batches::batch_engine::sums::for_each_window_value;
use crate::engines::cpu::model::model_spectra;
use crate::engines::cpu::model::shift::{
    PointRamps, Scratch, shifted, shifted_derivative, spectra,
};
use crate::engines::cpu::positions::refinement::normal_equations;
use crate::engines::cpu::test_problem::{ALL, MODES, difference};
use crate::engines::likelihood::Noise;

/// With the noise of amplitudes, the normal equations hold −½ of the derivatives.
#[test]
fn scales_and_positions_have_the_derivatives_of_the_normal_equations() {
    let step = plain_step();
    for field in MODELS {
        derivatives_of_the_normal_equations(&step, field());
    }
}

fn derivatives_of_the_normal_equations(step: &Step, mut engine: CpuEngine<f64>) {
    let equations = normal_equations(&engine, true).unwrap();
    for (frame, equations) in equations.iter().enumerate() {
        let noise = Noise::Amplitude;
        for axis in 0..2 {
            let before = engine.layout.fractions[frame][axis];
            let slope = difference(1e-4, |t| {
                engine.layout.fractions[frame][axis] = before + t;
                loss(&engine, step, noise).unwrap()
            });
            engine.layout.fractions[frame][axis] = before;
            let expected = -2.0 * equations[6 + axis];
            assert!((slope - expected).abs() < 1e-6 * expected.abs().max(1.0));
        }
        let before = engine.layout.scales[frame];
        let slope = difference(1e-4, |t| {
            engine.layout.scales[frame] = before * t.exp();
            loss(&engine, step, noise).unwrap()
        });
        engine.layout.scales[frame] = before;
        let expected = -2.0 * equations[8];
        assert!((slope - expected).abs() < 1e-6 * expected.abs().max(1.0));
    }
}

/// ∂L/∂c_j = Σ D I_m/c_j and ∂L/∂f_j = Σ c_j D 2 Re(f* ∂f).
#[test]
fn scales_and_positions_have_their_derivatives_with_every_noise() {
    let step = plain_step();
    for (noise, field) in ALL.into_iter().flat_map(|n| FIELDS.map(|f| (n, f))) {
        let mut engine = field();
        for frame in 0..engine.layout.corners.len() {
            let expected = frame_derivatives(&engine, frame, noise);
            for (axis, expected) in expected[1..].iter().enumerate() {
                let before = engine.layout.fractions[frame][axis];
                let slope = difference(1e-4, |t| {
                    engine.layout.fractions[frame][axis] = before + t;
                    loss(&engine, &step, noise).unwrap()
                });
                engine.layout.fractions[frame][axis] = before;
                assert!((slope - expected).abs() < 1e-6 * expected.abs().max(1.0));
            }
            let before = engine.layout.scales[frame];
            let slope = difference(1e-4, |t| {
                engine.layout.scales[frame] = before + t;
                loss(&engine, &step, noise).unwrap()
            });
            engine.layout.scales[frame] = before;
            assert!((slope / expected[0] - 1.0).abs() < 1e-6, "{noise:?}");
        }
    }
}

/// Derivatives of the loss by a frame's scale, row and column.
fn frame_derivatives(engine: &CpuEngine<f64>, frame: usize, noise: Noise) -> [f64; 3] {
    let CpuEngine {
        layout,
        fft,
        propagator,
        ..
    } = engine;
    let pixels = layout.pixels();
    let mut scratch = Scratch::new(layout, fft);
    let ramps = PointRamps::new(layout, frame, layout.fractions[frame]);
    let of_probe = spectra(&engine.probe, pixels, fft);
    let mut moved = layout.moved(&engine.probe);
    shifted(&of_probe, &ramps, &mut moved, fft, &mut scratch);
    let window = Window {
        layout,
        frame,
        corner: layout.corners[frame],
        fraction: layout.fractions[frame],
        probe: &moved,
        object: &engine.object,
    };
    model_spectra(&window, propagator, &mut scratch);
    let (model, scale) = (scratch.model.clone(), layout.scale(frame));
    let unit = fft.scale() * fft.scale();
    let magnitudes = &engine.magnitudes[frame * pixels..][..pixels];
    let power = |i: usize| -> f64 {
        let modes = model.chunks_exact(pixels);
        modes.map(|f| f[i].norm_sqr() * unit).sum()
    };
    // D of valid pixels.
    let slopes: Vec<f64> = (magnitudes.iter().enumerate())
        .map(|(i, m)| {
            if *m < 0.0 {
                0.0
            } else {
                noise.slope(scale * power(i), f64::from(*m))
            }
        })
        .collect();
    let mut sums = [0.0; 3];
    sums[0] = slopes.iter().enumerate().map(|(i, d)| d * power(i)).sum();
    for axis in 0..2 {
        for (n, f) in model.chunks_exact(pixels).enumerate() {
            let [probe, layer] = layout.parts_of(n);
            let (point, mode) = (probe / MODES, probe % MODES);
            let spectrum = &of_probe[mode * pixels..][..pixels];
            shifted_derivative(spectrum, &ramps, (point, axis), fft, &mut scratch);
            let wave = &mut scratch.wave;
            let object = layout.layer(&engine.object, layer);
            for_each_window_value(layout, layout.corners[frame], object, |i, o| {
                wave[i] *= o;
            });
            let fraction = layout.shift(frame, n, layout.fractions[frame]);
            let (to, along) = (&mut scratch.spectrum, (fraction, axis));
            propagator.forward_derivative(wave, f, to, along, &mut scratch.fft);
            for ((f, change), d) in f.iter().zip(&scratch.spectrum).zip(&slopes) {
                sums[1 + axis] += 2.0 * scale * unit * d * (f.conj() * change).re;
            }
        }
    }
    sums
}
