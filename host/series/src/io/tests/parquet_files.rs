//! Parquet files with all supported column types and encodings.

use super::*;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// Values of a column; a nullable column also has levels, 0 for null.
pub(super) enum Data {
    I32(Vec<i32>),
    I64(Vec<i64>),
    I96(Vec<Int96>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<&'static str>),
    Flags(Vec<bool>),
    Bytes(Vec<[u8; 16]>),
}

pub(super) type Column = (Data, Option<Vec<i16>>);

/// Encodes row groups of columns as a Parquet file.
pub(super) fn parquet(
    schema: &str,
    properties: WriterPropertiesBuilder,
    groups: &[Vec<Column>],
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
    for group in groups {
        let mut row_group = writer.next_row_group().unwrap();
        for (data, levels) in group {
            let mut column = row_group.next_column().unwrap().unwrap();
            let levels = levels.as_deref();
            // Lists of these files have one element.
            let starts = vec![0; levels.map_or(0, <[i16]>::len)];
            let starts = levels.map(|_| &starts[..]);
            match data {
                Data::I32(v) => column.typed::<Int32Type>().write_batch(v, levels, None),
                Data::I64(v) => column.typed::<Int64Type>().write_batch(v, levels, None),
                Data::I96(v) => column.typed::<Int96Type>().write_batch(v, levels, None),
                Data::F32(v) => column.typed::<FloatType>().write_batch(v, levels, None),
                Data::F64(v) => column.typed::<DoubleType>().write_batch(v, levels, None),
                Data::Flags(v) => column.typed::<BoolType>().write_batch(v, levels, None),
                Data::Bytes(v) => {
                    let bytes = v.iter().map(|b| ByteArray::from(b.to_vec()).into());
                    let bytes: Vec<FixedLenByteArray> = bytes.collect();
                    column
                        .typed::<FixedLenByteArrayType>()
                        .write_batch(&bytes, levels, None)
                }
                Data::Text(v) => {
                    let texts: Vec<ByteArray> = v.iter().map(|t| ByteArray::from(*t)).collect();
                    column
                        .typed::<ByteArrayType>()
                        .write_batch(&texts, levels, starts)
                }
            }
            .unwrap();
            column.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

pub(super) fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

pub(super) fn read_table(bytes: &[u8]) -> Result<Collected, String> {
    read_bytes("cpu.bin", bytes, &ReadOptions::default())
}

/// Two row groups of two series.
pub(super) fn good(properties: WriterPropertiesBuilder) -> Vec<u8> {
    let schema = "required binary series (STRING); required int64 timestamp (TIMESTAMP(MICROS,true)); required double value;";
    let group = |from: i64| {
        let times = (0..100).map(|i| (START + from + i) * 1_000_000).collect();
        vec![
            (
                Data::Text((0..100).map(|i| ["a", "b"][i % 2]).collect()),
                None,
            ),
            (Data::I64(times), None),
            (
                Data::F64((0..100).map(|i| (from + i) as f64).collect()),
                None,
            ),
        ]
    };
    parquet(schema, properties, &[group(0), group(100)])
}

/// The points of [`good`].
pub(super) fn of_good() -> [Series; 2] {
    [0, 1].map(|odd| {
        let points: Vec<(i64, f64)> = (0..100)
            .map(|i| (2 * i + odd, (2 * i + odd) as f64))
            .collect();
        series(["a", "b"][odd as usize], &points)
    })
}

#[test]
fn all_encodings_give_the_same_points() {
    for properties in [
        plain(),
        plain().set_compression(Compression::SNAPPY),
        plain().set_compression(Compression::LZ4_RAW),
        plain().set_compression(Compression::GZIP(parquet::basic::GzipLevel::default())),
        plain().set_compression(Compression::ZSTD(ZstdLevel::default())),
        plain().set_writer_version(WriterVersion::PARQUET_2_0),
        plain().set_dictionary_enabled(false),
        plain()
            .set_data_page_row_count_limit(10)
            .set_write_batch_size(10),
        plain()
            .set_dictionary_enabled(false)
            .set_column_encoding("timestamp".into(), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding("value".into(), Encoding::BYTE_STREAM_SPLIT),
    ] {
        let read = read_table(&good(properties)).unwrap();
        assert_eq!(points(&read), of_good());
        assert!(read.notes.is_empty());
    }
    let coded = plain()
        .set_dictionary_enabled(false)
        .set_column_encoding("series".into(), Encoding::DELTA_BYTE_ARRAY);
    says(
        &read_table(&good(coded)).unwrap_err(),
        &["row group 1", "delta-coded texts"],
    );
}

#[test]
fn all_timestamp_types_are_read() {
    let expected = [series("cpu", &[(0, 1.0), (86_400, 2.0)])];
    let days = 16_115;
    let moment = |i: i64| START + 86_400 * i;
    let julian = |i: u32| {
        let mut value = Int96::new();
        let nanoseconds = ((START % 86_400) * SECOND) as u64;
        value.set_data(
            nanoseconds as u32,
            (nanoseconds >> 32) as u32,
            2_440_588 + days as u32 + i,
        );
        value
    };
    for (kind, data) in [
        (
            "int64 timestamp (TIMESTAMP(MILLIS,true))",
            Data::I64(vec![moment(0) * 1000, moment(1) * 1000]),
        ),
        (
            "int64 timestamp (TIMESTAMP(NANOS,false))",
            Data::I64(vec![moment(0) * SECOND, moment(1) * SECOND]),
        ),
        (
            "int64 timestamp (TIMESTAMP_MILLIS)",
            Data::I64(vec![moment(0) * 1000, moment(1) * 1000]),
        ),
        (
            "int64 timestamp",
            Data::I64(vec![moment(0) * 1_000_000, moment(1) * 1_000_000]),
        ),
        ("int64 timestamp_s", Data::I64(vec![moment(0), moment(1)])),
        (
            "int32 timestamp",
            Data::I32(vec![moment(0) as i32, moment(1) as i32]),
        ),
        ("int96 timestamp", Data::I96(vec![julian(0), julian(1)])),
        (
            "binary timestamp (STRING)",
            Data::Text(vec!["2014-02-14T14:30:00Z", "2014-02-15 14:30"]),
        ),
        (
            "binary timestamp (STRING)",
            Data::Text(vec!["1392388200", "1392474600.0"]),
        ),
    ] {
        let schema = format!("required {kind}; required double value;");
        let bytes = parquet(
            &schema,
            plain(),
            &[vec![(data, None), (Data::F64(vec![1.0, 2.0]), None)]],
        );
        assert_eq!(points(&read_table(&bytes).unwrap()), expected, "{kind}");
    }
    let schema = "required int32 date (DATE); required float value;";
    let columns = vec![
        (Data::I32(vec![days, days + 1]), None),
        (Data::F32(vec![0.1, 2.0]), None),
    ];
    let read = read_table(&parquet(schema, plain(), &[columns])).unwrap();
    let midnight = i64::from(days) * 86_400 * SECOND;
    assert_eq!(read.batch.times(), [midnight, midnight + 86_400 * SECOND]);
    assert_eq!(read.batch.values(), [f64::from(0.1_f32), 2.0]);
}

#[test]
fn null_values_are_no_points_and_other_nulls_are_malformed_rows() {
    let schema = "optional binary name (STRING); optional int64 time; optional int64 value (INTEGER(64,false));";
    let columns = || {
        vec![
            (Data::Text(vec!["a", "a", "b"]), Some(vec![1, 1, 0, 1])),
            (
                Data::I64(vec![START, START + 2, START + 3]),
                Some(vec![1, 0, 1, 1]),
            ),
            (Data::I64(vec![1, 2, 3]), Some(vec![1, 1, 1, 0])),
        ]
    };
    let bytes = parquet(schema, plain(), &[columns()]);
    says(
        &read_table(&bytes).unwrap_err(),
        &[
            "row 2",
            "expected a timestamp; --on-error skip",
            "found none (null)",
        ],
    );
    let read = read_bytes("cpu.bin", &bytes, &skipping()).unwrap();
    assert_eq!(read.names, ["a"]);
    assert_eq!(read.batch.times(), [START * SECOND]);
    assert_eq!(read.batch.values(), [1.0]);
    assert_eq!(read.skipped.rows, 2);
    says(&read.skipped.first[1], &["row 3", "the name of a series"]);
    says(&read.notes[0], &["1 cell without a value (empty, null"]);
}

#[test]
fn lists_are_named_where_a_column_is_missing() {
    let schema = "required int64 timestamp; optional group value (LIST) { repeated group list { optional double element; } }";
    let error = read_table(&parquet(schema, plain(), &[])).unwrap_err();
    says(
        &error,
        &["column value (a list or a map)", "expected numbers"],
    );
    let wide = ReadOptions {
        wide: true,
        ..ReadOptions::default()
    };
    let error = read_bytes("cpu.bin", &parquet(schema, plain(), &[]), &wide).unwrap_err();
    says(
        &error,
        &["column value (a list or a map)", "--ignore-columns"],
    );
}

/// Columns that may tell series apart must be named, whatever they are; parts of structures have
/// names of their own, and are null where the structure is.
#[test]
fn labels_in_structures_flags_dates_and_bytes() {
    let schema = "required int64 time; required double value; optional group labels { optional binary host (STRING); } required boolean flag; required int32 day (DATE); required fixed_len_byte_array(16) uid (UUID); required group tags (LIST) { repeated group list { required binary element (STRING); } }";
    let bytes = |count: i64| {
        let rows = count as usize;
        let tags = (Data::Text(vec!["x"; rows]), Some(vec![1; rows]));
        let columns = vec![
            (Data::I64((START..START + count).collect()), None),
            (Data::F64((0..rows).map(|i| i as f64).collect()), None),
            (
                Data::Text(vec!["a"; rows - 2]),
                Some([vec![0, 1], vec![2; rows - 2]].concat()),
            ),
            (Data::Flags((0..rows).map(|i| i % 2 == 0).collect()), None),
            (Data::I32(vec![19_797; rows]), None),
            (Data::Bytes(vec![[7; 16]; rows]), None),
            tags,
        ];
        parquet(schema, plain(), &[columns])
    };
    let error = read_table(&bytes(3)).unwrap_err();
    says(
        &error,
        &[
            "--series-columns",
            "the columns labels.host, flag, uid here",
            "in --ignore-columns tags, whose type",
        ],
    );
    let named = |columns: &[&str]| ReadOptions {
        series_columns: columns.iter().map(|&name| name.to_owned()).collect(),
        ignored_columns: vec!["tags".to_owned()],
        ..ReadOptions::default()
    };
    let options = named(&["labels.host", "flag", "day", "uid"]);
    let read = read_bytes("cpu.bin", &bytes(4), &options).unwrap();
    let rest = "day=2024-03-15,uid=07070707-0707-0707-0707-070707070707";
    let expected = [
        "=,flag=true",
        "=,flag=false",
        "=a,flag=true",
        "=a,flag=false",
    ];
    let expected = expected.map(|labels| format!("labels.host{labels},{rest}"));
    assert_eq!(read.names, expected);
    let mut options = named(&["tags", "flag", "day", "uid", "labels.host"]);
    options.ignored_columns.clear();
    let error = read_bytes("cpu.bin", &bytes(3), &options).unwrap_err();
    says(
        &error,
        &[
            "column tags (a list or a map)",
            "expected text, bytes, integers",
        ],
    );
}

/// As in text files, dates and times that nothing is read from are an error only if they tell
/// series apart.
#[test]
fn unused_dates_that_lie_side_by_side_are_refused() {
    let schema = "required int64 time; required double value; optional int32 day (DATE); required int64 run (TIMESTAMP(MILLIS,true));";
    let read = |days: &[i32], runs: &[i64], options: &ReadOptions| {
        let rows = days.len() as i64;
        let columns = vec![
            (Data::I64((START..START + rows).collect()), None),
            (Data::F64(vec![1.0; days.len()]), None),
            (Data::I32(days.to_vec()), Some(vec![1; days.len()])),
            (Data::I64(runs.to_vec()), None),
        ];
        read_bytes("cpu.bin", &parquet(schema, plain(), &[columns]), options)
    };
    let options = ReadOptions::default();
    let kept = read(&[1, 1, 2, 2], &[5, 6, 7, 8], &options).unwrap();
    assert_eq!(kept.batch.times().len(), 4);
    says(&kept.notes[0], &["unused columns: day, run"]);
    let error = read(&[1, 2, 1, 2], &[5, 5, 5, 5], &options).unwrap_err();
    says(
        &error,
        &["--series-columns", "expected day here", "side by side"],
    );
    let error = read(&[1, 1, 1, 1], &[5, 6, 5, 6], &options).unwrap_err();
    says(
        &error,
        &["--series-columns", "expected run here", "side by side"],
    );
    let ignored = ReadOptions {
        ignored_columns: vec!["run".to_owned()],
        ..ReadOptions::default()
    };
    assert!(read(&[1, 1, 1, 1], &[5, 6, 5, 6], &ignored).is_ok());
    let labels = ReadOptions {
        series_columns: vec!["day".to_owned()],
        ..ignored
    };
    let found = read(&[1, 2, 1, 2], &[5, 5, 5, 5], &labels).unwrap();
    assert_eq!(found.names, ["day=1970-01-02", "day=1970-01-03"]);
    let labels = ReadOptions {
        series_column: Some("run".to_owned()),
        ..ReadOptions::default()
    };
    let found = read(&[1; 4], &[5, 60_000, 5, i64::MAX], &labels).unwrap();
    let expected = [
        "1970-01-01T00:00:00.005Z",
        "1970-01-01T00:01:00Z",
        "9223372036854775807",
    ];
    assert_eq!(found.names, expected);
}

#[test]
fn hours_beside_dates_are_refused() {
    let schema = "required int32 date (DATE); required int64 hour; required double value;";
    let columns = vec![
        (Data::I32(vec![19_797; 2]), None),
        (Data::I64(vec![1, 2]), None),
        (Data::F64(vec![1.0, 2.0]), None),
    ];
    let error = read_table(&parquet(schema, plain(), &[columns])).unwrap_err();
    says(&error, &["whole times", "--ignore-columns hour"]);
}

/// The shortest digits of a double are those of its time; numbers in another unit than the name of
/// their column says are refused.
#[test]
fn numbers_are_times_in_plausible_units() {
    let read = |name: &str, times: Data| {
        let kind = match times {
            Data::F64(_) => "double",
            _ => "int64",
        };
        let schema = format!("required {kind} {name}; required double value;");
        let columns = vec![(times, None), (Data::F64(vec![1.0]), None)];
        read_table(&parquet(&schema, plain(), &[columns]))
    };
    let time = |read: Result<Collected, String>| read.unwrap().batch.times()[0];
    let fraction = Data::F64(vec![START as f64 + 0.553]);
    assert_eq!(time(read("time", fraction)), START * SECOND + 553_000_000);
    assert_eq!(
        time(read("time", Data::I64(vec![START * 1000]))),
        START * SECOND
    );
    assert_eq!(time(read("time_ms", Data::I64(vec![60]))), 60_000_000);
    for (name, times, part) in [
        (
            "time_ms",
            Data::I64(vec![START]),
            "--time-unit s gives the year 2014",
        ),
        (
            "time_s",
            Data::I64(vec![START * 1000]),
            "--time-unit ms gives the year 2014",
        ),
        (
            "time",
            Data::I64(vec![300_000_000_000]),
            "--time-unit ms gives the year 1979",
        ),
        ("time", Data::F64(vec![45_292.5]), "number of days"),
    ] {
        says(&read(name, times).unwrap_err(), &["row 1", part]);
    }
    // Times that a type states are noted if they are in the month that wrong units lead to.
    let schema = "required int64 time (TIMESTAMP(MICROS,true)); required double value;";
    let columns = vec![
        (Data::I64(vec![START * 1000]), None),
        (Data::F64(vec![1.0]), None),
    ];
    let read = read_table(&parquet(schema, plain(), &[columns])).unwrap();
    says(&read.notes[0], &["January of 1970", "1970-01-17", "unit"]);
}

#[test]
fn unsigned_values_and_numeric_series_names() {
    let schema =
        "required int64 id; required int64 time; required int64 value (INTEGER(64,false));";
    let columns = vec![
        (Data::I64(vec![7, -8]), None),
        (Data::I64(vec![START, START]), None),
        (Data::I64(vec![-1, 5]), None),
    ];
    let read = read_table(&parquet(schema, plain(), &[columns])).unwrap();
    assert_eq!(read.names, ["7", "-8"]);
    assert_eq!(read.batch.values(), [u64::MAX as f64, 5.0]);
}

#[test]
fn timestamps_out_of_range_or_of_mixed_units_are_malformed_rows() {
    for (kind, times, parts) in [
        (
            "int64 timestamp (TIMESTAMP(NANOS,true))",
            vec![1, -1],
            &["row 2", "before 1970"][..],
        ),
        (
            "int64 timestamp (TIMESTAMP(MILLIS,true))",
            vec![i64::MAX],
            &["row 1", "2262-04-11"],
        ),
        (
            "int64 timestamp",
            vec![START, START * 1000],
            &["row 2", "milliseconds"],
        ),
    ] {
        let schema = format!("required {kind}; required double value;");
        let values = Data::F64(vec![0.0; times.len()]);
        let bytes = parquet(
            &schema,
            plain(),
            &[vec![(Data::I64(times), None), (values, None)]],
        );
        says(&read_table(&bytes).unwrap_err(), parts);
    }
}

#[test]
fn columns_of_other_types_are_rejected() {
    let read = |schema: &str, first: Data, second: Data| {
        read_table(&parquet(
            schema,
            plain(),
            &[vec![(first, None), (second, None)]],
        ))
        .unwrap_err()
    };
    let error = read(
        "required float time; required double value;",
        Data::F32(vec![1.0]),
        Data::F64(vec![1.0]),
    );
    says(&error, &["column time (FLOAT)", "TIMESTAMP"]);
    let error = read(
        "required int64 time; required binary value (STRING);",
        Data::I64(vec![1]),
        Data::Text(vec!["1"]),
    );
    says(&error, &["column value (text)", "DOUBLE"]);
    let error = read(
        "required int64 when; required int64 value;",
        Data::I64(vec![1]),
        Data::I64(vec![1]),
    );
    says(&error, &["when, value", "time-column"]);
}

#[test]
fn tables_without_rows_are_rejected() {
    let schema = "required int64 time; required double value;";
    for groups in [
        vec![],
        vec![vec![(Data::I64(vec![]), None), (Data::F64(vec![]), None)]],
    ] {
        says(
            &read_table(&parquet(schema, plain(), &groups)).unwrap_err(),
            &["no rows"],
        );
    }
}

/// Texts and integers are labels; null is an empty label.
#[test]
fn label_columns_name_the_series() {
    let schema = "optional binary host (STRING); required int64 timestamp; required int32 rack; required double value;";
    let columns = vec![
        (Data::Text(vec!["a", "b", "a"]), Some(vec![1, 1, 0, 1])),
        (Data::I64((0..4).map(|i| START + i).collect()), None),
        (Data::I32(vec![1, -2, 1, 1]), None),
        (Data::F64(vec![0.0, 1.0, 2.0, 3.0]), None),
    ];
    let bytes = parquet(schema, plain(), &[columns]);
    says(
        &read_table(&bytes).unwrap_err(),
        &["cpu.bin", "text column host", "--series-columns"],
    );
    let named = |options: ReadOptions| points(&read_bytes("cpu.bin", &bytes, &options).unwrap());
    let labels = named(ReadOptions {
        series_columns: vec!["host".into(), "rack".into()],
        ..ReadOptions::default()
    });
    let expected = [
        series("host=a,rack=1", &[(0, 0.0), (3, 3.0)]),
        series("host=b,rack=-2", &[(1, 1.0)]),
        series("host=,rack=1", &[(2, 2.0)]),
    ];
    assert_eq!(labels, expected);
    let ignored = named(ReadOptions {
        ignored_columns: vec!["host".into()],
        ..ReadOptions::default()
    });
    let all: Vec<_> = (0..4).map(|i| (i, i as f64)).collect();
    assert_eq!(ignored, [series("cpu", &all)]);
}
