//! What is kept and what is told of it: duplicates, inputs of two names, plots that cannot be drawn, assumptions.

use super::super::support::Place;
use super::{json, resample, rows};

#[test]
fn what_is_left_out_is_told_where_there_is_no_table() {
    let place = Place::new();
    for name in ["a.csv", "b.csv"] {
        let text = "series,timestamp,value\ncpu,0,1\ncpu,10,2\ncpu,20,nan\n";
        std::fs::write(place.path(name), text).unwrap();
    }
    let options = ["a.csv", "b.csv", "-o", "-", "-a", "count", "--nan", "skip"];
    let said = resample(&place, &options);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(rows(&said.out)[0].value, 2.0);
    for part in [
        "note: 2 duplicates were left out",
        "note: 2 points of NaN were left out",
    ] {
        assert!(said.err.contains(part), "{said:?}");
    }
    resample(&place, &[&options[..], &["--quiet"]].concat()).well();
    // The same file by another name is not read twice.
    let said = resample(&place, &["a.csv", "./a.csv", "-o", "o.csv"]);
    said.refused(2, &["./a.csv", "named twice"]);
}

#[test]
fn a_plot_that_cannot_be_drawn_takes_no_results_away() {
    let place = Place::new();
    std::fs::write(place.path("nan.csv"), "timestamp,value\n0,nan\n10,inf\n").unwrap();
    let options = [
        "nan.csv",
        "-o",
        "o.csv",
        "--plot",
        "p.png",
        "--summary",
        "s.json",
    ];
    let said = resample(&place, &[&options[..], &["--quiet"]].concat());
    said.refused(1, &["--plot p.png", "no value is finite", "o.csv"]);
    assert!(place.path("o.csv").exists() && !place.path("p.png").exists());
    assert_eq!(json(&place, "s.json")["rows"], 1);
    // One point a bucket: no deviation at all.
    let options = [&options[..], &["--quiet", "-a", "std", "-g", "10s"]].concat();
    resample(&place, &options).refused(1, &["--plot p.png", "there is no value", "o.csv"]);
}

#[test]
fn assumptions_are_told_once() {
    let place = Place::new();
    for number in 0..20 {
        let text = format!("{number},0.5\n");
        std::fs::write(place.path(&format!("{number}.csv")), text).unwrap();
    }
    std::fs::write(place.path("odd.csv"), "time,value,value\n0,1,2\n").unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("{number}.csv")).collect();
    let names = names.iter().map(String::as_str).chain(["odd.csv"]);
    let options: Vec<&str> = names.chain(["-o", "-", "-a", "last"]).collect();
    let said = resample(&place, &options);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.err.lines().count(), 3, "{said:?}");
    for part in [
        "0.csv and 19 other inputs: no header: columns are taken by their place, 1 as timestamp, 2 as value",
        "odd.csv: columns 2 and 3 are both named 'value': the values are those of column 2",
        "odd.csv: columns that are not used: value",
    ] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    let last = rows(&said.out).into_iter().find(|row| row.series == "odd");
    assert_eq!(last.unwrap().value, 1.0);
}

#[test]
fn numbers_and_lines_that_are_too_long_are_bad_rows() {
    let place = Place::new();
    let long = "7".repeat(2 << 20);
    let text = format!("timestamp,value\n0,1\n1,{long}\n2,1e400\n3,-1e400\n4,inf\n5,2\n");
    std::fs::write(place.path("a.csv"), text).unwrap();
    resample(&place, &["a.csv", "-o", "o.csv"]).refused(1, &["a.csv", "line 3", "1048576"]);
    let options = ["a.csv", "-o", "-", "-a", "count", "--on-error", "skip"];
    let said = resample(&place, &options);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(rows(&said.out)[0].value, 3.0);
    assert!(
        said.err.contains("3 malformed rows were left out"),
        "{said:?}"
    );
    std::fs::write(place.path("b.csv"), "timestamp,value\n2,1e400\n").unwrap();
    resample(&place, &["b.csv", "-o", "o.csv"]).refused(1, &["line 2", "1e400", "1.8e308"]);
}

/// The last entry says all.
#[test]
fn the_last_entry_of_progress_has_all_points() {
    let place = Place::new();
    std::fs::write(place.path("a.csv"), "timestamp,value\n0,1\n10,2\n").unwrap();
    let said = resample(&place, &["a.csv", "-o", "o.csv", "--json-progress"]);
    said.well();
    let entries: Vec<serde_json::Value> = said
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
