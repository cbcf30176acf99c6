//! A run that was saved on one back end goes on on the other: the saved state has one meaning. The
//! frames are neither square nor powers of two, so that an exchanged order of rows and columns shows.

use super::back_ends::oblong;
use num_complex::Complex;
use warpstride::gpu::EmulatedMachine;
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
            let machine = EmulatedMachine::new();
            Box::new(GpuEngine::new(machine, problem, UpdateVersion::Tiled).unwrap())
        }
    }
}

fn object_after(first: &str, second: &str) -> (Vec<Complex<f64>>, Vec<f64>) {
    let recipe = recipe(&["dm:4", "raar:2"]).unwrap();
    let problem = Problem::new(&oblong(), &recipe).unwrap();
    let mut run = Reconstructor::new(engine(first, &problem), &problem, &recipe);
    for _ in 0..SAVED_AFTER {
        run.advance().unwrap();
    }
    run.settle().unwrap();
    let (place, state) = (run.place().clone(), run.engine().save().unwrap());
    let mut run = Reconstructor::new(engine(second, &problem), &problem, &recipe);
    run.resume(place, &state).unwrap();
    while !run.finished() {
        run.advance().unwrap();
    }
    let figures: Vec<f64> = run.place().history.iter().map(|e| e.err_exit).collect();
    assert_eq!(figures.len(), ITERATIONS);
    (
        run.engine().object().unwrap().into_iter().collect(),
        figures,
    )
}

#[test]
fn a_saved_run_goes_on_elsewhere() {
    let (straight, figures) = object_after("cpu", "cpu");
    let power: f64 = straight.iter().map(Complex::norm_sqr).sum();
    for (first, second) in [("cpu", "emulator"), ("emulator", "cpu")] {
        let (object, others) = object_after(first, second);
        let apart: f64 = straight
            .iter()
            .zip(&object)
            .map(|(a, b)| (a - b).norm_sqr())
            .sum();
        assert!((apart / power).sqrt() < 1e-4, "{first} to {second}");
        for (a, b) in figures.iter().zip(&others) {
            assert!((b / a - 1.0).abs() < 1e-4, "{first} to {second}: {a} {b}");
        }
    }
}
