//! Variable probes: simulated drift, `--opr-modes`, results, prediction, start and resumption.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

fn drifting() -> TestFolder {
    let folder = TestFolder::new();
    let sizes = ["--frame", "32", "--positions", "30", "--overlap", "0.75"];
    let drift = ["--photons", "1e7", "--probe-drift", "0.05"];
    folder.simulate("scan.cxi", &[&sizes[..], &drift].concat());
    folder
}

/// Reconstructs to a file; its summary too.
fn run(folder: &TestFolder, output: &str, options: &[&str]) -> (Reconstruction, Value) {
    let fixed = ["-o", output, "--summary", "s.json", "--quiet"];
    folder.reconstruct(&[&fixed[..], options].concat()).well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary = serde_json::from_str(&text).unwrap();
    (results::read(&folder.path(output)).unwrap(), summary)
}

const LSQML: [&str; 4] = ["--engine", "lsqml:40", "--set", "lsqml.batch=10"];

#[test]
fn variations_are_found_reported_predicted_and_a_start() {
    let folder = drifting();
    let (plain, summary) = run(&folder, "plain.h5", &LSQML);
    assert!(plain.parts.variable_probe.is_none() && summary.get("variable_probe").is_none());
    assert!(!plain.recipe.contains("opr_"));
    let varied = ["--opr-modes", "3", "--report", "r.html"];
    let (found, summary) = run(&folder, "out.h5", &[&LSQML[..], &varied].concat());
    let variable = found.parts.variable_probe.as_ref().unwrap();
    assert_eq!((variable.count(), variable.coefficients.nrows()), (3, 30));
    assert!(found.recipe.contains("opr_modes = 3"), "{}", found.recipe);
    let r = |summary: &Value| summary["r_factor"].as_f64().unwrap();
    assert!(r(&summary) < 0.8 * plain.history[39].r_factor.unwrap());
    let shares = summary["variable_probe"]["power"].as_array().unwrap();
    assert_eq!(shares.len(), 3);
    assert!(shares[0].as_f64().unwrap() > 0.01, "{shares:?}");
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("Variations of the probe") && page.contains("Coefficients"));
    // The file alone has the model.
    let predicted = folder.run(&["ptycho", "predict", "out.h5", "scan.cxi", "-o", "m.cxi"]);
    predicted.well();
    let text = summary["r_factor"].as_f64().unwrap();
    let digits = format!("{text:.3e}");
    let line = predicted.out.lines().find(|line| line.starts_with('R'));
    assert!(line.is_some(), "{}: {digits}", predicted.out);
    // A run that starts from it begins where it ended, with fewer engines' iterations than to form
    // variations.
    let start = [
        "--start",
        "out.h5",
        "--opr-modes",
        "3",
        "--engine",
        "lsqml:3",
    ];
    let (next, _) = run(&folder, "next.h5", &start);
    let ended = found.history[39].r_factor.unwrap();
    assert!(next.history[0].r_factor.unwrap() < 1.1 * ended);
    assert_eq!(
        next.parts.variable_probe.as_ref().map(|of| of.count()),
        Some(3)
    );
    // Without opr_modes they are left out, and that is said.
    let options = [
        "-o",
        "less.h5",
        "--start",
        "out.h5",
        "--engine",
        "lsqml:1",
        "--no-pictures",
    ];
    let less = folder.reconstruct(&options);
    assert!(
        format!("{}{}", less.out, less.err).contains("left out, as the recipe has no opr_modes")
    );
    assert!(
        results::read(&folder.path("less.h5"))
            .unwrap()
            .parts
            .variable_probe
            .is_none()
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_with_variations_ends_with_the_same_bits() {
    let folder = drifting();
    let engines = [
        "--engine",
        "dm:4",
        "--engine",
        "lsqml:300",
        "--engine",
        "ml:2",
    ];
    let common = ["--opr-modes", "2", "--set", "opr_from=8", "--no-pictures"];
    let options = [&engines[..], &common].concat();
    let (whole, _) = run(&folder, "whole.h5", &options);
    let output = folder.interrupt_at(
        folder
            .command()
            .args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"])
            .args([
                "--backend",
                "cpu",
                "--json-progress",
                "--checkpoint-every",
                "0",
            ])
            .args(&options),
        "\"iteration\":12,",
    );
    assert_eq!(output.code, Some(130), "{output:?}");
    let part = results::read(&folder.path("out.h5")).unwrap();
    assert!(part.parts.variable_probe.is_some() && part.history.len() < 306);
    let resumed = [
        "-o",
        "out.h5",
        "--quiet",
        "--no-pictures",
        "--resume",
        "out.checkpoint",
    ];
    folder.reconstruct(&resumed).well();
    let resumed = results::read(&folder.path("out.h5")).unwrap();
    assert_eq!(resumed.history.len(), 306);
    assert!(resumed.object == whole.object && resumed.probe == whole.probe);
    assert!(resumed.parts == whole.parts);
}

#[test]
fn what_cannot_be_computed_is_refused_and_what_has_no_effect_is_said() {
    let folder = TestFolder::with_scan();
    let reconstruct = |options: &[&str]| {
        let fixed = ["-o", "out.h5", "--no-pictures"];
        folder.reconstruct(&[&fixed[..], options].concat())
    };
    let engines = [
        "--engine",
        "lsqml:12",
        "--engine",
        "dm:2",
        "--opr-modes",
        "2",
    ];
    reconstruct(&engines).refused(2, &["--opr-modes 2", "dm after lsqml"]);
    reconstruct(&["--engine", "lsqml:1", "--opr-modes", "17"])
        .refused(2, &["--opr-modes 17", "0 to 16"]);
    let set = [
        "--engine",
        "lsqml:1",
        "--opr-modes",
        "1",
        "--set",
        "lsqml.regions=4",
    ];
    reconstruct(&set).refused(2, &["lsqml.regions", "1 with opr_modes"]);
    let said = reconstruct(&["--engine", "lsqml:2", "--opr-modes", "2"]);
    said.well();
    let text = format!("{}{}", said.out, said.err);
    assert!(text.contains("opr_modes = 2 has no effect"), "{text}");
    let scan = ["ptycho", "simulate", "a.cxi", "--probe-drift", "0.7"];
    folder.run(&scan).refused(2, &["--probe-drift", "0 to 0.5"]);
}

/// A projection after the first engine would drop the variations of the result.
#[test]
fn a_start_with_variations_refuses_later_projections() {
    let folder = drifting();
    let varied = ["--opr-modes", "1", "--no-pictures"];
    run(
        &folder,
        "out.h5",
        &[&["--engine", "lsqml:12"][..], &varied].concat(),
    );
    let engines = ["--engine", "lsqml:5", "--engine", "raar:20"];
    let start = ["-o", "next.h5", "--start", "out.h5"];
    let refused = folder.reconstruct(&[&start[..], &varied, &engines].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("raar after lsqml"), "{}", refused.err);
    // More variations than the result has: that no iteration forms them is said.
    let more = ["--opr-modes", "3", "--engine", "lsqml:1", "--no-pictures"];
    let said = folder.reconstruct(&[&start[..], &more].concat());
    said.well();
    let text = format!("{}{}", said.out, said.err);
    assert!(
        text.contains("other 2 of opr_modes = 3 are not formed"),
        "{text}"
    );
    // A run that updates variations forms them.
    let more = ["--opr-modes", "3", "--engine", "lsqml:8", "--no-pictures"];
    let formed = ["--set", "opr_from=3"];
    let said = folder.reconstruct(&[&start[..], &more, &formed].concat());
    said.well();
    let text = format!("{}{}", said.out, said.err);
    assert!(
        text.contains("forms the other 2 of opr_modes = 3"),
        "{text}"
    );
    let next = results::read(&folder.path("next.h5")).unwrap();
    let power = next.parts.variable_probe.unwrap().power();
    assert!(
        power.len() == 3 && power.iter().all(|p| *p > 0.0),
        "{power}"
    );
    // The probe of another source has no variations of the result.
    let source = ["--set", "probe.source=mean-pattern", "--engine", "lsqml:1"];
    let others = ["--opr-modes", "1", "--no-pictures"];
    let said = folder.reconstruct(&[&start[..], &others, &source].concat());
    said.well();
    let text = format!("{}{}", said.out, said.err);
    assert!(
        text.contains("1 variation of the result's probe left out"),
        "{text}"
    );
    assert!(text.contains("opr_modes = 1 has no effect"), "{text}");
}
