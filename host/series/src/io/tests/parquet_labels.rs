//! Columns of Parquet that may be labels: bytes without a type, nulls alone, zones of times.

use super::parquet_files::{Data, parquet};
use super::*;
use parquet::file::properties::WriterProperties;

const START: i64 = 1_700_000_000_000;

/// A file with the times 0 and 1 ms after [`START`] and this column.
fn file(times: &str, column: &str, cells: (Data, Option<Vec<i16>>)) -> Vec<u8> {
    let schema =
        format!("required int64 time (TIMESTAMP({times})); {column}; required double value;");
    let times = (Data::I64(vec![START, START + 1]), None);
    let values = (Data::F64(vec![1.0, 2.0]), None);
    parquet(
        &schema,
        WriterProperties::builder(),
        &[vec![times, cells, values]],
    )
}

#[test]
fn nulls_alone_are_an_unused_column() {
    let bytes = file(
        "MILLIS,true",
        "optional int32 x (UNKNOWN)",
        (Data::I32(Vec::new()), Some(vec![0, 0])),
    );
    let read = read_bytes("a.bin", &bytes, &ReadOptions::default()).unwrap();
    assert_eq!(read.notes.len(), 1);
    says(&read.notes[0], &["a.bin: unused columns: x"]);
}

#[test]
fn bytes_without_a_type_are_texts_or_hexadecimal_digits() {
    let bytes = file(
        "MILLIS,true",
        "required binary x",
        (Data::Text(vec!["a", "\u{1}\u{7f}"]), None),
    );
    let error = read_bytes("a.bin", &bytes, &ReadOptions::default()).unwrap_err();
    says(&error, &["--series-columns", "column x"]);
    let options = ReadOptions {
        series_columns: vec!["x".into()],
        ..ReadOptions::default()
    };
    let read = read_bytes("a.bin", &bytes, &options).unwrap();
    assert_eq!(read.names, ["x=a", "x=017f"]);
}

#[test]
fn zones_beside_times_on_local_clocks_are_refused() {
    let read = |times: &str, zones: Vec<&'static str>| {
        let bytes = file(
            times,
            "required binary tz (STRING)",
            (Data::Text(zones), None),
        );
        let options = ReadOptions {
            ignored_columns: vec!["tz".into()],
            ..ReadOptions::default()
        };
        read_bytes("a.bin", &bytes, &options)
    };
    let error = read("MILLIS,false", vec!["UTC", "CET"]).unwrap_err();
    says(&error, &["--timezone", "the column tz has 'CET'"]);
    let wide = |offset: i32| {
        let cells = (Data::I32(vec![offset; 2]), None);
        let bytes = file("MILLIS,false", "required int32 utc_offset", cells);
        let options = ReadOptions {
            wide: true,
            ..ReadOptions::default()
        };
        read_bytes("a.bin", &bytes, &options)
    };
    says(&wide(2).unwrap_err(), &["--timezone", "utc_offset"]);
    assert!(wide(0).is_ok());
    assert!(read("MILLIS,false", vec!["UTC", "UTC"]).is_ok());
    assert!(read("MILLIS,true", vec!["UTC", "CET"]).is_ok());
}
