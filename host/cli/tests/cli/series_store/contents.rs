//! Contents of a store to the bit, and reference ingests of the first batches to compare it with.

use super::super::support::{Output, TestFolder};
use super::{NOON, write};
use std::collections::BTreeMap;
use std::path::Path;
use warpstride::series::store::{Query, StoreReader};

/// Rows per batch in the tests that kill the writer.
pub(super) const BATCH: usize = 250;
pub(super) const BATCHES: usize = 40;

pub(super) const KILLED: &str = "back_window = 2
aggregates = ['count', 'mean', 'std', '95pct', 'rate:max']
[[archive]]
granularity = '10s'
points = 60
[[archive]]
granularity = '1m'
points = 1000
";

/// A deterministic pseudo-random sequence.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Rows of twenty series; some are late by less than the back window, some by more.
pub(super) fn rows_to_be_killed(random: &mut Random) -> Vec<String> {
    let row = |row: u64| {
        let late = match random.below(40) {
            0 => 3600,
            1..=8 => random.below(60),
            _ => 0,
        };
        // No two points of a series share a time, so that repeated rows change nothing.
        let time = (NOON as u64 + 5 * (row / 20) - late) * 1_000_000_000 + row;
        format!(
            "series {},{time},{}",
            row % 20,
            random.below(1000) as f64 / 8.0
        )
    };
    (0..(BATCH * BATCHES) as u64).map(row).collect()
}

pub(super) type Contents = BTreeMap<String, Vec<(i64, u64)>>;

pub(super) fn contents(store: &Path) -> Contents {
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

/// Contents after uninterrupted ingests of the first n batches, each computed once.
pub(super) struct References<'a> {
    pub(super) dir: &'a TestFolder,
    pub(super) rows: &'a [String],
    pub(super) known: BTreeMap<usize, Contents>,
}

impl References<'_> {
    pub(super) fn of(&mut self, batches: usize) -> &Contents {
        let Self { dir, rows, known } = self;
        known.entry(batches).or_insert_with(|| {
            if batches == 0 {
                // The store was created, but nothing was stored yet.
                return Contents::new();
            }
            let rows = rows[..batches * BATCH].join("\n");
            write(
                dir,
                "prefix.csv",
                &format!("series,timestamp_ns,value\n{rows}\n"),
            );
            drop(std::fs::remove_file(dir.path("prefix")));
            ingest_to_be_killed(dir, "prefix", "prefix.csv").well();
            contents(&dir.path("prefix"))
        })
    }
}

pub(super) fn ingest_to_be_killed(dir: &TestFolder, store: &str, input: &str) -> Output {
    let batch = BATCH.to_string();
    dir.run(&[
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
