//! `series ingest`, `query` and `info`: check values, real series, kill -9, two writers, bad input.

use super::support::{Place, Said, skipped};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use warpstride::series::store::{Query, StoreReader};

/// The spec's series of seconds after 2014-01-01 12:00:00, and its policy of whole minutes.
const NOON: i64 = 1_388_577_600;
const MINUTES: &str = "back_window = 5
aggregates = ['count', 'sum', 'mean', 'min', 'max', 'first', 'last', 'std', 'median', '56pct', 'rate:mean', 'rate:last']
[[archive]]
granularity = '60s'
points = 1000
";

fn write(place: &Place, name: &str, text: &str) {
    std::fs::write(place.path(name), text).unwrap();
}

fn series_csv(series: &str, points: &[(i64, f64)]) -> String {
    let mut text = String::new();
    for (second, value) in points {
        writeln!(text, "{series},{},{value}", NOON + second).unwrap();
    }
    text
}

fn zip(times: &[i64], values: &[f64]) -> Vec<(i64, f64)> {
    times.iter().copied().zip(values.iter().copied()).collect()
}

/// Starts (seconds after noon) and values that a query prints.
fn queried(place: &Place, series: &str, aggregate: &str) -> Vec<(i64, f64)> {
    let said = place.run(&[
        "series",
        "query",
        "store",
        "--series",
        series,
        "--granularity",
        "60s",
        "--aggregate",
        aggregate,
    ]);
    said.well();
    let mut lines = said.out.lines();
    assert_eq!(
        lines.next(),
        Some("series,granularity_s,aggregate,timestamp_ns,value")
    );
    let row = |line: &str| {
        let rest = line
            .strip_prefix(&format!("{series},60,{aggregate},"))
            .unwrap();
        let (time, value) = rest.split_once(',').unwrap();
        let time: i64 = time.parse().unwrap();
        (time / 1_000_000_000 - NOON, value.parse().unwrap())
    };
    lines.map(row).collect()
}

#[test]
fn published_check_values_whatever_the_batches_are() {
    let place = Place::new();
    write(&place, "minutes.toml", MINUTES);
    let a = zip(
        &[0, 10, 20, 30, 40, 60, 70, 80, 90, 100, 110, 120, 130],
        &[3., 5., 2., 3., 5., 8., 11., 22., 10., 42., 9., 4., 2.],
    );
    let d = zip(
        &[0, 4, 62, 74, 84, 124, 155, 162, 182, 202, 222, 249],
        &[50., 55., 65., 66., 70., 83., 92., 103., 105., 5., 7., 23.],
    );
    let e = zip(
        &[0, 4, 62, 74, 84, 182, 202, 222, 249],
        &[50., 55., 65., 66., 70., 105., 108., 200., 202.],
    );
    let mut rows: Vec<String> = [("A", a), ("D", d), ("E", e)]
        .iter()
        .flat_map(|(name, points)| {
            let text = series_csv(name, points);
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    for (batch, turn) in [("1000", 0), ("1", 0), ("5", 7), ("2", 21)] {
        rows.rotate_left(turn);
        let text = format!("series,timestamp,value\n{}\n", rows.join("\n"));
        write(&place, "in.csv", &text);
        drop(std::fs::remove_file(place.path("store")));
        let arguments = [
            "series",
            "ingest",
            "store",
            "in.csv",
            "--policy",
            "minutes.toml",
            "--batch",
            batch,
            "--backend",
            "cpu",
            "--quiet",
        ];
        place.run(&arguments).well();
        for (aggregate, expected) in [
            ("first", [3., 8., 4.]),
            ("last", [5., 9., 2.]),
            ("count", [5., 6., 2.]),
            ("sum", [18., 102., 6.]),
            ("mean", [3.6, 17., 3.]),
            ("median", [3., 10.5, 3.]),
            ("56pct", [3.48, 10.8, 3.12]),
            ("min", [2., 8., 2.]),
            ("max", [5., 42., 4.]),
            ("std", [1.8_f64.sqrt(), 176.0_f64.sqrt(), 2.0_f64.sqrt()]),
        ] {
            let found = queried(&place, "A", aggregate);
            assert_eq!(found.len(), 3, "{aggregate}");
            for (minute, (start, value)) in found.into_iter().enumerate() {
                assert_eq!(start, 60 * minute as i64);
                assert!(
                    (value - expected[minute]).abs() <= 1e-12 * value.abs(),
                    "{aggregate}: {value}"
                );
            }
        }
        let rates = [(0, 5.), (60, 5.), (120, 11.), (180, -32.), (240, 16.)];
        assert_eq!(queried(&place, "D", "rate:mean"), rates);
        let rates = [(0, 5.), (60, 4.), (180, 92.), (240, 2.)];
        assert_eq!(queried(&place, "E", "rate:last"), rates);
    }
}

#[test]
fn real_series_agree_with_what_another_store_makes_of_them() {
    let Some(shared) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        skipped(
            "a store of real series",
            "WARPSTRIDE_SHARED_DATA is not set",
        );
        return;
    };
    let folder = PathBuf::from(shared).join("series");
    let Ok(expected) = std::fs::read_to_string(folder.join("nab-expected.json")) else {
        skipped(
            "a store of real series",
            "series/nab-expected.json is not there",
        );
        return;
    };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let files = expected["files"].as_object().unwrap();
    let place = Place::new();
    let (_, any) = files.iter().next().unwrap();
    let granularities = any["agg"].as_object().unwrap();
    let aggregates: Vec<&String> = granularities["60"].as_object().unwrap().keys().collect();
    let mut policy = format!("back_window = 200\naggregates = {aggregates:?}\n");
    for granularity in granularities.keys() {
        // Longer than every series, and less than time has.
        let seconds: u64 = granularity.parse().unwrap();
        let points = 3_000_000_000 / seconds;
        writeln!(
            policy,
            "[[archive]]\ngranularity = '{granularity}s'\npoints = {points}"
        )
        .unwrap();
    }
    write(&place, "policy.toml", &policy);
    let mut compared = 0;
    for (store, batch, of_duplicates) in [("parts", "777", false), ("whole", "1000000", true)] {
        let here = files
            .iter()
            .filter(|file| (file.1["duplicates"] != 0) == of_duplicates);
        let here: Vec<_> = here.collect();
        let inputs: Vec<PathBuf> = here.iter().map(|f| folder.join("nab").join(f.0)).collect();
        if inputs.is_empty() {
            continue;
        }
        let mut command = vec!["series", "ingest", store, "--policy", "policy.toml"];
        command.extend(["--batch", batch, "--backend", "cpu", "--quiet"]);
        command.extend(inputs.iter().map(|input| input.to_str().unwrap()));
        place.run(&command).well();
        let reader = StoreReader::open(&place.path(store)).unwrap();
        for (file, of_file) in here {
            for (granularity, of_granularity) in of_file["agg"].as_object().unwrap() {
                for (aggregate, wanted) in of_granularity.as_object().unwrap() {
                    let what = format!("{file} {granularity} {aggregate}");
                    let query = Query {
                        series: file.strip_suffix(".csv").unwrap().to_owned(),
                        granularity: format!("{granularity}s").parse().unwrap(),
                        aggregate: aggregate.parse().unwrap(),
                        start: None,
                        end: None,
                    };
                    let found = reader.query(&query).unwrap();
                    assert_eq!(wanted["n"], found.starts.len(), "{what}");
                    let sum: f64 = found.values.iter().sum();
                    let all: f64 = found.values.iter().map(|v| v.abs()).sum();
                    let off = (sum - wanted["sum"].as_f64().unwrap()).abs();
                    assert!(off <= 1e-11 * all.max(1e-300), "{what}: {sum}");
                    let rows: Vec<(i64, f64)> = zip(&found.starts, &found.values);
                    let (head, tail) = (wanted["head"].as_array(), wanted["tail"].as_array());
                    let (head, tail) = (head.unwrap(), tail.unwrap());
                    let rest = &rows[rows.len() - tail.len()..];
                    // That program takes the place of a quantile among all points of the series, so that the fraction
                    // has the error of that number; sums of differences cancel, and their error is that of the values;
                    // a standard deviation of nearly equal values loses digits in any order of additions.
                    let places = of_file["n"].as_f64().unwrap() * f64::EPSILON;
                    let extremes = ["min", "max"].map(|extreme| {
                        let aggregate = extreme.parse().unwrap();
                        let found = reader.query(&Query {
                            aggregate,
                            ..query.clone()
                        });
                        found.unwrap().values
                    });
                    let largest = extremes.iter().flatten();
                    let largest = largest.fold(0.0, |most: f64, v| most.max(v.abs()));
                    let loses = aggregate.ends_with("pct") || aggregate.starts_with("rate:");
                    let lost = if loses { places * largest } else { 0.0 };
                    let tolerance = |value: f64| 1e-12 * value.abs().max(1e-3) + lost;
                    for (row, wanted) in rows.iter().zip(head).chain(rest.iter().zip(tail)) {
                        assert_eq!(wanted[0], row.0, "{what}");
                        let value = wanted[1].as_f64().unwrap();
                        let off = (row.1 - value).abs();
                        assert!(off <= tolerance(value), "{what}: {} {value}", row.1);
                    }
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(
        compared,
        files.len() * granularities.len() * aggregates.len()
    );
}

/// Rows of a batch in the tests of kills.
const BATCH: usize = 250;
const BATCHES: usize = 40;

const KILLED: &str = "back_window = 2
aggregates = ['count', 'mean', 'std', '95pct', 'rate:max']
[[archive]]
granularity = '10s'
points = 60
[[archive]]
granularity = '1m'
points = 1000
";

/// Numbers that look random, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Rows of twenty series, some late by less than the back window, some by more.
fn rows_to_be_killed(random: &mut Random) -> Vec<String> {
    let row = |row: u64| {
        let late = match random.below(40) {
            0 => 3600,
            1..=8 => random.below(60),
            _ => 0,
        };
        // No two points of a series have one time, so that what comes again changes nothing.
        let time = (NOON as u64 + 5 * (row / 20) - late) * 1_000_000_000 + row;
        format!(
            "series {},{time},{}",
            row % 20,
            random.below(1000) as f64 / 8.0
        )
    };
    (0..(BATCH * BATCHES) as u64).map(row).collect()
}

type Contents = BTreeMap<String, Vec<(i64, u64)>>;

fn contents(store: &Path) -> Contents {
    let reader = StoreReader::open(store).unwrap();
    let mut contents = Contents::new();
    for facts in reader.series(0, usize::MAX).unwrap() {
        for archive in reader.policy().archives() {
            for aggregate in reader.policy().aggregates() {
                let query = Query {
                    series: facts.series.clone(),
                    granularity: archive.granularity(),
                    aggregate: *aggregate,
                    start: None,
                    end: None,
                };
                let found = reader.query(&query).unwrap();
                let bits = found.values.iter().map(|value| value.to_bits());
                let key = format!("{} {archive} {aggregate}", facts.series);
                contents.insert(key, found.starts.into_iter().zip(bits).collect());
            }
        }
    }
    contents
}

/// An uninterrupted ingest of the first so many batches, each computed once.
struct References<'a> {
    place: &'a Place,
    rows: &'a [String],
    known: BTreeMap<usize, Contents>,
}

impl References<'_> {
    fn of(&mut self, batches: usize) -> &Contents {
        let Self { place, rows, known } = self;
        known.entry(batches).or_insert_with(|| {
            if batches == 0 {
                // The store was made, and nothing was put into it yet.
                return Contents::new();
            }
            let rows = rows[..batches * BATCH].join("\n");
            write(
                place,
                "prefix.csv",
                &format!("series,timestamp_ns,value\n{rows}\n"),
            );
            drop(std::fs::remove_file(place.path("prefix")));
            ingest_to_be_killed(place, "prefix", "prefix.csv").well();
            contents(&place.path("prefix"))
        })
    }
}

fn ingest_to_be_killed(place: &Place, store: &str, input: &str) -> Said {
    let batch = BATCH.to_string();
    place.run(&[
        "series",
        "ingest",
        store,
        input,
        "--policy",
        "killed.toml",
        "--batch",
        &batch,
        "--backend",
        "cpu",
        "--quiet",
    ])
}

/// 12 kills, or as many as `WARPSTRIDE_KILLS` says.
fn kills() -> usize {
    let typed = std::env::var("WARPSTRIDE_KILLS").ok();
    typed.map_or(12, |typed| {
        typed
            .parse()
            .expect("WARPSTRIDE_KILLS: a number is expected")
    })
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
    let whole_run = begun.elapsed();
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
        let batch = BATCH.to_string();
        let mut child = place.start(
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
                .args(["--batch", &batch, "--backend", "cpu", "--json-progress"])
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        );
        // Some while the store is being made.
        let most = if kill % 4 == 0 {
            whole_run / 10
        } else {
            whole_run
        };
        std::thread::sleep(Duration::from_micros(
            random.below(most.as_micros() as u64 + 1),
        ));
        child.kill().unwrap();
        let mut said = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        child.wait().unwrap();
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
    assert!(
        midway >= kills() / 4,
        "{midway} of {} kills came between batches",
        kills()
    );
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

#[test]
fn what_is_stored_is_told() {
    let place = Place::new();
    let mut text = series_csv("cpu", &zip(&[0, 10, 3601, 30], &[1., 2., 3., f64::NAN]));
    text += &series_csv("memory", &zip(&[0, 0, 100_000], &[1., 5., 2.]));
    write(&place, "in.csv", &format!("series,timestamp,value\n{text}"));
    let command = ["series", "ingest", "store", "in.csv", "--policy", "medium"];
    let rest = ["--nan", "skip", "--summary", "s.json", "--backend", "cpu"];
    let said = place.run(&[&command[..], &rest].concat());
    said.well();
    for part in [
        "medium (1m for 7d, 1h for 365d",
        "1 points that were not wanted",
        "1 duplicates",
    ] {
        assert!(said.out.contains(part), "{part} is missing: {}", said.out);
    }
    let summary = std::fs::read_to_string(place.path("s.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    for (key, value) in [
        ("points", 6),
        ("added", 5),
        ("new_series", 2),
        ("left_out", 1),
        ("batches", 1),
    ] {
        assert_eq!(summary[key], value, "{key}");
    }
    // The window of `memory` begins an hour before the hour of its last point.
    write(
        &place,
        "late.csv",
        &format!(
            "series,timestamp,value\n{}",
            series_csv("memory", &zip(&[50_000], &[7.]))
        ),
    );
    place
        .run(&[
            "series",
            "ingest",
            "store",
            "late.csv",
            "--backend",
            "cpu",
            "--quiet",
        ])
        .well();
    let said = place.run(&["series", "info", "store", "--json"]);
    said.well();
    let info: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(info["policy"]["name"], "medium");
    assert_eq!(info["policy"]["archives"][1]["granularity_s"], 3600.0);
    assert_eq!(info["series"][1]["series"], "memory");
    assert_eq!(
        (&info["series"][1]["refused"], &info["totals"]["refused"]),
        (&1.into(), &1.into())
    );
    let said = place.run(&["series", "info", "store"]);
    said.well();
    for part in [
        "2014-01-02T15:46:40Z",
        "cpu",
        "1 refused",
        "1 buckets of 1h",
    ] {
        assert!(said.out.contains(part), "{part} is missing: {}", said.out);
    }
    let query = [
        "series", "query", "store", "-s", "cpu", "-g", "1h", "-a", "sum",
    ];
    let said = place.run(&[&query[..], &["--timestamps", "iso"]].concat());
    said.well();
    assert_eq!(
        said.out,
        "series,granularity_s,aggregate,timestamp,value\ncpu,3600,sum,2014-01-01T12:00:00Z,3.0\ncpu,3600,sum,2014-01-01T13:00:00Z,3.0\n"
    );
    let said = place.run(&[&query[..], &["--json", "--start", "2014-01-01T12:30:00Z"]].concat());
    said.well();
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        found["timestamps_ns"],
        serde_json::json!([(NOON + 3600) * 1_000_000_000])
    );
    assert_eq!(found["values"], serde_json::json!([3.0]));
    place.run(&[&query[..], &["-o", "out.csv"]].concat()).well();
    assert_eq!(
        std::fs::read_to_string(place.path("out.csv"))
            .unwrap()
            .lines()
            .count(),
        3
    );
    place
        .run(&[&query[..], &["-o", "out.parquet"]].concat())
        .well();
    assert!(
        std::fs::read(place.path("out.parquet"))
            .unwrap()
            .starts_with(b"PAR1")
    );
}

#[test]
fn bad_input_is_refused_with_a_sentence() {
    let place = Place::new();
    let good = format!(
        "series,timestamp,value\n{}",
        series_csv("cpu", &zip(&[0, 10], &[1., 2.]))
    );
    write(&place, "in.csv", &good);
    let ingest = |rest: &[&str]| place.run(&[&["series", "ingest"], rest].concat());
    ingest(&["store", "in.csv"]).refused(1, &["store: does not exist yet", "--policy low"]);
    ingest(&["store", "in.csv", "--policy", "lowest"])
        .refused(2, &["--policy lowest", "low, medium, high"]);
    ingest(&["store", "in.csv", "--policy", "p.toml"]).refused(1, &["p.toml: cannot be read"]);
    write(
        &place,
        "p.toml",
        "back_window = 1\naggregates = ['mean']\nfoo = 1\n",
    );
    ingest(&["store", "in.csv", "--policy", "p.toml"])
        .refused(1, &["policy p.toml", "line 3", "foo"]);
    ingest(&["store", "in.csv", "--policy", "low", "--batch", "0"]).refused(2, &["--batch 0"]);
    ingest(&["in.csv", "in.csv", "--policy", "low"]).refused(2, &["in.csv: is both"]);
    ingest(&["store", "none.csv", "--policy", "low"]).refused(1, &["none.csv"]);
    ingest(&["no/store", "in.csv", "--policy", "low"])
        .refused(1, &["no/store: cannot be made: there is no folder no"]);
    ingest(&[
        "other.csv",
        "in.csv",
        "--policy",
        "low",
        "--summary",
        "in.csv",
    ])
    .refused(2, &["in.csv", "another name"]);
    assert_eq!(place.names(), ["in.csv", "p.toml"]);

    // What is before a bad row is stored, and said.
    write(&place, "bad.csv", &format!("{good}cpu,soon,1\n"));
    ingest(&[
        "store",
        "bad.csv",
        "--policy",
        "low",
        "--batch",
        "1",
        "--backend",
        "cpu",
        "--quiet",
    ])
    .refused(1, &["bad.csv: line 4", "soon"]);
    ingest(&[
        "store",
        "bad.csv",
        "--policy",
        "low",
        "--on-error",
        "skip",
        "--backend",
        "cpu",
        "--quiet",
    ])
    .well();
    ingest(&["store", "in.csv", "--policy", "high"]).refused(
        1,
        &[
            "store: was made with policy low (5m for 30d;",
            "high (1s for 1h",
        ],
    );

    let query = |store: &str, series: &str, granularity: &str, aggregate: &str| {
        let asked = ["-s", series, "-g", granularity, "-a", aggregate];
        place.run(&[&["series", "query", store][..], &asked].concat())
    };
    query("store", "cpa", "5m", "mean").refused(1, &["no series 'cpa'", "'cpu'"]);
    query("store", "cpu", "1m", "mean").refused(1, &["no granularity '1m': it has 5m"]);
    query("store", "cpu", "5m", "median").refused(1, &["no aggregate 'median': it has count, sum"]);
    query("store", "cpu", "5 m", "mean").refused(2, &["--granularity", "'5 m'"]);
    query("store", "cpu", "5m", "average").refused(2, &["--aggregate", "'average'"]);
    let asked = [
        "-s", "cpu", "-g", "5m", "-a", "mean", "--start", "2", "--end", "1",
    ];
    place
        .run(&[&["series", "query", "store"][..], &asked].concat())
        .refused(2, &["--start 2"]);

    let bytes = std::fs::read(place.path("store")).unwrap();
    std::fs::write(place.path("cut"), &bytes[..bytes.len() / 3]).unwrap();
    write(&place, "text", &good.repeat(200));
    write(&place, "empty", "");
    for (name, words) in [
        ("cut", "cut: is "),
        ("text", "is not a store of series"),
        ("empty", "is not a store of series"),
        ("none", "there is no such file"),
        (".", "it is a folder"),
    ] {
        query(name, "cpu", "5m", "mean").refused(1, &[words]);
        place.run(&["series", "info", name]).refused(1, &[words]);
        if name != "none" {
            ingest(&[name, "in.csv", "--policy", "low"]).refused(1, &[words]);
        }
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
