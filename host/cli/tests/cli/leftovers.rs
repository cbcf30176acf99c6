//! What killed runs leave, and writes beyond the limit on the size of files.
#![cfg(unix)]

use super::support::{Output, TestFolder};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn partial(folder: &TestFolder) -> Vec<String> {
    let mut names = folder.names();
    names.retain(|name| name.ends_with(".partial"));
    names
}

/// One point per second.
fn write_points(folder: &TestFolder, name: &str, points: usize) {
    let mut text = String::from("timestamp_s,value\n");
    for second in 0..points {
        writeln!(text, "{second},{}", second % 97).unwrap();
    }
    std::fs::write(folder.path(name), text).unwrap();
}

fn send(folder: &TestFolder, signal: &str, process: u32) {
    let command = format!("kill -{signal} {process}");
    let mut kill = folder.start(Command::new("sh").args(["-c", &command]));
    assert!(kill.wait().unwrap().success());
}

/// A stopped run keeps its temporary file while another one writes the same output; once it is
/// killed, the next run removes the file.
#[test]
fn the_next_run_removes_what_a_killed_run_left() {
    let folder = TestFolder::new();
    write_points(&folder, "many.csv", 200_000);
    write_points(&folder, "few.csv", 3);
    let few = ["series", "resample", "few.csv", "-o", "o.csv", "--quiet"];
    let many = ["series", "resample", "many.csv", "-o", "o.csv", "--quiet"];
    let mut command = folder.command();
    command
        .args(many)
        .args(["-g", "1s", "-a", "all"])
        .stderr(Stdio::null());
    let mut child = folder.start(&mut command);
    let begin = Instant::now();
    // The temporary file of the check before the run is empty.
    let writing = || {
        let file = partial(&folder)
            .pop()
            .map(|name| folder.path(&name).join("file"));
        file.is_some_and(|file| file.metadata().is_ok_and(|found| found.len() > 0))
    };
    while !writing() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be stopped"
        );
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    send(&folder, "STOP", child.id());
    let left = partial(&folder);
    assert_eq!(left.len(), 1);
    folder.run(&few).well();
    assert_eq!(partial(&folder), left);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(partial(&folder), left);
    // A run with another output leaves it alone.
    folder
        .run(&["series", "resample", "few.csv", "-o", "p.csv", "--quiet"])
        .well();
    assert_eq!(partial(&folder), left);
    folder.run(&few).well();
    assert_eq!(folder.names(), ["few.csv", "many.csv", "o.csv", "p.csv"]);
}

/// Runs the program with a limit of a few kilobytes for every file.
fn limited(folder: &TestFolder, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command
        .current_dir(folder.path(""))
        .args([
            "-c",
            "ulimit -f 4; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_warpstride"),
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = folder.start(&mut command).wait_with_output().unwrap();
    Output {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_file_beyond_the_limit_is_reported_like_a_full_disk() {
    let folder = TestFolder::with_scan();
    write_points(&folder, "points.csv", 20_000);
    for name in ["o.csv", "o.parquet", "o.h5", "o.npy", "o.store", "o.cxi"] {
        std::fs::write(folder.path(name), "older").unwrap();
    }
    std::fs::remove_file(folder.path("o.store")).unwrap();
    let before = folder.names();
    for words in [
        "series resample points.csv -g 1s -o o.csv",
        "series resample points.csv -g 1s -a all -o o.parquet",
        "series ingest o.store points.csv --policy high",
        "sas evaluate sphere --q 0.001:0.5:5000 -o o.csv",
        "sas evaluate sphere --q 0.001:0.5:5000 -o o.h5",
        "jacobi --nx 200 --ny 200 --iterations 2 --backend cpu -o o.npy",
        "mri simulate o.h5 --matrix 32 --coils 2",
        "ptycho simulate o.cxi --frame 32 --positions 12",
        "ptycho reconstruct scan.cxi -o o.h5 --engine dm:2 --backend cpu --no-pictures --quiet",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let output = limited(&folder, &words);
        assert_eq!(output.code, Some(1), "{words:?}: {output:?}");
        assert_eq!(
            output
                .err
                .lines()
                .filter(|l| l.starts_with("warpstride: "))
                .count(),
            1,
            "{output:?}"
        );
        assert!(
            output.err.contains("o.") && output.err.contains("File too large"),
            "{words:?}: {output:?}"
        );
        let names: Vec<String> = folder.names();
        assert_eq!(names, before, "{words:?}");
        for name in names.iter().filter(|name| name.starts_with("o.")) {
            assert_eq!(
                std::fs::read(folder.path(name)).unwrap(),
                b"older",
                "{words:?}"
            );
        }
    }
}

/// Progress that cannot be written is an error, after the results are complete.
#[cfg(target_os = "linux")]
#[test]
fn progress_on_a_full_device_is_an_error() {
    let folder = TestFolder::with_scan();
    write_points(&folder, "points.csv", 100);
    let curve: String = (1..=20)
        .map(|n| f64::from(n) * 0.002)
        .map(|q| format!("{q} {} 2\n", 10.0 * (-500.0 * q * q).exp()))
        .collect();
    std::fs::write(folder.path("curve.txt"), curve).unwrap();
    folder
        .run(&[
            "mri", "simulate", "raw.h5", "--matrix", "32", "--coils", "2",
        ])
        .well();
    for (words, output) in [
        (
            "series ingest o.store points.csv --policy low --backend cpu",
            "o.store",
        ),
        ("series resample points.csv -o o.csv --backend cpu", "o.csv"),
        (
            "sas fit sphere curve.txt --fit scale --set background=0 -o f.csv --backend cpu",
            "f.csv",
        ),
        ("jacobi --nx 20 --ny 20 --backend cpu -o f.npy", "f.npy"),
        (
            "mri reconstruct raw.h5 -o i.h5 --iterations 2 --backend cpu",
            "i.h5",
        ),
        (
            "ptycho reconstruct scan.cxi -o r.h5 --engine dm:2 --backend cpu",
            "r.h5",
        ),
    ] {
        let mut command = folder.command();
        command
            .args(words.split(' '))
            .arg("--json-progress")
            .stdout(std::fs::File::create("/dev/full").unwrap())
            .stderr(Stdio::piped());
        let ended = folder.start(&mut command).wait_with_output().unwrap();
        let ended = Output {
            code: ended.status.code(),
            out: String::new(),
            err: String::from_utf8(ended.stderr).unwrap(),
        };
        ended.refused(
            1,
            &["standard output: progress cannot be written", "No space"],
        );
        assert!(folder.path(output).metadata().unwrap().len() > 0, "{words}");
    }
    // A reader that has seen enough is no error.
    let pipe =
        "\"$0\" series resample points.csv -o p.csv --backend cpu --json-progress | head -n 1";
    let mut shell = Command::new("bash");
    shell
        .current_dir(folder.path(""))
        .args([
            "-c",
            &format!("set -o pipefail; {pipe}"),
            env!("CARGO_BIN_EXE_warpstride"),
        ])
        .stdout(Stdio::null());
    assert!(folder.start(&mut shell).wait().unwrap().success());
}
