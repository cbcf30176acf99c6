//! A run saved on one back end resumes on another, as the saved state is independent of the back
//! end. The frames are neither square nor powers of two, which reveals exchanged rows and columns.

use super::back_ends::non_square_scan;
use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{Engine, Problem, Reconstructor, UpdateVersion};
use warpstride_tests::recipe;

const ITERATIONS: usize = 6;
const SAVED_AFTER: usize = 3;

fn engine(name: &str, problem: &Problem) -> Box<dyn Engine> {
    match name {
        "cpu" => Box::new(CpuEngine::<f32>::new(problem)),
        _ => {
            let device = EmulatedDevice::new();
            Box::new(GpuEngine::new(device, problem, UpdateVersion::Tiled).unwrap())
        }
    }
}

fn object_after(first: &str, second: &str) -> (Vec<Complex<f64>>, Vec<f64>) {
    let mut recipe = recipe(&["dm:4", "raar:2"]).unwrap();
    recipe.metrics_every = 1;
    let problem = Problem::prepare(&non_square_scan(), &recipe).unwrap();
    let mut run = Reconstructor::new(engine(first, &problem), &problem, &recipe);
    for _ in 0..SAVED_AFTER {
        run.advance().unwrap();
    }
    run.flush().unwrap();
    let (progress, state) = (run.progress().clone(), run.engine().save().unwrap());
    let mut run = Reconstructor::new(engine(second, &problem), &problem, &recipe);
    run.resume(progress, &state).unwrap();
    while !run.finished() {
        run.advance().unwrap();
    }
    let history = &run.progress().history;
    let metrics: Vec<f64> = history.iter().filter_map(|e| e.err_exit).collect();
    assert_eq!(metrics.len(), ITERATIONS);
    (
        run.engine().object().unwrap().into_iter().collect(),
        metrics,
    )
}

#[test]
fn a_saved_run_resumes_on_another_back_end() {
    let (uninterrupted, metrics) = object_after("cpu", "cpu");
    let power: f64 = uninterrupted.iter().map(Complex::norm_sqr).sum();
    for (first, second) in [("cpu", "emulator"), ("emulator", "cpu")] {
        let (object, others) = object_after(first, second);
        let difference: f64 = uninterrupted
            .iter()
            .zip(&object)
            .map(|(a, b)| (a - b).norm_sqr())
            .sum();
        assert!((difference / power).sqrt() < 1e-4, "{first} to {second}");
        for (a, b) in metrics.iter().zip(&others) {
            assert!((b / a - 1.0).abs() < 1e-4, "{first} to {second}: {a} {b}");
        }
    }
}
