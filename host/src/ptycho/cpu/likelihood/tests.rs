//! Every gradient is the derivative of the objective, whose differences are taken in double
//! precision; steps never raise it; nothing is ever NaN.

use super::gradient::{gradient, loss};
use super::*;
use crate::data::{PixelPositions, VariableProbe};
use crate::fft::TransposedFft2;
use crate::ptycho::cpu::batch_engine::for_each_window_value;
use crate::ptycho::cpu::detector::CpuDetector;
use crate::ptycho::cpu::model::{
    PointRamps, Scratch, model_spectra, shifted, shifted_derivative, spectra,
};
use crate::ptycho::cpu::propagation::Propagator;
use crate::ptycho::cpu::refinement::normal_equations;
use crate::ptycho::cpu::variable_probe::Variations;
use crate::ptycho::cpu::window::Window;
use crate::ptycho::fly::FlyPaths;
use crate::ptycho::likelihood::Noise;
use crate::ptycho::{BackgroundFit, Detector, Magnitudes};
use crate::ptycho::{
    Engine, EngineName, EngineSpec, NearField, Problem, Recipe, SimulateOptions, Smoothness,
    simulate,
};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ALL: [Noise; 3] = [Noise::Gaussian, Noise::Poisson, Noise::Amplitude];
const SHAPE: [usize; 2] = [7, 10];
const MODES: usize = 2;
const NEAR: NearField = NearField {
    wavelength: 1e-10,
    distance: 0.02,
    pixel: [1e-6, 0.8e-6],
};

pub(in crate::ptycho::cpu) struct Random(Pcg64Mcg);

impl Random {
    fn next(&mut self) -> f64 {
        self.0.random::<f64>() - 0.5
    }

    pub(in crate::ptycho::cpu) fn complex(&mut self) -> Complex<f64> {
        Complex::new(self.next(), self.next())
    }

    pub(in crate::ptycho::cpu) fn vector(&mut self, n: usize) -> Vec<Complex<f64>> {
        (0..n).map(|_| self.complex()).collect()
    }
}

pub(in crate::ptycho::cpu) fn random(seed: u64) -> Random {
    Random(Pcg64Mcg::seed_from_u64(seed))
}

/// Five frames of 7 × 10 pixels in which nothing is trivial: two modes, fractions, scales, masked
/// and free pixels.
fn engine() -> CpuEngine<f64> {
    engine_in(None)
}

/// The same in a near field.
fn near_engine() -> CpuEngine<f64> {
    engine_in(Some(NEAR))
}

/// Three modes of the object, and three points of each exposure.
fn layered_engine() -> CpuEngine<f64> {
    layered_engine_in(None)
}

/// The same in a near field.
fn layered_near_engine() -> CpuEngine<f64> {
    layered_engine_in(Some(NEAR))
}

/// The same in either field, for one exit wave a mode and for several.
const FIELDS: [fn() -> CpuEngine<f64>; 4] =
    [engine, near_engine, layered_engine, layered_near_engine];

fn layered_engine_in(near_field: Option<NearField>) -> CpuEngine<f64> {
    let mut random = random(21);
    let paths = (0..5).map(|_| [3.0 * random.next(), 3.0 * random.next()]);
    engine_of(near_field, 3, FlyPaths::given(3, paths.collect()))
}
/// The near field on a detector that blurs, by more along columns' direction, and has a background.
fn soft_engine() -> CpuEngine<f64> {
    let mut engine = near_engine();
    let [rows, columns] = SHAPE;
    engine.detector = Some(CpuDetector::new(&Detector {
        blur: [0.7, 1.6],
        background: Array2::from_shape_fn((rows, columns), |(r, c)| {
            0.1 + 0.05 * ((r * 5 + c * 3) % 11) as f64
        }),
        fit: BackgroundFit::Pixels,
        from: 1,
        floor: 0.01,
        has_background: true,
    }));
    engine
}

fn engine_in(near_field: Option<NearField>) -> CpuEngine<f64> {
    engine_of(near_field, 1, FlyPaths::default())
}

fn engine_of(near_field: Option<NearField>, layers: usize, fly: FlyPaths) -> CpuEngine<f64> {
    let [rows, columns] = SHAPE;
    let corners = vec![[0, 0], [2, 3], [4, 1], [1, 5], [5, 6]];
    let mut random = random(3);
    let frames = corners.len();
    let object_shape = [rows + 6, columns + 7];
    let options = SimulateOptions {
        frame: 16,
        positions: frames,
        ..SimulateOptions::default()
    };
    let other = Problem::new(&simulate(&options).unwrap(), &Recipe::default()).unwrap();
    let magnitudes = Array3::from_shape_fn((frames, rows, columns), |_| match random.next() {
        v if v < -0.45 => -1.0,
        v if v > 0.45 => -2.0 - 3.0 * v as f32,
        v => (4.0 * (v + 0.45)) as f32,
    });
    let problem = Problem {
        magnitudes: Magnitudes::Memory(magnitudes.into_shared()),
        positions: PixelPositions {
            fractions: (0..frames)
                .map(|_| [random.next(), random.next()])
                .collect(),
            corners,
            object_shape,
            ..other.positions.clone()
        },
        object: Array2::from_shape_fn(object_shape, |_| 1.0 + random.complex()),
        probe: Array3::from_shape_fn((MODES, rows, columns), |_| 2.0 * random.complex()),
        more_layers: Array3::from_shape_fn((layers - 1, object_shape[0], object_shape[1]), |_| {
            random.complex()
        }),
        fly,
        near_field,
        ..other
    };
    let mut engine = CpuEngine::new(&problem);
    engine.layout.fractions = problem.positions.fractions.clone();
    engine.layout.scales = vec![0.7, 1.2, 1.0, 1.4, 0.8];
    engine
}

fn method(noise: Noise) -> LikelihoodMethod {
    LikelihoodMethod {
        noise,
        preconditioner: true,
        smooth_gradient: 0.0,
        smooth_gradient_decay: 1.0,
        smoothness: Smoothness {
            weight: 0.0,
            edge: 0.0,
        },
    }
}

fn step_of(spec: &EngineSpec) -> Step {
    let options = SimulateOptions {
        frame: 16,
        positions: 2,
        ..SimulateOptions::default()
    };
    let problem = Problem::new(&simulate(&options).unwrap(), &Recipe::default()).unwrap();
    Step::new(spec, &problem, 2)
}

pub(in crate::ptycho::cpu) fn plain_step() -> Step {
    step_of(&EngineSpec::new(EngineName::Ml, 3))
}

/// The same in either field with three variations of the first probe mode.
pub(in crate::ptycho::cpu) fn varied_engine(near: bool) -> CpuEngine<f64> {
    const COUNT: usize = 3;
    let mut engine = FIELDS[usize::from(near)]();
    let frames = engine.layout.corners.len();
    let mut random = random(21);
    let [rows, columns] = SHAPE;
    let variable = VariableProbe {
        shapes: Array3::from_shape_fn((COUNT, rows, columns), |_| random.complex()),
        coefficients: Array2::from_shape_fn((frames, COUNT), |_| random.next()),
    };
    engine.variation_count = COUNT;
    engine.variations = Some(Variations::of(&variable));
    engine
}

/// Σ(√I_model − √I)² over the valid pixels of all frames.
pub(in crate::ptycho::cpu) fn amplitude_loss(engine: &CpuEngine<f64>, step: &Step) -> f64 {
    loss(engine, step, Noise::Amplitude).unwrap()
}

/// Fields, with and without variations of the probe.
fn all_engines() -> [fn() -> CpuEngine<f64>; 5] {
    [
        engine,
        near_engine,
        soft_engine,
        || varied_engine(false),
        || varied_engine(true),
    ]
}

/// The derivative of `objective` at 0, by central differences of the fourth order.
pub(in crate::ptycho::cpu) fn difference(h: f64, mut objective: impl FnMut(f64) -> f64) -> f64 {
    let mut at = |t: f64| objective(t * h);
    (at(-2.0) - 8.0 * at(-1.0) + 8.0 * at(1.0) - at(2.0)) / (12.0 * h)
}

#[test]
fn gradients_are_derivatives_of_the_likelihood() {
    let step = plain_step();
    for (noise, field) in ALL.into_iter().flat_map(|n| all_engines().map(|f| (n, f))) {
        let mut engine = field();
        let (found, _) = gradient(&engine, &step, &method(noise)).unwrap();
        assert!((found.loss / loss(&engine, &step, noise).unwrap() - 1.0).abs() < 1e-13);
        for which in 0..2 {
            let at = [engine.object.clone(), engine.probe.clone()];
            let h = random(5).vector(at[which].len());
            let expected: f64 = (found.values[which].iter().zip(&h))
                .map(|(g, h)| (g.conj() * h).re)
                .sum();
            let slope = difference(2e-4, |t| {
                let moved = at[which].iter().zip(&h).map(|(v, h)| v + h * t).collect();
                if which == 0 {
                    engine.object = moved;
                } else {
                    engine.probe = moved;
                }
                loss(&engine, &step, noise).unwrap()
            });
            [engine.object, engine.probe] = at;
            assert!(
                (slope / expected - 1.0).abs() < 1e-6,
                "{noise:?} {which}: {slope} {expected}"
            );
        }
    }
}

/// With the noise of amplitudes, the normal equations hold −½ of the derivatives.
#[test]
fn scales_and_positions_have_the_derivatives_of_the_normal_equations() {
    let step = plain_step();
    for field in all_engines() {
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

#[test]
fn the_regulariser_adds_its_derivative() {
    let step = plain_step();
    for (edge, new) in [(0.0, FIELDS[0]), (0.4, FIELDS[0]), (0.4, FIELDS[2])] {
        let mut engine = new();
        let noise = Noise::Poisson;
        let smoothness = Smoothness { weight: 3.0, edge };
        let regularised = LikelihoodMethod {
            smoothness,
            ..method(noise)
        };
        let (with, _) = gradient(&engine, &step, &regularised).unwrap();
        let (without, _) = gradient(&engine, &step, &method(noise)).unwrap();
        let width = engine.layout.object_shape[1];
        let most = with.object_weights.iter().copied().fold(0.0, f64::max);
        let lit: Vec<bool> = (with.object_weights.iter())
            .map(|w| *w > crate::ptycho::cpu::LIT * most)
            .collect();
        assert!(lit.iter().any(|lit| !lit) && lit.iter().any(|lit| *lit));
        let pixels = engine.layout.object_pixels();
        let of_layer = |object: &[Complex<f64>]| {
            let mut sum = 0.0;
            for at in 0..object.len() {
                for (there, n) in [
                    ((at + 1) % width != 0, at + 1),
                    (at + width < object.len(), at + width),
                ] {
                    if there && lit[at] && lit[n] {
                        let d = (object[n] - object[at]).norm_sqr();
                        sum += if edge > 0.0 {
                            2.0 * edge * edge * ((1.0 + d / (edge * edge)).sqrt() - 1.0)
                        } else {
                            d
                        };
                    }
                }
            }
            3.0 * sum
        };
        let penalty =
            |object: &[Complex<f64>]| -> f64 { object.chunks_exact(pixels).map(of_layer).sum() };
        let h = random(8).vector(engine.object.len());
        let before = engine.object.clone();
        let expected: f64 = (with.values[0].iter().zip(&without.values[0]).zip(&h))
            .map(|((a, b), h)| ((a - b).conj() * h).re)
            .sum();
        let slope = difference(1e-4, |t| {
            let moved = before.iter().zip(&h).map(|(o, h)| o + h * t);
            engine.object = moved.collect();
            penalty(&engine.object)
        });
        assert!((slope / expected - 1.0).abs() < 1e-6, "{slope} {expected}");
    }
}

#[test]
fn line_sums_are_the_series_of_the_objective() {
    let step = plain_step();
    for (noise, field) in ALL
        .into_iter()
        .flat_map(|n| [engine, near_engine, soft_engine].map(|f| (n, f)))
    {
        let mut engine = field();
        let mut random = random(9);
        let direction = [engine.object.len(), engine.probe.len()].map(|n| random.vector(n));
        let sums = line::sums(&engine, &step, noise, &direction).unwrap();
        let start = [engine.object.clone(), engine.probe.clone()];
        let mut at = |t: f64| {
            for ((to, from), h) in [&mut engine.object, &mut engine.probe]
                .into_iter()
                .zip(&start)
                .zip(&direction)
            {
                *to = from.iter().zip(h).map(|(v, h)| v + h * t).collect();
            }
            loss(&engine, &step, noise).unwrap()
        };
        if noise == Noise::Gaussian {
            for t in [-0.7, 0.4, 2.0] {
                let sum = sums.iter().rev().fold(0.0, |sum, c| sum * t + c);
                assert!((at(t) / sum - 1.0).abs() < 1e-11);
            }
            continue;
        }
        let slope = difference(2e-4, &mut at);
        assert!((slope / sums[1] - 1.0).abs() < 1e-6, "{noise:?}");
        let h = 1e-4;
        let second = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
        assert!((0.5 * second / sums[2] - 1.0).abs() < 1e-3, "{noise:?}");
    }
}

/// ⟨D(S\[x\]·O), y⟩ = ⟨x, S⁻¹\[conj(O) D⁻¹ y\]⟩, D the propagation to the detector, and likewise for the object.
#[test]
fn the_gradients_operator_is_adjoint_to_the_model() {
    for field in FIELDS {
        adjoint_to_the_model(&field());
    }
}

fn adjoint_to_the_model(engine: &CpuEngine<f64>) {
    use crate::ptycho::cpu::batch_engine::{add_object_sums, add_probe_sums, inverse_layers};
    use crate::ptycho::cpu::part_sums::{ObjectPart, ProbePart};
    let CpuEngine {
        layout,
        fft,
        propagator,
        ..
    } = engine;
    let (pixels, frame) = (layout.pixels(), 3);
    let mut random = random(11);
    let x = random.vector(engine.probe.len());
    let object = random.vector(engine.object.len());
    let y = random.vector(layout.waves() * pixels);
    let ramps = PointRamps::new(layout, frame, layout.fractions[frame]);
    let mut scratch = Scratch::new(layout, fft);
    let mut moved = layout.moved(&x);
    shifted(
        &spectra(&x, pixels, fft),
        &ramps,
        &mut moved,
        fft,
        &mut scratch,
    );
    let window = Window {
        layout,
        frame,
        corner: layout.corners[frame],
        fraction: layout.fractions[frame],
        probe: &moved,
        object: &object,
    };
    model_spectra(&window, propagator, &mut scratch);
    let inner = |a: &[Complex<f64>], b: &[Complex<f64>]| -> Complex<f64> {
        a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
    };
    let left = inner(&scratch.model, &y) * fft.scale();
    let fractions = (0..layout.waves()).map(|n| layout.shift(frame, n, layout.fractions[frame]));
    let waves = inverse(&y, pixels, propagator, fractions);
    let frames = [frame as u32];
    let mut to_probe = ProbePart::zeros(layout);
    let of_frame = (&frames[..], std::slice::from_ref(&ramps));
    add_probe_sums(
        layout,
        fft,
        &object,
        of_frame,
        &waves,
        |_| 1.0,
        &mut to_probe,
    );
    inverse_layers(&mut to_probe.numerators, pixels, fft);
    let right = inner(&x, &to_probe.numerators);
    assert!(
        (left - right).norm() < 1e-12 * left.norm(),
        "{left} {right}"
    );
    let mut to_object = ObjectPart::under(layout, [layout.corners[frame]].into_iter());
    let pair = (&moved[..], &waves[..]);
    add_object_sums(layout, &frames, pair, &mut to_object);
    let (to_object, _) = to_object.whole(layout.object_shape);
    let right = inner(&object, &to_object);
    assert!(
        (left - right).norm() < 1e-12 * left.norm(),
        "{left} {right}"
    );
}

/// Waves at the specimen, by the unitary propagation, of those at the detector (mode, column, row).
fn inverse(
    y: &[Complex<f64>],
    pixels: usize,
    propagator: &Propagator<f64>,
    fractions: impl Iterator<Item = [f64; 2]>,
) -> Vec<Complex<f64>> {
    let mut waves = vec![Complex::default(); y.len()];
    let mut scratch = TransposedFft2::<f64>::new(SHAPE[0], SHAPE[1]).scratch();
    let pairs = y.chunks_exact(pixels).zip(waves.chunks_exact_mut(pixels));
    for ((y, wave), fraction) in pairs.zip(fractions) {
        let mut spectrum: Vec<_> = y.iter().map(|v| v * propagator.scale()).collect();
        propagator.inverse(&mut spectrum, wave, fraction, &mut scratch);
    }
    waves
}

/// A scan, and its problem for a spec.
fn simulated(frames: usize, modes: usize) -> Problem {
    let options = SimulateOptions {
        frame: 32,
        positions: frames,
        probe_modes: modes,
        photons: 1e6,
        ..SimulateOptions::default()
    };
    let recipe = Recipe {
        probe_modes: modes,
        free_pixels: 0.02,
        ..Recipe::default()
    };
    Problem::new(&simulate(&options).unwrap(), &recipe).unwrap()
}

fn spec(noise: Noise) -> EngineSpec {
    let mut spec = EngineSpec::new(EngineName::Ml, 100);
    spec.noise = Some(noise);
    spec
}

#[test]
fn the_objective_never_rises() {
    for noise in ALL {
        for smooth in [false, true] {
            let problem = simulated(30, 2);
            let mut spec = spec(noise);
            if smooth {
                spec.smooth_gradient = Some(1.0);
                spec.smooth_gradient_decay = Some(0.9);
            }
            let mut engine = CpuEngine::<f64>::new(&problem);
            let mut last = f64::INFINITY;
            for iteration in 1..=30 {
                let step = Step::new(&spec, &problem, iteration);
                engine.step(&step).unwrap();
                let now = loss(&engine, &step, noise).unwrap();
                assert!(now <= last, "{noise:?} {iteration}: {last} {now}");
                last = now;
            }
            let errors = engine.errors(true).unwrap();
            let [first, end] = [errors[0], errors[29]].map(|e| e.start.unwrap().r_factor);
            assert!(end < 0.1 * first, "{noise:?} {first} {end}");
        }
    }
}

#[test]
fn degenerate_scans_stay_finite() {
    for noise in ALL {
        for case in 0..4 {
            let mut problem = simulated(if case == 1 { 1 } else { 4 }, 1);
            match case {
                0 => problem
                    .magnitudes
                    .in_memory_mut()
                    .unwrap()
                    .index_axis_mut(ndarray::Axis(0), 1)
                    .fill(0.0),
                2 => problem
                    .magnitudes
                    .in_memory_mut()
                    .unwrap()
                    .index_axis_mut(ndarray::Axis(0), 1)
                    .fill(-1.0),
                3 => problem.magnitudes.in_memory_mut().unwrap().fill(-1.0),
                _ => {}
            }
            let spec = spec(noise);
            let mut engine = CpuEngine::<f32>::new(&problem);
            for iteration in 1..=6 {
                engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
            }
            let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
            assert!(
                engine.object().unwrap().iter().all(finite),
                "{noise:?} {case}"
            );
            assert!(
                engine.probe().unwrap().iter().all(finite),
                "{noise:?} {case}"
            );
        }
    }
}

#[test]
fn a_restored_engine_goes_on_with_the_same_bits() {
    let problem = simulated(9, 2);
    let spec = spec(Noise::Poisson);
    let run = |engine: &mut CpuEngine<f32>, iterations: std::ops::RangeInclusive<usize>| {
        for iteration in iterations {
            engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
        }
    };
    let mut whole = CpuEngine::<f32>::new(&problem);
    run(&mut whole, 1..=7);
    for end in [0, 1, 4] {
        let mut first = CpuEngine::<f32>::new(&problem);
        run(&mut first, 1..=end);
        let mut second = CpuEngine::<f32>::new(&problem);
        second.restore(&first.save().unwrap()).unwrap();
        run(&mut second, end + 1..=7);
        assert_eq!(second.save().unwrap(), whole.save().unwrap(), "{end}");
    }
}
