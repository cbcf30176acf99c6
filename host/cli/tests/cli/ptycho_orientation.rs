//! `--transform-positions` and `--find-orientation`, with the real program.

use super::support::{STARTING, TestFolder, skipped};
use ndarray::Array2;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::io::{results, scan};
use warpstride::ptycho::{Orientation, ReadOptions, Recipe, central_part};

fn read(path: &Path, orientation: Orientation) -> Scan {
    let mut options = ReadOptions::default();
    orientation.set(&mut options);
    scan::read(path, &options).unwrap().scan
}

/// Writes the scan of `path` to `scan.cxi`, with its positions in an orientation.
fn turned(folder: &TestFolder, path: &Path, orientation: Orientation) {
    written(folder, &read(path, orientation));
}

/// Writes `scan.cxi`.
fn written(folder: &TestFolder, scan: &Scan) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    scan::write(&folder.path("scan.cxi"), scan).unwrap();
}

/// 48 frames of 32 × 32, without the truth, which transformed positions do not have.
fn simulated() -> TestFolder {
    let folder = TestFolder::new();
    folder.simulate("truth.cxi", &["--frame", "32", "--positions", "48"]);
    folder
}

/// The summary of a short run that begins with a search, what was printed, and the positions in its
/// result.
fn search(folder: &TestFolder, options: &[&str]) -> (Value, String, Array2<f64>) {
    let fixed = ["-o", "out.h5", "--no-pictures", "--summary", "s.json"];
    let run = ["--engine", "dm:2", "--find-orientation"];
    let output = folder.reconstruct(&[&fixed[..], &run, options].concat());
    output.well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let result = results::read(&folder.path("out.h5")).unwrap();
    let summary = serde_json::from_str(&text).unwrap();
    (summary, output.out, result.recorded_positions)
}

/// Asserts that the search finds `expected` and names its twin, and that the run has the positions
/// of `upright`.
#[track_caller]
fn assert_found(folder: &TestFolder, expected: Orientation, upright: &Scan) {
    let (summary, printed, positions) = search(folder, &[]);
    let found = &summary["orientation"]["decision"]["found"];
    assert_eq!(found["orientation"], expected.to_string(), "{summary:#}");
    assert_eq!(found["twin"], expected.twin().to_string());
    assert!(found["by"]["resolved"]["probe"].is_object(), "{found:#}");
    assert_eq!(
        summary["orientation"]["trials"].as_array().unwrap().len(),
        8
    );
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("class"), "{printed}");
    let noted = [
        format!("--transform-positions {expected}: R_free is"),
        format!(
            "note: twin: --transform-positions {} would",
            expected.twin()
        ),
    ];
    for note in noted {
        assert!(printed.contains(&note), "{note}: {printed}");
    }
    assert_eq!(positions, upright.positions());
}

#[test]
fn all_eight_orientations_of_a_scan_are_found() {
    let folder = simulated();
    let truth = folder.path("truth.cxi");
    let upright = read(&truth, Orientation::default());
    for orientation in Orientation::all() {
        turned(&folder, &truth, orientation);
        assert_found(&folder, orientation.inverse(), &upright);
    }
}

/// The star of the Velociprobe; `None` if it is not there.
fn star() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("WARPSTRIDE_SHARED_DATA").map_or(beside, PathBuf::from);
    let path = folder.join("ptycho/siemens-star.cxi");
    if path.is_file() {
        return Some(path);
    }
    skipped(
        "orientations of the Siemens star",
        &format!("{} does not exist", path.display()),
    );
    None
}

#[test]
fn the_orientation_of_a_measured_scan_is_found() {
    let Some(path) = star() else { return };
    let folder = TestFolder::new();
    let upright = read(&path, Orientation::default());
    // Fewer frames than a trial takes of the whole scan, as these tests are compiled with few
    // optimisations.
    let upright = central_part(&upright, 70).unwrap().unwrap();
    written(&folder, &upright);
    std::fs::rename(folder.path("scan.cxi"), folder.path("part.cxi")).unwrap();
    let orientation = Orientation::CLASSES[3].twin();
    turned(&folder, &folder.path("part.cxi"), orientation);
    assert_found(&folder, orientation.inverse(), &upright);
}

/// Without an illumination both twins start from the same probe; X-rays have a phase that follows
/// the absorption.
#[test]
fn without_an_illumination_the_phase_decides() {
    let folder = simulated();
    let truth = folder.path("truth.cxi");
    let flipped = Orientation::CLASSES[1];
    for (wavelength, by) in [(None, "absorption"), (Some(2e-12), "unresolved")] {
        let scan = read(&truth, flipped);
        let frames = scan.frames().unwrap().into_owned();
        let mut geometry = *scan.geometry();
        if let Some(wavelength) = wavelength {
            // The same object pixels, with electrons.
            geometry.distance *= geometry.wavelength / wavelength;
            geometry.wavelength = wavelength;
        }
        let bare = Scan::new(frames, None, scan.positions().clone(), geometry, None).unwrap();
        written(&folder, &bare);
        let (summary, printed, _) = search(&folder, &[]);
        let found = &summary["orientation"]["decision"]["found"];
        assert_eq!(found["orientation"], "flip-rows", "{printed}");
        assert_eq!(summary["orientation"]["start"], "searched");
        assert_eq!(
            summary["orientation"]["trials"].as_array().unwrap().len(),
            4
        );
        match by {
            "unresolved" => assert_eq!(found["by"], by, "{found}"),
            _ => assert!(found["by"]["resolved"][by].as_f64() > Some(0.3), "{found}"),
        }
    }
}

/// Positions of another scan fit in no orientation: they stay as the recipe has them.
#[test]
fn where_nothing_fits_the_positions_stay() {
    let folder = simulated();
    let scan = read(&folder.path("truth.cxi"), Orientation::default());
    let order: Vec<usize> = (0..48).map(|frame| frame * 17 % 48).collect();
    let wrong = scan.positions().select(ndarray::Axis(0), &order);
    let frames = scan.frames().unwrap().into_owned();
    let wrong = Scan::new(frames, None, wrong, *scan.geometry(), scan.probe().cloned()).unwrap();
    written(&folder, &wrong);
    let (summary, printed, positions) = search(&folder, &["--transform-positions", "swap"]);
    assert_eq!(summary["orientation"]["decision"], "unclear");
    assert!(
        printed.contains("the orientation cannot be told: R_free is"),
        "{printed}"
    );
    assert!(
        printed.contains("(--transform-positions swap)"),
        "{printed}"
    );
    let swapped = Orientation::CLASSES[2];
    assert_eq!(positions, swapped.applied_to(wrong.positions()));
}

/// On each back end and in each precision, and the same every time.
#[test]
fn back_ends_and_precisions_find_the_same() {
    let folder = simulated();
    let truth = folder.path("truth.cxi");
    turned(&folder, &truth, Orientation::CLASSES[3]);
    let fixed = ["--engine", "dm:1", "--find-orientation", "--no-pictures"];
    let of = |options: &[&str]| {
        let outputs = ["-o", "out.h5", "--summary", "s.json", "--json-progress"];
        let scan = ["ptycho", "reconstruct", "scan.cxi"];
        let output = folder.run(&[&scan[..], &outputs, &fixed, options].concat());
        output.well();
        // No table between the lines of JSON.
        assert!(
            output.out.lines().all(|line| line.starts_with('{')),
            "{output:?}"
        );
        let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
        let mut summary: Value = serde_json::from_str(&text).unwrap();
        summary["orientation"]["seconds"] = Value::Null;
        let recipe = results::read(&folder.path("out.h5")).unwrap().recipe;
        let recipe = Recipe::from_toml(&recipe).unwrap();
        assert_eq!(
            Orientation::of(&recipe.data),
            Orientation::CLASSES[3].inverse()
        );
        summary["orientation"].clone()
    };
    let once = of(&["--backend", "cpu"]);
    assert_eq!(of(&["--backend", "cpu", "--threads", "1"]), once);
    of(&["--backend", "cpu", "--precision", "f64"]);
    let emulated = of(&["--backend", "emulator"]);
    assert_eq!(of(&["--backend", "emulator", "--devices", "0,1"]), emulated);
    let output = folder.reconstruct(&[&fixed[..], &["-o", "out.h5", "--quiet"]].concat());
    output.well();
    assert_eq!(output.out, "");
}

#[test]
fn the_report_has_the_classes() {
    let folder = simulated();
    std::fs::rename(folder.path("truth.cxi"), folder.path("scan.cxi")).unwrap();
    search(&folder, &["--report", "r.html"]);
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    for text in [
        "<h3>Orientations that were tried</h3>",
        "<td>axes exchanged</td>",
        "twin: ",
    ] {
        assert!(page.contains(text), "{text}");
    }
    folder
        .reconstruct(&["-o", "o.h5", "--engine", "dm:1", "--report", "r.html"])
        .well();
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("<code>--find-orientation</code>"));
}

/// Pixels a thousand times wider than high: with exchanged axes the object would have as many more
/// rows.
#[test]
fn orientations_with_an_absurd_object_are_skipped() {
    let folder = simulated();
    let scan = read(&folder.path("truth.cxi"), Orientation::default());
    let mut geometry = *scan.geometry();
    geometry.pixel_size[1] /= 1e3;
    let mut positions = scan.positions().clone();
    positions.column_mut(1).mapv_inplace(|x| 1e3 * x);
    let frames = scan.frames().unwrap().into_owned();
    let probe = scan.probe().cloned();
    let wide = Scan::new(frames, None, positions, geometry, probe).unwrap();
    written(&folder, &wide);
    let (summary, printed, _) = search(&folder, &[]);
    let search = &summary["orientation"];
    assert_eq!(search["decision"]["found"]["orientation"], "none");
    for trial in search["trials"].as_array().unwrap() {
        let swaps = trial["orientation"].as_str().unwrap().starts_with("swap");
        assert_eq!(trial["result"]["skipped"].is_string(), swaps, "{trial}");
    }
    let note = "note: orientation swap was not tried: expected positions in metres";
    assert!(printed.contains(note), "{printed}");
}

/// Nothing is written before the run has begun.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_the_search() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "128", "--positions", "100"]);
    let mut command = folder.command();
    command
        .args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"])
        .args(["--backend", "cpu", "--find-orientation"]);
    let output = folder.interrupt_when_handled(&mut command);
    let err = output.err;
    assert_eq!(output.code, Some(130), "{err}");
    assert!(
        err.contains("stopped while the orientation was searched for"),
        "{err}"
    );
    assert_eq!(folder.names(), ["scan.cxi"]);
}

/// What a list says is in the recipe of the result, which repeats the run, and so does a
/// checkpoint.
#[test]
fn transformed_positions_are_those_of_the_result() {
    let folder = TestFolder::with_scan();
    let positions = |options: &[&str]| {
        let fixed = ["-o", "out.h5", "--no-pictures"];
        folder.reconstruct(&[&fixed, options].concat()).well();
        let result = results::read(&folder.path("out.h5")).unwrap();
        std::fs::write(folder.path("r.toml"), &result.recipe).unwrap();
        result.recorded_positions
    };
    let engine = ["--engine", "dm:1"];
    let plain = positions(&engine);
    let list = [
        "--transform-positions",
        "affine=[1,0.25,0,1],swap,flip-columns",
    ];
    let transformed = positions(&[&engine[..], &list].concat());
    for (new, old) in transformed.rows().into_iter().zip(plain.rows()) {
        assert_eq!([new[0], new[1]], [old[1], -(old[0] + 0.25 * old[1])]);
    }
    let recipe = std::fs::read_to_string(folder.path("r.toml")).unwrap();
    assert!(
        recipe.contains("swap_axes = true") && recipe.contains("affine = [["),
        "{recipe}"
    );
    assert_eq!(positions(&["--recipe", "r.toml"]), transformed);
    // A list takes the place of all that the recipe says.
    let options = ["--recipe", "r.toml", "--transform-positions", "none"];
    assert_eq!(positions(&options), plain);
    let info = |options: &[&str]| {
        let output = folder.run(&[&["ptycho", "info", "scan.cxi", "--json"], options].concat());
        output.well();
        let info: Value = serde_json::from_str(&output.out).unwrap();
        info["extent"].as_array().unwrap().clone()
    };
    let extent = info(&[]);
    let swapped = info(&["--transform-positions", "swap"]);
    assert_eq!([&swapped[1], &swapped[0]], [&extent[0], &extent[1]]);
}

#[test]
fn what_is_no_transformation_is_refused() {
    let folder = TestFolder::with_scan();
    let singular = "expected [[a, b], [c, d]] of finite numbers whose determinant is not 0";
    for (list, expected) in [
        ("turn", "expected swap, flip-rows, flip-columns"),
        ("swap,rotate=1", "expected an angle in degrees"),
        ("affine=[1,2,2,4]", singular),
        ("affine=[1,0,0,inf]", singular),
    ] {
        let expected = format!("--transform-positions {list}: {expected}");
        folder
            .reconstruct(&["-o", "out.h5", "--transform-positions", list])
            .refused(2, &[&expected]);
        folder
            .run(&["ptycho", "info", "scan.cxi", "--transform-positions", list])
            .refused(2, &[&expected]);
    }
    folder
        .reconstruct(&["-o", "out.h5", "--set", "data.affine=[[1,1],[1,1]]"])
        .refused(2, &["--set data.affine=[[1,1],[1,1]]: expected"]);
    std::fs::write(folder.path("r.toml"), "[data]\naffine = [[0, 0], [0, 1]]\n").unwrap();
    folder
        .reconstruct(&["-o", "out.h5", "--recipe", "r.toml"])
        .refused(
            1,
            &[
                "r.toml: line 2: data.affine: expected",
                "found [[0, 0], [0, 1]]",
            ],
        );
    for option in ["--find-orientation", "--transform-positions=swap"] {
        let output = folder.reconstruct(&["-o", "out.h5", "--resume", "c", option]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains("--resume"), "{output:?}");
    }
    assert_eq!(folder.names(), ["r.toml", "scan.cxi"]);
}
