//! `ptycho resolution`: halves of a scan, their ring correlation, and runs that go on.

use super::support::{Output, TestFolder};
use serde_json::Value;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

const ENGINES: [&str; 6] = ["--engine", "dm:30", "--engine", "ap:5", "--backend", "cpu"];

fn resolution(folder: &TestFolder, scan: &str, options: &[&str]) -> Output {
    let fixed = ["ptycho", "resolution", scan, "-o", "out.h5"];
    folder.run(&[&fixed, &ENGINES[..], options].concat())
}

fn summary(folder: &TestFolder) -> Value {
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn half(folder: &TestFolder, number: usize) -> Reconstruction {
    results::read(&folder.path(&format!("out-half{number}.h5"))).unwrap()
}

/// Bits of object and probe.
fn bits(of: &Reconstruction) -> Vec<[u64; 2]> {
    let values = of.object.iter().chain(&of.probe);
    values.map(|v| [v.re.to_bits(), v.im.to_bits()]).collect()
}

fn scan_of(photons: &str) -> TestFolder {
    let folder = TestFolder::new();
    let sizes = ["--frame", "48", "--positions", "81", "--overlap", "0.85"];
    folder.simulate("scan.cxi", &[&sizes, &["--photons", photons][..]].concat());
    folder
}

#[test]
fn fewer_photons_give_a_coarser_resolution() {
    let found = ["1e9", "1.2e4"].map(|photons| {
        let folder = scan_of(photons);
        resolution(&folder, "scan.cxi", &["--summary", "s.json", "--quiet"]).well();
        let summary = summary(&folder);
        let pixel = summary["pixel"][0].as_f64().unwrap();
        // With few photons the curve stays below the threshold of one bit.
        let [half_bit, one_bit] = ["resolution_half_bit", "resolution_one_bit"]
            .map(|name| summary[name].as_f64().unwrap_or(f64::INFINITY) / pixel);
        // A curve falls below the lower threshold later.
        assert!(
            1.0 <= half_bit && half_bit <= one_bit,
            "{half_bit} {one_bit}"
        );
        half_bit
    });
    let [bright, faint] = found;
    assert!(bright < 1.2 && faint > 1.1 * bright, "{bright} {faint}");
}

#[test]
fn halves_are_results_with_their_own_frames_and_start() {
    let folder = scan_of("1e7");
    let outputs = [
        "--summary",
        "s.json",
        "--report",
        "r.html",
        "--plot",
        "frc.svg",
    ];
    let said = resolution(&folder, "scan.cxi", &outputs);
    said.well();
    for text in [
        "half 1 of 2",
        "half 2 of 2",
        "resolution, half bit",
        "frames                41 and 40",
        "frc.svg",
    ] {
        assert!(said.out.contains(text), "{text}: {}", said.out);
    }
    let halves = [1, 2].map(|number| half(&folder, number));
    let mut frames: Vec<[u64; 2]> = (halves.iter())
        .flat_map(|half| half.recorded_positions.rows())
        .map(|at| [at[0].to_bits(), at[1].to_bits()])
        .collect();
    frames.sort_unstable();
    frames.dedup();
    assert_eq!(frames.len(), 81);
    assert!(halves[0].recipe.contains("half = 1") && halves[1].recipe.contains("half = 2"));
    let seeds = halves.each_ref().map(|half| {
        let mut lines = half.recipe.lines();
        lines
            .find(|line| line.starts_with("seed"))
            .unwrap()
            .to_owned()
    });
    assert_ne!(seeds[0], seeds[1]);
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("Half 2</h2>") && page.contains("<svg"));
    let plot = std::fs::read_to_string(folder.path("frc.svg")).unwrap();
    assert!(plot.contains("<svg") && plot.contains("spatial frequency"));
    // The numbers are those of `ptycho compare`.
    let compared = folder.run(&[
        "ptycho",
        "compare",
        "out-half1.h5",
        "out-half2.h5",
        "--json",
    ]);
    let compared: Value = serde_json::from_str(&compared.out).unwrap();
    let found = summary(&folder);
    for name in ["frc", "resolution_half_bit", "relative_l2"] {
        assert_eq!(found[name], compared[name], "{name}");
    }
    // A half repeats by its recipe alone.
    std::fs::write(folder.path("half.toml"), &halves[1].recipe).unwrap();
    folder
        .reconstruct(&["-o", "again.h5", "--recipe", "half.toml", "--quiet"])
        .well();
    let again = results::read(&folder.path("again.h5")).unwrap();
    assert!(bits(&again) == bits(&halves[1]));
}

#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_goes_on() {
    let folder = TestFolder::with_scan();
    let long = |options: &[&str]| {
        let fixed = ["ptycho", "resolution", "scan.cxi", "-o", "out.h5"];
        let engine = ["--engine", "dm:400", "--backend", "cpu"];
        [&fixed[..], &engine, options].concat().join(" ")
    };
    let run = |options: &[&str]| folder.run(&long(options).split(' ').collect::<Vec<_>>());
    run(&["--quiet", "--summary", "s.json"]).well();
    let expected = [1, 2].map(|number| bits(&half(&folder, number)));
    let whole = summary(&folder);
    for number in [1, 2] {
        std::fs::remove_file(folder.path(&format!("out-half{number}.h5"))).unwrap();
    }
    let stopped_at = |text: &str, half: &str, options: &[&str]| {
        let mut command = folder.command();
        let fixed = ["--json-progress", "--checkpoint-every", "0"];
        let all = long(&[&fixed[..], options].concat());
        command.args(all.split(' '));
        let stopped = folder.interrupt_at(&mut command, text);
        assert_eq!(stopped.code, Some(130), "{stopped:?}");
        let said = format!("half {half} of 2; the same command with --resume continues");
        assert!(stopped.err.contains(&said), "{stopped:?}");
    };
    stopped_at("\"iteration\":3", "1", &[]);
    // Without --resume nothing is lost.
    run(&["--quiet"]).refused(
        1,
        &[
            "out-half1.checkpoint: checkpoint: expected no file",
            "--resume",
        ],
    );
    // Before the first iteration of the second half.
    stopped_at("\"half\":2", "2", &["--resume"]);
    let other = ["--resume", "--quiet", "--set", "dm.alpha=0.9"];
    run(&other).refused(1, &["out-half1.h5: expected the result of this half"]);
    let said = run(&["--resume", "--summary", "s.json"]);
    said.well();
    assert!(
        said.out
            .contains("note: out-half1.h5 is that of an earlier run")
    );
    assert!([1, 2].map(|number| bits(&half(&folder, number))) == expected);
    assert_eq!(summary(&folder)["frc"], whole["frc"]);
    assert!(!folder.path("out-half2.checkpoint").exists());
}

#[test]
fn scans_and_options_that_cannot_be_are_refused() {
    let folder = TestFolder::with_scan();
    let one = ["--set", "data.frames=[0,1]"];
    let before = folder.names();
    resolution(&folder, "scan.cxi", &[&one[..], &["--quiet"]].concat()).refused(
        1,
        &[
            "scan.cxi: ",
            "expected at least 2 frames in data.frames = [0, 1]",
            "found 1",
        ],
    );
    assert_eq!(folder.names(), before);
    resolution(&folder, "none.cxi", &["--quiet"]).refused(1, &["none.cxi"]);
    resolution(&folder, "scan.cxi", &["--plot", "a.png"]).refused(2, &["a.png"]);
    resolution(&folder, "scan.cxi", &["--plot", "out-half1.h5"]).refused(2, &["out-half1.h5"]);
    resolution(&folder, "scan.cxi", &["--set", "dm.alpha=-3"]).refused(2, &["dm.alpha"]);
    folder
        .reconstruct(&["-o", "out.h5", "--set", "data.half=3"])
        .refused(2, &["--set data.half=3: expected 1 or 2"]);
}
