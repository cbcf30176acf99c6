//! Times on clocks of known and unknown zones.

use super::calendar::SECOND;
use super::error::TimestampError;
use crate::{Moments, Zone};

/// The treatment of local times that clocks show twice, because they were set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ambiguous {
    /// They are bad rows.
    #[default]
    Refuse,
    /// They are the first of the two.
    Earlier,
    /// They are the second of the two.
    Later,
}

/// How times without an offset are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) struct LocalTimes {
    pub(in crate::io) zone: Zone,
    pub(in crate::io) ambiguous: Ambiguous,
}

impl LocalTimes {
    /// The second since 1970, UTC, of a second since 1970 in local time. Adds one to `twice` if
    /// clocks show the time twice.
    fn moment(self, local: i64, twice: &mut u64) -> Result<i64, TimestampError> {
        match (self.zone.moments(local), self.ambiguous) {
            (Moments::One(moment), _) => Ok(moment),
            (Moments::Skipped(_), _) => Err(TimestampError::Skipped(self.zone)),
            (Moments::Two(..), Ambiguous::Refuse) => Err(TimestampError::Twice(self.zone)),
            (Moments::Two(moment, _), Ambiguous::Earlier)
            | (Moments::Two(_, moment), Ambiguous::Later) => {
                *twice += 1;
                Ok(moment)
            }
        }
    }

    /// The same for nanoseconds.
    pub(in crate::io) fn nanoseconds(
        self,
        local: i64,
        twice: &mut u64,
    ) -> Result<i64, TimestampError> {
        let reading = Reading {
            seconds: local.div_euclid(SECOND),
            part: local.rem_euclid(SECOND),
            offset: None,
        };
        reading.nanoseconds(Some(self), twice)
    }
}

/// A time on clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) struct Reading {
    /// Seconds since 1970 on these clocks.
    pub(in crate::io) seconds: i64,
    /// Nanoseconds after the second.
    pub(in crate::io) part: i64,
    /// Seconds east of UTC, if known.
    pub(in crate::io) offset: Option<i64>,
}

impl Reading {
    /// Nanoseconds since 1970, UTC. Without an offset, it is local time, or else UTC.
    #[inline]
    pub(super) fn nanoseconds(
        self,
        local: Option<LocalTimes>,
        twice: &mut u64,
    ) -> Result<i64, TimestampError> {
        let seconds = match (self.offset, local) {
            (Some(offset), _) => self.seconds - offset,
            (None, None) => self.seconds,
            (None, Some(local)) => local.moment(self.seconds, twice)?,
        };
        if seconds < 0 {
            return Err(TimestampError::TooEarly);
        }
        seconds
            .checked_mul(SECOND)
            .and_then(|n| n.checked_add(self.part))
            .ok_or(TimestampError::TooLate)
    }
}
