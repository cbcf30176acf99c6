//! Wide tables against the same points with a series column.

use super::*;
use crate::io::Reader;
use crate::io::csv::Sizes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use warpstride_core::system::Memory;

fn wide() -> ReadOptions {
    ReadOptions {
        wide: true,
        ..ReadOptions::default()
    }
}

fn read_wide(text: &str) -> Result<Collected, String> {
    read_bytes("cpu.csv", text.as_bytes(), &wide())
}

/// The points of each series that has points, as (nanoseconds, bits of the value).
fn by_name(collected: &Collected) -> BTreeMap<String, Vec<(i64, u64)>> {
    let series = points(collected).into_iter();
    series.filter(|(_, points)| !points.is_empty()).collect()
}

/// The points of each series, read in pieces of these sizes.
fn in_pieces(path: &Path, sizes: Sizes) -> BTreeMap<String, Vec<(i64, u64)>> {
    let inputs = [path.to_owned()];
    let mut reader = Reader::with_sizes(&inputs, &wide(), Memory::limited(1 << 30), sizes).unwrap();
    let mut found: BTreeMap<String, Vec<(i64, u64)>> = BTreeMap::new();
    while let Some(block) = reader.next() {
        let block = block.unwrap();
        for ((series, time), value) in block.series.iter().zip(&block.times).zip(&block.values) {
            let name = reader.names().get(*series).unwrap().to_owned();
            found
                .entry(name)
                .or_default()
                .push((*time, value.to_bits()));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn wide_and_long_tables_have_the_same_bits(
        cells in proptest::collection::vec(proptest::collection::vec(proptest::option::weighted(0.8, any::<f64>()), 3), 1..40),
        chunk in 20_usize..200,
        quoted: bool,
    ) {
        let names = ["a", "b c", "\"d,\"\"e\"\"\""];
        let mut wide = format!("time,{}\n", names.join(","));
        let mut long = String::from("series,time,value\n");
        let mut missing = 0_u64;
        for (row, cells) in cells.iter().enumerate() {
            let time = START + row as i64;
            wide += &time.to_string();
            for (name, cell) in names.iter().zip(cells) {
                let text = cell.map_or_else(String::new, |value| value.to_string());
                match quoted {
                    true => wide += &format!(",\"{text}\""),
                    false => wide += &format!(", {text}"),
                }
                long += &format!("{name},{time},{text}\n");
                missing += u64::from(cell.is_none());
            }
            wide.push('\n');
        }
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "a.csv", wide.as_bytes());
        let (read_wide, read_long) = (read_wide(&wide), read_text(&long));
        if missing == 3 * cells.len() as u64 {
            prop_assert!(read_wide.is_err() && read_long.is_err());
            return Ok(());
        }
        let (read_wide, read_long) = (read_wide.unwrap(), read_long.unwrap());
        let expected = by_name(&read_long);
        prop_assert_eq!(&by_name(&read_wide), &expected);
        let sizes = Sizes { window: 8000, chunk, record: 1200 };
        prop_assert_eq!(&in_pieces(&path, sizes), &expected);
        for notes in [&read_wide.notes, &read_long.notes] {
            let noted = notes.iter().any(|note| note.contains(&format!(": {missing} cell")));
            prop_assert_eq!(noted, missing > 0, "{:?}", notes);
        }
    }
}

#[test]
fn layouts_of_the_same_wide_table() {
    let expected: BTreeMap<_, _> = [
        series("in", &[(0, 3.5), (10, -2.0)]),
        series("out", &[(10, 4.0)]),
    ]
    .into();
    for text in [
        "timestamp,in,out\n1392388200,3.5,\n1392388210,-2,4\n",
        "in;time;out\r\n3.5;2014-02-14T14:30:00Z;\r\n\r\n-2;2014-02-14T14:30:10Z;4",
        // As pandas writes an index of times, and loggers a delimiter at the end of each line.
        ",in,out\n2014-02-14 14:30:00,3.5,NA\n2014-02-14 14:30:10,-2.0,4.0\n",
        "Zeit\tin\tout\t\n1392388200\t3.5\t-\t\n1392388210\t-2\t4\t\n",
        "\"time\",\"in\",\"out\"\n\"1392388200\",\"3.5\",\"\"\n1392388210,\"-2\",4\n",
    ] {
        let read = read_wide(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(by_name(&read), expected, "{text}");
        assert!(
            read.notes.iter().any(|n| n.contains("1 cell without")),
            "{:?}",
            read.notes
        );
    }
    // Names may be numbers; a file without a header has the numbers of its columns.
    let numbered: BTreeMap<_, _> = [series("2", &[(0, 3.5)]), series("3", &[(0, 4.0)])].into();
    for text in ["time,2,3\n1392388200,3.5,4\n", "1392388200,3.5,4\n"] {
        assert_eq!(by_name(&read_wide(text).unwrap()), numbered, "{text}");
    }
    let options = ReadOptions {
        time_column: Some("when".to_owned()),
        ignored_columns: vec!["host".to_owned()],
        ..wide()
    };
    let text = "host,in,when,out\na,3.5,1392388200,\nb,-2,1392388210,4\n";
    let read = read_bytes("cpu.csv", text.as_bytes(), &options).unwrap();
    assert_eq!(by_name(&read), expected);
}

#[test]
fn a_wide_table_without_the_option_is_recognised() {
    let read = |text: &str| {
        let read = read_bytes("cpu.csv", text.as_bytes(), &ReadOptions::default());
        read.unwrap_err().to_string()
    };
    for text in [
        "time,a,b\n1392388200,1,2\n",
        "time;a;b\n1392388200;1;\n",
        "a,time,\"b,c\"\n1.5,1392388200,NA",
    ] {
        let refused = read(text);
        assert!(
            refused.contains("--value-column") && refused.contains("--wide reads every column"),
            "{refused}"
        );
    }
    // A column of texts, or of one name, is no wide table.
    for text in [
        "time,a,b\n1392388200,1,x\n",
        "time,series,a,b\n1392388200,q,1,2\n",
    ] {
        let refused = read(text);
        assert!(!refused.contains("--wide"), "{refused}");
    }
}

#[test]
fn malformed_wide_tables_are_refused() {
    for (text, parts) in [
        (
            "time,a,b\n1392388200,1,2\n1392388201,1,x\n",
            &["line 3", "the value 'x' in column 'b'", "--ignore-columns"][..],
        ),
        ("time,a\n1392388200,1,2\n", &["line 2", "2 fields"]),
        ("time,a,a\n1392388200,1,2\n", &["columns 2 and 3", "'a'"]),
        ("time,a,\n1392388200,1,2\n", &["line 2", "column 3", "name"]),
        ("time,a\nx,1\n", &["line 2", "'x'"]),
        ("time,a\n1392388200,1e999\n", &["line 2", "beyond", "'a'"]),
        ("time,a\n1392388200,\n", &["rows without any value"]),
        ("time,\n1392388200,1\n", &["--wide", "columns of values"]),
    ] {
        says(&read_wide(text).unwrap_err(), parts);
    }
    // A bad row has no points at all.
    let options = ReadOptions {
        on_error: OnError::Skip,
        ..wide()
    };
    let text = "time,a,b\n1392388200,1,x\n1392388201,,2\n";
    let read = read_bytes("cpu.csv", text.as_bytes(), &options).unwrap();
    assert_eq!(by_name(&read), [series("b", &[(1, 2.0)])].into());
    assert_eq!(read.skipped.rows, 1);
    for options in [
        ReadOptions {
            value_column: Some("a".to_owned()),
            ..wide()
        },
        ReadOptions {
            series_columns: vec!["a".to_owned()],
            ..wide()
        },
    ] {
        let error = read_bytes("cpu.csv", b"time,a,b\n1,2,3\n", &options).unwrap_err();
        says(&error, &["--wide", "expected neither"]);
    }
    let long = ReadOptions {
        longest_name: Some(2),
        ..wide()
    };
    let error = read_bytes("cpu.csv", b"time,abc\n1392388200,3\n", &long).unwrap_err();
    says(&error, &["column 2", "3 bytes, more than 2"]);
}

/// Nulls are no points in any format; they are NaN where each row is a point.
#[cfg(feature = "parquet")]
#[test]
fn wide_parquet_and_arrow_tables() {
    use super::arrow_files::{arrow, batch};
    use super::parquet_files::{Data, parquet, plain};
    use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray, TimestampSecondArray};
    use std::sync::Arc;
    let expected: BTreeMap<_, _> = [
        series("in", &[(0, 3.5), (10, f64::NAN)]),
        series("out", &[(10, 4.0)]),
    ]
    .into();
    let columns: [(&str, ArrayRef); 3] = [
        ("in", Arc::new(Float64Array::from(vec![3.5, f64::NAN]))),
        (
            "time",
            Arc::new(TimestampSecondArray::from(vec![START, START + 10])),
        ),
        ("out", Arc::new(Int32Array::from(vec![None, Some(4)]))),
    ];
    let table = parquet(
        "required double in; required int64 time_s; optional int32 out;",
        plain(),
        &[vec![
            (Data::F64(vec![3.5, f64::NAN]), None),
            (Data::I64(vec![START, START + 10]), None),
            (Data::I32(vec![4]), Some(vec![0, 1])),
        ]],
    );
    for bytes in [
        arrow(&[batch(&columns)], true, None),
        arrow(&[batch(&columns)], false, None),
        table,
    ] {
        let read = read_bytes("cpu.bin", &bytes, &wide()).unwrap();
        assert_eq!(by_name(&read), expected);
        says(&read.notes[0], &["1 cell without a value"]);
    }
    let text: (&str, ArrayRef) = ("host", Arc::new(StringArray::from(vec!["a", "b"])));
    let bytes = arrow(
        &[batch(&[columns[0].clone(), columns[1].clone(), text])],
        true,
        None,
    );
    let error = read_bytes("cpu.bin", &bytes, &wide()).unwrap_err();
    says(&error, &["column host", "--ignore-columns"]);
}
