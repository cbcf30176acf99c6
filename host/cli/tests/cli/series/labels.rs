//! Series told apart by several columns of labels.

use super::super::support::TestFolder;
use super::resample;
use std::fmt::Write as _;

const HOSTS: [&str; 3] = ["a", "b", "web 1, rack=2"];
const REGIONS: [&str; 2] = ["eu", "us\\east"];

/// The same points twice: with columns of labels, and with names written out.
fn write_both(dir: &TestFolder) {
    let mut labels = String::from("time_s,host,region,value,load\n");
    let mut names = String::from("series,time_s,value\n");
    for second in 0..300_i64 {
        for (h, host) in HOSTS.iter().enumerate() {
            for (r, region) in REGIONS.iter().enumerate() {
                let value = second + 1000 * h as i64 + 10_000 * r as i64;
                let escaped = |text: &str| {
                    let text = text.replace('\\', "\\\\").replace(',', "\\,");
                    text.replace('=', "\\=")
                };
                let name = format!("host={},region={}", escaped(host), escaped(region));
                let quoted = match host.contains(',') {
                    true => format!("\"{host}\""),
                    false => (*host).to_owned(),
                };
                writeln!(labels, "{second}, {quoted},{region},{value},0.5").unwrap();
                writeln!(names, "\"{name}\",{second},{value}").unwrap();
            }
        }
    }
    // A blank before a quote makes it an ordinary character.
    let labels = labels.replace(", \"", ",\"");
    std::fs::write(dir.path("labels.csv"), labels).unwrap();
    std::fs::write(dir.path("names.csv"), names).unwrap();
}

#[test]
fn each_combination_of_labels_is_a_series() {
    let dir = TestFolder::new();
    write_both(&dir);
    let aggregates = ["-a", "count,mean,first,last", "--quiet"];
    let run = |options: &[&str]| resample(&dir, &[options, &aggregates].concat()).well();
    run(&["names.csv", "-o", "names.out.csv"]);
    let columns = ["--series-columns", "host,region"];
    run(&[&["labels.csv", "-o", "labels.out.csv"], &columns[..]].concat());
    let read = |name: &str| std::fs::read_to_string(dir.path(name)).unwrap();
    let expected = read("names.out.csv");
    assert_eq!(expected.lines().count(), 1 + 6 * 5 * 4);
    assert!(
        expected.contains("\"host=a,region=eu\",60,count,0,60"),
        "{expected}"
    );
    assert_eq!(read("labels.out.csv"), expected);
    // In little memory, most points go through temporary files.
    let little = ["--memory", "9M", "--threads", "1"];
    run(&[&["labels.csv", "-o", "little.csv"], &columns[..], &little].concat());
    assert_eq!(read("little.csv"), expected);
    // The order of the columns is that of the option.
    run(&[
        "labels.csv",
        "-o",
        "r.csv",
        "--series-columns",
        "region,host",
    ]);
    assert!(read("r.csv").contains("\"region=eu,host=a\",60,count,0,60"));
}

/// Labels as columns of the output, which is read again with the same series.
#[test]
fn labels_are_columns_of_the_output() {
    let dir = TestFolder::new();
    write_both(&dir);
    let run = |options: &[&str]| resample(&dir, &[options, &["--quiet"]].concat()).well();
    let labels = ["labels.csv", "--series-columns", "host,region", "-g", "1h"];
    run(&[&labels[..], &["-o", "names.csv"]].concat());
    let read = |name: &str| std::fs::read_to_string(dir.path(name)).unwrap();
    for output in ["columns.csv", "columns.parquet"] {
        run(&[&labels[..], &["-o", output, "--label-columns"]].concat());
        run(&[
            output,
            "-o",
            "again.csv",
            "--series-columns",
            "host,region",
            "--ignore-columns",
            "granularity_s,aggregate",
            "-g",
            "1h",
        ]);
        assert_eq!(read("again.csv"), read("names.csv"), "{output}");
    }
    let text = read("columns.csv");
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("host,region,granularity_s,aggregate,timestamp_ns,value")
    );
    assert_eq!(lines.next(), Some("a,eu,3600,mean,0,149.5"));
    assert!(
        text.contains("\n\"web 1, rack=2\",us\\east,3600,mean,0,"),
        "{text}"
    );
    let taken = [
        "labels.csv",
        "--series-columns",
        "host,region,value",
        "--value-column",
        "load",
    ];
    resample(
        &dir,
        &[&taken[..], &["-o", "o.csv", "--label-columns"]].concat(),
    )
    .refused(1, &["--label-columns", "the label 'value'"]);
}

/// The same points as a wide table.
#[test]
fn wide_tables_have_the_results_of_long_ones() {
    let dir = TestFolder::new();
    let (mut wide, mut long) = (
        String::from("time_s,a,b\n"),
        String::from("series,time_s,value\n"),
    );
    for second in 0..300 {
        let b = if second % 7 == 3 {
            String::new()
        } else {
            (second * second % 97).to_string()
        };
        writeln!(wide, "{second},{second}.5,{b}").unwrap();
        writeln!(long, "a,{second},{second}.5\nb,{second},{b}").unwrap();
    }
    std::fs::write(dir.path("wide.csv"), wide).unwrap();
    std::fs::write(dir.path("long.csv"), long).unwrap();
    let options = ["-a", "all", "-g", "60s,1h"];
    let cells = "43 cells without a value";
    for (input, output, option) in [
        ("long.csv", "a.csv", None),
        ("wide.csv", "b.csv", Some("--wide")),
    ] {
        let all = [&[input, "-o", output], option.as_slice(), &options].concat();
        let printed = resample(&dir, &all);
        assert!(
            printed.code == Some(0) && printed.err.contains(cells),
            "{printed:?}"
        );
    }
    let read = |name: &str| std::fs::read_to_string(dir.path(name)).unwrap();
    assert_eq!(read("a.csv"), read("b.csv"));
    assert!(read("a.csv").lines().count() > 100);
    let both = ["wide.csv", "-o", "c.csv", "--wide", "--value-column", "a"];
    resample(&dir, &both).refused(2, &["--wide", "--value-column"]);
}

#[test]
fn texts_in_columns_without_an_option_are_an_error() {
    let dir = TestFolder::new();
    write_both(&dir);
    let all = ["labels.csv", "--series-columns", "--ignore-columns"];
    resample(&dir, &["labels.csv", "-o", "o.csv"])
        .refused(1, &[&all[..], &["text columns host, region"]].concat());
    for options in [
        ["--series-columns", "host"],
        ["--series-column", "host"],
        ["--ignore-columns", "host"],
    ] {
        let options = [&["labels.csv", "-o", "o.csv"], &options[..]].concat();
        resample(&dir, &options).refused(1, &[&all[..], &["text column region here"]].concat());
    }
    assert!(!dir.path("o.csv").exists());
    // A text in any row; empty fields, and what stands for a missing number, are none.
    let text = "time_s,a,b,value\n0,,n/a,1\n1,,3,2\n2,x,y,3\n";
    std::fs::write(dir.path("late.csv"), text).unwrap();
    resample(&dir, &["late.csv", "-o", "o.csv"])
        .refused(1, &["late.csv", "text columns a, b here"]);
    resample(&dir, &["late.csv", "-o", "o.csv", "--ignore-columns", "a"])
        .refused(1, &["late.csv", "text column b here"]);
    resample(
        &dir,
        &[
            "late.csv",
            "-o",
            "o.csv",
            "--ignore-columns",
            "a,b",
            "--quiet",
        ],
    )
    .well();
    // Without a header, columns are numbers.
    std::fs::write(dir.path("bare.csv"), "x,0,1\ny,0,2\n").unwrap();
    let by_number = [
        "bare.csv",
        "--time-unit",
        "s",
        "-o",
        "o.csv",
        "--time-column",
        "2",
        "--value-column",
        "3",
    ];
    resample(&dir, &by_number).refused(1, &["bare.csv", "text column 1 here"]);
    resample(
        &dir,
        &[&by_number[..], &["--series-columns", "1", "--quiet"]].concat(),
    )
    .well();
    let read = std::fs::read_to_string(dir.path("o.csv")).unwrap();
    assert!(
        read.contains("\n1=x,60,mean,0,1") && read.contains("\n1=y,60,mean,0,2"),
        "{read}"
    );
}

#[test]
fn label_columns_are_checked() {
    let dir = TestFolder::new();
    write_both(&dir);
    let run =
        |options: &[&str]| resample(&dir, &[&["labels.csv", "-o", "o.csv"], options].concat());
    run(&["--series-columns", "host,zone"])
        .refused(1, &["labels.csv", "--series-columns", "'zone'"]);
    run(&["--series-columns", "host,host"]).refused(1, &["--series-columns", "named twice"]);
    run(&["--series-columns", "host,"]).refused(2, &["--series-columns", "empty"]);
    let both = ["--series-columns", "host", "--series-column", "region"];
    run(&both).refused(2, &["--series-columns", "--series-column"]);
    run(&[
        "--series-columns",
        "host",
        "--ignore-columns",
        "host,region",
    ])
    .refused(1, &["--ignore-columns", "named twice"]);
}

#[cfg(feature = "store")]
#[test]
fn a_store_keeps_series_by_their_labels() {
    let dir = TestFolder::new();
    write_both(&dir);
    let ingest = [
        "series",
        "ingest",
        "m.store",
        "labels.csv",
        "--policy",
        "low",
        "--quiet",
    ];
    let refused = dir.run(&ingest);
    refused.refused(
        1,
        &[
            "labels.csv",
            "text columns host, region",
            "--series-columns",
        ],
    );
    dir.run(&[&ingest[..], &["--series-columns", "host,region"]].concat())
        .well();
    let query = [
        "-g",
        "5m",
        "-a",
        "count",
        "--json",
        "-s",
        "host=b,region=eu",
    ];
    let found = dir.run(&[&["series", "query", "m.store"], &query[..]].concat());
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("300"), "{found:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn outputs_with_labels_are_read_again() {
    let dir = TestFolder::new();
    write_both(&dir);
    let columns = ["--series-columns", "host,region", "--quiet"];
    for name in ["o.parquet", "o.csv"] {
        resample(
            &dir,
            &[&["labels.csv", "-o", name, "-a", "mean,max"], &columns[..]].concat(),
        )
        .well();
        // The aggregate is a label of the output.
        resample(&dir, &[name, "-o", "again.csv"]).refused(1, &[name, "aggregate here"]);
        let columns = [
            "--series-columns",
            "series,granularity_s,aggregate",
            "--quiet",
        ];
        resample(
            &dir,
            &[
                &[name, "-o", "again.csv", "-g", "1h", "-a", "count"],
                &columns[..],
            ]
            .concat(),
        )
        .well();
        let text = std::fs::read_to_string(dir.path("again.csv")).unwrap();
        assert_eq!(text.lines().count(), 1 + 6 * 2, "{text}");
        assert!(
            text.contains(
                "\"series=host\\=a\\,region\\=eu,granularity_s=60,aggregate=max\",3600,count,0,5"
            ),
            "{text}"
        );
    }
}
