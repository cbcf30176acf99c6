//! Where buckets begin.

use super::memory::{allow, cut, zeroed};
use super::prepare::{PIECE, Points};
use crate::series::SeriesError;
use rayon::prelude::*;
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;

/// Points looked at together; where the last lies in the bucket that is open, none begins one.
const STEP: usize = 8;

/// Points in a row, and the buckets that begin among them.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) points: Range<usize>,
    /// Series whose first point lies here; those without points are of the piece before the next point.
    pub(super) series: Range<usize>,
    /// Buckets that begin here.
    pub(super) buckets: usize,
    /// The number of the first.
    pub(super) first_bucket: usize,
    /// The first point of the first bucket that begins behind this piece.
    pub(super) next: usize,
}

/// The buckets of all series.
#[derive(Debug)]
pub(super) struct Heads {
    pub(super) pieces: Vec<Piece>,
    /// (point): first points of buckets, of each piece from its first point on.
    pub(super) firsts: Vec<u32>,
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
        const WHAT: &str = "first points of buckets";
        let series = points.ends.len();
        allow(
            WHAT,
            points.times.len() * size_of::<u32>() + series * size_of::<usize>(),
        )?;
        let mut firsts = zeroed(WHAT, points.times.len())?;
        let mut offsets = zeroed(WHAT, series + 1)?;
        let mut pieces = pieces(points.times.len(), points.offsets);

        let of_pieces: Vec<&mut [usize]> =
            cut(&mut offsets, pieces.iter().map(|piece| piece.series.len())).collect();
        pieces
            .par_iter_mut()
            .zip(firsts.par_chunks_mut(PIECE))
            .zip(of_pieces)
            .for_each(|((piece, firsts), offsets)| {
                piece.find(points, rates, rule, firsts, offsets)
            });

        let mut total = 0;
        for piece in &mut pieces {
            piece.first_bucket = total;
            for offset in &mut offsets[piece.series.clone()] {
                *offset += total;
            }
            total += piece.buckets;
        }
        offsets[series] = total;
        let mut next = points.times.len();
        for piece in pieces.iter_mut().rev() {
            piece.next = next;
            if piece.buckets > 0 {
                next = firsts[piece.points.start] as usize;
            }
        }
        Ok(Self {
            pieces,
            firsts,
            offsets,
            rule,
        })
    }

    /// Buckets of all series.
    pub(super) fn buckets(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }

    /// First points of a piece's buckets.
    pub(super) fn firsts(&self, piece: &Piece) -> &[u32] {
        &self.firsts[piece.points.start..][..piece.buckets]
    }

    /// Writes first moments and numbers of points of a piece's buckets.
    pub(super) fn fill(
        &self,
        points: &Points<'_>,
        piece: &Piece,
        starts: &mut [i64],
        counts: &mut [u32],
    ) {
        let firsts = self.firsts(piece);
        for (start, first) in starts.iter_mut().zip(firsts) {
            let time = points.times[*first as usize] as u64;
            *start = self.rule.start(self.rule.index(time));
        }
        let nexts = firsts.iter().skip(1).map(|first| *first as usize);
        for ((count, first), next) in counts.iter_mut().zip(firsts).zip(nexts.chain([piece.next])) {
            *count = (next - *first as usize) as u32;
        }
        // The last bucket of a series ends with it.
        for series in piece.series.start.saturating_sub(1)..piece.series.end {
            let behind = self.offsets[series + 1];
            if behind > self.offsets[series].max(piece.first_bucket)
                && behind <= piece.first_bucket + piece.buckets
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
                buckets: 0,
                first_bucket: 0,
                next: 0,
            }
        })
        .collect()
}

impl Piece {
    /// Writes the first points of the buckets that begin here, and for each series that begins here how many buckets
    /// of the piece lie before it.
    fn find(
        &mut self,
        points: &Points<'_>,
        rates: bool,
        rule: Bucketing,
        firsts: &mut [u32],
        offsets: &mut [usize],
    ) {
        let begins = |series: usize| points.offsets[series] + usize::from(rates);
        let mut found = 0;
        if let Some(open) = self.series.start.checked_sub(1) {
            // A series that began before.
            let from = self.points.start;
            let end = points.ends[open].min(self.points.end);
            if from < end {
                let bucket =
                    (from > begins(open)).then(|| rule.index(points.times[from - 1] as u64));
                found = scan(&points.times, from..end, bucket, rule, firsts, 0);
            }
        }
        for (series, offset) in self.series.clone().zip(offsets) {
            *offset = found;
            let end = points.ends[series].min(self.points.end);
            if begins(series) < end {
                found = scan(
                    &points.times,
                    begins(series)..end,
                    None,
                    rule,
                    firsts,
                    found,
                );
            }
        }
        self.buckets = found;
    }
}

/// Appends to the `found` entries of `firsts` the first points of buckets in a `range` of points; `bucket` is the number
/// of the one that is open. How many there are then.
fn scan(
    times: &[i64],
    range: Range<usize>,
    bucket: Option<u64>,
    rule: Bucketing,
    firsts: &mut [u32],
    mut found: usize,
) -> usize {
    // No bucket has this number: times have 63 bits.
    let mut open = bucket.unwrap_or(u64::MAX);
    let mut point = range.start;
    let times = &times[..range.end];
    while point < range.end {
        let next = (point + STEP).min(range.end);
        let last = times[next - 1] as u64;
        if open != u64::MAX && last < rule.start(open + 1) as u64 {
            point = next;
            continue;
        }
        for (place, time) in (point..next).zip(&times[point..next]) {
            let index = rule.index(*time as u64);
            // Written in any case and kept or not: a branch here would be guessed wrongly once a bucket.
            firsts[found] = place as u32;
            found += usize::from(index != open);
            open = index;
        }
        point = next;
    }
    found
}
