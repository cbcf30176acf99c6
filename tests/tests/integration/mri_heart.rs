//! A measured heart, 12 coils and 25 spokes, compared with the residuals of another program: its
//! coil maps, no density weights, λ = 0.

use warpstride::mri::coil_maps::{CoilMapMethod, estimate};
use warpstride::mri::cpu::{CpuEngine, Direct};
use warpstride::mri::io::ismrmrd;
use warpstride::mri::{Engine, Method, OperatorName, Problem, Recipe, Trigonometry, grid_of};
use warpstride_tests::{shared_data, skipped};

/// |r|²/|b|² after iterations 1 to 15, to four digits.
const RESIDUALS: [f64; 15] = [
    1.323e-1, 3.301e-2, 1.169e-2, 4.629e-3, 3.058e-3, 1.548e-3, 9.392e-4, 5.898e-4, 3.965e-4,
    2.427e-4, 1.752e-4, 1.332e-4, 1.051e-4, 7.707e-5, 5.989e-5,
];

#[test]
fn conjugate_gradients_have_the_residuals_of_another_program() {
    let path = match shared_data("mri/cardiac-radial-25.h5") {
        Ok(path) => path,
        Err(why) => return skipped("the measured heart", &why),
    };
    let file = ismrmrd::read(&path, &ismrmrd::ReadOptions::default()).unwrap();
    let (grid, k) = (grid_of(&file.kspace), file.kspace.trajectory());
    let samples = file.kspace.samples();
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    let maps = estimate(&direct, k.view(), samples.view(), CoilMapMethod::LowPass).unwrap();
    let problem = Problem::new(grid, k.clone(), samples.clone()).unwrap();
    let problem = problem.with_maps(maps).unwrap();
    let recipe = Recipe {
        operator: OperatorName::Toeplitz,
        method: Method::Cg,
        iterations: RESIDUALS.len(),
        lambda: 0.0,
        tolerance: 1e-9,
        trigonometry: Trigonometry::Accurate,
        intensity_correction: false,
        min_residual: 0.0,
        min_iterations: 0,
        rounding: 0.0,
    };
    let mut engine = CpuEngine::<f64>::new(&problem, &recipe).unwrap();
    let mut residuals = Vec::new();
    while engine.done() < engine.planned() {
        residuals.extend(engine.advance().unwrap());
    }
    assert_eq!(residuals.len(), RESIDUALS.len());
    for (found, expected) in residuals.iter().zip(RESIDUALS) {
        // Half of the last given digit.
        let error = (found.residual / expected - 1.0).abs();
        assert!(error < 5e-4, "{found:?} {expected}");
    }
    // In single precision, to the NUFFT's default tolerance, within the accuracy of the references.
    let recipe = Recipe {
        tolerance: 1e-5,
        ..recipe
    };
    let mut single = CpuEngine::<f32>::new(&problem, &recipe).unwrap();
    while single.done() < single.planned() {
        for found in single.advance().unwrap() {
            let expected = residuals[found.iteration - 1].residual;
            let error = (found.residual / expected - 1.0).abs();
            assert!(error < 1e-3, "{found:?} {expected}");
        }
    }
}
