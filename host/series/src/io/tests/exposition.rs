//! Prometheus' text exposition format against the same points in CSV.

use super::*;
use crate::io::csv::Sizes;
use crate::io::{Reader, TimeFormat, TimeUnit};
use std::collections::BTreeMap;
use warpstride_core::system::Memory;

const SCRAPE: &str = "\
# HELP http_requests_total The total number of HTTP requests, with a \" quote.
# TYPE http_requests_total counter
http_requests_total{method=\"post\",code=\"200\"} 1027 1392388200000
http_requests_total{code=\"200\", method=\"post\"} 1028 1392388210000
http_requests_total{method=\"post\",code=\"400\"}    3 1392388200000

# A comment; escaping in label values:
msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9 1392388200000\r
something_weird{problem=\"division by zero\"} +Inf 1392388200000
\tnot_a_number\tNaN\t1392388200000
";

fn by_name(collected: &Collected) -> BTreeMap<String, Vec<(i64, u64)>> {
    points(collected).into_iter().collect()
}

#[test]
fn samples_are_points() {
    let read = read_bytes("node.prom", SCRAPE.as_bytes(), &ReadOptions::default()).unwrap();
    let expected: BTreeMap<_, _> = [
        series("http_requests_total{code=\"200\",method=\"post\"}", &[(0, 1027.0), (10, 1028.0)]),
        series("http_requests_total{code=\"400\",method=\"post\"}", &[(0, 3.0)]),
        series(
            "msdos_file_access_time_seconds{error=\"Cannot find file:\\n\\\"FILE.TXT\\\"\",path=\"C:\\\\DIR\\\\FILE.TXT\"}",
            &[(0, 1_458_255_915.0)],
        ),
        series("something_weird{problem=\"division by zero\"}", &[(0, f64::INFINITY)]),
        series("not_a_number", &[(0, f64::NAN)]),
    ]
    .into();
    assert_eq!(by_name(&read), expected);
    // By the comment, whatever the file is called; by the name, whatever it begins with.
    let read = read_bytes("node.txt", SCRAPE.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(by_name(&read), expected);
    let bare: String = SCRAPE
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| format!("{l}\n"))
        .collect();
    let read = read_bytes(
        "node.prom.gz",
        &gzip(bare.as_bytes()),
        &ReadOptions::default(),
    )
    .unwrap();
    assert_eq!(by_name(&read), expected);
    // Lines end at line feeds, wherever quotes are.
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "node.prom", SCRAPE.as_bytes());
    let sizes = Sizes {
        window: 401,
        chunk: 1,
        record: 200,
    };
    let options = ReadOptions::default();
    let reader = Reader::with_sizes(&[path], &options, Memory::limited(1 << 30), sizes);
    let points: usize = reader.unwrap().map(|block| block.unwrap().len()).sum();
    assert_eq!(points, 6);
}

#[test]
fn samples_without_a_time_need_one() {
    let text = "# TYPE up gauge\nup 1\nup{a=\"\"} 2 1392388210000\n";
    let error = read_bytes("up.prom", text.as_bytes(), &ReadOptions::default()).unwrap_err();
    says(&error, &["line 2", "--scrape-time", "found none"]);
    let options = ReadOptions {
        scrape_time: Some(START * SECOND),
        ..ReadOptions::default()
    };
    let read = read_bytes("up.prom", text.as_bytes(), &options).unwrap();
    assert_eq!(points(&read), [series("up", &[(0, 1.0), (10, 2.0)])]);
    let read = read_bytes("cpu.csv", b"timestamp,value\n1392388200,1\n", &options).unwrap();
    says(&read.notes[0], &["--scrape-time has no effect"]);
    // Seconds, as OpenMetrics has them.
    for options in [
        ReadOptions {
            time_unit: TimeUnit::Seconds,
            ..ReadOptions::default()
        },
        ReadOptions {
            time_format: TimeFormat::Unix(TimeUnit::Seconds),
            ..ReadOptions::default()
        },
    ] {
        let read = read_bytes("up.prom", b"up 1 1392388200.0\n# EOF\n", &options).unwrap();
        assert_eq!(points(&read), [series("up", &[(0, 1.0)])]);
    }
}

#[test]
fn malformed_lines_are_reported_with_their_number() {
    for (line, parts) in [
        ("up", &["a value after the series"][..]),
        ("up x 1", &["the value 'x'"]),
        ("up 1 x", &["'x'", "milliseconds since 1970"]),
        ("up 1 -5", &["before 1970"]),
        ("up 1 2 3", &["the end of the line", "'3'"]),
        ("up{a=b} 1 2", &["in double quotes", "'up{a=b} 1 2'"]),
        ("1up 1 2", &["the name of a metric"]),
    ] {
        let text = format!("# HELP up x\n\n{line}\n");
        let error = read_bytes("up.prom", text.as_bytes(), &ReadOptions::default()).unwrap_err();
        says(&error, &["up.prom: line 3: expected ", ", found "]);
        says(&error, parts);
        let text = format!("{text}up 1 1392388200000\n");
        let read = read_bytes("up.prom", text.as_bytes(), &skipping()).unwrap();
        assert_eq!(points(&read), [series("up", &[(0, 1.0)])], "{line}");
        assert_eq!(read.skipped.rows, 1);
    }
    for (options, option) in [
        (
            ReadOptions {
                wide: true,
                ..ReadOptions::default()
            },
            "--wide",
        ),
        (
            ReadOptions {
                series_column: Some("a".to_owned()),
                ..ReadOptions::default()
            },
            "--series-column",
        ),
        (
            ReadOptions {
                time_format: TimeFormat::Iso,
                ..ReadOptions::default()
            },
            "--time-format",
        ),
    ] {
        let error = read_bytes("up.prom", b"up 1 1392388200000\n", &options).unwrap_err();
        says(&error, &[option, "Prometheus"]);
    }
}
