//! What a run that stores nothing leaves behind, and names that no store takes.

use super::super::support::Place;
use super::{NOON, series_csv, write, zip};

fn ingest(place: &Place, options: &[&str]) -> super::super::support::Said {
    let fixed = ["series", "ingest", "store", "in.csv", "--backend", "cpu"];
    place.run(&[&fixed, options].concat())
}

#[test]
fn no_store_is_left_where_nothing_was_stored() {
    let place = Place::new();
    write(&place, "in.csv", "series,timestamp,value\ncpu,never,1\n");
    ingest(&place, &["--policy", "low"]).refused(1, &["line 2", "never"]);
    assert_eq!(place.names(), ["in.csv"]);
    let text = series_csv("cpu", &zip(&[0, 10], &[1., 2.]));
    write(&place, "in.csv", &format!("series,timestamp,value\n{text}"));
    let said = ingest(&place, &["--policy", "low", "--start", "2020-01-01"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("store: was not made"), "{said:?}");
    assert_eq!(place.names(), ["in.csv"]);
    // One that was there stays, and one of a batch too.
    ingest(&place, &["--policy", "low"]).well();
    ingest(&place, &["--start", "2020-01-01"]).well();
    write(
        &place,
        "in.csv",
        &format!("series,timestamp,value\n{text}cpu,never,1\n"),
    );
    ingest(&place, &["--batch", "1"]).refused(1, &["line 4"]);
    let query = [
        "series", "query", "store", "-s", "cpu", "-g", "5m", "-a", "count",
    ];
    let said = place.run(&query);
    said.well();
    assert!(said.out.contains(&format!("{NOON}000000000,2")), "{said:?}");
    let iso = ["--json", "--timestamps", "iso"];
    place
        .run(&[&query[..], &iso].concat())
        .refused(2, &["--timestamps iso", "--json"]);
}

#[test]
fn names_that_are_too_long_are_bad_rows() {
    let place = Place::new();
    let text = format!(
        "series,timestamp,value\n{}{}",
        series_csv("cpu", &[(0, 1.0)]),
        series_csv(&"n".repeat(4097), &[(0, 1.0)])
    );
    write(&place, "in.csv", &text);
    ingest(&place, &["--policy", "low"]).refused(1, &["in.csv", "line 3", "4097 bytes", "4096"]);
    let said = ingest(&place, &["--policy", "low", "--on-error", "skip"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("1 malformed row"), "{said:?}");
}
