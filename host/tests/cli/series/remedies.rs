//! Remedies that are named by refusals and notes: followed, they work.

use super::super::support::TestFolder;
use super::units::sums;

#[test]
fn formats_that_a_refusal_names_read_the_file() {
    for (time, format, zone, day) in [
        ("20240315", "%Y%m%d", None, "2024-03-15T00:00:00Z"),
        ("202403150930", "%Y%m%d%H%M", None, "2024-03-15T00:00:00Z"),
        (
            "20240315093000",
            "%Y%m%d%H%M%S",
            None,
            "2024-03-15T00:00:00Z",
        ),
        (
            "2024-03-15 09:30:00 EST",
            "%Y-%m-%d %H:%M:%S EST",
            Some("America/New_York"),
            "2024-03-15T00:00:00-04:00",
        ),
        (
            "2024-03-15 09:30 Europe/Zurich",
            "%Y-%m-%d %H:%M Europe/Zurich",
            Some("Europe/Zurich"),
            "2024-03-15T00:00:00+01:00",
        ),
        (
            "2024-03-15T09:30:00.5+01:00[Europe/Zurich]",
            "%Y-%m-%dT%H:%M:%S%.f%:z[Europe/Zurich]",
            None,
            "2024-03-15T00:00:00Z",
        ),
    ] {
        let text = format!("time,value\n{time},3\n");
        let remedy = format!("use --time-format '{format}'");
        let mut options = vec!["--time-format", format];
        let refused = sums("a.csv", &text, &[]);
        refused.refused(1, &["line 2", &remedy, zone.unwrap_or_default()]);
        if let Some(zone) = zone {
            options.extend(["--timezone", zone]);
        }
        let read = sums("a.csv", &text, &options);
        read.well();
        assert!(read.out.contains(&format!("sum,{day},3")), "{read:?}");
    }
    let clock = sums("a.csv", "time,value\n12:30:00,1\n", &[]);
    clock.refused(1, &["'12:30:00'", "--date-column"]);
    let empty = sums("a.csv", "time,value\n,1\n2024-03-15,2\n", &[]);
    empty.refused(1, &["line 2", "--on-error skip"]);
}

/// As in Parquet and Arrow, whose type of dates counts as a label.
#[test]
fn dates_without_a_purpose_are_refused_in_text_files() {
    let text = "time,value,delivery\n2024-03-15,1,2024-03-16\n2024-03-15T06:00,2,2024-03-17\n";
    sums("a.csv", text, &[]).refused(1, &["--series-columns", "delivery", "--ignore-columns"]);
    let labels = sums("a.csv", text, &["--series-columns", "delivery"]);
    labels.well();
    assert!(
        labels.out.contains("delivery=2024-03-16,86400"),
        "{labels:?}"
    );
    sums("a.csv", text, &["--ignore-columns", "delivery"]).well();
    // The date of the time itself tells nothing apart.
    for text in [
        "timestamp,day,value\n2024-03-15T09:30:00Z,2024-03-15,1\n",
        "timestamp,day,value\n1710495000,2024-03-15,1\n",
    ] {
        let result = sums("a.csv", text, &[]);
        assert_eq!(result.code, Some(0), "{result:?}");
        assert!(result.err.contains("unused columns: day"), "{result:?}");
    }
}

#[test]
fn limits_of_a_query_are_dates() {
    let dir = TestFolder::new();
    for start in ["100", "20240101"] {
        let query = [
            "series", "query", "store", "-s", "cpu", "-g", "1d", "--start", start,
        ];
        let result = dir.run(&[&query[..], &["-a", "mean"]].concat());
        result.refused(2, &["--start", "ISO 8601", "2014-02-14"]);
        assert!(!result.err.contains("--time-unit"), "{result:?}");
    }
}
