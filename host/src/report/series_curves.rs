//! Curves of aggregates against time.

use super::bitmap::Bitmap;
use super::canvas::Canvas;
use super::curves::AXES;
use super::html::ReportError;
use super::numbers::significant;
use super::pictures::Picture;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;

/// Width and height, pixels.
const SIZE: (u32, u32) = (1400, 700);
/// Most cells of a curve: more than there are columns of pixels.
const CELLS: usize = 1 << 12;
/// Most curves.
const CURVES: usize = 8;
/// Legible on white, and told apart by most who are colour-blind (Okabe and Ito).
const COLOURS: [RGBColor; CURVES] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(150, 130, 20),
];
/// Height of letters, pixels.
const LETTERS: u32 = 16;
/// Most marks of the time axis.
const MARKS: i64 = 9;
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// Neighbouring rows of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    /// Of the first row, nanoseconds since 1970.
    time: i64,
    least: f64,
    greatest: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Curve {
    name: String,
    cells: Vec<Cell>,
    /// Rows of a cell.
    stride: usize,
    /// Rows in the last one.
    filled: usize,
}

/// Curves that take rows as they come, and no more memory the more rows there are.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesCurves {
    title: String,
    curves: Vec<Curve>,
    /// Number of the series that rows came of last.
    last: Option<usize>,
    /// Series that are not drawn.
    others: usize,
}

impl SeriesCurves {
    /// Without rows.
    #[must_use]
    pub fn new(title: String) -> Self {
        Self {
            title,
            curves: Vec::new(),
            last: None,
            others: 0,
        }
    }

    /// More rows of series `number`; those of one series come one after the other. Values that are not finite are left
    /// out.
    pub fn add(&mut self, number: usize, name: &str, starts: &[i64], values: &[f64]) {
        if self.last != Some(number) {
            self.last = Some(number);
            if self.curves.len() == CURVES {
                self.others += 1;
            } else {
                self.curves.push(Curve {
                    name: name.to_owned(),
                    cells: Vec::new(),
                    stride: 1,
                    filled: 0,
                });
            }
        }
        if self.others > 0 {
            return;
        }
        if let Some(curve) = self.curves.last_mut() {
            for (time, value) in starts.iter().zip(values) {
                curve.add(*time, *value);
            }
        }
    }

    /// That not all series are drawn.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        (self.others > 0).then(|| {
            format!(
                "the plot shows the first {CURVES} of {} series",
                CURVES + self.others
            )
        })
    }

    /// The picture.
    ///
    /// # Errors
    /// No value is finite; the encoder's.
    pub fn png(&self) -> Result<Picture, ReportError> {
        let (times, values) = self
            .ranges()
            .ok_or_else(|| ReportError("no value is finite".to_owned()))?;
        let mut canvas = Canvas::new(SIZE.0 as usize, SIZE.1 as usize);
        {
            let area = Bitmap::new(&mut canvas, SIZE).into_drawing_area();
            self.draw(&area, times, values)
                .map_err(|e| ReportError(e.to_string()))?;
        }
        Ok(Picture {
            png: canvas.png().map_err(|e| ReportError(e.to_string()))?,
            caption: self.title.clone(),
        })
    }

    /// Of times and of values, somewhat widened.
    fn ranges(&self) -> Option<(Range<i64>, Range<f64>)> {
        let cells = || self.curves.iter().flat_map(|curve| &curve.cells);
        let first = cells().map(|cell| cell.time).min()?;
        let last = cells().map(|cell| cell.time).max()?;
        let least = cells().map(|cell| cell.least).fold(f64::INFINITY, f64::min);
        let greatest = cells()
            .map(|cell| cell.greatest)
            .fold(f64::NEG_INFINITY, f64::max);
        // Halves: the difference of the greatest and the least double overflows.
        let margin = (greatest / 2.0 - least / 2.0) * 0.1;
        let margin = if margin > 0.0 {
            margin
        } else {
            (greatest.abs() * 0.1).max(1e-300)
        };
        let around = last.saturating_sub(first) / 50 + SECOND;
        Some((
            first.saturating_sub(around)..last.saturating_add(around),
            (least - margin).max(f64::MIN / 4.0)..(greatest + margin).min(f64::MAX / 4.0),
        ))
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
        times: Range<i64>,
        values: Range<f64>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let style = ("sans-serif", LETTERS as i32);
        let marks = Marks::of(&times);
        let unit = marks.unit;
        let axis = TimeAxis { times, marks };
        let mut chart = ChartBuilder::on(area)
            .margin(LETTERS)
            .margin_top(3 * LETTERS)
            .margin_right(4 * LETTERS)
            .x_label_area_size(3 * LETTERS)
            .y_label_area_size(7 * LETTERS)
            .build_cartesian_2d(axis, values.clone())?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(style)
            .x_desc(unit)
            .y_label_formatter(&|y| significant(*y, 3))
            .draw()?;
        let letter = LETTERS as i32;
        area.draw_text(
            &self.title,
            &style.into_text_style(area),
            (letter, letter / 2),
        )?;
        let mut right = letter;
        for (curve, colour) in self.curves.iter().zip(COLOURS) {
            let points = curve
                .cells
                .iter()
                .flat_map(|cell| [(cell.time, cell.least), (cell.time, cell.greatest)]);
            let points: Vec<(i64, f64)> = points.collect();
            if curve.cells.len() == 1 {
                chart.draw_series(points.iter().map(|at| Circle::new(*at, 4, colour.filled())))?;
            }
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            let key = [(right, 2 * letter), (right + letter, 3 * letter - 4)];
            area.draw(&Rectangle::new(key, colour.filled()))?;
            let name: String = curve.name.chars().take(24).collect();
            area.draw_text(
                &name,
                &style.into_text_style(area),
                (right + letter + 6, 2 * letter),
            )?;
            right += (name.chars().count() as i32 + 3) * letter;
        }
        area.present()
    }
}

impl Curve {
    fn add(&mut self, time: i64, value: f64) {
        if !value.is_finite() {
            return;
        }
        match self.cells.last_mut() {
            Some(cell) if self.filled < self.stride => {
                cell.least = cell.least.min(value);
                cell.greatest = cell.greatest.max(value);
                self.filled += 1;
                return;
            }
            _ => {}
        }
        if self.cells.len() == CELLS {
            let pairs = self.cells.chunks(2).map(|pair| Cell {
                time: pair[0].time,
                least: pair.iter().map(|c| c.least).fold(f64::INFINITY, f64::min),
                greatest: pair
                    .iter()
                    .map(|c| c.greatest)
                    .fold(f64::NEG_INFINITY, f64::max),
            });
            self.cells = pairs.collect();
            self.stride *= 2;
        }
        self.cells.push(Cell {
            time,
            least: value,
            greatest: value,
        });
        self.filled = 1;
    }
}

/// Where the time axis is marked, and how.
struct Marks {
    places: Vec<i64>,
    /// What the numbers are.
    unit: &'static str,
    /// Parts of a date that are shown.
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Seconds,
    Minutes,
    Days,
    Years,
}

impl Marks {
    fn of(times: &Range<i64>) -> Self {
        const STEPS: [i64; 17] = [
            1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
            172_800,
        ];
        let span = times.end.saturating_sub(times.start);
        let step = STEPS
            .into_iter()
            .map(|s| s * SECOND)
            .find(|step| span / step <= MARKS);
        let days = (span / DAY / MARKS + 1) * DAY;
        let step = step.unwrap_or(days);
        let first = times.start.div_euclid(step) + 1;
        let places = (first..=times.end.div_euclid(step))
            .map(|n| n * step)
            .collect();
        let form = match step {
            s if s < 60 * SECOND => Form::Seconds,
            s if s < DAY => Form::Minutes,
            s if s < 400 * DAY => Form::Days,
            _ => Form::Years,
        };
        let unit = match form {
            Form::Seconds | Form::Minutes => "time of the day (UTC)",
            Form::Days => "date (UTC)",
            Form::Years => "month (UTC)",
        };
        Self { places, unit, form }
    }

    fn label(&self, time: i64) -> String {
        let [year, month, day] = date(time.div_euclid(DAY));
        let second = time.rem_euclid(DAY) / SECOND;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        match self.form {
            Form::Years => format!("{year}-{month:02}"),
            Form::Days => format!("{year}-{month:02}-{day:02}"),
            // Midnight is where the date changes.
            Form::Minutes if (hour, minute) == (0, 0) => format!("{month:02}-{day:02}"),
            Form::Minutes => format!("{hour:02}:{minute:02}"),
            Form::Seconds => format!("{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

/// Nanoseconds since 1970, marked where days, hours, … begin.
struct TimeAxis {
    times: Range<i64>,
    marks: Marks,
}

impl Ranged for TimeAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = i64;

    fn map(&self, time: &i64, limit: (i32, i32)) -> i32 {
        let share = time.saturating_sub(self.times.start) as f64
            / self.times.end.saturating_sub(self.times.start) as f64;
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<i64> {
        self.marks.places.clone()
    }

    fn range(&self) -> Range<i64> {
        self.times.clone()
    }
}

impl ValueFormatter<i64> for TimeAxis {
    fn format(time: &i64) -> String {
        time.to_string()
    }

    fn format_ext(&self, time: &i64) -> String {
        self.marks.label(*time)
    }
}

/// Year, month and day of the day `days` after 1970-01-01 (E. G. Richards, Mapping Time, Oxford 1998).
fn date(days: i64) -> [i64; 3] {
    // From 0000-03-01, in eras of 400 years.
    let z = days + 719_468;
    let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    [era * 400 + year + i64::from(month <= 2), month, day]
}

#[cfg(test)]
mod tests {
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
}
