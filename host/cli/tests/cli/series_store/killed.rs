//! Writers that end early or compete: kill -9 at random moments, Ctrl-C, two writers at once.

use super::super::support::{Output, TestFolder};
use super::contents::{
    BATCH, BATCHES, KILLED, Random, References, contents, ingest_to_be_killed, rows_to_be_killed,
};
use super::write;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use warpstride::series::store::StoreReader;

/// Number of kills: 12, or the value of `WARPSTRIDE_KILLS`.
fn kills() -> usize {
    let value = std::env::var("WARPSTRIDE_KILLS").ok();
    value.map_or(12, |value| {
        value.parse().expect("WARPSTRIDE_KILLS: expected a number")
    })
}

/// The ingest of `input` that is to be killed.
fn ingest(dir: &TestFolder, input: &str) -> Command {
    let batch = BATCH.to_string();
    let mut command = dir.command();
    command
        .args(["series", "ingest", "store", input])
        .args(["--policy", "killed.toml", "--batch", &batch])
        .args(["--backend", "cpu", "--json-progress"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Kills an ingest of the file `wait` microseconds after its start. Returns its standard output.
fn killed_after(dir: &TestFolder, wait: u64) -> String {
    let mut child = dir.start(&mut ingest(dir, "in.csv"));
    std::thread::sleep(Duration::from_micros(wait));
    child.kill().unwrap();
    let mut result = String::new();
    let mut out = child.stdout.take().unwrap();
    out.read_to_string(&mut result).unwrap();
    child.wait().unwrap();
    result
}

/// Kills an ingest from a pipe `wait` microseconds after it reported `batches` batches, while it
/// works on the next or waits for more input: on a computer of any speed, the kill falls between
/// the first batch and the last. Returns its standard output.
fn killed_at(dir: &TestFolder, rows: &[String], batches: usize, wait: u64) -> String {
    let mut child = dir.start(ingest(dir, "-").stdin(Stdio::piped()));
    let mut pipe = child.stdin.take().unwrap();
    let rows = rows[..(batches + 1) * BATCH].join("\n");
    pipe.write_all(format!("series,timestamp_ns,value\n{rows}\n").as_bytes())
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut result, text) = (String::new(), format!("\"batch\":{batches},"));
    while !result.contains(&text) {
        let read = out.read_line(&mut result).unwrap();
        assert!(read > 0, "the ingest ended early: {result}");
    }
    std::thread::sleep(Duration::from_micros(wait));
    child.kill().unwrap();
    drop(pipe);
    out.read_to_string(&mut result).unwrap();
    child.wait().unwrap();
    result
}

#[test]
fn kill_nine_loses_no_acknowledged_batch() {
    let dir = TestFolder::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let rows = rows_to_be_killed(&mut random);
    write(&dir, "killed.toml", KILLED);
    write(
        &dir,
        "in.csv",
        &format!("series,timestamp_ns,value\n{}\n", rows.join("\n")),
    );
    let mut references = References {
        dir: &dir,
        rows: &rows,
        known: BTreeMap::new(),
    };
    let begun = Instant::now();
    ingest_to_be_killed(&dir, "straight", "in.csv").well();
    let whole_run = begun.elapsed().as_micros() as u64;
    let store = dir.path("store");
    // Least and actual number of stored batches of the input.
    let mut stored = 0;
    let (mut midway, mut again, mut unsaid) = (0, 0, 0);
    for kill in 0..kills() {
        let before = if store.exists() {
            StoreReader::open(&store).unwrap().totals().batches
        } else {
            0
        };
        again += usize::from(before > 0);
        let result = if kill % 2 == 0 {
            // Some kills fall into the creation of the store. An ingest that ends before the kill
            // is a valid case too.
            let most = if kill % 4 == 0 {
                whole_run / 10
            } else {
                whole_run
            };
            killed_after(&dir, random.below(most + 1))
        } else {
            let batches = 1 + random.below(BATCHES as u64 - 2) as usize;
            let wait = random.below(2 * whole_run / BATCHES as u64 + 1);
            killed_at(&dir, &rows, batches, wait)
        };
        let acknowledged = result
            .lines()
            // The last line may be incomplete.
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["event"] == "batch")
            .map(|line| {
                let (batch, points) = (line["batch"].as_u64().unwrap(), line["points"].as_u64());
                assert_eq!(points, Some(batch * BATCH as u64));
                batch as usize
            })
            .max()
            .unwrap_or(0);
        if !store.exists() {
            assert_eq!(acknowledged, 0, "kill {kill}");
            continue;
        }
        let totals = StoreReader::open(&store).unwrap().totals();
        let committed = (totals.batches - before) as usize;
        assert!(
            committed == acknowledged || committed == acknowledged + 1,
            "kill {kill}: {acknowledged} batches were acknowledged, {committed} are stored"
        );
        unsaid += committed - acknowledged;
        stored = stored.max(committed);
        assert_eq!(
            &contents(&store),
            references.of(stored),
            "kill {kill}: after {stored} batches"
        );
        assert!(
            kill % 2 == 0 || (0 < committed && committed < BATCHES),
            "kill {kill}: {committed} batches are stored"
        );
        midway += usize::from(0 < committed && committed < BATCHES);
        if stored == BATCHES || random.below(4) == 0 {
            // The same command completes the ingest.
            ingest_to_be_killed(&dir, "store", "in.csv").well();
            assert_eq!(
                &contents(&store),
                references.of(BATCHES),
                "kill {kill}: finished"
            );
            std::fs::remove_file(&store).unwrap();
            stored = 0;
        }
    }
    for name in dir.names() {
        let known = [
            "in.csv",
            "killed.toml",
            "prefix",
            "prefix.csv",
            "store",
            "straight",
        ];
        let partial = name.starts_with(".store.") && name.ends_with(".partial");
        assert!(partial || known.contains(&name.as_str()), "{name} was left");
    }
    assert_eq!(&contents(&dir.path("straight")), references.of(BATCHES));
    let mut err = std::io::stderr().lock();
    writeln!(
        err,
        "{} kills, {midway} between the first batch and the last, {again} with an existing store, {unsaid} after a commit that was not reported yet",
        kills()
    )
    .unwrap();
}

#[test]
fn a_second_writer_is_rejected_but_readers_are_not() {
    let dir = TestFolder::new();
    let row = "cpu,1388577600,1.5\n";
    let mut first = dir.start(
        dir.command()
            .args([
                "series", "ingest", "store", "-", "--policy", "low", "--batch", "1",
            ])
            .args(["--backend", "cpu", "--json-progress"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let mut input = first.stdin.take().unwrap();
    input.write_all(b"series,timestamp,value\n").unwrap();
    input.write_all(row.as_bytes()).unwrap();
    input.flush().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    // The store is open before all of the input has arrived.
    let begun = lines.next().unwrap().unwrap();
    assert!(begun.contains("\"event\":\"start\""), "{begun}");
    write(&dir, "in.csv", &format!("series,timestamp,value\n{row}"));
    let second = ["series", "ingest", "store", "in.csv", "--backend", "cpu"];
    dir.run(&second)
        .refused(1, &["store: another process is writing to it"]);
    dir.run(&["series", "info", "store", "--json"]).well();
    drop(input);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(
        rest.iter().any(|line| line.contains("\"event\":\"batch\"")),
        "{rest:?}"
    );
    assert!(first.wait().unwrap().success());
    dir.run(&second).well_with_notes();
    let result = dir.run(&["series", "info", "store", "--json"]);
    let info: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(info["totals"]["points"], 1);
    assert_eq!(info["totals"]["replaced"], 1);
}

impl Output {
    /// The run succeeded; standard error has nothing but notes.
    #[track_caller]
    fn well_with_notes(&self) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert!(
            self.err.lines().all(|line| line.starts_with("note: ")),
            "{self:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_whole_batches() {
    let dir = TestFolder::new();
    let mut random = Random(77);
    let rows = rows_to_be_killed(&mut random);
    write(&dir, "killed.toml", KILLED);
    write(
        &dir,
        "in.csv",
        &format!("series,timestamp_ns,value\n{}\n", rows.join("\n")),
    );
    let batch = BATCH.to_string();
    let result = dir.interrupt_at(
        dir.command()
            .args([
                "series",
                "ingest",
                "store",
                "in.csv",
                "--policy",
                "killed.toml",
            ])
            .args(["--batch", &batch, "--backend", "cpu", "--json-progress"]),
        "\"batch\":3,",
    );
    assert_eq!(result.code, Some(130), "{result:?}");
    assert!(
        result.err.contains("stored in store")
            && result.err.contains("run the same command to continue"),
        "{result:?}"
    );
    let batches = StoreReader::open(&dir.path("store"))
        .unwrap()
        .totals()
        .batches as usize;
    assert!((3..BATCHES).contains(&batches), "{batches}");
    let mut references = References {
        dir: &dir,
        rows: &rows,
        known: BTreeMap::new(),
    };
    assert_eq!(&contents(&dir.path("store")), references.of(batches));
}
