//! How a run goes: inputs larger than memory, progress, Ctrl-C, plots, the emulator, the ladder.

use super::super::support::Place;
use super::{MANY, NOON, json, resample, three};
use serde_json::Value;
use std::io::Write;

/// Whatever the memory, the threads and the order of rows, the bytes are the same.
#[test]
fn inputs_larger_than_memory_give_the_same_bytes() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(40_000)).unwrap();
    let run = |out: &str, options: &[&str]| {
        let fixed = ["three.csv", "-o", out, "--quiet", "--summary", "s.json"];
        resample(&place, &[&fixed, &MANY[..], options].concat()).well();
        (
            std::fs::read(place.path(out)).unwrap(),
            json(&place, "s.json"),
        )
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
    // Reversed: the same points, and no two of them at one time of a series.
    let text = three(40_000);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4..].reverse();
    std::fs::write(place.path("three.csv"), lines.join("\n")).unwrap();
    assert!(run("reversed.csv", &[]).0 == whole);
    assert_eq!(
        place.names(),
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
fn a_plot_is_a_picture() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(3000)).unwrap();
    let said = resample(&place, &["three.csv", "-o", "out.csv", "--plot", "p.png"]);
    said.well();
    assert!(said.out.contains("p.png"), "{}", said.out);
    let picture = image::open(place.path("p.png")).unwrap().to_rgb8();
    assert!(picture.width() >= 800 && picture.pixels().any(|p| p.0 == [0, 114, 178]));
}

#[test]
fn progress_is_json_lines() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(3000)).unwrap();
    let said = resample(&place, &["three.csv", "-o", "out.csv", "--json-progress"]);
    said.well();
    let events: Vec<Value> = said
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

/// The input never ends, so the run cannot be over before it is stopped.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    for memory in ["8G", "256K"] {
        let place = Place::new();
        let made = std::process::Command::new("mkfifo")
            .arg(place.path("endless.csv"))
            .status()
            .unwrap();
        assert!(made.success());
        let pipe = place.path("endless.csv");
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
        let said = place.interrupt_at(
            place.command().args(fixed).args(options),
            "\"stage\":\"read\"",
        );
        assert_eq!(said.code, Some(130), "{said:?}");
        assert!(
            said.err.contains("stopped after") && said.err.contains("nothing was written"),
            "{said:?}"
        );
        assert_eq!(place.names(), ["endless.csv"]);
        feeding.join().unwrap();
    }
}

#[test]
fn the_emulator_gives_the_same_bytes() {
    let place = Place::new();
    std::fs::write(place.path("three.csv"), three(600)).unwrap();
    let all = [
        "--granularity",
        "60s,5m",
        "--aggregate",
        "all,rate:mean",
        "--quiet",
    ];
    resample(
        &place,
        &[&["three.csv", "-o", "cpu.csv"], &all[..]].concat(),
    )
    .well();
    let emulated = [
        "series",
        "resample",
        "three.csv",
        "-o",
        "emulated.csv",
        "--backend",
        "emulator",
    ];
    place.run(&[&emulated, &all[..]].concat()).well();
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert!(read("cpu.csv") == read("emulated.csv"));
}

#[test]
fn the_ladder_is_climbed_in_the_emulator() {
    let place = Place::new();
    let said = place.run(&[
        "series",
        "ladder",
        "--backend",
        "emulator",
        "--json",
        "-o",
        "l.json",
    ]);
    said.well();
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(told, json(&place, "l.json"));
    let steps = told["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..4], ["v1", "v2", "v3", "v4"]);
    assert!(steps.iter().all(|step| step["right"] == true), "{told}");
}
