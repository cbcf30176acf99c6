//! Slices of thick specimens: simulated, reconstructed, compared, predicted and resumed; what they
//! do not go with is refused.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::io::results;

const QUIET: [&str; 1] = ["--quiet"];

/// A folder with `scan.cxi`, 40 frames of 32 × 32 of two slices.
fn simulated(more: &[&str]) -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "40", "--overlap", "0.75"];
    folder.simulate("scan.cxi", &[&size, &["--slices", "2"][..], more].concat());
    folder
}

fn json(folder: &TestFolder, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.path(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn two_slices_and_their_distance_are_found() {
    for (beam, distance, start) in [
        (&[][..], 20e-6, "26um"),
        (&["--electrons", "--slice-distance", "30nm"], 30e-9, "21nm"),
    ] {
        let folder = simulated(beam);
        let options = [
            "-o",
            "result.h5",
            "--engine",
            "lsqml:80",
            "--set",
            "lsqml.batch=20",
            "--slices",
            "2",
            "--slice-distance",
            start,
            "--refine-slice-distance",
            "--summary",
            "s.json",
            "--report",
            "r.html",
        ];
        folder.reconstruct(&[&options, &QUIET[..]].concat()).well();
        let summary = json(&folder, "s.json");
        let slices = &summary["slices"];
        assert_eq!(slices["count"], 2);
        let found = slices["distances"][0].as_f64().unwrap();
        assert!((found / distance - 1.0).abs() < 0.1, "{slices}");
        assert!((slices["start_distances"][0].as_f64().unwrap() / distance - 1.0).abs() > 0.29);
        let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
        assert!(page.contains("Phase of slice 2") && page.contains("at the start"));
        let result = results::read(&folder.path("result.h5")).unwrap();
        let stack = result.parts.slices.as_ref().unwrap();
        assert_eq!(stack.distances[0], found);
        for (a, b) in stack.product().iter().zip(&result.object) {
            assert!((a - b).norm() < 1e-5 * (1.0 + b.norm()));
        }
        let compared = folder.run(&["ptycho", "compare", "result.h5", "scan.cxi", "--json"]);
        compared.well();
        let compared: Value = serde_json::from_str(&compared.out).unwrap();
        let of_slices = compared["slices"].as_array().unwrap();
        assert_eq!(of_slices.len(), 2);
        for slice in of_slices {
            assert!(
                slice["relative_l2"].as_f64().unwrap() < 0.3,
                "{}",
                slice["relative_l2"]
            );
        }
        let text = folder.run(&["ptycho", "compare", "result.h5", "scan.cxi"]);
        assert!(text.out.contains("\nslice 2\n"), "{}", text.out);
        // The prediction has the waves between the slices.
        let predicted = [
            "ptycho",
            "predict",
            "result.h5",
            "scan.cxi",
            "-o",
            "model.cxi",
        ];
        let predicted = folder.run(&predicted);
        predicted.well();
        let r_factor = summary["r_factor"].as_f64().unwrap();
        let line = predicted.out.lines().find(|line| line.starts_with("R "));
        let printed: f64 = line.unwrap()[1..].trim().parse().unwrap();
        assert!(
            (printed / r_factor - 1.0).abs() < 0.01,
            "{printed} {r_factor}"
        );
    }
}

#[test]
fn a_run_goes_on_from_a_checkpoint_and_from_a_result() {
    let folder = simulated(&[]);
    let common = [
        "--set",
        "lsqml.batch=20",
        "--slices",
        "2",
        "--slice-distance",
        "24um",
    ];
    let refined = [
        "--refine-slice-distance",
        "--set",
        "slices.refine_from=2",
        "--no-pictures",
    ];
    let options = [&common[..], &refined, &QUIET].concat();
    let run = |output: &str, more: &[&str]| {
        folder
            .reconstruct(&[&["-o", output], more, &options].concat())
            .well();
        results::read(&folder.path(output)).unwrap()
    };
    let whole = run("whole.h5", &["--engine", "lsqml:8"]);
    let saving = [
        "--engine",
        "lsqml:8",
        "--checkpoint-every",
        "0",
        "--checkpoint",
        "c.checkpoint",
    ];
    let saved = run("saved.h5", &saving);
    assert_eq!(whole.parts, saved.parts);
    let first = run("first.h5", &["--engine", "lsqml:4"]);
    let next = run("next.h5", &["--engine", "lsqml:1", "--start", "first.h5"]);
    let [before, after] = [&first, &next].map(|result| result.parts.slices.clone().unwrap());
    assert_eq!(after.start_distances, before.distances);
    assert!(next.history[0].r_factor.unwrap() < 1.2 * first.history[3].r_factor.unwrap());
}

#[test]
fn what_slices_do_not_go_with_is_refused() {
    let folder = simulated(&[]);
    let refused = |options: &[&str], expected: &str| {
        let slices = ["-o", "r.h5", "--slices", "2", "--quiet"];
        let run = folder.reconstruct(&[&slices, options].concat());
        assert!(run.err.contains(expected), "{options:?}: {}", run.err);
    };
    let distance = ["--slice-distance", "20um"];
    let with = |more: &[&'static str]| [&distance[..], more].concat();
    refused(
        &with(&["--engine", "dm:5"]),
        "only the engines lsqml and ml",
    );
    refused(
        &with(&["--refine-positions", "gradient"]),
        "--refine-positions",
    );
    refused(&with(&["--fit-frame-scales"]), "--fit-frame-scales");
    refused(&["--engine", "lsqml:5"], "slices.distance");
    refused(
        &with(&["--engine", "lsqml:5", "--find-orientation"]),
        "--find-orientation",
    );
    refused(
        &with(&["--engine", "lsqml:5", "--refine-positions", "gradient"]),
        "--refine-positions",
    );
    refused(
        &["--engine", "lsqml:5", "--slice-distance", "20 furlongs"],
        "--slice-distance",
    );
    refused(&with(&["--engine", "dm:5"]), "found 2 with dm");
    refused(
        &with(&["--engine", "lsqml:5", "--set", "slices.refine_from=0"]),
        "slices.refine_from=0: expected iteration 1 to",
    );
    let simulate = |options: &[&str], words: &[&str]| {
        let run = folder.run(&[&["ptycho", "simulate", "e.cxi"][..], options].concat());
        run.refused(2, words);
    };
    let thin = "expected a thick specimen (--slices of at least 2) beside it, found a thin one";
    simulate(&["--electrons"], &[&format!("--electrons: {thin}")]);
    simulate(
        &["--slice-distance", "20um"],
        &[&format!("--slice-distance 20um: {thin}")],
    );
    simulate(
        &["--fly-points", "4"],
        &["--fly-points 4", "--fly-shift", "found none"],
    );
    let none = ["--fly-points", "0", "--fly-shift", "0,2"];
    simulate(&none, &["--fly-points 0: expected 1 to 1024"]);
}

/// What a run of so many slices and variations needs is known before.
#[test]
fn info_knows_slices_and_variations() {
    let folder = simulated(&[]);
    let needs = |options: &[&str]| {
        let run = folder.run(&[&["ptycho", "info", "scan.cxi", "--json"][..], options].concat());
        run.well();
        let info: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        info["memory"]["cpu_bytes"].as_u64().unwrap()
    };
    let lsqml = ["--engine", "lsqml:10"];
    let thick = ["--slices", "3", "--slice-distance", "20um"];
    let plain = needs(&lsqml);
    assert!(needs(&[&lsqml[..], &thick].concat()) > plain);
    assert!(needs(&[&lsqml[..], &["--opr-modes", "4"]].concat()) > plain);
    let far = [
        "ptycho",
        "info",
        "scan.cxi",
        "--slices",
        "2",
        "--slice-distance",
        "20mm",
    ];
    let said = folder.run(&far);
    said.well();
    assert!(
        said.out.contains("light spreads beyond the window"),
        "{}",
        said.out
    );
    let wrong = ["ptycho", "info", "scan.cxi", "--slices", "3"];
    folder
        .run(&wrong)
        .refused(2, &["slices.distance", "--slice-distance"]);
}

/// The distances of a run begin with those of the earlier result, so they may be far from the
/// recipe's; a resumed run has the same bits as an uninterrupted one.
#[cfg(unix)]
#[test]
fn a_run_from_a_result_resumes_with_its_distances() {
    let folder = simulated(&[]);
    let common = [
        "--set",
        "lsqml.batch=20",
        "--slices",
        "2",
        "--refine-slice-distance",
        "--set",
        "slices.refine_from=2",
        "--no-pictures",
    ];
    let first = [
        "-o",
        "first.h5",
        "--engine",
        "lsqml:6",
        "--slice-distance",
        "22um",
    ];
    folder
        .reconstruct(&[&first[..], &common, &QUIET].concat())
        .well();
    // One is more than twice the result's distance, the other is not.
    for distance in ["80um", "20um"] {
        let start = [
            "--start",
            "first.h5",
            "--slice-distance",
            distance,
            "--engine",
            "lsqml:150",
        ];
        let whole = ["-o", "whole.h5"];
        folder
            .reconstruct(&[&whole[..], &start, &common, &QUIET].concat())
            .well();
        let mut command = folder.command();
        command
            .args([
                "ptycho",
                "reconstruct",
                "scan.cxi",
                "-o",
                "out.h5",
                "--backend",
                "cpu",
            ])
            .args(start)
            .args(common)
            .args(["--json-progress", "--checkpoint-every", "0"]);
        let stopped = folder.interrupt_at(&mut command, "\"iteration\":10,");
        assert_eq!(stopped.code, Some(130), "{stopped:?}");
        let resume = [
            "-o",
            "out.h5",
            "--resume",
            "out.checkpoint",
            "--no-pictures",
        ];
        folder.reconstruct(&[&resume[..], &QUIET].concat()).well();
        let [whole, resumed] =
            ["whole.h5", "out.h5"].map(|name| results::read(&folder.path(name)).unwrap());
        assert_eq!(whole.parts, resumed.parts, "{distance}");
        assert_eq!(whole.object, resumed.object, "{distance}");
    }
}
