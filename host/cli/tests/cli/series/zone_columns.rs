//! Columns with the zones or offsets of times that have none of their own.

use super::units::sums;

const TWO: &str = "time,offset,value
2024-01-01 00:30:00,+01:00,1
2024-01-01 00:30:00,-05:00,2
";

#[test]
fn times_without_the_offsets_beside_them_are_refused() {
    let format = "--time-format '%Y-%m-%d %H:%M:%S %:z'";
    for options in [
        &[][..],
        &["--series-columns", "offset"],
        &["--ignore-columns", "offset"],
    ] {
        let refused = sums("a.csv", TWO, options);
        let remedy = "--date-column time --time-column offset";
        refused.refused(1, &["--timezone", "'+01:00'", remedy, format]);
    }
    for (name, cell) in [
        ("tz", "CET"),
        ("Time Zone", "Europe/Zurich"),
        ("utc_offset", "1"),
        ("utc_offset_minutes", "-300"),
        ("site", "Europe/Zurich"),
        ("shift", "UTC+1"),
    ] {
        let text =
            format!("time,{name},value\n2024-01-01 00:30,UTC,1\n2024-07-01 00:30,{cell},1\n");
        let text = match name {
            "site" | "shift" => text.replace("UTC,1\n2", &format!("{cell},1\n2")),
            _ => text,
        };
        for options in [&[][..], &["--ignore-columns", name]] {
            let quoted = format!("'{cell}'");
            sums("a.csv", &text, options).refused(1, &["--timezone", name, &quoted]);
        }
    }
    let wide = "time,utc_offset,a,b\n2024-01-01 00:30,2,1,2\n";
    sums("a.csv", wide, &["--wide"]).refused(1, &["--timezone", "utc_offset"]);
}

#[test]
fn ways_out_of_offsets_in_a_column_work() {
    let joined = [
        "--date-column",
        "time",
        "--time-column",
        "offset",
        "--time-format",
        "%Y-%m-%d %H:%M:%S %:z",
    ];
    let read = sums("a.csv", TWO, &joined);
    read.well();
    for row in ["sum,2023-12-31T00:00:00Z,1", "sum,2024-01-01T00:00:00Z,2"] {
        assert!(read.out.contains(row), "{read:?}");
    }
    for (zone, day) in [
        ("UTC", "2024-01-01T00:00:00+00:00"),
        ("Europe/Zurich", "2024-01-01T00:00:00+01:00"),
    ] {
        let options = ["--timezone", zone, "--ignore-columns", "offset"];
        let read = sums("a.csv", TWO, &options);
        assert!(read.out.contains(&format!("sum,{day},3")), "{read:?}");
    }
}

#[test]
fn zones_beside_times_that_need_none_are_no_error() {
    for text in [
        "time,tz,value\n2024-01-01 00:30,UTC,1\n",
        "time,tz,value\n2024-01-01T00:30Z,CET,1\n",
        "time,tz,value\n2024-01-01T00:30+01:00,CET,1\n",
        "time,tz,value\n1704067200,CET,1\n",
        "utc_time,tz,value\n2024-01-01 00:30,CET,1\n",
    ] {
        let read = sums("a.csv", text, &["--ignore-columns", "tz"]);
        read.well();
        assert!(read.out.contains(",1"), "{read:?}");
    }
    for text in [
        "time,offset,value\n2024-01-01 00:30,1700,1\n",
        "time,offset,value\n2024-01-01 00:30,-5,1\n",
        "time,zone,value\n2024-01-01 00:30,4,1\n",
        "time,utc_offset,value\n2024-01-01 00:30,0,1\n",
    ] {
        let read = sums("a.csv", text, &[]);
        assert!(
            read.code == Some(0) && read.err.contains("unused"),
            "{read:?}"
        );
    }
}
