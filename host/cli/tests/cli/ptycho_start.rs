//! Runs that start from an earlier result, and from coarse to fine.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

fn read(folder: &TestFolder, name: &str) -> Reconstruction {
    results::read(&folder.path(name)).unwrap()
}

/// R of every iteration.
fn history(of: &Reconstruction) -> Vec<f64> {
    of.history.iter().map(|h| h.r_factor.unwrap()).collect()
}

/// Bits of object and probe.
fn bits(of: &Reconstruction) -> Vec<[u64; 2]> {
    let values = of.object.iter().chain(&of.probe);
    values.map(|v| [v.re.to_bits(), v.im.to_bits()]).collect()
}

fn simulated(options: &[&str]) -> TestFolder {
    let folder = TestFolder::new();
    let sizes = ["--frame", "48", "--positions", "60", "--overlap", "0.8"];
    folder.simulate("scan.cxi", &[&sizes, options].concat());
    folder
}

/// Reconstructs to a file without pictures, with all metrics.
fn run(folder: &TestFolder, output: &str, options: &[&str]) -> Reconstruction {
    let fixed = [
        "-o",
        output,
        "--no-pictures",
        "--quiet",
        "--metrics-every",
        "1",
    ];
    folder.reconstruct(&[&fixed[..], options].concat()).well();
    read(folder, output)
}

#[test]
fn a_run_goes_on_where_the_earlier_one_ended() {
    let folder = simulated(&[]);
    let first = run(
        &folder,
        "first.h5",
        &["--engine", "dm:40", "--engine", "ap:5"],
    );
    let last = history(&first)[44];
    for engine in ["ap:1", "lsqml:1", "ml:1"] {
        let without = history(&run(&folder, "out.h5", &["--engine", engine]))[0];
        let options = ["--engine", engine, "--start", "first.h5"];
        let with = run(&folder, "out.h5", &options);
        assert!(history(&with)[0] < 1.1 * last, "{engine}: {last} {with:?}");
        assert!(without > 5.0 * last, "{engine}: {last} {without}");
        assert!(
            with.recipe.contains("result = \"first.h5\""),
            "{}",
            with.recipe
        );
    }
    // More modes than the earlier result has, in double precision, from a result in single
    // precision.
    let options = ["--engine", "lsqml:2", "--start", "first.h5"];
    let more = ["--probe-modes", "3", "--precision", "f64"];
    let with = run(&folder, "out.h5", &[&options[..], &more].concat());
    assert_eq!(with.probe.dim().0, 3);
    let summary =
        folder.reconstruct(&[&["-o", "out.h5", "--summary", "s.json"], &options[..]].concat());
    summary.well();
    assert!(
        summary
            .out
            .contains("note: start: object and probe of an earlier result")
    );
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        summary["inputs"],
        serde_json::json!(["scan.cxi", "first.h5"])
    );
}

#[test]
fn refined_positions_and_scales_are_taken_over() {
    let folder = simulated(&["--position-error", "1"]);
    let engine = ["--engine", "lsqml:30", "--set", "lsqml.batch=20"];
    let refine = [
        "--refine-positions",
        "gradient",
        "--fit-frame-scales",
        "--set",
        "positions.start=3",
    ];
    let first = run(&folder, "first.h5", &[&engine[..], &refine].concat());
    let moved = &first.positions - &first.recorded_positions;
    assert!(moved.iter().any(|by| by.abs() > 0.5 * first.pixel[0]));
    let options = [
        "--engine",
        "lsqml:1",
        "--set",
        "lsqml.batch=20",
        "--start",
        "first.h5",
    ];
    let next = run(&folder, "next.h5", &options);
    assert_eq!(next.recorded_positions, first.recorded_positions);
    let most = (&next.positions - &first.positions).mapv(f64::abs);
    assert!(most.iter().all(|by| *by < 1e-3 * first.pixel[0]), "{most}");
    for (a, b) in next.frame_scales.iter().zip(&first.frame_scales) {
        assert!((a / b - 1.0).abs() < 1e-3);
    }
    assert!(history(&next)[0] < 1.1 * history(&first)[29]);
}

/// Engines on a device and on several begin at the positions of the earlier result as the CPU does.
#[test]
fn devices_start_as_the_cpu_does() {
    let folder = simulated(&["--position-error", "1"]);
    let refine = [
        "--refine-positions",
        "gradient",
        "--set",
        "positions.start=3",
    ];
    let engine = ["--engine", "lsqml:20", "--set", "lsqml.batch=20"];
    run(&folder, "first.h5", &[&engine[..], &refine].concat());
    for engine in [
        &["--engine", "dm:2"][..],
        &["--engine", "dm:2", "--set", "dm.subpixel=true"],
        &["--engine", "lsqml:2"],
        &["--engine", "raar:1", "--engine", "ml:1"],
    ] {
        let start = ["--start", "first.h5"];
        let expected = history(&run(&folder, "cpu.h5", &[engine, &start].concat()));
        for place in [&[][..], &["--devices", "0,1"]] {
            let fixed = ["--no-pictures", "--quiet", "--metrics-every", "1"];
            let options = [engine, &start, place, &fixed].concat();
            folder.reconstruct_on("emulator", &options).well();
            let found = history(&read(&folder, "out.h5"));
            for (found, expected) in found.iter().zip(&expected) {
                let ratio = found / expected;
                assert!(
                    (ratio - 1.0).abs() < 0.02,
                    "{engine:?} {place:?}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn coarse_reconstructions_are_the_start_of_finer_ones() {
    let folder = simulated(&[]);
    // The middle quarter would cut the beam.
    let options = ["--engine", "dm:20", "--coarse", "4,2,1"];
    let fine = run(&folder, "out.h5", &options);
    assert!(!folder.path("out-coarse4.h5").exists());
    let noted = folder.reconstruct(&[
        "-o",
        "noted.h5",
        "--engine",
        "dm:1",
        "--coarse",
        "4,2,1",
        "--threads",
        "2",
    ]);
    noted.well();
    assert!(
        (noted.out).contains("note: --coarse: 4 is left out, as the middle of the frames"),
        "{}",
        noted.out
    );
    let coarse = read(&folder, "out-coarse2.h5");
    assert_eq!(coarse.probe.dim(), (1, 24, 24));
    let ratio = coarse.pixel[0] / fine.pixel[0];
    assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
    for unwanted in ["out-coarse2.checkpoint", "out-coarse2-phase.png"] {
        assert!(!folder.path(unwanted).exists());
    }
    assert!(fine.recipe.contains("result = \"out-coarse2.h5\""));
    let plain = run(&folder, "plain.h5", &["--engine", "dm:20"]);
    assert!(history(&fine)[0] < 0.7 * history(&plain)[0]);
    // The same options give the same bits.
    let again = run(&folder, "again.h5", &options);
    assert!(bits(&again) == bits(&fine));
}

#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_does_not_need_its_start() {
    let folder = TestFolder::with_scan();
    run(&folder, "first.h5", &["--engine", "dm:5"]);
    let options = [
        "--engine",
        "dm:100",
        "--engine",
        "lsqml:200",
        "--start",
        "first.h5",
    ];
    let whole = run(&folder, "whole.h5", &options);
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
        .args(options)
        .args(["--json-progress", "--metrics-every", "1"]);
    let stopped = folder.interrupt_at(&mut command, "\"iteration\":110,");
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    std::fs::remove_file(folder.path("first.h5")).unwrap();
    let resume = ["-o", "out.h5", "--resume", "out.checkpoint", "--quiet"];
    folder.reconstruct(&resume).well();
    assert!(bits(&read(&folder, "out.h5")) == bits(&whole));
}

#[test]
fn starts_that_cannot_be_are_refused() {
    let folder = TestFolder::with_scan();
    run(&folder, "first.h5", &["--engine", "dm:2"]);
    let refused = |options: &[&str], code: i32, words: &[&str]| {
        let fixed = ["-o", "out.h5", "--quiet"];
        folder
            .reconstruct(&[&fixed[..], options].concat())
            .refused(code, words);
    };
    refused(&["--start", "none.h5"], 1, &["none.h5"]);
    refused(
        &["--start", "scan.cxi"],
        1,
        &["scan.cxi", "/entry_1/image_1"],
    );
    refused(
        &[
            "--start",
            "first.h5",
            "--set",
            "data.constants.distance=0.5",
        ],
        1,
        &["first.h5: start: expected a window of"],
    );
    folder
        .reconstruct(&["-o", "first.h5", "--start", "first.h5", "--quiet"])
        .refused(2, &["first.h5", "expected another name than the input"]);
    refused(
        &["--start", "first.h5", "--find-orientation"],
        2,
        &["--find-orientation: expected a run without an earlier result"],
    );
    let halves = [
        "ptycho",
        "resolution",
        "scan.cxi",
        "-o",
        "out.h5",
        "--start",
        "first.h5",
    ];
    folder
        .run(&halves)
        .refused(2, &["start.result: expected none", "first.h5"]);
    for factors in ["2", "1,2", "2,2,1", "65,1", "0"] {
        refused(
            &["--coarse", factors],
            2,
            &[&format!("--coarse {factors}: expected factors")],
        );
    }
    refused(
        &["--coarse", "40,1"],
        2,
        &["scan.cxi: expected at most 32, so that frames of 32 x 32 keep a pixel"],
    );
    refused(
        &["--coarse", "2,1", "--set", "data.coarse=2"],
        2,
        &["--set data.coarse: expected a run without --coarse"],
    );
    refused(
        &["--set", "data.coarse=0"],
        2,
        &["--set data.coarse=0: expected 1 to 64"],
    );
    refused(&["--set", "start.result="], 2, &["start.result"]);
}
