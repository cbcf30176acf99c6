//! Files whose contents may mean something else than they seem to: refused, or noted.

use super::super::support::TestFolder;
use super::{resample, rows};
use std::io::Write as _;

/// Resamples `text` to the counts of days.
fn counted(text: &str, options: &[&str]) -> super::Output {
    let dir = TestFolder::new();
    std::fs::write(dir.path("a.csv"), text).unwrap();
    let fixed = ["a.csv", "-o", "-", "-a", "count", "-g", "1d"];
    resample(&dir, &[&fixed, options].concat())
}

#[test]
fn numbers_that_may_be_dates_need_a_unit() {
    for (text, like) in [
        (
            "date,value\n20240101,1\n20240102,2\n",
            "'20240101', which looks like a date (write 2024-01-01)",
        ),
        (
            "date,value\n2001,1\n2002,2\n",
            "'2001', which looks like a year (write 2001-01-01)",
        ),
        (
            "date,value\n202401011230,1\n",
            "a date and a time (write 2024-01-01T12:30)",
        ),
        ("timestamp,value\n45292.5,1\n", "'45292.5', which may be"),
        ("t,value\n2460310.5,1\n", "'2460310.5', which may be"),
        ("t,value\n60310.5,1\n", "'60310.5', which may be"),
        ("0,1\n60,2\n", "'0', which may be"),
    ] {
        let refused = counted(text, &[]);
        refused.refused(1, &["a.csv: line ", "1970 from 1990 to ", like]);
        assert_eq!(refused.out, "");
        // With a unit, everything is taken as it is said.
        let stated = counted(text, &["--time-unit", "s", "--quiet"]);
        if !text.contains("202401011230") {
            stated.well();
        }
    }
    counted("timestamp_s,value\n0,1\n60,2\n", &["--quiet"]).well();
    counted("timestamp,value\n631152000,1\n", &["--quiet"]).well();
    // A later row may be one, too.
    counted("t,v\n1392388200,1\n20240101,2\n", &[]).refused(1, &["line 3", "a date"]);
}

#[test]
fn text_after_a_closing_quote_is_a_malformed_row() {
    let text = "timestamp_s,value\n0,\"1\"2\n60,\"3\"\n";
    counted(text, &[]).refused(1, &["a.csv: line 2: ", "closing quote", "text after it"]);
    let skipped = counted(text, &["--on-error", "skip"]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    assert_eq!(rows(&skipped.out)[0].value, 1.0);
    counted("\"timestamp\"x,value\n0,1\n", &[]).refused(1, &["first line", "closing quote"]);
}

#[test]
fn a_time_is_no_name_of_a_series() {
    for text in [
        "2024-01-01T00:00:00Z,1,5\n2024-01-01T00:00:30Z,2,5\n",
        "1700000000,1,5\n1700000060,2,5\n",
    ] {
        for unit in ["auto", "s"] {
            counted(text, &["--time-unit", unit])
                .refused(1, &["a.csv", "first field is a time", "decimal point"]);
        }
        let columns = ["--time-column", "1", "--value-column", "2", "--quiet"];
        counted(text, &columns).well();
    }
    counted("1700000000,1700000060,5\n", &["--quiet"]).well();
}

#[test]
fn a_number_of_the_row_is_no_name_of_a_series() {
    let text = "id,timestamp,value\n1,1700000000,1\n2,1700000010,3\n3,1700000020,5\n";
    counted(text, &[]).refused(1, &["a.csv", "counts the rows", "--ignore-columns"]);
    let ignored = counted(text, &["--ignore-columns", "id", "--quiet"]);
    ignored.well();
    assert_eq!(rows(&ignored.out)[0].value, 3.0);
    let named = counted(text, &["--series-columns", "id", "--quiet"]);
    named.well();
    assert_eq!(rows(&named.out).len(), 3);
    // One point of each of several series, at one moment; and names that occur again.
    counted(
        &text.replace("10,", "00,").replace("20,", "00,"),
        &["--quiet"],
    )
    .well();
    counted(&format!("{text}1,1700000030,1\n"), &["--quiet"]).well();
    // A long file is refused before its end.
    let long: String = (0..5000)
        .map(|n| format!("{n},{},1\n", 1_700_000_000 + n))
        .collect();
    counted(&format!("id,timestamp,value\n{long}"), &[]).refused(1, &["counts the rows"]);
}

#[test]
fn a_number_of_the_row_may_count_downwards_or_leave_out_numbers() {
    let table = |numbers: &[u64]| {
        let rows = numbers.iter().enumerate();
        let rows: String = rows
            .map(|(row, id)| format!("{id},17000000{row}0,1\n"))
            .collect();
        format!("id,timestamp,value\n{rows}")
    };
    for numbers in [&[4, 3, 2, 1][..], &[0, 2, 4, 6], &[10, 5, 0]] {
        let refused = counted(&table(numbers), &[]);
        refused.refused(1, &["counts the rows", "--ignore-columns"]);
    }
    let note = "whole numbers of which none occurs twice";
    let noted = counted(&table(&[7, 9, 15, 4]), &[]);
    assert!(
        noted.code == Some(0) && noted.err.contains(note),
        "{noted:?}"
    );
    // Sensors that occur again, whatever their order, and a choice that was made.
    for numbers in [&[7, 9, 15, 7][..], &[1, 3, 1, 3], &[5, 5, 5]] {
        let read = counted(&table(numbers), &[]);
        assert!(read.code == Some(0) && !read.err.contains(note), "{read:?}");
    }
    let named = counted(&table(&[7, 9, 15]), &["--series-column", "id"]);
    assert!(!named.err.contains(note), "{named:?}");
}

/// An empty field of annotated CSV has the value of the annotation `#default`.
#[test]
fn defaults_of_annotated_tables_are_used() {
    let text = "#datatype,string,long,dateTime:RFC3339,double,string,string\n#group,false,false,false,false,true,true\n#default,_result,,,,web,\n,result,table,_time,_value,host,cpu\n,,0,2024-01-01T00:00:00Z,1,,a\n,,0,2024-01-01T00:00:10Z,2,db,\n";
    let read = counted(text, &["--quiet"]);
    read.well();
    for series in ["host=web,cpu=a", "host=db,cpu="] {
        assert!(read.out.contains(&format!("\"{series}\"")), "{read:?}");
    }
}

/// Each row with a label; the first is a number.
#[test]
fn a_text_in_a_later_row_tells_series_apart() {
    let text = "time,value,host\n2024-01-01,1,1\n2024-01-01,1000,web\n2024-01-01,7,db\n";
    counted(text, &[]).refused(1, &["a.csv", "text column host", "--series-columns"]);
    let hosts = counted(text, &["--series-columns", "host", "--quiet"]);
    hosts.well();
    assert_eq!(rows(&hosts.out).len(), 3);
}

#[test]
fn a_unit_that_has_no_effect_is_noted() {
    let text = "time,value\n2024-01-01,1\n";
    let result = counted(text, &["--time-unit", "us"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result.err.contains("note: a.csv: ") && result.err.contains("--time-unit has no effect"),
        "{result:?}"
    );
    counted("time,value\n5,1\n", &["--time-unit", "us", "--quiet"]).well();
}

#[test]
fn aggregates_beyond_the_largest_double_are_noted() {
    let big = "timestamp_s,value\n0,1e308\n1,1e308\n2,1e308\n";
    let dir = TestFolder::new();
    std::fs::write(dir.path("big.csv"), big).unwrap();
    let options = ["big.csv", "-o", "-", "-a", "sum,max,mean", "-g", "1d"];
    let result = resample(&dir, &options);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(
        result
            .err
            .contains("note: 2 aggregates of finite values exceed 1.8e308"),
        "{result:?}"
    );
    // Infinities of the input are no overflow.
    std::fs::write(dir.path("big.csv"), "timestamp_s,value\n0,inf\n1,1\n").unwrap();
    resample(&dir, &options).well();
}

/// An axis of values near the largest double.
#[test]
fn plots_of_the_largest_numbers_have_an_axis() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("big.csv"), "timestamp_s,value\n0,1e308\n1,1e308\n").unwrap();
    let run = |name: &str| {
        let options = ["big.csv", "-o", "o.csv", "-a", "max", "-g", "1s", "--quiet"];
        resample(&dir, &[&options[..], &["--plot", name]].concat()).well();
        super::super::support::read_png(&dir.path(name))
    };
    let big = run("big.png");
    std::fs::write(dir.path("big.csv"), "timestamp_s,value\n0,1e300\n1,1e300\n").unwrap();
    let small = run("small.png");
    // Both curves are in the middle; only the labels differ, left of the curve.
    let dark = |png: &super::super::support::Png| {
        let row = png.width as usize * png.samples;
        let rows = png.bytes.chunks(row).enumerate();
        let coloured = rows.filter(|(_, row)| {
            let pixels = row.chunks(png.samples).skip(png.width as usize / 4);
            pixels.filter(|p| p[0] < 40 && p[2] > 120).count() > 300
        });
        coloured.map(|(y, _)| y).collect::<Vec<_>>()
    };
    let middle = |png| dark(png)[0];
    assert!(middle(&big).abs_diff(middle(&small)) <= 2);
}

/// Names of a megabyte, each of which takes a thousand bytes of the compressed file.
#[cfg(target_os = "linux")]
#[test]
fn long_names_of_a_small_file_do_not_take_gigabytes() {
    let dir = TestFolder::new();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"series,timestamp,value\n").unwrap();
    let long = "n".repeat(1_000_000);
    for number in 0..100 {
        writeln!(gz, "{number}{long},1700000000,1").unwrap();
    }
    std::fs::write(dir.path("a.csv.gz"), gz.finish().unwrap()).unwrap();
    let fixed = [
        "series",
        "resample",
        "--backend",
        "cpu",
        "a.csv.gz",
        "-o",
        "o.csv",
    ];
    let (output, peak) = dir.run_watched(&fixed);
    output.refused(1, &["a.csv.gz: line 2", "at most 65536 bytes"]);
    assert!(peak < 300 << 10, "{peak} KiB");
    // Names that are long enough count as memory.
    let mut text = String::from("series,timestamp,value\n");
    let long = "n".repeat(60_000);
    for number in 0..400 {
        text += &format!("{number}{long},1700000000,1\n");
    }
    std::fs::write(dir.path("a.csv"), text).unwrap();
    let options = ["a.csv", "-o", "o.csv", "--memory", "64M"];
    resample(&dir, &options).refused(1, &["a.csv", "names of series"]);
}
