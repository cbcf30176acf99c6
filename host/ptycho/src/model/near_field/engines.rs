//! Every engine in a near field: it finds the true object, the emulated device takes the CPU's
//! steps, saved runs go on with the same bits.

use super::*;
use crate::data::{PixelPositions, Propagation, Scan, Simulation};
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::model::roll::roll;
use crate::{
    Engine, EngineName, EngineSpec, PositionMethod, PositionOptions, Problem, Recipe,
    SimulateOptions, Step, StepErrors, StreamPlan, UpdateVersion, simulate,
};
use ndarray::{Array3, s};
use warpstride_cuda::gpu::EmulatedDevice;

/// Frames without noise of `shape` pixels, and their truth: the middle of the simulated beam.
fn scan([rows, columns]: [usize; 2], positions: usize, probe_modes: usize) -> Scan {
    let options = SimulateOptions {
        frame: rows.max(columns),
        positions,
        probe_modes,
        overlap: 0.8,
        photons: 1e6,
        noise: false,
        propagation: Propagation::NearField {
            focus_to_sample: Some(4e-3),
        },
        ..SimulateOptions::default()
    };
    let square = simulate(&options).unwrap();
    let middle = |probe: &Array3<Complex<f64>>| {
        crate::model::probe_grid::cut_or_padded(probe, [rows, columns])
    };
    let truth = square.simulation().unwrap();
    let probe = middle(&truth.probe);
    let pixel = square.object_pixel();
    let windows = PixelPositions::new(&truth.positions, pixel, [rows, columns], 0).unwrap();
    let [height, width] = windows.object_shape;
    let object = truth.object.slice(s![..height, ..width]).to_owned();
    let near = NearField::of(square.geometry()).unwrap();
    let mut propagator = Propagator::new([rows, columns], Some(&near));
    let mut frames = Array3::<f32>::zeros((positions, rows, columns));
    for (mut frame, corner) in frames.outer_iter_mut().zip(&windows.corners) {
        let [top, left] = corner.map(|v| v as usize);
        let window = object.slice(s![top..top + rows, left..left + columns]);
        let mut intensity = Array2::<f64>::zeros((rows, columns));
        for mode in probe.outer_iter() {
            let mut wave = &mode * &window;
            propagator.propagate_to_detector(wave.as_slice_mut().unwrap(), [0.0; 2]);
            intensity.zip_mut_with(&wave, |sum, f| *sum += f.norm_sqr());
        }
        let placed = roll(&intensity, rows / 2, columns / 2);
        frame.zip_mut_with(&placed, |to, from| *to = *from as f32);
    }
    let simulation = Simulation {
        object,
        probe,
        origin: windows.origin,
        ..truth.clone()
    };
    let start = middle(&square.probe().unwrap().to_owned());
    let positions = truth.positions.clone();
    Scan::new(frames, None, positions, *square.geometry(), Some(start))
        .unwrap()
        .with_simulation(simulation)
}

fn spec(name: EngineName, subpixel: bool, batch: usize) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 100);
    spec.subpixel = Some(subpixel);
    spec.batch = spec.batch.map(|size| size.min(batch));
    spec
}

fn specs() -> Vec<EngineSpec> {
    let kinds = |name| [true, false].map(|subpixel| spec(name, subpixel, 3));
    EngineName::ALL.into_iter().flat_map(kinds).collect()
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        let step = Step::new(spec, problem, iteration);
        engine.step(&step).unwrap();
    }
}

/// Frames of an odd and an even side with two modes, between pixels, positions and scales refined,
/// and free pixels.
fn refined() -> Problem {
    let recipe = Recipe {
        free_pixels: 0.05,
        probe_modes: 2,
        fit_frame_scales: true,
        positions: PositionOptions {
            refine: vec![PositionMethod::Gradient, PositionMethod::Annealing],
            start: 2,
            bound: 2.0,
            ..PositionOptions::default()
        },
        ..Recipe::default()
    };
    let mut problem = Problem::prepare(&scan([15, 18], 7, 2), &recipe).unwrap();
    for (n, fraction) in problem.positions.fractions.iter_mut().enumerate() {
        *fraction = [0.618, 0.414].map(|by| 0.9 * ((n as f64 + 1.0) * by).fract() - 0.45);
    }
    problem
}

fn emulated(problem: &Problem) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), problem, UpdateVersion::Tiled).unwrap()
}

/// Relative distance of the object from the true one in the middle of the scan, without their
/// common factor.
fn error(engine: &mut dyn Engine, scan: &Scan) -> f64 {
    let truth = &scan.simulation().unwrap().object;
    let object = engine.object().unwrap();
    let [rows, columns] = [truth.nrows(), truth.ncols()];
    let part = s![
        rows / 3..rows - rows / 3,
        columns / 3..columns - columns / 3
    ];
    let (a, b) = (object.slice(part), truth.slice(part));
    let pairs = || a.iter().zip(b.iter());
    let dot: Complex<f64> = pairs().map(|(a, b)| a.conj() * b).sum();
    let factor = dot / a.iter().map(Complex::norm_sqr).sum::<f64>();
    let distance: f64 = pairs().map(|(a, b)| (a * factor - b).norm_sqr()).sum();
    (distance / b.iter().map(Complex::norm_sqr).sum::<f64>()).sqrt()
}

/// The exact object and probe explain the frames, and every engine comes near to them from the
/// ideal beam.
#[test]
fn every_engine_finds_the_true_object() {
    let scan = scan([28, 36], 30, 1);
    let problem = Problem::prepare(&scan, &Recipe::default()).unwrap();
    let simulation = scan.simulation().unwrap();
    let mut known = problem.clone();
    known.object.assign(&simulation.object);
    known.probe.assign(&simulation.probe);
    let exact = CpuEngine::<f64>::new(&known).metrics().unwrap().r_factor;
    assert!(exact < 1e-10, "{exact}");
    for name in EngineName::ALL {
        let spec = spec(name, false, 5);
        let mut found = Vec::new();
        let mut engine = CpuEngine::<f64>::new(&problem);
        run(&mut engine, &spec, &problem, 1, 80);
        found.push((
            engine.metrics().unwrap().r_factor,
            error(&mut engine, &scan),
        ));
        let mut engine = CpuEngine::<f32>::new(&problem);
        run(&mut engine, &spec, &problem, 1, 80);
        found.push((
            engine.metrics().unwrap().r_factor,
            error(&mut engine, &scan),
        ));
        for (r_factor, error) in found {
            assert!(
                r_factor < 1e-3 && error < 0.06,
                "{name:?}: {r_factor} {error}"
            );
        }
    }
}

/// Metrics of all iterations, then object and probe, of the emulated device against the CPU in
/// single precision.
#[test]
fn the_emulated_device_takes_the_steps_of_the_cpu() {
    let problem = refined();
    for spec in specs() {
        let problem = Problem {
            exact_first: spec.subpixel == Some(true),
            ..problem.clone()
        };
        let mut cpu = CpuEngine::<f32>::new(&problem);
        let mut gpu = emulated(&problem);
        run(&mut cpu, &spec, &problem, 1, 4);
        run(&mut gpu, &spec, &problem, 1, 4);
        let each = |e: &StepErrors| {
            let start = e.start.unwrap();
            [e.fourier, e.exit.unwrap(), start.photon, start.r_factor]
        };
        let (expected, found) = (cpu.errors(true).unwrap(), gpu.errors(true).unwrap());
        for (expected, found) in expected.iter().zip(&found) {
            for (expected, found) in each(expected).into_iter().zip(each(found)) {
                let error = (found / expected - 1.0).abs();
                assert!(error < 2e-3, "{spec:?}: {found} {expected}");
            }
        }
        let distance = |a: Vec<Complex<f64>>, b: Vec<Complex<f64>>| -> f64 {
            let square: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).norm_sqr()).sum();
            (square / b.iter().map(Complex::norm_sqr).sum::<f64>()).sqrt()
        };
        let object = [&mut gpu as &mut dyn Engine, &mut cpu]
            .map(|engine| engine.object().unwrap().into_iter().collect());
        let [gpu_object, cpu_object]: [Vec<_>; 2] = object;
        assert!(distance(gpu_object, cpu_object) < 2e-3, "{spec:?}");
    }
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits() {
    let problem = refined();
    let cpu = || -> Box<dyn Engine> { Box::new(CpuEngine::<f32>::new(&problem)) };
    let gpu = || -> Box<dyn Engine> { Box::new(emulated(&problem)) };
    let makers: [&dyn Fn() -> Box<dyn Engine>; 2] = [&cpu, &gpu];
    for make in makers {
        for spec in specs() {
            let mut whole = make();
            run(whole.as_mut(), &spec, &problem, 1, 5);
            let mut first = make();
            run(first.as_mut(), &spec, &problem, 1, 3);
            let state = first.save().unwrap();
            let mut second = make();
            second.restore(&state).unwrap();
            run(second.as_mut(), &spec, &problem, 4, 5);
            assert_eq!(
                second.object().unwrap(),
                whole.object().unwrap(),
                "{spec:?}"
            );
            assert_eq!(second.probe().unwrap(), whole.probe().unwrap(), "{spec:?}");
            assert_eq!(second.frames(), whole.frames(), "{spec:?}");
        }
    }
}

/// Frames for which launches of far fields would be fused: no engine does that.
#[test]
fn nothing_is_fused() {
    let scan = scan([64, 64], 3, 1);
    let recipe = Recipe::default();
    let problem = Problem::prepare(&scan, &recipe).unwrap();
    for name in [EngineName::Dm, EngineName::Rpie, EngineName::Ml] {
        let spec = spec(name, false, 1);
        let mut cpu = CpuEngine::<f32>::new(&problem);
        let mut gpu = emulated(&problem);
        run(&mut cpu, &spec, &problem, 1, 2);
        run(&mut gpu, &spec, &problem, 1, 2);
        let r_factors = [&mut cpu as &mut dyn Engine, &mut gpu]
            .map(|engine| engine.metrics().unwrap().r_factor);
        assert!(
            (r_factors[1] / r_factors[0] - 1.0).abs() < 1e-3,
            "{name:?}: {r_factors:?}"
        );
        if name == EngineName::Dm {
            let plan = gpu.plan().unwrap();
            assert!(plan.to_string().contains("near field"), "{plan}");
        }
    }
}

/// Counts and exit waves of blocks of frames give the bits of all frames together.
#[test]
fn blocks_of_frames_have_the_same_bits() {
    let problem = refined();
    let [frames, modes, rows, columns] = problem.shape();
    for (name, subpixel) in [
        EngineName::Dm,
        EngineName::Raar,
        EngineName::Lsqml,
        EngineName::Epie,
    ]
    .into_iter()
    .flat_map(|name| [(name, false), (name, true)])
    {
        let spec = spec(name, subpixel, 2);
        let plan = StreamPlan::new([frames, rows * columns], 2, 2, None);
        let plan = if name.projects() {
            plan.with_waves(modes, problem.gpu_waves, 2)
        } else {
            plan
        };
        let of = |plan| {
            let device = EmulatedDevice::new();
            let mut engine =
                GpuEngine::streamed(device, &problem, UpdateVersion::Tiled, plan).unwrap();
            // Without refinement, whose sums are those of a block.
            for iteration in 1..=3 {
                let step = Step {
                    refinement: None,
                    ..Step::new(&spec, &problem, iteration)
                };
                engine.step(&step).unwrap();
            }
            (engine.object().unwrap(), engine.probe().unwrap())
        };
        let (whole, blocks) = (of(None), of(Some(plan)));
        if !subpixel {
            assert_eq!(whole, blocks, "{name:?}");
        }
        let pairs = whole.0.iter().chain(&whole.1);
        for (a, b) in pairs.zip(blocks.0.iter().chain(&blocks.1)) {
            assert!(
                (a - b).norm() < 1e-3 * (1.0 + a.norm()),
                "{name:?}: {a} {b}"
            );
        }
    }
}

/// Moving object and probe together would move the frames.
#[test]
fn centring_is_refused() {
    let mut recipe = Recipe::default();
    recipe.engines[0].probe_centre_tolerance = Some(2.0);
    let error = Problem::prepare(&scan([15, 18], 3, 1), &recipe).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("probe_centre_tolerance: expected none"),
        "{error}"
    );
    assert!(recipe.check().is_ok());
    recipe.data.near_field = Some(true);
    let error = recipe.check().unwrap_err().to_string();
    assert!(error.contains("probe_centre_tolerance"), "{error}");
}

/// The digest of a problem depends on all that the propagation does.
#[test]
fn the_digest_has_the_propagation() {
    let problem = Problem::prepare(&scan([15, 18], 3, 1), &Recipe::default()).unwrap();
    let of = |near_field: Option<NearField>| {
        let other = Problem {
            near_field,
            ..problem.clone()
        };
        other.digest("")
    };
    let near = problem.near_field.unwrap();
    let changed = [
        None,
        Some(NearField {
            wavelength: 1.1 * near.wavelength,
            ..near
        }),
        Some(NearField {
            distance: 1.1 * near.distance,
            ..near
        }),
        Some(NearField {
            pixel: near.pixel.map(|side| 1.1 * side),
            ..near
        }),
    ];
    for other in changed {
        assert_ne!(of(other), of(Some(near)), "{other:?}");
    }
}
