//! Time zones, formats of timestamps, and Prometheus' text format.

use super::super::support::TestFolder;
use super::{output, resample};
use std::fmt::Write as _;

/// 2024-03-29T23:00:00Z and 2024-10-25T22:00:00Z: midnights in Zurich.
const MIDNIGHTS: [i64; 2] = [1_711_753_200, 1_729_893_600];

/// Hours from these midnights on for three days with a change of clocks on the second.
fn hours() -> impl Iterator<Item = (i64, i64)> {
    let of = |midnight: i64, hours: i64| (0..hours).map(move |h| (midnight + h * 3600, h));
    of(MIDNIGHTS[0], 24 + 23 + 24).chain(of(MIDNIGHTS[1], 24 + 25 + 24))
}

#[test]
fn days_begin_at_local_midnight() {
    let dir = TestFolder::new();
    let mut text = String::from("when,value\n");
    for (time, hour) in hours() {
        writeln!(text, "{time},{hour}").unwrap();
    }
    std::fs::write(dir.path("utc.csv"), text).unwrap();
    let zurich = [
        "--timezone",
        "Europe/Zurich",
        "--time-column",
        "when",
        "--quiet",
    ];
    let run = |options: &[&str]| resample(&dir, &[options, &zurich].concat()).well();
    run(&[
        "utc.csv",
        "-o",
        "days.csv",
        "-g",
        "1d",
        "-a",
        "count,sum,first,last,rate:min",
        "--timestamps",
        "iso",
    ]);
    let rows = output(&dir, "days.csv");
    let of = |aggregate: &str| -> Vec<(String, f64)> {
        let rows = rows.iter().filter(|row| row.aggregate == aggregate);
        rows.map(|row| (row.time.clone(), row.value)).collect()
    };
    let days = [
        ("2024-03-30T00:00:00+01:00", 0, 24),
        ("2024-03-31T00:00:00+01:00", 24, 23),
        ("2024-04-01T00:00:00+02:00", 47, 24),
        ("2024-10-26T00:00:00+02:00", 0, 24),
        ("2024-10-27T00:00:00+02:00", 24, 25),
        ("2024-10-28T00:00:00+01:00", 49, 24),
    ];
    // The hours of a day are consecutive numbers.
    let expected = |value: &dyn Fn(i32, i32) -> i32| -> Vec<(String, f64)> {
        let days = days.iter();
        days.map(|(day, first, hours)| ((*day).to_owned(), f64::from(value(*first, *hours))))
            .collect()
    };
    assert_eq!(of("count"), expected(&|_, hours| hours));
    assert_eq!(of("first"), expected(&|first, _| first));
    assert_eq!(of("last"), expected(&|first, hours| first + hours - 1));
    assert_eq!(
        of("sum"),
        expected(&|first, hours| (2 * first + hours - 1) * hours / 2)
    );
    assert_eq!(of("rate:min").len(), 6);

    // Local times are the same points.
    let mut local = String::from("when,value\n");
    for (time, hour) in hours() {
        let offset = i64::from((1_711_846_800..1_729_990_800).contains(&time)) + 1;
        let (day, clock) = (
            (time + offset * 3600) / 86_400,
            (time + offset * 3600) % 86_400 / 3600,
        );
        let (month, first) = if day < 19_814 {
            (3, 19_783)
        } else if day < 19_844 {
            (4, 19_814)
        } else {
            (10, 19_997)
        };
        writeln!(
            local,
            "{:02}.{month:02}.2024 {clock:02}:00 {}",
            day - first + 1,
            if offset == 2 { "+0200" } else { "+0100" }
        )
        .unwrap();
        let end = local.len() - 1;
        local.insert_str(end, &format!(",{hour}"));
    }
    std::fs::write(dir.path("local.csv"), &local).unwrap();
    let formatted = ["-g", "M,W,1d", "-a", "count,last"];
    run(&[&["utc.csv", "-o", "a.csv"], &formatted[..]].concat());
    run(&[
        &[
            "local.csv",
            "-o",
            "b.csv",
            "--time-format",
            "%d.%m.%Y %H:%M %z",
        ],
        &formatted[..],
    ]
    .concat());
    let read = |name: &str| {
        std::fs::read_to_string(dir.path(name))
            .unwrap()
            .replace("local,", "utc,")
    };
    assert_eq!(read("a.csv"), read("b.csv"));
    // 2024-02-29T23:00Z, 2024-03-31T22:00Z, 2024-09-30T22:00Z.
    for row in [
        "utc,M,count,1709247600000000000,47",
        "utc,M,count,1711922400000000000,24",
        "utc,M,count,1727733600000000000,73",
    ] {
        assert!(read("a.csv").contains(row), "{row}");
    }
    // Hours are those of UTC; limits without an offset are local.
    run(&[
        "utc.csv",
        "-o",
        "zone.csv",
        "-g",
        "1h",
        "--start",
        "2024-03-31",
        "--end",
        "2024-04-01",
    ]);
    resample(
        &dir,
        &[
            "utc.csv",
            "-o",
            "none.csv",
            "-g",
            "1h",
            "--time-column",
            "when",
            "--quiet",
            "--start",
            "2024-03-30T23:00Z",
            "--end",
            "2024-03-31T22:00Z",
        ],
    )
    .well();
    assert_eq!(read("zone.csv"), read("none.csv"));
    assert_eq!(output(&dir, "zone.csv").len(), 23);

    let without = local.replace(" +0100", "").replace(" +0200", "");
    std::fs::write(dir.path("without.csv"), without).unwrap();
    let plain = [
        "without.csv",
        "-o",
        "o.csv",
        "--time-format",
        "%d.%m.%Y %H:%M",
        "-g",
        "1d",
    ];
    resample(&dir, &[&plain[..], &zurich].concat()).refused(
        1,
        &[
            "without.csv",
            "27.10.2024 02:00",
            "show twice",
            "--ambiguous",
        ],
    );
    run(&[&plain[..], &["--ambiguous", "later"]].concat());
    let counts = output(&dir, "o.csv");
    assert_eq!(counts.len(), 6);
    for (options, parts) in [
        (&["-g", "1h,1d"][..], &["--granularity 1h", "beside 1d"][..]),
        (&["-g", "6h"], &["--granularity 6h", "60 min"]),
        (
            &["--timezone", "Europe/Zuerich"],
            &["--timezone", "Europe/Zurich"],
        ),
        (&["--time-format", "%H:%M"], &["--time-format", "%H:%M"]),
        (
            &["--time-format", "unix", "--time-unit", "s"],
            &["--time-format", "--time-unit"],
        ),
        (&["--ambiguous", "later"], &["--timezone"]),
    ] {
        let zone: &[&str] = if options[0] == "-g" || options[0] == "--time-format" {
            &["--timezone", "Europe/Zurich"]
        } else {
            &[]
        };
        resample(&dir, &[&["utc.csv", "-o", "x.csv"], options, zone].concat()).refused(2, parts);
    }
}

#[test]
fn prometheus_text_becomes_rows_with_label_columns() {
    let dir = TestFolder::new();
    let text = "# HELP up Whether it is.\n# TYPE up gauge\nup{job=\"node\",host=\"a\"} 1\nup{host=\"b\",job=\"node\"} 0 120000\nload 0.5\n";
    std::fs::write(dir.path("scrape"), text).unwrap();
    let run = [
        "scrape",
        "-o",
        "-",
        "--label-columns",
        "--scrape-time",
        "1970-01-01T00:01:00Z",
        "--quiet",
    ];
    let printed = resample(&dir, &run);
    printed.well();
    assert_eq!(
        printed.out,
        "series,host,job,granularity_s,aggregate,timestamp_ns,value\nup,a,node,60,mean,60000000000,1.0\nup,b,node,60,mean,120000000000,0.0\nload,,,60,mean,60000000000,0.5\n"
    );
    resample(&dir, &["scrape", "-o", "o.csv"]).refused(1, &["line 3", "--scrape-time"]);
}
