//! Conjugate gradients and FISTA compared with the equations that they solve.

use super::*;

/// A problem of 3 coils with more equations than unknowns, b of a known image, and that image.
fn problem(grid: Grid, samples: usize) -> (Sense<f64>, Vec<Complex<f64>>, Vec<Complex<f64>>) {
    let (k, w, s) = (
        trajectory(samples, grid.axes),
        weights(samples),
        maps(grid, 3),
    );
    let mut sense = Sense::new(convolved(grid, &k, &w), Some(&s.insert_axis(Axis(0))));
    let truth = complex::<f64>(grid.voxels(), 0.4);
    let mut b = vec![Complex::default(); grid.voxels()];
    sense.normal(&truth, &mut b);
    (sense, b, truth)
}

#[test]
fn conjugate_gradients_find_the_image_and_report_the_residual() {
    let (mut sense, b, truth) = problem(Grid::two(6, 7), 200);
    let mut cg = ConjugateGradients::new(b.clone(), 0.0);
    let mut last = 1.0;
    for _ in 0..60 {
        last = cg.step(&mut sense);
    }
    assert!(last < 1e-24, "{last:e}");
    assert!(difference(cg.image(), &truth) < 1e-10);
}

#[test]
fn the_residual_is_that_of_the_equation_with_lambda() {
    let (mut sense, b, _) = problem(Grid::three(3, 4, 5), 300);
    let lambda = 40.0;
    let mut cg = ConjugateGradients::new(b.clone(), lambda);
    for iteration in 0..8 {
        let reported = cg.step(&mut sense);
        let mut image = vec![Complex::default(); b.len()];
        sense.normal(cg.image(), &mut image);
        let r: Vec<_> = (0..b.len())
            .map(|n| b[n] - image[n] - cg.image()[n] * lambda)
            .collect();
        let is = norm_squared(&r) / norm_squared(&b);
        assert!(
            (reported - is).abs() < 1e-10 * is + 1e-28,
            "{iteration} {reported:e} {is:e}"
        );
    }
}

#[test]
fn zero_data_and_zero_curvature_leave_the_image_at_zero() {
    let (mut sense, _, _) = problem(Grid::two(5, 5), 30);
    let mut cg = ConjugateGradients::new(vec![Complex::default(); 25], 0.0);
    assert_eq!(cg.step(&mut sense), 0.0);
    assert!(cg.image().iter().all(|v| *v == Complex::default()));
    // Maps of 0 measure nothing: there is no curvature along any direction.
    let grid = Grid::two(5, 5);
    let k = trajectory(30, 2);
    let zero_maps = Array3::zeros((1, 2, 25));
    let mut sense = Sense::new(convolved(grid, &k, &[1.0; 30]), Some(&zero_maps));
    let mut cg = ConjugateGradients::new(complex::<f64>(25, 0.1), 0.0);
    assert_eq!(cg.step(&mut sense), 1.0);
    assert_eq!(cg.step(&mut sense), 1.0);
    assert!(cg.image().iter().all(|v| *v == Complex::default()));
}

#[test]
fn after_an_exact_solution_nothing_changes() {
    // All frequencies of a grid: A = 64, so one iteration suffices and leaves r = 0 or its
    // rounding.
    let grid = Grid::two(8, 8);
    let frequency = |(m, a): (usize, usize)| [m % 8, m / 8][a] as f64 / 8.0 - 0.5;
    let k = Array2::from_shape_fn((64, 2), frequency);
    let mut sense = Sense::new(convolved(grid, &k, &[1.0; 64]), None);
    let b = complex::<f64>(64, 0.2);
    let mut cg = ConjugateGradients::new(b.clone(), 0.0);
    for _ in 0..40 {
        assert!(cg.step(&mut sense) < 1e-28);
    }
    let expected: Vec<_> = b.iter().map(|b| b / 64.0).collect();
    assert!(difference(cg.image(), &expected) < 1e-13);
}

/// ½⟨x, Ax⟩ − Re⟨b, x⟩ + μ R(x).
fn objective(sense: &mut Sense<f64>, b: &[Complex<f64>], x: &[Complex<f64>], penalty: f64) -> f64 {
    let mut image = vec![Complex::default(); b.len()];
    sense.normal(x, &mut image);
    0.5 * real_product(x, &image) - real_product(b, x) + penalty
}

#[test]
fn without_a_weight_both_regularisers_find_the_least_squares() {
    let grid = Grid::two(6, 8);
    for wavelet in [false, true] {
        let (mut sense, b, truth) = problem(grid, 400);
        let regulariser = if wavelet {
            Regulariser::wavelet(grid)
        } else {
            Regulariser::total_variation(grid, 1)
        };
        let mut fista = Fista::new(&mut sense, regulariser, 48, b, 0.0);
        let mut last = 1.0;
        for _ in 0..400 {
            last = fista.step(&mut sense);
        }
        assert!(last < 1e-8, "{last:e}");
        assert!(difference(fista.image(), &truth) < 1e-3);
    }
}

#[test]
fn the_objective_falls_to_its_minimum() {
    let grid = Grid::two(16, 12);
    let lambda = 0.02;
    for wavelet in [false, true] {
        let (mut sense, b, _) = problem(grid, 150);
        let mu = lambda * largest_modulus(&b);
        let mut basis = Wavelet::new(grid);
        let mut penalty = |x: &[Complex<f64>]| {
            mu * if wavelet {
                basis.penalty(x)
            } else {
                total_variation(grid, x)
            }
        };
        let regulariser = if wavelet {
            Regulariser::wavelet(grid)
        } else {
            Regulariser::total_variation(grid, 1)
        };
        let mut fista = Fista::new(&mut sense, regulariser, 192, b.clone(), lambda);
        let mut values = vec![0.0];
        for _ in 0..15 {
            for _ in 0..20 {
                fista.step(&mut sense);
            }
            let r = penalty(fista.image());
            values.push(objective(&mut sense, &b, fista.image(), r));
        }
        let minimum = values.last().unwrap();
        let scale = values[0] - minimum;
        assert!(scale > 0.0);
        for pair in values.windows(2) {
            assert!(pair[1] < pair[0] + 1e-4 * scale, "{values:?}");
        }
        // The objective is convex: if no image nearby is better, none is.
        for (seed, size) in [(0.3, 1e-2), (0.5, 1e-1), (0.9, 1.0)] {
            let step = complex::<f64>(192, seed);
            let other: Vec<_> = (0..192)
                .map(|n| fista.image()[n] + step[n] * size)
                .collect();
            let r = penalty(&other);
            assert!(objective(&mut sense, &b, &other, r) > minimum - 1e-6 * scale);
        }
        for factor in [0.99, 1.01] {
            let other: Vec<_> = fista.image().iter().map(|x| x * factor).collect();
            let r = penalty(&other);
            assert!(objective(&mut sense, &b, &other, r) > minimum - 1e-6 * scale);
        }
    }
}

#[test]
fn the_residual_of_fista_is_that_of_its_image() {
    let grid = Grid::two(8, 8);
    let (mut sense, b, _) = problem(grid, 90);
    let regulariser = Regulariser::total_variation(grid, 1);
    let mut fista = Fista::new(&mut sense, regulariser, 64, b.clone(), 0.01);
    for _ in 0..30 {
        let reported = fista.step(&mut sense);
        let mut image = vec![Complex::default(); 64];
        sense.normal(fista.image(), &mut image);
        assert!((reported.sqrt() - difference(&image, &b)).abs() < 1e-12);
    }
}
