//! Statistics of a bucket.

use super::SeriesError;
use std::fmt;
use std::str::FromStr;

/// A statistic of the values v₁ … vₙ of a bucket, in the order of time.
///
/// Minimum, maximum and quantiles use the order −∞ … −0, +0 … +∞, NaN. Sums are added in the order
/// of [`warpstride_kernels::series::sums`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// n.
    Count,
    /// Σv.
    Sum,
    /// Σv/n.
    Mean,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// v₁.
    First,
    /// vₙ.
    Last,
    /// Number of distinct values; −0 equals 0, and all NaNs are equal.
    Nunique,
    /// √(Σ(v − mean)²/(n − 1)); undefined for a bucket of one value.
    Std,
    /// The middle value, or the mean of the middle two.
    Median,
    /// The given percentile, 0 … 100: linear interpolation at (n − 1)·p/100 of the sorted values.
    Percentile(f64),
}

impl Method {
    /// The methods with a name of their own, in the order of the documentation.
    pub const NAMED: [(&'static str, Self); 10] = [
        ("count", Self::Count),
        ("sum", Self::Sum),
        ("mean", Self::Mean),
        ("min", Self::Min),
        ("max", Self::Max),
        ("first", Self::First),
        ("last", Self::Last),
        ("nunique", Self::Nunique),
        ("std", Self::Std),
        ("median", Self::Median),
    ];

    /// Least number of values that a bucket must have.
    #[must_use]
    pub fn min_values(self) -> u32 {
        match self {
            Self::Std => 2,
            _ => 1,
        }
    }

    /// Whether the method needs the sorted values of the bucket.
    #[must_use]
    pub fn needs_sorted_values(self) -> bool {
        matches!(self, Self::Nunique | Self::Median | Self::Percentile(_))
    }
}

/// A method, applied to the values or to their differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregate {
    /// Whether the method is applied to the differences vᵢ − vᵢ₋₁ at tᵢ, taken over the whole
    /// series before it is split into buckets. The first point of a series has no difference.
    pub rate: bool,
    /// The statistic.
    pub method: Method,
}

impl Aggregate {
    /// Applies a method to the values.
    #[must_use]
    pub const fn of(method: Method) -> Self {
        Self {
            rate: false,
            method,
        }
    }

    /// The aggregates of `all`: every method with a name of its own, and 95pct, of the values.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let named = Method::NAMED.iter().map(|(_, method)| *method);
        named
            .chain([Method::Percentile(95.0)])
            .map(Self::of)
            .collect()
    }
}

impl FromStr for Aggregate {
    type Err = SeriesError;

    /// Parses `mean`, `95pct`, `99.9pct`, `rate:mean`, …
    fn from_str(text: &str) -> Result<Self, SeriesError> {
        let (rate, name) = match text.strip_prefix("rate:") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let named = Method::NAMED.iter().find(|(known, _)| *known == name);
        let percentile = || {
            let number = name.strip_suffix("pct")?;
            let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let percent: f64 = number.parse().ok()?;
            (plain && percent <= 100.0).then_some(Method::Percentile(percent))
        };
        let method = named.map(|(_, method)| *method).or_else(percentile);
        let method = method.ok_or_else(|| SeriesError::Aggregate(text.to_owned()))?;
        Ok(Self { rate, method })
    }
}

impl fmt::Display for Aggregate {
    /// Writes the aggregate as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rate {
            f.write_str("rate:")?;
        }
        if let Method::Percentile(percent) = self.method {
            return write!(f, "{percent}pct");
        }
        let (name, _) = Method::NAMED
            .into_iter()
            .find(|(_, m)| *m == self.method)
            .unwrap_or(Method::NAMED[0]);
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_displayed() {
        for name in [
            "count",
            "std",
            "median",
            "0pct",
            "95pct",
            "99.9pct",
            "100pct",
            "rate:mean",
            "rate:5pct",
        ] {
            assert_eq!(name.parse::<Aggregate>().unwrap().to_string(), name);
        }
        assert_eq!(Aggregate::all().len(), 11);
        for name in [
            "",
            "Mean",
            "101pct",
            "-1pct",
            "pct",
            "NaNpct",
            "1e1pct",
            "rate:",
            "rate:rate:mean",
            "infpct",
        ] {
            assert!(name.parse::<Aggregate>().is_err(), "{name}");
        }
    }
}
