//! `warpstride series info`: policy and contents of a store.

use crate::args::SeriesInfoArgs;
use crate::failure::Failure;
use crate::output::{facts, say, say_json};
use crate::series::points::zone;
use serde::Serialize;
use warpstride::series::Zone;
use warpstride::series::io::iso_in;
use warpstride::series::store::{Policy, SeriesInfo, StoreReader, Totals};
use warpstride::system::Bytes;
use warpstride::text::{Table, count};

/// Number of series in the table.
const MAX_SERIES_SHOWN: usize = 20;

/// The document that `--json` prints.
#[derive(Serialize)]
struct Info {
    store: String,
    store_bytes: u64,
    policy: PolicyInfo,
    totals: Totals,
    /// Blocks of 32 buckets, all archives together.
    blocks: u64,
    series: Vec<SeriesInfo>,
    version: &'static str,
}

/// The policy of a store.
#[derive(Serialize)]
struct PolicyInfo {
    name: String,
    archives: Vec<ArchiveInfo>,
    aggregates: Vec<String>,
    back_window: u64,
}

#[derive(Serialize)]
struct ArchiveInfo {
    granularity: String,
    granularity_s: f64,
    timespan_s: f64,
    /// Buckets kept for every series.
    points: u64,
}

impl PolicyInfo {
    fn of(policy: &Policy) -> Self {
        let archives = policy.archives().iter().map(|archive| ArchiveInfo {
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

/// Prints the policy and contents of a store.
pub(crate) fn run(args: &SeriesInfoArgs) -> Result<(), Failure> {
    let zone = zone(args.timezone.as_deref())?;
    let reader = StoreReader::open(&args.store)?;
    let most = if args.json {
        usize::MAX
    } else {
        MAX_SERIES_SHOWN
    };
    let info = Info {
        store: args.store.display().to_string(),
        store_bytes: std::fs::metadata(&args.store).map_or(0, |found| found.len()),
        policy: PolicyInfo::of(reader.policy()),
        totals: reader.totals(),
        blocks: reader.blocks()?,
        series: reader.series(0, most)?,
        version: env!("CARGO_PKG_VERSION"),
    };
    if args.json {
        return say_json(&info);
    }
    say(&text(&info, reader.policy(), zone))
}

fn text(info: &Info, policy: &Policy, zone: Option<Zone>) -> String {
    let totals = info.totals;
    let archives: Vec<String> = policy.archives().iter().map(ToString::to_string).collect();
    let last = |points: u64, time: i64| {
        if points == 0 {
            "-".to_owned()
        } else {
            iso_in(time, zone)
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
                "{} of {}",
                count(policy.back_window(), ["bucket", "buckets"]),
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
