//! What is computed at a time.

use super::StreamError;
use super::gather::zeroed;
use super::need::{Extent, Need};
use super::run_file::RunFile;
use crate::series::Batch;
use std::ops::Range;

/// A part of all series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Portion {
    /// Whole series, one after the other.
    Series(Range<usize>),
    /// One series that is cut in time.
    Cut(usize),
}

/// All series in portions that fit, in their order.
pub(super) fn cut(extents: &[Extent], need: &Need) -> Vec<Portion> {
    let mut portions = Vec::new();
    let (mut first, mut points, mut bytes) = (0, 0, 0);
    for (series, extent) in extents.iter().enumerate() {
        let of_series = need.of(extent);
        if !need.fits(points + extent.points, bytes + of_series) {
            if first < series {
                portions.push(Portion::Series(first..series));
            }
            (first, points, bytes) = (series, 0, 0);
            if !need.fits(extent.points, of_series) {
                portions.push(Portion::Cut(series));
                first = series + 1;
                continue;
            }
        }
        points += extent.points;
        bytes += of_series;
    }
    if first < extents.len() {
        portions.push(Portion::Series(first..extents.len()));
    }
    portions
}

/// The points of whole series, in the order in which a stable sort by time has those of each run.
pub(super) fn load(
    file: &RunFile,
    series: &Range<usize>,
    extents: &[Extent],
) -> Result<Batch, StreamError> {
    let mut offsets = vec![0_usize];
    let mut points = 0;
    for extent in &extents[series.clone()] {
        points += extent.points as usize;
        offsets.push(points);
    }
    let (mut times, mut values) = (zeroed(points)?, zeroed(points)?);
    let mut next = offsets.clone();
    for run in 0..file.runs() {
        let of_run = file.offsets(run, series)?;
        let (mut at, mut owner) = (of_run[0], 0);
        file.points(run, of_run[0]..of_run[series.len()], |piece| {
            for point in piece {
                while at >= of_run[owner + 1] {
                    owner += 1;
                }
                let to = next[owner];
                (times[to], values[to]) = (point.time, point.value);
                next[owner] += 1;
                at += 1;
            }
        })?;
    }
    Ok(Batch::new(times, values, offsets)?)
}
