//! Published check values of the models (`sas/published-values.json` in the folder
//! WARPSTRIDE_SHARED_DATA) compared with complete calculations: polydispersity, two dimensions,
//! magnetism, products and their factors. The tolerance is that of the file, |ΔI| <
//! 1.5·10^(⌈log₁₀|I|⌉ − 5). Values for single particles are tested next to the models.

use serde_json::Value;
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::plan::Plan;
use warpstride::sas::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Vector,
};
use warpstride_tests::{shared_data, skipped};

pub(crate) fn published() -> Option<Value> {
    let text = match shared_data("sas/published-values.json").map(std::fs::read_to_string) {
        Ok(text) => text.expect("a readable file"),
        Err(why) => {
            skipped("published values of scattering models", &why);
            return None;
        }
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

/// A published calculation with its intensities.
pub(crate) struct Check {
    pub(crate) what: String,
    pub(crate) calculation: Calculation,
    pub(crate) vector: Vector,
    pub(crate) expected: Vec<f64>,
    /// ⟨F⟩, R_eff, volume of the material, ratio of volumes; for `Fq` only, NaN if not published.
    pub(crate) averages: Option<[f64; 4]>,
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list
            .iter()
            .map(|v| v.as_f64().unwrap_or(f64::NAN))
            .collect(),
        other => vec![other.as_f64().unwrap_or(f64::NAN)],
    }
}

pub(crate) fn agrees(found: f64, expected: f64) -> bool {
    found == expected
        || (found - expected).abs() < 1.5 * 10_f64.powf(expected.abs().log10().ceil() - 5.0)
}

/// The calculation of a published test; `None` if the model is not implemented.
fn check_of(model: &str, test: &Value) -> Option<Check> {
    let pars = test["pars"].as_object().expect("pars");
    let name = match pars.get("@S") {
        Some(structure) => format!("{model}@{}", structure.as_str().expect("a name")),
        None => model.to_owned(),
    };
    let kind = test["kind"].as_str().expect("a kind");
    let mut definition = Definition::parse(&name).ok()?;
    if pars.keys().any(|key| key.ends_with("_M0")) {
        definition = definition.with_magnetism();
    }
    let points = match kind {
        "Iqxy" => {
            let pairs = test["q"].as_array().expect("pairs").iter().map(numbers);
            let (qx, qy) = pairs.map(|pair| (pair[0], pair[1])).unzip();
            Points::Pixels { qx, qy }
        }
        _ => Points::Curve(numbers(&test["q"])),
    };
    let (mut polydispersity, mut widths) = (Vec::new(), Vec::new());
    let mut values = definition.defaults();
    let mut mode = 1.0;
    for (key, value) in pars {
        let number = value.as_f64().unwrap_or(f64::NAN);
        if let Some(of) = key.strip_suffix("_pd") {
            if number > 0.0 {
                // Without a number of points the published values are monodisperse.
                let points = pars
                    .get(&format!("{key}_n"))
                    .and_then(Value::as_u64)
                    .unwrap_or(0);
                if points > 0 {
                    polydispersity.push(Polydispersity {
                        is_given: true,
                        parameter: definition.parameter_index(of).expect("a parameter"),
                        distribution: Distribution::Gaussian,
                        points: points as usize,
                        nsigma: 3.0,
                    });
                    widths.push(number);
                }
            }
        } else if key == "radius_effective_mode" && definition.structure().is_none() {
            mode = number;
        } else if key != "@S" && !key.ends_with("_pd_n") {
            values[definition.parameter_index(key).expect(key)] = number;
        }
    }
    let mut expected = numbers(test.get("I").unwrap_or(&Value::Null));
    let mut averages = None;
    if kind == "Fq" {
        // ⟨F²⟩ is I with scale ⟨V⟩ and no background.
        let one = |key: &str| numbers(&test[key])[0];
        expected = vec![one("F2")];
        averages = Some([
            one("F1"),
            if mode == 0.0 { f64::NAN } else { one("R_eff") },
            one("volume"),
            one("volume_ratio"),
        ]);
        if mode > 1.0 {
            averages = averages.map(|a| [a[0], f64::NAN, a[2], a[3]]);
        }
    }
    let mut calculation = Calculation::new(definition, points);
    calculation.polydispersity = polydispersity;
    Some(Check {
        what: format!(
            "{name} {kind} {}",
            serde_json::to_string(pars).expect("JSON")
        ),
        calculation,
        vector: Vector { values, widths },
        expected,
        averages,
    })
}

/// All published calculations of implemented models.
pub(crate) fn checks(file: &Value) -> Vec<Check> {
    let models = file["models"].as_object().expect("models");
    models
        .iter()
        .flat_map(|(model, entry)| {
            let tests = entry["tests"].as_array().expect("tests");
            tests.iter().filter_map(|test| check_of(model, test))
        })
        .collect()
}

/// Appends a message to `wrong` for each intensity that does not agree.
pub(crate) fn compare(check: &Check, found: &[f64], wrong: &mut Vec<String>) {
    for (i, (found, expected)) in found.iter().zip(&check.expected).enumerate() {
        if !expected.is_nan() && !agrees(*found, *expected) {
            wrong.push(format!(
                "{}, point {i}: found {found}, expected {expected}",
                check.what
            ));
        }
    }
}

#[test]
fn published_values_are_reproduced_on_the_cpu() {
    let Some(file) = published() else { return };
    let mut wrong = Vec::new();
    let mut values = 0;
    for mut check in checks(&file) {
        if let Some([amplitude, radius, volume, ratio]) = check.averages {
            let plan = Plan::new(&check.calculation, &check.vector).expect("a plan");
            let form = check.calculation.definition.form();
            let mut near = |what: &str, found: f64, expected: f64| {
                if !expected.is_nan() && !agrees(found, expected) {
                    wrong.push(format!(
                        "{}: {what} {found}, expected {expected}",
                        check.what
                    ));
                }
            };
            near("volume", plan.averages.material, volume);
            near(
                "ratio",
                plan.averages.outline / plan.averages.material,
                ratio,
            );
            if !radius.is_nan() && !form.info().radius_modes.is_empty() {
                near(
                    "radius",
                    form.effective_radius(plan.particles.base(), 1),
                    radius,
                );
            }
            near("⟨F⟩", amplitude_of(&check), amplitude);
            check.vector.values[0] = plan.averages.material;
            check.vector.values[1] = 0.0;
        }
        values += check.expected.iter().filter(|i| !i.is_nan()).count();
        let mut engine = CpuEngine::new(check.calculation.clone());
        match engine.evaluate(std::slice::from_ref(&check.vector)) {
            Ok(found) => compare(&check, &found[0], &mut wrong),
            Err(error) => wrong.push(format!("{}: {error}", check.what)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} values do not agree:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(values > 50, "only {values} values were checked");
}

/// ⟨F⟩ from a product with β: I is linear in S, so two concentrations of hard spheres with a given
/// radius determine ⟨F⟩² = (I₁/φ₁ − I₂/φ₂)⟨V⟩/(S₁ − S₂).
fn amplitude_of(check: &Check) -> f64 {
    let form = check.calculation.definition.name();
    let Ok(definition) = Definition::parse(&format!("{form}@hardsphere")) else {
        return f64::NAN;
    };
    if definition.parameter_index("structure_factor_mode").is_err() {
        return f64::NAN;
    }
    let mut calculation = Calculation::new(definition.clone(), check.calculation.points.clone());
    calculation.polydispersity = check.calculation.polydispersity.clone();
    let mut values = definition.defaults();
    for (row, value) in check
        .calculation
        .definition
        .rows()
        .iter()
        .zip(&check.vector.values)
    {
        values[definition
            .parameter_index(&row.name)
            .expect("the form factor's")] = *value;
    }
    values[0] = 1.0;
    values[1] = 0.0;
    values[definition
        .parameter_index("structure_factor_mode")
        .expect("β")] = 1.0;
    if let Ok(index) = definition.parameter_index("radius_effective_mode") {
        values[index] = 0.0;
    }
    values[definition
        .parameter_index("radius_effective")
        .expect("a radius")] = 12.0;
    let mut at = |fraction: f64| {
        values[definition.parameter_index("volfraction").expect("φ")] = fraction;
        let vector = Vector {
            values: values.clone(),
            widths: check.vector.widths.clone(),
        };
        let plan = Plan::new(&calculation, &vector).expect("a plan");
        let Points::Curve(q) = &calculation.points else {
            panic!("⟨F⟩ is of curves")
        };
        let s = plan.product.as_ref().expect("S").structure_factors(q)[0];
        let mut engine = CpuEngine::new(calculation.clone());
        let found = engine.evaluate(&[vector]).expect("intensities")[0][0];
        (found * plan.averages.material / fraction, s)
    };
    let ((i1, s1), (i2, s2)) = (at(0.45), at(0.05));
    ((i1 - i2) / (s1 - s2)).max(0.0).sqrt()
}
