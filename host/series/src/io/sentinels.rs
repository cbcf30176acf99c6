//! Numbers that stand for missing values, such as −9999.

/// Such numbers beside those whose digits are all 9: the fill values of netCDF and of climate
/// models, of well logs, and the ends of number
/// types, except that of unsigned integers of 64 bits, which counters reach.
const FILLS: [&str; 26] = [
    "999.25",
    "32767",
    "32768",
    "65535",
    "2147483647",
    "2147483648",
    "4294967295",
    "9.223372e18",
    "9.999e20",
    "1e20",
    "1e30",
    "1e31",
    "1e32",
    "1e33",
    "1e34",
    "1e35",
    "1e36",
    "9.96921e36",
    "1e37",
    "1e38",
    "1.70141e38",
    "3.4e38",
    "3.40282e38",
    "3.4028235e38",
    "3.40282347e38",
    "1.7976931348623157e308",
];

/// Negative ones, since the positive ones are measurements as well: the ends of bytes.
const NEGATIVE_FILLS: [&str; 2] = ["127", "128"];

/// Whether a value is one of the `missing` ones, in double precision or rounded to single
/// precision.
#[must_use]
pub fn is_among(missing: &[f64], value: f64) -> bool {
    let mut all = missing.iter();
    all.any(|one| *one == value || f64::from(*one as f32) == value)
}

/// The shortest text of a number, which may have been rounded to single precision.
fn shortest(number: f64) -> String {
    let single = number as f32;
    // The shortest text of a whole number in single precision may be another one.
    let is_single = f64::from(single) == number && (number.fract() != 0.0 || number.abs() >= 1e16);
    match (is_single, number.abs() < 1e16) {
        (true, true) => format!("{single}"),
        (true, false) => format!("{single:e}"),
        (false, true) => format!("{number}"),
        (false, false) => format!("{number:e}"),
    }
}

/// Whether files hold a number in the place of missing values. Positive ones need four digits 9,
/// since 999 and 99.9 are prices and ends of scales.
fn is_usual(number: f64) -> bool {
    let size = shortest(number.abs());
    let digits = || size.bytes().filter(|byte| *byte != b'.');
    let least = if number < 0.0 { 3 } else { 4 };
    number.abs() >= 99.0 && digits().all(|digit| digit == b'9') && digits().count() >= least
        || FILLS.contains(&size.as_str())
        || number < 0.0 && NEGATIVE_FILLS.contains(&size.as_str())
}

/// The lowest of finite values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lowest {
    /// Infinite without values.
    value: f64,
    /// Number of values equal to it, counted of a usual one.
    count: u64,
    /// The lowest of the others; infinite without others, or if none were counted.
    next: f64,
}

impl Lowest {
    const NONE: Self = Self {
        value: f64::INFINITY,
        count: 0,
        next: f64::INFINITY,
    };

    /// The lowest of the values times `sign`.
    fn of(values: &[f64], sign: f64) -> Self {
        let finite = |value: f64| match sign * value {
            value if value > f64::NEG_INFINITY => value,
            _ => f64::INFINITY,
        };
        let least = |least: f64, value: f64| if value < least { value } else { least };
        let all = || values.iter().map(|value| finite(*value));
        // Eight at a time, so that none waits for the one before it.
        let mut lanes = [f64::INFINITY; 8];
        let (parts, rest) = values.as_chunks::<8>();
        for part in parts {
            for (lane, value) in lanes.iter_mut().zip(part) {
                *lane = least(*lane, finite(*value));
            }
        }
        let rest = rest.iter().map(|value| finite(*value));
        let value = lanes.into_iter().chain(rest).fold(f64::INFINITY, least);
        if !value.is_finite() || !is_usual(sign * value) {
            return Self {
                value,
                ..Self::NONE
            };
        }
        Self {
            value,
            count: all().filter(|other| *other == value).count() as u64,
            next: all()
                .filter(|other| *other > value)
                .fold(f64::INFINITY, least),
        }
    }

    fn with(self, later: Self) -> Self {
        let (low, high) = match self.value <= later.value {
            true => (self, later),
            false => (later, self),
        };
        let is_same = low.value == high.value;
        Self {
            value: low.value,
            count: low.count + if is_same { high.count } else { 0 },
            next: low.next.min(if is_same { high.next } else { high.value }),
        }
    }

    /// Whether it seems to stand for missing values: it occurs again, and no other value has its
    /// sign and a fifth of its size.
    fn is_doubtful(&self) -> bool {
        self.count > 1 && self.value < 0.0 && self.next > self.value / 5.0
    }
}

/// The values that may stand for missing ones among those added: the lowest and the highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sentinels {
    lowest: Lowest,
    /// The lowest of the values with the other sign.
    highest: Lowest,
}

impl Default for Sentinels {
    fn default() -> Self {
        Self {
            lowest: Lowest::NONE,
            highest: Lowest::NONE,
        }
    }
}

impl Sentinels {
    /// Those among these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        Self {
            lowest: Lowest::of(values, 1.0),
            highest: Lowest::of(values, -1.0),
        }
    }

    /// Those of both.
    #[must_use]
    pub fn with(self, later: Self) -> Self {
        Self {
            lowest: self.lowest.with(later.lowest),
            highest: self.highest.with(later.highest),
        }
    }

    /// A sentence on each; `option` leaves a number out.
    #[must_use]
    pub fn notes(&self, option: impl Fn(&str) -> String) -> Vec<String> {
        // A file may have one high value alone.
        let highest = Some(&self.highest).filter(|highest| highest.next.is_finite());
        let sides = [
            (Some(&self.lowest), 1.0, "below all others, which begin"),
            (highest, -1.0, "above all others, which end"),
        ];
        let doubtful = sides.into_iter().filter_map(|(side, sign, far)| {
            let side = side.filter(|side| side.is_doubtful())?;
            let (number, count) = (shortest(sign * side.value), side.count);
            let others = match side.next.is_finite() {
                true => format!("far {far} at {}", shortest(sign * side.next)),
                false => "and no other value does".to_owned(),
            };
            Some(format!(
                "the value {number} occurs {count} times, {others}: it is used as a measurement; if it stands for missing values, {} leaves it out",
                option(&number)
            ))
        });
        doubtful.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(values: &[f64]) -> Vec<String> {
        let (first, second) = values.split_at(values.len() / 2);
        let parts = Sentinels::of(first).with(Sentinels::of(second));
        let whole = Sentinels::of(values).notes(|number| format!("-m {number}"));
        assert_eq!(parts.notes(|number| format!("-m {number}")), whole);
        whole
    }

    #[test]
    fn usual_numbers_far_from_all_others_are_doubtful() {
        let netcdf = 9.969_209_968_386_869e36;
        for (number, text) in [
            (-9999.0, "-9999"),
            (-999.0, "-999"),
            (-99999.0, "-99999"),
            (-99.99, "-99.99"),
            (f64::from(-999.9_f32), "-999.9"),
            (-999.25, "-999.25"),
            (9999.0, "9999"),
            (netcdf, "9.96921e36"),
            (9.969_21e36, "9.96921e36"),
            (f64::from(1e20_f32), "1e20"),
            (f64::from(f32::MIN), "-3.4028235e38"),
            (f64::MAX, "1.7976931348623157e308"),
            (-127.0, "-127"),
            (-32768.0, "-32768"),
            (65535.0, "65535"),
            (f64::from(i32::MIN), "-2147483648"),
            (f64::from(i32::MAX), "2147483647"),
            (f64::from(u32::MAX), "4294967295"),
            (-9_223_372_036_854_775_808.0, "-9.223372e18"),
            (-1e34, "-1e34"),
            (f64::from(-3.4e38_f32), "-3.4e38"),
        ] {
            let mut values = vec![-3.5, number, 2.0, f64::NAN, 1.5, number, 9.0];
            values.extend((0..20).map(f64::from).map(f64::sqrt));
            let found = notes(&values);
            assert_eq!(found.len(), 1, "{number}");
            let start = format!("the value {text} occurs 2 times, far ");
            assert!(found[0].starts_with(&start), "{found:?}");
            assert!(found[0].ends_with(&format!("-m {text} leaves it out")));
            let option: f64 = text.parse().unwrap();
            assert!(is_among(&[0.5, option], number));
            // Once only, or with others on the way there.
            assert!(notes(&[1.0, number, 3.0]).is_empty());
            assert!(notes(&[1.0, number, number / 4.0, number]).is_empty());
        }
        assert!(notes(&[-9999.0; 3])[0].contains("no other value"));
        assert_eq!(notes(&[-9999.0, 1e20, 5.0, -9999.0, 1e20]).len(), 2);
        // The next one is found when the first is left out.
        assert!(notes(&[-9999.0, -999.0, -999.0, -9999.0, 5.0])[0].contains(" -9999 "));
    }

    #[test]
    fn other_numbers_are_not() {
        for values in [
            &[0.0, 1000.0, 1001.0, 0.0][..],
            &[-1.0, 50.0, -1.0, 60.0],
            &[-99.0, -60.0, -99.0, -70.0],
            &[99.9, 999.0, 999.0, 5.0],
            &[9999.0; 4],
            &[9998.0, 9999.0, 10000.0, 9999.0],
            &[
                18_446_744_073_709_551_615.0,
                1.0,
                18_446_744_073_709_551_615.0,
            ],
            &[127.0, 1.0, 127.0, 255.0, 255.0],
            &[f64::INFINITY, 1.0, f64::NEG_INFINITY, f64::INFINITY],
            &[-9990.0, 1.0, -9990.0],
            &[],
        ] {
            assert_eq!(notes(values), [""; 0], "{values:?}");
        }
        assert!(!is_among(&[-9999.0], -9999.0001) && !is_among(&[], 0.0));
    }
}
