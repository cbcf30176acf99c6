//! Errors and notes that name their cause: geometries of near fields, distances, factors, engines,
//! numbers, detectors and start objects that do not suit the scan.

use super::support::TestFolder;
use ndarray::Array2;
use num_complex::Complex;
use serde_json::Value;
use warpstride::io::npy;

fn reconstructed(folder: &TestFolder, options: &[&str]) -> super::support::Output {
    let fixed = ["-o", "out.h5", "--no-pictures"];
    folder.reconstruct(&[&fixed[..], options].concat())
}

fn info(folder: &TestFolder, options: &[&str]) -> Value {
    let output = folder.run(&[&["ptycho", "info", "scan.cxi", "--json"], options].concat());
    output.well();
    serde_json::from_str(&output.out).unwrap()
}

fn texts(of: &Value) -> String {
    let texts = of.as_array().unwrap().iter();
    let texts: Vec<&str> = texts.map(|text| text.as_str().unwrap()).collect();
    texts.join("\n")
}

#[test]
fn near_fields_that_do_not_suit_the_positions_are_refused_with_their_geometry() {
    let folder = TestFolder::with_scan();
    let engine = ["--engine", "lsqml:1"];
    let all = [
        "effective pixel",
        "effective distance",
        "Fresnel number",
        "far-field scan, which is reconstructed without --near-field",
    ];
    for (options, words) in [
        (
            &["--near-field", "--focus-to-sample", "3.65mm"][..],
            &[
                "--focus-to-sample 3.65mm: scan.cxi: ",
                "700.5 nm",
                "magnified by 107.1",
            ][..],
        ),
        (
            &["--near-field", "--focus-to-sample", "30m"],
            &[
                "--focus-to-sample 30m: scan.cxi: ",
                "farther away than the detector behind it (387.1 mm)",
            ],
        ),
        (
            &["--near-field"],
            &["--near-field: scan.cxi: ", "a parallel beam"],
        ),
    ] {
        let words = [&all, words].concat();
        reconstructed(&folder, &[&engine[..], options].concat()).refused(2, &words);
        reconstructed(&folder, options).refused(2, &words);
        let info = folder.run(&[&["ptycho", "info", "scan.cxi"], options].concat());
        info.refused(2, &words);
        assert_eq!(
            info.out.matches("far-field scan").count(),
            1,
            "{}",
            info.out
        );
    }
}

#[test]
fn arguments_and_not_what_follows_from_them_are_named() {
    let folder = TestFolder::with_scan();
    for (options, words) in [
        (
            &["--coarse", "64,1"][..],
            &["--coarse 64,1: scan.cxi: ", "at most 32"][..],
        ),
        (
            &["--slices", "2", "--slice-distance", "1pc"],
            &["--slice-distance 1pc: ", "the unit pc (known are mm, cm, "],
        ),
        (
            &["--near-field", "--focus-to-sample", "4km"],
            &["--focus-to-sample 4km: ", "the unit km"],
        ),
        (
            &["--engine", "lsqml:2", "--engine", "auto"],
            &[
                "--engine auto: expected no other --engine beside it",
                "--engine lsqml:2",
            ],
        ),
        (
            &["--object-modes", "-1"],
            &["--object-modes -1: expected a whole number, 1 or more"],
        ),
        (
            &["--probe-modes", "-1"],
            &["--probe-modes -1: expected a whole number, 1 or more"],
        ),
        (
            &["--slices", "-2"],
            &["--slices -2: expected a whole number, 1 or more"],
        ),
        (
            &["--opr-modes", "-1"],
            &["--opr-modes -1: expected a whole number, 0 or more"],
        ),
        (
            &["--fly-points", "99999999999999999999"],
            &["--fly-points 99999999999999999999: expected a whole number up to"],
        ),
        (
            &[
                "--near-field",
                "--focus-to-sample",
                "4mm",
                "--coarse",
                "2,1",
            ],
            &["--coarse 2,1: expected no larger object pixels with data.near_field"],
        ),
        (
            &["--near-field", "--focus-to-sample", "1e400m"],
            &["--focus-to-sample 1e400m: ", "found one that is not finite"],
        ),
        (
            &[
                "--engine",
                "lsqml:1",
                "--slices",
                "2",
                "--slice-distance",
                "20um",
                "--background",
                "pixels",
            ],
            &["--background pixels: expected no slices"],
        ),
        (
            &[
                "--engine",
                "lsqml:1",
                "--near-field",
                "--set",
                "lsqml.probe_centre_tolerance=1",
            ],
            &["--set lsqml.probe_centre_tolerance=1: expected none with data.near_field"],
        ),
    ] {
        reconstructed(&folder, options).refused(2, words);
    }
}

#[test]
fn slices_that_are_too_near_to_each_other_are_named() {
    let folder = TestFolder::with_scan();
    let slices = |distance: &str| {
        let options = ["--slices", "2", "--slice-distance", distance];
        texts(&info(&folder, &options)["problems"])
    };
    assert_eq!(slices("1um"), "");
    let text = slices("0.001nm");
    assert!(
        text.contains("too near to be told apart") && text.contains("found 1.00 pm"),
        "{text}"
    );
}

/// Twice the start is reached long before the true distance.
#[test]
fn refined_distances_at_their_limit_are_noted() {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "40", "--overlap", "0.75"];
    folder.simulate("scan.cxi", &[&size[..], &["--slices", "2"]].concat());
    let run = |start: &str, engine: &str| {
        let options = [
            "--engine",
            engine,
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
        let output = reconstructed(&folder, &options);
        output.well();
        let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
        let summary: Value = serde_json::from_str(&read("s.json")).unwrap();
        (output.out, summary, read("r.html"))
    };
    let note = "has reached its limit, half or twice the distance at the start: 6.000 µm";
    let (out, summary, page) = run("3um", "lsqml:60");
    assert_eq!(summary["slices"]["at_limit"][0], true, "{summary}");
    assert!(texts(&summary["notes"]).contains(note), "{summary}");
    assert!(out.contains(note) && page.contains(note), "{out}");
    let (out, summary, page) = run("20um", "lsqml:12");
    assert_eq!(summary["slices"]["at_limit"][0], false);
    assert!(!out.contains("its limit") && !page.contains("its limit"));
}

#[test]
fn detectors_that_the_frames_cannot_have_are_warned_of() {
    let folder = TestFolder::with_scan();
    for (option, value, words) in [
        ("--blur", "17", "a blur of 17 pixels is 40.0 pixels wide"),
        (
            "--background",
            "1e9",
            "a background of 1e9 photons in a pixel",
        ),
    ] {
        let options = ["--engine", "lsqml:1", "--summary", "s.json", option, value];
        let output = reconstructed(&folder, &options);
        output.well();
        assert!(
            output.out.contains(&format!("warning: {words}")),
            "{}",
            output.out
        );
        let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        assert!(texts(&summary["problems"]).contains(words), "{summary}");
        let problems = texts(&info(&folder, &[option, value])["problems"]);
        assert!(problems.contains(words), "{problems}");
    }
    assert_eq!(texts(&info(&folder, &["--blur", "3"])["problems"]), "");
}

/// A blur and a background take device memory, and the launches are separate.
#[test]
fn info_knows_the_detector() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "64", "--positions", "12"]);
    let engine = ["--engine", "dm:9"];
    let of = |options: &[&str]| {
        let info = info(&folder, &[&engine[..], options].concat());
        let bytes = info["memory"]["gpu_device_bytes"].as_u64().unwrap();
        (bytes, info["gpu_step"].as_str().unwrap().to_owned())
    };
    let (plain, fused) = of(&[]);
    assert!(fused.contains("fused"), "{fused}");
    for options in [["--blur", "0.7"], ["--background", "uniform"]] {
        let (bytes, step) = of(&options);
        assert!(bytes > plain, "{bytes} {plain}");
        assert!(step.starts_with("separate kernels"), "{step}");
        let as_set = match options[0] {
            "--blur" => "detector.blur=0.7",
            _ => "detector.background=\"uniform\"",
        };
        assert_eq!(of(&["--set", as_set]), (bytes, step));
    }
    let command = ["ptycho", "info", "scan.cxi", "--blur", "-1"];
    folder
        .run(&command)
        .refused(2, &["--blur -1: expected 0 to 100 pixels"]);
}

#[test]
fn variations_of_the_probe_are_on_the_terminal() {
    let folder = TestFolder::with_scan();
    let output = reconstructed(&folder, &["--engine", "lsqml:12", "--opr-modes", "2"]);
    output.well();
    let line = output
        .out
        .lines()
        .find(|line| line.starts_with("variable probe"));
    let line = line.unwrap_or_else(|| panic!("{}", output.out));
    assert!(
        line.contains("2 variations, with ") && line.contains("% of the power"),
        "{line}"
    );
}

#[test]
fn bad_start_objects_are_refused_before_the_trials() {
    let folder = TestFolder::with_scan();
    std::fs::write(folder.path("text.npy"), "no array").unwrap();
    let small = Array2::from_elem((5, 5), Complex::new(1.0, 0.0));
    let view = small.view().into_dyn();
    npy::complex::write(&folder.path("small.npy"), view, true).unwrap();
    for (name, words) in [
        ("text.npy", &["text.npy: expected a NumPy array"][..]),
        (
            "small.npy",
            &["small.npy: start.object: expected ", "found 5 x 5"],
        ),
        ("absent.h5", &["absent.h5"]),
    ] {
        let output = reconstructed(&folder, &["--json-progress", "--start-object", name]);
        output.refused(1, words);
        assert_eq!(output.out, "", "trials were made");
    }
}

#[test]
fn options_that_scale_positions_or_pixels_are_named() {
    let folder = TestFolder::with_scan();
    let scaled = "expected positions in metres";
    for (options, words) in [
        (
            &["--transform-positions", "affine=[1e9,0,0,1]"][..],
            &[
                "--transform-positions affine=[1e9,0,0,1]: scan.cxi: ",
                scaled,
            ][..],
        ),
        (
            &["--set", "data.constants.distance=1e9m"],
            &[
                "--set data.constants.distance=1e9m: scan.cxi: ",
                scaled,
                "; the option is the likely cause",
            ],
        ),
        (
            &["--set", "data.constants.pixel_size=1m"],
            &["--set data.constants.pixel_size=1m: scan.cxi: ", scaled],
        ),
        (
            &["--set", "data.constants.energy=1e300"],
            &[
                "--set data.constants.energy=1e300: scan.cxi: ",
                "expected a wavelength in metres",
            ],
        ),
    ] {
        let engine = ["--engine", "lsqml:1"];
        reconstructed(&folder, &[&engine[..], options].concat()).refused(2, words);
        reconstructed(&folder, options).refused(2, words);
        let info = folder.run(&[&["ptycho", "info", "scan.cxi"], options].concat());
        info.refused(2, words);
    }
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn the_halves_of_a_resolution_are_those_of_the_command() {
    let folder = TestFolder::with_scan();
    std::fs::write(folder.path("half.toml"), "[data]\nhalf = 1\n").unwrap();
    for (options, code, words) in [
        (
            &["--engine", "auto"][..],
            2,
            "--engine auto: expected engines by name, or no --engine",
        ),
        (
            &["--set", "data.half=1"],
            2,
            "--set data.half=1: expected none, as the command reconstructs both halves",
        ),
        (
            &["--recipe", "half.toml", "--engine", "dm:1"],
            1,
            "half.toml: data.half: expected none, as the command reconstructs both halves",
        ),
    ] {
        let fixed = ["ptycho", "resolution", "scan.cxi", "-o", "out.h5"];
        let output = folder.run(&[&fixed, options].concat());
        output.refused(code, &[words]);
    }
    assert_eq!(folder.names(), ["half.toml", "scan.cxi"]);
}

#[test]
fn starts_with_another_orientation_are_noted() {
    let folder = TestFolder::with_scan();
    let engine = ["--engine", "dm:1"];
    reconstructed(&folder, &engine).well();
    std::fs::rename(folder.path("out.h5"), folder.path("start.h5")).unwrap();
    let of = |options: &[&str]| {
        let start = [&engine[..], &["--start", "start.h5"], options].concat();
        let output = reconstructed(&folder, &start);
        output.well();
        output.out
    };
    let note = "start: the result was reconstructed with another orientation of the positions (none; in this run swap)";
    let swapped = of(&["--transform-positions", "swap"]);
    assert!(swapped.contains(note), "{swapped}");
    let same = of(&["--transform-positions", "affine=[1.01,0,0,1]"]);
    assert!(!same.contains("orientation"), "{same}");
}
