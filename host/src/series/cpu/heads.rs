//! Where buckets begin.

use super::memory::{allow, cut, reserve, zeroed};
use super::prepare::{PIECE, Points};
use crate::series::SeriesError;
use rayon::prelude::*;
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;

/// Points looked at together; where the last lies in the bucket that is open, none begins one.
const STEP: usize = 8;

const WHAT: &str = "first points of buckets";

/// Points in a row, and the buckets that begin among them.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    points: Range<usize>,
    /// Series whose first point lies here; those without points are of the piece before the next point.
    series: Range<usize>,
    /// (bucket), first points of the buckets that begin here.
    pub(super) firsts: Vec<u32>,
    /// The number of the first of them.
    first_bucket: usize,
    /// The first point of the first bucket that begins behind this piece.
    next: usize,
}

/// The buckets of all series.
#[derive(Debug)]
pub(super) struct Heads {
    pub(super) pieces: Vec<Piece>,
    /// (series + 1): first buckets.
    pub(super) offsets: Vec<usize>,
    rule: Bucketing,
}

impl Heads {
    /// Finds the buckets of a rule. For rates the first points of series belong to none.
    pub(super) fn find(
        points: &Points<'_>,
        rates: bool,
        rule: Bucketing,
    ) -> Result<Self, SeriesError> {
        if rule.calendar == 0 {
            // So that the compiler sees one way through it.
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
            cut(&mut offsets, pieces.iter().map(|piece| piece.series.len())).collect();
        // A thread finds the buckets of its pieces in the same memory.
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

    /// Buckets of all series.
    pub(super) fn buckets(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }

    /// Writes first moments and numbers of points of a piece's buckets.
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
        // The last bucket of a series ends with it.
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

/// Pieces of `points` points.
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
    /// Finds the buckets that begin here, and for each series that begins here how many of them lie before it.
    fn find<I: Fn(u64) -> u64>(
        &mut self,
        points: &Points<'_>,
        rates: bool,
        mut scan: Scan<'_, I>,
        offsets: &mut [usize],
    ) -> Result<(), SeriesError> {
        let begins = |series: usize| points.offsets[series] + usize::from(rates);
        if let Some(open) = self.series.start.checked_sub(1) {
            // A series that began before.
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

/// A way through points.
struct Scan<'a, I> {
    /// (point).
    times: &'a [i64],
    rule: Bucketing,
    /// As the rule's.
    index: I,
    /// First points of buckets, of which there are `found`, and room for [`STEP`] more than a piece has.
    firsts: &'a mut [u32],
    found: usize,
}

impl<I: Fn(u64) -> u64> Scan<'_, I> {
    /// Finds the buckets that begin in a range of points, where that of point `before` is open.
    fn points(&mut self, range: Range<usize>, before: Option<usize>) {
        // No bucket has this number: times have 63 bits.
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

    /// Up to [`STEP`] points from `first` on. The bucket that is open then.
    #[inline(always)]
    fn step(&mut self, first: usize, times: &[i64], mut open: u64) -> u64 {
        let firsts = &mut self.firsts[self.found..self.found + STEP];
        let mut found = 0;
        for (place, time) in times.iter().enumerate() {
            let index = (self.index)(*time as u64);
            // Written in any case and kept or not: a branch here would be guessed wrongly once a bucket.
            firsts[found % STEP] = (first + place) as u32;
            found += usize::from(index != open);
            open = index;
        }
        self.found += found;
        open
    }
}
