//! Minima and uncertainties agree with references that need no search: the normal equations, the
//! parameters that generated the data, the scatter of many fits.

use super::*;
use crate::fit::{Bound, Stop};
use nalgebra::{DMatrix, DVector};

/// The cubic a q + b q² + c q³.
fn cubic(v: &Vector, q: f64) -> f64 {
    v.values[2] * q + v.values[3] * q * q + v.values[4] * q * q * q
}

const CUBIC: [&str; 3] = ["porod_scale", "porod_exp", "peak_scale"];

fn cubic_data() -> (Vec<f64>, Measured) {
    let q = grid(0.1, 2.0, 25);
    let intensity = q
        .iter()
        .zip(noise(25, 3))
        .map(|(q, e)| 1.0 + q - 0.4 * q * q + e);
    let sigma = q.iter().map(|q| 0.3 + q).collect();
    let intensity = intensity.collect();
    (q.clone(), measured(&q, intensity, sigma))
}

/// Solution and covariance of the normal equations for columns divided by σ.
fn normal_equations(data: &Measured, columns: &[fn(f64) -> f64]) -> (DVector<f64>, DMatrix<f64>) {
    let Points::Curve(q) = &data.points else {
        panic!("a curve")
    };
    let matrix = DMatrix::from_fn(q.len(), columns.len(), |i, j| {
        columns[j](q[i]) / data.sigma[i]
    });
    let right = DVector::from_fn(q.len(), |i, _| data.intensity[i] / data.sigma[i]);
    let covariance = (matrix.transpose() * &matrix).try_inverse().unwrap();
    (&covariance * matrix.transpose() * right, covariance)
}

#[test]
fn a_linear_model_has_the_solution_and_covariance_of_the_normal_equations() {
    let (q, data) = cubic_data();
    let free: Vec<Free> = CUBIC.iter().map(|name| Free::anywhere(name)).collect();
    let of = problem(PLAIN, data.clone(), &[("background", 0.0)], &free).unwrap();
    let (result, _) = run(&of, &mut Analytic::new(cubic, &q), Options::default()).unwrap();
    let (solution, covariance) = normal_equations(&data, &[|q| q, |q| q * q, |q| q * q * q]);
    assert!(result.converged && result.iterations < 12, "{result:?}");
    for (a, parameter) in result.parameters.iter().enumerate() {
        near(parameter.value, solution[a], 1e-6);
        let uncertainty = parameter.uncertainty.unwrap();
        near(uncertainty, covariance[(a, a)].sqrt(), 1e-6);
        for (b, found) in result.covariance[a].iter().enumerate() {
            near(found.unwrap(), covariance[(a, b)], 1e-6);
        }
    }
}

#[test]
fn scale_and_background_alone_are_solved_in_one_round() {
    let (q, data) = cubic_data();
    let free = [Free::anywhere("background"), Free::anywhere("scale")];
    let set = [
        ("porod_scale", 1.0),
        ("porod_exp", 0.0),
        ("peak_scale", 0.0),
    ];
    let of = problem(PLAIN, data.clone(), &set, &free).unwrap();
    let (result, _) = run(&of, &mut Analytic::new(cubic, &q), Options::default()).unwrap();
    let (solution, covariance) = normal_equations(&data, &[|_| 1.0, |q| q]);
    assert_eq!((result.stop, result.history.len()), (Stop::Solved, 1));
    for (a, parameter) in result.parameters.iter().enumerate() {
        near(parameter.value, solution[a], 1e-10);
        near(
            parameter.uncertainty.unwrap(),
            covariance[(a, a)].sqrt(),
            1e-10,
        );
    }
    near(
        result.correlation[0][1].unwrap(),
        covariance[(0, 1)] / (covariance[(0, 0)] * covariance[(1, 1)]).sqrt(),
        1e-10,
    );
}

#[test]
fn parameters_at_a_bound_are_flagged_and_the_others_are_optimal() {
    let (q, data) = cubic_data();
    let (open, _) = normal_equations(&data, &[|q| q, |q| q * q, |q| q * q * q]);
    let bound = open[0] - 0.5;
    let free = [
        Free::within(CUBIC[0], bound - 3.0, bound),
        Free::anywhere(CUBIC[1]),
        Free::anywhere(CUBIC[2]),
    ];
    let of = problem(PLAIN, data.clone(), &[("background", 0.0)], &free).unwrap();
    let (result, _) = run(&of, &mut Analytic::new(cubic, &q), Options::default()).unwrap();
    // The data minus the held column, fitted with the other two.
    let mut rest = data.clone();
    for (value, q) in rest.intensity.iter_mut().zip(&q) {
        *value -= bound * q;
    }
    let (solution, covariance) = normal_equations(&rest, &[|q| q * q, |q| q * q * q]);
    let [held, second, third] = &result.parameters[..] else {
        panic!("three parameters")
    };
    assert_eq!((held.value, held.at_bound), (bound, Some(Bound::Greatest)));
    assert_eq!((held.uncertainty, second.at_bound), (None, None));
    near(second.value, solution[0], 1e-6);
    near(third.value, solution[1], 1e-6);
    near(second.uncertainty.unwrap(), covariance[(0, 0)].sqrt(), 1e-6);
    assert!((result.record.notes.iter()).any(|n| n.contains("porod_scale stopped at a bound")));
}

#[test]
fn scale_and_background_respect_their_bounds() {
    let q = grid(0.1, 2.0, 20);
    // Data 2 q − 1: each bound is active in turn, and the other parameter is optimal for it.
    let line = |v: &Vector, q: f64| v.values[2] * q;
    let intensity: Vec<f64> = q.iter().map(|q| 2.0 * q - 1.0).collect();
    let data = measured(&q, intensity, vec![1.0; 20]);
    for (scale, background) in [
        ((0.0, 1.5), (-9.0, 9.0)),
        ((0.0, 9.0), (-0.5, 9.0)),
        ((3.0, 4.0), (0.0, 1.0)),
    ] {
        let free = [
            Free::within("scale", scale.0, scale.1),
            Free::within("background", background.0, background.1),
        ];
        let of = problem(PLAIN, data.clone(), &[("porod_scale", 1.0)], &free).unwrap();
        let (result, _) = run(&of, &mut Analytic::new(line, &q), Options::default()).unwrap();
        // A grid search over the bounds.
        let chi2 =
            |s: f64, b: f64| -> f64 { q.iter().map(|q| (2.0 * q - 1.0 - s * q - b).powi(2)).sum() };
        let mut least = f64::INFINITY;
        for s in grid(scale.0, scale.1, 401) {
            for b in grid(background.0, background.1, 401) {
                least = least.min(chi2(s, b));
            }
        }
        assert!(
            result.chi2 <= least + 1e-9 && result.chi2 > 0.98 * least - 1e-2,
            "{result:?}"
        );
        assert!(result.parameters.iter().any(|p| p.at_bound.is_some()));
    }
}

/// Guinier's law exp(−(q R)²/3).
fn guinier(v: &Vector, q: f64) -> f64 {
    (-(q * v.values[2]).powi(2) / 3.0).exp()
}

#[test]
fn guinier_with_background_is_recovered_exactly() {
    let q = grid(0.002, 0.12, 80);
    let intensity: Vec<f64> = q
        .iter()
        .map(|q| 37.0 * (-(q * 41.0_f64).powi(2) / 3.0).exp() + 0.2)
        .collect();
    let sigma = intensity.iter().map(|i| 0.01 * i).collect();
    let free = [
        Free::anywhere("rg"),
        Free::anywhere("background"),
        Free::anywhere("scale"),
    ];
    for start in [5.0, 15.0, 41.0, 150.0] {
        let of = problem(
            "guinier",
            measured(&q, intensity.clone(), Vec::clone(&sigma)),
            &[("rg", start)],
            &free,
        )
        .unwrap();
        let (result, comparison) =
            run(&of, &mut Analytic::new(guinier, &q), Options::default()).unwrap();
        let found = values(&result);
        near(found[0], 41.0, 1e-8);
        near(found[1], 0.2, 1e-8);
        near(found[2], 37.0, 1e-8);
        assert!(result.converged && comparison.residuals().iter().all(|r| r.abs() < 1e-6));
    }
}

#[test]
fn two_exponentials_are_separated() {
    let both =
        |v: &Vector, q: f64| (-v.values[3] * q).exp() + v.values[2] * (-v.values[4] * q).exp();
    let q = grid(0.0, 6.0, 120);
    let intensity: Vec<f64> = q
        .iter()
        .map(|q| 5.0 * (-0.4 * q).exp() + 3.0 * (-2.5 * q).exp())
        .collect();
    let free = [
        Free::within("porod_scale", 0.0, 10.0).from(1.0),
        Free::within("porod_exp", 0.01, 10.0).from(1.0),
        Free::within("peak_scale", 0.01, 10.0).from(5.0),
        Free::anywhere("scale"),
    ];
    let of = problem(
        PLAIN,
        measured(&q, intensity, vec![0.01; 120]),
        &[("background", 0.0)],
        &free,
    )
    .unwrap();
    let (result, _) = run(&of, &mut Analytic::new(both, &q), Options::default()).unwrap();
    for (found, truth) in values(&result).into_iter().zip([0.6, 0.4, 2.5, 5.0]) {
        near(found, truth, 1e-5);
    }
}

#[test]
fn the_rosenbrock_valley_is_solved() {
    // Residuals 10 (y − x²) and 1 − x from (−1.2, 1): Comput. J. 3, 175 (1960).
    let valley = |v: &Vector, q: f64| {
        let (x, y) = (v.values[2], v.values[3]);
        if q < 1.5 { 10.0 * (y - x * x) } else { x }
    };
    let q = [1.0, 2.0];
    let free = [Free::anywhere("porod_scale"), Free::anywhere("porod_exp")];
    let set = [
        ("porod_scale", -1.2),
        ("porod_exp", 1.0),
        ("background", 0.0),
    ];
    let of = problem(
        PLAIN,
        measured(&q, vec![0.0, 1.0], vec![1.0; 2]),
        &set,
        &free,
    )
    .unwrap();
    let (result, _) = run(&of, &mut Analytic::new(valley, &q), Options::default()).unwrap();
    near(result.parameters[0].value, 1.0, 1e-6);
    near(result.parameters[1].value, 1.0, 1e-6);
    assert_eq!((result.degrees_of_freedom, result.reduced_chi2), (0, None));
    assert!(result.iterations < 40, "{}", result.iterations);
}

/// Number of fits of noisy data.
const FITS: usize = 1000;

#[test]
fn uncertainties_match_the_scatter_of_many_fits() {
    let q = grid(0.002, 0.08, 40);
    let truth: Vec<f64> = q
        .iter()
        .map(|q| 2.0 * (-(q * 41.0_f64).powi(2) / 3.0).exp() + 0.2)
        .collect();
    let free = [
        Free::within("rg", 10.0, 100.0),
        Free::anywhere("scale"),
        Free::anywhere("background"),
    ];
    let (mut sums, mut squares, mut reported, mut chi2) = ([0.0; 3], [0.0; 3], [0.0; 3], 0.0);
    for noise in noise(40 * FITS, 7).chunks(40) {
        let intensity = truth.iter().zip(noise).map(|(i, e)| i + 0.03 * e);
        let data = measured(&q, intensity.collect(), vec![0.03; 40]);
        let of = problem("guinier", data, &[], &free).unwrap();
        let (result, _) = run(&of, &mut Analytic::new(guinier, &q), Options::default()).unwrap();
        chi2 += result.reduced_chi2.unwrap();
        for (i, parameter) in result.parameters.iter().enumerate() {
            sums[i] += parameter.value;
            squares[i] += parameter.value * parameter.value;
            reported[i] += parameter.uncertainty.unwrap();
        }
    }
    let count = FITS as f64;
    for ((sum, square), reported) in sums.iter().zip(&squares).zip(&reported) {
        let mean = sum / count;
        let scatter = (square / count - mean * mean).sqrt();
        // A standard deviation of 1000 values is known to 1/√2000 = 2.2 %; the tolerance is three
        // times that.
        near(reported / count, scatter, 0.067);
    }
    // The reduced χ² has mean 1, and its average over 1000 fits the standard deviation
    // √(2/37)/√1000; the tolerance is four times that.
    near(chi2 / count, 1.0, 4.0 * (2.0_f64 / 37.0 / count).sqrt());
}

#[test]
fn without_uncertainties_the_residuals_replace_them() {
    let (q, data) = cubic_data();
    let set = [
        ("porod_scale", 1.0),
        ("porod_exp", 0.0),
        ("peak_scale", 0.0),
    ];
    let free = [Free::anywhere("background"), Free::anywhere("scale")];
    let of_scale = |factor: f64, known: bool| {
        let mut data = data.clone();
        data.sigma.iter_mut().for_each(|s| *s *= factor);
        data.known_sigma = known;
        let of = problem(PLAIN, data, &set, &free).unwrap();
        let (result, _) = run(&of, &mut Analytic::new(cubic, &q), Options::default()).unwrap();
        (
            result.parameters[1].uncertainty.unwrap(),
            result.reduced_chi2.unwrap(),
        )
    };
    let (known, reduced) = of_scale(1.0, true);
    for factor in [1.0, 7.0] {
        near(of_scale(factor, false).0, known * reduced.sqrt(), 1e-10);
    }
}

#[test]
fn a_determined_sum_of_undetermined_parameters_is_found_and_noted() {
    let sum = |v: &Vector, q: f64| (v.values[2] + v.values[3]) * q;
    let q = grid(0.1, 2.0, 20);
    let intensity: Vec<f64> = q.iter().map(|q| 3.0 * q + 0.5).collect();
    let free = [
        Free::anywhere("porod_scale"),
        Free::anywhere("porod_exp"),
        Free::anywhere("background"),
    ];
    let of = problem(PLAIN, measured(&q, intensity, vec![1.0; 20]), &[], &free).unwrap();
    let (result, _) = run(&of, &mut Analytic::new(sum, &q), Options::default()).unwrap();
    let found = values(&result);
    near(found[0] + found[1], 3.0, 1e-8);
    near(found[2], 0.5, 1e-8);
    assert_eq!(
        (
            result.parameters[0].uncertainty,
            result.parameters[1].uncertainty
        ),
        (None, None)
    );
    assert!(result.parameters[2].uncertainty.is_some());
    let is_noted = |n: &String| n.contains("do not determine porod_scale, porod_exp");
    assert!(
        result.record.notes.iter().any(is_noted),
        "{:?}",
        result.record.notes
    );
}

#[test]
fn a_parameter_without_effect_keeps_its_value_and_is_noted() {
    let (q, data) = cubic_data();
    let free = [
        Free::anywhere(CUBIC[0]),
        Free::within("peak_pos", 0.0, 9.0).from(4.0),
    ];
    let of = problem(PLAIN, data, &[], &free).unwrap();
    let (result, _) = run(&of, &mut Analytic::new(cubic, &q), Options::default()).unwrap();
    assert_eq!(result.parameters[1].value, 4.0);
    let is_noted = |n: &String| n.contains("peak_pos had no effect");
    assert!(
        result.converged && result.record.notes.iter().any(is_noted),
        "{:?}",
        result.record.notes
    );
}
