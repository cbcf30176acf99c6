//! Processes of MPI as ranks, with the program `check-mpi` under `mpirun`: it compares every
//! operation with its definition, and ends a rank early in several ways. Every run has a limit, so
//! that one that hangs fails the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// After the end of a rank, the others end within this time.
const LIMIT: Duration = Duration::from_secs(30);

/// What a run of `mpirun` gave.
#[derive(Debug)]
struct Finished {
    /// `None` for a signal.
    code: Option<i32>,
    output: String,
    errors: String,
}

/// `mpirun` with `ranks` processes of `check-mpi`; `None`, with a message, if there is no `mpirun`.
fn mpirun(ranks: usize, argument: Option<&str>) -> Option<Child> {
    let child = Command::new("mpirun")
        .args(["-n", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_check-mpi"))
        .args(argument)
        // Open MPI refuses root and more processes than cores without these; other MPIs do not know
        // them.
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    if let Err(error) = &child {
        // Not captured by the test harness, as `eprintln!` would be.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED processes of MPI: cannot start mpirun: {error}"
        );
    }
    child.ok()
}

/// Waits for the end of `child`, or ends it after `limit` and fails.
fn finish(mut child: Child, limit: Duration) -> Finished {
    let reader = |mut stream: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        })
    };
    let output = reader(Box::new(child.stdout.take().unwrap()));
    let errors = reader(Box::new(child.stderr.take().unwrap()));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > limit {
            child.kill().unwrap();
            panic!("mpirun has not ended after {limit:?}");
        }
        thread::sleep(Duration::from_millis(10));
    };
    Finished {
        code: status.code(),
        output: output.join().unwrap().unwrap(),
        errors: errors.join().unwrap().unwrap(),
    }
}

fn run(ranks: usize, argument: Option<&str>) -> Option<Finished> {
    Some(finish(mpirun(ranks, argument)?, 2 * LIMIT))
}

#[test]
fn every_operation_gives_what_its_definition_says() {
    for ranks in [1, 2, 3] {
        let Some(finished) = run(ranks, None) else {
            return;
        };
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let last = ranks - 1;
        let line = format!("rank {last} of {ranks}: rank {last} of {ranks} on ");
        assert!(finished.output.contains(&line), "{finished:?}");
    }
}

#[test]
fn messages_longer_than_a_piece_arrive_whole() {
    for ranks in [2, 3] {
        let Some(finished) = run(ranks, Some("pieces")) else {
            return;
        };
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
}

/// The last of three ranks ends while the others wait for it, or calls another operation.
#[test]
fn a_rank_that_ends_early_ends_all() {
    let cases = [
        ("fail", ""),
        ("fail-beside", ""),
        ("panic", "the rank of the test"),
        ("leave", "error: rank 2 has ended before the others"),
        (
            "order",
            "error: rank 2 called broadcast, rank 0 called all_gather",
        ),
    ];
    for (mode, message) in cases {
        let Some(finished) = run(3, Some(mode)) else {
            return;
        };
        assert_ne!(finished.code, Some(0), "{mode}: {finished:?}");
        assert!(finished.errors.contains(message), "{mode}: {finished:?}");
    }
}

/// `mpirun` ends the other processes when one is killed.
#[test]
fn a_killed_rank_ends_all() {
    for (ranks, milliseconds) in [(2, 5), (3, 40), (3, 170)] {
        let Some(mut child) = mpirun(ranks, Some("work")) else {
            return;
        };
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (send, receive) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut line = String::new();
            let _ = output.read_line(&mut line);
            let _ = send.send(line);
            let _ = std::io::copy(&mut output, &mut std::io::sink());
        });
        let line = receive.recv_timeout(LIMIT).expect("no process has started");
        let pids: Vec<u32> = line
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        assert_eq!(pids.len(), ranks, "{line}");
        thread::sleep(Duration::from_millis(milliseconds));
        let kill = format!("kill -KILL {}", pids[ranks - 1]);
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        let begin = Instant::now();
        while child.try_wait().unwrap().is_none() || pids.iter().any(|&pid| exists(pid)) {
            if begin.elapsed() > LIMIT {
                child.kill().unwrap();
                panic!("processes still exist after {LIMIT:?}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!child.wait().unwrap().success());
        reader.join().unwrap();
    }
}

fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
