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
            Some("Etc/GMT+5"),
            "2024-03-15T00:00:00-05:00",
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
        ("15-Mar-24", "%d-%b-%y", None, "2024-03-15T00:00:00Z"),
        (
            "\"Fri, 15 Mar 2024 10:00:00 GMT\"",
            "%a, %d %b %Y %H:%M:%S GMT",
            None,
            "2024-03-15T00:00:00Z",
        ),
        (
            "\"Fri, 15 Mar 2024 10:00:00 +0100\"",
            "%a, %d %b %Y %H:%M:%S %z",
            None,
            "2024-03-15T00:00:00Z",
        ),
        (
            "15.03.2024 10:00 CET",
            "%d.%m.%Y %H:%M CET",
            Some("Europe/Berlin"),
            "2024-03-15T00:00:00+01:00",
        ),
        (
            "2024-03-15 10:00:00 UTC+01:00",
            "%Y-%m-%d %H:%M:%S UTC%:z",
            None,
            "2024-03-15T00:00:00Z",
        ),
        (
            "[15/Mar/2024:10:00:00 +0000]",
            "[%d/%b/%Y:%H:%M:%S %z]",
            None,
            "2024-03-15T00:00:00Z",
        ),
        (
            "\"March 15, 2024 10:00 PM\"",
            "%B %d, %Y %I:%M %p",
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
    let text = "date,time,value\n2024-03-15,0130,1\n2024-03-15,1330,2\n";
    sums("a.csv", text, &[]).refused(1, &["line 2", "--time-format '%Y-%m-%d %H%M'"]);
    let read = sums("a.csv", text, &["--time-format", "%Y-%m-%d %H%M"]);
    assert!(read.out.contains(",3"), "{read:?}");
    let gap = "time,value\n2024-03-31 02:30,1\n";
    let refused = sums("a.csv", gap, &["--timezone", "Europe/Zurich"]);
    refused.refused(
        1,
        &["line 2", "--timezone with a fixed offset", "Etc/GMT-1"],
    );
    sums("a.csv", gap, &["--timezone", "Etc/GMT-1"]).well();
    let clock = sums("a.csv", "time,value\n12:30:00,1\n", &[]);
    clock.refused(1, &["'12:30:00'", "--date-column"]);
    let empty = sums("a.csv", "time,value\n,1\n2024-03-15,2\n", &[]);
    empty.refused(1, &["line 2", "--on-error skip"]);
}

/// As in Parquet and Arrow.
#[test]
fn dates_that_tell_series_apart_are_refused_in_text_files() {
    for date in ["2024-03-1", "2024-03-01T0"] {
        let dates = [6, 7].map(|digit| match date.contains('T') {
            true => format!("{date}{digit}:00Z"),
            false => format!("{date}{digit}"),
        });
        let [first, second] = &dates;
        // Row by row, and one run after the other.
        for order in [
            [first, second, first, second],
            [first, first, second, second],
        ] {
            let hours = match order[0] == order[1] {
                true => [0, 6, 0, 6],
                false => [0, 1, 6, 7],
            };
            let rows = order.iter().zip(hours);
            let rows: String = rows
                .map(|(date, hour)| format!("2024-03-15T0{hour}:00,1,{date}\n"))
                .collect();
            let text = format!("time,value,started\n{rows}");
            let refused = sums("a.csv", &text, &[]);
            refused.refused(1, &["--series-columns", "started", "--ignore-columns"]);
            let labels = sums("a.csv", &text, &["--series-columns", "started"]);
            labels.well();
            for date in &dates {
                let row = format!("started={date},86400,sum,2024-03-15T00:00:00Z,2");
                assert!(labels.out.contains(&row), "{labels:?}");
            }
            let ignored = sums("a.csv", &text, &["--ignore-columns", "started"]);
            assert!(ignored.out.contains(",4"), "{ignored:?}");
        }
    }
    // Dates that follow the time, or the series, tell nothing apart.
    for text in [
        "timestamp,day,value\n2024-03-15T09:30:00Z,2024-03-15,1\n",
        "timestamp,day,value\n1710495000,2024-03-15,1\n",
        "time,value,day\n2024-03-15T23:00Z,1,2024-03-16\n2024-03-15T22:00Z,2,2024-03-15\n",
        "time,value,day\n2024-03-15T10:00,1,2024-03-15T10:02\n2024-03-15T10:01,2,2024-03-15T10:01\n",
        "time,sensor,value,day\n2024-03-15,a,1,2020-01-01\n2024-03-15,b,2,2021-01-01\n2024-03-16,a,1,2020-01-01\n",
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

/// Lines of a file that are no rows, with the way out that the refusal names.
#[test]
fn lines_that_are_no_rows_are_left_out() {
    let day = "2024-03-15";
    for header in ["time,value", "\"time\",\"value\""] {
        let text = format!("{header}\n{day},1\n{header}\n{day}T01:00,2\n");
        let read = sums("a.csv", &text, &[]);
        assert!(read.out.contains("sum,2024-03-15T00:00:00Z,3"), "{read:?}");
        let note = "1 line between the rows repeats the header";
        assert!(read.err.contains(note), "{read:?}");
    }
    for row in ["Total,3", "[s],[C]", "2024-03-15T02:00,<0.5"] {
        let text = format!("time,value\n{day},1\n{row}\n{day}T01:00,2\n");
        sums("a.csv", &text, &[]).refused(1, &["line 3", "--on-error skip"]);
        let read = sums("a.csv", &text, &["--on-error", "skip"]);
        assert!(read.out.contains("sum,2024-03-15T00:00:00Z,3"), "{read:?}");
    }
    for missing in ["#N/A", "<NA>", "--", "\\N", "(null)"] {
        let text = format!("time,value\n{day},{missing}\n{day}T01:00,3\n");
        let read = sums("a.csv", &text, &[]);
        assert!(read.out.contains("sum,2024-03-15T00:00:00Z,3"), "{read:?}");
        assert!(read.err.contains("1 cell without a value"), "{read:?}");
    }
}

#[test]
fn hours_beside_dates_are_not_lost() {
    let text = "date,hour,value\n2024-03-15,1,1\n2024-03-15,2,2\n";
    let options = "--date-column date --time-column hour --time-format '%Y-%m-%d %H'";
    sums("a.csv", text, &[]).refused(1, &[options, "--ignore-columns hour"]);
    let format = [
        "--time-format",
        "%Y-%m-%d %H",
        "--start",
        "2024-03-15T02:00",
    ];
    let followed = ["--date-column", "date", "--time-column", "hour"];
    let read = sums("a.csv", text, &[&followed[..], &format].concat());
    read.well();
    assert!(read.out.contains("sum,2024-03-15T00:00:00Z,2"), "{read:?}");
    let ignored = sums("a.csv", text, &["--ignore-columns", "hour"]);
    assert!(ignored.out.contains(",3"), "{ignored:?}");
}

/// In a wide table, in a format that is given, and as times that are all midnight.
#[test]
fn hours_beside_dates_of_any_form_are_not_lost() {
    let join = "--date-column date --time-column hour --time-format";
    let wide = "date,hour,a,b\n2024-03-15,1,1,5\n2024-03-15,2,2,5\n";
    let iso = format!("{join} '%Y-%m-%d %H'");
    sums("a.csv", wide, &["--wide"]).refused(1, &[&iso]);
    let columns = ["--date-column", "date", "--time-column", "hour"];
    let from = ["--start", "2024-03-15T02:00", "--time-format"];
    let joined = [&columns[..], &from, &["%Y-%m-%d %H", "--wide"]].concat();
    let read = sums("a.csv", wide, &joined);
    read.well();
    assert!(
        read.out.contains("a,86400,sum,2024-03-15T00:00:00Z,2"),
        "{read:?}"
    );
    let ignored = sums("a.csv", wide, &["--wide", "--ignore-columns", "hour"]);
    assert!(ignored.out.contains(",3"), "{ignored:?}");
    // A column of hours that were worked is a series.
    let worked = wide.replace("hour", "hours");
    sums("a.csv", &worked, &["--wide", "--quiet"]).well();

    let german = "date,hour,value\n15.03.2024,1:30,1\n15.03.2024,2:30,2\n";
    let format = format!("{join} '%d.%m.%Y %H:%M'");
    sums("a.csv", german, &["--time-format", "%d.%m.%Y"]).refused(1, &[&format]);
    let joined = [&columns[..], &from, &["%d.%m.%Y %H:%M"]].concat();
    let read = sums("a.csv", german, &joined);
    read.well();
    assert!(read.out.contains("sum,2024-03-15T00:00:00Z,2"), "{read:?}");

    let midnight = "time,hour,value\n2024-03-15T00:00Z,1,1\n2024-03-15T00:00Z,2,2\n";
    sums("a.csv", midnight, &[]).refused(1, &["a column of whole times", "--ignore-columns hour"]);
    let local = midnight.replace('Z', "");
    sums("a.csv", &local, &["--timezone", "Asia/Tokyo"]).refused(1, &["a column of whole times"]);
    let times = midnight.replacen("00:00Z", "01:00Z", 1);
    sums("a.csv", &times, &["--quiet"]).well();
}

/// Two digits of a year may be those of a day.
#[test]
fn years_of_two_digits_are_a_choice() {
    for between in ['-', '/', '.'] {
        let text = format!("time,value\n24{between}06{between}05 10:00,1\n");
        let format = format!("%y{between}%m{between}%d %H:%M");
        let other = format!("%d{between}%m{between}%y %H:%M");
        let refused = sums("a.csv", &text, &[]);
        refused.refused(
            1,
            &[
                &format,
                &other,
                "if it is 2024-06-05",
                "if it is 2005-06-24",
            ],
        );
        let read = sums("a.csv", &text, &["--time-format", &format]);
        assert!(read.out.contains("sum,2024-06-05"), "{read:?}");
    }
}

/// Abbreviations of a zone outside of the months in which it has that offset.
#[test]
fn abbreviations_of_zones_keep_their_offset() {
    for (time, zone, utc) in [
        ("2024-07-01 10:00 EST", "Etc/GMT+5", "15:00"),
        ("2024-01-01 10:00 PDT", "Etc/GMT+7", "17:00"),
        ("2024-07-01 10:00 CET", "Etc/GMT-1", "09:00"),
        ("2024-01-01 10:00 EST", "America/New_York", "15:00"),
        ("2024-07-01 10:00 EDT", "America/New_York", "14:00"),
        ("2024-07-01 10:00 JST", "Asia/Tokyo", "01:00"),
    ] {
        let text = format!("time,value\n{time},1\n");
        let format = format!("%Y-%m-%d %H:%M {}", &time[17..]);
        let refused = sums("a.csv", &text, &[]);
        refused.refused(1, &[&format, zone]);
        let other = refused.err.contains("has another offset");
        assert_eq!(other, zone.starts_with("Etc"), "{refused:?}");
        let options = ["--time-format", &format, "--timezone", zone, "--start"];
        let start = format!("{}T{utc}Z", &time[..10]);
        let end = format!("{}T{utc}:01Z", &time[..10]);
        let read = sums(
            "a.csv",
            &text,
            &[&options[..], &[&start, "--end", &end]].concat(),
        );
        read.well();
        assert!(read.out.contains("sum,"), "{time}: {read:?}");
    }
}

#[test]
fn other_formats_are_named_with_what_to_do() {
    for (text, remedy) in [
        (
            "[{\"time\": \"2024-03-15\", \"value\": 1}]",
            "JSON; write the rows as CSV",
        ),
        (
            "{\"time\":\"2024-03-15\",\"value\":1}\n",
            "JSON; write the rows as CSV",
        ),
        ("PK\u{3}\u{4}[Content_Types].xml", "save the sheet as CSV"),
        ("time,value\r2024-03-15,1\r", "write line ends of LF"),
        (
            "Station: 5\ntime,value\n2024-03-15,1\n",
            "lines before the header begin with #",
        ),
        ("time,value\n2024-03,1\n", "write 2024-03-01"),
    ] {
        sums("a.csv", text, &[]).refused(1, &[remedy]);
    }
}
