//! The published check values of the models (`sas/published-values.json` in the folder that
//! WARPSTRIDE_SHARED_DATA names): intensities of one particle on absolute scale, in one and two dimensions, volumes
//! and effective radii. Polydispersity and products are the host's and tested there. By the file's rule,
//! |ΔI| < 1.5·10^(⌈log₁₀|I|⌉ − 5). Orientation averages by Gauss–Legendre rules of 500 or 5000 and 40² or 150² points.

#![cfg(feature = "sas")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "skips are said aloud, trials are printed"
)]

use serde_json::Value;
use std::collections::HashMap;
use warpstride_kernels::sas::catalogue::{AnyModel, model, models};
use warpstride_kernels::sas::model::{Kind, Symmetry, Wave};

type Settings = HashMap<String, f64>;

/// Nodes and weights on 0 … 1.
fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (mut p, mut before) = (1.0, 0.0);
                for k in 0..n {
                    let k = k as f64;
                    (p, before) = (((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0), p);
                }
                slope = n as f64 * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
            }
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

fn values(of: &dyn AnyModel, set: &Settings) -> Vec<f64> {
    let mut values = Vec::new();
    for row in of
        .info()
        .parameters
        .iter()
        .filter(|row| row.kind != Kind::Orientation)
    {
        for i in 1..=row.length {
            let name = if row.length == 1 {
                row.name.to_owned()
            } else {
                format!("{}{i}", row.name)
            };
            values.push(set.get(&name).copied().unwrap_or(row.default));
        }
    }
    values
}

fn angle(of: &dyn AnyModel, set: &Settings, name: &str) -> f64 {
    let row = of.info().parameters.iter().find(|row| row.name == name);
    row.map_or(0.0, |row| set.get(name).copied().unwrap_or(row.default))
        .to_radians()
}

/// ⟨F⟩, ⟨F²⟩ at |q|.
fn averaged(of: &dyn AnyModel, values: &[f64], q: f64) -> (f64, f64) {
    let zero = Wave {
        q,
        across: 0.0,
        along: 0.0,
        a: 0.0,
        b: 0.0,
        c: 0.0,
    };
    let (mut f1, mut f2) = (0.0, 0.0);
    let mut add = |wave: Wave<f64>, weight: f64| {
        let form = of.form(&wave, values);
        f1 += weight * form.amplitude;
        f2 += weight * form.intensity;
    };
    match of.symmetry() {
        Symmetry::Isotropic => add(zero, 1.0),
        Symmetry::Axial => {
            // As the rule of the averages has it: more points for what oscillates more.
            let waves = q * of.largest_half_size(values);
            for (u, weight) in gauss_legendre(if waves > 500.0 { 5000 } else { 500 }) {
                add(
                    Wave {
                        across: q * (1.0 - u * u).sqrt(),
                        along: q * u,
                        ..zero
                    },
                    weight,
                );
            }
        }
        Symmetry::Triaxial => {
            let few = q * of.largest_half_size(values) < 30.0;
            let rule = gauss_legendre(if few { 40 } else { 150 });
            for (u, outer) in &rule {
                for (t, inner) in &rule {
                    let (sin, cos) = (t * std::f64::consts::FRAC_PI_2).sin_cos();
                    let across = q * (1.0 - u * u).sqrt();
                    add(
                        Wave {
                            a: across * cos,
                            b: across * sin,
                            c: q * u,
                            ..zero
                        },
                        outer * inner,
                    );
                }
            }
        }
    }
    (f1, f2)
}

/// F² at (qx, qy): the particle is turned by ψ about its axis c, then by θ, then by φ about the beam.
fn oriented(of: &dyn AnyModel, values: &[f64], set: &Settings, (qx, qy): (f64, f64)) -> f64 {
    let [theta, phi, psi] = ["theta", "phi", "psi"].map(|name| angle(of, set, name));
    let turned =
        |x: f64, y: f64, by: f64| (x * by.cos() + y * by.sin(), y * by.cos() - x * by.sin());
    let q = qx.hypot(qy);
    // Into the particle's frame: back by φ, θ, ψ.
    let (x, y) = turned(qx, qy, phi);
    let (x, z) = (x * theta.cos(), x * theta.sin());
    let (a, b) = turned(x, y, psi);
    let c = z;
    let wave = match of.symmetry() {
        Symmetry::Isotropic => Wave {
            q,
            across: 0.0,
            along: 0.0,
            a: 0.0,
            b: 0.0,
            c: 0.0,
        },
        Symmetry::Axial => Wave {
            q,
            across: a.hypot(b),
            along: c,
            a: 0.0,
            b: 0.0,
            c: 0.0,
        },
        Symmetry::Triaxial => Wave {
            q,
            across: 0.0,
            along: 0.0,
            a,
            b,
            c,
        },
    };
    of.form(&wave, values).intensity
}

fn agrees(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1.5 * 10_f64.powf(expected.abs().log10().ceil() - 5.0)
        || found == expected
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

#[test]
fn published_values() {
    let Some(folder) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        eprintln!("SKIPPED: WARPSTRIDE_SHARED_DATA is not set");
        return;
    };
    let path = std::path::Path::new(&folder).join("sas/published-values.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: {} cannot be read", path.display());
        return;
    };
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let only = std::env::var("SAS_MODEL").ok();
    let (mut checked, mut wrong) = (0, Vec::new());
    for of in models() {
        let name = of.info().name;
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let Some(entry) = file["models"].get(name) else {
            continue;
        };
        table(*of, entry, &mut wrong);
        for test in entry["tests"].as_array().into_iter().flatten() {
            let pars = test["pars"].as_object().expect("pars");
            let elsewhere = |key: &str| {
                key.ends_with("_pd")
                    || key.starts_with('@')
                    || key.starts_with("up_")
                    || key.contains("_M0")
            };
            let spread =
                |(key, value): (&String, &Value)| elsewhere(key) && value.as_f64() != Some(0.0);
            if pars.iter().any(spread) {
                continue;
            }
            let set: Settings = pars
                .iter()
                .filter_map(|(k, v)| Some((k.clone(), v.as_f64()?)))
                .collect();
            let values = values(*of, &set);
            let volume = of.volume(&values);
            let scale = set.get("scale").copied().unwrap_or(1.0);
            let background = set
                .get("background")
                .copied()
                .unwrap_or(of.info().background);
            let mut check = |what: String, found: f64, expected: f64| {
                if expected.is_nan() {
                    return;
                }
                checked += 1;
                if !agrees(found, expected) {
                    wrong.push(format!(
                        "{name} {what}: found {found}, expected {expected} ({pars:?})"
                    ));
                }
            };
            match test["kind"].as_str() {
                Some("Iq") => {
                    for (q, expected) in numbers(&test["q"]).into_iter().zip(numbers(&test["I"])) {
                        let found =
                            scale * averaged(*of, &values, q).1 / volume.material + background;
                        check(format!("I({q})"), found, expected);
                    }
                }
                Some("Iqxy") => {
                    let points = test["q"].as_array().expect("q");
                    for (q, expected) in points.iter().zip(numbers(&test["I"])) {
                        let q = numbers(q);
                        let found = scale * oriented(*of, &values, &set, (q[0], q[1]))
                            / volume.material
                            + background;
                        check(format!("I({q:?})"), found, expected);
                    }
                }
                Some("Fq") => {
                    let q = numbers(&test["q"])[0];
                    let (f1, f2) = averaged(*of, &values, q);
                    check("F1".into(), f1 * 1.0, numbers(&test["F1"])[0]);
                    check("F2".into(), f2 * 1.0, numbers(&test["F2"])[0]);
                    let mode = set.get("radius_effective_mode").map_or(1, |m| *m as u32);
                    let radius = if mode == 0 {
                        0.0
                    } else {
                        of.effective_radius(&values, mode)
                    };
                    check("R_eff".into(), radius, numbers(&test["R_eff"])[0]);
                    check(
                        "volume".into(),
                        volume.material,
                        numbers(&test["volume"])[0],
                    );
                    check(
                        "ratio".into(),
                        volume.outline / volume.material,
                        numbers(&test["volume_ratio"])[0],
                    );
                }
                _ => {}
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {checked} values are off:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(checked > 0 || only.is_some(), "nothing was checked");
}

/// Names, defaults and lengths as published.
fn table(of: &dyn AnyModel, entry: &Value, wrong: &mut Vec<String>) {
    let name = of.info().name;
    for row in entry["parameters"].as_array().into_iter().flatten() {
        let full = row["name"].as_str().expect("a name");
        let base = full.split('[').next().unwrap_or(full);
        let default = row["default"].as_f64().unwrap_or(f64::NAN);
        if base == "scale" {
            continue;
        }
        if base == "background" {
            if default != of.info().background {
                wrong.push(format!(
                    "{name}: background {}, published {default}",
                    of.info().background
                ));
            }
            continue;
        }
        match of.info().parameters.iter().find(|r| r.name == base) {
            None => wrong.push(format!("{name}: no parameter {base}")),
            Some(r) if r.default != default && !default.is_nan() => {
                wrong.push(format!(
                    "{name}: {base} is {}, published {default}",
                    r.default
                ));
            }
            Some(_) => {}
        }
    }
}

/// For trials by hand: SAS_TRIAL='cylinder radius=30 q=0.01 q=0.1' prints intensities.
#[test]
fn trial() {
    let Ok(typed) = std::env::var("SAS_TRIAL") else {
        return;
    };
    let mut words = typed.split_whitespace();
    let of = model(words.next().expect("a model")).expect("a known model");
    let (mut set, mut points) = (Settings::new(), Vec::new());
    for word in words {
        let (key, value) = word.split_once('=').expect("key=value");
        let value: f64 = value.parse().expect("a number");
        if key == "q" {
            points.push(value)
        } else {
            let _ = set.insert(key.to_owned(), value);
        }
    }
    let values = values(of, &set);
    for q in points {
        let scale = set.get("scale").copied().unwrap_or(1.0);
        let background = set
            .get("background")
            .copied()
            .unwrap_or(of.info().background);
        println!(
            "{q} {:.12e}",
            scale * averaged(of, &values, q).1 / of.volume(&values).material + background
        );
    }
}
