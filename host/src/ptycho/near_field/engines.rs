//! Every engine in a near field: it finds the true object, the emulated device takes the CPU's steps, saved runs go on with the
//! same bits.

use super::*;
use crate::data::{PixelPositions, Propagation, Scan, Simulation};
use crate::gpu::EmulatedDevice;
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::cuda::GpuEngine;
use crate::ptycho::start::roll;
use crate::ptycho::{
    Engine, EngineName, EngineSpec, PositionMethod, PositionOptions, Problem, Recipe,
    SimulateOptions, Step, StepErrors, StreamPlan, UpdateVersion, simulate,
};
use ndarray::{Array3, Axis, s};

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
        crate::ptycho::probe_grid::cut_or_padded(probe, [rows, columns])
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
            propagator.to_detector(wave.as_slice_mut().unwrap());
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

/// Frames of an odd and an even side with two modes, positions and scales refined, and free pixels.
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
    Problem::new(&scan([15, 18], 7, 2), &recipe).unwrap()
}

fn emulated(problem: &Problem) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), problem, UpdateVersion::Tiled).unwrap()
}

/// Relative distance of the object from the true one in the middle of the scan, without their common factor.
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

/// The exact object and probe explain the frames, and every engine comes near to them from the ideal beam.
#[test]
fn every_engine_finds_the_true_object() {
    let scan = scan([28, 36], 30, 1);
    let problem = Problem::new(&scan, &Recipe::default()).unwrap();
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

/// Metrics of all iterations, then object and probe, of the emulated device against the CPU in single precision.
#[test]
fn the_emulated_device_takes_the_steps_of_the_cpu() {
    let problem = refined();
    for spec in specs() {
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
    let problem = Problem::new(&scan, &recipe).unwrap();
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
    for name in [
        EngineName::Dm,
        EngineName::Raar,
        EngineName::Lsqml,
        EngineName::Epie,
    ] {
        let spec = spec(name, false, 2);
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
        assert_eq!(of(None), of(Some(plan)), "{name:?}");
    }
}

/// A beam off the middle is moved there with its detector waves, in blocks of frames too: the iterations go on as without.
#[test]
fn centring_moves_the_exit_waves_too() {
    let scan = scan([27, 32], 9, 1);
    let mut problem = Problem::new(&scan, &Recipe::default()).unwrap();
    problem.probe = Array3::from_shape_fn(problem.probe.dim(), |(mode, row, column)| {
        let simulation = scan.simulation().unwrap();
        simulation.probe[[mode, (row + 27 - 4) % 27, (column + 3) % 32]]
    });
    let [frames, modes, rows, columns] = problem.shape();
    let dm = spec(EngineName::Dm, false, 1);
    // The first step centres; the second one has the exit waves of the first.
    let r_factor = |engine: &mut dyn Engine, tolerance: Option<f64>| {
        for iteration in 1..=3 {
            let step = Step {
                centre_tolerance: tolerance.filter(|_| iteration == 2),
                ..Step::new(&dm, &problem, iteration)
            };
            engine.step(&step).unwrap();
        }
        let probe = engine.probe().unwrap().index_axis(Axis(0), 0).to_owned();
        let power: f64 = probe.iter().map(Complex::norm_sqr).sum();
        let row: f64 = (probe.indexed_iter())
            .map(|((r, _), p)| r as f64 * p.norm_sqr())
            .sum();
        (engine.metrics().unwrap().r_factor, row / power)
    };
    let plan = StreamPlan::new([frames, rows * columns], 4, 2, None).with_waves(
        modes,
        problem.gpu_waves,
        2,
    );
    let device = EmulatedDevice::new;
    let tiled = UpdateVersion::Tiled;
    let makers: [&dyn Fn() -> Box<dyn Engine>; 3] = [
        &|| Box::new(CpuEngine::<f32>::new(&problem)),
        &|| Box::new(GpuEngine::new(device(), &problem, tiled).unwrap()),
        &|| Box::new(GpuEngine::streamed(device(), &problem, tiled, Some(plan)).unwrap()),
    ];
    for make in makers {
        let (without, off) = r_factor(make().as_mut(), None);
        let (with, centred) = r_factor(make().as_mut(), Some(0.5));
        assert!(
            (off - 13.0).abs() > 1.5 && (centred - 13.0).abs() < 1.0,
            "{off} {centred}"
        );
        assert!((with / without - 1.0).abs() < 0.02, "{with} {without}");
    }
}
