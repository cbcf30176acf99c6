//! Engines with a detector on both back ends: they agree, blocks of frames, saved states and
//! several devices change no bit.

use crate::data::{Propagation, Scan};
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    Background, BackgroundFit as Fit, Blur, DetectorOptions, Engine, EngineName, EngineSpec, Noise,
    PositionMethod, PositionOptions, Problem, Ranks, Recipe, SimulateOptions, Step, StepErrors,
    StreamPlan, UpdateVersion, simulate,
};
use ndarray::{Array, Dimension, s};
use num_complex::Complex;
use std::sync::Arc;
use warpstride_cuda::gpu::EmulatedDevice;
use warpstride_ranks::threads;

const FRAMES: usize = 7;

/// Frames with a blur that differs along their axes, a background, a masked frame and free pixels;
/// positions and scales are refined from the third iteration on.
struct Case {
    frames: usize,
    /// Rows of the frames, which have 16 columns.
    rows: usize,
    modes: usize,
    near: bool,
    blur: Blur,
    background: Background,
    engines: Vec<EngineSpec>,
}

impl Case {
    fn new(modes: usize, background: Background) -> Self {
        Self {
            frames: FRAMES,
            rows: 16,
            modes,
            near: false,
            blur: Blur::Axes([0.6, 1.1]),
            background,
            engines: Recipe::default().engines,
        }
    }

    fn problem(&self) -> Problem {
        let mut options = SimulateOptions {
            frame: 16,
            positions: self.frames,
            photons: 1e5,
            probe_modes: self.modes,
            overlap: 0.75,
            blur: 0.8,
            background: 2.0,
            ..SimulateOptions::default()
        };
        if self.near {
            options.propagation = Propagation::NearField {
                focus_to_sample: None,
            };
        }
        let recipe = Recipe {
            probe_modes: self.modes,
            free_pixels: 0.05,
            fit_frame_scales: true,
            detector: DetectorOptions {
                blur: self.blur,
                background: self.background,
                background_from: 2,
            },
            positions: PositionOptions {
                refine: vec![PositionMethod::Gradient, PositionMethod::Annealing],
                start: 3,
                ..PositionOptions::default()
            },
            engines: self.engines.clone(),
            ..Recipe::default()
        };
        let whole = simulate(&options).unwrap();
        let scan = if self.rows == 16 {
            whole
        } else {
            let first = (16 - self.rows) / 2;
            let part = s![.., first..first + self.rows, ..];
            let frames = whole.frames().unwrap().slice(part).to_owned();
            let positions = whole.positions().clone();
            Scan::new(frames, None, positions, *whole.geometry(), None).unwrap()
        };
        let mut problem = Problem::prepare(&scan, &recipe).unwrap();
        let magnitudes = problem.magnitudes.in_memory_mut().unwrap();
        if let Some(mut frame) = magnitudes.outer_iter_mut().nth(1) {
            frame.fill(-1.0);
        }
        problem
    }
}

fn specs() -> Vec<EngineSpec> {
    let mut specs = Vec::new();
    for name in EngineName::ALL {
        for subpixel in [true, false] {
            let mut spec = EngineSpec::new(name, 6);
            spec.subpixel = Some(subpixel);
            spec.batch = spec.batch.map(|size| size.min(3));
            specs.push(spec);
        }
    }
    for noise in [Noise::Poisson, Noise::Gaussian] {
        let mut spec = EngineSpec::new(EngineName::Ml, 6);
        spec.noise = Some(noise);
        specs.push(spec);
    }
    specs
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine.step(&Step::new(spec, problem, iteration)).unwrap();
    }
}

fn emulated(problem: &Problem) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), problem, UpdateVersion::Tiled).unwrap()
}

fn distance<D: Dimension>(
    found: &Array<Complex<f64>, D>,
    expected: &Array<Complex<f64>, D>,
) -> f64 {
    let norm = |of: &Array<Complex<f64>, D>| of.iter().map(Complex::norm_sqr).sum::<f64>();
    (norm(&(found - expected)) / norm(expected)).sqrt()
}

/// The background of an engine, if it has one.
fn background(engine: &mut dyn Engine) -> Vec<f64> {
    let detector = engine.model_parts().unwrap().detector.unwrap();
    assert!(detector.blur.iter().all(|sigma| *sigma >= 0.0));
    detector.background.into_iter().flatten().collect()
}

/// Metrics of all iterations and of the result, object and background.
fn agree(problem: &Problem, spec: &EngineSpec, tolerance: f64, label: &str) {
    let problem = &Problem {
        exact_first: Step::new(spec, problem, 1).subpixel,
        ..problem.clone()
    };
    let mut cpu = CpuEngine::<f32>::new(problem);
    let mut gpu = emulated(problem);
    run(&mut cpu, spec, problem, 1, 4);
    run(&mut gpu, spec, problem, 1, 4);
    let each = |e: &StepErrors| {
        let start = e.start.unwrap();
        let free = start.r_free.unwrap();
        [
            e.fourier,
            e.exit.unwrap(),
            start.photon,
            start.r_factor,
            free,
        ]
    };
    let (expected, found) = (cpu.errors(true).unwrap(), gpu.errors(true).unwrap());
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        for (expected, found) in each(expected).into_iter().zip(each(found)) {
            let error = (found / expected - 1.0).abs();
            assert!(error < tolerance, "{label} {spec:?}: {found} {expected}");
        }
    }
    let [expected, found] = [cpu.metrics().unwrap(), gpu.metrics().unwrap()];
    let error = (found.r_factor / expected.r_factor - 1.0).abs();
    assert!(
        error < tolerance,
        "{label} {spec:?}: {found:?} {expected:?}"
    );
    let object = distance(&gpu.object().unwrap(), &cpu.object().unwrap());
    assert!(object < tolerance, "{label} {spec:?}: {object}");
    let [expected, found] = [background(&mut cpu), background(&mut gpu)];
    assert_eq!(expected.len(), found.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            (found - expected).abs() <= tolerance * expected.max(1.0),
            "{label} {spec:?}: {found} {expected}"
        );
    }
}

#[test]
fn the_emulator_agrees_with_the_cpu() {
    let cases = [
        ("pixels", Case::new(3, Background::Fit(Fit::Pixels))),
        (
            "near",
            Case {
                near: true,
                ..Case::new(2, Background::Fit(Fit::Uniform))
            },
        ),
        (
            "rows",
            Case {
                rows: 12,
                ..Case::new(1, Background::Fit(Fit::Uniform))
            },
        ),
        (
            "no blur",
            Case {
                blur: Blur::Same(0.0),
                ..Case::new(1, Background::Known(2.0))
            },
        ),
        (
            "no background",
            Case {
                blur: Blur::Axes([0.0, 1.1]),
                ..Case::new(1, Background::Fit(Fit::Off))
            },
        ),
    ];
    for (label, case) in cases {
        let problem = case.problem();
        for spec in specs() {
            agree(&problem, &spec, 3e-3, label);
        }
    }
}

/// Regions of the scan, whose copies have one detector.
#[test]
fn regions_agree_with_the_cpu() {
    let mut spec = EngineSpec::new(EngineName::Lsqml, 6);
    spec.regions = Some(4);
    spec.batch = Some(2);
    let case = Case {
        frames: 16,
        engines: vec![spec.clone()],
        ..Case::new(1, Background::Fit(Fit::Uniform))
    };
    let problem = case.problem();
    assert!(problem.regions.is_some());
    agree(&problem, &spec, 3e-3, "regions");
}

#[test]
fn blocks_of_frames_change_no_bit() {
    let problem = Case::new(2, Background::Fit(Fit::Pixels)).problem();
    for mut spec in specs() {
        let exact = spec.subpixel == Some(true);
        if spec.name == EngineName::Ml {
            continue;
        }
        spec.batch = spec.batch.map(|size| size.min(3));
        let plan = StreamPlan::new([FRAMES, 16 * 16], 3, 2, problem.magnitudes.codes());
        let projects = spec.name.projects();
        if projects && exact {
            continue;
        }
        let plan = match projects {
            true => plan.with_waves(2, problem.gpu_waves, 2),
            false => plan,
        };
        let device = EmulatedDevice::new;
        let version = UpdateVersion::Tiled;
        let mut whole = emulated(&problem);
        let mut blocks = GpuEngine::streamed(device(), &problem, version, Some(plan)).unwrap();
        for engine in [&mut whole, &mut blocks] {
            run(engine, &spec, &problem, 1, 4);
        }
        let label = format!("{spec:?}");
        assert_eq!(blocks.object().unwrap(), whole.object().unwrap(), "{label}");
        assert_eq!(blocks.probe().unwrap(), whole.probe().unwrap(), "{label}");
        assert_eq!(background(&mut blocks), background(&mut whole), "{label}");
        let [a, b] = [&mut whole, &mut blocks].map(|engine| engine.metrics().unwrap());
        assert_eq!(a, b, "{label}");
    }
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits() {
    for (modes, fit) in [(1, Fit::Uniform), (2, Fit::Pixels)] {
        let problem = Case::new(modes, Background::Fit(fit)).problem();
        for spec in specs() {
            let mut whole = emulated(&problem);
            run(&mut whole, &spec, &problem, 1, 5);
            let mut first = emulated(&problem);
            run(&mut first, &spec, &problem, 1, 3);
            let state = first.save().unwrap();
            assert_eq!(state.added.len(), 1);
            let mut second = emulated(&problem);
            second.restore(&state).unwrap();
            run(&mut second, &spec, &problem, 4, 5);
            let expected = whole.save().unwrap();
            assert_eq!(second.save().unwrap(), expected, "{spec:?}");
            assert_eq!(background(&mut second), background(&mut whole));
        }
    }
}

/// Each of them computes all frames, also from a saved state.
#[test]
fn several_devices_have_the_bits_of_one() {
    let problem = Case::new(1, Background::Fit(Fit::Uniform)).problem();
    let [dm, lsqml] = [EngineName::Dm, EngineName::Lsqml].map(|name| {
        let mut spec = EngineSpec::new(name, 6);
        spec.batch = spec.batch.map(|size| size.min(3));
        spec
    });
    let ended = |make: &dyn Fn() -> GpuEngine<EmulatedDevice>| {
        let mut first = make();
        run(&mut first, &dm, &problem, 1, 1);
        run(&mut first, &lsqml, &problem, 2, 3);
        let state = first.save().unwrap();
        drop(first);
        let mut second = make();
        second.restore(&state).unwrap();
        run(&mut second, &lsqml, &problem, 4, 5);
        (second.object().unwrap(), background(&mut second))
    };
    let expected = ended(&|| emulated(&problem));
    std::thread::scope(|scope| {
        let started: Vec<_> = (threads(2).into_iter())
            .map(|rank| {
                let (ended, problem) = (&ended, &problem);
                scope.spawn(move || {
                    let ranks = Ranks::of(Arc::new(rank));
                    ended(&|| {
                        let (device, among) = (EmulatedDevice::new(), (ranks.clone(), None));
                        let version = UpdateVersion::Tiled;
                        GpuEngine::among(device, problem, version, None, among).unwrap()
                    })
                })
            })
            .collect();
        for rank in started {
            assert!(rank.join().unwrap() == expected);
        }
    });
}

/// A single frame (never without counts, as such a scan is refused); one beside a masked one and
/// one without counts; several. Dead pixels are in another place in each frame.
#[test]
fn nothing_becomes_nan() {
    for frames in [1, 3, 6] {
        let case = Case {
            frames,
            ..Case::new(2, Background::Fit(Fit::Pixels))
        };
        let mut problem = case.problem();
        let magnitudes = problem.magnitudes.in_memory_mut().unwrap();
        assert_eq!(magnitudes.dim().0, frames);
        for (n, mut frame) in magnitudes.outer_iter_mut().enumerate() {
            for (i, m) in frame.iter_mut().enumerate() {
                if (i * 31 + n * 17) % 101 == 0 {
                    *m = -1.0;
                } else if n == 2 {
                    *m = 0.0;
                }
            }
        }
        for spec in specs() {
            let mut engine = emulated(&problem);
            run(&mut engine, &spec, &problem, 1, 8);
            let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
            assert!(engine.object().unwrap().iter().all(finite), "{spec:?}");
            assert!(engine.probe().unwrap().iter().all(finite), "{spec:?}");
            let found = background(&mut engine);
            assert!(found.iter().all(|b| b.is_finite() && *b >= 0.0), "{spec:?}");
        }
    }
}
