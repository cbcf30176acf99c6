//! Object modes and fly scans: simulated, reconstructed, resumed and predicted, and refused where
//! they are wrong.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::io::results;

const QUIET: [&str; 2] = ["--no-pictures", "--quiet"];

/// A folder with `scan.cxi`, 20 frames of 32 × 32 of a specimen with two states that moves during
/// the exposures.
fn simulated() -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "20", "--overlap", "0.8"];
    let moves = [
        "--object-modes",
        "2",
        "--fly-shift",
        "0,2",
        "--pattern",
        "raster",
    ];
    folder.simulate("scan.cxi", &[&size[..], &moves].concat());
    folder
}

const MODEL: [&str; 6] = [
    "--object-modes",
    "2",
    "--fly-points",
    "3",
    "--fly-shift",
    "0,40nm",
];

#[test]
fn a_fly_scan_with_object_modes_is_reconstructed_and_predicted() {
    let folder = simulated();
    let engine = [
        "--engine",
        "lsqml:30",
        "--set",
        "lsqml.batch=5",
        "--seed",
        "1",
    ];
    let one = [&["-o", "one.h5"][..], &QUIET, &engine].concat();
    folder.reconstruct(&one).well();
    let model = [
        &["-o", "out.h5", "--summary", "s.json", "--report", "r.html"][..],
        &QUIET,
    ];
    let options = [&model.concat()[..], &engine, &MODEL].concat();
    folder.reconstruct(&options).well();

    let [plain, found] =
        ["one.h5", "out.h5"].map(|name| results::read(&folder.path(name)).unwrap());
    let r = |of: &warpstride::ptycho::data::Reconstruction| {
        of.history.last().unwrap().r_factor.unwrap()
    };
    assert!(r(&found) < 0.5 * r(&plain), "{} {}", r(&found), r(&plain));
    assert_eq!(plain.parts, Default::default());
    let modes = found.parts.object_modes.as_ref().unwrap();
    assert!(modes.further.dim().0 == 1 && modes.power[0] > modes.power[1]);
    let exposures = found.parts.exposures.as_ref().unwrap();
    assert_eq!((exposures.points, exposures.paths.len()), (3, 20));
    assert!((exposures.paths[7][1] - 2.0).abs() < 1e-6);

    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["exposure_points"], 3);
    assert_eq!(summary["object_mode_power"].as_array().unwrap().len(), 2);
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("Object modes") && page.contains("[fly]"));
    assert!(page.contains("3 points of each exposure, path of all frames 0 rows, 2 columns"));

    let predicted = folder.run(&["ptycho", "predict", "out.h5", "scan.cxi", "-o", "model.cxi"]);
    predicted.well();
    // A run that starts there has the modes.
    let start = ["-o", "next.h5", "--start", "out.h5", "--engine", "ml:3"];
    folder
        .reconstruct(&[&start[..], &QUIET, &MODEL].concat())
        .well();
    let next = results::read(&folder.path("next.h5")).unwrap();
    assert!(r(&next) < 1.01 * r(&found), "{} {}", r(&next), r(&found));
    // One without them says so, and which options have no effect.
    let thin = [
        "-o",
        "thin.h5",
        "--start",
        "out.h5",
        "--engine",
        "ml:1",
        "--no-pictures",
    ];
    let idle = ["--set", "fly.exposure=0.5", "--set", "fly.positions=end"];
    let said = folder.reconstruct(&[&thin[..], &idle].concat());
    said.well();
    let text = format!("{}{}", said.out, said.err);
    for expected in [
        "1 of the result's 2 object modes taken",
        "motion during the result's exposures (3 points) left out",
        "fly.exposure has no effect",
        "fly.positions has no effect",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn wrong_values_are_refused_by_their_names() {
    let folder = simulated();
    let refused = |options: &[&str], words: &[&str]| {
        let all = [&["-o", "out.h5", "--engine", "ml:2"][..], &QUIET, options].concat();
        folder.reconstruct(&all).refused(2, words);
    };
    refused(
        &["--object-modes", "17"],
        &["--object-modes 17", "expected 1 to 16"],
    );
    refused(
        &["--fly-points", "65", "--fly-shift", "scan"],
        &["--fly-points 65", "1 to 64"],
    );
    refused(&["--fly-points", "3"], &["fly.shift", "metres"]);
    refused(
        &["--fly-shift", "1um"],
        &["--fly-shift 1um", "ROWS,COLUMNS"],
    );
    refused(
        &["--set", "fly.exposure=0"],
        &["fly.exposure=0", "at most 1"],
    );
    assert!(!folder.path("out.h5").exists());
}
