//! Fits with tied parameters agree with fits of formulas from which the tied ones were eliminated.

use super::*;
use crate::Tie;
use crate::fit::FitResult;

fn ties(texts: &[&str]) -> Vec<Tie> {
    let ties = texts.iter().map(|text| Tie::parse(text));
    ties.collect::<Result<_, _>>().unwrap()
}

/// A decay exp(−a q) with a linear term b q.
fn decay(v: &Vector, q: f64) -> f64 {
    (-v.values[2] * q).exp() + v.values[3] * q
}

/// The same with b = 0.1 a².
fn eliminated(v: &Vector, q: f64) -> f64 {
    (-v.values[2] * q).exp() + 0.1 * v.values[2] * v.values[2] * q
}

fn data() -> (Vec<f64>, Measured) {
    let q = grid(0.1, 2.0, 40);
    let noise = noise(40, 11);
    let model = |q: f64| 3.0 * ((-1.3 * q).exp() + 0.169 * q) + 0.2;
    let intensity = q.iter().zip(noise).map(|(q, e)| model(*q) + 0.01 * e);
    (q.clone(), measured(&q, intensity.collect(), vec![0.01; 40]))
}

fn parameter<'a>(result: &'a FitResult, name: &str) -> &'a crate::fit::Fitted {
    let found = result.parameters.iter().find(|p| p.name == name);
    found.unwrap()
}

#[test]
fn a_tied_fit_is_that_of_the_eliminated_formula() {
    let (q, data) = data();
    let free = [
        Free::within("porod_scale", 0.1, 5.0).from(0.5),
        Free::anywhere("scale"),
        Free::anywhere("background"),
    ];
    let of = problem(PLAIN, data, &[("peak_scale", 7.0)], &free).unwrap();
    let tied = of
        .clone()
        .tied(&ties(&["porod_exp=0.1*porod_scale^2"]))
        .unwrap();
    let (found, _) = run(&tied, &mut Analytic::new(decay, &q), Options::default()).unwrap();
    let (expected, _) = run(&of, &mut Analytic::new(eliminated, &q), Options::default()).unwrap();
    near(found.chi2, expected.chi2, 1e-9);
    for (a, (found_a, expected_a)) in found
        .parameters
        .iter()
        .zip(&expected.parameters)
        .enumerate()
    {
        near(found_a.value, expected_a.value, 1e-6);
        near(
            found_a.uncertainty.unwrap(),
            expected_a.uncertainty.unwrap(),
            1e-5,
        );
        for b in 0..a {
            let of = |result: &FitResult| result.correlation[a][b].unwrap();
            assert!((of(&found) - of(&expected)).abs() < 1e-5);
        }
    }
    let a = parameter(&found, "porod_scale");
    let b = &found.tied[0];
    assert_eq!(
        (b.name.as_str(), b.expression.as_str()),
        ("porod_exp", "0.1*porod_scale^2")
    );
    near(b.value, 0.1 * a.value * a.value, 1e-12);
    near(
        b.uncertainty.unwrap(),
        0.2 * a.value * a.uncertainty.unwrap(),
        1e-6,
    );
    assert!(
        (a.value - 1.3).abs() < 3.0 * a.uncertainty.unwrap(),
        "{a:?}"
    );
    let fixed = |name: &str| found.fixed.iter().any(|of| of.name == name);
    assert!(fixed("peak_scale") && !fixed("porod_exp"));
}

/// Scale and background, which are otherwise solved for, in ties: b = background/scale, and a
/// background that is a tenth of the scale.
#[test]
fn scale_and_background_can_be_tied_and_used() {
    let (q, data) = data();
    let from_scale = |v: &Vector, q: f64| (-v.values[2] * q).exp() + 0.5 * v.values[0] * q;
    let free = [
        Free::within("porod_scale", 0.1, 5.0).from(0.5),
        Free::within("scale", 0.1, 30.0),
    ];
    let of = problem(PLAIN, data, &[], &free).unwrap();
    let tied = of
        .tied(&ties(&["porod_exp=0.5*scale", "background = scale / 10"]))
        .unwrap();
    let (found, comparison) =
        run(&tied, &mut Analytic::new(decay, &q), Options::default()).unwrap();
    assert!(found.converged);
    let [a, scale] = ["porod_scale", "scale"].map(|name| parameter(&found, name).clone());
    // Residuals computed here: χ² is higher all around, and (JᵀJ)⁻¹ is the covariance.
    let residuals = |a: f64, scale: f64| -> Vec<f64> {
        let mut v = Vector {
            values: vec![scale, 0.1 * scale, a],
            widths: Vec::new(),
        };
        v.values.resize(9, 0.0);
        let model = |q: f64| scale * from_scale(&v, q) + 0.1 * scale;
        let of = &comparison.measured;
        let terms = q.iter().zip(&of.intensity).zip(&of.sigma);
        terms.map(|((q, i), s)| (i - model(*q)) / s).collect()
    };
    let chi2 = |a, scale| residuals(a, scale).iter().map(|r| r * r).sum::<f64>();
    near(chi2(a.value, scale.value), found.chi2, 1e-9);
    for (da, ds) in [
        (1e-3, 0.0),
        (-1e-3, 0.0),
        (0.0, 1e-3),
        (0.0, -1e-3),
        (1e-3, -1e-3),
    ] {
        assert!(chi2(a.value + da, scale.value + ds) > found.chi2);
    }
    let slope = |da: f64, ds: f64| -> Vec<f64> {
        let more = residuals(a.value + da, scale.value + ds);
        let less = residuals(a.value - da, scale.value - ds);
        let pairs = more.iter().zip(&less);
        pairs.map(|(m, l)| (m - l) / (2.0 * (da + ds))).collect()
    };
    let columns = [slope(1e-4, 0.0), slope(0.0, 1e-4)];
    let product = |i: usize, j: usize| -> f64 {
        let pairs = columns[i].iter().zip(&columns[j]);
        pairs.map(|(x, y)| x * y).sum()
    };
    let determinant = product(0, 0) * product(1, 1) - product(0, 1).powi(2);
    near(
        found.covariance[0][0].unwrap(),
        product(1, 1) / determinant,
        1e-4,
    );
    near(
        found.covariance[1][1].unwrap(),
        product(0, 0) / determinant,
        1e-4,
    );
    near(
        found.covariance[0][1].unwrap(),
        -product(0, 1) / determinant,
        1e-4,
    );
    let background = found
        .tied
        .iter()
        .find(|of| of.name == "background")
        .unwrap();
    near(
        background.uncertainty.unwrap(),
        0.1 * scale.uncertainty.unwrap(),
        1e-6,
    );
}

#[test]
fn ties_that_cannot_hold_at_the_start_are_refused() {
    let (_, data) = data();
    let free = [Free::within("porod_scale", 0.1, 5.0).from(0.5)];
    let of = problem(PLAIN, data, &[], &free).unwrap();
    for (text, words) in [
        (
            "porod_scale=1",
            "expected a parameter that is not fitted, found --fit porod_scale",
        ),
        ("porod_exp=1/(porod_scale-0.5)", "a division by zero"),
        ("porod_exp=sqrt(-porod_scale)", "in sqrt, found -0.5"),
    ] {
        let refused = of.clone().tied(&ties(&[text])).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
