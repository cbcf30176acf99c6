//! Arrow files and streams with all supported column types.

use super::parquet_files::{of_good, read_table};
use super::*;
use crate::io::TimeUnit;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, LargeStringArray,
    ListArray, RecordBatch, StringArray, StringViewArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use std::sync::Arc;

/// A record batch of named columns.
pub(super) fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let nullable = columns
        .iter()
        .map(|(name, array)| (*name, Arc::clone(array), true));
    RecordBatch::try_from_iter_with_nullable(nullable).unwrap()
}

/// Encodes record batches as a file or a stream.
pub(super) fn arrow(
    batches: &[RecordBatch],
    file: bool,
    packed: Option<CompressionType>,
) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(packed)
        .unwrap();
    let schema = batches[0].schema();
    if file {
        let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
        batches.iter().for_each(|b| writer.write(b).unwrap());
        writer.finish().unwrap();
        return writer.into_inner().unwrap();
    }
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn array<A: Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

/// Two record batches of two series in a dictionary.
pub(super) fn good_batches() -> Vec<RecordBatch> {
    [0, 100]
        .into_iter()
        .map(|from: i64| {
            let names: DictionaryArray<Int8Type> =
                (0..100).map(|i| Some(["a", "b"][i % 2])).collect();
            let times = (0..100).map(|i| (START + from + i) * 1000);
            batch(&[
                ("series", array(names)),
                (
                    "timestamp",
                    array(TimestampMillisecondArray::from_iter_values(times).with_timezone("UTC")),
                ),
                (
                    "value",
                    array(Float64Array::from_iter_values(
                        (0..100).map(|i| (from + i) as f64),
                    )),
                ),
            ])
        })
        .collect()
}

#[test]
fn arrow_files_and_streams_are_read() {
    for file in [true, false] {
        for packed in [
            None,
            Some(CompressionType::LZ4_FRAME),
            Some(CompressionType::ZSTD),
        ] {
            let bytes = arrow(&good_batches(), file, packed);
            assert_eq!(
                points(&read_table(&bytes).unwrap()),
                of_good(),
                "{file} {packed:?}"
            );
        }
    }
    for file in [true, false] {
        let bytes = gzip(&arrow(&good_batches(), file, None));
        assert_eq!(points(&read_table(&bytes).unwrap()), of_good());
    }
}

#[test]
fn all_arrow_types_are_read() {
    let second = |i: i64| START + i;
    let names = [
        array(StringArray::from(vec!["a", "b"])),
        array(LargeStringArray::from(vec!["a", "b"])),
        array(StringViewArray::from(vec!["a", "b"])),
    ];
    let times = [
        array(TimestampSecondArray::from(vec![second(0), second(1)])),
        array(TimestampMicrosecondArray::from(vec![
            second(0) * 1_000_000,
            second(1) * 1_000_000,
        ])),
        array(TimestampNanosecondArray::from(vec![
            second(0) * SECOND,
            second(1) * SECOND,
        ])),
        array(Int64Array::from(vec![second(0), second(1)])),
        array(UInt64Array::from(vec![second(0) as u64, second(1) as u64])),
        array(Int32Array::from(vec![second(0) as i32, second(1) as i32])),
        array(StringArray::from(vec![
            "2014-02-14T14:30:00Z",
            "2014-02-14T14:30:01Z",
        ])),
    ];
    let values = [
        array(Float64Array::from(vec![1.0, 2.0])),
        array(Float32Array::from(vec![1.0, 2.0])),
        array(Int32Array::from(vec![1, 2])),
        array(UInt64Array::from(vec![1, 2])),
    ];
    let expected = [series("a", &[(0, 1.0)]), series("b", &[(1, 2.0)])];
    for i in 0..7 {
        let columns = [
            ("series", &names[i % 3]),
            ("time", &times[i]),
            ("value", &values[i % 4]),
        ];
        let one = batch(&columns.map(|(name, array)| (name, Arc::clone(array))));
        let read = read_table(&arrow(&[one], false, None)).unwrap();
        assert_eq!(points(&read), expected, "{i}");
    }
    let days = batch(&[
        (
            "date",
            array(Date32Array::from(vec![Some(1), None, Some(-1), Some(2)])),
        ),
        (
            "value",
            array(Float64Array::from(vec![
                Some(0.5),
                Some(1.0),
                Some(2.0),
                None,
            ])),
        ),
    ]);
    let read = read_bytes("cpu.bin", &arrow(&[days], true, None), &skipping()).unwrap();
    assert_eq!(read.batch.times(), [86_400 * SECOND]);
    assert_eq!(read.batch.values(), [0.5]);
    assert_eq!(read.skipped.rows, 2);
    says(&read.skipped.first[1], &["row 3", "before 1970"]);
}

#[test]
fn the_stated_unit_applies_to_integers() {
    let columns = [
        ("time", array(Int64Array::from(vec![5, 6]))),
        ("value", array(Float64Array::from(vec![1.0, 2.0]))),
    ];
    let options = ReadOptions {
        time_unit: TimeUnit::Milliseconds,
        ..ReadOptions::default()
    };
    let read = read_bytes("cpu.bin", &arrow(&[batch(&columns)], false, None), &options).unwrap();
    assert_eq!(read.batch.times(), [5_000_000, 6_000_000]);
}

#[test]
fn text_values_are_rejected() {
    let texts = array(StringArray::from(vec!["1"]));
    let columns = [("time", array(Int64Array::from(vec![1]))), ("value", texts)];
    let error = read_table(&arrow(&[batch(&columns)], true, None)).unwrap_err();
    says(&error, &["column value (Utf8)", "numbers"]);
}

#[test]
fn columns_that_cannot_be_used_name_what_works() {
    let time = || array(Int64Array::from(vec![START, START + 60]));
    let value = || array(Float64Array::from(vec![1.0, 2.0]));
    let clock = || array(Time64MicrosecondArray::from(vec![1, 2]));
    let read = |columns: &[(&str, ArrayRef)], ignored: &[&str]| {
        let options = ReadOptions {
            ignored_columns: ignored.iter().map(|name| (*name).to_owned()).collect(),
            ..ReadOptions::default()
        };
        read_bytes("cpu.bin", &arrow(&[batch(columns)], true, None), &options)
    };
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)]), None]);
    let listed = [("time", time()), ("value", value()), ("tags", array(list))];
    let error = read(&listed, &[]).unwrap_err();
    says(&error, &["--ignore-columns", "tags", "list"]);
    assert_eq!(read(&listed, &["tags"]).unwrap().batch.times().len(), 2);
    let decimals = array(Decimal128Array::from(vec![15, 25]));
    let error = read(&[("time", time()), ("value", decimals)], &[]).unwrap_err();
    says(
        &error,
        &["column value (Decimal128", "conversion", "--value-column"],
    );
    let error = read(&[("time", clock()), ("value", value())], &[]).unwrap_err();
    says(&error, &["column time (Time64", "--time-column"]);
    // A time of day could not name series.
    let read = read(
        &[("time", time()), ("value", value()), ("clock", clock())],
        &[],
    )
    .unwrap();
    assert!(read.notes[0].ends_with("cpu.bin: unused columns: clock"));
}

#[test]
fn names_with_zero_bytes_are_malformed_rows() {
    let columns = [
        ("series", array(StringArray::from(vec!["a\0", "b"]))),
        ("time", array(Int64Array::from(vec![START, START]))),
        ("value", array(Float64Array::from(vec![1.0, 2.0]))),
    ];
    let bytes = arrow(&[batch(&columns)], true, None);
    says(
        &read_table(&bytes).unwrap_err(),
        &["row 1", "'a\\u{0}' with one"],
    );
    let read = read_bytes("cpu.bin", &bytes, &skipping()).unwrap();
    assert_eq!((read.names, read.skipped.rows), (vec!["b".to_owned()], 1));
}

/// Texts, dictionaries and integers are labels; null is an empty label.
#[test]
fn label_columns_name_the_series() {
    let regions: DictionaryArray<Int8Type> = [Some("eu"), Some("us"), None].into_iter().collect();
    let good = batch(&[
        (
            "timestamp",
            array(Int64Array::from(vec![START, START + 1, START + 2])),
        ),
        ("region", array(regions)),
        ("host", array(StringViewArray::from(vec!["a", "a", "b"]))),
        ("rack", array(UInt64Array::from(vec![1, 1, u64::MAX]))),
        ("value", array(Float64Array::from(vec![0.0, 1.0, 2.0]))),
    ]);
    for file in [true, false] {
        let bytes = arrow(std::slice::from_ref(&good), file, None);
        let error = read_table(&bytes).unwrap_err();
        says(
            &error,
            &["cpu.bin", "text columns region, host", "--series-columns"],
        );
        let options = ReadOptions {
            series_columns: ["region", "host", "rack"].map(str::to_owned).into(),
            ..ReadOptions::default()
        };
        let read = read_bytes("cpu.bin", &bytes, &options).unwrap();
        assert_eq!(
            points(&read),
            [
                series("region=eu,host=a,rack=1", &[(0, 0.0)]),
                series("region=us,host=a,rack=1", &[(1, 1.0)]),
                series("region=,host=b,rack=18446744073709551615", &[(2, 2.0)]),
            ]
        );
    }
}

/// Columns that may tell series apart must be named; parts of structures have names of their own,
/// and are null where the structure is. Null is no point.
#[test]
fn labels_in_structures_flags_dates_and_bytes() {
    let hosts = array(StringArray::from(vec![Some("a"), Some("b"), None]));
    let field = arrow_schema::Field::new("host", hosts.data_type().clone(), true);
    let there = arrow_buffer::NullBuffer::from(vec![true, false, true]);
    let labels = StructArray::new(vec![field].into(), vec![hosts], Some(there));
    let keys = FixedSizeBinaryArray::try_from_iter([[1_u8; 16]; 3].iter()).unwrap();
    let table = batch(&[
        (
            "time",
            array(Float64Array::from(vec![START as f64 + 0.5; 3])),
        ),
        (
            "value",
            array(Int64Array::from(vec![Some((1 << 53) + 1), Some(2), None])),
        ),
        ("labels", array(labels)),
        ("flag", array(BooleanArray::from(vec![true, false, true]))),
        ("day", array(Date32Array::from(vec![19_797; 3]))),
        ("uid", array(keys)),
    ]);
    let bytes = arrow(&[table], true, None);
    let error = read_table(&bytes).unwrap_err();
    says(
        &error,
        &[
            "--series-columns",
            "the columns labels.host, flag, uid here",
        ],
    );
    let options = ReadOptions {
        series_columns: ["labels.host", "flag", "day", "uid"]
            .map(str::to_owned)
            .into(),
        ..ReadOptions::default()
    };
    let read = read_bytes("cpu.bin", &bytes, &options).unwrap();
    let rest = "day=2024-03-15,uid=01010101-0101-0101-0101-010101010101";
    let expected = ["=a,flag=true", "=,flag=false"].map(|l| format!("labels.host{l},{rest}"));
    assert_eq!(read.names, expected);
    assert_eq!(read.batch.times(), [START * SECOND + SECOND / 2; 2]);
    says(
        &read.notes[0],
        &["1 integer beyond 2^53", "9007199254740993"],
    );
    says(&read.notes[1], &["1 cell without a value"]);
}

/// As in Parquet and in text files.
#[test]
fn unused_dates_that_lie_side_by_side_are_refused() {
    let read = |days: [i32; 4]| {
        let table = batch(&[
            (
                "time",
                array(Int64Array::from_iter_values(START..START + 4)),
            ),
            ("value", array(Float64Array::from(vec![1.0; 4]))),
            ("day", array(Date32Array::from(days.to_vec()))),
        ]);
        read_table(&arrow(&[table], true, None))
    };
    let kept = read([1, 1, 2, 2]).unwrap();
    says(&kept.notes[0], &["unused columns: day"]);
    let error = read([1, 2, 1, 2]).unwrap_err();
    says(
        &error,
        &["--series-columns", "expected day here", "side by side"],
    );
}

/// Dictionaries are read as the columns that they stand for, and times are labels.
#[test]
fn dictionaries_and_times_are_read() {
    let coded = |values: ArrayRef| -> ArrayRef {
        let keys = Int32Array::from(vec![Some(0), Some(1), Some(0), None]);
        array(DictionaryArray::try_new(keys, values).unwrap())
    };
    let times = || array(Int64Array::from_iter_values(START..START + 4));
    let moments = |zone: Option<&str>| {
        let moments = TimestampSecondArray::from(vec![START, START + 60]);
        array(moments.with_timezone_opt(zone))
    };
    let read = |label: ArrayRef, value: ArrayRef| {
        let table = batch(&[("time", times()), ("value", value), ("rack", label)]);
        let options = ReadOptions {
            series_columns: vec!["rack".to_owned()],
            ..ReadOptions::default()
        };
        read_bytes("cpu.bin", &arrow(&[table], true, None), &options).unwrap()
    };
    let values = || coded(array(Float64Array::from(vec![0.5, 2.5])));
    let of = |label: &str, values: &[(i64, f64)]| series(&format!("rack={label}"), values);
    for (labels, [first, second]) in [
        (array(Int64Array::from(vec![7, 8])), ["7", "8"]),
        (
            array(Date32Array::from(vec![1, 2])),
            ["1970-01-02", "1970-01-03"],
        ),
        (
            moments(None),
            ["2014-02-14T14:30:00", "2014-02-14T14:31:00"],
        ),
        (
            moments(Some("UTC")),
            ["2014-02-14T14:30:00Z", "2014-02-14T14:31:00Z"],
        ),
    ] {
        let found = read(coded(labels), values());
        let expected = [of(first, &[(0, 0.5), (2, 0.5)]), of(second, &[(1, 2.5)])];
        assert_eq!(points(&found), expected);
    }
    let integers = coded(array(Int64Array::from(vec![3, 4])));
    let found = read(array(Int64Array::from(vec![1; 4])), integers);
    assert_eq!(points(&found), [of("1", &[(0, 3.0), (1, 4.0), (2, 3.0)])]);
    // Times in a dictionary, and numbers that nothing is read from.
    let coded_times = {
        let keys = Int32Array::from(vec![0, 1]);
        array(DictionaryArray::try_new(keys, moments(None)).unwrap())
    };
    let unused = DictionaryArray::try_new(
        Int32Array::from(vec![0, 0]),
        array(Int64Array::from(vec![5])),
    );
    let table = batch(&[
        ("time", coded_times),
        ("value", array(Float64Array::from(vec![1.5, 2.5]))),
        ("rack", array(unused.unwrap())),
    ]);
    let found = read_table(&arrow(&[table], true, None)).unwrap();
    assert_eq!(points(&found), [series("cpu", &[(0, 1.5), (60, 2.5)])]);
    says(&found.notes[0], &["unused columns: rack"]);
}
