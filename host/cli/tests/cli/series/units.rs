//! Assumed units of timestamps, comments, dates apart from times, and decimal commas.

use super::super::support::TestFolder;
use super::{resample, rows};

/// Resamples a text to daily sums on standard output.
pub(super) fn sums(name: &str, text: &str, options: &[&str]) -> super::Output {
    let dir = TestFolder::new();
    std::fs::write(dir.path(name), text).unwrap();
    let fixed = [
        name,
        "-o",
        "-",
        "-a",
        "sum",
        "-g",
        "1d",
        "--timestamps",
        "iso",
    ];
    resample(&dir, &[&fixed, options].concat())
}

/// The only row of a text that is read without notes.
#[track_caller]
fn sum(name: &str, text: &str, options: &[&str]) -> (String, f64) {
    let result = sums(name, text, options);
    result.well();
    let rows = rows(&result.out);
    assert_eq!(rows.len(), 1, "{name}: {rows:?}");
    (rows[0].time.clone(), rows[0].value)
}

const DAY: &str = "2025-02-10T00:00:00Z";

#[test]
fn a_unit_that_contradicts_the_numbers_is_refused_in_any_text() {
    for (name, text, parts) in [
        (
            "a.csv",
            "timestamp_ms,value\n1739184970,1\n",
            ["--time-unit s gives the year 2025"; 1],
        ),
        (
            "a.csv",
            "time_s,value\n1739184970553,1\n",
            ["--time-unit ms gives the year 2025"],
        ),
        (
            "a.csv",
            "time,value\n3850000000,1\n",
            ["--time-unit s gives the year 2092"],
        ),
        (
            "a.csv",
            "time,value\n300000000000,1\n",
            ["--time-unit ms gives the year 1979"],
        ),
        (
            "a.csv",
            "time,value\n638748169700000000,1\n",
            [".NET ticks"],
        ),
        ("a.csv", "time,value\n1.73918e+09,1\n", ["all digits"]),
        (
            "a.prom",
            "a 1 1739184970553000\n",
            ["--time-unit us gives the year 2025"],
        ),
        ("a.prom", "a 1 1739184970553\na 2 1739184971\n", ["line 2"]),
        (
            "a.prom",
            "a 1 100000\na 2 1739184971\n",
            ["as in this format"],
        ),
        (
            "a.csv",
            "time_ms,value\n1739184970553,1\n1739184970,2\n",
            ["--time-unit ms keeps to it"],
        ),
        (
            "a.csv",
            "time,value\n100,1\n",
            ["no unit gives a likely time; --time-unit s"],
        ),
        (
            "a.csv",
            "time,value\n20240101120000,1\n",
            ["use --time-format '%Y%m%d%H%M%S'"],
        ),
    ] {
        sums(name, text, &[]).refused(1, &[&[name][..], &parts].concat());
    }
    // What an option says is done.
    let text = "timestamp_ms,value\n1739184970,1\n";
    let (time, _) = sum("a.csv", text, &["--time-unit", "ms"]);
    assert_eq!(time, "1970-01-21T00:00:00Z");
    assert_eq!(
        sum("a.csv", text, &["--time-unit", "s"]),
        (DAY.to_owned(), 1.0)
    );
}

#[test]
fn units_of_prometheus_and_openmetrics_differ() {
    for text in [
        "a 1 1739184970553\na 2 1739185000553\n",
        "a 1 1739184970.553\na 2 1739185000.553\n",
        "# TYPE a unknown\na 1 1739184970\na 2 1739185000\n# EOF\n",
        "# UNIT a seconds\na 1 1739184970.5 # {trace_id=\"x\"} 0.067 1520879607.789\na 2 1739185000.5\n",
    ] {
        assert_eq!(sum("a.prom", text, &[]), (DAY.to_owned(), 3.0), "{text}");
    }
    for text in [
        "a 1 100.5\na 2 101.5\n# EOF\n",
        "a 1 100.5\n",
        "a 1 100\n# EOF\n",
    ] {
        let result = sums("a.prom", text, &[]);
        assert!(
            result.err.contains("read as seconds since 1970"),
            "{text}: {result:?}"
        );
    }
    let result = sums("a.prom", "a 1 1739184970\n", &[]);
    assert_eq!(rows(&result.out)[0].time, DAY);
    assert!(
        result.err.contains("seconds since 1970, as in OpenMetrics"),
        "{result:?}"
    );
}

#[test]
fn times_that_are_unlikely_in_every_unit_are_noted() {
    for (name, text) in [
        ("a.prom", "a 1 100000\n"),
        ("a.prom", "a 1 0\n"),
        ("a.prom", "a 1 2500000000\n"),
        ("a.prom", "a 1 1739184970553\na 2 86400000\n"),
        ("a.csv", "time_ms,value\n100000,1\n"),
        ("a.csv", "timestamp_s,value\n45292,1\n45293,2\n"),
        ("a.csv", "time_ms,value\n0,1\n1739184970,2\n1739184980,2\n"),
        ("a.csv", "time_ms,value\n1739184970553,1\n100000,2\n"),
        (
            "a.csv",
            "time_ms,value\n5,1\n1739184970553,2\n1739184980553,3\n",
        ),
        (
            "a.csv",
            "time_ms,value\n100000,1\n200000,2\n1739184970553,3\n",
        ),
        ("a.csv", "time_ms,value\n5,1\n1739184970,2\n1739184980,3\n"),
        ("a.csv", "time_ms,value\n5,1\n1739184970,2\n"),
        ("a.csv", "time_s,value\n100,1\n1739184970,2\n"),
        ("a.csv", "time_us,value\n7,1\n1739184970553000,2\n"),
    ] {
        let result = sums(name, text, &[]);
        assert_eq!(result.code, Some(0), "{text}: {result:?}");
        for part in ["not all from 1990 to", "seconds since 1970", "--time-unit"] {
            assert!(result.err.contains(part), "{text}: {result:?}");
        }
    }
    let wide = "time_ms,a,b\n5,1,2\n1739184970553,2,3\n";
    let result = sums("a.csv", wide, &["--wide"]);
    assert!(result.err.contains("not all from 1990 to"), "{result:?}");
    sums("a.prom", "a 1 100000\n", &["--time-unit", "ms"]).well();
    // The ending of a column's name that an option names.
    let elapsed = "elapsed_ms,value\n0,1\n86400000,2\n";
    let result = sums("a.csv", elapsed, &["--time-column", "elapsed_ms"]);
    result.well();
    assert_eq!(rows(&result.out)[1].time, "1970-01-02T00:00:00Z");
    let elapsed = "elapsed,value\n0,1\n100,2\n";
    let result = sums("a.csv", elapsed, &["--time-column", "elapsed"]);
    result.refused(1, &["line 2", "--time-unit s|ms|us|ns"]);
    // Times since the start of a measurement are as the name of the column says.
    for text in [
        "time_ms,value\n0,1\n100000,2\n",
        "timestamp_ns,value\n0,1\n1500000000,2\n3000000000,2\n",
        "time_s,value\n0.5,1\n1.0,2\n1.5,3\n",
    ] {
        sums("a.csv", text, &[]).well();
    }
}

#[test]
fn comments_are_no_rows() {
    for text in [
        "# time,value\n2025-02-10,1\n2025-02-10T01:00,2\n",
        "#one\n#two\n\ntime,value\n2025-02-10,1\n#2025-02-10,5\n2025-02-10T01:00,2\n",
    ] {
        let result = sums("a.csv", text, &["--quiet"]);
        result.well();
        assert_eq!(rows(&result.out)[0].value, 3.0, "{text}");
    }
    // Without a comment above the header, a name may begin with the sign.
    let text = "series,time,value\n#a,2025-02-10,1\nb,2025-02-10,2\n";
    let result = sums("a.csv", text, &[]);
    result.well();
    assert_eq!(rows(&result.out)[0].series, "#a");
    let text = "time,value\n2025-02-10,1\n# end\n";
    let result = sums("a.csv", text, &[]);
    assert!(
        result.err.contains("1 line between the rows begins with #"),
        "{result:?}"
    );
    sums("a.csv", "# nothing\n", &[]).refused(1, &["comments alone"]);
}

#[test]
fn dates_and_times_of_day_are_joined() {
    let text = "Date,Time,host,value\n10.02.2025,10:00,a,1\n10.02.2025,11:30,a,2\n";
    let host = ["--series-columns", "host"];
    sums("a.csv", text, &host).refused(1, &["--time-format '%d.%m.%Y %H:%M'"]);
    let format = [&host[..], &["--time-format", "%d.%m.%Y %H:%M"]].concat();
    assert_eq!(sum("a.csv", text, &format), (DAY.to_owned(), 3.0));
    let text = "day;clock;v\n2025-02-10;10:00;1,5\n2025-02-10;11:00;2\n";
    let columns = ["--date-column", "day", "--time-column", "clock"];
    sums("a.csv", text, &columns).refused(1, &["line 2", "'1,5'", "--decimal-comma"]);
    let commas = [&columns[..], &["--decimal-comma"]].concat();
    assert_eq!(sum("a.csv", text, &commas), (DAY.to_owned(), 3.5));
    let text = "2025-02-10,10:00:00,1\n2025-02-10,11:00:00,2\n";
    let columns = [
        "--date-column",
        "1",
        "--time-column",
        "2",
        "--value-column",
        "3",
    ];
    let result = sums("a.csv", text, &columns);
    assert_eq!(rows(&result.out)[0].value, 3.0, "{result:?}");
    // In a wide table.
    let text = "date,time,a,b\n2025-02-10,10:00,1,5\n2025-02-10,11:00,2,\n";
    sums("a.csv", text, &[]).refused(1, &["--value-column", "--wide reads every column"]);
    let days = text.replace("date,time", "day,clock");
    let columns = ["--date-column", "day", "--time-column", "clock", "--wide"];
    let (_, numbered) = text.split_once('\n').unwrap();
    let by_number = [
        "--date-column",
        "1",
        "--time-column",
        "2",
        "--wide",
        "--quiet",
    ];
    for (text, options) in [
        (text, &["--wide"][..]),
        (&days, &columns),
        (numbered, &by_number),
        (&text.replace("11:00", "\"11:00\""), &["--wide"]),
    ] {
        let result = sums("a.csv", text, options);
        assert_eq!(result.code, Some(0), "{result:?}");
        let found: Vec<_> = rows(&result.out)
            .iter()
            .map(|row| (row.time.clone(), row.value))
            .collect();
        assert_eq!(
            found,
            [(DAY.to_owned(), 3.0), (DAY.to_owned(), 5.0)],
            "{text}"
        );
    }
    // The refusal names both options.
    for date in ["2025-02-10", "10.02.2025"] {
        let text = format!("day,time,value\n{date},10:00,1\n");
        let both = ["--date-column day --time-column time"];
        sums("a.csv", &text, &[]).refused(1, &both);
    }
    let text = "my day,time,value\n2025-02-10,10:00,1\n";
    sums("a.csv", text, &[]).refused(1, &["--date-column 'my day' --time-column time"]);
    let whole = "day,time,value\n10.02.2025,10:00 10.02.2025,3\n";
    let format = ["--time-format", "%H:%M %d.%m.%Y", "--ignore-columns", "day"];
    assert_eq!(sum("a.csv", whole, &format), (DAY.to_owned(), 3.0));
    // A date beside a whole time is not used.
    let text = "date,time,value\n2025-02-10,2025-02-10T10:00:00Z,3\n";
    let result = sums("a.csv", text, &[]);
    assert!(result.err.contains("unused columns: date"), "{result:?}");
    // The column of times of day is found.
    for text in [
        "day,at,value\n2025-02-10,10:00,3\n",
        "at,day,value\n10:00,2025-02-10,3\n",
    ] {
        let date = ["--date-column", "day"];
        assert_eq!(sum("a.csv", text, &date), (DAY.to_owned(), 3.0), "{text}");
    }
    let none = "day,at,value\n2025-02-10,morning,3\n";
    sums("a.csv", none, &["--date-column", "day"]).refused(1, &["--time-column"]);
    sums("a.prom", "a 1 1\n", &["--decimal-comma"]).refused(1, &["--decimal-comma"]);
    let point = "time;v\n2025-02-10;1.234\n";
    sums("a.csv", point, &["--decimal-comma"]).refused(
        1,
        &[
            "'1.234', which has a point",
            "21,5",
            "leave --decimal-comma out",
        ],
    );
}

#[test]
fn fields_may_be_separated_by_bars_or_as_a_line_says() {
    for text in [
        "time|value\n2025-02-10|3\n",
        "sep=;\r\ntime;value\r\n2025-02-10;3\r\n",
        "\u{feff}sep=,\ntime,value\n2025-02-10,3\n",
    ] {
        assert_eq!(sum("a.csv", text, &[]), (DAY.to_owned(), 3.0), "{text}");
    }
}
