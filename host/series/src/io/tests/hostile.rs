//! Malformed files: rejected with one sentence each, never with a panic.

use super::arrow_files::{arrow, batch, good_batches};
use super::parquet_files::{Data, good, parquet, plain};
use super::*;
use crate::io::read_all_within;
use arrow_ipc::CompressionType;
use parquet::basic::Compression;
use proptest::prelude::*;
use warpstride_core::system::Memory;

/// Reads within 16 MiB; an error must be one sentence that names the file.
fn try_read(bytes: &[u8]) -> Result<Collected, String> {
    let folder = tempfile::tempdir().unwrap();
    try_read_in(folder.path(), bytes)
}

fn try_read_in(folder: &Path, bytes: &[u8]) -> Result<Collected, String> {
    let path = file(folder, "hostile", bytes);
    for options in [ReadOptions::default(), skipping()] {
        let read = read_all_within(
            std::slice::from_ref(&path),
            &options,
            Memory::limited(16 << 20),
        );
        match read {
            Ok(read) if options.on_error == OnError::Skip => return Ok(read),
            Ok(_) => {}
            Err(e) => {
                let text = e.to_string();
                assert!(text.starts_with(&path.display().to_string()), "{text}");
                assert!(!text.contains('\n'), "{text}");
                if options.on_error == OnError::Skip {
                    return Err(text);
                }
            }
        }
    }
    unreachable!()
}

fn csv() -> Vec<u8> {
    let rows =
        (0..2000).map(|i| format!("s{},{},{}\n", i % 3, START + i, f64::from(i as i32) / 7.0));
    rows.collect::<String>().into_bytes()
}

#[test]
fn other_formats_are_named() {
    for (bytes, parts) in [
        (&b"\x89HDF\r\n\x1a\n"[..], &["HDF5"][..]),
        (b"PK\x03\x04xxxx", &["ZIP archive"]),
        (b"\xfd7zXZ\0\0\0", &["xz"]),
        (b"BZh91AY&SY", &["bzip2"]),
        (b"\x04\x22\x4d\x18xxxx", &["lz4"]),
        (b"FEA1xxxx", &["Feather version 1"]),
        (b"\xff\xfet\0i\0m\0e\0", &["UTF-16"]),
        (b"PAREabcdefgh", &["encrypted"]),
        (b"timestamp,value\n1,\0\n", &["binary data (byte 18 is 0)"]),
        (b"PAR1", &["Parquet metadata", "truncated"]),
        (
            b"PAR1xxxxxxxxxxxxxxxxPAR1",
            &["Parquet metadata", "truncated"],
        ),
        (b"ARROW1\0\0", &["Arrow data", "truncated"]),
        (
            b"ARROW1\0\0\xff\xff\xff\x7fARROW1",
            &["Arrow data", "truncated"],
        ),
        (b"\xff\xff\xff\xff\0\0\0\0", &["without a schema"]),
        (b"\xff\xff\xff\xff\x10\0\0\0", &["ends too early"]),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f", &["memory"]),
    ] {
        says(&try_read(bytes).unwrap_err(), parts);
    }
    says(
        &try_read(&gzip(&gzip(b"a"))).unwrap_err(),
        &["compressed twice"],
    );
    says(
        &try_read(&gzip(&good(plain()))).unwrap_err(),
        &["Parquet inside gzip"],
    );
    says(&try_read(&gzip(b"")).unwrap_err(), &["an empty file"]);
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| {
        read_all(&[path.to_owned()], &ReadOptions::default())
            .unwrap_err()
            .to_string()
    };
    says(&error(folder.path()), &["folder"]);
    says(
        &error(&folder.path().join("no.csv")),
        &["no.csv", "cannot be read"],
    );
    says(&error(Path::new("/dev/null")), &["device"]);
}

#[test]
fn missing_inputs_are_reported_before_any_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let first = file(folder.path(), "a.csv", b"nonsense");
    let missing = folder.path().join("b.csv");
    let error = read_all(&[first, missing], &ReadOptions::default()).unwrap_err();
    says(&error.to_string(), &["b.csv"]);
}

#[test]
fn truncated_streams_are_refused() {
    let text = csv();
    for (whole, part) in [(gzip(&text), "gzip"), (zstd(&text), "zstd")] {
        assert_eq!(try_read(&whole).unwrap().batch.len(), 2000);
        for length in [1, 3, 5, 8, 20, 100, 1000, whole.len() - 9, whole.len() - 1] {
            let error = try_read(&whole[..length]).unwrap_err();
            // Less than a signature counts as text.
            if length > 4 {
                says(&error, &[part]);
            }
        }
    }
    // Zstandard streams have a checksum only on request.
    let mut changed = gzip(&text);
    let middle = changed.len() / 2;
    changed[middle] ^= 0x10;
    says(&try_read(&changed).unwrap_err(), &["gzip"]);
}

#[test]
fn decompression_bombs_are_rejected() {
    // 64 MiB in one line, compressed to 2 KiB and 64 KiB.
    let mut line = b"timestamp,value\n".to_vec();
    line.resize(64 << 20, b'1');
    for bytes in [zstd(&line), gzip(&line)] {
        says(&try_read(&bytes).unwrap_err(), &["more than", "bytes"]);
    }
    // An announced window of 2 GiB: frame header descriptor, window descriptor.
    says(
        &try_read(b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00").unwrap_err(),
        &["zstd"],
    );
    // More points than fit in memory, in few bytes.
    let points = "1392388200,1\n".repeat(16 << 20);
    says(
        &try_read(&zstd(points.as_bytes())).unwrap_err(),
        &["the points", "memory"],
    );
    // More names than fit in memory.
    let names: String = (0..400_000)
        .map(|i| format!("n{i:060},1392388200,1\n"))
        .collect();
    says(&try_read(names.as_bytes()).unwrap_err(), &["memory"]);
}

#[test]
fn pages_and_record_batches_that_do_not_fit_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let within = |bytes: &[u8], limit: u64| {
        let path = file(folder.path(), "a", bytes);
        let read = read_all_within(&[path], &ReadOptions::default(), Memory::limited(limit));
        read.unwrap_err().to_string()
    };
    let times: Vec<i64> = (0..100_000).map(|i| i64::from(i) * SECOND).collect();
    let schema = "required int64 timestamp (TIMESTAMP(NANOS,true)); required double value;";
    let columns = vec![
        (Data::I64(times.clone()), None),
        (Data::F64(vec![0.0; 100_000]), None),
    ];
    for packed in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let properties = plain()
            .set_compression(packed)
            .set_dictionary_enabled(false);
        let bytes = parquet(schema, properties, std::slice::from_ref(&columns));
        says(&within(&bytes, 100_000), &["a page needs", "memory"]);
    }
    let table = batch(&[
        (
            "time",
            std::sync::Arc::new(arrow_array::Int64Array::from(times)),
        ),
        (
            "value",
            std::sync::Arc::new(arrow_array::Float64Array::from(vec![0.0; 100_000])),
        ),
    ]);
    for packed in [None, Some(CompressionType::ZSTD)] {
        let bytes = arrow(std::slice::from_ref(&table), false, packed);
        says(
            &within(&bytes, 1_000_000),
            &["Arrow record batch", "memory"],
        );
    }
}

#[test]
fn truncated_tables_are_rejected() {
    let stream = arrow(&good_batches(), false, None);
    for whole in [
        good(plain()),
        arrow(&good_batches(), true, None),
        stream.clone(),
    ] {
        assert_eq!(try_read(&whole).unwrap().batch.len(), 200);
        for length in (0..whole.len()).step_by(7) {
            let read = try_read(&whole[..length]);
            // A stream that is cut between messages is still a stream.
            if let Ok(read) = read {
                assert!(whole == stream, "{length}");
                assert!(read.batch.len() >= 100);
            }
        }
    }
}

#[test]
fn changed_bytes_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    for whole in [
        good(plain()),
        good(plain().set_compression(Compression::SNAPPY)),
        arrow(&good_batches(), true, None),
        arrow(&good_batches(), false, Some(CompressionType::LZ4_FRAME)),
    ] {
        for position in (0..whole.len()).step_by(3) {
            let mut changed = whole.clone();
            changed[position] ^= [0x01, 0x80, 0xff][position / 3 % 3];
            let _ = try_read_in(folder.path(), &changed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_rejected(start in 0_usize..8, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let starts: [&[u8]; 8] = [
            b"", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd",
            b"timestamp,value\n", b"a,1,1\n",
        ];
        let _ = try_read(&[starts[start], &bytes].concat());
    }

    #[test]
    fn any_text_is_read_or_rejected(text in "[a0-9,;\t\"\n\r.: TZ+-]{0,200}") {
        let _ = try_read(text.as_bytes());
    }
}
