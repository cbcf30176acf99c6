//! Analytical properties of the iteration: eigenvalues, the maximum principle and the limit.

use super::{BOUNDARIES, all, random, run};
use crate::{Boundary, Problem, Stopping};
use ndarray::{Array2, s};
use std::f64::consts::{PI, TAU};

/// Starts from an eigenmode and expects it times eigenvalue^sweeps.
fn decays(boundary: Boundary, mode: impl Fn(usize, usize) -> f64, eigenvalue: f64) {
    let (ny, nx, sweeps) = (22, 33, 40);
    let start = Array2::from_shape_fn((ny, nx), |(y, x)| mode(y, x));
    let problem = Problem::new(nx, ny, boundary).unwrap();
    let problem = problem.with_start(start.clone()).unwrap();
    let found = run(&problem, all(sweeps), 7);
    let factor = eigenvalue.powi(sweeps as i32);
    for (found, start) in found.field.iter().zip(&start) {
        assert!((found - factor * start).abs() < 1e-14, "{found} {start}");
    }
    // The mode of sweep s is λ^s v, its change λ^s (λ − 1) v.
    let inner = start.slice(s![1..ny - 1, 1..nx - 1]);
    let size = inner.iter().map(|v| v * v).sum::<f64>().sqrt();
    for norm in found.norms {
        let expected = eigenvalue.abs().powi(norm.sweep as i32) * (1.0 - eigenvalue) * size;
        assert!((norm.norm - expected).abs() < 1e-13 * size, "{norm:?}");
    }
}

#[test]
fn eigenmodes_decay_with_their_eigenvalues() {
    // Sines that vanish on rows 0 and 21, columns 0 and 32.
    let (ky, kx) = (2.0 * PI / 21.0, 3.0 * PI / 32.0);
    decays(
        Boundary::Dirichlet,
        |y, x| (ky * y as f64).sin() * (kx * x as f64).sin(),
        (kx.cos() + ky.cos()) / 2.0,
    );
    // Waves with 20 rows and 31 columns to the period.
    let (ky, kx) = (TAU * 3.0 / 20.0, TAU * 4.0 / 31.0);
    decays(
        Boundary::Periodic,
        |y, x| (ky * y as f64 + 0.3).cos() * (kx * x as f64 - 0.7).sin(),
        (kx.cos() + ky.cos()) / 2.0,
    );
    // Waves with periodic rows and columns that vanish at the border.
    let kx = 5.0 * PI / 32.0;
    decays(
        Boundary::Textbook,
        |y, x| (ky * y as f64 - 0.2).sin() * (kx * x as f64).sin(),
        (kx.cos() + ky.cos()) / 2.0,
    );
}

#[test]
fn the_first_norm_is_exact() {
    // Columns 1 and nx − 2 become sin(2πy/(ny−1))/4, and Σ sin² over a period is (ny − 1)/2.
    for ny in [5, 64, 257] {
        let problem = Problem::<f64>::new(40, ny, Boundary::Textbook).unwrap();
        let norm = run(&problem, all(1), 0).norms[0].norm;
        let expected = ((ny - 1) as f64).sqrt() / 4.0;
        assert!((norm / expected - 1.0).abs() < 1e-13, "{norm} {expected}");
    }
}

#[test]
fn all_values_stay_within_the_range_of_the_start_field() {
    for boundary in BOUNDARIES {
        let start = random::<f32>((31, 45), 3);
        let problem = Problem::new(45, 31, boundary).unwrap();
        let range = |field: &Array2<f32>| {
            let fold = |of: fn(f32, f32) -> f32| field.iter().copied().reduce(of).unwrap();
            (fold(f32::min), fold(f32::max))
        };
        let (low, high) = range(&start);
        let found = run(&problem.with_start(start).unwrap(), all(50), 4);
        let (least, most) = range(&found.field);
        // Three additions round by at most 2⁻²⁴ each, fifty times.
        let slack = 150.0 * f32::EPSILON;
        assert!(least >= low - slack && most <= high + slack, "{boundary:?}");
    }
}

#[test]
fn a_source_with_zero_mean_is_solved() {
    let (ny, nx) = (14, 19);
    let mut source = random::<f64>((ny, nx), 5);
    let inner = source.slice(s![1..ny - 1, 1..nx - 1]);
    let mean = inner.mean().unwrap();
    source -= mean;
    let problem = Problem::new(nx, ny, Boundary::Periodic).unwrap();
    let problem = problem.with_source(source.clone()).unwrap();
    let stopping = Stopping {
        iterations: 20_000,
        tolerance: 1e-13,
        check_every: 10,
    };
    let found = run(&problem, stopping, 5);
    assert!(found.converged);
    for y in 1..ny - 1 {
        for x in 1..nx - 1 {
            let u = |dy: usize, dx: usize| found.field[[y + dy - 1, x + dx - 1]];
            let laplacian = u(0, 1) + u(2, 1) + u(1, 0) + u(1, 2) - 4.0 * u(1, 1);
            assert!((laplacian + source[[y, x]]).abs() < 1e-11, "{y} {x}");
        }
    }
}
