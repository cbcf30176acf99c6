//! Results do not depend on where a text is split: windows and chunks of any size give the same
//! points.

use super::*;
use crate::io::csv::Sizes;
use crate::io::{Block, Reader, Skipped};
use proptest::prelude::*;
use warpstride_core::system::Memory;

/// Random rows of all kinds.
fn row() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("\"c,\"\"d\"\"\"".to_owned()),
        Just("\"e\nf\"".to_owned()),
        Just("5\" disk".to_owned()),
        "[a-z]{1,3}",
    ];
    let value = prop_oneof![
        any::<f64>().prop_map(|v| v.to_string()),
        (-1000_i32..1000).prop_map(|v| format!("{}.{}", v / 10, (v % 10).abs())),
        Just("nan".to_owned()),
        Just("\"2.5\"".to_owned()),
    ];
    let good =
        (name, 700_000_000..2_000_000_000_i64, value).prop_map(|(n, t, v)| format!("{n},{t},{v}"));
    prop_oneof![
        12 => good,
        1 => Just(String::new()),
        1 => Just("a,1,2,3".to_owned()),
        1 => Just("a,x,1".to_owned()),
        1 => Just("a,1,".to_owned()),
        1 => Just("\"open,1,1".to_owned()),
        1 => Just(",1,1".to_owned()),
        1 => Just("a,99999999999,1".to_owned()),
    ]
}

/// (Series name, time, bits of the value) of each point, and the skipped rows.
type ReadOutput = (Vec<(String, i64, u64)>, Skipped);

fn read(path: &Path, sizes: Sizes) -> Result<ReadOutput, String> {
    let inputs = [path.to_owned()];
    let reader = Reader::with_sizes(&inputs, &skipping(), Memory::limited(1 << 30), sizes);
    let mut reader = reader.map_err(|e| e.to_string())?;
    let mut points = Vec::new();
    while let Some(block) = reader.next() {
        let Block {
            series,
            times,
            values,
        } = block.map_err(|e| e.to_string())?;
        for ((series, time), value) in series.into_iter().zip(times).zip(values) {
            let name = reader.names().get(series).unwrap_or_default().to_owned();
            points.push((name, time, value.to_bits()));
        }
    }
    Ok((points, reader.skipped().clone()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn results_do_not_depend_on_the_split(
        rows in proptest::collection::vec(row(), 0..60),
        ends in proptest::collection::vec(any::<bool>(), 60),
        window in 401_usize..900,
        chunk in 1_usize..400,
    ) {
        let mut text = String::from("series,timestamp,value\nfirst,1392388200,0\n");
        for (row, crlf) in rows.iter().zip(ends) {
            text.push_str(row);
            text.push_str(if crlf { "\r\n" } else { "\n" });
        }
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "a.csv", text.as_bytes());
        let record = 200;
        let whole = read(&path, Sizes { window: 1 << 20, chunk: 1 << 20, record });
        let cut = read(&path, Sizes { window, chunk, record });
        prop_assert_eq!(&whole, &cut, "{}", text);
        let by_line = read(&path, Sizes { window: 401, chunk: 1, record });
        prop_assert_eq!(&whole, &by_line, "{}", text);
    }

    #[test]
    fn plain_rows_agree_with_splitting(
        rows in proptest::collection::vec((0_u8..5, 700_000_000..2_000_000_000_i64, any::<f64>()), 1..80),
        chunk in 1_usize..400,
    ) {
        let text: String = rows.iter().map(|(s, t, v)| format!("s{s},{t},{v:?}\n")).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "a.csv", text.as_bytes());
        let read = read(&path, Sizes { window: 900, chunk, record: 400 });
        let expected: Vec<_> = text
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                let time = fields[1].parse::<i64>().unwrap() * SECOND;
                (fields[0].to_owned(), time, fields[2].parse::<f64>().unwrap().to_bits())
            })
            .collect();
        prop_assert_eq!(read, Ok((expected, Skipped::default())));
    }
}

#[test]
fn a_text_larger_than_a_window_is_read_ahead() {
    let text: String = (0..200_000)
        .map(|i| format!("s{},{},{}\n", i % 7, START + i, i))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("a.csv", text.clone().into_bytes()),
        ("a.csv.gz", gzip(text.as_bytes())),
        ("a.csv.zst", zstd(text.as_bytes())),
    ] {
        let path = file(folder.path(), name, &bytes);
        let sizes = Sizes {
            window: 100_000,
            chunk: 10_000,
            record: 1000,
        };
        let (points, skipped) = read(&path, sizes).unwrap();
        assert_eq!(skipped, Skipped::default());
        assert_eq!(points.len(), 200_000);
        for (i, (name, time, value)) in (0..200_000_i64).zip(points) {
            let expected = (
                format!("s{}", i % 7),
                (START + i) * SECOND,
                (i as f64).to_bits(),
            );
            assert_eq!((name, time, value), expected);
        }
    }
}

#[test]
fn a_reader_may_be_dropped_before_the_end() {
    let rows: String = (0..100_000).map(|i| format!("{i},1\n")).collect();
    let text = format!("timestamp_s,value\n{rows}");
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "a.csv", text.as_bytes());
    let sizes = Sizes {
        window: 10_000,
        chunk: 1000,
        record: 100,
    };
    let options = ReadOptions::default();
    let mut reader =
        Reader::with_sizes(&[path], &options, Memory::limited(1 << 20), sizes).unwrap();
    assert!(reader.next().unwrap().is_ok());
}

#[test]
fn a_part_without_points_is_a_step() {
    let text = format!("timestamp_s,value\n{}5,1\n", "no,row\n".repeat(20_000));
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "a.csv", text.as_bytes());
    let sizes = Sizes {
        window: 10_000,
        chunk: 1000,
        record: 100,
    };
    let open = || {
        let inputs = [path.clone()];
        Reader::with_sizes(&inputs, &skipping(), Memory::limited(1 << 20), sizes).unwrap()
    };
    let mut reader = open();
    let steps: Vec<usize> = std::iter::from_fn(|| reader.step())
        .map(|block| block.unwrap().len())
        .collect();
    assert!(steps.len() > 10, "{}", steps.len());
    assert_eq!(steps.iter().sum::<usize>(), 1);
    assert_eq!(reader.skipped().rows, 20_000);
    // The iterator does not return empty blocks.
    assert_eq!(open().count(), 1);
}
