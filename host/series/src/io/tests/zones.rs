//! Formats of timestamps that options name, and local times in time zones.

use super::*;
use crate::Zone;
use crate::io::{Ambiguous, TimeFormat, TimeUnit, iso, moment, moment_in};

fn in_format(format: &str) -> ReadOptions {
    ReadOptions {
        time_format: format.parse().unwrap_or_else(|e| panic!("{e}")),
        ..ReadOptions::default()
    }
}

fn in_zurich(ambiguous: Ambiguous) -> ReadOptions {
    ReadOptions {
        zone: Some(Zone::named("Europe/Zurich").unwrap()),
        ambiguous,
        ..ReadOptions::default()
    }
}

/// The times of a file with these timestamps.
fn times(texts: &[&str], options: &ReadOptions) -> Result<Vec<String>, String> {
    let rows: String = texts.iter().map(|text| format!("\"{text}\",1\n")).collect();
    let text = format!("timestamp,value\n{rows}");
    let read = read_bytes("cpu.csv", text.as_bytes(), options)?;
    Ok(read.batch.times().iter().map(|time| iso(*time)).collect())
}

#[test]
fn formats_of_one_time() {
    let expected = Ok(vec!["2014-02-14T14:30:00Z".to_owned()]);
    for (format, text) in [
        ("iso", "2014-02-14 14:30"),
        ("iso", "2014-02-14T15:30:00+01:00"),
        ("rfc3339", "2014-02-14T15:30:00+01:00"),
        ("rfc3339", "2014-02-14 14:30:00Z"),
        ("unix", "1392388200"),
        ("unix-ms", "1392388200000"),
        ("unix-us", "1392388200000000"),
        ("unix-ns", "1392388200000000000"),
        ("%d.%m.%Y %H:%M", "14.02.2014 14:30"),
        ("%m/%d/%Y %I:%M %p", "02/14/2014 2:30 PM"),
        ("%Y%m%d%H%M", "201402141430"),
        ("%d/%b/%Y:%H:%M:%S %z", "14/Feb/2014:15:30:00 +0100"),
        ("%s", "1392388200"),
    ] {
        assert_eq!(times(&[text], &in_format(format)), expected, "{format}");
    }
    // A stated unit is not inferred from the size of numbers.
    let early = times(&["5"], &in_format("unix"));
    assert_eq!(early, Ok(vec!["1970-01-01T00:00:05Z".to_owned()]));
}

#[test]
fn other_formats_are_bad_rows() {
    for (format, text, expected) in [
        (
            "%d.%m.%Y %H:%M",
            "2014-02-14 14:30",
            "a time such as 31.12.2024 14:30",
        ),
        (
            "%d.%m.%Y %H:%M",
            "31.02.2014 14:30",
            "(--time-format '%d.%m.%Y %H:%M')",
        ),
        (
            "rfc3339",
            "2014-02-14T14:30:00",
            "RFC 3339 timestamp with offset",
        ),
        ("iso", "1392388200", "ISO 8601"),
        (
            "unix-ms",
            "2014-02-14",
            "a number of milliseconds since 1970",
        ),
        ("%d.%m.%Y", "31.12.1969", "from 1970"),
    ] {
        let good = match format {
            "rfc3339" => "2014-02-14T14:30:00Z",
            "iso" => "2014-02-14",
            "unix-ms" => "5",
            "%d.%m.%Y" => "14.02.2014",
            _ => "14.02.2014 14:30",
        };
        let error = times(&[good, text], &in_format(format)).unwrap_err();
        says(&error, &["cpu.csv: line 3: expected ", expected, text]);
    }
    for (format, part) in [("excel", "unix-ns"), ("%H:%M", "%H:%M"), ("", "unix-ns")] {
        let error = format.parse::<TimeFormat>().unwrap_err();
        says(&error, &[part, "found '"]);
    }
}

#[test]
fn local_times_of_zurich_in_2024() {
    let utc = |local: &str, ambiguous| times(&[local], &in_zurich(ambiguous));
    for (local, expected) in [
        ("2024-01-01 00:00", "2023-12-31T23:00:00Z"),
        ("2024-03-31 01:59:59.5", "2024-03-31T00:59:59.500Z"),
        ("2024-03-31 03:00", "2024-03-31T01:00:00Z"),
        ("2024-07-01", "2024-06-30T22:00:00Z"),
        ("2024-10-27 01:59", "2024-10-26T23:59:00Z"),
        ("2024-10-27 03:00", "2024-10-27T02:00:00Z"),
        // An offset is an offset.
        ("2024-10-27 02:30+02:00", "2024-10-27T00:30:00Z"),
        ("2024-10-27 02:30Z", "2024-10-27T02:30:00Z"),
    ] {
        assert_eq!(
            utc(local, Ambiguous::Refuse),
            Ok(vec![expected.to_owned()]),
            "{local}"
        );
    }
    let error = utc("2024-10-27 02:30", Ambiguous::Refuse).unwrap_err();
    says(
        &error,
        &["line 2", "Europe/Zurich show twice", "--ambiguous"],
    );
    for ambiguous in [Ambiguous::Refuse, Ambiguous::Earlier, Ambiguous::Later] {
        let error = utc("2024-03-31 02:30", ambiguous).unwrap_err();
        says(&error, &["line 2", "'2024-03-31 02:30'", "set forward"]);
    }
    for (ambiguous, which, expected) in [
        (Ambiguous::Earlier, "earlier", "2024-10-27T00:30:00Z"),
        (Ambiguous::Later, "later", "2024-10-27T01:30:00Z"),
    ] {
        let options = in_zurich(ambiguous);
        let text = b"timestamp,value\n2024-10-27 02:30,1\n2024-10-27 02:30:00+01:00,2\n 2024-10-27 02:30:00 ,3\n";
        let read = read_bytes("cpu.csv", text, &options).unwrap();
        assert_eq!(iso(read.batch.times()[0]), expected);
        says(&read.notes[0], &[which, "Europe/Zurich", ": 2"]);
        // The same in a format of the user's.
        let options = ReadOptions {
            time_format: "%d.%m.%Y %H:%M".parse().unwrap(),
            ..options
        };
        assert_eq!(
            times(&["27.10.2024 02:30"], &options),
            Ok(vec![expected.to_owned()])
        );
    }
    // Numbers since 1970 have no zone.
    let read = utc("1392388200", Ambiguous::Refuse);
    assert_eq!(read, Ok(vec!["2014-02-14T14:30:00Z".to_owned()]));
    let zone = Zone::named("Europe/Zurich").ok();
    assert_eq!(
        moment_in("2024-07-01", TimeUnit::Auto, zone),
        moment("2024-06-30T22:00", TimeUnit::Auto)
    );
    says(
        &moment_in("2024-10-27 02:30", TimeUnit::Auto, zone).unwrap_err(),
        &["twice"],
    );
}

/// Columns of a timestamp type without a zone are on local clocks, those with one are not.
#[cfg(feature = "parquet")]
#[test]
fn typed_timestamps_without_a_zone_are_local() {
    use super::arrow_files::{arrow, batch};
    use super::parquet_files::{Data, parquet, plain};
    use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, TimestampSecondArray};
    use std::sync::Arc;
    let one: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    // 2024-07-01T12:00.
    let noon = 1_719_835_200_i64;
    let naive = TimestampSecondArray::from(vec![noon]);
    let aware = naive.clone().with_timezone("UTC");
    let day = Date32Array::from(vec![i32::try_from(noon / 86_400).unwrap()]);
    let arrow = |time: ArrayRef| {
        arrow(
            &[batch(&[("time", time), ("value", Arc::clone(&one))])],
            true,
            None,
        )
    };
    let parquet = |utc| {
        parquet(
            &format!("required int64 time (TIMESTAMP(MILLIS,{utc})); required double value;"),
            plain(),
            &[vec![
                (Data::I64(vec![noon * 1000]), None),
                (Data::F64(vec![1.0]), None),
            ]],
        )
    };
    let options = in_zurich(Ambiguous::Refuse);
    for (bytes, expected) in [
        (arrow(Arc::new(naive)), "2024-07-01T10:00:00Z"),
        (arrow(Arc::new(aware)), "2024-07-01T12:00:00Z"),
        (arrow(Arc::new(day)), "2024-06-30T22:00:00Z"),
        (parquet(false), "2024-07-01T10:00:00Z"),
        (parquet(true), "2024-07-01T12:00:00Z"),
    ] {
        let read = read_bytes("cpu.bin", &bytes, &options).unwrap();
        assert_eq!(iso(read.batch.times()[0]), expected);
    }
    // Integers may be dates in a format of the user's.
    let dates: ArrayRef = Arc::new(Int64Array::from(vec![20_240_701]));
    let options = ReadOptions {
        time_format: "%Y%m%d".parse().unwrap(),
        ..options
    };
    let read = read_bytes("cpu.bin", &arrow(dates), &options).unwrap();
    assert_eq!(iso(read.batch.times()[0]), "2024-06-30T22:00:00Z");
    let read = read_bytes("cpu.bin", &parquet(true), &options).unwrap();
    says(&read.notes[0], &["--time-format has no effect"]);
}
