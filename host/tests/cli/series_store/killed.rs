//! Writers that end early, or meet another: kill -9 at random moments, Ctrl-C, two at once.

use super::super::support::{Place, Said};
use super::kept::{
    BATCH, BATCHES, KILLED, Random, References, contents, ingest_to_be_killed, rows_to_be_killed,
};
use super::write;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use warpstride::series::store::StoreReader;

/// 12 kills, or as many as `WARPSTRIDE_KILLS` says.
fn kills() -> usize {
    let typed = std::env::var("WARPSTRIDE_KILLS").ok();
    typed.map_or(12, |typed| {
        typed
            .parse()
            .expect("WARPSTRIDE_KILLS: a number is expected")
    })
}

/// The ingest that is killed, of `input`.
fn ingest(place: &Place, input: &str) -> Command {
    let batch = BATCH.to_string();
    let mut command = place.command();
    command
        .args(["series", "ingest", "store", input])
        .args(["--policy", "killed.toml", "--batch", &batch])
        .args(["--backend", "cpu", "--json-progress"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Kills an ingest of the file so many microseconds after it was started. Returns what it said.
fn killed_after(place: &Place, wait: u64) -> String {
    let mut child = place.start(&mut ingest(place, "in.csv"));
    std::thread::sleep(Duration::from_micros(wait));
    child.kill().unwrap();
    let mut said = String::new();
    let mut out = child.stdout.take().unwrap();
    out.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    said
}

/// Kills an ingest through a pipe so many microseconds after it said that it has `batches` of them, while it works on
/// the next, or waits for what comes after that: however slow or fast the machine is, it is between the first batch and
/// the last. Returns what it said.
fn killed_at(place: &Place, rows: &[String], batches: usize, wait: u64) -> String {
    let mut child = place.start(ingest(place, "-").stdin(Stdio::piped()));
    let mut pipe = child.stdin.take().unwrap();
    let rows = rows[..(batches + 1) * BATCH].join("\n");
    pipe.write_all(format!("series,timestamp_ns,value\n{rows}\n").as_bytes())
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut said, text) = (String::new(), format!("\"batch\":{batches},"));
    while !said.contains(&text) {
        let read = out.read_line(&mut said).unwrap();
        assert!(read > 0, "it ended: {said}");
    }
    std::thread::sleep(Duration::from_micros(wait));
    child.kill().unwrap();
    drop(pipe);
    out.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    said
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_nine() {
    let place = Place::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let rows = rows_to_be_killed(&mut random);
    write(&place, "killed.toml", KILLED);
    write(
        &place,
        "in.csv",
        &format!("series,timestamp_ns,value\n{}\n", rows.join("\n")),
    );
    let mut references = References {
        place: &place,
        rows: &rows,
        known: BTreeMap::new(),
    };
    let begun = Instant::now();
    ingest_to_be_killed(&place, "straight", "in.csv").well();
    let whole_run = begun.elapsed().as_micros() as u64;
    let store = place.path("store");
    // Batches of the input that the store has, at least and in truth.
    let mut stored = 0;
    let (mut midway, mut again, mut unsaid) = (0, 0, 0);
    for kill in 0..kills() {
        let before = if store.exists() {
            StoreReader::open(&store).unwrap().totals().batches
        } else {
            0
        };
        again += usize::from(before > 0);
        let said = if kill % 2 == 0 {
            // Some while the store is being made. Where it ends before it is killed, that is a case too.
            let most = if kill % 4 == 0 {
                whole_run / 10
            } else {
                whole_run
            };
            killed_after(&place, random.below(most + 1))
        } else {
            let batches = 1 + random.below(BATCHES as u64 - 2) as usize;
            let wait = random.below(2 * whole_run / BATCHES as u64 + 1);
            killed_at(&place, &rows, batches, wait)
        };
        let acknowledged = said
            .lines()
            // The last line may be cut.
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
            "kill {kill}: {acknowledged} batches were acknowledged, {committed} are there"
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
            "kill {kill}: {committed} batches are there"
        );
        midway += usize::from(0 < committed && committed < BATCHES);
        if stored == BATCHES || random.below(4) == 0 {
            // What was killed can be finished by the same command.
            ingest_to_be_killed(&place, "store", "in.csv").well();
            assert_eq!(
                &contents(&store),
                references.of(BATCHES),
                "kill {kill}: finished"
            );
            std::fs::remove_file(&store).unwrap();
            stored = 0;
        }
    }
    for name in place.names() {
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
    assert_eq!(&contents(&place.path("straight")), references.of(BATCHES));
    let mut err = std::io::stderr().lock();
    writeln!(
        err,
        "{} kills, {midway} between the first batch and the last, {again} of a store that was there, {unsaid} after a commit that was not said yet",
        kills()
    )
    .unwrap();
}

#[test]
fn the_second_writer_is_refused_and_readers_are_not() {
    let place = Place::new();
    let row = "cpu,1388577600,1.5\n";
    let mut first = place.start(
        place
            .command()
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
    // It has the store open before it has all of its input.
    let begun = lines.next().unwrap().unwrap();
    assert!(begun.contains("\"event\":\"start\""), "{begun}");
    write(&place, "in.csv", &format!("series,timestamp,value\n{row}"));
    let second = ["series", "ingest", "store", "in.csv", "--backend", "cpu"];
    place
        .run(&second)
        .refused(1, &["store: another process is writing to it"]);
    place.run(&["series", "info", "store", "--json"]).well();
    drop(input);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(
        rest.iter().any(|line| line.contains("\"event\":\"batch\"")),
        "{rest:?}"
    );
    assert!(first.wait().unwrap().success());
    place.run(&second).well_but_notes();
    let said = place.run(&["series", "info", "store", "--json"]);
    let info: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(info["totals"]["points"], 1);
    assert_eq!(info["totals"]["replaced"], 1);
}

impl Said {
    /// It ended well; notes on standard error are no complaint.
    #[track_caller]
    fn well_but_notes(&self) {
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
    let place = Place::new();
    let mut random = Random(77);
    let rows = rows_to_be_killed(&mut random);
    write(&place, "killed.toml", KILLED);
    write(
        &place,
        "in.csv",
        &format!("series,timestamp_ns,value\n{}\n", rows.join("\n")),
    );
    let batch = BATCH.to_string();
    let said = place.interrupt_at(
        place
            .command()
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
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(
        said.err.contains("stored in store") && said.err.contains("goes on"),
        "{said:?}"
    );
    let batches = StoreReader::open(&place.path("store"))
        .unwrap()
        .totals()
        .batches as usize;
    assert!((3..BATCHES).contains(&batches), "{batches}");
    let mut references = References {
        place: &place,
        rows: &rows,
        known: BTreeMap::new(),
    };
    assert_eq!(&contents(&place.path("store")), references.of(batches));
}
