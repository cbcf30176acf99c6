//! The value axis, with ticks at round numbers and distinct labels.

use crate::text::round_below;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Largest number of ticks.
pub(super) const MAX_TICKS: f64 = 10.0;

/// A range of values with ticks at multiples of a step.
pub(super) struct ValueAxis {
    values: Range<f64>,
    step: f64,
}

impl ValueAxis {
    /// The length of `values` must be positive and finite.
    pub(super) fn new(values: Range<f64>) -> Self {
        let least = (values.end - values.start) / MAX_TICKS;
        // The smallest of 1, 2, 5 times a power of ten that is at least `least`.
        let below = round_below(least);
        let steps = [1.0, 2.0, 2.5].into_iter().map(|m| m * below);
        let step = steps
            .filter(|step| *step >= least * (1.0 - 1e-9) && is_round(*step))
            .fold(f64::INFINITY, f64::min);
        Self { values, step }
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        // Tolerance for rounding: 3e-9/5e-10 may differ slightly from 6.
        let first = (self.values.start / self.step - 1e-9).ceil();
        let count = (self.values.end / self.step + 1e-9).floor() - first;
        (0..=count.clamp(0.0, MAX_TICKS) as u32)
            .map(|n| (first + f64::from(n)) * self.step)
            .collect()
    }

    /// A label with as many digits as the step needs.
    pub(super) fn label(&self, value: f64) -> String {
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
