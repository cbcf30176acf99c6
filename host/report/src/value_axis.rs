//! Linear axes, with ticks at round numbers and distinct labels.

use super::font::width_of;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;
use warpstride_core::text::round_below;

/// A range of values with ticks at multiples of a step.
pub struct ValueAxis {
    values: Range<f64>,
    step: f64,
    /// Largest number of steps.
    most: f64,
}

impl ValueAxis {
    /// An axis with at most `most` steps between ticks. The length of `values` must be positive,
    /// and both ends finite.
    pub fn new(values: Range<f64>, most: u32) -> Self {
        let most = f64::from(most.max(1));
        let length = values.end - values.start;
        // The length of the widest axes overflows.
        let least = match length.is_finite() {
            true => length / most,
            false => values.end / most - values.start / most,
        };
        // The smallest of 1, 2, 5 times a power of ten that is at least `least`.
        let below = round_below(least);
        let steps = [1.0, 2.0, 2.5].into_iter().map(|m| m * below);
        let step = steps
            .filter(|step| *step >= least * (1.0 - 1e-9) && is_round(*step))
            .fold(f64::INFINITY, f64::min);
        Self { values, step, most }
    }

    /// The same with ticks at whole numbers only.
    pub fn of_integers(values: Range<f64>, most: u32) -> Self {
        let axis = Self::new(values, most);
        Self {
            step: axis.step.max(1.0),
            ..axis
        }
    }

    /// The values with labels, in ascending order.
    pub fn ticks(&self) -> Vec<f64> {
        // Tolerance for rounding: 3e-9/5e-10 may differ slightly from 6.
        let first = (self.values.start / self.step - 1e-9).ceil();
        let count = (self.values.end / self.step + 1e-9).floor() - first;
        (0..=count.clamp(0.0, self.most) as u32)
            .map(|n| (first + f64::from(n)) * self.step)
            .collect()
    }

    /// Width of the widest label in lines of `height`, pixels.
    pub fn widest_label(&self, height: usize) -> usize {
        let labels = self.ticks().into_iter().map(|tick| self.label(tick));
        labels
            .map(|label| width_of(&label, height))
            .max()
            .unwrap_or(0)
    }

    /// A label with as many digits as the step needs.
    pub fn label(&self, value: f64) -> String {
        // A multiple of the step within rounding error of 0.
        if value.abs() < self.step / 2.0 {
            return "0".to_owned();
        }
        let exponent = |x: f64| x.abs().log10().floor() as i32;
        let largest = exponent(self.values.start.abs().max(self.values.end.abs()));
        // Exponent of the step, increased slightly because of rounding in the logarithm.
        let last = exponent(self.step * (1.0 + 1e-9));
        if (-4..=0).contains(&last) && largest < 9 || last > 0 && largest < 6 {
            return format!("{value:.*}", (-last).max(0) as usize);
        }
        let digits = (exponent(value * (1.0 + 1e-9)) - last).clamp(0, 17);
        format!("{value:.*e}", digits as usize)
    }
}

/// Whether the step is 1, 2 or 5 times a power of ten.
fn is_round(step: f64) -> bool {
    (round_below(step) / step - 1.0).abs() < 1e-6
}

impl Ranged for ValueAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // Halved first, because the distance to a value outside the range may overflow.
        let (start, end) = (self.values.start / 2.0, self.values.end / 2.0);
        let share = (value / 2.0 - start) / (end - start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks()
    }

    fn range(&self) -> Range<f64> {
        self.values.clone()
    }
}

impl ValueFormatter<f64> for ValueAxis {
    fn format(value: &f64) -> String {
        value.to_string()
    }

    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_round_and_distinct() {
        for (values, expected) in [
            (-1.1..1.1, "-1.0 -0.5 0 0.5 1.0"),
            (0.0..10.0, "0 1 2 3 4 5 6 7 8 9 10"),
            (
                1e12 - 0.5..1e12 + 5.1,
                "1.000000000000e12 1.000000000001e12",
            ),
            (-3e-9..2e-9, "-3.0e-9 -2.5e-9"),
            (20.0..95_000.0, "10000 20000"),
            (-1e308..4e307, "-1.0e308 -8e307"),
            (-1.7e308..1.7e308, "-1.5e308 -1.0e308 -5e307 0 5e307"),
            (9e307..1.1e308, "9.0e307 9.2e307"),
        ] {
            let axis = ValueAxis::new(values, 10);
            let labels: Vec<String> = axis.ticks().into_iter().map(|v| axis.label(v)).collect();
            assert!(labels.join(" ").starts_with(expected), "{labels:?}");
            assert!(labels.len() <= 11);
            assert!(
                labels.windows(2).all(|pair| pair[0] != pair[1]),
                "{labels:?}"
            );
        }
    }

    /// Zero is a multiple of the step and is never written as its rounding error.
    #[test]
    fn zero_is_written_as_zero() {
        for limit in [1e-18, 3.3e-7, 0.7, 3.0, 1e17] {
            let axis = ValueAxis::new(-limit..limit, 4);
            let labels: Vec<String> = axis.ticks().into_iter().map(|v| axis.label(v)).collect();
            assert_eq!(labels.iter().filter(|l| *l == "0").count(), 1, "{labels:?}");
            assert!(labels.iter().all(|l| l.len() < 9), "{labels:?}");
        }
    }

    #[test]
    fn whole_numbers_have_no_decimals() {
        let axis = ValueAxis::of_integers(0.5..3.5, 8);
        let labels: Vec<String> = axis.ticks().into_iter().map(|v| axis.label(v)).collect();
        assert_eq!(labels, ["1", "2", "3"]);
    }
}
