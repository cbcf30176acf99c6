//! A pipe that stays open: what came through it is stored, not held back for what may come.

use super::super::support::Place;
use super::{NOON, write};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use warpstride::series::store::StoreReader;

/// No machine is that slow.
const LONG: Duration = Duration::from_secs(60);

/// Begins an ingest of standard input in batches of ten points; the second is its lines as they come.
fn begin(place: &Place) -> (Child, Receiver<String>) {
    let mut child = place.start(
        place
            .command()
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
    let place = Place::new();
    let (mut child, lines) = begin(&place);
    let mut pipe = child.stdin.take().unwrap();
    let mut send = |text: &str| {
        pipe.write_all(text.as_bytes()).unwrap();
        pipe.flush().unwrap();
    };
    // The first line in two pieces, and a row that is not yet whole.
    send("series,times");
    send(&format!("tamp,value\n{}cpu,{}", some(0, 25), NOON + 25));
    let met = |text: &str| loop {
        let line = lines.recv_timeout(LONG).expect("a line of progress");
        if line.contains(text) {
            break;
        }
    };
    met("\"batch\":2");
    let stored = || StoreReader::open(&place.path("store")).unwrap().totals();
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
    // Through a pipe or from a file, the store is the same.
    write(
        &place,
        "in.csv",
        &format!("series,timestamp,value\n{}", some(0, 33)),
    );
    let options = [
        "series", "ingest", "other", "in.csv", "--policy", "medium", "--quiet",
    ];
    place
        .run(&[&options[..], &["--backend", "cpu"]].concat())
        .well();
    let query = |store| {
        let said = place.run(&[
            "series", "query", store, "-s", "cpu", "-g", "1m", "-a", "sum",
        ]);
        said.well();
        said.out
    };
    assert_eq!(query("store"), query("other"));
}

/// Ctrl-C is heard although nothing comes.
#[cfg(unix)]
#[test]
fn a_quiet_pipe_can_be_left() {
    let place = Place::new();
    let (mut child, lines) = begin(&place);
    let mut pipe = child.stdin.take().unwrap();
    let text = format!("series,timestamp,value\n{}", some(0, 15));
    pipe.write_all(text.as_bytes()).unwrap();
    let heard = lines.iter().any(|line| line.contains("\"batch\":1"));
    assert!(heard);
    let kill = format!("kill -INT {}", child.id());
    let mut kill = place.start(std::process::Command::new("sh").args(["-c", &kill]));
    assert!(kill.wait().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("10 of the points before it are stored"),
        "{said}"
    );
    drop(pipe);
}
