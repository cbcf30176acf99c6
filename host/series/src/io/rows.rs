//! Errors of malformed rows.

use super::IoError;
use super::names::NameError;
use super::timestamp::{
    Plausible, TimestampError, TimestampFormat, Unit, latest_year, resemblance, suggestion,
};

/// What each unit would make of a number: those that give plausible times, or all.
fn units(text: &str) -> String {
    let whole = text.trim().split('.').next().unwrap_or_default();
    let number: u64 = whole.parse().unwrap_or(u64::MAX);
    let all = [
        ("s", Unit::Seconds),
        ("ms", Unit::Milliseconds),
        ("us", Unit::Microseconds),
        ("ns", Unit::Nanoseconds),
    ];
    let year = |unit: Unit| {
        let seconds = u128::from(number) * u128::from(unit.nanoseconds()) / 1_000_000_000;
        1970 + (seconds as f64 / 31_556_952.0) as u64
    };
    let described = |(name, unit): &(&str, Unit)| {
        let year = year(*unit);
        match year {
            ..=2262 => format!("--time-unit {name} gives the year {year}"),
            _ => format!("--time-unit {name} gives none before 2263"),
        }
    };
    let of = |is: &dyn Fn(Unit) -> bool| -> Vec<String> {
        let units = all.iter().filter(|(_, unit)| is(*unit));
        units.map(described).collect()
    };
    let likely = of(&|unit| Plausible::of(unit).contains(number));
    let possible = of(&|unit| (1971..=2262).contains(&year(unit)));
    match (likely.is_empty(), possible.is_empty()) {
        (false, _) => likely.join(", "),
        (true, false) => possible.join(", "),
        (true, true) => {
            "no unit gives a likely time; --time-unit s|ms|us|ns states that of times since a start"
                .to_owned()
        }
    }
}

/// What to do about rows without a time or a number.
pub(super) const WITHOUT_ONE: &str = "--on-error skip leaves out rows without one";

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Number of lines (rows of Parquet and Arrow) before it, counted from the start of the
    /// reader's chunk.
    pub(super) before: u64,
    pub(super) found: String,
    pub(super) expected: String,
}

impl Fault {
    pub(super) fn new(before: u64, found: String, expected: impl Into<String>) -> Self {
        Self {
            before,
            found,
            expected: expected.into(),
        }
    }

    /// The error of an invalid timestamp in a table, whose format an option may state.
    pub(super) fn time_of_table(
        before: u64,
        text: &str,
        why: TimestampError,
        time_format: &TimestampFormat,
    ) -> Self {
        let mut fault = Self::time(before, text, why, time_format);
        let text = text.trim();
        let use_it = match why {
            TimestampError::Invalid => suggestion(text).or_else(|| Some(WITHOUT_ONE.to_owned())),
            // A number may be a date.
            TimestampError::NoUnit if matches!(text.len(), 8 | 12 | 14) => suggestion(text),
            _ => None,
        };
        if let Some(use_it) = use_it {
            fault.expected = format!("{}; {use_it}", fault.expected);
        }
        fault
    }

    /// The error of an invalid timestamp.
    pub(super) fn time(
        before: u64,
        text: &str,
        why: TimestampError,
        time_format: &TimestampFormat,
    ) -> Self {
        let shown = format!("the timestamp '{}'", super::shorten(text));
        let (found, expected) = match why {
            TimestampError::Invalid => (shown, time_format.description()),
            TimestampError::Rounded => (
                format!("{shown}, whose last digit stands for more than a second"),
                format!(
                    "all digits of {} (use --time-unit if the zeros are exact)",
                    time_format.description()
                ),
            ),
            TimestampError::TooEarly => (
                format!("{shown}, before 1970"),
                "a time from 1970 to 2262-04-11".to_owned(),
            ),
            TimestampError::Twice(zone) => (
                format!("{shown}, which clocks of {zone} show twice"),
                "a local time that occurs once, or one with an offset such as +02:00 (or use --ambiguous earlier or later)".to_owned(),
            ),
            TimestampError::Skipped(zone) => (
                format!("{shown}, over which clocks of {zone} were set forward"),
                "a local time that exists, or --timezone with a fixed offset such as Etc/GMT-1 (UTC+01:00) for clocks that are not set forward (--on-error skip leaves out rows with others)".to_owned(),
            ),
            TimestampError::TooLate => (
                format!("{shown}, beyond the limit of 64-bit nanoseconds"),
                "a time from 1970 to 2262-04-11".to_owned(),
            ),
            TimestampError::TooFine => (
                format!("{shown}, between two nanoseconds"),
                "whole nanoseconds".to_owned(),
            ),
            TimestampError::OtherUnit(unit) => (
                format!("{shown}, which looks like {}", unit.description()),
                format!(
                    "{}, {} ({})",
                    time_format.description(),
                    time_format.source_of_unit(),
                    units(text)
                ),
            ),
            TimestampError::NoUnit => {
                let doubt = resemblance(text.trim());
                let doubt = doubt.as_deref().unwrap_or(
                    "may be in another unit, a number of days, or a time since another moment than 1970",
                );
                (
                    format!("{shown}, which {doubt}"),
                    format!(
                        "{} from 1990 to {}, or --time-unit for others ({})",
                        time_format.description(),
                        latest_year(),
                        units(text)
                    ),
                )
            }
        };
        Self::new(before, found, expected)
    }

    /// The error of an invalid value.
    pub(super) fn value(before: u64, text: &str) -> Self {
        let found = if text.is_empty() {
            "an empty value".to_owned()
        } else if text.parse::<f64>().is_ok() {
            format!("the value '{}', beyond 1.8e308", super::shorten(text))
        } else {
            format!("the value '{}'", super::shorten(text))
        };
        let mut expected = "a number such as 21.5, or nan".to_owned();
        if super::number::value_with_comma(text.as_bytes()).is_some() {
            expected += " (with --decimal-comma, decimals follow a comma)";
        } else if text.contains(',') || text.matches('.').count() > 1 {
            expected += ", without marks between thousands";
        } else {
            expected = format!("{expected}; {WITHOUT_ONE}");
        }
        Self::new(before, found, expected)
    }

    /// The error of an invalid value, if decimals follow a comma.
    pub(super) fn value_with_comma(before: u64, text: &str) -> Self {
        let mut fault = Self::value(before, text);
        if text.contains('.') {
            let number = text.parse().is_ok_and(f64::is_finite);
            let without = match number {
                true => "; if the point is before decimals, leave --decimal-comma out",
                false => "",
            };
            fault.found = format!("the value '{}', which has a point", super::shorten(text));
            fault.expected = format!(
                "a number such as 21,5, without points between thousands, as --decimal-comma says{without}"
            );
        }
        fault.expected = fault.expected.replace("21.5", "21,5");
        fault
    }

    /// The same error in a column of a wide table.
    pub(super) fn in_column(mut self, name: &str) -> Self {
        self.found = format!("{} in column '{}'", self.found, super::shorten(name));
        if !self.found.contains("beyond") && !self.found.contains("which has a point") {
            self.expected
                .push_str("; columns of text are left out with --ignore-columns");
        }
        self
    }

    /// The error of an invalid series name.
    pub(super) fn name(before: u64, why: NameError, name: &[u8]) -> Self {
        match why {
            NameError::Empty => {
                Self::new(before, "an empty one".to_owned(), "the name of a series")
            }
            NameError::Encoding => Self::new(
                before,
                format!(
                    "the series name '{}', which is not",
                    super::shorten(&String::from_utf8_lossy(&name[..name.len().min(400)]))
                ),
                "UTF-8 text",
            ),
            NameError::ZeroByte => Self::new(
                before,
                format!(
                    "the series name '{}' with one",
                    super::shorten(&String::from_utf8_lossy(&name[..name.len().min(400)]))
                ),
                "text without zero bytes",
            ),
            NameError::TooLong(most) => Self::new(
                before,
                format!("{} bytes", name.len()),
                format!("a series name of at most {most} bytes"),
            ),
            NameError::TooMany => Self::new(before, "more".to_owned(), "at most 4294967295 series"),
        }
    }

    /// Makes the error; `unit` is the unit of `before` (`line`, `row`), and `first` the number of
    /// the reader's first one.
    pub(super) fn into_error(self, file: &str, unit: &'static str, first: u64) -> IoError {
        IoError::Row {
            file: file.to_owned(),
            unit,
            number: first.saturating_add(self.before),
            found: self.found,
            expected: self.expected,
        }
    }
}

/// The errors in a part of a file: all are counted, the first few are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) count: u64,
    pub(super) first: Vec<Fault>,
}

/// Number of errors kept.
pub(super) const MAX_KEPT: usize = 8;

impl Faults {
    pub(super) fn add(&mut self, fault: impl FnOnce() -> Fault) {
        self.count += 1;
        if self.first.len() < MAX_KEPT {
            self.first.push(fault());
        }
    }
}
