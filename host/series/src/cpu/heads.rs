//! Finds the first points of buckets.

use super::memory::{allow, reserve, split_lengths, zeroed};
use super::prepare::{PIECE, Points};
use crate::SeriesError;
use rayon::prelude::*;
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;

/// Number of points examined at once; if the last lies in the open bucket, none of them begins a
/// bucket.
const STEP: usize = 8;

const WHAT: &str = "first points of buckets";

/// A range of points, and the buckets that begin in it.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    points: Range<usize>,
    /// Series whose first point lies in this piece. Series without points belong to the piece
    /// before the next point.
    series: Range<usize>,
    /// (bucket), first points of the buckets that begin in this piece.
    pub(super) firsts: Vec<u32>,
    /// Index of the first of these buckets.
    first_bucket: usize,
    /// First point of the first bucket that begins after this piece.
    next: usize,
}

/// The buckets of all series.
#[derive(Debug)]
pub(super) struct Heads {
    pub(super) pieces: Vec<Piece>,
    /// (series + 1): first bucket of each series.
    pub(super) offsets: Vec<usize>,
    rule: Bucketing,
}

impl Heads {
    /// Finds the buckets of a rule. For rates, the first point of a series belongs to no bucket.
    pub(super) fn find(
        points: &Points<'_>,
        rates: bool,
        rule: Bucketing,
    ) -> Result<Self, SeriesError> {
        if rule.calendar == 0 {
            // A constant, so that the compiler removes the calendar code.
            let index = |time| {
                Bucketing {
                    calendar: 0,
                    ..rule
                }
                .index(time)
            };
            Self::find_by(points, rates, rule, index)
        } else {
            Self::find_by(points, rates, rule, |time| rule.index(time))
        }
    }

    fn find_by(
        points: &Points<'_>,
        rates: bool,
        rule: Bucketing,
        index: impl Fn(u64) -> u64 + Sync + Copy,
    ) -> Result<Self, SeriesError> {
        let series = points.ends.len();
        let most = points.times.len() * size_of::<u32>() + series * size_of::<usize>();
        allow(WHAT, most)?;
        let mut offsets = zeroed(WHAT, series + 1)?;
        let mut pieces = pieces(points.times.len(), points.offsets);

        let of_pieces: Vec<&mut [usize]> =
            split_lengths(&mut offsets, pieces.iter().map(|piece| piece.series.len())).collect();
        // Each thread reuses the same memory for all its pieces.
        let found = || vec![0; PIECE + STEP];
        pieces.par_iter_mut().zip(of_pieces).try_for_each_init(
            found,
            |found, (piece, offsets)| {
                let scan = Scan {
                    times: &points.times,
                    rule,
                    index,
                    firsts: found,
                    found: 0,
                };
                piece.find(points, rates, scan, offsets)
            },
        )?;

        let mut total = 0;
        for piece in &mut pieces {
            piece.first_bucket = total;
            for offset in &mut offsets[piece.series.clone()] {
                *offset += total;
            }
            total += piece.firsts.len();
        }
        offsets[series] = total;
        let mut next = points.times.len();
        for piece in pieces.iter_mut().rev() {
            piece.next = next;
            next = piece.firsts.first().map_or(next, |first| *first as usize);
        }
        Ok(Self {
            pieces,
            offsets,
            rule,
        })
    }

    /// Number of buckets of all series.
    pub(super) fn buckets(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }

    /// Writes the bucket starts and numbers of points of a piece's buckets.
    pub(super) fn fill(
        &self,
        points: &Points<'_>,
        piece: &Piece,
        starts: &mut [i64],
        counts: &mut [u32],
    ) {
        let rule = self.rule;
        if rule.calendar == 0 {
            let rule = Bucketing {
                calendar: 0,
                ..rule
            };
            piece.fill_starts(points, starts, |time| rule.start(rule.index(time)));
        } else {
            piece.fill_starts(points, starts, |time| rule.start(rule.index(time)));
        }
        let firsts = &piece.firsts;
        let nexts = firsts.iter().skip(1).map(|first| *first as usize);
        for ((count, first), next) in counts.iter_mut().zip(firsts).zip(nexts.chain([piece.next])) {
            *count = (next - *first as usize) as u32;
        }
        // The last bucket of a series ends with the series.
        for series in piece.series.start.saturating_sub(1)..piece.series.end {
            let behind = self.offsets[series + 1];
            if behind > self.offsets[series].max(piece.first_bucket)
                && behind <= piece.first_bucket + firsts.len()
            {
                let last = behind - 1 - piece.first_bucket;
                counts[last] = (points.ends[series] - firsts[last] as usize) as u32;
            }
        }
    }
}

/// Splits `points` points into pieces.
fn pieces(points: usize, offsets: &[usize]) -> Vec<Piece> {
    let series = offsets.len() - 1;
    let mut before = 0;
    (0..points.div_ceil(PIECE))
        .map(|piece| {
            let end = ((piece + 1) * PIECE).min(points);
            let behind = if end == points {
                series
            } else {
                before + offsets[before..series].partition_point(|first| *first < end)
            };
            let of_piece = before..behind;
            before = behind;
            Piece {
                points: piece * PIECE..end,
                series: of_piece,
                firsts: Vec::new(),
                first_bucket: 0,
                next: 0,
            }
        })
        .collect()
}

impl Piece {
    /// Finds the buckets that begin in this piece, and for each series that begins in it the number
    /// of buckets before the series.
    fn find<I: Fn(u64) -> u64>(
        &mut self,
        points: &Points<'_>,
        rates: bool,
        mut scan: Scan<'_, I>,
        offsets: &mut [usize],
    ) -> Result<(), SeriesError> {
        let begins = |series: usize| points.offsets[series] + usize::from(rates);
        if let Some(open) = self.series.start.checked_sub(1) {
            // A series that began in an earlier piece.
            let from = self.points.start;
            let end = points.ends[open].min(self.points.end);
            if from < end {
                scan.points(from..end, (from > begins(open)).then(|| from - 1));
            }
        }
        for (series, offset) in self.series.clone().zip(offsets) {
            *offset = scan.found;
            let end = points.ends[series].min(self.points.end);
            if begins(series) < end {
                scan.points(begins(series)..end, None);
            }
        }
        reserve(WHAT, &mut self.firsts, scan.found)?;
        self.firsts.extend_from_slice(&scan.firsts[..scan.found]);
        Ok(())
    }

    fn fill_starts(&self, points: &Points<'_>, starts: &mut [i64], start: impl Fn(u64) -> i64) {
        for (to, first) in starts.iter_mut().zip(&self.firsts) {
            *to = start(points.times[*first as usize] as u64);
        }
    }
}

/// State of a pass over points.
struct Scan<'a, I> {
    /// (point).
    times: &'a [i64],
    rule: Bucketing,
    /// Maps a time to the index of its bucket under the rule.
    index: I,
    /// First points of buckets, `found` of them, with capacity for [`STEP`] more than a piece has.
    firsts: &'a mut [u32],
    found: usize,
}

impl<I: Fn(u64) -> u64> Scan<'_, I> {
    /// Finds the buckets that begin in a range of points; the bucket of point `before` is open.
    fn points(&mut self, range: Range<usize>, before: Option<usize>) {
        // No bucket has this index: times have 63 bits.
        const NONE: u64 = u64::MAX;
        let mut open = before.map_or(NONE, |point| (self.index)(self.times[point] as u64));
        let mut point = range.start;
        let (steps, rest) = self.times[range].as_chunks::<STEP>();
        for times in steps {
            if open == NONE || times[STEP - 1] as u64 >= self.rule.start(open + 1) as u64 {
                open = self.step(point, times, open);
            }
            point += STEP;
        }
        self.step(point, rest, open);
    }

    /// Processes up to [`STEP`] points from `first` on. Returns the bucket that is open at the end.
    #[inline(always)]
    fn step(&mut self, first: usize, times: &[i64], mut open: u64) -> u64 {
        let firsts = &mut self.firsts[self.found..self.found + STEP];
        let mut found = 0;
        for (position, time) in times.iter().enumerate() {
            let index = (self.index)(*time as u64);
            // Every point is written, and kept only if it begins a bucket: a branch would be
            // mispredicted once per bucket.
            firsts[found % STEP] = (first + position) as u32;
            found += usize::from(index != open);
            open = index;
        }
        self.found += found;
        open
    }
}
