//! Curves in bounded memory, and their plots.

use super::drawing::{COLOURS, SIZE};
use super::time_axis::{DAY, SECOND, TimeAxis};
use super::*;
use warpstride_report::canvas::width_of;
use warpstride_report::png::Rgb;

const MINUTE: Granularity = Granularity::Fixed(60 * SECOND as u64);
const SECONDS: Granularity = Granularity::Fixed(SECOND as u64);

fn of(title: &str, granularity: Granularity) -> SeriesCurves {
    SeriesCurves::new(title.to_owned(), granularity)
}

#[test]
fn long_curves_keep_their_extremes_in_constant_memory() {
    let mut curves = of("mean, 1s", SECONDS);
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
fn the_plot_has_the_colours_of_its_curves() {
    let mut curves = of("mean, 1m", MINUTE);
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
    let image = Rgb::read(&png);
    assert_eq!((image.width(), image.height()), SIZE);
    for colour in COLOURS {
        let count = image
            .all()
            .iter()
            .filter(|p| **p == [colour.0, colour.1, colour.2])
            .count();
        assert!(count > 300, "{colour:?} {count}");
    }
}

#[test]
fn extreme_and_missing_values_do_not_panic() {
    assert!(
        of("", SECONDS)
            .png()
            .unwrap_err()
            .to_string()
            .contains("no value")
    );
    let mut curves = of("x", SECONDS);
    curves.add(0, "nan", &[0, 1], &[f64::NAN, f64::INFINITY]);
    let refused = curves.png().unwrap_err().to_string();
    assert!(refused.contains("no value is finite"), "{refused}");
    for (starts, values) in [
        (vec![0], vec![0.0]),
        (vec![-4 * DAY, i64::MAX - 1], vec![f64::MIN, f64::MAX]),
        (vec![1, 2], vec![5e-324, -5e-324]),
        (vec![i64::MAX], vec![-0.0]),
    ] {
        let mut curves = of("x", SECONDS);
        curves.add(0, "a", &starts, &values);
        assert!(curves.png().is_ok());
    }
}

/// Labels are at least a letter apart for every span, and none occurs twice.
#[test]
fn time_labels_are_legible() {
    const WIDTH: usize = 1200;
    let begin = 1_388_577_601 * SECOND;
    for span in [
        1,
        50,
        SECOND / 10,
        SECOND,
        59 * SECOND,
        3600 * SECOND,
        DAY,
        5 * DAY,
        30 * DAY,
        90 * DAY,
        365 * DAY,
        913 * DAY,
        4000 * DAY,
        i64::MAX / 2,
    ] {
        for start in [begin, i64::MAX - span, 0] {
            let times = start..start.saturating_add(span);
            let axis = TimeAxis::new(times.clone(), (times.start, times.end), WIDTH, None);
            let labels = axis.labels();
            let widest = labels.iter().map(|l| width_of(l)).max().unwrap_or(0);
            assert!(
                (widest + width_of("0")) * labels.len() <= WIDTH,
                "{span} {labels:?}"
            );
            assert!(labels.len() > 1 || span < 10, "{span}: {labels:?}");
            assert!(
                labels.windows(2).all(|pair| pair[0] != pair[1]),
                "{labels:?}"
            );
            // The axis title contains the year.
            let year = crate::io::iso(start)[..4].to_owned();
            assert!(axis.title.contains(&year), "{}", axis.title);
        }
    }
    let day = TimeAxis::new(begin..begin + DAY, (begin, begin + DAY), WIDTH, None);
    assert!(
        day.title.ends_with("2014-01-01 to 2014-01-02"),
        "{}",
        day.title
    );
    assert!(
        day.labels().contains(&"01-02".to_owned()),
        "{:?}",
        day.labels()
    );
}

/// Missing buckets remain gaps after cells are merged.
#[test]
fn gaps_are_preserved() {
    let mut curves = of("mean, 1s", SECONDS);
    // Twenty runs of buckets with a day between them.
    let starts: Vec<i64> = (0..20_000).map(|i| i * SECOND + i / 1000 * DAY).collect();
    curves.add(0, "a", &starts, &vec![1.0; starts.len()]);
    let cells = &curves.curves[0].cells;
    assert!(cells.len() <= CELLS);
    assert_eq!(cells.iter().filter(|cell| !cell.joined).count(), 20);
    assert_eq!(cells.iter().map(|cell| cell.rows).sum::<usize>(), 20_000);
    // A curve of gaps only, in bounded memory.
    let mut curves = of("mean, 1s", SECONDS);
    let starts: Vec<i64> = (0..50_000).map(|i| i * 2 * SECOND).collect();
    curves.add(0, "a", &starts, &vec![1.0; starts.len()]);
    assert!(curves.curves[0].cells.len() <= CELLS);
    // Consecutive months of different lengths.
    let mut curves = of("mean, M", "M".parse().unwrap());
    curves.add(0, "a", &[0, 31 * DAY, 59 * DAY, 120 * DAY], &[1.0; 4]);
    let joined: Vec<bool> = curves.curves[0].cells.iter().map(|c| c.joined).collect();
    assert_eq!(joined, [false, true, true, false]);
}

/// Ticks are at round local times, also beside a change of the clocks, and the zone is named.
#[test]
fn the_time_axis_shows_local_times() {
    let zone = crate::Zone::named("Europe/Zurich").unwrap();
    let axis = |times: std::ops::Range<i64>| {
        TimeAxis::new(times.clone(), (times.start, times.end), 1200, Some(zone))
    };
    // 2026-03-28T23:30Z to 12 hours later: clocks are set forward at 01:00Z.
    let begin = 1_774_740_600 * SECOND;
    let day = axis(begin..begin + 12 * 3600 * SECOND);
    let labels = day.labels();
    let expected = ["01:00", "03:00", "04:00", "05:00"];
    assert_eq!(labels[..4], expected, "{labels:?}");
    let title = "time of the day (Europe/Zurich), 2026-03-29";
    assert_eq!(day.title, title);
    // Midnights of local days and months.
    let days = axis(begin - DAY..begin + 4 * DAY);
    let labels = days.labels();
    assert!(labels.contains(&"03-30".to_owned()), "{labels:?}");
    let months = axis(begin..begin + 700 * DAY).labels();
    assert!(months.contains(&"2027-01".to_owned()), "{months:?}");
    // Half an hour that the clocks show twice, from 2026-10-25T00:10Z on.
    let begin = 1_792_887_000 * SECOND;
    let back = axis(begin..begin + 4 * 3600 * SECOND).labels();
    let count = |of: &str| back.iter().filter(|label| *label == of).count();
    assert_eq!((count("02:00"), count("02:30")), (1, 2), "{back:?}");
}
