//! The part of time series in `warpstride demo`.

use crate::demo::{Demo, DemoPart, Summary};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::time::Instant;

/// Aggregates a day of telemetry by minutes, and by hours and days.
pub(crate) fn demo(demo: &Demo) -> Result<DemoPart, Failure> {
    let (points, summary) = (demo.file("telemetry.csv"), demo.file("telemetry.json"));
    std::fs::write(&points, telemetry())
        .map_err(|why| Failure::failed(format!("{}: {why}", points.display())))?;
    let begin = Instant::now();
    let (minutes, hours) = (demo.file("minutes.csv"), demo.file("hours.csv"));
    let picture = demo.file("telemetry.png");
    demo.run([
        OsStr::new("series"),
        "resample".as_ref(),
        points.as_ref(),
        "-o".as_ref(),
        minutes.as_ref(),
        "--granularity".as_ref(),
        "1m".as_ref(),
        "--aggregate".as_ref(),
        "mean,max,95pct".as_ref(),
        "--plot".as_ref(),
        picture.as_ref(),
        "--summary".as_ref(),
        summary.as_ref(),
    ])?;
    demo.run([
        OsStr::new("series"),
        "resample".as_ref(),
        points.as_ref(),
        "-o".as_ref(),
        hours.as_ref(),
        "--granularity".as_ref(),
        "1h,1d".as_ref(),
        "--aggregate".as_ref(),
        "all".as_ref(),
    ])?;
    Ok(DemoPart {
        heading: "Time series: a day of three series aggregated twice",
        seconds: begin.elapsed().as_secs_f64(),
        lines: line(&Summary::read(&summary)?)?,
        reports: Vec::new(),
    })
}

/// A day of points as CSV, one a second and series: a temperature with its daily course, a load
/// with its peaks, and requests that come in waves.
fn telemetry() -> String {
    const BEGIN: u64 = 1_767_225_600; // 2026-01-01
    const DAY: u32 = 86_400;
    let mut text = String::from("series,timestamp,value\n");
    let mut noise = 1_u64;
    for second in 0..DAY {
        // Knuth's linear congruential generator (MMIX).
        let mut random = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005);
            noise = noise.wrapping_add(1_442_695_040_888_963_407);
            (noise >> 40) as f64 / f64::from(1_u32 << 24) - 0.5
        };
        let day = f64::from(second) / f64::from(DAY) * std::f64::consts::TAU;
        let temperature = 24.0 - 6.0 * day.cos() + random();
        let peak = if second / 1800 % 7 == 3 { 25.0 } else { 0.0 };
        let load = 30.0 - 15.0 * day.cos() + peak + 8.0 * random();
        let requests = 20.0 + 8.0 * (12.0 * day).sin() + 10.0 * random();
        let time = BEGIN + u64::from(second);
        for (name, value) in [
            ("temperature", temperature),
            ("load", load),
            ("requests", requests),
        ] {
            text += &format!("{name},{time},{value:.3}\n");
        }
    }
    text
}

fn line(summary: &Summary) -> Result<String, Failure> {
    Ok(format!(
        "Backend {}, {} points of {} series, {:.1} million points a second",
        summary.word("backend"),
        summary.number("points")?,
        summary.number("series")?,
        summary.number("points_per_second")? / 1e6
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telemetry_is_a_day_of_three_series() {
        assert_eq!(telemetry().lines().count(), 3 * 86_400 + 1);
    }

    #[test]
    fn the_line_has_the_metrics() {
        let text = br#"{"backend": "cpu", "points": 259200, "series": 3,
            "points_per_second": 5.24e6}"#;
        let line = line(&Summary::parse("s.json", text).unwrap()).unwrap();
        let expected = "Backend cpu, 259200 points of 3 series, 5.2 million points a second";
        assert_eq!(line, expected);
    }
}
