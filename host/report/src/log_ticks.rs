//! Ticks of logarithmic axes, whose labels do not overlap.

use super::value_axis::ValueAxis;
use std::ops::Range;
use warpstride_core::text::trimmed;

/// Significant digits of a label, enough for any tick.
const DIGITS: usize = 6;
/// Factors of the powers of ten at ticks, the more of them the better.
const FACTORS: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
/// Decades between ticks where not every power of ten has one; doubles span 617.
const STRIDES: [i32; 9] = [2, 3, 5, 10, 20, 50, 100, 200, 500];
/// Largest number of steps if ticks have equal distances.
const EQUAL_STEPS: u32 = 5;

/// The label of a tick.
pub fn label(tick: f64) -> String {
    trimmed(tick, DIGITS)
}

/// Round numbers in `range` for an axis of `pixels`, as many as fit if a label takes `space`
/// pixels: 1, 2 and 5 times the powers of ten, or fewer. A range that has hardly any of these gets
/// multiples of a round step.
pub fn log_ticks(range: &Range<f64>, pixels: u32, space: impl Fn(&str) -> u32) -> Vec<f64> {
    let [start, end] = [range.start, range.end].map(f64::log10);
    let fits = |ticks: &Vec<f64>| {
        let placed: Vec<(f64, f64)> = ticks
            .iter()
            .map(|tick| {
                let at = (tick.log10() - start) / (end - start) * f64::from(pixels);
                (at, f64::from(space(&label(*tick))))
            })
            .collect();
        placed
            .windows(2)
            .all(|pair| pair[1].0 - pair[0].0 >= (pair[0].1 + pair[1].1) / 2.0)
    };
    let powers = |factors: &[f64], stride: i32| -> Vec<f64> {
        let first = (start.floor() as i32).div_euclid(stride) * stride;
        (0..=(end.ceil() as i32 - first) / stride)
            .map(|step| first + stride * step)
            .flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)))
            .filter(|tick| tick.is_normal() && range.contains(tick))
            .collect()
    };
    let by_factors = FACTORS.iter().map(|factors| powers(factors, 1));
    let by_decades = STRIDES.into_iter().map(|stride| powers(&[1.0], stride));
    let ticks = by_factors.chain(by_decades).find(fits).unwrap_or_default();
    if ticks.len() >= 2 {
        return ticks;
    }
    let equal = (1..=EQUAL_STEPS).rev().map(|most| {
        let mut ticks = ValueAxis::new(range.clone(), most).ticks();
        ticks.retain(|tick| *tick > 0.0 && range.contains(tick));
        ticks
    });
    equal
        .into_iter()
        .find(|equal| equal.len() > ticks.len() && fits(equal))
        .unwrap_or(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: Range<f64>, pixels: u32) -> String {
        let ticks = log_ticks(&range, pixels, |text| 10 * text.len() as u32);
        assert!(ticks.iter().all(|tick| range.contains(tick)));
        ticks.into_iter().map(label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_and_fit() {
        assert_eq!(labels(0.011..0.54, 400), "0.02 0.05 0.1 0.2 0.5");
        assert_eq!(labels(0.011..0.54, 150), "0.03 0.1 0.3");
        assert_eq!(
            labels(0.4..5e4, 600),
            "1 3 10 30 100 300 1000 3000 10000 30000"
        );
        assert_eq!(labels(0.4..5e4, 300), "1 10 100 1000 10000");
        assert_eq!(labels(1e-300..1e300, 300), "1e-200 1 1e200");
    }

    #[test]
    fn narrow_ranges_have_ticks_too() {
        assert_eq!(labels(2.05..4.8, 300), "3 4");
        assert_eq!(labels(0.909..1.1, 300), "0.95 1 1.05");
        assert!(labels(f64::MIN_POSITIVE..f64::MAX, 300).split(' ').count() > 1);
    }
}
