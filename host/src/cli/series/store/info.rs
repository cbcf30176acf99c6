//! `warpstride series info`: what a store keeps and holds.

use crate::cli::args::SeriesInfoTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say, say_json};
use serde::Serialize;
use warpstride::io::Bytes;
use warpstride::io::series::iso;
use warpstride::report::Table;
use warpstride::series::store::{Policy, SeriesFacts, StoreReader, Totals};

/// Series that are printed for people.
const SHOWN: usize = 20;

/// What `--json` prints.
#[derive(Serialize)]
struct Info {
    store: String,
    store_bytes: u64,
    policy: Kept,
    totals: Totals,
    /// Of 32 buckets, all archives.
    blocks: u64,
    series: Vec<SeriesFacts>,
    version: &'static str,
}

/// A policy.
#[derive(Serialize)]
struct Kept {
    name: String,
    archives: Vec<KeptArchive>,
    aggregates: Vec<String>,
    back_window: u64,
}

#[derive(Serialize)]
struct KeptArchive {
    granularity: String,
    granularity_s: f64,
    timespan_s: f64,
    /// Buckets that are kept of every series.
    points: u64,
}

impl Kept {
    fn of(policy: &Policy) -> Self {
        let archives = policy.archives().iter().map(|archive| KeptArchive {
            granularity: archive.granularity().to_string(),
            granularity_s: archive.step as f64 / 1e9,
            timespan_s: archive.timespan() as f64 / 1e9,
            points: archive.buckets,
        });
        Self {
            name: policy.name().to_owned(),
            archives: archives.collect(),
            aggregates: policy
                .aggregates()
                .iter()
                .map(ToString::to_string)
                .collect(),
            back_window: policy.back_window(),
        }
    }
}

/// Prints it.
pub(crate) fn run(typed: &SeriesInfoTyped) -> Result<(), Failure> {
    let reader = StoreReader::open(&typed.store)?;
    let most = if typed.json { usize::MAX } else { SHOWN };
    let info = Info {
        store: typed.store.display().to_string(),
        store_bytes: std::fs::metadata(&typed.store).map_or(0, |found| found.len()),
        policy: Kept::of(reader.policy()),
        totals: reader.totals(),
        blocks: reader.blocks()?,
        series: reader.series(0, most)?,
        version: env!("CARGO_PKG_VERSION"),
    };
    if typed.json {
        return say_json(&info);
    }
    say(&text(&info, reader.policy()))
}

fn text(info: &Info, policy: &Policy) -> String {
    let totals = info.totals;
    let archives: Vec<String> = policy.archives().iter().map(ToString::to_string).collect();
    let last = |points: u64, time: i64| {
        if points == 0 {
            "-".to_owned()
        } else {
            iso(time)
        }
    };
    let lines = [
        (
            "store",
            format!("{}, {}", info.store, Bytes(u128::from(info.store_bytes))),
        ),
        ("policy", info.policy.name.clone()),
        ("archives", archives.join(", ")),
        ("aggregates", info.policy.aggregates.join(", ")),
        (
            "back window",
            format!(
                "{} {} of {}",
                policy.back_window(),
                if policy.back_window() == 1 {
                    "bucket"
                } else {
                    "buckets"
                },
                policy.archives()[policy.archives().len() - 1].granularity()
            ),
        ),
        ("series", totals.series.to_string()),
        (
            "points",
            format!(
                "{}; {} replaced, {} refused as older than the back window",
                totals.points, totals.replaced, totals.refused
            ),
        ),
        ("batches", totals.batches.to_string()),
        ("last point", last(totals.points, totals.last)),
        ("blocks", info.blocks.to_string()),
    ];
    let mut table = Table::new(&["series", "points", "replaced", "refused", "last point"]);
    for series in &info.series {
        table.row([
            series.series.clone(),
            series.points.to_string(),
            series.replaced.to_string(),
            series.refused.to_string(),
            last(series.points, series.last),
        ]);
    }
    let more = match totals.series.saturating_sub(info.series.len() as u64) {
        0 => String::new(),
        more => format!("… and {more} more; --json has all\n"),
    };
    if info.series.is_empty() {
        return facts(&lines);
    }
    format!("{}\n{table}{more}", facts(&lines))
}
