//! Portions of the points that are computed at once.

use super::StreamError;
use super::batch_memory::{BatchMemory, Extent};
use super::gather::zeroed;
use super::run_file::RunFile;
use crate::Batch;
use std::ops::Range;

/// A portion of all points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Portion {
    /// Whole series.
    Series(Range<usize>),
    /// One series that is split in time.
    SplitSeries(usize),
}

/// Splits the series into consecutive portions that fit.
pub(super) fn split(extents: &[Extent], need: &BatchMemory) -> Vec<Portion> {
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
                portions.push(Portion::SplitSeries(series));
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

/// Loads the points of whole series, run by run, in the order of a stable sort within each run.
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
