//! `sas` as a user has it: what the tests of models and of the program's texts and files share.

mod intensities;
mod told;

use super::support::{Place, Said, skipped};
use serde_json::Value;
use std::path::PathBuf;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter()
        .map(|v| v.as_f64().unwrap_or(f64::NAN))
        .collect()
}

/// Evaluates on the CPU.
fn evaluate(place: &Place, model: &str, options: &[&str]) -> Said {
    let fixed = ["sas", "evaluate", model, "--backend", "cpu"];
    place.run(&[&fixed, options].concat())
}

fn evaluated(place: &Place, model: &str, options: &[&str]) -> Value {
    let said = evaluate(place, model, &[&["--json"], options].concat());
    said.well();
    json(&said.out)
}

fn intensities(place: &Place, model: &str, options: &[&str]) -> Vec<f64> {
    numbers(&evaluated(place, model, options)["intensity"])
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!(
            (a - b).abs() <= relative * b.abs(),
            "{found:?} {expected:?}"
        );
    }
}

/// The folder with data that are not in the repository, if it is there.
pub(crate) fn shared(what: &str, name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        skipped(what, "$WARPSTRIDE_SHARED_DATA is not set");
        return None;
    };
    let path = PathBuf::from(folder).join("sas").join(name);
    if !path.exists() {
        skipped(what, &format!("{} is not there", path.display()));
        return None;
    }
    Some(path)
}
