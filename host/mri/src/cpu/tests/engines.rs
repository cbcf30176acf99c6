//! Entire reconstructions.

use super::*;
use crate::{
    Engine, FieldBasis, Method, MriError, OperatorName, Problem, Recipe, Residual, Trigonometry,
};
use ndarray::{Array1, Array3};

fn recipe(method: Method, operator: OperatorName) -> Recipe {
    Recipe {
        operator,
        method,
        iterations: 12,
        lambda: if method == Method::Cg { 0.0 } else { 0.01 },
        tolerance: 1e-12,
        trigonometry: Trigonometry::Accurate,
        intensity_correction: false,
        min_residual: 0.0,
        min_iterations: 0,
        rounding: 0.0,
    }
}

const METHODS: [Method; 4] = [Method::Adjoint, Method::Cg, Method::Tv, Method::Wavelet];

/// Samples of an image measured by coils with known maps.
fn problem(grid: Grid, coils: usize, samples: usize) -> (Problem, Vec<Complex<f64>>) {
    let (k, s) = (trajectory(samples, grid.axes), maps(grid, coils));
    let truth = complex::<f64>(grid.voxels(), 0.4);
    let measured: Vec<_> = s
        .rows()
        .into_iter()
        .flat_map(|coil| {
            let each = coil.into_iter().zip(&truth);
            each.map(|(s, v)| s * v).collect::<Vec<_>>()
        })
        .collect();
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    let mut data = Array2::zeros((coils, samples));
    direct.forward(&measured, data.as_slice_mut().unwrap());
    (Problem::new(grid, k, data).unwrap(), truth)
}

fn run<T: Real>(problem: &Problem, recipe: &Recipe) -> (Array3<Complex<f64>>, Vec<Residual>) {
    let mut engine = CpuEngine::<T>::new(problem, recipe).unwrap();
    let mut residuals = Vec::new();
    while engine.done() < engine.planned() {
        residuals.extend(engine.advance().unwrap());
    }
    (engine.image().unwrap(), residuals)
}

fn difference_of(a: &Array3<Complex<f64>>, b: &Array3<Complex<f64>>) -> f64 {
    difference(a.as_slice().unwrap(), b.as_slice().unwrap())
}

#[test]
fn zero_data_give_a_zero_image() {
    let grid = Grid::two(8, 6);
    for coils in [1, 2] {
        let nothing = Array2::zeros((coils, 30));
        let bare = Problem::new(grid, trajectory(30, 2), nothing).unwrap();
        let with_maps = bare.clone().with_maps(maps(grid, coils)).unwrap();
        for problem in [bare, with_maps] {
            for method in METHODS {
                let (image, residuals) =
                    run::<f64>(&problem, &recipe(method, OperatorName::Toeplitz));
                assert!(image.iter().all(|v| *v == Complex::default()));
                assert!(residuals.iter().all(|r| r.residual == 0.0));
            }
        }
    }
}

#[test]
fn operators_and_precisions_agree() {
    let grid = Grid::three(4, 6, 5);
    let (problem, _) = problem(grid, 3, 250);
    let problem = problem.with_maps(maps(grid, 3)).unwrap();
    let problem = problem.with_weights(Array1::from(weights(250))).unwrap();
    for method in METHODS {
        let (reference, residuals) = run::<f64>(&problem, &recipe(method, OperatorName::Direct));
        let planned = if method == Method::Adjoint { 0 } else { 12 };
        let numbers: Vec<_> = residuals.iter().map(|r| r.iteration).collect();
        assert_eq!(numbers, (1..=planned).collect::<Vec<_>>());
        let (same, _) = run::<f64>(&problem, &recipe(method, OperatorName::Toeplitz));
        assert!(difference_of(&same, &reference) < 1e-9, "{method:?}");
        let (same, _) = run::<f64>(&problem, &recipe(method, OperatorName::Nufft));
        assert!(difference_of(&same, &reference) < 1e-9, "{method:?}");
        let coarse = Recipe {
            tolerance: 1e-6,
            ..recipe(method, OperatorName::Toeplitz)
        };
        let (single, _) = run::<f32>(&problem, &coarse);
        let error = difference_of(&single, &reference);
        assert!(error < 1e-4, "{method:?} {error:e}");
    }
}

#[test]
fn without_maps_the_result_is_the_root_sum_of_squares() {
    let grid = Grid::two(6, 7);
    let (problem, truth) = problem(grid, 3, 400);
    let (image, _) = run::<f64>(
        &problem,
        &Recipe {
            iterations: 80,
            ..recipe(Method::Cg, OperatorName::Direct)
        },
    );
    // √Σ|S ρ|²
    let expected: Vec<_> = intensity(maps(grid, 3).view())
        .iter()
        .zip(&truth)
        .map(|(square, v)| Complex::from(square.sqrt() * v.norm()))
        .collect();
    assert!(difference(image.as_slice().unwrap(), &expected) < 1e-8);
}

#[test]
fn one_coil_without_maps_keeps_its_phase() {
    let grid = Grid::two(6, 7);
    let k = trajectory(300, 2);
    let truth = complex::<f64>(42, 0.4);
    let mut data = Array2::zeros((1, 300));
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    direct.forward(&truth, data.as_slice_mut().unwrap());
    let problem = Problem::new(grid, k, data).unwrap();
    let long = Recipe {
        iterations: 60,
        ..recipe(Method::Cg, OperatorName::Toeplitz)
    };
    let (image, _) = run::<f64>(&problem, &long);
    assert!(difference(image.as_slice().unwrap(), &truth) < 1e-8);
}

#[test]
fn intensity_correction_multiplies_the_image_by_the_coils_sensitivity() {
    let grid = Grid::two(6, 7);
    let (problem, truth) = problem(grid, 3, 300);
    let problem = problem.with_maps(maps(grid, 3)).unwrap();
    let long = Recipe {
        iterations: 60,
        intensity_correction: true,
        ..recipe(Method::Cg, OperatorName::Direct)
    };
    let (image, _) = run::<f64>(&problem, &long);
    let expected: Vec<_> = intensity(maps(grid, 3).view())
        .iter()
        .zip(&truth)
        .map(|(square, v)| v * square.sqrt())
        .collect();
    assert!(difference(image.as_slice().unwrap(), &expected) < 1e-8);
}

#[test]
fn the_adjoint_divides_by_the_coils_intensity() {
    // All frequencies of the grid: FᴴF = 64, so that Σ conj(S) FᴴF S ρ/Σ|S|² = 64 ρ.
    let grid = Grid::two(8, 8);
    let frequency = |(m, a): (usize, usize)| [m % 8, m / 8][a] as f64 / 8.0 - 0.5;
    let k = Array2::from_shape_fn((64, 2), frequency);
    let (s, truth) = (maps(grid, 2), complex::<f64>(64, 0.4));
    let measured = Array2::from_shape_fn((2, 64), |(c, n)| s[[c, n]] * truth[n]);
    let mut data = Array2::zeros((2, 64));
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    direct.forward(measured.as_slice().unwrap(), data.as_slice_mut().unwrap());
    let problem = Problem::new(grid, k, data).unwrap().with_maps(s).unwrap();
    let (image, _) = run::<f64>(&problem, &recipe(Method::Adjoint, OperatorName::Direct));
    let expected: Vec<_> = truth.iter().map(|v| v * 64.0).collect();
    assert!(difference(image.as_slice().unwrap(), &expected) < 1e-13);
}

#[test]
fn only_the_direct_operator_supports_a_field() {
    let grid = Grid::two(6, 6);
    let (problem, _) = problem(grid, 1, 40);
    let field = FieldBasis {
        coefficients: Array2::from_shape_fn((40, 1), |(m, _)| m as f64 * 1e-4),
        maps: Array2::from_elem((1, 36), 50.0),
    };
    let problem = problem.with_field(field).unwrap();
    let rejected = CpuEngine::<f64>::new(&problem, &recipe(Method::Cg, OperatorName::Toeplitz));
    assert!(matches!(rejected.err(), Some(MriError::Unsupported(_))));
    let (_, residuals) = run::<f64>(&problem, &recipe(Method::Cg, OperatorName::Direct));
    assert!(residuals[11].residual < residuals[0].residual);
}

#[test]
fn overflow_is_reported() {
    let grid = Grid::two(4, 4);
    let data = Array2::from_elem((1, 20), Complex::new(1e38, 1e38));
    let problem = Problem::new(grid, trajectory(20, 2), data).unwrap();
    for method in [Method::Cg, Method::Tv, Method::Wavelet] {
        let mut engine =
            CpuEngine::<f32>::new(&problem, &recipe(method, OperatorName::Direct)).unwrap();
        let rejected = engine.advance();
        assert!(matches!(
            rejected,
            Err(MriError::NotFinite { iteration: 1, .. })
        ));
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let grid = Grid::two(70, 66);
    let (problem, _) = problem(grid, 2, 600);
    let problem = problem.with_maps(maps(grid, 2)).unwrap();
    for method in METHODS {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let recipe = Recipe {
                tolerance: 1e-5,
                ..recipe(method, OperatorName::Toeplitz)
            };
            pool.build()
                .unwrap()
                .install(|| run::<f32>(&problem, &recipe))
        };
        assert_eq!(on(1), on(3), "{method:?}");
    }
}
