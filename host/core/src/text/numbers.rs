//! Formatting of numbers for people.

/// Characters of a decimal up to which [`shortest`] writes it without an exponent.
const LONGEST_PLAIN: usize = 6;

/// Formats `value` with `digits` significant digits: as a decimal between 0.001 and 100 000, else
/// with an exponent (`1.35e-7`). NaN and infinity become `nan` and `inf`.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let digits = digits.max(1);
    let rounded = format!("{value:.*e}", digits - 1);
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    if !(-3..5).contains(&exponent) {
        return rounded;
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    format!("{value:.decimals$}")
}

/// Formats `value` with at most `digits` significant digits and without zeros at their end: `0.02`,
/// `10`, `1e-7`.
pub fn trimmed(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    let (number, exponent) = match text.split_once('e') {
        Some((number, _)) => (number, &text[number.len()..]),
        None => (text.as_str(), ""),
    };
    if !number.contains('.') {
        return text;
    }
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number}{exponent}")
}

/// The shortest decimal that reads back as `value`, with an exponent where that spares zeros:
/// `0.25`, `100000`, `1e300`.
#[must_use]
pub fn shortest(value: f64) -> String {
    let plain = value.to_string();
    if value.is_finite() && plain.len() > LONGEST_PLAIN {
        let scientific = format!("{value:e}");
        if scientific.len() < plain.len() {
            return scientific;
        }
    }
    plain
}

/// Formats a length in m with a suitable unit: `12.5 nm`.
#[must_use]
pub fn length(metres: f64, digits: usize) -> String {
    let (factor, unit) = match metres.abs() {
        // No prefix makes such a number readable.
        m if m > 0.0 && m < 1e-15 => (1.0, "m"),
        m if m < 1e-9 => (1e12, "pm"),
        m if m < 1e-6 => (1e9, "nm"),
        m if m < 1e-3 => (1e6, "µm"),
        m if m < 1.0 => (1e3, "mm"),
        _ => (1.0, "m"),
    };
    format!("{} {unit}", significant(metres * factor, digits))
}

/// The largest of 1, 2, 5 times a power of ten that is not above `limit` (> 0).
pub fn round_below(limit: f64) -> f64 {
    let power = 10_f64.powf(limit.log10().floor());
    // A small tolerance, as 10^log10(5) is not exactly 5.
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|m| m * power)
        .find(|v| *v <= limit * (1.0 + 1e-9))
        .unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_count_from_the_first_that_is_not_zero() {
        let cases = [
            (0.013_749, "0.0137"),
            (1234.56, "1235"),
            (1.0, "1.00"),
            (-0.5, "-0.500"),
            (9.996, "10.0"),
            (1.35e-7, "1.35e-7"),
            (123_456.0, "1.23e5"),
            (0.0, "0"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(significant(value, 3), expected);
        }
    }

    #[test]
    fn zeros_at_the_end_are_left_out() {
        for (value, expected) in [
            (0.02, "0.02"),
            (10.0, "10"),
            (1e-7, "1e-7"),
            (-2.5e300, "-2.5e300"),
            (1.05, "1.05"),
            (20_000.0, "20000"),
            (0.0, "0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(trimmed(value, 6), expected);
        }
    }

    #[test]
    fn the_shortest_form_reads_back_as_the_same_number() {
        for (value, expected) in [
            (5.0, "5"),
            (-0.25, "-0.25"),
            (100_000.0, "100000"),
            (0.000_001, "1e-6"),
            (16_384_000.0, "16384000"),
            (1e300, "1e300"),
            (-1e-30, "-1e-30"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(shortest(value), expected);
            assert!(value.is_nan() || expected.parse() == Ok(value));
        }
    }

    #[test]
    fn lengths_have_a_suitable_unit() {
        assert_eq!(length(1.25e-8, 3), "12.5 nm");
        assert_eq!(length(2e-6, 1), "2 µm");
        assert_eq!(length(7.2, 3), "7.20 m");
    }

    #[test]
    fn scale_bars_have_round_lengths() {
        for (limit, expected) in [(7.3e-7, 5e-7), (5e-7, 5e-7), (4.9e-7, 2e-7), (1.99, 1.0)] {
            assert!((round_below(limit) / expected - 1.0).abs() < 1e-12);
        }
    }
}
