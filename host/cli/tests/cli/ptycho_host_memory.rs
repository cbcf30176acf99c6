//! `--host-memory` and `--scratch`, with the real program in the emulator: counts in a temporary
//! file.

use super::support::{Output, TestFolder};
use warpstride::ptycho::io::results;

const SCRATCH: &str = "the counts are in a temporary file in";

/// A folder with `scan.cxi`, whose counts take most of the memory.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "64", "--positions", "250", "--overlap", "0.94"];
    folder.simulate("scan.cxi", &[&size[..], &["--photons", "1e6"]].concat());
    folder
}

fn reconstruct(folder: &TestFolder, backend: &str, options: &[&str]) -> Output {
    let engine = ["--engine", "lsqml:1", "--set", "lsqml.batch=10"];
    folder.reconstruct_on(backend, &[&engine[..], options].concat())
}

#[test]
fn less_host_memory_gives_the_same_result() {
    let folder = folder();
    let with = |options: &[&str]| {
        let output = reconstruct(&folder, "emulator", options);
        output.well();
        (results::read(&folder.path("out.h5")).unwrap(), output.out)
    };
    let (all, printed) = with(&[]);
    assert!(!printed.contains(SCRATCH), "{printed}");
    std::fs::create_dir(folder.path("scratch")).unwrap();
    for (options, place) in [
        (&["--host-memory", "9M"][..], "host memory"),
        (
            &["--host-memory", "9M", "--device-memory", "4M"],
            "host memory",
        ),
        (
            &[
                "--host-memory",
                "6500K",
                "--device-memory",
                "4M",
                "--scratch",
                "scratch",
            ],
            "a temporary file",
        ),
    ] {
        let (found, printed) = with(options);
        assert!(printed.contains(SCRATCH), "{printed}");
        assert_eq!(
            printed.contains("in scratch,"),
            options.contains(&"scratch"),
            "{printed}"
        );
        let travel = format!("counts stay in {place} and travel");
        assert_eq!(
            printed.contains(&travel),
            options.contains(&"--device-memory"),
            "{printed}"
        );
        assert_eq!(
            (&found.object, &found.probe),
            (&all.object, &all.probe),
            "{options:?}"
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path("scratch")).unwrap().count(),
        0
    );
}

#[test]
fn what_cannot_be_done_is_one_sentence() {
    let folder = folder();
    let small = ["--host-memory", "9M"];
    let nowhere = [&small[..], &["--scratch", "nowhere"]].concat();
    reconstruct(&folder, "emulator", &nowhere)
        .refused(1, &["the folder nowhere: there is no such folder"]);
    reconstruct(&folder, "cpu", &small).refused(1, &["the CPU back end", "available"]);
    reconstruct(&folder, "emulator", &["--host-memory", "200K"])
        .refused(1, &["200.0 KiB", "available"]);
    let info = |options: &[&str]| {
        let fixed = [
            "ptycho",
            "info",
            "scan.cxi",
            "--engine",
            "lsqml:1",
            "--set",
            "lsqml.batch=10",
            "--host-memory",
        ];
        folder.run(&[&fixed[..], options].concat())
    };
    info(&["1M"]).refused(1, &["1.0 MiB", "available"]);
    let output = info(&["2500K", "--scratch", ".", "--device-memory", "4M"]);
    output.well();
    assert!(
        output.out.contains("counts stay in a temporary file"),
        "{}",
        output.out
    );
}
