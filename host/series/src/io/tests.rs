//! Writes files and reads them back; the results are compared with an independent definition.
//!
//! `lines` compares CSV with splitting and `str::parse`, `chunks` shows that results do not depend
//! on where a text is split, `parquet_files` and `arrow_files` cover all column types,
//! `remote_read` has messages of Prometheus, and `hostile` covers inputs that must be rejected with
//! one sentence.

#[cfg(feature = "parquet")]
mod arrow_files;
mod chunks;
mod exposition;
#[cfg(feature = "parquet")]
mod hostile;
mod lines;
#[cfg(feature = "parquet")]
mod parquet_files;
#[cfg(feature = "parquet")]
mod parquet_labels;
mod remote_read;
mod wide;
mod zones;

use super::{Collected, OnError, ReadOptions, read_all};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;
/// 2014-02-14T14:30:00Z, in seconds since 1970.
const START: i64 = 1_392_388_200;

/// A series: its name, and (nanoseconds, bits of the value) of each point.
type Series = (String, Vec<(i64, u64)>);

/// All points that were read, series by series.
fn points(collected: &Collected) -> Vec<Series> {
    let (batch, names) = (&collected.batch, &collected.names);
    assert_eq!(batch.series(), names.len());
    let offsets = batch.offsets();
    (0..names.len())
        .map(|s| {
            let range = offsets[s]..offsets[s + 1];
            let values = batch.values()[range.clone()].iter().map(|v| v.to_bits());
            let points = batch.times()[range].iter().copied().zip(values).collect();
            (names[s].clone(), points)
        })
        .collect()
}

/// A series with points `seconds` after [`START`].
fn series(name: &str, points: &[(i64, f64)]) -> Series {
    let points = points
        .iter()
        .map(|(second, value)| ((START + second) * SECOND, value.to_bits()));
    (name.to_owned(), points.collect())
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Reads a file `name` with these bytes.
fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Collected, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), name, bytes);
    let read = read_all(std::slice::from_ref(&path), options);
    read.map_err(|e| {
        let text = e.to_string();
        assert!(text.contains(name), "no file in: {text}");
        assert!(!text.contains('\n'), "{text}");
        text.replace(&format!("{}/", folder.path().display()), "")
    })
}

fn read_text(text: &str) -> Result<Collected, String> {
    read_bytes("cpu.csv", text.as_bytes(), &ReadOptions::default())
}

fn skipping() -> ReadOptions {
    ReadOptions {
        on_error: OnError::Skip,
        ..ReadOptions::default()
    }
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}
