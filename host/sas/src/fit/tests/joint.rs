//! Fits of several sets of data.

use super::*;
use crate::fit::{DataSet, Fitted};
use crate::{JointEngine, Tie, on_cpu};

/// Truth of the two curves: scale, background, SLD of the solvent.
const CURVES: [(f64, f64, f64); 2] = [(0.01, 0.2, 6.0), (0.02, 0.05, 3.0)];
const RADIUS: f64 = 45.0;

/// Curves of spheres in two solvents at different points, with noise of 2 %.
fn simulated() -> Vec<DataSet> {
    let of = |(at, (scale, background, solvent)): (usize, &(f64, f64, f64))| {
        let q = grid(0.005 + 0.001 * at as f64, 0.15, 50 + 10 * at);
        let definition = Definition::parse("sphere").unwrap();
        let calculation = Calculation::new(definition, Points::Curve(q.clone()));
        let mut base = calculation.defaults();
        let set = |to: &mut Vector, values: &[(&str, f64)]| {
            for (name, value) in values {
                to.set(calculation.target(name).unwrap(), *value);
            }
        };
        set(
            &mut base,
            &[("sld", 1.0), ("sld_solvent", *solvent), ("radius", 40.0)],
        );
        let mut truth = base.clone();
        let values = [
            ("scale", *scale),
            ("background", *background),
            ("radius", RADIUS),
        ];
        set(&mut truth, &values);
        let exact = on_cpu(calculation.clone()).unwrap().evaluate(&[truth]);
        let exact = exact.unwrap().remove(0);
        let noisy = exact.iter().zip(noise(q.len(), 21 + at as u64));
        let noisy = noisy.map(|(i, e)| i * (1.0 + 0.02 * e)).collect();
        let mut data = measured(&q, noisy, exact.iter().map(|i| 0.02 * i).collect());
        data.title = format!("curve {}", at + 1);
        DataSet {
            calculation,
            measured: data,
            base,
        }
    };
    CURVES.iter().enumerate().map(of).collect()
}

fn free() -> Vec<Free> {
    vec![
        Free::within("radius", 20.0, 100.0),
        Free::anywhere("scale"),
        Free::anywhere("background"),
    ]
}

fn engine(sets: &[DataSet]) -> JointEngine {
    let engines = sets.iter().map(|set| {
        let calculation = &set.calculation;
        (calculation, on_cpu(calculation.clone()).unwrap())
    });
    JointEngine::new(engines.collect())
}

fn fitted(sets: &[DataSet], shared: &[&str]) -> (Problem, FitResult, Comparison) {
    let shared: Vec<String> = shared.iter().map(|name| (*name).to_owned()).collect();
    let of = Problem::joint(sets.to_vec(), &free(), &shared).unwrap();
    let (result, comparison) = run(&of, &mut engine(sets), Options::default()).unwrap();
    assert!(result.converged);
    (of, result, comparison)
}

fn found<'a>(result: &'a FitResult, name: &str) -> &'a Fitted {
    let found = result.parameters.iter().find(|p| p.name == name);
    found.unwrap_or_else(|| panic!("{name} in {:?}", result.parameters))
}

fn sigma(result: &FitResult, name: &str) -> f64 {
    found(result, name).uncertainty.unwrap()
}

#[test]
fn a_shared_parameter_has_the_information_of_all_data() {
    let sets = simulated();
    let singles = sets
        .iter()
        .map(|set| fitted(std::slice::from_ref(set), &[]).1);
    let singles: Vec<FitResult> = singles.collect();
    let (problem, joint, comparison) = fitted(&sets, &["radius"]);
    let names: Vec<&str> = joint.parameters.iter().map(|p| p.name.as_str()).collect();
    let expected = [
        "radius",
        "scale.1",
        "scale.2",
        "background.1",
        "background.2",
    ];
    assert_eq!(names, expected);
    let truth = [RADIUS, 0.01, 0.02, 0.2, 0.05];
    for (parameter, truth) in joint.parameters.iter().zip(truth) {
        let sigma = parameter.uncertainty.unwrap();
        assert!(
            (parameter.value - truth).abs() < 3.0 * sigma,
            "{parameter:?}: {truth}"
        );
    }
    // With all else fitted for each curve, the information adds, and the value is the weighted
    // mean.
    let weights: Vec<f64> = singles
        .iter()
        .map(|of| sigma(of, "radius").powi(-2))
        .collect();
    let total: f64 = weights.iter().sum();
    let of_joint = sigma(&joint, "radius");
    near(of_joint.powi(-2), total, 0.02);
    assert!(singles.iter().all(|of| of_joint < sigma(of, "radius")));
    let pairs = weights.iter().zip(&singles);
    let mean: f64 = pairs.map(|(w, of)| w * found(of, "radius").value).sum();
    assert!((found(&joint, "radius").value - mean / total).abs() < 0.05 * of_joint);
    // Scales of different curves are correlated through the radius only.
    let correlation = |a: usize, b: usize| joint.correlation[a][b].unwrap();
    near(
        correlation(1, 2),
        correlation(0, 1) * correlation(0, 2),
        1e-6,
    );
    // χ² of each, and curves of each.
    assert_eq!(joint.data_sets.len(), 2);
    near(
        joint.data_sets.iter().map(|set| set.chi2).sum(),
        joint.chi2,
        1e-12,
    );
    assert_eq!(
        (joint.data_sets[1].points, joint.data_sets[1].data.as_str()),
        (60, "curve 2")
    );
    let curves = problem.comparisons(&comparison);
    for (at, (curve, set)) in curves.iter().zip(&sets).enumerate() {
        assert_eq!(curve.measured, set.measured);
        let chi2: f64 = curve.residuals().iter().map(|r| r * r).sum();
        near(chi2, joint.data_sets[at].chi2, 1e-9);
    }
    assert_eq!(joint.points, 110);
    let fixed = |name: &str| joint.fixed.iter().any(|of| of.name == name);
    assert!(fixed("sld") && fixed("sld_solvent.1") && fixed("sld_solvent.2"));
}

#[test]
fn without_shared_parameters_it_is_the_fits_of_each() {
    let sets = simulated();
    let (_, joint, _) = fitted(&sets, &[]);
    let mut chi2 = 0.0;
    for (at, set) in sets.iter().enumerate() {
        let (_, alone, _) = fitted(std::slice::from_ref(set), &[]);
        chi2 += alone.chi2;
        for name in ["radius", "scale", "background"] {
            let numbered = format!("{name}.{}", at + 1);
            near(
                found(&joint, &numbered).value,
                found(&alone, name).value,
                1e-5,
            );
            near(sigma(&joint, &numbered), sigma(&alone, name), 1e-4);
        }
    }
    near(joint.chi2, chi2, 1e-9);
    let at = |name: &str| {
        joint
            .parameters
            .iter()
            .position(|p| p.name == name)
            .unwrap()
    };
    let across = joint.correlation[at("radius.1")][at("scale.2")].unwrap();
    assert!(across.abs() < 1e-9, "{across}");
}

/// The same data twice: with all parameters shared, the fit of one, with σ smaller by √2.
#[test]
fn scales_and_backgrounds_can_be_shared() {
    let set = simulated().remove(0);
    let (_, alone, _) = fitted(std::slice::from_ref(&set), &[]);
    let (_, joint, _) = fitted(&[set.clone(), set], &["radius", "scale", "background"]);
    assert_eq!(joint.parameters.len(), 3);
    near(joint.chi2, 2.0 * alone.chi2, 1e-9);
    for parameter in &alone.parameters {
        near(found(&joint, &parameter.name).value, parameter.value, 1e-6);
        let expected = parameter.uncertainty.unwrap() / 2.0_f64.sqrt();
        near(sigma(&joint, &parameter.name), expected, 1e-5);
    }
}

#[test]
fn ties_hold_in_every_set_and_numbers_select_one() {
    let sets = simulated();
    let free = [
        Free::within("radius.2", 20.0, 100.0),
        Free::anywhere("scale"),
        Free::within("sld_solvent", 2.0, 9.0),
    ];
    let of = Problem::joint(sets.clone(), &free, &["sld_solvent".to_owned()]).unwrap();
    let of = of
        .tied(&[Tie::parse("sld = sld_solvent - radius/20").unwrap()])
        .unwrap();
    let names: Vec<&str> = of.parameters().iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["radius.2", "scale.1", "scale.2", "sld_solvent"]);
    let [first, second] = &of.set_vectors(&of.vector(&[50.0, 1.0, 1.0, 4.0]))[..] else {
        panic!("two sets")
    };
    let calculation = &sets[0].calculation;
    let at = |vector: &Vector, name: &str| vector.get(calculation.target(name).unwrap());
    assert_eq!((at(first, "radius"), at(second, "radius")), (40.0, 50.0));
    assert_eq!((at(first, "sld"), at(second, "sld")), (2.0, 1.5));
    assert_eq!(
        (at(first, "sld_solvent"), at(second, "sld_solvent")),
        (4.0, 4.0)
    );
    let fixed = of.fixed();
    let fixed: Vec<&str> = fixed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(fixed, ["background", "radius.1"]);
    let mut other = sets.clone();
    other[1].calculation.definition = Definition::parse("fuzzy_sphere").unwrap();
    for (sets, free, shared, words) in [
        (
            &sets,
            "radius",
            "sld",
            "--share sld: expected a fitted parameter",
        ),
        (
            &sets,
            "radius.3",
            "radius.3",
            "a data set from 1 to 2, found 3",
        ),
        (
            &sets,
            "radius.2,radius",
            "radius",
            "expected each parameter once",
        ),
        (
            &other,
            "radius",
            "radius",
            "one model for all data, found fuzzy_sphere",
        ),
    ] {
        let free: Vec<Free> = free.split(',').map(Free::anywhere).collect();
        let refused = Problem::joint(sets.clone(), &free, &[shared.to_owned()]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    assert!(Problem::joint(Vec::new(), &free, &[]).is_err());
}

/// A sum fitted to two curves, one of which has twice the scale of both parts.
#[test]
fn sums_are_fitted_to_several_curves() {
    let q = grid(0.004, 0.15, 50);
    let definition = Definition::parse("sphere+power_law").unwrap();
    let calculation = Calculation::new(definition, Points::Curve(q.clone()));
    let mut truth = calculation.defaults();
    let at = |name: &str| calculation.target(name).unwrap();
    for (name, value) in [
        ("A_scale", 0.01),
        ("B_scale", 2e-6),
        ("B_power", 3.3),
        ("A_radius", 43.0),
    ] {
        truth.set(at(name), value);
    }
    let sets = [1.0, 2.0].map(|scale| {
        let mut truth = truth.clone();
        truth.set(at("scale"), scale);
        let exact = on_cpu(calculation.clone()).unwrap().evaluate(&[truth]);
        let exact = exact.unwrap().remove(0);
        let sigma = exact.iter().map(|i| 0.01 * i).collect();
        DataSet {
            calculation: calculation.clone(),
            measured: measured(&q, exact, sigma),
            base: calculation.defaults(),
        }
    });
    let free = [
        Free::within("A_radius", 20.0, 100.0).from(38.0),
        Free::within("B_power", 2.0, 4.5).from(4.0),
        Free::anywhere("A_scale"),
        Free::anywhere("B_scale"),
    ];
    let shared = ["A_radius", "B_power"].map(str::to_owned);
    let of = Problem::joint(sets.to_vec(), &free, &shared).unwrap();
    let (result, _) = run(&of, &mut engine(&sets), Options::default()).unwrap();
    for (name, value) in [
        ("A_radius", 43.0),
        ("B_power", 3.3),
        ("A_scale.1", 0.01),
        ("A_scale.2", 0.02),
        ("B_scale.1", 2e-6),
        ("B_scale.2", 4e-6),
    ] {
        near(found(&result, name).value, value, 1e-5);
    }
}
