//! CSV files.

use super::*;
use crate::io::TimeUnit;
use std::io::Write;

fn same(text: &str, expected: &[Series]) {
    let read = read_text(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(points(&read), expected, "{text}");
}

#[test]
fn layouts_of_the_same_points() {
    let one = [series("cpu", &[(0, 3.5), (10, -2.0)])];
    for text in [
        "timestamp,value\n2014-02-14 14:30:00,3.5\n2014-02-14 14:30:10,-2\n",
        "2014-02-14 14:30:00,3.5\n2014-02-14 14:30:10,-2\n",
        "timestamp,value\r\n2014-02-14T14:30:00Z,3.5\r\n2014-02-14T14:30:10Z,-2.0",
        "\u{feff}timestamp,value\n2014-02-14T15:30:00+01:00,3.5\n2014-02-14T15:30:10+01:00,-2e0\n",
        "value;time\n3.5;1392388200\n-2;1392388210\n",
        "t\tv\n1392388200000\t3.5\n1392388210000\t-2\n",
        "\"timestamp\",\"value\"\n\"2014-02-14 14:30:00\",\"3.5\"\n2014-02-14 14:30:10,\"-2\"\n",
        "timestamp, value\n2014-02-14 14:30:00, 3.5\n 2014-02-14 14:30:10 ,-2 \n",
        "\n\ntime,temperature\n\n1392388200.0,3.5\n\n1392388210.0,-2\n\n",
        "timestamp_us,value\n1392388200000000,3.5\n1392388210000000,-2\n",
        "load,timestamp,value\n1,1392388200,3.5\n,1392388210,-2\n",
    ] {
        same(text, &one);
    }
    let two = [
        series("a", &[(0, 1.0), (20, 3.0)]),
        series("b,\"c\"\nd", &[(10, 2.0)]),
    ];
    for text in [
        "series,timestamp,value\na,1392388200,1\n\"b,\"\"c\"\"\nd\",1392388210,2\na,1392388220,3\n",
        "a,1392388200,1\n\"b,\"\"c\"\"\nd\",1392388210,2\na,1392388220,3",
        "value;metric;time;load\n1;a;1392388200;7\n2;\"b,\"\"c\"\"\nd\";1392388210;7\n3;a;1392388220;\"\"\n",
    ] {
        same(text, &two);
    }
}

#[test]
fn files_without_a_header_need_column_numbers() {
    let options = ReadOptions {
        time_column: Some("2".into()),
        value_column: Some("3".into()),
        ignored_columns: vec!["4".into()],
        ..ReadOptions::default()
    };
    let read = read_bytes("cpu.csv", b"7,1392388200,1,x\n8,1392388201,2,y\n", &options).unwrap();
    assert_eq!(points(&read), [series("cpu", &[(0, 1.0), (1, 2.0)])]);
    let error = read_text("7,1392388200,1,x\n").unwrap_err();
    says(&error, &["7, 1392388200, 1, x", "by number"]);
}

#[test]
fn named_columns_units_and_unused_columns() {
    let options = ReadOptions {
        time_column: Some("when".into()),
        value_column: Some("load".into()),
        series_column: Some("host".into()),
        time_unit: TimeUnit::Milliseconds,
        ..ReadOptions::default()
    };
    let text = "host,when,load,disk\na,5000,1,9\na,6000,2,9\n";
    let read = read_bytes("x.csv", text.as_bytes(), &options).unwrap();
    assert_eq!(
        points(&read),
        [(
            "a".into(),
            vec![(5 * SECOND, 1_f64.to_bits()), (6 * SECOND, 2_f64.to_bits())]
        )]
    );
    assert_eq!(read.notes.len(), 1);
    says(&read.notes[0], &["x.csv", "disk"]);
}

/// Labels in rows with quotes, in rows without, and in malformed rows.
#[test]
fn label_columns_name_the_series() {
    let options = ReadOptions {
        series_columns: vec!["region".into(), "host".into()],
        ..skipping()
    };
    let text = b"host,timestamp,value,region\n a ,1392388200,1,eu\n\"a\",1392388201,2,\"eu\"\n\"a,b\",1392388202,3,\nb,x,4,eu\nb,1392388203\n\xff,1392388204,5,eu\nb,1392388205,6,\"e\"\"u\"";
    let read = read_bytes("x.csv", text, &options).unwrap();
    assert_eq!(
        points(&read),
        [
            series("region=eu,host=a", &[(0, 1.0), (1, 2.0)]),
            series("region=,host=a\\,b", &[(2, 3.0)]),
            series("region=e\"u,host=b", &[(5, 6.0)]),
        ]
    );
    assert_eq!(read.skipped.rows, 3);
    says(
        &read.skipped.first[2],
        &["line 7", "region=eu,host=", "UTF-8"],
    );
}

#[test]
fn a_single_text_makes_a_column_one_of_text() {
    for (rows, text) in [
        ("0,,1\n1,7,2\n2,x,3\n", true),
        ("0,,1\n1,7,2\n2,-8.5e3,3\n", false),
        ("0,-,1\n1,x,2\n2,7,3\n", true),
        ("0,\"\",1\n1,\"x\",2\n", true),
        ("0,2014-02-14T14:30:00Z,1\n", false),
        // A malformed row does not decide.
        ("0,1,x,2\n1,7,2\n", false),
        ("0,x\n1,7,2\n", false),
    ] {
        let text_of = format!("timestamp_s,host,value\n{rows}");
        let read = read_bytes("x.csv", text_of.as_bytes(), &skipping());
        match read {
            Ok(_) => assert!(!text, "{rows}"),
            Err(error) => {
                assert!(text, "{rows}: {error}");
                says(
                    &error,
                    &[
                        "x.csv",
                        "column host",
                        "--series-columns",
                        "--ignore-columns",
                    ],
                );
            }
        }
    }
}

#[test]
fn files_with_equal_names_are_one_series_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<_> = ["one", "two"]
        .iter()
        .map(|host| {
            let path = folder.path().join(host).join("cpu.csv");
            std::fs::create_dir(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "timestamp,value\n1392388200,1\n").unwrap();
            path
        })
        .collect();
    let read = crate::io::read_all(&inputs, &ReadOptions::default()).unwrap();
    assert_eq!(read.names, ["cpu"]);
    assert_eq!(read.notes.len(), 1);
    says(
        &read.notes[0],
        &["two", "'cpu'", "both are treated as one series"],
    );
}

#[test]
fn names_may_be_of_any_script() {
    // Mostly three-byte letters, and the 64th byte of the text is within a letter.
    let name = "温度計".repeat(10);
    let rows: String = (0..40).map(|i| format!("{name},{i},1\n")).collect();
    let read = read_text(&format!("series,timestamp_s,value\n{rows}")).unwrap();
    assert_eq!((read.names.as_slice(), read.batch.len()), (&[name][..], 40));
}

#[test]
fn special_values_are_parsed() {
    let read = read_text("timestamp_s,value\n0,nan\n1,NaN\n2,inf\n3,-inf\n4,+inf\n5,-0\n").unwrap();
    let values = read.batch.values();
    assert!(values[0].is_nan() && values[1].is_nan());
    assert_eq!(
        values[2..5],
        [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY]
    );
    assert_eq!(values[5].to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn several_files_are_read_in_sequence() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [
        file(folder.path(), "cpu.csv", b"timestamp,value\n1392388205,1\n"),
        file(
            folder.path(),
            "b.csv.gz",
            &gzip(b"cpu,1392388200000,2\nmem,1392388200000,3\n"),
        ),
        file(
            folder.path(),
            "mem.csv.zst",
            &zstd(b"2014-02-14 14:30:01,4\n"),
        ),
    ];
    let read = read_all(&inputs, &ReadOptions::default()).unwrap();
    let expected = [
        series("cpu", &[(5, 1.0), (0, 2.0)]),
        series("mem", &[(0, 3.0), (1, 4.0)]),
    ];
    assert_eq!(points(&read), expected);
}

#[test]
fn compressed_files_may_have_several_members() {
    let (first, second) = (
        &b"timestamp,value\n1392388200,1\n13"[..],
        &b"92388201,2\n"[..],
    );
    let expected = [series("cpu", &[(0, 1.0), (1, 2.0)])];
    for bytes in [
        [gzip(first), gzip(b""), gzip(second)].concat(),
        [zstd(first), zstd(second)].concat(),
        // A skippable frame: magic number, length 3.
        [
            &b"\x50\x2a\x4d\x18\x03\0\0\0abc"[..],
            &zstd(first),
            &zstd(second),
        ]
        .concat(),
    ] {
        let read = read_bytes("cpu.csv.gz", &bytes, &ReadOptions::default()).unwrap();
        assert_eq!(points(&read), expected);
    }
}

/// Malformed rows, each with parts of its message.
const BAD: [(&str, &[&str]); 14] = [
    ("2014-02-14 14:30:05,none of it", &["'none of it'"]),
    ("2014-02-14 14:30:05,much", &["'much'", "number"]),
    ("2014-02-14 14:30:05,1,5", &["expected 2 fields", "found 3"]),
    ("2014-02-14 14:30:05", &["expected 2 fields", "found 1"]),
    (
        "2014-02-30 14:30:05,1",
        &["2014-02-30 14:30:05", "ISO 8601"],
    ),
    ("yesterday,1", &["'yesterday'", "ISO 8601"]),
    (",1", &["''", "ISO 8601"]),
    ("1392388205,1", &["'1392388205'", "ISO 8601"]),
    ("1969-12-31 23:59:59,1", &["before 1970"]),
    (
        "2262-04-12 00:00:00,1",
        &["to 2262-04-11", "beyond the limit"],
    ),
    ("2014-02-14 14:30:05.0000000001,1", &["two nanoseconds"]),
    ("2014-02-14 14:30:05,\"1", &["expected a closing quote"]),
    ("2014-02-14 14:30:05,\u{ff11}", &["number"]),
    ("2014-02-14 14:30:05,\u{1b}1", &["'\\u{1b}1'"]),
];

#[test]
fn malformed_rows_are_reported_with_their_line() {
    for (row, parts) in BAD {
        let text =
            format!("timestamp,value\n\n2014-02-14 14:30:00,1\n{row}\n2014-02-14 14:31:00,2\n");
        let error = read_text(&text).unwrap_err();
        says(&error, &["cpu.csv: line 4: expected ", ", found "]);
        says(&error, parts);
    }
}

#[test]
fn rows_without_a_value_are_no_points() {
    let text = "timestamp,value\n2014-02-14 14:30:00,1\n2014-02-14 14:30:05,\n2014-02-14 14:30:06,NA\n2014-02-14 14:30:07, null \n2014-02-14 14:30:08,\"\"\n2014-02-14 14:30:09,nan\n";
    let read = read_text(text).unwrap();
    assert_eq!(points(&read), [series("cpu", &[(0, 1.0), (9, f64::NAN)])]);
    assert_eq!(read.skipped.rows, 0);
    says(&read.notes[0], &["cpu.csv: 4 cells without a value"]);
    // The time is checked nevertheless.
    let error = read_text("timestamp,value\n2014-02-14 14:30:00,1\nx,\n").unwrap_err();
    says(&error, &["line 3", "'x'"]);
    let error = read_text("timestamp,value\n2014-02-14 14:30:00,\n").unwrap_err();
    says(&error, &["cpu.csv", "rows without any value"]);
}

#[test]
fn skipped_rows_are_counted() {
    let mut text = String::from("timestamp,value\n2014-02-14 14:30:00,1\n");
    for (row, _) in BAD {
        // An open quote would extend to the next one.
        text.push_str(&row.replace('"', "x"));
        text.push('\n');
    }
    text.push_str("2014-02-14 14:30:10,2\n2014-02-14 14:30:11,\"3\n");
    let read = read_bytes("cpu.csv", text.as_bytes(), &skipping()).unwrap();
    assert_eq!(points(&read), [series("cpu", &[(0, 1.0), (10, 2.0)])]);
    assert_eq!(read.skipped.rows, BAD.len() as u64 + 1);
    assert_eq!(read.skipped.first.len(), 8);
    says(&read.skipped.first[0], &["cpu.csv: line 3: "]);
    says(&read.skipped.first[7], &["line 10: "]);
}

#[test]
fn units_are_not_mixed() {
    let error = read_text("timestamp,value\n1392388200,1\n1392388201000,2\n").unwrap_err();
    says(
        &error,
        &["line 3", "milliseconds", "seconds since 1970", "time-unit"],
    );
    let error = read_text("timestamp,value\n1392388200,1\n2014-02-14 14:30:00,2\n").unwrap_err();
    says(
        &error,
        &["line 3", "2014-02-14 14:30:00", "seconds since 1970"],
    );
    let stated = ReadOptions {
        time_unit: TimeUnit::Nanoseconds,
        ..ReadOptions::default()
    };
    let read = read_bytes("cpu.csv", b"0,1\n20000000000,2\n", &stated).unwrap();
    assert_eq!(read.batch.times(), [0, 20 * SECOND]);
}

#[test]
fn the_first_readable_row_determines_the_unit() {
    let read = read_bytes(
        "cpu.csv",
        b"timestamp,value\nsoon,1\n1392388200000,2\n",
        &skipping(),
    )
    .unwrap();
    assert_eq!(points(&read), [series("cpu", &[(0, 2.0)])]);
    assert_eq!(read.skipped.rows, 1);
}

#[test]
fn files_without_points_are_rejected() {
    for (text, parts) in [
        ("", &["an empty file"][..]),
        ("\u{feff}", &["an empty file"]),
        ("\n \n", &["an empty file"]),
        ("timestamp,value\n", &["no rows"]),
        ("hello world\n", &["'hello world'", "without comma"]),
        ("when,what\n1,2\n", &["when, what", "time-column"]),
        ("time,a,b\n1,2,3\n", &["time, a, b", "value-column"]),
        ("timestamp,\"value\n1,2\n", &["unclosed quote"]),
    ] {
        says(&read_text(text).unwrap_err(), parts);
    }
    let error = read_bytes("cpu.csv", b"timestamp,value\nx,1\ny,2\n", &skipping()).unwrap_err();
    says(&error, &["2 rows, none of them readable", "line 2", "'x'"]);
    assert!(!error.contains("line 3"), "{error}");
}

/// The quoted row is from this file, regardless of how many rows of earlier files were skipped.
#[test]
fn the_first_error_of_a_file_without_points_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    for rows_before in [1, 7, 8, 20] {
        let bad: String = (0..rows_before)
            .map(|row| format!("early{row},1\n"))
            .collect();
        let before = format!("timestamp,value\n{START},1\n{bad}");
        let inputs = [
            file(folder.path(), "before.csv", before.as_bytes()),
            file(
                folder.path(),
                "cpu.csv",
                b"timestamp,value\nx,1\ny,2\nz,3\n",
            ),
        ];
        let error = read_all(&inputs, &skipping()).unwrap_err().to_string();
        says(
            &error,
            &[
                "cpu.csv: expected a file of time series",
                "3 rows, none of them readable",
                "line 2",
                "'x'",
            ],
        );
        for other in ["early", "'y'", "'z'"] {
            assert!(!error.contains(other), "{error}");
        }
    }
}

#[test]
fn real_series_agree_with_python() {
    let Some(root) = std::env::var_os("WARPSTRIDE_SHARED_DATA") else {
        let why = "SKIPPED real series: WARPSTRIDE_SHARED_DATA is not set";
        writeln!(std::io::stderr(), "{why}").unwrap();
        return;
    };
    let folder = Path::new(&root).join("series/nab");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<(&str, f64)> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(','))
            .map(|(time, value)| (time, value.parse().unwrap()))
            .collect();
        let read = read_all(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
        assert_eq!(read.names, [path.file_stem().unwrap().to_str().unwrap()]);
        let values: Vec<f64> = rows.iter().map(|(_, value)| *value).collect();
        assert_eq!(read.batch.values(), values);
        for (time, (row, _)) in read.batch.times().iter().zip(&rows) {
            let mut iso = Vec::new();
            crate::io::timestamp::write_iso(&mut iso, *time);
            assert_eq!(
                String::from_utf8(iso).unwrap(),
                format!("{}Z", row.replace(' ', "T"))
            );
        }
        files += 1;
    }
    assert!(files > 0);
}
