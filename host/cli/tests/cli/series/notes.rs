//! Notes to the user: duplicates, inputs given twice, plots that cannot be drawn, assumptions.

use super::super::support::TestFolder;
use super::{NOON, json, resample, rows};

#[test]
fn notes_count_left_out_points_without_a_table() {
    let dir = TestFolder::new();
    for name in ["a.csv", "b.csv"] {
        let text = "series,timestamp_s,value\ncpu,0,1\ncpu,10,2\ncpu,20,nan\n";
        std::fs::write(dir.path(name), text).unwrap();
    }
    let all = ["a.csv", "b.csv", "-o", "-", "-a", "count", "--nan", "skip"];
    let kept = resample(&dir, &all);
    assert_eq!(rows(&kept.out)[0].value, 4.0, "{kept:?}");
    assert!(
        kept.err
            .contains("2 points have the series and time of an earlier one"),
        "{kept:?}"
    );
    let options = [&all[..], &["--duplicates", "first"]].concat();
    let result = resample(&dir, &options);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(rows(&result.out)[0].value, 2.0);
    for part in [
        "note: 2 duplicates were left out",
        "note: 2 NaN points were left out",
    ] {
        assert!(result.err.contains(part), "{result:?}");
    }
    resample(&dir, &[&options[..], &["--quiet"]].concat()).well();
    // The same file under another path is rejected.
    let result = resample(&dir, &["a.csv", "./a.csv", "-o", "o.csv"]);
    result.refused(2, &["./a.csv", "found it twice"]);
}

#[test]
fn a_failed_plot_keeps_the_results() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("nan.csv"), "timestamp_s,value\n0,nan\n10,inf\n").unwrap();
    let options = [
        "nan.csv",
        "-o",
        "o.csv",
        "--plot",
        "p.png",
        "--summary",
        "s.json",
    ];
    let result = resample(&dir, &[&options[..], &["--quiet"]].concat());
    result.refused(1, &["--plot p.png", "no value is finite", "o.csv"]);
    assert!(dir.path("o.csv").exists() && !dir.path("p.png").exists());
    assert_eq!(json(&dir, "s.json")["rows"], 1);
    // One point per bucket: no standard deviation at all.
    let options = [&options[..], &["--quiet", "-a", "std", "-g", "10s"]].concat();
    resample(&dir, &options).refused(1, &["--plot p.png", "there is no value", "o.csv"]);
}

#[test]
fn assumptions_are_noted_once() {
    let dir = TestFolder::new();
    for number in 0..20 {
        let text = format!("{},0.5\n", NOON + number);
        std::fs::write(dir.path(&format!("{number}.csv")), text).unwrap();
    }
    std::fs::write(dir.path("odd.csv"), "time_s,value,value\n0,1,2\n").unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("{number}.csv")).collect();
    let names = names.iter().map(String::as_str).chain(["odd.csv"]);
    let options: Vec<&str> = names.chain(["-o", "-", "-a", "last"]).collect();
    let result = resample(&dir, &options);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(result.err.lines().count(), 3, "{result:?}");
    for part in [
        "0.csv and 19 other inputs: no header: columns are used by position, 1 as timestamp, 2 as value",
        "odd.csv: columns 2 and 3 are both named 'value': using the values of column 2",
        "odd.csv: unused columns: value",
    ] {
        assert!(result.err.contains(part), "{part}: {result:?}");
    }
    let last = rows(&result.out)
        .into_iter()
        .find(|row| row.series == "odd");
    assert_eq!(last.unwrap().value, 1.0);
}

#[test]
fn oversized_numbers_and_lines_are_malformed_rows() {
    let dir = TestFolder::new();
    let long = "7".repeat(2 << 20);
    let text = format!("timestamp_s,value\n0,1\n1,{long}\n2,1e400\n3,-1e400\n4,inf\n5,2\n");
    std::fs::write(dir.path("a.csv"), text).unwrap();
    resample(&dir, &["a.csv", "-o", "o.csv"]).refused(1, &["a.csv", "line 3", "1048576"]);
    let options = ["a.csv", "-o", "-", "-a", "count", "--on-error", "skip"];
    let result = resample(&dir, &options);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(rows(&result.out)[0].value, 3.0);
    assert!(
        result.err.contains("3 malformed rows were left out"),
        "{result:?}"
    );
    std::fs::write(dir.path("b.csv"), "timestamp_s,value\n2,1e400\n").unwrap();
    resample(&dir, &["b.csv", "-o", "o.csv"]).refused(1, &["line 2", "1e400", "1.8e308"]);
}

/// The last progress entry counts all points.
#[test]
fn the_last_progress_entry_has_all_points() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("a.csv"), "timestamp_s,value\n0,1\n10,2\n").unwrap();
    let result = resample(&dir, &["a.csv", "-o", "o.csv", "--json-progress"]);
    result.well();
    let entries: Vec<serde_json::Value> = result
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &serde_json::Value| line["event"] == "iteration")
        .collect();
    let last = entries.last().unwrap();
    assert_eq!(
        (&last["stage"], &last["points"]),
        (&"resample".into(), &2.into())
    );
}
