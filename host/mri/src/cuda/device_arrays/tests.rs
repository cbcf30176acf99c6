//! Samples and maps in the memory of a device give the image of the same samples and maps on the
//! host.

use super::DeviceArrays;
use crate::cpu::CpuEngine;
use crate::cuda::GpuEngine;
use crate::{Engine, Grid, Method, MriError, OperatorName, Options, Plans, Problem, Recipe};
use ndarray::{Array1, Array2, Array3};
use num_complex::Complex;
use warpstride_cuda::gpu::{Device, EmulatedDevice};
use warpstride_device::Complex32;

/// Numbers that single precision holds, so that both ways have the same samples and maps.
fn noise(n: usize, seed: f64) -> f64 {
    let value = ((n as f64 + 1.0) * seed).sin();
    f64::from(value as f32)
}

fn problem(grid: Grid, coils: usize, count: usize, weighted: bool, sets: usize) -> Problem {
    let trajectory =
        Array2::from_shape_fn((count, grid.axes), |(m, a)| 0.5 * noise(3 * m + a, 12.9898));
    let samples = Array2::from_shape_fn((coils, count), |(c, m)| {
        Complex::new(noise(c * count + m, 7.7), noise(c * count + m, 3.3))
    });
    let mut problem = Problem::new(grid, trajectory, samples).expect("a problem");
    if weighted {
        let weights = Array1::from_shape_fn(count, |m| 0.5 + 0.5 * noise(m, 1.7).abs());
        problem = problem.with_weights(weights).expect("weights");
    }
    if sets > 0 {
        let maps = Array3::from_shape_fn((sets, coils, grid.voxels()), |(s, c, n)| {
            Complex::new(
                noise(n + 1, 0.02 * (c + 2 * s + 1) as f64),
                noise(n, 0.05 * (1 + s) as f64),
            )
        });
        problem = problem.with_map_sets(maps).expect("maps");
    }
    problem
}

fn recipe(operator: OperatorName, method: Method) -> Recipe {
    let operator = match (operator, method) {
        (OperatorName::Toeplitz, Method::Adjoint) => OperatorName::Nufft,
        (operator, _) => operator,
    };
    Options {
        operator: Some(operator),
        iterations: Some(4),
        ..Options::new(method)
    }
    .recipe()
}

fn elsewhere(problem: &Problem) -> Problem {
    let trajectory = problem.trajectory().clone();
    let without = Problem::without_samples(problem.grid(), trajectory, problem.coils());
    let without = without.expect("a problem");
    match problem.weights() {
        None => without,
        Some(weights) => without.with_weights(weights.clone()).expect("weights"),
    }
}

type Buffer<'a> = <&'a EmulatedDevice as Device>::Buffer<Complex32>;

fn on<'a>(device: &'a EmulatedDevice, values: impl Iterator<Item = Complex<f64>>) -> Buffer<'a> {
    let values: Vec<_> = values
        .map(|v| Complex32::new(v.re as f32, v.im as f32))
        .collect();
    let mut buffer = device.alloc("test", values.len()).expect("memory");
    device.upload(&mut buffer, &values).expect("an upload");
    buffer
}

/// The maps with which EᴴWd is the image of the adjoint: S/Σ|S|².
fn divided(maps: &Array3<Complex<f64>>) -> Array3<Complex<f64>> {
    let mut divided = maps.clone();
    for ((s, _, n), value) in divided.indexed_iter_mut() {
        let of_voxel = maps.slice(ndarray::s![s, .., n]);
        *value /= of_voxel.iter().map(Complex::norm_sqr).sum::<f64>();
    }
    divided
}

fn engine<'a>(
    device: &'a EmulatedDevice,
    problem: &Problem,
    recipe: &Recipe,
) -> Result<GpuEngine<&'a EmulatedDevice>, MriError> {
    let samples = on(device, problem.samples().iter().copied());
    let maps = problem.maps().map(|maps| match recipe.method {
        Method::Adjoint => on(device, divided(maps).iter().copied()),
        _ => on(device, maps.iter().copied()),
    });
    let arrays = DeviceArrays {
        samples: &samples,
        maps: maps.as_ref(),
    };
    let (problem, plans) = (elsewhere(problem), &mut Plans::default());
    GpuEngine::of_device_arrays(device, &problem, recipe, &arrays, plans)
}

fn run(engine: &mut impl Engine) -> (Vec<f64>, Array3<Complex<f64>>) {
    let mut residuals = Vec::new();
    while engine.done() < engine.planned() && !engine.converged() {
        let found = engine.advance().expect("iterations");
        residuals.extend(found.iter().map(|r| r.residual));
    }
    (residuals, engine.image().expect("an image"))
}

fn agree(problem: &Problem, recipe: &Recipe) {
    let context = format!("{recipe:?} of {:?}", problem.grid());
    let device = EmulatedDevice::new();
    let mut of_host = GpuEngine::new(&device, problem, recipe).expect("an engine");
    let mut of_device = engine(&device, problem, recipe).expect("an engine");
    let (residuals, image) = run(&mut of_host);
    let (found, other) = run(&mut of_device);
    if recipe.method == Method::Adjoint {
        let norm = |v: &Array3<Complex<f64>>| v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let error = norm(&(&image - &other)) / norm(&image);
        assert!(error < 1e-6, "{context}: {error}");
    } else {
        assert_eq!((found, &other), (residuals, &image), "{context}");
    }
    let unexplained = of_host.data_residual().expect("a residual");
    match (unexplained, of_device.data_residual().expect("a residual")) {
        (Some(a), Some(b)) => assert!((a - b).abs() < 1e-6, "{context}: {a} {b}"),
        (a, b) => assert_eq!(a, b, "{context}"),
    }
    // The data residual has changed nothing.
    assert_eq!(of_device.image().expect("an image"), other, "{context}");
    let on_device = of_device.image_on_device().expect("an image");
    let mut values = vec![Complex::<f32>::default(); on_device.len()];
    device
        .download(&on_device, &mut values)
        .expect("a download");
    let squares: Vec<f64> = (0..problem.grid().voxels())
        .map(|n| values.iter().skip(n).step_by(problem.grid().voxels()))
        .map(|images| images.map(|v| Complex::new(f64::from(v.re), f64::from(v.im))))
        .map(|images| images.map(|v| v.norm_sqr()).sum())
        .collect();
    for (square, value) in squares.iter().zip(&other) {
        let expected = value.norm_sqr();
        assert!((square - expected).abs() <= 1e-9 * expected, "{context}");
    }
}

#[test]
fn images_are_those_of_arrays_on_the_host() {
    let grids = [Grid::two(7, 5), Grid::three(3, 4, 5), Grid::two(1, 1)];
    let methods = [Method::Adjoint, Method::Cg, Method::Tv, Method::Wavelet];
    let operators = [
        OperatorName::Direct,
        OperatorName::Nufft,
        OperatorName::Toeplitz,
    ];
    let weights_and_maps = [(true, 1), (false, 0), (true, 2)];
    for (g, grid) in grids.into_iter().enumerate() {
        for (m, method) in methods.into_iter().enumerate() {
            for (o, operator) in operators.into_iter().enumerate() {
                // Each method and operator with all of them, on one grid or another.
                let (weighted, sets) = weights_and_maps[(g + m + o) % 3];
                let problem = problem(grid, 3, 60, weighted, sets);
                agree(&problem, &recipe(operator, method));
            }
        }
    }
}

#[test]
fn the_signal_is_that_of_the_weighted_samples() {
    let device = EmulatedDevice::new();
    for weighted in [true, false] {
        let problem = problem(Grid::two(6, 5), 3, 40, weighted, 0);
        let weight = |m: usize| problem.weights().map_or(1.0, |weights| weights[m]);
        let samples = problem.samples().indexed_iter();
        let expected: f64 = samples.map(|((_, m), d)| weight(m) * d.norm_sqr()).sum();
        let recipe = recipe(OperatorName::Nufft, Method::Cg);
        let engine = engine(&device, &problem, &recipe).expect("an engine");
        let found = engine.signal_squared();
        assert!(
            (found - expected).abs() < 1e-6 * expected,
            "{found} {expected}"
        );
    }
}

#[test]
fn wrong_arrays_are_refused() {
    let device = &EmulatedDevice::new();
    let problem = problem(Grid::two(6, 5), 3, 40, true, 1);
    let without = elsewhere(&problem);
    let cg = recipe(OperatorName::Nufft, Method::Cg);
    let plans = &mut Plans::default();
    let samples = on(device, problem.samples().iter().copied());
    let maps = on(device, problem.maps().expect("maps").iter().copied());
    let nan = || Complex::new(f64::NAN, 0.0);
    let [nan_samples, nan_maps] =
        [120, 90].map(|length| on(device, std::iter::repeat_with(nan).take(length)));
    let short = on(device, problem.samples().iter().copied().skip(1));
    let few_maps = on(device, (0..91).map(|_| Complex::new(1.0, 0.0)));
    let mut refused = |problem: &Problem, recipe: &Recipe, samples, maps| {
        let arrays = DeviceArrays { samples, maps };
        let engine = GpuEngine::of_device_arrays(device, problem, recipe, &arrays, plans);
        engine.err().map_or_else(String::new, |why| why.to_string())
    };
    for (found, words) in [
        (
            refused(&without, &cg, &short, Some(&maps)),
            "the data: expected shape [3, 40]",
        ),
        (
            refused(&without, &cg, &samples, Some(&few_maps)),
            "the coil maps: expected shape",
        ),
        (
            refused(&without, &cg, &nan_samples, Some(&maps)),
            "the data: expected finite",
        ),
        (
            refused(&without, &cg, &samples, Some(&nan_maps)),
            "the coil maps: expected finite",
        ),
        (
            refused(&problem, &cg, &samples, Some(&maps)),
            "expected no maps in the problem",
        ),
    ] {
        assert!(found.contains(words), "{found}");
    }
    let corrected = Recipe {
        intensity_correction: true,
        ..cg.clone()
    };
    let found = refused(&without, &corrected, &samples, Some(&maps));
    assert!(found.contains("no intensity correction"), "{found}");
    // Engines of samples on the host.
    let found = CpuEngine::<f32>::new(&without, &cg)
        .err()
        .expect("no samples");
    assert!(found.to_string().contains("found [3, 0]"), "{found}");
    let found = GpuEngine::new(device, &without, &cg)
        .err()
        .expect("no samples");
    assert!(found.to_string().contains("found [3, 0]"), "{found}");
}
