//! Output of the commands when they succeed.

use super::support::{Output, TestFolder};
use std::path::Path;
use std::process::Stdio;
use warpstride::ptycho::ProbeSize;
use warpstride::ptycho::io::results;
use warpstride::ptycho::io::scan::{self, ReadOptions};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_simulated_object_is_recovered() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "48", "--positions", "40"]);
    let options = ["-o", "out.h5", "--engine", "dm:40", "--engine", "raar:40"];
    let outputs = ["--summary", "s.json", "--report", "r.html"];
    let output = folder.reconstruct(&[options.as_slice(), &outputs].concat());
    output.well();
    assert!(
        output.out.contains("relative L2") && output.out.contains("out-phase.png"),
        "{output:?}"
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
    assert_eq!(folder.names(), expected);
    for picture in &expected[..4] {
        assert!(
            std::fs::read(folder.path(picture))
                .unwrap()
                .starts_with(b"\x89PNG")
        );
    }
    let summary = json(&std::fs::read_to_string(folder.path("s.json")).unwrap());
    assert_eq!(summary["engine"], "dm:40,raar:40");
    assert_eq!(
        (summary["backend"].as_str(), summary["frames"].as_u64()),
        (Some("cpu"), Some(40))
    );
    assert_eq!(summary["history"].as_array().unwrap().len(), 80);
    let seconds = summary["seconds"].as_f64().unwrap();
    assert!((summary["ms_per_iteration"].as_f64().unwrap() * 80e-3 / seconds - 1.0).abs() < 1e-9);
    // The photons of such a small scan determine the object to about one percent.
    let distance = summary["relative_l2"].as_f64().unwrap();
    assert!(distance < 0.05, "{distance}");
    // The simulated probe is found: its width at half maximum is that of the truth.
    let truth = scan::read(&folder.path("scan.cxi"), &ReadOptions::default()).unwrap();
    let truth = truth.scan;
    let probe = &truth.simulation().unwrap().probe;
    let expected = ProbeSize::new(probe, truth.object_pixel()).unwrap();
    let fwhm = summary["probe_size"]["fwhm"].as_f64().unwrap();
    assert!(
        (fwhm / expected.fwhm - 1.0).abs() < 0.05,
        "{fwhm} {expected:?}"
    );
    assert_eq!(summary["probe_size"]["rms"].as_array().unwrap().len(), 2);
    for line in ["resolution  ", "probe       "] {
        assert!(output.out.contains(line), "{output:?}");
    }
    let report = std::fs::read_to_string(folder.path("r.html")).unwrap();
    for part in [
        "alt=\"Mean diffraction pattern\"",
        "<h3>Positions</h3>",
        "Full width at half maximum",
        "Fourier ring correlation",
    ] {
        assert!(report.contains(part), "{part}");
    }
    // A circle for each position.
    assert!(report.matches("<circle").count() >= 40);

    let compared = folder.run(&["ptycho", "compare", "out.h5", "scan.cxi", "--json"]);
    compared.well();
    let comparison = json(&compared.out);
    assert_eq!(comparison["against"], "truth");
    for same in ["relative_l2", "resolution_half_bit", "resolution_one_bit"] {
        assert_eq!(comparison[same], summary[same]);
        assert!(summary[same].is_number(), "{same}");
    }
    assert!(!comparison["frc"].as_array().unwrap().is_empty());
    let itself = folder.run(&["ptycho", "compare", "out.h5", "out.h5", "--json"]);
    assert_eq!(json(&itself.out)["against"], "result");
    assert!(json(&itself.out)["relative_l2"].as_f64().unwrap() < 1e-6);
    folder
        .run(&["ptycho", "compare", "out.h5", "scan.cxi"])
        .well();
    folder
        .run(&["ptycho", "compare", "scan.cxi", "out.h5"])
        .refused(1, &["scan.cxi", "image_1"]);
}

#[test]
fn results_are_bit_for_bit_the_same_for_any_number_of_threads() {
    let folder = TestFolder::with_scan();
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
        folder.reconstruct(&options).well();
    }
    let [a, b, c] = ["a.h5", "b.h5", "c.h5"].map(|n| results::read(&folder.path(n)).unwrap());
    assert_eq!(b.object, c.object);
    assert_eq!((&a.object, &a.probe), (&b.object, &b.probe));
}

#[test]
fn the_recipe_in_a_result_repeats_the_run() {
    let folder = TestFolder::with_scan();
    let set = [
        "--set",
        "raar.beta=0.8",
        "--set",
        "probe.source=mean-pattern",
    ];
    let first = [
        "-o", "a.h5", "--engine", "dm:4", "--engine", "raar:3", "--seed", "5",
    ];
    folder.reconstruct(&[&first[..], &set].concat()).well();
    let a = results::read(&folder.path("a.h5")).unwrap();
    assert!(
        a.recipe.contains("0.8") && a.recipe.contains("mean-pattern"),
        "{}",
        a.recipe
    );
    std::fs::write(folder.path("r.toml"), &a.recipe).unwrap();
    folder
        .reconstruct(&["-o", "b.h5", "--recipe", "r.toml"])
        .well();
    let b = results::read(&folder.path("b.h5")).unwrap();
    assert_eq!((a.object, a.recipe), (b.object, b.recipe));
}

#[test]
fn the_recipes_in_the_documentation_run() {
    let folder = TestFolder::with_scan();
    let size = ["--frame", "32", "--positions", "12"];
    let cone = ["--near-field", "--focus-to-sample", "3.65mm"];
    folder.simulate("near.cxi", &[&size[..], &cone].concat());
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
    let mut count = 0;
    for entry in std::fs::read_dir(recipes).unwrap() {
        let recipe = entry.unwrap().path();
        let text = std::fs::read_to_string(&recipe).unwrap();
        let scan = match text.contains("near_field = true") {
            true => "near.cxi",
            false => "scan.cxi",
        };
        let recipe = recipe.to_str().unwrap();
        let options = [
            "ptycho",
            "reconstruct",
            scan,
            "--backend",
            "cpu",
            "-o",
            "a.h5",
            "--recipe",
            recipe,
            "--set",
            "lsqml.iterations=3",
        ];
        folder.run(&options).well();
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn constants_of_the_scan_can_be_set_as_options() {
    let folder = TestFolder::with_scan();
    let set = ["--set", "data.constants.wavelength=1.25e-10"];
    let options = ["-o", "a.h5", "--engine", "dm:1", "--no-pictures"];
    folder.reconstruct(&[&options[..], &set].concat()).well();
    let result = results::read(&folder.path("a.h5")).unwrap();
    assert_eq!(result.wavelength, 1.25e-10);
}

#[test]
fn an_outdated_picture_is_removed() {
    let folder = TestFolder::with_scan();
    let stretched = folder.path("a-phase-stretched.png");
    folder
        .reconstruct(&["-o", "a.h5", "--engine", "dm:20"])
        .well();
    let drawn = stretched.exists();
    std::fs::write(&stretched, "of an earlier run").unwrap();
    folder
        .reconstruct(&["-o", "a.h5", "--engine", "dm:20"])
        .well();
    let now = std::fs::read(&stretched).ok();
    assert_eq!(now.is_some(), drawn);
    assert_ne!(now.as_deref(), Some(&b"of an earlier run"[..]));
}

#[test]
fn json_progress_prints_nothing_but_json_lines() {
    let folder = TestFolder::with_scan();
    let output = folder.reconstruct(&["-o", "a.h5", "--engine", "dm:7", "--json-progress"]);
    output.well();
    let events: Vec<serde_json::Value> = output.out.lines().map(json).collect();
    let count = |name: &str| events.iter().filter(|e| e["event"] == name).count();
    assert_eq!(
        [count("start"), count("iteration"), count("end")],
        [1, 7, 1]
    );
    let quiet = folder.reconstruct(&["-o", "a.h5", "--engine", "dm:2", "--quiet", "--no-pictures"]);
    quiet.well();
    assert_eq!(quiet.out, "");
}

#[test]
fn info_describes_a_scan() {
    let folder = TestFolder::with_scan();
    let output = folder.run(&["ptycho", "info", "scan.cxi", "--json"]);
    output.well();
    let found = json(&output.out);
    assert_eq!(
        [&found["frames"], &found["rows"], &found["columns"]],
        [12, 32, 32]
    );
    assert_eq!(found["overlap"]["width_of"], "illumination");
    // The scan was simulated with an overlap of 0.7; a Fermat spiral is not equally dense
    // everywhere.
    let overlap = found["overlap"]["linear"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&overlap), "{overlap}");
    assert!(found["memory"]["cpu_bytes"].as_u64().unwrap() > 12 * 32 * 32 * 8);
    assert_eq!(found["simulated"], true);
    folder.run(&["ptycho", "info", "scan.cxi"]).well();

    folder.simulate(
        "apart.cxi",
        &["--frame", "32", "--positions", "9", "--overlap", "0.1"],
    );
    let apart = folder.run(&["ptycho", "info", "apart.cxi"]);
    apart.well();
    assert!(
        apart.out.contains("problem") && apart.out.contains("overlap"),
        "{apart:?}"
    );
}

#[test]
fn every_help_text_has_examples() {
    let folder = TestFolder::new();
    for command in ["simulate", "info", "reconstruct", "compare"] {
        let help = folder.run(&["ptycho", command, "--help"]);
        help.well();
        let examples = help
            .out
            .matches(&format!("  warpstride ptycho {command} "))
            .count();
        assert!((3..=7).contains(&examples), "{command}: {examples}");
    }
    let help = folder.run(&["jacobi", "--help"]);
    help.well();
    assert_eq!(help.out.matches("  warpstride jacobi --").count(), 6);
    let help = folder.run(&["--help"]);
    help.well();
    assert!(
        help.out.contains("Examples:") && help.out.contains("130"),
        "{help:?}"
    );
    assert!(folder.run(&["--version"]).out.starts_with("warpstride 0."));
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let folder = TestFolder::with_scan();
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
            "--engine",
            "dm:5",
        ],
    ] {
        let mut child = folder.start(
            folder
                .command()
                .args(arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
        );
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(
            (ended.status.code(), stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
    assert!(results::read(&folder.path("a.h5")).is_ok());
}

#[test]
fn devices_are_listed_or_a_reason_is_given() {
    let folder = TestFolder::new();
    let output = folder.run(&["devices", "--json"]);
    output.well();
    let listing = json(&output.out);
    let none = listing["devices"].as_array().unwrap().is_empty();
    assert_eq!(none, listing["reason"].is_string());
    folder.run(&["devices"]).well();
}

/// A science with few kernels: tests of the emulator run all of them (kernels_emulated).
const QUICK_SCIENCE: &str = if cfg!(feature = "series") {
    "series"
} else {
    "ptycho"
};

#[test]
fn the_self_test_reports_each_case_as_it_finishes() {
    let arguments = ["selftest", "--backend", "emulator", "--json-progress"];
    let arguments = [&arguments[..], &["--only", QUICK_SCIENCE]].concat();
    let output = TestFolder::new().run(&arguments);
    output.well();
    let lines: Vec<_> = output.out.lines().map(json).collect();
    let [start, cases @ .., end] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(
        (&start["event"], &end["event"]),
        (&"start".into(), &"end".into())
    );
    // Each kernel has several cases.
    assert!(cases.len() as u64 > start["planned"].as_u64().unwrap());
    assert!(cases.iter().all(|case| case["passed"] == true), "{cases:?}");
}

#[test]
fn the_self_test_passes_on_the_emulator_and_prints_json() {
    let folder = TestFolder::new();
    folder
        .run(&["selftest", "--json", "--json-progress"])
        .refused(2, &["--json-progress"]);
    folder
        .run(&["selftest", "--only", "alchemy"])
        .refused(2, &["--only alchemy: expected", QUICK_SCIENCE]);
    let arguments = ["selftest", "--backend", "emulator", "--json"];
    let output = folder.run(&[&arguments[..], &["--only", QUICK_SCIENCE]].concat());
    output.well();
    let findings = json(&output.out);
    assert_eq!(
        (findings["backend"].as_str(), findings["passed"].as_bool()),
        (Some("emulator"), Some(true))
    );
    let cases = findings["cases"].as_array().unwrap();
    assert!(cases.iter().all(|case| case["passed"] == true), "{cases:?}");
    // Copies and transforms belong to no science.
    let of_science = |prefix: &str| {
        let kernels = cases.iter().filter_map(|case| case["kernel"].as_str());
        kernels.filter(|kernel| kernel.starts_with(prefix)).count()
    };
    assert!(of_science(&format!("{QUICK_SCIENCE}_")) >= 20);
    for other in ["jacobi_", "mri_", "sas_"] {
        assert_eq!(of_science(other), 0, "{other}");
    }
}

#[test]
fn the_environment_cannot_ask_for_more_threads_than_the_option() {
    let folder = TestFolder::new();
    let run = |threads: &str| {
        let mut command = folder.command();
        command
            .args(["jacobi", "--nx", "8", "--ny", "8", "--backend", "cpu"])
            .env("RAYON_NUM_THREADS", threads);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = folder.start(output).wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    };
    run("20000").refused(2, &["RAYON_NUM_THREADS 20000: expected 1 to 256"]);
    run("2").well();
    // 0 and an empty variable mean the default; other texts are mistakes.
    run("0").well();
    run("").well();
    for text in ["abc", "-1", "2.5"] {
        let expected = format!("RAYON_NUM_THREADS {text}: expected 1 to 256, or 0");
        run(text).refused(2, &[&expected]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let folder = TestFolder::new();
    for arguments in [&["--help"][..], &["--version"], &["jacobi", "--help"]] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = folder.command();
        let command = command.args(arguments).stdout(full).stderr(Stdio::piped());
        let output = folder.start(command).wait_with_output().unwrap();
        let output = Output {
            code: output.status.code(),
            out: String::new(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        output.refused(1, &["standard output: cannot be written", "space"]);
    }
}
