//! Ctrl-C, kill -9, and going on: bit for bit.

use super::support::Place;
use std::path::Path;
use std::time::{Duration, Instant};
use warpstride::data::{HistoryEntry, Reconstruction};
use warpstride::io::results;
use warpstride::ptycho::SavedRun;

const ENGINES: [&str; 4] = ["--engine", "dm:260", "--engine", "raar:140"];

fn read(path: &Path) -> Reconstruction {
    results::read(path).unwrap()
}

/// Bits of the object and probe, and all figures but the seconds.
fn essence(of: &Reconstruction) -> (Vec<[u64; 2]>, Vec<HistoryEntry>) {
    let bits = of
        .object
        .iter()
        .chain(&of.probe)
        .map(|v| [v.re.to_bits(), v.im.to_bits()]);
    let figures = of.history.iter().map(|h| HistoryEntry {
        seconds: 0.0,
        ..h.clone()
    });
    (bits.collect(), figures.collect())
}

fn straight(place: &Place) -> Reconstruction {
    place
        .reconstruct(&[&["-o", "straight.h5", "--quiet"], &ENGINES[..]].concat())
        .well();
    read(&place.path("straight.h5"))
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_both_and_the_resumed_run_equals_the_straight_one() {
    let place = Place::with_scan();
    let straight = straight(&place);
    let said = place.interrupt_at(
        place
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
    assert_eq!(said.code, Some(130), "{said:?}");
    let said = said.err;
    assert!(
        said.contains("--resume out.checkpoint") && said.lines().count() == 1,
        "{said}"
    );

    let part = read(&place.path("out.h5"));
    let done = part.history.len();
    assert!((10..400).contains(&done), "{done}");
    assert_eq!(essence(&part).1, essence(&straight).1[..done]);
    assert!(place.path("out-phase.png").exists());
    let summary = std::fs::read_to_string(place.path("s.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let engines = match done {
        0..=260 => format!("dm:{done}"),
        _ => format!("dm:260,raar:{}", done - 260),
    };
    assert_eq!(
        summary["engine"], engines,
        "what was done, not what was planned"
    );

    // Refused for another scan, and the checkpoint stays.
    place.simulate(
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
    place
        .run(&other)
        .refused(1, &["out.checkpoint", "another scan", "scan.cxi"]);

    for outputs in [
        ["-o", "out.checkpoint", "--summary", "t.json"],
        ["-o", "t.h5", "--report", "out.checkpoint"],
    ] {
        let resume = ["--resume", "out.checkpoint", "--checkpoint", "t.checkpoint"];
        place
            .reconstruct(&[resume, outputs].concat())
            .refused(2, &["out.checkpoint", "another name"]);
    }

    place
        .reconstruct(&["-o", "out.h5", "--resume", "out.checkpoint", "--quiet"])
        .well();
    let whole = read(&place.path("out.h5"));
    assert_eq!(essence(&whole), essence(&straight));
    assert_eq!(whole.recipe, straight.recipe);
    assert!(!place.path("out.checkpoint").exists(), "left after success");
}

#[test]
fn kill_nine_leaves_a_checkpoint_to_go_on_from_and_no_half_result() {
    let place = Place::with_scan();
    let straight = essence(&straight(&place));
    let checkpoint = place.path("out.checkpoint");
    let mut killed_midway = 0;
    for delay in [0, 3, 17, 50, 120] {
        for name in ["out.h5", "out.checkpoint"] {
            drop(std::fs::remove_file(place.path(name)));
        }
        let mut child = place.start(
            place
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
        if place.path("out.h5").exists() {
            assert_eq!(essence(&read(&place.path("out.h5"))), straight);
            continue;
        }
        let saved = SavedRun::read(&checkpoint).unwrap();
        assert!((1..400).contains(&saved.place.total));
        killed_midway += 1;
        let resume = [
            "-o",
            "out.h5",
            "--no-pictures",
            "--resume",
            "out.checkpoint",
            "--quiet",
        ];
        place.reconstruct(&resume).well();
        assert_eq!(essence(&read(&place.path("out.h5"))), straight);
    }
    assert!(
        killed_midway >= 2,
        "the runs were over too early to say anything"
    );
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let place = Place::with_scan();
    std::fs::write(place.path("c"), "no checkpoint").unwrap();
    place
        .reconstruct(&["-o", "out.h5", "--resume", "c"])
        .refused(1, &["c: ", "checkpoint"]);
    place
        .reconstruct(&["-o", "out.h5", "--resume", "d"])
        .refused(1, &["d: ", "cannot be read"]);
    assert_eq!(place.names(), ["c", "scan.cxi"]);
}
