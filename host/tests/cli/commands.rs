//! What the commands print and write when all is well.

use super::support::Place;
use std::process::Stdio;
use warpstride::io::results;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_simulated_scan_is_found_again() {
    let place = Place::new();
    place.simulate("scan.cxi", &["--frame", "48", "--positions", "40"]);
    let options = ["-o", "out.h5", "--engine", "dm:40", "--engine", "raar:40"];
    let outputs = ["--summary", "s.json", "--report", "r.html"];
    let said = place.reconstruct(&[options.as_slice(), &outputs].concat());
    said.well();
    assert!(
        said.out.contains("relative L2") && said.out.contains("out-phase.png"),
        "{said:?}"
    );
    let expected = [
        "out-modulus.png",
        "out-phase-stretched.png",
        "out-phase.png",
        "out-probe.png",
        "out.h5",
        "r.html",
        "s.json",
        "scan.cxi",
    ];
    assert_eq!(place.names(), expected);
    for picture in &expected[..4] {
        assert!(
            std::fs::read(place.path(picture))
                .unwrap()
                .starts_with(b"\x89PNG")
        );
    }
    let summary = json(&std::fs::read_to_string(place.path("s.json")).unwrap());
    assert_eq!(summary["engine"], "dm:40,raar:40");
    assert_eq!(
        (summary["backend"].as_str(), summary["frames"].as_u64()),
        (Some("cpu"), Some(40))
    );
    assert_eq!(summary["history"].as_array().unwrap().len(), 80);
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!((summary["ms_per_iteration"].as_f64().unwrap() * 80e-3 / seconds - 1.0).abs() < 1e-9);
    // The photons of so small a scan determine the object to about a percent.
    let distance = summary["relative_l2"].as_f64().unwrap();
    assert!(distance < 0.05, "{distance}");

    let compared = place.run(&["ptycho", "compare", "out.h5", "scan.cxi", "--json"]);
    compared.well();
    let figures = json(&compared.out);
    assert_eq!(figures["against"], "truth");
    assert_eq!(figures["relative_l2"], summary["relative_l2"]);
    assert!(!figures["frc"].as_array().unwrap().is_empty());
    let itself = place.run(&["ptycho", "compare", "out.h5", "out.h5", "--json"]);
    assert_eq!(json(&itself.out)["against"], "result");
    assert!(json(&itself.out)["relative_l2"].as_f64().unwrap() < 1e-6);
    place
        .run(&["ptycho", "compare", "out.h5", "scan.cxi"])
        .well();
    place
        .run(&["ptycho", "compare", "scan.cxi", "out.h5"])
        .refused(1, &["scan.cxi", "image_1"]);
}

#[test]
fn two_runs_give_the_same_bits_whatever_the_threads() {
    let place = Place::with_scan();
    for (name, threads) in [("a.h5", "1"), ("b.h5", "2"), ("c.h5", "2")] {
        let options = [
            "-o",
            name,
            "--engine",
            "dm:20",
            "--probe-modes",
            "2",
            "--threads",
            threads,
        ];
        place.reconstruct(&options).well();
    }
    let [a, b, c] = ["a.h5", "b.h5", "c.h5"].map(|n| results::read(&place.path(n)).unwrap());
    assert_eq!(b.object, c.object);
    assert_eq!((&a.object, &a.probe), (&b.object, &b.probe));
}

#[test]
fn the_recipe_in_a_result_repeats_it() {
    let place = Place::with_scan();
    let set = [
        "--set",
        "raar.beta=0.8",
        "--set",
        "probe.source=mean-pattern",
    ];
    let first = [
        "-o", "a.h5", "--engine", "dm:4", "--engine", "raar:3", "--seed", "5",
    ];
    place.reconstruct(&[&first[..], &set].concat()).well();
    let a = results::read(&place.path("a.h5")).unwrap();
    assert!(
        a.recipe.contains("0.8") && a.recipe.contains("mean-pattern"),
        "{}",
        a.recipe
    );
    std::fs::write(place.path("r.toml"), &a.recipe).unwrap();
    place
        .reconstruct(&["-o", "b.h5", "--recipe", "r.toml"])
        .well();
    let b = results::read(&place.path("b.h5")).unwrap();
    assert_eq!((a.object, a.recipe), (b.object, b.recipe));
}

#[test]
fn constants_of_the_scan_are_options_like_all_others() {
    let place = Place::with_scan();
    let set = ["--set", "data.constants.wavelength=1.25e-10"];
    let options = ["-o", "a.h5", "--engine", "dm:1", "--no-pictures"];
    place.reconstruct(&[&options[..], &set].concat()).well();
    let result = results::read(&place.path("a.h5")).unwrap();
    assert_eq!(result.wavelength, 1.25e-10);
}

#[test]
fn a_picture_that_the_new_result_has_not_does_not_stay() {
    let place = Place::with_scan();
    let stretched = place.path("a-phase-stretched.png");
    place
        .reconstruct(&["-o", "a.h5", "--engine", "dm:20"])
        .well();
    let drawn = stretched.exists();
    std::fs::write(&stretched, "of an earlier run").unwrap();
    place
        .reconstruct(&["-o", "a.h5", "--engine", "dm:20"])
        .well();
    let now = std::fs::read(&stretched).ok();
    assert_eq!(now.is_some(), drawn);
    assert_ne!(now.as_deref(), Some(&b"of an earlier run"[..]));
}

#[test]
fn progress_lines_are_json_and_nothing_else_is_printed() {
    let place = Place::with_scan();
    let said = place.reconstruct(&["-o", "a.h5", "--engine", "dm:7", "--json-progress"]);
    said.well();
    let events: Vec<serde_json::Value> = said.out.lines().map(json).collect();
    let count = |name: &str| events.iter().filter(|e| e["event"] == name).count();
    assert_eq!(
        [count("start"), count("iteration"), count("end")],
        [1, 7, 1]
    );
    let quiet = place.reconstruct(&["-o", "a.h5", "--engine", "dm:2", "--quiet", "--no-pictures"]);
    quiet.well();
    assert_eq!(quiet.out, "");
}

#[test]
fn info_says_what_there_is() {
    let place = Place::with_scan();
    let said = place.run(&["ptycho", "info", "scan.cxi", "--json"]);
    said.well();
    let found = json(&said.out);
    assert_eq!(
        [&found["frames"], &found["rows"], &found["columns"]],
        [12, 32, 32]
    );
    assert_eq!(found["overlap"]["width_of"], "illumination");
    // Simulated with an overlap of 0.7; Fermat's spiral is not everywhere equally dense.
    let overlap = found["overlap"]["linear"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&overlap), "{overlap}");
    assert!(found["memory"]["cpu_bytes"].as_u64().unwrap() > 12 * 32 * 32 * 8);
    assert_eq!(found["simulated"], true);
    place.run(&["ptycho", "info", "scan.cxi"]).well();

    place.simulate(
        "apart.cxi",
        &["--frame", "32", "--positions", "9", "--overlap", "0.1"],
    );
    let apart = place.run(&["ptycho", "info", "apart.cxi"]);
    apart.well();
    assert!(
        apart.out.contains("problem") && apart.out.contains("overlap"),
        "{apart:?}"
    );
}

#[test]
fn every_help_text_has_examples() {
    let place = Place::new();
    for command in ["simulate", "info", "reconstruct", "compare"] {
        let help = place.run(&["ptycho", command, "--help"]);
        help.well();
        let examples = help
            .out
            .matches(&format!("  warpstride ptycho {command} "))
            .count();
        assert!((3..=5).contains(&examples), "{command}: {examples}");
    }
    let help = place.run(&["jacobi", "--help"]);
    help.well();
    assert_eq!(help.out.matches("  warpstride jacobi --").count(), 6);
    let help = place.run(&["--help"]);
    help.well();
    assert!(
        help.out.contains("Examples:") && help.out.contains("130"),
        "{help:?}"
    );
    assert!(place.run(&["--version"]).out.starts_with("warpstride 0."));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::with_scan();
    for arguments in [
        &["ptycho", "info", "scan.cxi"][..],
        &["ptycho", "reconstruct", "--help"],
        &[
            "ptycho",
            "reconstruct",
            "scan.cxi",
            "-o",
            "a.h5",
            "--backend",
            "cpu",
            "--json-progress",
        ],
    ] {
        let mut child = place.start(
            place
                .command()
                .args(arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
        );
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
    assert!(results::read(&place.path("a.h5")).is_ok());
}

#[test]
fn devices_are_listed_or_there_is_a_reason() {
    let place = Place::new();
    let said = place.run(&["devices", "--json"]);
    said.well();
    let listing = json(&said.out);
    let none = listing["devices"].as_array().unwrap().is_empty();
    assert_eq!(none, listing["reason"].is_string());
    place.run(&["devices"]).well();
}

#[test]
fn the_self_test_tells_of_each_case_when_it_is_done() {
    let said = Place::new().run(&["selftest", "--backend", "emulator", "--json-progress"]);
    said.well();
    let lines: Vec<_> = said.out.lines().map(json).collect();
    let [start, cases @ .., end] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(
        (&start["event"], &end["event"]),
        (&"start".into(), &"end".into())
    );
    // Several of each kernel.
    assert!(cases.len() as u64 > start["planned"].as_u64().unwrap());
    assert!(cases.iter().all(|case| case["passed"] == true), "{cases:?}");
}

#[test]
fn the_self_test_passes_on_the_emulator_and_says_so_in_json() {
    let place = Place::new();
    place
        .run(&["selftest", "--json", "--json-progress"])
        .refused(2, &["--json-progress"]);
    let said = place.run(&["selftest", "--backend", "emulator", "--json"]);
    said.well();
    let findings = json(&said.out);
    assert_eq!(
        (findings["backend"].as_str(), findings["passed"].as_bool()),
        (Some("emulator"), Some(true))
    );
    let cases = findings["cases"].as_array().unwrap();
    // Every kernel is there and both engines.
    assert!(cases.len() >= 20, "{}", cases.len());
    assert!(cases.iter().all(|case| case["passed"] == true), "{cases:?}");
}
