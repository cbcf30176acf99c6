//! The step of projection engines in passes over columns and rows, in the emulator: several modes
//! and frames that are not square agree with the CPU and with separate kernels, and the state of a
//! run goes on elsewhere.

use crate::fused_step::{self, finished, metrics, relative};
use ndarray::{Array3, s};
use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::{
    Engine, GpuStep, GpuWaves, Problem, Recipe, Reconstructor, SimulateOptions, Step, StepPlan,
    UpdateVersion, WaveSpace, simulate,
};
use warpstride_tests::recipe;

/// Two modes, frames of 64 rows and 128 columns.
pub(crate) fn problem(step: GpuStep, engines: &[&str], modes: usize) -> (Problem, Recipe) {
    let mut recipe = recipe(engines).unwrap();
    recipe.gpu.step = step;
    recipe.metrics_every = 3;
    recipe.free_pixels = 0.02;
    recipe.probe_modes = modes;
    let options = SimulateOptions {
        frame: 128,
        positions: 5,
        photons: 1e6,
        seed: 7,
        ..SimulateOptions::default()
    };
    let whole = simulate(&options).unwrap();
    let frames = whole.frames().unwrap().slice(s![.., 32..96, ..]).to_owned();
    let (positions, geometry) = (whole.positions().clone(), *whole.geometry());
    let scan = Scan::new(frames, None, positions, geometry, None).unwrap();
    (Problem::prepare(&scan, &recipe).unwrap(), recipe)
}

pub(crate) fn on_emulator(problem: &Problem) -> Box<dyn Engine> {
    fused_step::on_emulator(problem, 99 << 10)
}

#[test]
fn passes_agree_with_double_precision_and_with_separate_kernels() {
    let engines = ["dm:4", "raar:2", "ap:2"];
    for modes in [1, 2] {
        let (problem, recipe) = self::problem(GpuStep::Auto, &engines, modes);
        let mut run = finished(on_emulator(&problem), &problem, &recipe);
        assert_eq!(
            run.engine().plan(),
            Some(StepPlan::Passes {
                waves: GpuWaves::F32
            })
        );
        let double = Box::new(CpuEngine::<f64>::new(&problem));
        let mut double = finished(double, &problem, &recipe);
        let (unfused, with) = self::problem(GpuStep::Unfused, &engines, modes);
        let mut separate = finished(on_emulator(&unfused), &unfused, &with);
        assert!(!separate.engine().plan().unwrap().is_fused());
        for other in [&mut double, &mut separate] {
            let histories = [&run, &*other].map(|run| run.progress().history.clone());
            assert_eq!(histories[0].len(), histories[1].len());
            for (entry, reference) in histories[0].iter().zip(&histories[1]) {
                for (found, expected) in metrics(entry).into_iter().zip(metrics(reference)) {
                    assert_eq!(found.is_some(), expected.is_some());
                    let (found, expected) = (found.unwrap_or(1.0), expected.unwrap_or(1.0));
                    assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
                }
            }
            let [object, reference] = [&mut run, other].map(|run| {
                let object = run.engine().object().unwrap();
                object.into_iter().collect::<Vec<_>>()
            });
            let error = relative(&object, &reference);
            assert!(error < 1e-4, "{modes} modes: {error}");
        }
    }
}

/// Probe, object and exit waves move together: frames of more pixels than a block holds values.
#[test]
fn centring_moves_the_exit_waves_too() {
    let mut ends = Vec::new();
    for step in [GpuStep::Auto, GpuStep::Unfused] {
        let mut recipe = recipe(&["dm:5"]).unwrap();
        recipe.gpu.step = step;
        recipe.engines[0].probe_centre_tolerance = Some(0.5);
        let options = SimulateOptions {
            frame: 256,
            positions: 3,
            photons: 1e6,
            seed: 3,
            ..SimulateOptions::default()
        };
        let mut problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
        // A probe that is off the centre by more than the tolerance.
        let probe = problem.probe.clone();
        let (_, rows, columns) = probe.dim();
        problem.probe = Array3::from_shape_fn(probe.dim(), |(mode, row, column)| {
            probe[[mode, (row + 5) % rows, (column + columns - 3) % columns]]
        });
        let mut run = finished(on_emulator(&problem), &problem, &recipe);
        ends.push((
            run.progress().history.last().unwrap().err_fourier,
            run.engine()
                .object()
                .unwrap()
                .into_iter()
                .collect::<Vec<_>>(),
        ));
    }
    let [(passes, object), (separate, reference)] = &ends[..] else {
        panic!("two runs")
    };
    assert!(
        (passes / separate - 1.0).abs() < 1e-3,
        "{passes} {separate}"
    );
    assert!(relative(object, reference) < 1e-3);
}

#[test]
fn the_times_of_stages_name_the_kernels_and_leave_a_state() {
    let (problem, recipe) = self::problem(GpuStep::Auto, &["dm:2"], 2);
    let device = EmulatedDevice::with_shared_memory(99 << 10);
    let mut engine = GpuEngine::new(device, &problem, UpdateVersion::Tiled).unwrap();
    let step = Step::new(&recipe.engines[0], &problem, 2);
    let times = engine.stage_times(&step).unwrap();
    for stage in ["columns, reflected", "rows, projected", "columns, finished"] {
        assert!(times.iter().any(|(name, _)| *name == stage), "{stage}");
    }
    let object = engine.object().unwrap();
    let power: f64 = object.iter().map(Complex::norm_sqr).sum();
    assert!(power.is_finite() && power > 0.0);
}

#[test]
fn a_saved_run_in_passes_goes_on_with_the_same_bits_or_elsewhere() {
    let (problem, recipe) = self::problem(GpuStep::Auto, &["dm:6"], 2);
    let (unfused, _) = self::problem(GpuStep::Unfused, &["dm:6"], 2);
    let mut run = Reconstructor::new(on_emulator(&problem), &problem, &recipe);
    for _ in 0..3 {
        run.advance().unwrap();
    }
    run.flush().unwrap();
    let (progress, state) = (run.progress().clone(), run.engine().save().unwrap());
    assert_eq!(state.exit_space, WaveSpace::Real);
    while !run.finished() {
        run.advance().unwrap();
    }
    let whole: Vec<_> = run.engine().object().unwrap().into_iter().collect();
    let resumed = |engine| -> Vec<Complex<f64>> {
        let mut run = Reconstructor::new(engine, &problem, &recipe);
        run.resume(progress.clone(), &state).unwrap();
        while !run.finished() {
            run.advance().unwrap();
        }
        run.engine().object().unwrap().into_iter().collect()
    };
    assert_eq!(resumed(on_emulator(&problem)), whole);
    for other in [
        on_emulator(&unfused),
        Box::new(CpuEngine::<f32>::new(&problem)),
    ] {
        let error = relative(&resumed(other), &whole);
        assert!(error < 1e-4, "{error}");
    }
}
