//! Snapshots of Prometheus' remote read, made field by field.

use super::*;
use crate::io::remote_read::as_text;
use crate::io::{TimeFormat, TimeUnit};
use std::collections::BTreeMap;

/// A field whose content has a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    bytes.extend(varint(content.len() as u64));
    bytes.extend(content);
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn time_series(labels: &[(&str, &str)], samples: &[(f64, i64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in labels {
        let label = [field(1, name.as_bytes()), field(2, value.as_bytes())];
        bytes.extend(field(1, &label.concat()));
    }
    for (value, time) in samples {
        let mut sample = vec![1 << 3 | 1];
        sample.extend(value.to_le_bytes());
        sample.push(2 << 3);
        sample.extend(varint(time.cast_unsigned()));
        bytes.extend(field(2, &sample));
    }
    // An exemplar, which is left out.
    bytes.extend(field(3, &field(1, b"\x0a\x01a\x12\x01b")));
    bytes
}

fn two_series() -> [Vec<u8>; 2] {
    let start = 1_392_388_200_000;
    let stale = f64::from_bits(0x7ff0_0000_0000_0002);
    [
        time_series(
            &[("__name__", "up"), ("job", "a\"b\n\\"), ("empty", "")],
            &[
                (1.0, start),
                (0.1 + 0.2, start + 15_000),
                (stale, start + 30_000),
            ],
        ),
        time_series(
            &[("job.name", "node"), ("__name__", "http.requests")],
            &[(f64::INFINITY, start), (-5e-324, start + 1000)],
        ),
    ]
}

#[test]
fn responses_and_requests_are_read() {
    let [a, b] = two_series();
    // Two queries, of which each found a series; metadata in a request.
    let response = [field(1, &field(1, &a)), field(1, &field(1, &b))].concat();
    let request = [field(1, &a), field(1, &b), field(3, b"\x08\x01")].concat();
    let packed = |bytes: &[u8]| snap::raw::Encoder::new().compress_vec(bytes).unwrap();
    let expected: BTreeMap<_, _> = [
        series("up{job=\"a\\\"b\\n\\\\\"}", &[(0, 1.0), (15, 0.1 + 0.2)]),
        series(
            "{\"http.requests\",\"job.name\"=\"node\"}",
            &[(0, f64::INFINITY), (1, -5e-324)],
        ),
    ]
    .into();
    for (name, bytes) in [
        ("up.pb", response.clone()),
        ("up.snappy", packed(&response)),
        ("up.pb.snappy", packed(&request)),
        ("up.PB", request),
    ] {
        let read = read_bytes(name, &bytes, &ReadOptions::default()).unwrap();
        let found: BTreeMap<_, _> = points(&read).into_iter().collect();
        assert_eq!(found, expected, "{name}");
    }
    let seconds = ReadOptions {
        time_format: TimeFormat::Unix(TimeUnit::Seconds),
        ..ReadOptions::default()
    };
    let refused = read_bytes("up.pb", &response, &seconds).err().unwrap();
    // An option is obeyed: these seconds are beyond what nanoseconds can be.
    says(&refused, &["beyond the limit"]);
}

#[test]
fn seconds_in_the_place_of_milliseconds_are_refused() {
    let seconds = field(1, &time_series(&[("__name__", "up")], &[(1.5, START)]));
    let error = read_bytes("up.pb", &seconds, &ReadOptions::default()).unwrap_err();
    says(
        &error,
        &["looks like seconds", "--time-unit s gives the year 2014"],
    );
    let stated = ReadOptions {
        time_unit: TimeUnit::Seconds,
        ..ReadOptions::default()
    };
    let read = read_bytes("up.pb", &seconds, &stated).unwrap();
    assert_eq!(read.batch.times(), [START * SECOND]);
}

#[test]
fn damaged_snapshots_are_refused() {
    let [a, b] = two_series();
    let response = field(1, &[field(1, &a), field(1, &b)].concat());
    let plain = |bytes: &[u8]| read_bytes("up.pb", bytes, &ReadOptions::default());
    for length in (1..response.len()).step_by(7) {
        let refused = plain(&response[..length]).err().unwrap();
        says(&refused, &["up.pb", "no message of this protocol"]);
    }
    // Whatever a byte becomes, there is a result or one sentence.
    for at in 0..response.len() {
        for value in [0, 0x08, 0x0a, 0x7f, 0x80, 0xff] {
            let mut bytes = response.clone();
            bytes[at] = value;
            let bytes = Box::new(std::io::Cursor::new(bytes));
            let memory = warpstride_core::system::Memory::available();
            match as_text("up.pb", Path::new("up.pb"), bytes, memory) {
                Ok(mut stream) => {
                    let mut text = String::new();
                    let _ = std::io::Read::read_to_string(&mut stream.bytes, &mut text);
                }
                Err(refused) => assert!(!refused.to_string().contains('\n')),
            }
        }
    }
    let nameless = time_series(&[("job", "a")], &[(1.0, 1_392_388_200_000)]);
    let refused = plain(&field(1, &field(1, &nameless))).err().unwrap();
    says(&refused, &["expected a label __name__"]);
    let refused = plain(&field(1, b"")).err().unwrap();
    says(&refused, &["without series"]);
    let packed = |bytes: &[u8]| read_bytes("up.snappy", bytes, &ReadOptions::default());
    // A block of five bytes that stands for 4 GiB.
    let refused = packed(b"\xff\xff\xff\xff\x0f").err().unwrap();
    says(&refused, &["Snappy block", "cannot stand for 4294967295"]);
    let refused = packed(b"\x05abc").err().unwrap();
    says(&refused, &["Snappy block"]);
}
