//! Columns of times that options must name, and times beside others.

use super::super::support::TestFolder;
use super::{Row, resample, rows};

/// Counts of days in ISO 8601.
fn days(dir: &TestFolder, file: &str, options: &[&str]) -> super::Output {
    let fixed = [
        file,
        "-o",
        "-",
        "-g",
        "1d",
        "-a",
        "count",
        "--timestamps",
        "iso",
    ];
    resample(dir, &[&fixed[..], options].concat())
}

/// (series, time, count) of each day.
#[track_caller]
fn counts(dir: &TestFolder, file: &str, options: &[&str]) -> Vec<(String, String, f64)> {
    let result = days(dir, file, options);
    assert_eq!(result.code, Some(0), "{options:?}: {result:?}");
    let of = |row: Row| (row.series, row.time, row.value);
    rows(&result.out).into_iter().map(of).collect()
}

fn day(series: &str, day: &str, count: f64) -> (String, String, f64) {
    (series.to_owned(), format!("2024-{day}T00:00:00Z"), count)
}

#[test]
fn times_of_file_names_have_a_remedy() {
    let dir = TestFolder::new();
    for (text, format) in [
        ("2024-06-05_14-30-00", "%Y-%m-%d_%H-%M-%S"),
        ("20240605_143000", "%Y%m%d_%H%M%S"),
        ("2024_06_05_14_30", "%Y_%m_%d_%H_%M"),
        ("2024-06-05 14.30", "%Y-%m-%d %H.%M"),
    ] {
        std::fs::write(dir.path("a.csv"), format!("time,value\n{text},1\n")).unwrap();
        let remedy = format!("use --time-format '{format}',");
        days(&dir, "a.csv", &[]).refused(1, &["line 2", &remedy, text]);
        let found = counts(&dir, "a.csv", &["--time-format", format]);
        assert_eq!(found, [day("a", "06-05", 1.0)], "{text}");
    }
}

#[test]
fn times_of_day_beside_dates_have_a_remedy() {
    let dir = TestFolder::new();
    for (header, row, names) in [
        ("date,clock,value", "2024-06-05,14:30,1", ["date", "clock"]),
        ("day,tod,value", "2024-06-05,14:30:05,1", ["day", "tod"]),
        (
            "Date;Uhrzeit;Temp",
            "2024-06-05;14:30;1",
            ["Date", "Uhrzeit"],
        ),
        ("ts,date,value", "14:30,2024-06-05,1", ["date", "ts"]),
    ] {
        std::fs::write(dir.path("a.csv"), format!("{header}\n{row}\n")).unwrap();
        let [date, clock] = names;
        let remedy = format!("--date-column {date} --time-column {clock}, as");
        days(&dir, "a.csv", &[]).refused(1, &["a.csv", &remedy]);
        let options = ["--date-column", date, "--time-column", clock];
        assert_eq!(counts(&dir, "a.csv", &options), [day("a", "06-05", 1.0)]);
    }
    std::fs::write(dir.path("w.csv"), "date,clock,a,b\n2024-06-05,14:30,1,2\n").unwrap();
    let remedy = ["--date-column date --time-column clock, as"];
    days(&dir, "w.csv", &["--wide"]).refused(1, &remedy);
    // A time of day that is none of the points' times.
    let text = "date,sunrise,value\n2024-06-05,05:30,1\n2024-06-06,05:31,2\n";
    std::fs::write(dir.path("sun.csv"), text).unwrap();
    days(&dir, "sun.csv", &[]).refused(1, &["or --ignore-columns sunrise"]);
    let found = counts(&dir, "sun.csv", &["--ignore-columns", "sunrise"]);
    assert_eq!(found, [day("sun", "06-05", 1.0), day("sun", "06-06", 1.0)]);
    let found = counts(&dir, "sun.csv", &["--series-columns", "sunrise"]);
    assert_eq!(found.len(), 2);
}

/// Half-hours over the autumn change in Zurich, at 01:00 UTC.
#[test]
fn utc_is_used_beside_local_times() {
    let dir = TestFolder::new();
    let row = |half: i64| {
        let (utc, offset) = (22 * 60 + half * 30, if half < 6 { 120 } else { 60 });
        let time = |minutes: i64| {
            let (day, minutes) = (26 + minutes / 1440, minutes % 1440);
            format!("2024-10-{day} {:02}:{:02}:00", minutes / 60, minutes % 60)
        };
        format!("{},{},{half}\n", time(utc), time(utc + offset))
    };
    let rows: String = (0..12).map(row).collect();
    for header in [
        "UTC,local_time",
        "utc_timestamp,timestamp",
        "timestamp,local_time",
        "UTC,time",
        "time_utc,date",
    ] {
        std::fs::write(dir.path("a.csv"), format!("{header},value\n{rows}")).unwrap();
        let found = counts(&dir, "a.csv", &[]);
        let expected = [day("a", "10-26", 4.0), day("a", "10-27", 8.0)];
        assert_eq!(found, expected, "{header}");
    }
    // An offset is no time.
    std::fs::write(
        dir.path("a.csv"),
        "time,utc,value\n2024-06-05T10:00:00Z,2,1\n",
    )
    .unwrap();
    assert_eq!(counts(&dir, "a.csv", &[]), [day("a", "06-05", 1.0)]);
}

#[test]
fn times_of_parquet_are_labels() {
    let dir = TestFolder::new();
    let text = "time,value\n2024-06-05T10:00:00Z,1\n2024-06-05T11:00:00Z,2\n";
    std::fs::write(dir.path("a.csv"), text).unwrap();
    resample(
        &dir,
        &["a.csv", "-o", "a.parquet", "-g", "1h,60s", "-a", "first"],
    );
    // The lengths of buckets as times.
    let options = [
        "a.parquet",
        "-o",
        "-",
        "-g",
        "1h",
        "-a",
        "count",
        "--time-format",
        "unix",
        "--time-column",
        "granularity_s",
        "--series-columns",
        "timestamp",
        "--ignore-columns",
        "aggregate,series",
    ];
    let found = resample(&dir, &options);
    assert_eq!(found.code, Some(0), "{found:?}");
    for hour in ["10", "11"] {
        let name = format!("timestamp=2024-06-05T{hour}:00:00Z,");
        assert!(found.out.contains(&name), "{found:?}");
    }
}
