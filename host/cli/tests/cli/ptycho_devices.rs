//! `--devices` of a reconstruction, with the real program in the emulator: the same bits on any
//! number of devices, and what is refused.

use super::support::{Output, TestFolder};
use serde_json::Value;
use warpstride::ptycho::data::{HistoryEntry, Reconstruction};
use warpstride::ptycho::io::results;

fn reconstruct(folder: &TestFolder, options: &[&str]) -> Output {
    folder.reconstruct_on("emulator", options)
}

/// A folder with `scan.cxi`, 61 frames of 64 × 64: a prime number, so that devices have different
/// numbers of frames.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "64", "--positions", "61", "--photons", "1e6"];
    folder.simulate("scan.cxi", &size);
    folder
}

fn metrics(of: &Reconstruction) -> Vec<[Option<f64>; 5]> {
    let of_entry = |e: &HistoryEntry| {
        [
            Some(e.err_fourier),
            e.err_exit,
            e.err_phot,
            e.r_factor,
            e.r_free,
        ]
    };
    of.history.iter().map(of_entry).collect()
}

#[test]
fn any_number_of_devices_gives_the_same_bits() {
    let folder = folder();
    let run = |options: &[&str]| {
        let engines = [
            "--engine",
            "dm:2",
            "--engine",
            "lsqml:2",
            "--engine",
            "raar:1",
            "--free-pixels",
            "0.02",
        ];
        let output = reconstruct(&folder, &[&engines[..], options].concat());
        output.well();
        (results::read(&folder.path("out.h5")).unwrap(), output.out)
    };
    let (one, printed) = run(&["--metrics-every", "1"]);
    assert!(!printed.contains("devices"), "{printed}");
    // Two and four devices divide the batches of lsqml.
    for (devices, divides) in [("0,1", true), ("0,1,2", false), ("0,1,2,3", true)] {
        let options = ["--metrics-every", "1", "--devices", devices];
        let (several, printed) = run(&options);
        assert!(printed.contains("devices divide the frames"), "{printed}");
        let undivided = printed.contains("all frames of lsqml");
        assert_eq!(undivided, !divides, "{printed}");
        assert_eq!((&several.object, &several.probe), (&one.object, &one.probe));
        assert_eq!(metrics(&several), metrics(&one), "{devices}");
    }
}

#[test]
fn a_run_resumes_on_another_number_of_devices() {
    let folder = folder();
    let run = |options: &[&str]| {
        reconstruct(&folder, options).well();
        results::read(&folder.path("out.h5")).unwrap()
    };
    let whole = run(&["--engine", "dm:16", "--free-pixels", "0.02"]);
    let mut command = folder.command();
    command.args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"]);
    command.args(["--backend", "emulator", "--engine", "dm:16"]);
    command.args(["--free-pixels", "0.02", "--json-progress"]);
    command.args(["--checkpoint", "run.checkpoint", "--devices", "0,1,2"]);
    folder.interrupt_at(&mut command, "\"iteration\":3");
    let summary = ["--devices", "0,1", "--summary", "summary.json"];
    let resumed = run(&[&["--resume", "run.checkpoint"], &summary[..]].concat());
    assert_eq!(
        (&resumed.object, &resumed.probe),
        (&whole.object, &whole.probe)
    );
    assert_eq!(metrics(&resumed), metrics(&whole));
    let text = std::fs::read_to_string(folder.path("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let device = summary["device"].as_str().unwrap();
    assert_eq!(device.split(", ").count(), 2, "{device}");
}

#[test]
fn wrong_lists_of_devices_are_refused() {
    let folder = folder();
    for (options, expected, code) in [
        (
            &["--engine", "dm:2", "--devices", "0,0"][..],
            "--devices 0,0: expected each device once, found 0 twice",
            2,
        ),
        (
            &["--engine", "dm:2", "--devices", "all"],
            "--devices all: expected a list such as 0,1,2 for --backend emulator",
            2,
        ),
        (
            &["--engine", "dm:2", "--devices", "0,1", "--device", "0"],
            "cannot be used with",
            2,
        ),
        (
            &[
                "--engine",
                "dm:2",
                "--devices",
                "0,1",
                "--profile",
                "t.json",
            ],
            "--profile: expected one GPU, found several",
            2,
        ),
    ] {
        let output = reconstruct(&folder, options);
        output.refused(code, &[expected]);
        assert!(!folder.path("out.h5").exists());
    }
    let cpu = [
        "ptycho",
        "reconstruct",
        "scan.cxi",
        "-o",
        "out.h5",
        "--backend",
        "cpu",
        "--devices",
        "0,1",
    ];
    let output = folder.run(&cpu);
    output.refused(2, &["--devices", "expected --backend cuda or emulator"]);
}
