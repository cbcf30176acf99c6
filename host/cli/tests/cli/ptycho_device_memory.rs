//! `--device-memory`, with the real program in the emulator: the same results, what `info` says,
//! and what is refused.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::io::results;

/// Batches of three of the frames.
const ENGINE: [&str; 4] = ["--engine", "lsqml:3", "--set", "lsqml.batch=3"];

/// A folder with `scan.cxi`, twelve frames of 32 × 32 whose counts need 16 bits.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "12"];
    folder.simulate("scan.cxi", &[&size[..], &["--photons", "1e6"]].concat());
    folder
}

/// A limit that is a little too small for all counts of the folder's scan.
fn limit(folder: &TestFolder, engine: &[&str]) -> String {
    let output = folder.run(&[&["ptycho", "info", "scan.cxi", "--json"], engine].concat());
    output.well();
    let info: Value = serde_json::from_str(&output.out).unwrap();
    let needed = info["memory"]["gpu_device_bytes"].as_u64().unwrap();
    (needed - 1000).to_string()
}

#[test]
fn less_device_memory_gives_the_same_result() {
    let folder = folder();
    let limit = limit(&folder, &ENGINE);
    let with = |options: &[&str]| {
        let fixed = ["--free-pixels", "0.02"];
        let output = folder.reconstruct_on("emulator", &[&ENGINE[..], &fixed, options].concat());
        output.well();
        (results::read(&folder.path("out.h5")).unwrap(), output.out)
    };
    let (all, printed) = with(&[]);
    assert!(!printed.contains("blocks"), "{printed}");
    let (found, printed) = with(&["--device-memory", &limit]);
    assert!(
        printed.contains("counts stay in host memory and travel in blocks of up to"),
        "{printed}"
    );
    assert!(printed.contains("2 bytes a pixel"), "{printed}");
    assert_eq!((&found.object, &found.probe), (&all.object, &all.probe));
    let metrics = |of: &warpstride::ptycho::data::Reconstruction| {
        let of_entry =
            |e: &warpstride::ptycho::data::HistoryEntry| (e.err_fourier, e.r_factor, e.r_free);
        of.history.iter().map(of_entry).collect::<Vec<_>>()
    };
    assert_eq!(metrics(&found), metrics(&all));
    let (_, printed) = with(&["--device-memory", "1T"]);
    assert!(!printed.contains("blocks"), "{printed}");
}

#[test]
fn an_interrupted_run_resumes_with_less_device_memory() {
    let folder = folder();
    let limit = limit(&folder, &ENGINE);
    let run = |options: &[&str]| {
        folder.reconstruct_on("emulator", options).well();
        results::read(&folder.path("out.h5")).unwrap()
    };
    let whole = run(&["--engine", "lsqml:40", "--set", "lsqml.batch=3"]);
    let mut command = folder.command();
    command.args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"]);
    command.args(["--backend", "emulator", "--engine", "lsqml:40"]);
    command.args(["--set", "lsqml.batch=3", "--json-progress"]);
    command.args(["--checkpoint", "run.checkpoint", "--device-memory", &limit]);
    folder.interrupt_at(&mut command, "\"iteration\":3");
    let resumed = run(&["--resume", "run.checkpoint", "--device-memory", &limit]);
    assert_eq!(
        (&resumed.object, &resumed.probe),
        (&whole.object, &whole.probe)
    );
}

/// For 150 frames of 64 × 64, three times the slices of a probe update, so that the exit waves are
/// in several blocks.
const PROJECTIONS: [&str; 4] = ["--engine", "dm:4", "--engine", "raar:1"];

#[test]
fn projections_travel_in_blocks_and_resume() {
    let folder = TestFolder::new();
    let size = ["--frame", "64", "--positions", "150", "--photons", "1e6"];
    folder.simulate("scan.cxi", &size);
    let limit = {
        let needed: u64 = limit(&folder, &PROJECTIONS).parse().unwrap();
        (needed * 17 / 20).to_string()
    };
    let run = |options: &[&str]| {
        let output = folder.reconstruct_on("emulator", options);
        output.well();
        (results::read(&folder.path("out.h5")).unwrap(), output.out)
    };
    let (whole, printed) = run(&PROJECTIONS);
    assert!(!printed.contains("blocks"), "{printed}");
    let (found, printed) = run(&[&PROJECTIONS[..], &["--device-memory", &limit]].concat());
    assert!(
        printed.contains("exit waves travel in blocks of up to"),
        "{printed}"
    );
    assert_eq!((&found.object, &found.probe), (&whole.object, &whole.probe));
    let mut command = folder.command();
    command.args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"]);
    command.args(["--backend", "emulator", "--json-progress"]);
    command.args(PROJECTIONS);
    command.args(["--checkpoint", "run.checkpoint", "--device-memory", &limit]);
    folder.interrupt_at(&mut command, "\"iteration\":2");
    let (resumed, _) = run(&["--resume", "run.checkpoint", "--device-memory", &limit]);
    assert_eq!(
        (&resumed.object, &resumed.probe),
        (&whole.object, &whole.probe)
    );
    let info = folder.run(
        &[
            &["ptycho", "info", "scan.cxi", "--device-memory", &limit][..],
            &PROJECTIONS,
        ]
        .concat(),
    );
    info.well();
    assert!(
        info.out.contains("an iteration of a projection engine") && info.out.contains("ms"),
        "{}",
        info.out
    );
}

#[test]
fn info_says_what_travels() {
    let folder = folder();
    let limit = limit(&folder, &ENGINE);
    let info = |options: &[&str]| {
        let output = folder.run(&[&["ptycho", "info", "scan.cxi"], options].concat());
        output.well();
        output.out
    };
    let said = info(&[&ENGINE[..], &["--device-memory", &limit]].concat());
    for expected in ["counts, GPU", "blocks of up to", "at 55 GB/s"] {
        assert!(said.contains(expected), "{said}");
    }
    let said = info(&[&ENGINE[..], &["--device-memory", "1T"]].concat());
    assert!(said.contains("all on the device"), "{said}");
    assert!(!info(&ENGINE).contains("counts, GPU"));
    let said = info(&["--device-memory", "64K"]);
    assert!(
        said.contains("64.0 KiB is available") && said.contains("data.crop=[16,16]"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_done_with_so_little_is_refused() {
    let folder = folder();
    let with = |options: &[&str]| folder.reconstruct_on("emulator", options);
    for (engine, advice) in [("lsqml:3", "lsqml.batch"), ("dm:3", "data.crop=[16,16]")] {
        with(&["--engine", engine, "--device-memory", "100K"])
            .refused(1, &["device memory", "100.0 KiB is available", advice]);
    }
    for wrong in ["", "2X", "-1", "1K", "nan"] {
        with(&["--device-memory", wrong]).refused(2, &["--device-memory", "500M"]);
    }
    assert!(!folder.path("out.h5").exists());
    let on_cpu = folder.reconstruct_on("cpu", &["--engine", "lsqml:1", "--device-memory", "100K"]);
    on_cpu.well();
    assert!(
        on_cpu
            .out
            .contains("--device-memory has no effect on the CPU"),
        "{}",
        on_cpu.out
    );
}
