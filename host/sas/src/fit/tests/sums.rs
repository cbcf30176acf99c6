//! Fits of sums and products of models, whose terms' scales are solved for.

use super::*;
use crate::fit::{DataSet, Fitted};
use crate::resolution::{Pinhole, Width};
use crate::{Distribution, JointEngine, Polydispersity, Tie, on_cpu};

/// Spheres and a power law at 60 points, with noise of 1 %.
fn simulated(seed: u64) -> (Calculation, Vector, Measured) {
    let q: Vec<f64> = (0..60).map(|i| 0.003 * 1.08_f64.powi(i)).collect();
    let definition = Definition::parse("sphere+power_law").unwrap();
    let calculation = Calculation::new(definition, Points::Curve(q.clone()));
    let mut truth = calculation.defaults();
    for (name, value) in [
        ("background", 0.05),
        ("A_scale", 0.01),
        ("A_radius", 43.0),
        ("B_scale", 2e-6),
        ("B_power", 3.3),
    ] {
        truth.set(calculation.target(name).unwrap(), value);
    }
    let exact = on_cpu(calculation.clone())
        .unwrap()
        .evaluate(&[truth.clone()]);
    let exact = exact.unwrap().remove(0);
    let noisy = exact
        .iter()
        .zip(noise(60, seed))
        .map(|(i, e)| i * (1.0 + 0.01 * e));
    let data = measured(
        &q,
        noisy.collect(),
        exact.iter().map(|i| 0.01 * i).collect(),
    );
    (calculation, truth, data)
}

fn found<'a>(result: &'a FitResult, name: &str) -> &'a Fitted {
    result.parameters.iter().find(|p| p.name == name).unwrap()
}

#[test]
fn a_sum_is_recovered_and_scales_may_be_solved_or_searched() {
    let (calculation, truth, data) = simulated(5);
    let free = [
        Free::within("A_radius", 20.0, 100.0).from(35.0),
        Free::within("B_power", 2.0, 4.5).from(4.0),
        Free::anywhere("A_scale"),
        Free::anywhere("B_scale"),
        Free::anywhere("background"),
    ];
    let base = calculation.defaults();
    let of = Problem::new(calculation.clone(), data.clone(), base.clone(), &free).unwrap();
    let mut engine = on_cpu(calculation.clone()).unwrap();
    let (solved, comparison) = run(&of, engine.as_mut(), Options::default()).unwrap();
    assert!(
        solved.converged && solved.reduced_chi2.unwrap() < 1.6,
        "{solved:?}"
    );
    for parameter in &solved.parameters {
        let truth = truth.get(calculation.target(&parameter.name).unwrap());
        let sigma = parameter.uncertainty.unwrap();
        assert!(
            (parameter.value - truth).abs() < 3.0 * sigma,
            "{parameter:?}: {truth}"
        );
    }
    // The intensities of the result are those of its values.
    let values: Vec<f64> = solved.parameters.iter().map(|p| p.value).collect();
    let again = engine.evaluate(&[of.vector(&values)]).unwrap().remove(0);
    for (a, b) in again.iter().zip(&comparison.model) {
        near(*a, *b, 1e-12);
    }
    // Scales are searched if a tie uses them, and one if that of the whole sum is solved for.
    let tie = Tie::parse("A_sld = 1 + 0*A_scale + 0*B_scale").unwrap();
    let mut started = free.clone();
    started[2].start = Some(0.009);
    started[3].start = Some(3e-6);
    let searched = Problem::new(calculation.clone(), data.clone(), base.clone(), &started);
    let searched = searched.unwrap().tied(&[tie]).unwrap();
    let mut near_by = base;
    near_by.set(calculation.target("A_scale").unwrap(), 0.009);
    let mut whole = started.clone();
    whole[2] = Free::anywhere("scale");
    whole[3].start = Some(3e-6);
    let scaled = Problem::new(calculation, data, near_by, &whole).unwrap();
    for (other, scale) in [(&searched, 1.0), (&scaled, 0.009)] {
        let (result, _) = run(other, engine.as_mut(), Options::default()).unwrap();
        near(result.chi2, solved.chi2, 1e-6);
        for name in ["A_radius", "B_power", "background"] {
            near(found(&result, name).value, found(&solved, name).value, 1e-4);
            let sigma = |result: &FitResult| found(result, name).uncertainty.unwrap();
            near(sigma(&result), sigma(&solved), 1e-3);
        }
        let factor = result.parameters.iter().find(|p| p.name == "scale");
        let of_a = match factor {
            Some(scale_of_all) => scale_of_all.value * scale,
            None => found(&result, "A_scale").value,
        };
        near(of_a, found(&solved, "A_scale").value, 1e-4);
    }
}

/// Two contrasts of polydisperse spheres whose interaction is a factor of its own, beside lamellae,
/// smeared: sizes are shared, one follows from another, and the scales of both terms and the
/// background are solved for in each set.
#[test]
fn products_fit_together_with_sums_ties_distributions_and_resolution() {
    let model = Definition::parse("lamellar+sphere*hardsphere").unwrap();
    let set = |at: usize| {
        let q = grid(0.006, 0.2, 40 + 5 * at);
        let width = Polydispersity {
            parameter: model.parameter_index("B_radius").unwrap(),
            distribution: Distribution::Gaussian,
            points: 9,
            nsigma: 3.0,
            is_given: true,
        };
        let calculation = Calculation {
            polydispersity: vec![width],
            resolution: Some(Pinhole::new(Width::Relative(0.05)).resolution(&q).unwrap()),
            ..Calculation::new(model.clone(), Points::Curve(q.clone()))
        };
        let mut base = calculation.defaults();
        let solvent = [6.0, 3.0][at];
        let values = [("A_sld_solvent", solvent), ("B_sld_solvent", solvent)];
        let truth = [
            ("background", 0.05),
            ("A_scale", 0.001),
            ("A_thickness", 25.0),
            ("BC_scale", 0.02),
            ("B_radius", 45.0),
            ("B_radius_pd", 0.12),
            ("C_radius_effective", 54.0),
            ("C_volfraction", 0.2),
        ];
        for (name, value) in values {
            base.set(calculation.target(name).unwrap(), value);
        }
        let mut of_data = base.clone();
        for (name, value) in truth {
            of_data.set(calculation.target(name).unwrap(), value);
        }
        let exact = on_cpu(calculation.clone()).unwrap().evaluate(&[of_data]);
        let exact = exact.unwrap().remove(0);
        let sigma = exact.iter().map(|i| 0.01 * i).collect();
        DataSet {
            calculation,
            measured: measured(&q, exact, sigma),
            base,
        }
    };
    let sets = [set(0), set(1)];
    let free = [
        Free::within("A_thickness", 10.0, 60.0).from(30.0),
        Free::within("B_radius", 30.0, 70.0).from(40.0),
        Free::within("B_radius_pd", 0.05, 0.3).from(0.1),
        Free::within("C_volfraction", 0.05, 0.4).from(0.15),
        Free::anywhere("A_scale"),
        Free::anywhere("BC_scale"),
        Free::anywhere("background"),
    ];
    let shared = ["A_thickness", "B_radius", "B_radius_pd", "C_volfraction"];
    let tie = Tie::parse("C_radius_effective = 1.2*B_radius").unwrap();
    let of = Problem::joint(sets.to_vec(), &free, &shared.map(str::to_owned));
    let of = of.unwrap().tied(&[tie]).unwrap();
    let engines = sets.iter().map(|set| {
        let calculation = &set.calculation;
        (calculation, on_cpu(calculation.clone()).unwrap())
    });
    let mut engine = JointEngine::new(engines.collect());
    let (result, _) = run(&of, &mut engine, Options::default()).unwrap();
    assert!(result.converged && result.chi2 < 1e-6, "{result:?}");
    for (name, value) in [
        ("A_thickness", 25.0),
        ("B_radius", 45.0),
        ("B_radius_pd", 0.12),
        ("C_volfraction", 0.2),
        ("A_scale.1", 0.001),
        ("BC_scale.2", 0.02),
        ("background.2", 0.05),
    ] {
        near(found(&result, name).value, value, 1e-3);
    }
    assert_eq!(result.parameters.len(), 10);
}
