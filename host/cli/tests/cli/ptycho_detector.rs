//! Detectors that blur and have a background: simulated, reconstructed, resumed, predicted.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

const QUIET: [&str; 2] = ["--no-pictures", "--quiet"];

/// A folder with `scan.cxi`, 40 frames of 32 × 32 with a blur of 0.7 pixels and a background of 2
/// photons.
fn simulated() -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "40", "--photons", "1e5"];
    let detector = ["--overlap", "0.75", "--blur", "0.7", "--background", "2"];
    folder.simulate("scan.cxi", &[size, detector].concat());
    folder
}

fn json(folder: &TestFolder, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.path(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn run(folder: &TestFolder, output: &str, options: &[&str]) -> Reconstruction {
    folder
        .reconstruct(&[&["-o", output], &QUIET[..], options].concat())
        .well();
    results::read(&folder.path(output)).unwrap()
}

#[test]
fn a_background_is_found_written_predicted_and_taken_up_again() {
    let folder = simulated();
    let detector = ["--blur", "0.7", "--background", "uniform"];
    let engines = [
        "--engine",
        "lsqml:30",
        "--engine",
        "ml:10",
        "--set",
        "lsqml.batch=10",
    ];
    let outputs = ["--summary", "s.json", "--report", "r.html"];
    let found = run(
        &folder,
        "out.h5",
        &[&detector[..], &engines, &outputs].concat(),
    );
    let of = found.parts.detector.as_ref().unwrap();
    assert_eq!(of.blur, [0.7, 0.7]);
    let background = of.background.as_ref().unwrap();
    assert_eq!(background.dim(), (32, 32));
    let mean = background.mean().unwrap();
    assert!((mean / 2.0 - 1.0).abs() < 0.1, "{mean}");
    let summary = json(&folder, "s.json");
    assert_eq!(summary["detector"]["background"].as_f64(), Some(mean));
    let report = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(report.contains("Background of the detector") && report.contains("blurred by 0.7"));

    // The prediction has the whole model: R over all pixels is near that of the run.
    let command = ["ptycho", "predict", "out.h5", "scan.cxi", "-o", "model.cxi"];
    folder.run(&command).well();
    let options = Default::default();
    let [model, measured] = ["model.cxi", "scan.cxi"].map(|name| {
        warpstride::ptycho::io::scan::read(&folder.path(name), &options)
            .unwrap()
            .scan
    });
    let [model, measured] = [model, measured].map(|scan| scan.frames().unwrap().to_owned());
    let pairs = model.iter().zip(&measured);
    let sum: f64 = pairs
        .map(|(a, b)| f64::from(a.sqrt() - b.sqrt()).powi(2))
        .sum();
    let r_factor = sum / measured.iter().map(|v| f64::from(*v)).sum::<f64>();
    let [seen, free] = ["r_factor", "r_free"].map(|key| summary[key].as_f64().unwrap());
    // 5 % of the pixels are free.
    let expected = 0.95 * seen + 0.05 * free;
    assert!(
        (r_factor / expected - 1.0).abs() < 0.02,
        "{r_factor} {expected}"
    );

    // A run that starts from the result has its background from the beginning.
    let one = ["--engine", "lsqml:1", "--start", "out.h5"];
    let next = run(&folder, "next.h5", &[&detector[..], &one].concat());
    let next = next.parts.detector.unwrap().background.unwrap();
    assert_eq!(next, *background);
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let folder = simulated();
    let options = [
        "--blur",
        "0.7",
        "--background",
        "pixels",
        "--engine",
        "lsqml:8",
    ];
    let whole = run(&folder, "whole.h5", &options);
    let first = ["--checkpoint-every", "0", "--checkpoint", "c.checkpoint"];
    let result = run(&folder, "first.h5", &[&options[..], &first].concat());
    assert_eq!(result.parts, whole.parts);
    let resumed = ["--resume", "c.checkpoint"];
    if folder.path("c.checkpoint").exists() {
        let again = run(&folder, "again.h5", &resumed);
        assert_eq!((again.object, again.parts), (whole.object, whole.parts));
    }
}

/// On the emulator of a GPU too, in a run that begins with projections.
#[test]
fn the_emulator_finds_the_background_of_the_cpu() {
    let folder = TestFolder::new();
    let size = ["--frame", "16", "--positions", "12", "--photons", "1e5"];
    let detector = ["--overlap", "0.75", "--blur", "0.7", "--background", "2"];
    folder.simulate("scan.cxi", &[size, detector].concat());
    let options = [
        "--blur",
        "0.7",
        "--background",
        "uniform",
        "--set",
        "detector.background_from=4",
        "--engine",
        "dm:2",
        "--engine",
        "lsqml:5",
        "--engine",
        "ml:2",
    ];
    let [cpu, emulator] = ["cpu", "emulator"].map(|backend| {
        folder
            .reconstruct_on(backend, &[&options[..], &QUIET].concat())
            .well();
        let found = results::read(&folder.path("out.h5")).unwrap();
        std::fs::remove_file(folder.path("out.h5")).unwrap();
        found.parts.detector.unwrap()
    });
    assert_eq!(cpu.blur, emulator.blur);
    let [cpu, emulator] = [cpu, emulator].map(|of| of.background.unwrap().mean().unwrap());
    assert!(
        cpu > 0.0 && (emulator / cpu - 1.0).abs() < 1e-2,
        "{cpu} {emulator}"
    );
}

#[test]
fn wrong_values_are_refused_with_the_option() {
    let folder = simulated();
    for (options, expected) in [
        (&["--blur", "-1"][..], "--blur -1: expected 0 to 100 pixels"),
        (
            &["--background", "some"],
            "--background some: expected off, uniform, pixels or a number of photons",
        ),
        (
            &["--background", "-3"],
            "--background -3: expected off, uniform, pixels, or 0 to 1e9 photons",
        ),
    ] {
        let engine = ["-o", "out.h5", "--engine", "lsqml:1"];
        let run = folder.reconstruct(&[&engine, options].concat());
        assert!(run.err.contains(expected), "{}", run.err);
    }
    let known = ["--blur", "0.7", "--background", "2.0", "--engine", "dm:3"];
    let found = run(&folder, "known.h5", &known).parts.detector.unwrap();
    assert!(found.background.unwrap().iter().all(|b| *b == 2.0));
    let plain = run(&folder, "plain.h5", &["--engine", "lsqml:1"]);
    assert_eq!(plain.parts.detector, None);
    assert!(!plain.recipe.contains("detector"));
}

/// The background is not light of the probe, so a run goes on from a result with the power that it
/// has.
#[test]
fn a_start_with_a_strong_background_keeps_the_power_of_the_probe() {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "30", "--overlap", "0.75"];
    let light = ["--photons", "1e4", "--background", "50"];
    folder.simulate("scan.cxi", &[&size[..], &light].concat());
    for background in ["50", "uniform"] {
        let common = ["--background", background, "--set", "lsqml.batch=10"];
        let whole = [&common[..], &["--engine", "lsqml:30"]].concat();
        let first = run(&folder, "first.h5", &whole);
        let one = ["--engine", "lsqml:1", "--start", "first.h5"];
        let next = run(&folder, "next.h5", &[&common[..], &one].concat());
        let [before, after] =
            [&first, &next].map(|of| of.history.last().unwrap().r_factor.unwrap());
        assert!(after < 1.2 * before, "{background}: {before} {after}");
    }
}
