//! A pipe that stays open: complete batches are stored without waiting for more input.

use super::super::support::TestFolder;
use super::{NOON, write};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use warpstride::series::store::StoreReader;

/// Longer than any computer needs.
const LONG: Duration = Duration::from_secs(60);

/// Starts an ingest of standard input in batches of ten points; the receiver gets its output lines.
fn begin(dir: &TestFolder) -> (Child, Receiver<String>) {
    let mut child = dir.start(
        dir.command()
            .args(["series", "ingest", "store", "-", "--policy", "medium"])
            .args(["--batch", "10", "--backend", "cpu", "--json-progress"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    (child, lines)
}

fn some(from: i64, count: i64) -> String {
    let mut text = String::new();
    for second in from..from + count {
        writeln!(text, "cpu,{},{second}", NOON + second).unwrap();
    }
    text
}

#[test]
fn batches_are_stored_while_the_pipe_is_open() {
    let dir = TestFolder::new();
    let (mut child, lines) = begin(&dir);
    let mut pipe = child.stdin.take().unwrap();
    let mut send = |text: &str| {
        pipe.write_all(text.as_bytes()).unwrap();
        pipe.flush().unwrap();
    };
    // The first line arrives in two pieces, and the last row is incomplete.
    send("series,times");
    send(&format!("tamp,value\n{}cpu,{}", some(0, 25), NOON + 25));
    let met = |text: &str| loop {
        let line = lines.recv_timeout(LONG).expect("a line of progress");
        if line.contains(text) {
            break;
        }
    };
    met("\"batch\":2");
    let stored = || StoreReader::open(&dir.path("store")).unwrap().totals();
    assert_eq!(stored().points, 20);
    send(",25\n");
    send(&some(26, 4));
    met("\"batch\":3");
    assert_eq!(
        (stored().points, stored().last),
        (30, (NOON + 29) * 1_000_000_000)
    );
    send(&some(30, 3));
    drop(pipe);
    assert!(child.wait().unwrap().success());
    assert_eq!(stored().points, 33);
    // The store is the same for a pipe and a file.
    write(
        &dir,
        "in.csv",
        &format!("series,timestamp,value\n{}", some(0, 33)),
    );
    let options = [
        "series", "ingest", "other", "in.csv", "--policy", "medium", "--quiet",
    ];
    dir.run(&[&options[..], &["--backend", "cpu"]].concat())
        .well();
    let query = |store| {
        let result = dir.run(&[
            "series", "query", store, "-s", "cpu", "-g", "1m", "-a", "sum",
        ]);
        result.well();
        result.out
    };
    assert_eq!(query("store"), query("other"));
}

/// Ctrl-C stops the ingest even if no input arrives.
#[cfg(unix)]
#[test]
fn ctrl_c_stops_an_idle_ingest() {
    let dir = TestFolder::new();
    let (mut child, lines) = begin(&dir);
    let mut pipe = child.stdin.take().unwrap();
    let text = format!("series,timestamp,value\n{}", some(0, 15));
    pipe.write_all(text.as_bytes()).unwrap();
    let acknowledged = lines.iter().any(|line| line.contains("\"batch\":1"));
    assert!(acknowledged);
    let kill = format!("kill -INT {}", child.id());
    let mut kill = dir.start(std::process::Command::new("sh").args(["-c", &kill]));
    assert!(kill.wait().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let result = String::from_utf8(output.stderr).unwrap();
    assert!(
        result.contains("stopped: the first 10 points are stored"),
        "{result}"
    );
    drop(pipe);
}
