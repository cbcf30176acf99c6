//! The emulated device takes the steps of the CPU on slices, and saved runs go on with the same
//! bits there.

use super::*;
use crate::data::Scan;
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    Engine, EngineSpec, Noise, SimulateOptions, Step, StepErrors, StreamPlan, UpdateVersion,
    simulate,
};
use crate::{EngineName, Problem};
use warpstride_cuda::gpu::EmulatedDevice;

const DISTANCE: f64 = 20e-6;

fn scan() -> Scan {
    let options = SimulateOptions {
        frame: 16,
        positions: 7,
        slices: 3,
        slice_distance: DISTANCE,
        photons: 1e6,
        overlap: 0.75,
        probe_modes: 2,
        ..SimulateOptions::default()
    };
    simulate(&options).unwrap()
}

/// Three slices, two modes, frames between pixels, free pixels, distances that are refined.
fn problem(subpixel: bool) -> Problem {
    let recipe = Recipe {
        free_pixels: 0.05,
        probe_modes: 2,
        slices: SliceOptions {
            count: 3,
            distance: Some(SliceDistance::Each(vec![1.2 * DISTANCE, 0.9 * DISTANCE])),
            refine_distance: true,
            refine_from: 2,
        },
        engines: vec![EngineSpec::new(EngineName::Lsqml, 5)],
        ..Recipe::default()
    };
    let mut problem = Problem::prepare(&scan(), &recipe).unwrap();
    if subpixel {
        for (n, fraction) in problem.positions.fractions.iter_mut().enumerate() {
            *fraction = [0.618, 0.414].map(|by| 0.9 * ((n as f64 + 1.0) * by).fract() - 0.45);
        }
    }
    problem
}

fn specs() -> Vec<EngineSpec> {
    let mut specs = Vec::new();
    for subpixel in [true, false] {
        let mut spec = EngineSpec::new(EngineName::Lsqml, 10);
        spec.batch = Some(3);
        spec.subpixel = Some(subpixel);
        specs.push(spec);
        for noise in [Noise::Amplitude, Noise::Poisson, Noise::Gaussian] {
            let mut spec = EngineSpec::new(EngineName::Ml, 10);
            spec.noise = Some(noise);
            spec.subpixel = Some(subpixel);
            specs.push(spec);
        }
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

/// Metrics of all iterations, then slices, probe and distances, of the emulated device against the
/// CPU in single precision.
#[test]
fn the_emulated_device_takes_the_steps_of_the_cpu() {
    for spec in specs() {
        let problem = problem(spec.subpixel == Some(true));
        let mut cpu = CpuEngine::<f32>::new(&problem);
        let mut gpu = emulated(&problem);
        run(&mut cpu, &spec, &problem, 1, 5);
        run(&mut gpu, &spec, &problem, 1, 5);
        let each = |e: &StepErrors| {
            let start = e.start.unwrap();
            [e.fourier, e.exit.unwrap(), start.photon, start.r_factor]
        };
        let (expected, found) = (cpu.errors(true).unwrap(), gpu.errors(true).unwrap());
        assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.iter().zip(&found) {
            for (expected, found) in each(expected).into_iter().zip(each(found)) {
                let error = (found / expected - 1.0).abs();
                assert!(error < 2e-3, "{spec:?}: {found} {expected}");
            }
        }
        let [of_gpu, of_cpu] = [&mut gpu as &mut dyn Engine, &mut cpu].map(|engine| {
            (
                engine.model_parts().unwrap().slices.unwrap(),
                engine.metrics().unwrap(),
            )
        });
        let ratio = of_gpu.1.r_factor / of_cpu.1.r_factor;
        assert!((ratio - 1.0).abs() < 2e-3, "{spec:?}: {ratio}");
        let pairs = || of_gpu.0.slices.iter().zip(&of_cpu.0.slices);
        let square: f64 = pairs().map(|(a, b)| (a - b).norm_sqr()).sum();
        let whole: f64 = pairs().map(|(_, b)| b.norm_sqr()).sum();
        assert!((square / whole).sqrt() < 2e-3, "{spec:?}");
        for (a, b) in of_gpu.0.distances.iter().zip(&of_cpu.0.distances) {
            assert!((a / b - 1.0).abs() < 1e-4, "{spec:?}: {a} {b}");
            assert!(!of_cpu.0.start_distances.contains(b));
        }
        let [a, b] = [gpu.object().unwrap(), cpu.object().unwrap()];
        let square: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).norm_sqr()).sum();
        assert!((square / whole).sqrt() < 2e-3);
    }
}

/// Where the model is far darker than the counts, w (I_m − I) A2 + ½ w A1² is negative: the first
/// step is that of Σ ½ w A1² on both.
#[test]
fn gaussian_steps_of_negative_curvature_are_those_of_the_cpu() {
    for subpixel in [true, false] {
        let mut problem = problem(subpixel);
        problem.probe.mapv_inplace(|p| p * 0.02);
        let mut spec = EngineSpec::new(EngineName::Ml, 10);
        spec.noise = Some(Noise::Gaussian);
        spec.subpixel = Some(subpixel);
        let before = problem.probe.clone();
        let [a, b] = [
            &mut CpuEngine::<f64>::new(&problem) as &mut dyn Engine,
            &mut emulated(&problem),
        ]
        .map(|engine| {
            run(engine, &spec, &problem, 1, 2);
            let stack = engine.model_parts().unwrap().slices.unwrap();
            (engine.probe().unwrap(), stack.slices)
        });
        let change = |of: &Array3<Complex<f64>>, from: &Array3<Complex<f64>>| -> f64 {
            let square = |(a, b): (&Complex<f64>, &Complex<f64>)| (a - b).norm_sqr();
            of.iter().zip(from).map(square).sum::<f64>().sqrt()
        };
        let moved = change(&a.0, &before);
        assert!(moved > 0.0);
        assert!(
            change(&a.0, &b.0) < 2e-3 * moved,
            "{}",
            change(&a.0, &b.0) / moved
        );
        let whole = change(&a.1, &Array3::zeros(a.1.dim()));
        assert!(
            change(&a.1, &b.1) < 2e-3 * whole,
            "{}",
            change(&a.1, &b.1) / whole
        );
    }
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits_on_a_device() {
    let problem = problem(true);
    for spec in specs().into_iter().take(2) {
        let mut whole = emulated(&problem);
        run(&mut whole, &spec, &problem, 1, 5);
        let mut again = emulated(&problem);
        run(&mut again, &spec, &problem, 1, 5);
        let mut first = emulated(&problem);
        run(&mut first, &spec, &problem, 1, 3);
        let state = first.save().unwrap();
        let mut second = emulated(&problem);
        second.restore(&state).unwrap();
        run(&mut second, &spec, &problem, 4, 5);
        let parts = whole.model_parts().unwrap();
        for other in [&mut second, &mut again] {
            assert_eq!(other.model_parts().unwrap(), parts, "{spec:?}");
            assert_eq!(other.probe().unwrap(), whole.probe().unwrap(), "{spec:?}");
        }
        // The CPU goes on from there too.
        let mut cpu = CpuEngine::<f32>::new(&problem);
        cpu.restore(&state).unwrap();
        run(&mut cpu, &spec, &problem, 4, 5);
        let of_cpu = cpu.model_parts().unwrap().slices.unwrap();
        let ratio = of_cpu.distances[0] / parts.slices.unwrap().distances[0];
        assert!((ratio - 1.0).abs() < 1e-4);
    }
}

#[test]
fn counts_that_are_not_on_the_device_are_refused() {
    let problem = problem(true);
    let [frames, _, rows, columns] = problem.shape();
    let plan = StreamPlan::new([frames, rows * columns], 2, 2, None);
    let device = EmulatedDevice::new();
    let refused = GpuEngine::streamed(device, &problem, UpdateVersion::Tiled, Some(plan));
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("slices"), "{error}");
}
