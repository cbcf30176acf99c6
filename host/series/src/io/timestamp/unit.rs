//! Units of numeric timestamps.

/// The unit of numeric timestamps, counted since 1970. ISO 8601 needs no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeUnit {
    /// Inferred from the magnitude of the first timestamp of a file (below 10¹⁰ seconds, 10¹³
    /// milliseconds, 10¹⁶ microseconds, otherwise nanoseconds), or stated by the column's name
    /// (`timestamp_ns`). Such times are refused before 1990 and from ten years from now on, because
    /// the numbers may be in another unit, or dates, years or days.
    #[default]
    Auto,
    /// s.
    Seconds,
    /// ms.
    Milliseconds,
    /// µs.
    Microseconds,
    /// ns.
    Nanoseconds,
}

/// A unit of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    pub(in crate::io) fn named(unit: TimeUnit) -> Option<Self> {
        match unit {
            TimeUnit::Auto => None,
            TimeUnit::Seconds => Some(Self::Seconds),
            TimeUnit::Milliseconds => Some(Self::Milliseconds),
            TimeUnit::Microseconds => Some(Self::Microseconds),
            TimeUnit::Nanoseconds => Some(Self::Nanoseconds),
        }
    }

    /// The unit that a number looks like: from 1970 to 2262, seconds are below 10¹⁰, milliseconds
    /// below 10¹³, microseconds below 10¹⁶.
    pub(in crate::io) fn of_magnitude(number: u64) -> Self {
        match number {
            0..10_000_000_000 => Self::Seconds,
            10_000_000_000..10_000_000_000_000 => Self::Milliseconds,
            10_000_000_000_000..10_000_000_000_000_000 => Self::Microseconds,
            _ => Self::Nanoseconds,
        }
    }

    /// All units.
    pub(in crate::io) const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    pub(in crate::io) fn nanoseconds(self) -> u64 {
        10_u64.pow(self.decimals())
    }

    /// Number of decimals from one unit down to the nanosecond.
    fn decimals(self) -> u32 {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Nanoseconds => 0,
        }
    }

    /// The value of `--time-unit`.
    pub(in crate::io) fn option(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    pub(in crate::io) fn description(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}
