//! Values that stand for missing ones, such as −9999: a note names them, and an option leaves them
//! out.

use super::super::support::TestFolder;
use super::{Row, resample, rows};

/// (time, value) of rows of an hour; 20:00 and 23:00 have the `number`.
fn table(separator: &str, number: &str) -> String {
    let hours = (18..24).map(|hour| {
        let value = match hour {
            20 | 23 => number.to_owned(),
            _ => format!("{}.5", hour - 20),
        };
        format!("2024-06-05T{hour}:00:00Z{separator}{value}\n")
    });
    std::iter::once(format!("time{separator}value\n"))
        .chain(hours)
        .collect()
}

fn counts(rows: &[Row]) -> Vec<f64> {
    let of_counts = rows.iter().filter(|row| row.aggregate == "count");
    of_counts.map(|row| row.value).collect()
}

/// The counts of a file, as it is and with `--missing-values`; the note is there without it only.
#[track_caller]
fn left_out(dir: &TestFolder, file: &str, options: &[&str], number: &str) -> [Vec<f64>; 2] {
    let fixed = [file, "-o", "-", "-g", "1d", "-a", "count,min,max"];
    let options = [&fixed[..], options].concat();
    let before = resample(dir, &options);
    let what = format!("the value {number} occurs 2 times, far ");
    let remedy = format!("--missing-values {number} leaves it out");
    for part in [&what, &remedy] {
        assert!(before.err.contains(part.as_str()), "{part}: {before:?}");
    }
    let after = resample(dir, &[&options[..], &["--missing-values", number]].concat());
    assert!(!after.err.contains("occurs"), "{after:?}");
    let left_out = "2 values of --missing-values are no points";
    assert!(after.err.contains(left_out), "{after:?}");
    let (before, after) = (rows(&before.out), rows(&after.out));
    assert!(
        after.iter().all(|row| row.value.abs() < 2000.0),
        "{after:?}"
    );
    [counts(&before), counts(&after)]
}

#[test]
fn they_are_noted_and_left_out_in_all_formats() {
    let dir = TestFolder::new();
    for number in [
        "-9999",
        "-999",
        "-99999",
        "-999.9",
        "9.96921e36",
        "1e20",
        "9999",
        "-127",
        "-32768",
        "65535",
        "-2147483648",
        "-1e34",
        "-3.4e38",
    ] {
        std::fs::write(dir.path("a.csv"), table(",", number)).unwrap();
        let found = left_out(&dir, "a.csv", &[], number);
        assert_eq!(found, [vec![6.0], vec![4.0]], "{number}");
    }
    let text = table(";", "-999,90").replace(".5", ",5");
    std::fs::write(dir.path("comma.csv"), text).unwrap();
    let found = left_out(&dir, "comma.csv", &["--decimal-comma"], "-999.9");
    assert_eq!(found, [vec![6.0], vec![4.0]]);
    // The tables of hours are the points again.
    std::fs::write(dir.path("a.csv"), table(",", "-9999")).unwrap();
    let hours = ["a.csv", "-g", "1h", "-a", "first", "-o", "a.parquet"];
    assert_eq!(resample(&dir, &hours).code, Some(0));
    let ignored = ["--ignore-columns", "granularity_s,aggregate"];
    let found = left_out(&dir, "a.parquet", &ignored, "-9999");
    assert_eq!(found, [vec![6.0], vec![4.0]]);
    let wide = "time,temperature,pressure\n2024-06-05T10:00:00Z,-9999,1013\n2024-06-05T11:00:00Z,21.5,1014\n2024-06-05T12:00:00Z,20.5,-9999\n";
    std::fs::write(dir.path("wide.csv"), wide).unwrap();
    let found = left_out(&dir, "wide.csv", &["--wide"], "-9999");
    assert_eq!(found, [vec![3.0, 3.0], vec![2.0, 2.0]]);
    let metrics = "# TYPE level gauge\nlevel -9999 1717581600000\nlevel 1.5 1717581660000\nlevel -9999 1717581720000\n";
    std::fs::write(dir.path("m.prom"), metrics).unwrap();
    let found = left_out(&dir, "m.prom", &[], "-9999");
    assert_eq!(found, [vec![3.0], vec![1.0]]);
}

#[test]
fn other_values_are_not_doubted_and_wrong_options_are_refused() {
    let dir = TestFolder::new();
    for number in [
        "-99",
        "-9998",
        "0",
        "999",
        "18446744073709551615",
        "NA",
        "nan",
    ] {
        std::fs::write(dir.path("a.csv"), table(",", number)).unwrap();
        let result = resample(&dir, &["a.csv", "-o", "-", "-g", "1d"]);
        assert_eq!(result.code, Some(0), "{number}: {result:?}");
        assert!(!result.err.contains("occurs"), "{number}: {result:?}");
    }
    std::fs::write(dir.path("a.csv"), table(",", "-999")).unwrap();
    let options = ["a.csv", "-o", "o.csv", "--missing-values", "NA"];
    resample(&dir, &options).refused(2, &["--missing-values NA: expected a number such as -9999"]);
    std::fs::write(dir.path("a.csv"), "time,value\n2024-06-05T10:00:00Z,-999\n").unwrap();
    let options = ["a.csv", "-o", "o.csv", "--missing-values", "-9999,-999"];
    resample(&dir, &options).refused(1, &["a.csv", "rows without any value"]);
}
