//! The emulated device takes the CPU's steps, and resumes with the same bits.

use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    Engine, EngineName, EngineSpec, Noise, Problem, Recipe, SimulateOptions, Step, UpdateVersion,
    simulate,
};
use warpstride_cuda::gpu::EmulatedDevice;

fn problem(frame: usize, probe_modes: usize) -> Problem {
    let options = SimulateOptions {
        frame,
        positions: 5,
        photons: 1e6,
        probe_modes,
        ..SimulateOptions::default()
    };
    let recipe = Recipe {
        probe_modes,
        free_pixels: 0.02,
        ..Recipe::default()
    };
    Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap()
}

fn emulated(problem: &Problem) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), problem, UpdateVersion::Tiled).unwrap()
}

fn specs() -> Vec<EngineSpec> {
    let with = |noise| {
        let mut spec = EngineSpec::new(EngineName::Ml, 10);
        spec.noise = Some(noise);
        spec
    };
    let mut smoothed = with(Noise::Amplitude);
    smoothed.smooth_gradient = Some(1.2);
    smoothed.smooth_gradient_decay = Some(0.7);
    smoothed.regulariser = Some(10.0);
    smoothed.regulariser_edge = Some(0.2);
    vec![with(Noise::Gaussian), with(Noise::Poisson), smoothed]
}

#[test]
fn the_device_takes_the_steps_of_the_cpu() {
    let problem = problem(16, 2);
    for spec in specs() {
        let mut cpu = CpuEngine::<f32>::new(&problem);
        let mut gpu = emulated(&problem);
        for iteration in 1..=4 {
            let step = Step::new(&spec, &problem, iteration);
            cpu.step(&step).unwrap();
            gpu.step(&step).unwrap();
        }
        let (expected, found) = (cpu.errors(true).unwrap(), gpu.errors(true).unwrap());
        let each = |e: &crate::StepErrors| {
            let start = e.start.unwrap();
            [e.fourier, e.exit.unwrap(), start.photon, start.r_factor]
        };
        for (expected, found) in expected.iter().zip(&found) {
            for (expected, found) in each(expected).into_iter().zip(each(found)) {
                let error = (found / expected - 1.0).abs();
                assert!(error < 1e-4, "{:?}: {found} {expected}", spec.noise);
            }
        }
    }
}

#[test]
fn a_restored_engine_goes_on_with_the_same_bits() {
    let separate = specs().remove(2);
    let mut fused = separate.clone();
    fused.subpixel = Some(false);
    for (problem, spec) in [(problem(16, 2), separate), (problem(64, 1), fused)] {
        resumes(&problem, &spec);
    }
}

/// The restored engine computes the sums behind the gradient that the other one has queued in the
/// iteration before.
#[test]
fn sums_that_are_queued_ahead_are_those_of_the_next_iteration() {
    let plain = specs().remove(1);
    let mut on_pixels = plain.clone();
    on_pixels.subpixel = Some(false);
    let mut regularised = on_pixels.clone();
    regularised.regulariser = Some(10.0);
    let mut clipped = on_pixels.clone();
    clipped.clip_object = Some([0.2, 1.1]);
    for spec in [&plain, &on_pixels, &regularised, &clipped] {
        resumes(&problem(64, 1), spec);
    }
    resumes(&problem(64, 2), &plain);
}

fn resumes(problem: &Problem, spec: &EngineSpec) {
    let run = |engine: &mut GpuEngine<EmulatedDevice>, iterations: std::ops::Range<usize>| {
        for iteration in iterations {
            engine.step(&Step::new(spec, problem, iteration)).unwrap();
        }
    };
    let mut whole = emulated(problem);
    run(&mut whole, 1..5);
    let mut first = emulated(problem);
    run(&mut first, 1..3);
    let mut second = emulated(problem);
    second.restore(&first.save().unwrap()).unwrap();
    assert_eq!(second.save().unwrap().search, first.save().unwrap().search);
    run(&mut second, 3..5);
    assert_eq!(second.save().unwrap(), whole.save().unwrap());
}
