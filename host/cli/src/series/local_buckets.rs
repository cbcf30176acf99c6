//! Points on the axis on which buckets of local time have a fixed length.

use super::points::{Inputs, Limits};
use crate::failure::Failure;
use warpstride::series::io::{Block, iso};
use warpstride::series::{AxisError, BucketAxis};

/// Places points and limits on an axis, if buckets are those of local time.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalBuckets {
    axis: Option<BucketAxis>,
    /// Nanoseconds since 1970, UTC.
    limits: Limits,
    /// The places of the limits.
    placed: Limits,
}

impl LocalBuckets {
    /// `limits` are those of `--start` and `--end`.
    pub(super) fn new(axis: Option<BucketAxis>, limits: Limits) -> Self {
        let place = |limit: i64| axis.map_or(limit, |axis| axis.limit(limit));
        let placed = (limits.0.map(place), limits.1.map(place));
        Self {
            axis,
            limits,
            placed,
        }
    }

    /// The places of the limits.
    pub(super) fn placed(&self) -> Limits {
        self.placed
    }

    /// The block with its times on the axis.
    pub(super) fn place(&self, mut block: Block, inputs: &Inputs) -> Result<Block, Failure> {
        if let Some(axis) = self.axis {
            for time in &mut block.times {
                let place = match axis.place(*time) {
                    Ok(place) => Ok(place),
                    Err(why) => self.outside(*time).ok_or(why),
                };
                *time = place.map_err(|why| {
                    let inputs = inputs.description();
                    Failure::failed(format!("{inputs}: {}", text(axis, why)))
                })?;
            }
        }
        Ok(block)
    }

    /// A place outside the limits for a time outside them, which needs no place of its own.
    fn outside(&self, time: i64) -> Option<i64> {
        let before = match (self.limits.0, self.placed.0) {
            (Some(start), Some(placed)) if time < start => placed.checked_sub(1),
            _ => None,
        };
        let after = match (self.limits.1, self.placed.1) {
            (Some(end), Some(placed)) if time >= end => Some(placed),
            _ => None,
        };
        before.filter(|place| *place >= 0).or(after)
    }
}

/// What was expected and found of a time that has no place on an axis.
fn text(axis: BucketAxis, why: AxisError) -> String {
    let zone = axis.zone();
    match why {
        AxisError::OutOfRange(time) => format!(
            "expected times from 1970 to 2262 on the clocks of {zone}, found {}",
            iso(time)
        ),
        AxisError::TwoDays(time) => format!(
            "expected times whose day in {zone} does not change back, found {}, near which clocks were set back over midnight; use a --granularity of hours",
            iso(time)
        ),
        AxisError::OtherOffset(time) => format!(
            "expected times from 1990 on, before which clocks of {zone} had another offset, found {}; use --start, or a --granularity of whole days alone",
            iso(time)
        ),
        AxisError::OddNanosecond(time) => format!(
            "expected whole multiples of 2 ns where clocks of {zone} were set back, found {}; use a --granularity of hours",
            iso(time)
        ),
    }
}
