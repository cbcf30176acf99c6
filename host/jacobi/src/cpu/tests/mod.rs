//! The engine against two plain arrays, against other divisions of the work, and against analysis.

mod against_two_arrays;
mod analysis;
mod stopping;
mod two_arrays;

use super::CpuEngine;
use crate::{Boundary, Engine, Norm, Problem, Real, Stopping};
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const BOUNDARIES: [Boundary; 3] = [Boundary::Textbook, Boundary::Dirichlet, Boundary::Periodic];

/// (ny, nx)
const SHAPES: [(usize, usize); 8] = [
    (3, 3),
    (3, 17),
    (5, 4),
    (4, 5),
    (37, 23),
    (17, 64),
    (130, 61),
    (9, 1100),
];

/// A rule that checks every sweep and never stops early.
fn all(iterations: usize) -> Stopping {
    Stopping {
        iterations,
        tolerance: -1.0,
        check_every: 1,
    }
}

/// Values in −1…1, the same for the same seed.
fn random<T: Real>((ny, nx): (usize, usize), seed: u64) -> Array2<T> {
    let mut random = Pcg64::seed_from_u64(seed);
    Array2::from_shape_simple_fn((ny, nx), || T::nearest(random.random_range(-1.0..1.0)))
}

/// The result of a run.
struct RunResult<T> {
    field: Array2<T>,
    norms: Vec<Norm>,
    sweeps: usize,
    converged: bool,
}

fn run<T: Real>(problem: &Problem<T>, stopping: Stopping, time_block: usize) -> RunResult<T> {
    let mut engine = CpuEngine::new(problem, stopping, time_block).unwrap();
    let mut norms = Vec::new();
    let mut converged = false;
    while !engine.finished() {
        let advance = engine.advance().unwrap();
        norms.extend(advance.norms);
        converged = advance.converged;
    }
    RunResult {
        field: engine.field().unwrap(),
        norms,
        sweeps: engine.sweeps(),
        converged,
    }
}

/// [`run`] with a pool of `threads` threads.
fn run_with_threads<T: Real>(
    threads: usize,
    problem: &Problem<T>,
    stopping: Stopping,
    time_block: usize,
) -> RunResult<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build()
        .unwrap()
        .install(|| run(problem, stopping, time_block))
}

/// Problems of a shape, with and without a source, with the textbook's start field and with
/// another.
fn problems<T: Real>(shape: (usize, usize), boundary: Boundary) -> Vec<Problem<T>> {
    let plain = || Problem::new(shape.1, shape.0, boundary).unwrap();
    let start = || random(shape, 1);
    let source = || random(shape, 2);
    vec![
        plain(),
        plain().with_start(start()).unwrap(),
        plain().with_source(source()).unwrap(),
        plain()
            .with_start(start())
            .unwrap()
            .with_source(source())
            .unwrap(),
    ]
}
