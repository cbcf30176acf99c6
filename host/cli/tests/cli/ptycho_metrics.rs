//! `--metrics-every`, with the real program: history, JSON lines, report, result, and what is
//! refused.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

const ENGINES: [&str; 4] = ["--engine", "dm:23", "--engine", "raar:12"];

/// The result of a reconstruction, its summary and its lines of progress.
fn reconstructed(folder: &TestFolder, options: &[&str]) -> (Reconstruction, Value, Vec<Value>) {
    let fixed = ["-o", "out.h5", "--summary", "s.json", "--report", "r.html"];
    let output = folder.reconstruct(&[&fixed[..], &["--json-progress"], options].concat());
    output.well();
    let lines = output.out.lines();
    let lines = lines.map(|line| serde_json::from_str(line).unwrap());
    let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
    (
        results::read(&folder.path("out.h5")).unwrap(),
        serde_json::from_str(&summary).unwrap(),
        lines.collect(),
    )
}

/// Iterations with all metrics; no entry may have null, or some of the metrics only.
fn complete(entries: &[Value]) -> Vec<u64> {
    let has_all = |entry: &&Value| {
        assert!(entry["err_fourier"].is_f64(), "{entry}");
        let metrics = ["err_exit", "err_phot", "r_factor", "r_free"].map(|key| entry.get(key));
        let known = metrics.iter().flatten().filter(|v| v.is_f64()).count();
        assert_eq!(known, metrics.iter().flatten().count(), "{entry}");
        assert!(known == 0 || known == 4, "{entry}");
        known > 0
    };
    let entries = entries.iter().filter(has_all);
    entries.map(|e| e["iteration"].as_u64().unwrap()).collect()
}

#[test]
fn metrics_are_in_every_tenth_iteration_and_change_nothing() {
    let folder = TestFolder::with_scan();
    let with = |options: &[&str]| {
        let fixed = ["--free-pixels", "0.02"];
        reconstructed(&folder, &[&ENGINES[..], &fixed, options].concat())
    };
    let report = || std::fs::read_to_string(folder.path("r.html")).unwrap();
    let (all, summary_of_all, _) = with(&["--metrics-every", "1"]);
    assert!(all.history.iter().all(|entry| entry.r_free.is_some()));
    assert!(!report().contains("were computed in"));
    let (found, summary, lines) = with(&[]);
    assert!(report().contains("were computed in 7 of 35 iterations"));
    assert_eq!((&found.object, &found.probe), (&all.object, &all.probe));
    let expected = [1, 10, 20, 23, 24, 30, 35];
    assert_eq!(complete(summary["history"].as_array().unwrap()), expected);
    assert_eq!(complete(&lines[1..36]), expected);
    for (found, all) in found.history.iter().zip(&all.history) {
        let known = expected.contains(&(found.iteration as u64));
        let metrics = |of: &warpstride::ptycho::data::HistoryEntry| {
            [of.err_exit, of.err_phot, of.r_factor, of.r_free]
        };
        let expected = metrics(all).map(|metric| metric.filter(|_| known));
        assert_eq!(metrics(found), expected);
        assert_eq!(found.err_fourier, all.err_fourier);
    }
    for key in ["err_fourier", "err_exit", "err_phot", "r_factor", "r_free"] {
        assert!(
            summary[key].is_f64() && summary[key] == summary_of_all[key],
            "{key}"
        );
    }
    assert!(
        found.recipe.contains("metrics_every = 10"),
        "{}",
        found.recipe
    );
}

#[test]
fn a_recipe_and_set_choose_the_iterations() {
    let folder = TestFolder::with_scan();
    std::fs::write(
        folder.path("r.toml"),
        "metrics_every = 4\nfree_pixels = 0.1\n",
    )
    .unwrap();
    let with = |options: &[&str]| {
        let fixed = ["--recipe", "r.toml", "--engine", "ap:9"];
        let (_, summary, _) = reconstructed(&folder, &[&fixed, options].concat());
        complete(summary["history"].as_array().unwrap())
    };
    assert_eq!(with(&[]), [1, 4, 8, 9]);
    assert_eq!(with(&["--metrics-every", "3"]), [1, 3, 6, 9]);
    assert_eq!(with(&["--set", "metrics_every=7"]), [1, 7, 9]);
}

#[test]
fn values_out_of_range_are_refused_in_one_sentence() {
    let folder = TestFolder::with_scan();
    let refused = |options: &[&str], expected: &str| {
        let output = folder.reconstruct(&[&["-o", "out.h5"], options].concat());
        output.refused(2, &[expected]);
        assert_eq!(output.err.trim_end().lines().count(), 1, "{}", output.err);
    };
    refused(
        &["--metrics-every", "0"],
        "--metrics-every 0: expected 1 to 10000000",
    );
    refused(
        &["--set", "metrics_every=10000001"],
        "--set metrics_every=10000001: expected 1 to 10000000",
    );
    for wrong in ["-1", "1.5", "often", ""] {
        let option = format!("--metrics-every={wrong}");
        let output = folder.reconstruct(&["-o", "out.h5", &option]);
        output.refused(2, &["--metrics-every"]);
    }
    std::fs::write(folder.path("r.toml"), "metrics_every = 0\n").unwrap();
    folder
        .reconstruct(&["-o", "out.h5", "--recipe", "r.toml"])
        .refused(
            1,
            &["r.toml: line 1: metrics_every: expected 1 to 10000000, found 0"],
        );
    folder
        .reconstruct(&["-o", "out.h5", "--resume", "c", "--metrics-every", "5"])
        .refused(2, &["--resume", "--metrics-every"]);
    assert_eq!(folder.names(), ["r.toml", "scan.cxi"]);
}

#[test]
fn an_interval_without_effect_is_noted() {
    let folder = TestFolder::with_scan();
    let noted = |options: &[&str]| {
        let fixed = ["-o", "out.h5", "--no-pictures", "--metrics-every", "5"];
        let output = folder.reconstruct(&[&fixed, options].concat());
        output.well();
        output
            .out
            .contains("note: metrics_every = 5 has no effect: ")
    };
    assert!(noted(&["--engine", "lsqml:2"]));
    let free = ["--free-pixels", "0.1"];
    assert!(noted(
        &[&["--engine", "dm:2", "--stop", "auto"][..], &free].concat()
    ));
    assert!(!noted(&["--engine", "dm:2", "--engine", "lsqml:2"]));
}
