//! The step of a frame against its definition, one pixel after the other in double precision, for
//! sizes that are and are not multiples of the lanes, with masked and free pixels.

use super::*;
use crate::model::fly::FlyPaths;
use crate::quality::free_pixels::{FREE, free_magnitude};
use warpstride_fft::Fft2;

/// Frames of these (rows, columns): fewer pixels than lanes, no multiple, one segment, more.
const SIZES: [[usize; 2]; 4] = [[3, 4], [5, 7], [16, 16], [15, 36]];

struct Frame {
    layout: Layout,
    probe: Vec<Complex<f64>>,
    object: Vec<Complex<f64>>,
    /// Unnormalised transforms (mode, column, row).
    state: Vec<Complex<f64>>,
    /// (column, row).
    magnitudes: Vec<f32>,
}

fn wave(n: usize, seed: f64) -> Vec<Complex<f64>> {
    (0..n)
        .map(|i| {
            Complex::new(
                (i as f64 * 1.7 + seed).sin(),
                (i as f64 * 0.37 + seed).cos(),
            )
        })
        .collect()
}

/// A frame in which every fifth pixel is masked and every seventh is free.
fn frame([rows, columns]: [usize; 2], modes: usize) -> Frame {
    let pixels = rows * columns;
    let magnitude = |i: usize| match i {
        _ if i % 5 == 2 => -1.0,
        _ if i % 7 == 3 => FREE - (i % 4) as f32,
        _ => ((i * 13) % 11) as f32 * 0.3,
    };
    Frame {
        layout: Layout {
            modes,
            rows,
            columns,
            object_layers: 1,
            fly: FlyPaths::default(),
            object_shape: [rows + 3, columns + 2],
            corners: vec![[2, 1]],
            fractions: vec![[0.0; 2]],
            scales: vec![1.0],
        },
        probe: wave(modes * pixels, 0.3),
        object: wave((rows + 3) * (columns + 2), 1.1),
        state: wave(modes * pixels, 2.0)
            .iter()
            .map(|v| v.scale((pixels as f64).sqrt()))
            .collect(),
        magnitudes: (0..pixels).map(magnitude).collect(),
    }
}

/// The new Ψ, unitary (mode, column, row), and the errors.
fn definition(
    frame: &Frame,
    coefficients: Coefficients,
    bound: f64,
) -> (Vec<Complex<f64>>, FrameErrors) {
    let Layout {
        modes,
        rows,
        columns,
        object_shape: [_, width],
        ..
    } = frame.layout;
    let pixels = rows * columns;
    let scale = 1.0 / (pixels as f64).sqrt();
    let mut model = vec![Complex::default(); modes * pixels];
    for mode in 0..modes {
        let mut wave: Vec<_> = (0..pixels)
            .map(|i| {
                let [row, column] = [i / columns, i % columns];
                frame.probe[mode * pixels + i] * frame.object[(row + 2) * width + column + 1]
            })
            .collect();
        Fft2::new(rows, columns).forward(&mut wave);
        for (i, value) in wave.iter().enumerate() {
            model[mode * pixels + (i % columns) * rows + i / columns] = *value;
        }
    }
    let psi: Vec<_> = frame.state.iter().map(|v| v.scale(scale)).collect();
    let reflect = |at: usize| psi[at] * (1.0 - coefficients.c) + model[at] * coefficients.c;
    let power = |value: &dyn Fn(usize) -> Complex<f64>, i: usize| -> f64 {
        (0..modes).map(|m| value(m * pixels + i).norm_sqr()).sum()
    };
    let mut errors = FrameErrors::default();
    let mut valid = 0.0;
    for (i, magnitude) in frame.magnitudes.iter().enumerate() {
        let intensity = power(&|at| model[at], i);
        if let Some(hidden) = free_magnitude(*magnitude) {
            errors.model.free += (intensity.sqrt() - f64::from(hidden)).powi(2);
        } else if *magnitude >= 0.0 {
            let magnitude = f64::from(*magnitude);
            let counts = magnitude * magnitude;
            errors.model.photon += (intensity - counts).powi(2) / (counts + 1.0);
            errors.model.residual += (intensity.sqrt() - magnitude).powi(2);
            errors.fourier += (power(&reflect, i).sqrt() - magnitude).powi(2);
            valid += 1.0;
        }
    }
    errors.model.photon /= valid;
    errors.fourier /= valid;
    let kept = kept_deviation(errors.fourier, bound);
    let next: Vec<_> = (0..modes * pixels)
        .map(|at| {
            let i = at % pixels;
            let modelled = power(&reflect, i).sqrt();
            let target = f64::from(frame.magnitudes[i]);
            let factor = if target < 0.0 || kept == 1.0 {
                1.0
            } else {
                (target + kept * (modelled - target)) / (modelled + MAGNITUDE_FLOOR)
            };
            psi[at] * coefficients.keep()
                + model[at] * coefficients.a
                + reflect(at) * (coefficients.b * factor)
        })
        .collect();
    let moved = next.iter().zip(&psi).map(|(a, b)| (a - b).norm_sqr());
    errors.exit = moved.sum();
    (next, errors)
}

#[test]
fn the_step_of_a_frame_is_its_definition() {
    for size in SIZES {
        for modes in [1, 3] {
            let frame = frame(size, modes);
            for coefficients in [Coefficients::dm(1.0), Coefficients::raar(0.8)] {
                let error = definition(&frame, coefficients, 0.0).1.fourier;
                for bound in [0.0, 0.3 * error, 2.0 * error] {
                    compare_with_definition(&frame, coefficients, bound);
                }
            }
        }
    }
}

fn compare_with_definition(frame: &Frame, coefficients: Coefficients, bound: f64) {
    let layout = &frame.layout;
    let [rows, columns] = [layout.rows, layout.columns];
    let fft = TransposedFft2::new(rows, columns);
    let window = Window {
        layout,
        frame: 0,
        corner: layout.corners[0],
        fraction: [0.0; 2],
        probe: &frame.probe,
        object: &frame.object,
    };
    let mut state = frame.state.clone();
    let mut exit = vec![Complex::default(); state.len()];
    let errors = step_frame(
        &window,
        (&mut state, &mut exit),
        &frame.magnitudes,
        FrameStep {
            coefficients,
            bound,
            metrics: true,
        },
        &Propagator::new(fft.clone(), [rows, columns], None),
        &mut Scratch::new(layout, &fft),
    );
    let (next, expected) = definition(frame, coefficients, bound);
    let pairs = [
        (errors.fourier, expected.fourier),
        (errors.exit, expected.exit),
        (errors.model.photon, expected.model.photon),
        (errors.model.residual, expected.model.residual),
        (errors.model.free, expected.model.free),
    ];
    for (error, expected) in pairs {
        assert!((error / expected - 1.0).abs() < 1e-12, "{error} {expected}");
    }
    for (a, b) in state.iter().zip(&next) {
        assert!((a * fft.scale() - b).norm() < 1e-12, "{rows}×{columns}");
    }
    // The exit waves are the inverse transforms of the new state.
    let pixels = rows * columns;
    for (exit, next) in exit.chunks_exact_mut(pixels).zip(next.chunks_exact(pixels)) {
        Fft2::new(rows, columns).forward(exit);
        for (i, value) in exit.iter().enumerate() {
            let expected = next[(i % columns) * rows + i / columns];
            assert!((value - expected).norm() < 1e-12, "{rows}×{columns}");
        }
    }
}

#[test]
fn all_instruction_sets_give_the_same_bits() {
    for size in SIZES {
        let frame = frame(size, 2);
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        let state: Vec<Complex<f32>> = frame.state.iter().map(narrow).collect();
        let model: Vec<Complex<f32>> = wave(state.len(), 4.0).iter().map(narrow).collect();
        let reflected = |chosen: bool| {
            let mut reflected = vec![0.0; frame.magnitudes.len()];
            let sums = run(
                chosen,
                Reflect {
                    state: &state,
                    model: &model,
                    magnitudes: &frame.magnitudes,
                    reflect: [-1.0, 2.0],
                    scale2: 0.01,
                    metrics: true,
                    reflected: &mut reflected,
                },
            );
            (sums, reflected)
        };
        let combined = |chosen: bool| {
            let (mut state, mut model) = (state.clone(), model.clone());
            let sums = run(
                chosen,
                Combine {
                    state: &mut state,
                    model: &mut model,
                    magnitudes: &frame.magnitudes,
                    reflected: &vec![0.7; frame.magnitudes.len()],
                    kept: Some(0.3),
                    weights: [1.0, -1.0, 1.0],
                    reflect: [-1.0, 2.0],
                    scale2: 0.01,
                },
            );
            (sums, state, model)
        };
        assert_eq!(reflected(true), reflected(false));
        assert_eq!(combined(true), combined(false));
    }
}

/// Runs a loop with the instructions of the CPU in use, or with those of the oldest one.
fn run<L: pulp::NullaryFnOnce>(chosen: bool, work: L) -> L::Output {
    if chosen {
        vectorised(work)
    } else {
        work.call()
    }
}
