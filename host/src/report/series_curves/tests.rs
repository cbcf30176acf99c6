//! Curves in constant memory, and pictures of them.

use super::time_axis::{DAY, MARKS, date};
use super::*;

#[test]
fn dates_are_those_of_the_calendar() {
    for (days, expected) in [
        (0, [1970, 1, 1]),
        (-4, [1969, 12, 28]),
        (59, [1970, 3, 1]),
        (11_016, [2000, 2, 29]),
        (16_071, [2014, 1, 1]),
        (106_751, [2262, 4, 11]),
    ] {
        assert_eq!(date(days), expected, "{days}");
    }
}

#[test]
fn long_curves_keep_their_extremes_in_constant_memory() {
    let mut curves = SeriesCurves::new("mean, 1s".to_owned());
    let values: Vec<f64> = (0..100_000).map(|i| f64::from(i % 1000)).collect();
    let starts: Vec<i64> = (0..100_000).map(|i| i * SECOND).collect();
    for (starts, values) in starts.chunks(777).zip(values.chunks(777)) {
        curves.add(0, "a", starts, values);
    }
    let curve = &curves.curves[0];
    assert!(
        curve.cells.len() <= CELLS && curve.stride == 32,
        "{}",
        curve.stride
    );
    assert!(
        curve
            .cells
            .windows(2)
            .all(|pair| pair[0].time < pair[1].time)
    );
    assert_eq!(
        curve.cells.iter().map(|c| c.greatest).fold(0.0, f64::max),
        999.0
    );
    assert_eq!(curve.cells[0].time, 0);
}

#[test]
fn the_picture_has_the_colours_of_its_curves() {
    let mut curves = SeriesCurves::new("mean, 1m".to_owned());
    for series in 0..10_usize {
        let starts: Vec<i64> = (0..100)
            .map(|i| 1_388_577_600 * SECOND + i * 60 * SECOND)
            .collect();
        let values: Vec<f64> = (0..100)
            .map(|i| f64::from(i).sin() + series as f64 * 3.0)
            .collect();
        curves.add(series, "cpu", &starts, &values);
    }
    assert!(curves.note().unwrap().contains("first 8 of 10"));
    let png = curves.png().unwrap().png;
    let image = image::load_from_memory(&png).unwrap().to_rgb8();
    assert_eq!(image.dimensions(), SIZE);
    for colour in COLOURS {
        let count = image
            .pixels()
            .filter(|p| p.0 == [colour.0, colour.1, colour.2])
            .count();
        assert!(count > 300, "{colour:?} {count}");
    }
}

#[test]
fn extremes_and_nothing_are_no_panic() {
    assert!(SeriesCurves::new(String::new()).png().is_err());
    let mut curves = SeriesCurves::new("x".to_owned());
    curves.add(0, "nan", &[0, 1], &[f64::NAN, f64::INFINITY]);
    assert!(curves.png().is_err());
    for (starts, values) in [
        (vec![0], vec![0.0]),
        (vec![-4 * DAY, i64::MAX - 1], vec![f64::MIN, f64::MAX]),
        (vec![1, 2], vec![5e-324, -5e-324]),
        (vec![i64::MAX], vec![-0.0]),
    ] {
        let mut curves = SeriesCurves::new("x".to_owned());
        curves.add(0, "a", &starts, &values);
        assert!(curves.png().is_ok());
    }
}

#[test]
fn marks_are_few_and_inside() {
    for span in [
        1,
        59,
        60,
        3600,
        86_400,
        5 * 86_400,
        90 * 86_400,
        4000 * 86_400,
        9_000_000_000,
    ] {
        let begin = 1_388_577_601 * SECOND;
        let times = begin.min(i64::MAX - span * SECOND)
            ..begin.min(i64::MAX - span * SECOND) + span * SECOND;
        let marks = Marks::of(&times);
        assert!(marks.places.len() <= MARKS as usize + 1, "{span}");
        assert!(
            marks
                .places
                .iter()
                .all(|t| times.contains(t) || *t == times.end)
        );
    }
}
