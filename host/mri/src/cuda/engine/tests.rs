//! The same problem on the CPU in double precision and on the emulator: residuals and images agree
//! to single precision, for every method and operator, with and without maps.

use super::GpuEngine;
use crate::cpu::CpuEngine;
use crate::{Engine, Grid, Method, OperatorName, Plans, Problem, Recipe, Trigonometry};
use ndarray::{Array1, Array2, Array3, Axis};
use num_complex::Complex;
use warpstride_cuda::gpu::{Device, EmulatedDevice};

fn problem(grid: Grid, coils: usize, count: usize, maps: bool) -> Problem {
    let noise = |n: usize, seed: f64| ((n as f64 + 1.0) * seed).sin();
    let trajectory =
        Array2::from_shape_fn((count, grid.axes), |(m, a)| 0.5 * noise(3 * m + a, 12.9898));
    let samples = Array2::from_shape_fn((coils, count), |(c, m)| {
        Complex::new(noise(c * count + m, 7.7), noise(c * count + m, 3.3))
    });
    let weights = Array1::from_shape_fn(count, |m| 0.5 + 0.5 * noise(m, 1.7).abs());
    let problem = Problem::new(grid, trajectory, samples)
        .and_then(|p| p.with_weights(weights))
        .expect("a problem");
    if !maps {
        return problem;
    }
    let maps = Array2::from_shape_fn((coils, grid.voxels()), |(c, n)| {
        Complex::new(
            1.0 + 0.3 * noise(n, 0.02 * (c + 1) as f64),
            0.4 * noise(n, 0.05),
        )
    });
    problem.with_maps(maps).expect("maps")
}

/// The same samples with two sets of maps.
fn with_two_sets(problem: &Problem) -> Problem {
    let first = problem.maps().expect("maps");
    let second = first.mapv(|s| Complex::new(0.4 * s.im, 0.7 * s.re));
    let sets = ndarray::concatenate![Axis(0), *first, second];
    problem.clone().with_map_sets(sets).expect("maps")
}

fn run(engine: &mut dyn Engine) -> (Vec<f64>, Array3<Complex<f64>>) {
    let mut residuals = Vec::new();
    while engine.done() < engine.planned() {
        residuals.extend(
            engine
                .advance()
                .expect("iterations")
                .iter()
                .map(|r| r.residual),
        );
    }
    assert!(engine.advance().expect("nothing left").is_empty());
    (residuals, engine.image().expect("an image"))
}

fn agree(problem: &Problem, recipe: &Recipe, tolerance: f64) {
    let context = format!("{recipe:?} on {:?}", problem.grid());
    let mut cpu = CpuEngine::<f64>::new(problem, recipe).expect("CPU");
    let device = EmulatedDevice::new();
    let mut gpu = GpuEngine::new(&device, problem, recipe).expect("emulator");
    let (expected, image) = run(&mut cpu);
    let (found, other) = run(&mut gpu);
    assert_eq!(expected.len(), found.len(), "{context}");
    for (a, b) in expected.iter().zip(&found) {
        assert!(
            (a - b).abs() <= tolerance * a.max(1e-3),
            "{context}: {a} {b}"
        );
    }
    let norm =
        |image: &Array3<Complex<f64>>| image.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    let error = norm(&(&image - &other)) / norm(&image);
    assert!(error < tolerance, "{context}: {error}");
}

fn recipe(operator: OperatorName, method: Method) -> Recipe {
    Recipe {
        operator,
        method,
        iterations: if method == Method::Adjoint { 0 } else { 4 },
        lambda: match method {
            Method::Cg => 0.5,
            _ => 0.02,
        },
        tolerance: 1e-6,
        trigonometry: Trigonometry::Accurate,
        intensity_correction: false,
        min_residual: 0.0,
        min_iterations: 0,
        rounding: 0.0,
    }
}

const OPERATORS: [OperatorName; 3] = [
    OperatorName::Direct,
    OperatorName::Nufft,
    OperatorName::Toeplitz,
];

#[test]
fn every_method_and_operator_agrees_with_the_cpu() {
    for method in [Method::Adjoint, Method::Cg, Method::Tv, Method::Wavelet] {
        for operator in OPERATORS {
            for maps in [true, false] {
                let problem = problem(Grid::two(12, 8), 3, 90, maps);
                agree(&problem, &recipe(operator, method), 2e-4);
            }
        }
    }
}

#[test]
fn odd_grids_slices_and_corrected_intensities_agree() {
    for grid in [Grid::two(7, 5), Grid::two(1, 1), Grid::three(4, 3, 8)] {
        for method in [Method::Cg, Method::Tv, Method::Wavelet] {
            let corrected = Recipe {
                intensity_correction: true,
                ..recipe(OperatorName::Nufft, method)
            };
            agree(&problem(grid, 2, 60, true), &corrected, 5e-4);
        }
    }
}

#[test]
fn several_sets_of_maps_agree() {
    for operator in [
        OperatorName::Nufft,
        OperatorName::Toeplitz,
        OperatorName::Direct,
    ] {
        for method in [Method::Adjoint, Method::Cg, Method::Tv, Method::Wavelet] {
            for grid in [Grid::two(7, 6), Grid::three(4, 3, 5)] {
                let problem = with_two_sets(&problem(grid, 3, 90, true));
                agree(&problem, &recipe(operator, method), 5e-4);
            }
        }
    }
}

#[test]
fn zero_data_give_a_zero_image() {
    let of = |operator, method| {
        let some = problem(Grid::two(6, 6), 2, 20, true);
        let zero = Array2::zeros((2, 20));
        let problem = Problem::new(some.grid(), some.trajectory().clone(), zero)
            .and_then(|p| p.with_map_sets(some.maps().expect("maps").clone()))
            .expect("a problem");
        let device = EmulatedDevice::new();
        let recipe = recipe(operator, method);
        let mut engine = GpuEngine::new(&device, &problem, &recipe).expect("an engine");
        run(&mut engine)
    };
    for method in [Method::Cg, Method::Tv, Method::Wavelet] {
        let (residuals, image) = of(OperatorName::Toeplitz, method);
        assert_eq!(residuals, [0.0; 4]);
        assert!(image.iter().all(|v| *v == Complex::default()));
    }
}

/// Runs on emulated devices of the numbers 3, 4, ….
fn on_devices(
    devices: usize,
    problem: &Problem,
    recipe: &Recipe,
) -> (Vec<f64>, Array3<Complex<f64>>) {
    let devices = (3..3 + devices).map(|number| (number, EmulatedDevice::new()));
    run(&mut GpuEngine::on_devices(devices.collect(), problem, recipe).expect("devices"))
}

/// Several devices add the same numbers in another order, and each number of devices has its own
/// bits. The residuals are relative to |b|², so rounding of single precision is absolute.
#[test]
fn several_devices_agree_with_one() {
    let plane = problem(Grid::two(7, 6), 3, 40, true);
    let sets = with_two_sets(&plane);
    let volume = problem(Grid::three(3, 2, 5), 5, 40, true);
    let cases: [(&Problem, &[OperatorName]); 3] = [
        (&plane, &OPERATORS),
        (&sets, &[OperatorName::Toeplitz]),
        (&volume, &[OperatorName::Nufft]),
    ];
    for (problem, operators) in cases {
        for operator in operators {
            for method in [Method::Adjoint, Method::Cg, Method::Tv, Method::Wavelet] {
                agree_on_devices(problem, &recipe(*operator, method));
            }
        }
    }
}

fn agree_on_devices(problem: &Problem, recipe: &Recipe) {
    let (residuals, image) = on_devices(1, problem, recipe);
    let norm =
        |image: &Array3<Complex<f64>>| image.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    for devices in [2, 7] {
        let context = format!("{devices} devices, {recipe:?}");
        let (found, other) = on_devices(devices, problem, recipe);
        assert_eq!(found.len(), residuals.len(), "{context}");
        for (found, expected) in found.iter().zip(&residuals) {
            let error = (found - expected).abs();
            assert!(error < 2e-6, "{context}: {found} {expected}");
        }
        let error = norm(&(&image - &other)) / norm(&image);
        assert!(error < 2e-6, "{context}: {error}");
        if recipe.method == Method::Cg {
            assert_eq!(on_devices(devices, problem, recipe), (found, other));
        }
    }
}

/// A coil is not divided; without maps there is no sum over coils.
#[test]
fn one_coil_and_images_of_coils_are_computed_by_one_device() {
    let one_coil = problem(Grid::two(6, 5), 1, 40, true);
    let no_maps = problem(Grid::two(6, 5), 3, 40, false);
    for problem in [&one_coil, &no_maps] {
        for method in [Method::Adjoint, Method::Cg, Method::Tv] {
            let recipe = recipe(OperatorName::Nufft, method);
            let expected = on_devices(1, problem, &recipe);
            assert_eq!(on_devices(3, problem, &recipe), expected);
        }
        let devices = (0..3)
            .map(|number| (number, EmulatedDevice::new()))
            .collect();
        let recipe = recipe(OperatorName::Nufft, Method::Cg);
        let engine = GpuEngine::on_devices(devices, problem, &recipe).expect("devices");
        assert!(!engine.setup().device.contains(','), "{}", engine.setup());
    }
}

#[test]
fn corrected_intensities_are_those_of_all_coils() {
    let problem = problem(Grid::two(6, 5), 4, 40, true);
    let corrected = Recipe {
        intensity_correction: true,
        ..recipe(OperatorName::Nufft, Method::Cg)
    };
    agree(&problem, &corrected, 5e-4);
    let (_, one) = on_devices(1, &problem, &corrected);
    let (_, two) = on_devices(2, &problem, &corrected);
    for (one, two) in one.iter().zip(&two) {
        assert!(
            (one - two).norm() < 1e-5 * (1.0 + one.norm()),
            "{one} {two}"
        );
    }
}

#[test]
fn a_device_that_fails_is_named() {
    let problem = problem(Grid::two(6, 5), 3, 40, true);
    let devices = || (5..8).map(|number| (number, EmulatedDevice::new()));
    for (operator, method) in [
        (OperatorName::Nufft, Method::Cg),
        (OperatorName::Toeplitz, Method::Tv),
    ] {
        let recipe = recipe(operator, method);
        for broken in 0..3 {
            let mut engine =
                GpuEngine::on_devices(devices().collect(), &problem, &recipe).expect("devices");
            engine.advance().expect("an iteration");
            let part = &mut engine.parts[broken];
            let maps = part.sense.maps.as_mut().expect("maps");
            maps.maps = part.device.alloc("coil maps", 1).expect("memory");
            let failed = engine.advance().expect_err("too few maps").to_string();
            assert!(
                failed.starts_with(&format!("GPU {}: ", 5 + broken)),
                "{failed}"
            );
        }
    }
}

#[test]
fn devices_are_of_one_kind() {
    let problem = problem(Grid::two(6, 5), 3, 40, true);
    let recipe = recipe(OperatorName::Nufft, Method::Cg);
    // Compute capability 9.0 and 8.0.
    let devices = vec![
        (1, EmulatedDevice::new()),
        (2, EmulatedDevice::with_shared_memory(64 << 10)),
    ];
    let failed = GpuEngine::on_devices(devices, &problem, &recipe).err();
    let failed = failed.expect("two kinds").to_string();
    assert!(failed.contains("GPU 2"), "{failed}");
    assert!(GpuEngine::<EmulatedDevice>::on_devices(Vec::new(), &problem, &recipe).is_err());
}

/// Images of other samples along the same trajectory use its plans, and are the same bits as
/// without them.
#[test]
fn plans_are_used_again_and_change_no_bit() {
    let first = problem(Grid::two(7, 6), 2, 40, true);
    let samples = first.samples().mapv(|d| Complex::new(d.im, 1.0 - d.re));
    let maps = first.maps().expect("maps").clone();
    let second = Problem::new(first.grid(), first.trajectory().clone(), samples)
        .and_then(|p| p.with_weights(first.weights().expect("weights").clone()))
        .and_then(|p| p.with_map_sets(maps))
        .expect("a problem");
    let weights = second.weights().expect("weights").mapv(|w| 2.0 * w);
    let reweighted = second.clone().with_weights(weights).expect("a problem");
    for (operator, plans_of_an_image) in [
        (OperatorName::Direct, 1),
        (OperatorName::Nufft, 1),
        (OperatorName::Toeplitz, 2),
    ] {
        let recipe = recipe(operator, Method::Cg);
        let mut plans = Plans::new(1 << 20);
        let of = |problem: &Problem, plans: &mut Plans| {
            let devices = vec![(0, EmulatedDevice::new())];
            let gpu = GpuEngine::with_plans(devices, problem, &recipe, plans);
            let single = CpuEngine::<f32>::with_plans(problem, &recipe, plans);
            let double = CpuEngine::<f64>::with_plans(problem, &recipe, plans);
            [
                run(&mut gpu.expect("a device")),
                run(&mut single.expect("f32")),
                run(&mut double.expect("f64")),
            ]
        };
        let _ = of(&first, &mut plans);
        assert_eq!(plans.reused(), 0, "{operator:?}");
        let found = of(&second, &mut plans);
        // The direct operator of a device has no plan.
        let of_device = usize::from(operator != OperatorName::Direct);
        let expected = 2 * plans_of_an_image + of_device * plans_of_an_image;
        assert_eq!(plans.reused(), expected, "{operator:?}");
        assert_eq!(found, of(&second, &mut Plans::default()), "{operator:?}");
        assert_eq!(
            of(&reweighted, &mut plans),
            of(&reweighted, &mut Plans::default()),
            "{operator:?}"
        );
    }
}
