//! Runs that are stopped by Ctrl-C or `kill -9` resume bit for bit.

use super::support::TestFolder;
use std::path::Path;
use std::time::{Duration, Instant};
use warpstride::ptycho::SavedRun;
use warpstride::ptycho::data::{HistoryEntry, Reconstruction};
use warpstride::ptycho::io::results;

const ENGINES: [&str; 4] = ["--engine", "dm:260", "--engine", "raar:140"];

fn read(path: &Path) -> Reconstruction {
    results::read(path).unwrap()
}

/// Bits of the object and the probe, and the history without its times.
fn reproducible_part(of: &Reconstruction) -> (Vec<[u64; 2]>, Vec<HistoryEntry>) {
    let bits = of
        .object
        .iter()
        .chain(&of.probe)
        .map(|v| [v.re.to_bits(), v.im.to_bits()]);
    let history = of.history.iter().map(|h| HistoryEntry {
        seconds: 0.0,
        ..h.clone()
    });
    (bits.collect(), history.collect())
}

fn uninterrupted(folder: &TestFolder) -> Reconstruction {
    folder
        .reconstruct(&[&["-o", "uninterrupted.h5", "--quiet"], &ENGINES[..]].concat())
        .well();
    read(&folder.path("uninterrupted.h5"))
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_result_and_checkpoint_and_the_run_resumes_bit_for_bit() {
    let folder = TestFolder::with_scan();
    let uninterrupted = uninterrupted(&folder);
    let output = folder.interrupt_at(
        folder
            .command()
            .args([
                "ptycho",
                "reconstruct",
                "scan.cxi",
                "-o",
                "out.h5",
                "--backend",
                "cpu",
            ])
            .args(ENGINES)
            .args([
                "--json-progress",
                "--checkpoint-every",
                "0",
                "--summary",
                "s.json",
            ]),
        "\"iteration\":10,",
    );
    assert_eq!(output.code, Some(130), "{output:?}");
    let message = output.err;
    assert!(
        message.contains("--resume out.checkpoint") && message.lines().count() == 1,
        "{message}"
    );

    let part = read(&folder.path("out.h5"));
    let done = part.history.len();
    assert!((10..400).contains(&done), "{done}");
    let (history, expected) = (
        reproducible_part(&part).1,
        reproducible_part(&uninterrupted).1,
    );
    assert_eq!(history[..done - 1], expected[..done - 1]);
    assert_eq!(
        history[done - 1].err_fourier,
        expected[done - 1].err_fourier
    );
    assert!(history[done - 1].r_factor.is_some());
    assert!(folder.path("out-phase.png").exists());
    let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let engines = match done {
        0..=260 => format!("dm:{done}"),
        _ => format!("dm:260,raar:{}", done - 260),
    };
    assert_eq!(
        summary["engine"], engines,
        "the iterations done, not those planned"
    );

    // Resuming with another scan is refused, and the checkpoint is kept.
    folder.simulate(
        "other.cxi",
        &["--frame", "32", "--positions", "12", "--seed", "1"],
    );
    let other = [
        "ptycho",
        "reconstruct",
        "other.cxi",
        "-o",
        "o.h5",
        "--resume",
        "out.checkpoint",
    ];
    folder
        .run(&other)
        .refused(1, &["out.checkpoint", "another scan", "scan.cxi"]);

    for outputs in [
        ["-o", "out.checkpoint", "--summary", "t.json"],
        ["-o", "t.h5", "--report", "out.checkpoint"],
    ] {
        let resume = ["--resume", "out.checkpoint", "--checkpoint", "t.checkpoint"];
        folder
            .reconstruct(&[resume, outputs].concat())
            .refused(2, &["out.checkpoint", "another name"]);
    }

    folder
        .reconstruct(&["-o", "out.h5", "--resume", "out.checkpoint", "--quiet"])
        .well();
    let whole = read(&folder.path("out.h5"));
    assert_eq!(reproducible_part(&whole), reproducible_part(&uninterrupted));
    assert_eq!(whole.recipe, uninterrupted.recipe);
    assert!(
        !folder.path("out.checkpoint").exists(),
        "left after success"
    );
}

/// Ctrl-C in each of the engines that update by batches or along lines, with positions and scales
/// refined in every way.
#[cfg(unix)]
#[test]
fn every_kind_of_engine_resumes_bit_for_bit() {
    const OPTIONS: [&str; 17] = [
        "--free-pixels",
        "0.05",
        "--refine-positions",
        "annealing,gradient,affine",
        "--fit-frame-scales",
        "--probe-modes",
        "2",
        "--set",
        "positions.start=3",
        "--engine",
        "lsqml:60",
        "--engine=epie:60",
        "--engine=rpie:60",
        "--engine=dm:60",
        "--set=dm.subpixel=true",
        "--engine=ml:60",
        "--quiet",
    ];
    let folder = TestFolder::with_scan();
    folder
        .reconstruct(&[&["-o", "whole.h5"], &OPTIONS[..]].concat())
        .well();
    for at in [10, 70, 130, 190, 250] {
        let mut command = folder.command();
        command.args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"]);
        command.args(["--json-progress", "--no-pictures"]);
        if at == 10 {
            command.args(["--backend", "cpu"]).args(&OPTIONS[..16]);
        } else {
            command.args(["--resume", "out.checkpoint"]);
        }
        let output = folder.interrupt_at(&mut command, &format!("\"iteration\":{at},"));
        assert_eq!(output.code, Some(130), "{output:?}");
    }
    folder
        .reconstruct(&["-o", "out.h5", "--resume", "out.checkpoint", "--quiet"])
        .well();
    let [whole, found] = ["whole.h5", "out.h5"].map(|name| read(&folder.path(name)));
    assert_eq!(reproducible_part(&found), reproducible_part(&whole));
    assert_eq!(found.positions, whole.positions);
    assert_eq!(found.frame_scales, whole.frame_scales);
}

#[test]
fn kill_nine_leaves_a_checkpoint_and_no_partial_result() {
    let folder = TestFolder::with_scan();
    let uninterrupted = reproducible_part(&uninterrupted(&folder));
    let checkpoint = folder.path("out.checkpoint");
    let mut killed_midway = 0;
    for delay in [0, 3, 17, 50, 120] {
        for name in ["out.h5", "out.checkpoint"] {
            drop(std::fs::remove_file(folder.path(name)));
        }
        let mut child = folder.start(
            folder
                .command()
                .args([
                    "ptycho",
                    "reconstruct",
                    "scan.cxi",
                    "-o",
                    "out.h5",
                    "--backend",
                    "cpu",
                ])
                .args(ENGINES)
                .args(["--quiet", "--no-pictures", "--checkpoint-every", "0"]),
        );
        let begun = Instant::now();
        while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        if folder.path("out.h5").exists() {
            assert_eq!(
                reproducible_part(&read(&folder.path("out.h5"))),
                uninterrupted
            );
            continue;
        }
        let saved = SavedRun::read(&checkpoint).unwrap();
        assert!((1..400).contains(&saved.progress.total));
        killed_midway += 1;
        let resume = [
            "-o",
            "out.h5",
            "--no-pictures",
            "--resume",
            "out.checkpoint",
            "--quiet",
        ];
        folder.reconstruct(&resume).well();
        assert_eq!(
            reproducible_part(&read(&folder.path("out.h5"))),
            uninterrupted
        );
    }
    assert!(
        killed_midway >= 2,
        "too many runs finished before they were killed"
    );
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = TestFolder::with_scan();
    std::fs::write(folder.path("c"), "no checkpoint").unwrap();
    folder
        .reconstruct(&["-o", "out.h5", "--resume", "c"])
        .refused(1, &["c: ", "checkpoint"]);
    folder
        .reconstruct(&["-o", "out.h5", "--resume", "d"])
        .refused(1, &["d: ", "cannot be read"]);
    assert_eq!(folder.names(), ["c", "scan.cxi"]);
}

/// `timeout` signals its child and then the whole group.
#[cfg(unix)]
#[test]
fn two_signals_at_once_save_the_run_as_one_does() {
    let folder = TestFolder::with_scan();
    for signals in [["TERM", "TERM"], ["INT", "TERM"]] {
        let mut command = folder.command();
        let fixed = ["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"];
        command
            .args(fixed)
            .args(["--backend", "cpu", "--no-pictures"]);
        command.args(["--engine", "dm:100000", "--json-progress"]);
        let output = folder.signal_at(&mut command, "\"iteration\":10,", &signals);
        assert_eq!(output.code, Some(130), "{output:?}");
        assert!(output.err.contains("--resume out.checkpoint"), "{output:?}");
        for name in ["out.h5", "out.checkpoint"] {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
    }
}

#[test]
fn files_under_the_checkpoint_s_name_are_neither_overwritten_nor_deleted() {
    let folder = TestFolder::with_scan();
    let often = [
        "--engine",
        "dm:3",
        "--checkpoint-every",
        "0",
        "--no-pictures",
    ];
    for (name, options) in [
        ("notes", &["-o", "out.h5", "--checkpoint", "notes"][..]),
        ("out.checkpoint", &["-o", "out.h5"]),
    ] {
        std::fs::write(folder.path(name), "precious\n").unwrap();
        let output = folder.reconstruct(&[&often, options].concat());
        output.refused(1, &[name, "expected no file", "no checkpoint"]);
        assert_eq!(std::fs::read(folder.path(name)).unwrap(), b"precious\n");
        assert_eq!(folder.names(), [name, "scan.cxi"]);
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    // An empty file, as of mktemp, is a name without contents.
    std::fs::write(folder.path("empty"), "").unwrap();
    let options = ["-o", "out.h5", "--checkpoint", "empty", "--quiet"];
    folder.reconstruct(&[&often, &options[..]].concat()).well();
}

#[test]
fn the_checkpoint_of_an_interrupted_run_is_not_overwritten_by_a_new_run() {
    let folder = TestFolder::with_scan();
    let mut command = folder.command();
    let fixed = ["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"];
    command
        .args(fixed)
        .args(["--backend", "cpu", "--no-pictures"]);
    command.args(["--engine", "dm:100000", "--json-progress"]);
    let output = folder.interrupt_at(&mut command, "\"iteration\":10,");
    assert_eq!(output.code, Some(130), "{output:?}");
    let [result, saved] = ["out.h5", "out.checkpoint"].map(|name| folder.path(name));
    let before = [&result, &saved].map(|path| std::fs::read(path).unwrap());
    let again = ["-o", "out.h5", "--engine", "dm:3", "--no-pictures"];
    let output = folder.reconstruct(&again);
    output.refused(
        1,
        &["out.checkpoint", "--resume out.checkpoint", "delete it"],
    );
    assert_eq!(
        [&result, &saved].map(|path| std::fs::read(path).unwrap()),
        before
    );
    let other = ["--checkpoint", "new.checkpoint", "--quiet"];
    folder.reconstruct(&[&again[..], &other].concat()).well();
    std::fs::remove_file(&saved).unwrap();
    folder
        .reconstruct(&[&again[..], &["--quiet"]].concat())
        .well();
}
