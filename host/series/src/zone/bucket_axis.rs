//! The axis on which buckets of local time have a fixed length.
//!
//! Engines assign points to buckets of a fixed length since 1970, or of the calendar, without
//! zones. Times are therefore mapped to an axis on which such buckets are those of local time:
//! strictly increasing, so that the order of points, duplicates, differences of neighbours and
//! every aggregate are those of the points themselves. Starts of buckets are mapped back.

use super::{Moments, SECOND, Zone};
use crate::Granularity;
use std::fmt;

/// 1990-01-01, seconds since 1970: changes of clocks from then on decide on lengths, and earlier
/// points are looked at one by one, because zones have changed their standard time in the past.
const RECENT: i64 = 631_152_000;
/// Nanoseconds in a day.
const DAY: u64 = 86_400_000_000_000;
/// [`DAY`] with a sign.
const DAY_SIGNED: i64 = DAY.cast_signed();

/// A strictly increasing map from nanoseconds since 1970 (UTC) to an axis on which buckets of local
/// time have a fixed length, and its inverse for starts of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketAxis {
    zone: Zone,
    rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Offsets are the same, or whole multiples of each length apart, from [`RECENT`] on: one of
    /// them is added.
    Shift {
        /// Nanoseconds.
        shift: i64,
        /// The least common multiple of the lengths in nanoseconds; 0 if offsets must be the same.
        multiple: i128,
    },
    /// Local time. Where clocks are set back, the time that they show twice takes half as long on
    /// the axis, so that it is strictly increasing.
    Days,
}

/// Why a time has no place on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisError {
    /// Its local time is before 1970 or after 2262.
    OutOfRange(i64),
    /// Clocks were set back over midnight, so that the two days interleave.
    TwoDays(i64),
    /// Before 1990, with another offset than later ones.
    OtherOffset(i64),
    /// An odd number of nanoseconds after the clocks' first reading of a time that they show twice.
    OddNanosecond(i64),
}

impl BucketAxis {
    /// The axis of buckets of these lengths in a zone.
    ///
    /// # Errors
    /// A message with what was expected if one axis does not serve all lengths exactly.
    pub fn new(zone: Zone, granularities: &[Granularity]) -> Result<Self, String> {
        let first = zone.offsets_from(RECENT).next().unwrap_or(0);
        let rule = |rule| Ok(Self { zone, rule });
        let multiple = common_multiple(granularities);
        let shift = first * SECOND;
        if granularities
            .iter()
            .all(|granularity| is_days(*granularity))
        {
            return rule(Rule::Days);
        }
        if zone.offsets_from(RECENT).all(|offset| offset == first) {
            return rule(Rule::Shift { shift, multiple });
        }
        let day = granularities.iter().find(|g| is_days(**g));
        let shorter = granularities.iter().find(|g| !is_days(**g));
        if let (Some(day), Some(shorter)) = (day, shorter) {
            return Err(format!(
                "granularity {shorter}: expected lengths of whole days only beside {day} with --timezone {zone}, whose days have 23 to 25 hours; use a second run"
            ));
        }
        for granularity in granularities {
            let Granularity::Fixed(length) = granularity else {
                continue;
            };
            let length = i128::from(*length);
            let apart = |offset: i64| i128::from(offset - first) * i128::from(SECOND) % length;
            let mut offsets = zone.offsets_from(RECENT);
            if let Some(other) = offsets.find(|offset| apart(*offset) != 0) {
                return Err(format!(
                    "granularity {granularity}: expected with --timezone {zone} whole days, W, M, Q, H, Y, or a length that divides the {} min by which its clocks change, so that buckets of local time are equally long; found one that does not",
                    (other - first).abs() / 60
                ));
            }
        }
        rule(Rule::Shift { shift, multiple })
    }

    /// The place of a moment in nanoseconds since 1970, UTC.
    ///
    /// # Errors
    /// [`AxisError`].
    pub fn place(&self, moment: i64) -> Result<i64, AxisError> {
        let place = match self.rule {
            Rule::Shift { shift, multiple } => {
                if moment < RECENT * SECOND {
                    self.check_early(moment, shift, multiple)?;
                }
                moment.checked_add(shift)
            }
            Rule::Days => self.local(moment)?,
        };
        place
            .filter(|place| *place >= 0)
            .ok_or(AxisError::OutOfRange(moment))
    }

    /// The place from which on moments are not before this one; the first place for one before
    /// 1970 in local time. For limits, which need not be points.
    #[must_use]
    pub fn limit(&self, moment: i64) -> i64 {
        match self.place(moment) {
            Ok(place) => place,
            Err(AxisError::OutOfRange(_)) if moment < DAY_SIGNED => 0,
            Err(AxisError::OutOfRange(_)) => i64::MAX,
            Err(AxisError::OddNanosecond(_)) => self.limit(moment + 1),
            // Points near it are errors.
            Err(AxisError::TwoDays(_) | AxisError::OtherOffset(_)) => {
                moment.saturating_add(self.zone.offset(moment).saturating_mul(SECOND))
            }
        }
    }

    /// The first moment, in nanoseconds since 1970 (UTC), of a bucket that starts at this place.
    #[must_use]
    pub fn start(&self, place: i64) -> i64 {
        match self.rule {
            Rule::Shift { shift, .. } => place.saturating_sub(shift),
            Rule::Days => {
                let (seconds, part) = (place.div_euclid(SECOND), place.rem_euclid(SECOND));
                match self.zone.moments(seconds) {
                    Moments::One(moment) | Moments::Two(moment, _) => {
                        moment.saturating_mul(SECOND).saturating_add(part)
                    }
                    Moments::Skipped(moment) => moment.saturating_mul(SECOND),
                }
            }
        }
    }

    /// The zone.
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// Whether an offset before [`RECENT`] suits the axis.
    fn check_early(&self, moment: i64, shift: i64, multiple: i128) -> Result<(), AxisError> {
        let offset = i128::from(self.zone.offset(moment)) * i128::from(SECOND);
        let apart = offset - i128::from(shift);
        match apart == 0 || (multiple != 0 && apart % multiple == 0) {
            true => Ok(()),
            false => Err(AxisError::OtherOffset(moment)),
        }
    }

    /// Local time, with half the pace where clocks show it twice.
    fn local(&self, moment: i64) -> Result<Option<i64>, AxisError> {
        let (index, period) = self.zone.period(moment.div_euclid(SECOND));
        let periods = &self.zone.0.periods;
        let before = index.checked_sub(1).map(|before| periods[before]);
        let changes = [
            before.map(|before| (before, period)),
            periods.get(index + 1).map(|next| (period, *next)),
        ];
        for (before, after) in changes.into_iter().flatten() {
            // The change is at the middle of the time that clocks show twice.
            let twice = (before.offset - after.offset) * SECOND;
            let Some(change) = after.start.checked_mul(SECOND).filter(|_| twice > 0) else {
                continue;
            };
            let (begin, end) = (change.saturating_sub(twice), change.saturating_add(twice));
            if !(begin..end).contains(&moment) {
                continue;
            }
            let local = change.saturating_add(after.offset * SECOND);
            if local.div_euclid(DAY_SIGNED) != (local + twice - 1).div_euclid(DAY_SIGNED) {
                return Err(AxisError::TwoDays(moment));
            }
            let since = moment - begin;
            if since % 2 != 0 {
                return Err(AxisError::OddNanosecond(moment));
            }
            return Ok(local.checked_add(since / 2));
        }
        Ok(moment.checked_add(period.offset * SECOND))
    }
}

/// The least common multiple of lengths in nanoseconds; 0 if it is long or there are days or
/// calendar periods among them.
fn common_multiple(granularities: &[Granularity]) -> i128 {
    let mut multiple = 1_u64;
    for granularity in granularities {
        let Granularity::Fixed(length @ 1..DAY) = *granularity else {
            return 0;
        };
        let (mut divisor, mut rest) = (multiple, length);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        match (multiple / divisor).checked_mul(length) {
            Some(longer @ ..=DAY) => multiple = longer,
            _ => return 0,
        }
    }
    i128::from(multiple)
}

/// Whether buckets begin at midnights.
fn is_days(granularity: Granularity) -> bool {
    match granularity {
        Granularity::Fixed(length) => length % DAY == 0,
        Granularity::Calendar(_) => true,
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
