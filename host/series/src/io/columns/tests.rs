//! Columns by name, by number, and by their contents.

use super::*;

fn chosen(header: &str, options: &ReadOptions) -> Result<Columns, String> {
    let names: Vec<String> = header.split(',').map(str::to_owned).collect();
    by_name("a.csv", &names, options, &mut Notes::default(), |_| false).map_err(|e| e.to_string())
}

fn only_series(columns: &Columns) -> Option<usize> {
    columns.series.columns().first().copied()
}

#[test]
fn usual_names_are_recognized() {
    for (header, expected) in [
        ("timestamp,value", (0, 1, None)),
        ("Series,Timestamp,Value", (1, 2, Some(0))),
        ("time,temperature", (0, 1, None)),
        ("metric,ts,reading", (1, 2, Some(0))),
        ("value, time ,name", (1, 0, Some(2))),
        (
            "series,granularity_s,aggregate,timestamp_ns,value",
            (3, 4, Some(0)),
        ),
        ("t,v", (0, 1, None)),
    ] {
        let columns = chosen(header, &ReadOptions::default()).unwrap();
        assert_eq!(
            (columns.time, columns.value, only_series(&columns)),
            expected,
            "{header}"
        );
    }
    assert_eq!(
        unit_of("timestamp_ns", false),
        super::super::TimeUnit::Nanoseconds
    );
    assert_eq!(unit_of("timestamp", true), super::super::TimeUnit::Auto);
    assert_eq!(unit_of("elapsed_ms", false), super::super::TimeUnit::Auto);
    let asked = unit_of("elapsed_ms", true);
    assert_eq!(asked, super::super::TimeUnit::Milliseconds);
}

#[test]
fn options_take_precedence() {
    let options = ReadOptions {
        time_column: Some("when".into()),
        value_column: Some("id".into()),
        ..ReadOptions::default()
    };
    let columns = chosen("time,when,id,value", &options).unwrap();
    assert_eq!(
        (columns.time, columns.value, only_series(&columns)),
        (1, 2, None)
    );
}

#[test]
fn repeated_names_are_noted() {
    let names = ["time", "value", "Value", "value"].map(str::to_owned);
    let mut notes = Notes::default();
    let columns = by_name("a.csv", &names, &ReadOptions::default(), &mut notes, |_| {
        false
    })
    .unwrap();
    assert_eq!(columns.value, 1);
    let described = notes.sentences().join("\n");
    assert!(
        described.contains("columns 2 and 3 are both named 'value'")
            && described.contains("using the values of column 2"),
        "{described}"
    );
    let of_two = Columns {
        time: 0,
        date: None,
        value: 2,
        series: SeriesKey::Column(1),
        unused: Vec::new(),
    };
    assert!(
        of_two
            .without_header()
            .ends_with("1 as timestamp, 2 as series, 3 as value")
    );
}

#[test]
fn undetermined_columns_are_reported() {
    let none = ReadOptions::default();
    let error = chosen("when,temperature", &none).unwrap_err();
    assert!(
        error.contains("when, temperature") && error.contains("time-column"),
        "{error}"
    );
    let error = chosen("time,a,b", &none).unwrap_err();
    assert!(error.contains("value-column"), "{error}");
    let options = ReadOptions {
        series_column: Some("host".into()),
        ..ReadOptions::default()
    };
    let error = chosen("time,value", &options).unwrap_err();
    assert!(
        error.contains("'host'") && error.contains("time, value"),
        "{error}"
    );
    let options = ReadOptions {
        value_column: Some("time".into()),
        ..ReadOptions::default()
    };
    assert!(chosen("time,value", &options).is_err());
}

#[test]
fn columns_without_a_header_are_numbered() {
    let none = ReadOptions::default();
    assert_eq!(by_number("a", 4, &none).unwrap(), None);
    assert_eq!(
        only_series(&by_number("a", 3, &none).unwrap().unwrap()),
        Some(0)
    );
    let options = ReadOptions {
        time_column: Some("4".into()),
        value_column: Some("1".into()),
        ..ReadOptions::default()
    };
    assert_eq!(by_number("a", 4, &options).unwrap().unwrap().time, 3);
    assert!(by_number("a", 3, &options).is_err());
}

#[test]
fn labels_and_ignored_columns_are_not_guessed() {
    let options = |labels: &[&str], ignored: &[&str]| ReadOptions {
        series_columns: labels.iter().map(|name| (*name).to_owned()).collect(),
        ignored_columns: ignored.iter().map(|name| (*name).to_owned()).collect(),
        ..ReadOptions::default()
    };
    // The only column left holds the values; the usual name `name` is not a series.
    let columns = chosen("time,name,temperature", &options(&["name"], &[])).unwrap();
    assert_eq!((columns.time, columns.value), (0, 2));
    assert_eq!(columns.series.columns(), [1]);
    let columns = chosen("time,name,value,note", &options(&[], &["name"])).unwrap();
    assert_eq!(columns.series, SeriesKey::File);
    assert_eq!(columns.unused, [(3, "note".to_owned())]);
    let columns = chosen("time,name,host,value", &options(&["host"], &[])).unwrap();
    assert_eq!(columns.unused, [(1, "name".to_owned())]);
    for twice in [options(&["a", "a"], &[]), options(&["a"], &["a"])] {
        let error = chosen("time,a,value", &twice).unwrap_err();
        assert!(error.contains("named twice"), "{error}");
    }
}

#[test]
fn texts_are_neither_numbers_nor_times() {
    let of = |text: &str| UnusedField::of(text.as_bytes());
    for text in ["web", "eu-west 1", "true", "1.5.5", "0x10"] {
        assert_eq!(of(text), UnusedField::Text, "{text}");
    }
    for text in ["1", "-2.5e3", "nan", "inf", " 7 ", "1392388200.5"] {
        assert_eq!(of(text), UnusedField::Other, "{text}");
    }
    for text in ["", " ", "-", "N/A", "null"] {
        assert_eq!(of(text), UnusedField::Other, "{text}");
    }
    let dates = ["2014-01-01T12:00:00Z", "2014-01-01", "1950-01-01"].map(of);
    for (position, date) in dates.iter().enumerate() {
        assert!(matches!(date, UnusedField::Date(_)), "{date:?}");
        assert!(!dates[..position].contains(date), "{date:?}");
    }
    assert_eq!(of(" 2014-01-01 "), dates[1]);
}
