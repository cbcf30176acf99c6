//! The `sas` subcommands: helpers shared by the tests of models and of printed text and files.

mod intensities;
mod output_files;

use super::support::{Output, TestFolder, skipped};
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
fn evaluate(folder: &TestFolder, model: &str, options: &[&str]) -> Output {
    let fixed = ["sas", "evaluate", model, "--backend", "cpu"];
    folder.run(&[&fixed, options].concat())
}

fn evaluated(folder: &TestFolder, model: &str, options: &[&str]) -> Value {
    let output = evaluate(folder, model, &[&["--json"], options].concat());
    output.well();
    json(&output.out)
}

fn intensities(folder: &TestFolder, model: &str, options: &[&str]) -> Vec<f64> {
    numbers(&evaluated(folder, model, options)["intensity"])
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

/// The folder with data that are not in the repository, if it is available.
pub(crate) fn shared_folder(what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WARPSTRIDE_SHARED_DATA").map(PathBuf::from);
    if folder.is_none() {
        skipped(what, "$WARPSTRIDE_SHARED_DATA is not set");
    }
    folder
}

/// A file of small-angle scattering in that folder.
pub(crate) fn shared(what: &str, name: &str) -> Option<PathBuf> {
    let path = shared_folder(what)?.join("sas").join(name);
    if !path.exists() {
        skipped(what, &format!("{} does not exist", path.display()));
        return None;
    }
    Some(path)
}
