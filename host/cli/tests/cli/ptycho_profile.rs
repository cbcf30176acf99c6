//! `ptycho reconstruct --profile`, with the real program in the emulator.

use super::support::{Output, TestFolder};
use serde_json::Value;
use std::collections::BTreeMap;

fn reconstruct(folder: &TestFolder, options: &[&str]) -> Output {
    let fixed = ["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"];
    folder.run(&[&fixed[..], options].concat())
}

fn read(folder: &TestFolder, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

/// The events of kernels and copies.
fn work(trace: &Value) -> Vec<&Value> {
    let events = trace["traceEvents"].as_array().unwrap();
    events.iter().filter(|event| event["ph"] == "X").collect()
}

#[test]
fn the_file_has_the_kernels_of_the_first_iterations() {
    let folder = TestFolder::with_scan();
    let emulated = ["--backend", "emulator", "--engine", "dm:5"];
    let with = |options: &[&str]| {
        let output = reconstruct(&folder, &[&emulated[..], options].concat());
        output.well();
        assert!(output.out.contains("t.json"), "{output:?}");
        read(&folder, "t.json")
    };
    let summary = ["--profile", "t.json", "--summary", "s.json"];
    let three = with(&summary);
    let outputs = read(&folder, "s.json")["outputs"].clone();
    let listed = |name: &str| outputs.as_array().unwrap().iter().any(|o| o == name);
    assert!(listed("t.json") && listed("s.json"), "{outputs}");
    assert_eq!(three["otherData"]["backend"], "emulator");
    assert_eq!(three["otherData"]["first_iteration"], 1);
    assert_eq!(three["otherData"]["iterations"], 3);
    let events = three["traceEvents"].as_array().unwrap();
    let named = |kind: &str, name: &str| {
        let mut of = events
            .iter()
            .filter(|e| e["ph"] == "M" && e["name"] == kind);
        of.any(|event| event["args"]["name"] == name)
    };
    assert!(named("process_name", "emulator on the CPU"), "{events:?}");
    assert!(named("thread_name", "work"), "{events:?}");
    let mut ends: BTreeMap<u64, f64> = BTreeMap::new();
    for event in work(&three) {
        let [start, duration] = ["ts", "dur"].map(|name| event[name].as_f64().unwrap());
        let end = ends.entry(event["tid"].as_u64().unwrap()).or_default();
        // Sums of decimals are rounded.
        assert!(start >= *end - 1e-3 && duration >= 0.0, "{event}");
        *end = start + duration;
    }
    let kernels = |trace: &Value| {
        let named = work(trace).into_iter().map(|event| &event["name"]);
        let kernels = named.filter(|name| name.as_str().unwrap().starts_with("ptycho_"));
        kernels.cloned().collect::<Vec<_>>()
    };
    let one = with(&["--profile", "t.json", "--profile-iterations", "1"]);
    assert_eq!(one["otherData"]["iterations"], 1);
    let (one, three) = (kernels(&one), kernels(&three));
    assert!(!one.is_empty());
    assert_eq!(three[..one.len()], one);
    assert!(three.len() > 2 * one.len());
    // There are five.
    let all = with(&["--profile", "t.json", "--profile-iterations", "100"]);
    assert_eq!(all["otherData"]["iterations"], 5);
    assert!(kernels(&all).len() > three.len());
}

#[test]
fn counts_that_travel_have_a_row_of_their_own_with_their_bytes() {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "12", "--photons", "1e6"];
    folder.simulate("scan.cxi", &size);
    let engine = ["--engine", "lsqml:2", "--set", "lsqml.batch=3"];
    let info = [
        &["ptycho", "info", "scan.cxi", "--json"][..],
        &engine[..2],
        &["--set", "lsqml.batch=3"],
    ];
    let info = folder.run(&info.concat());
    info.well();
    let info: Value = serde_json::from_str(&info.out).unwrap();
    let needed = info["memory"]["gpu_device_bytes"].as_u64().unwrap();
    let limit = (needed - 1000).to_string();
    let options = ["--backend", "emulator", "--profile", "t.json"];
    let limit = ["--device-memory", &limit];
    reconstruct(&folder, &[&engine[..], &options, &limit].concat()).well();
    let trace = read(&folder, "t.json");
    let events = trace["traceEvents"].as_array().unwrap();
    let row = events
        .iter()
        .find(|event| event["args"]["name"] == "copies");
    let row = &row.unwrap()["tid"];
    let copies: Vec<_> = work(&trace)
        .into_iter()
        .filter(|event| event["tid"] == *row)
        .collect();
    assert!(!copies.is_empty());
    for copy in copies {
        // Whole frames, two bytes a pixel.
        let bytes = copy["args"]["bytes"].as_u64().unwrap();
        assert!(bytes > 0 && bytes.is_multiple_of(32 * 32 * 2), "{copy}");
    }
}

#[test]
fn an_interrupted_run_has_the_iterations_that_were_done() {
    let folder = TestFolder::with_scan();
    let mut command = folder.command();
    command.args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"]);
    command.args(["--backend", "emulator", "--engine", "dm:1000"]);
    command.args(["--profile", "t.json", "--profile-iterations", "1000"]);
    command.args(["--json-progress", "--checkpoint", "run.checkpoint"]);
    folder.interrupt_at(&mut command, "\"iteration\":3");
    let trace = read(&folder, "t.json");
    let iterations = trace["otherData"]["iterations"].as_u64().unwrap();
    assert!((3..1000).contains(&iterations), "{iterations}");
    let resumed = [
        "--resume",
        "run.checkpoint",
        "--profile",
        "t.json",
        "--backend",
        "cpu",
    ];
    let found = "--profile: expected --backend cuda or emulator, found --backend cpu";
    reconstruct(&folder, &resumed).refused(2, &[found]);
}

#[test]
fn what_cannot_be_profiled_is_refused() {
    let folder = TestFolder::with_scan();
    let profile = ["--profile", "t.json"];
    for (options, code, words) in [
        (
            &["--backend", "cpu"][..],
            2,
            &["--profile: expected --backend cuda or emulator, found --backend cpu"][..],
        ),
        (
            &["--backend", "emulator", "--profile-iterations", "0"],
            2,
            &["--profile-iterations 0: expected 1 or more"],
        ),
        (
            &["--precision", "f64"],
            2,
            &["--backend cuda", "--precision f32, found f64"],
        ),
    ] {
        let output = reconstruct(&folder, &[options, &profile].concat());
        output.refused(code, words);
    }
    let path = "none/t.json";
    reconstruct(&folder, &["--backend", "emulator", "--profile", path]).refused(
        1,
        &["--profile none/t.json: cannot be written: there is no folder none"],
    );
    let alone = reconstruct(&folder, &["--profile-iterations", "2"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    assert!(alone.err.contains("--profile"), "{alone:?}");
    assert!(!folder.path("out.h5").exists() && !folder.path("t.json").exists());

    let mut command = folder.command();
    command.args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"]);
    command.args(["--backend", "cpu", "--engine", "dm:100000"]);
    command.args(["--json-progress", "--checkpoint", "run.checkpoint"]);
    folder.interrupt_at(&mut command, "\"iteration\":3");
    let resumed = ["--resume", "run.checkpoint", "--profile", "t.json"];
    let found = "found the back end of run.checkpoint, cpu";
    reconstruct(&folder, &resumed).refused(1, &["--profile: expected", found]);
}
