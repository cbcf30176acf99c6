//! Runs as a whole: inputs larger than memory, progress, Ctrl-C, plots, the emulator, the ladder.

use super::super::support::{TestFolder, read_png};
use super::{MANY, NOON, json, resample, three};
use serde_json::Value;
use std::io::Write;

/// The output bytes do not depend on memory, threads or row order.
#[test]
fn inputs_larger_than_memory_give_the_same_bytes() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("three.csv"), three(40_000)).unwrap();
    let run = |out: &str, options: &[&str]| {
        let fixed = ["three.csv", "-o", out, "--quiet", "--summary", "s.json"];
        resample(&dir, &[&fixed, &MANY[..], options].concat()).well();
        (std::fs::read(dir.path(out)).unwrap(), json(&dir, "s.json"))
    };
    let (whole, summary) = run("whole.csv", &[]);
    assert_eq!(summary["memory"]["spilled_bytes"], 0);
    for memory in ["150K", "300K", "1M"] {
        let (cut, of_cut) = run("cut.csv", &["--memory", memory]);
        assert!(cut == whole, "{memory}");
        assert!(
            of_cut["memory"]["spilled_bytes"].as_u64().unwrap() > 600_000,
            "{of_cut}"
        );
        assert!(
            of_cut["memory"]["batches"].as_u64().unwrap() > 3,
            "{of_cut}"
        );
        for key in [
            "points",
            "duplicates",
            "skipped",
            "series",
            "granularities",
            "rows",
        ] {
            assert_eq!(of_cut[key], summary[key], "{key}");
        }
    }
    assert!(run("one.csv", &["--threads", "1"]).0 == whole);
    // Reversed: the same points; no two points of a series share a time.
    let text = three(40_000);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4..].reverse();
    std::fs::write(dir.path("three.csv"), lines.join("\n")).unwrap();
    assert!(run("reversed.csv", &[]).0 == whole);
    assert_eq!(
        dir.names(),
        [
            "cut.csv",
            "one.csv",
            "reversed.csv",
            "s.json",
            "three.csv",
            "whole.csv"
        ]
    );
}

#[test]
fn plots_are_written_as_png() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("three.csv"), three(3000)).unwrap();
    let result = resample(&dir, &["three.csv", "-o", "out.csv", "--plot", "p.png"]);
    result.well();
    assert!(result.out.contains("p.png"), "{}", result.out);
    let picture = read_png(&dir.path("p.png"));
    assert_eq!(picture.samples, 3);
    assert!(picture.width >= 800 && picture.bytes.chunks(3).any(|p| p == [0, 114, 178]));
}

#[test]
fn progress_is_written_as_json_lines() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("three.csv"), three(3000)).unwrap();
    let result = resample(&dir, &["three.csv", "-o", "out.csv", "--json-progress"]);
    result.well();
    let events: Vec<Value> = result
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["event"], "start");
    assert_eq!(events.last().unwrap()["event"], "end");
    let stages: Vec<&str> = events.iter().filter_map(|e| e["stage"].as_str()).collect();
    assert_eq!(
        (stages.first(), stages.last()),
        (Some(&"read"), Some(&"resample"))
    );
}

/// The input never ends, so the run cannot finish before it is stopped.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    for memory in ["8G", "256K"] {
        let dir = TestFolder::new();
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path("endless.csv"))
            .status()
            .unwrap();
        assert!(made.success());
        let pipe = dir.path("endless.csv");
        let feeding = std::thread::spawn(move || {
            let mut to = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
            let mut second = NOON;
            loop {
                let rows: String = (0..10_000)
                    .map(|i| format!("{},{i}\n", second + i))
                    .collect();
                second += 10_000;
                if to.write_all(rows.as_bytes()).is_err() {
                    break;
                }
            }
        });
        let options = [
            "endless.csv",
            "-o",
            "out.csv",
            "--memory",
            memory,
            "--json-progress",
        ];
        let fixed = ["series", "resample", "--backend", "cpu"];
        let result = dir.interrupt_at(
            dir.command().args(fixed).args(options),
            "\"stage\":\"read\"",
        );
        assert_eq!(result.code, Some(130), "{result:?}");
        assert!(
            result.err.contains("stopped after") && result.err.contains("nothing was written"),
            "{result:?}"
        );
        assert_eq!(dir.names(), ["endless.csv"]);
        feeding.join().unwrap();
    }
}

#[test]
fn the_emulator_gives_the_same_bytes() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("three.csv"), three(600)).unwrap();
    let all = [
        "--granularity",
        "60s,5m",
        "--aggregate",
        "all,rate:mean",
        "--quiet",
    ];
    resample(&dir, &[&["three.csv", "-o", "cpu.csv"], &all[..]].concat()).well();
    let emulated = [
        "series",
        "resample",
        "three.csv",
        "-o",
        "emulated.csv",
        "--backend",
        "emulator",
    ];
    dir.run(&[&emulated, &all[..]].concat()).well();
    let read = |name: &str| std::fs::read(dir.path(name)).unwrap();
    assert!(read("cpu.csv") == read("emulated.csv"));
}

#[test]
fn the_ladder_runs_in_the_emulator() {
    let dir = TestFolder::new();
    let result = dir.run(&[
        "series",
        "ladder",
        "--backend",
        "emulator",
        "--json",
        "-o",
        "l.json",
    ]);
    result.well();
    let ladder: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(ladder, json(&dir, "l.json"));
    let steps = ladder["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..4], ["v1", "v2", "v3", "v4"]);
    assert!(steps.iter().all(|step| step["right"] == true), "{ladder}");
}
