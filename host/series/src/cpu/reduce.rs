//! Computes the columns of a granularity.

use super::block::{Block, Results};
use super::heads::{Heads, Piece};
use super::long;
use super::memory::{allow, split_lengths, zeroed};
use super::network::LANES;
use super::order::{self, Scratch};
use super::prepare::Points;
use super::statistics::{Content, Statistics, canonical_nan, deviation};
use crate::SeriesError;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use warpstride_kernels::series::order::value;
use warpstride_kernels::series::sums::SHORT;

/// Results of all buckets.
pub(super) struct Columns {
    /// (bucket), bucket starts in nanoseconds since 1970.
    pub(super) starts: Vec<i64>,
    /// (bucket), number of points.
    pub(super) counts: Vec<u32>,
    /// (column, bucket).
    pub(super) columns: Vec<Vec<f64>>,
}

/// The rows of the columns that belong to a piece.
struct Rows<'a> {
    piece: &'a Piece,
    starts: &'a mut [i64],
    counts: &'a mut [u32],
    columns: Vec<&'a mut [f64]>,
}

/// Memory that a thread reuses.
struct ThreadBuffers {
    block: Block,
    results: Results,
    scratch: Scratch,
}

/// Computes the requested statistics of all buckets of `values` (point).
pub(super) fn reduce(
    points: &Points<'_>,
    values: &[f64],
    heads: &Heads,
    statistics: &Statistics,
) -> Result<Columns, SeriesError> {
    const WHAT: &str = "aggregates";
    let buckets = heads.buckets();
    let row = size_of::<i64>() + size_of::<u32>() + statistics.contents.len() * size_of::<f64>();
    allow(WHAT, buckets.saturating_mul(row))?;
    let mut starts = zeroed(WHAT, buckets)?;
    let mut counts = zeroed(WHAT, buckets)?;
    // In parallel: reused memory must be zeroed.
    let mut columns: Vec<Vec<f64>> = (statistics.contents.par_iter())
        .map(|_| zeroed(WHAT, buckets))
        .collect::<Result<_, _>>()?;

    let lengths = || heads.pieces.iter().map(|piece| piece.firsts.len());
    let mut rows: Vec<Rows<'_>> = heads
        .pieces
        .iter()
        .zip(split_lengths(&mut starts, lengths()))
        .zip(split_lengths(&mut counts, lengths()))
        .map(|((piece, starts), counts)| Rows {
            piece,
            starts,
            counts,
            columns: Vec::with_capacity(statistics.contents.len()),
        })
        .collect();
    for column in &mut columns {
        for (rows, part) in rows.iter_mut().zip(split_lengths(column, lengths())) {
            rows.columns.push(part);
        }
    }
    let buffers = || ThreadBuffers {
        block: Block::new(),
        results: Results::new(statistics.quantiles.len()),
        scratch: Scratch::default(),
    };
    let arch = pulp::Arch::new();
    rows.into_par_iter()
        .try_for_each_init(buffers, |buffers, rows| {
            heads.fill(points, rows.piece, rows.starts, rows.counts);
            arch.dispatch(Work {
                firsts: &rows.piece.firsts,
                rows,
                values,
                statistics,
                buffers,
            })
        })?;
    Ok(Columns {
        starts,
        counts,
        columns,
    })
}

/// The work on a piece, compiled for each set of vector instructions.
struct Work<'a> {
    rows: Rows<'a>,
    values: &'a [f64],
    firsts: &'a [u32],
    statistics: &'a Statistics,
    buffers: &'a mut ThreadBuffers,
}

impl WithSimd for Work<'_> {
    type Output = Result<(), SeriesError>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<(), SeriesError> {
        let Self {
            rows,
            values,
            statistics,
            ..
        } = self;
        let mut columns = rows.columns;
        let ThreadBuffers {
            block,
            results,
            scratch,
        } = self.buffers;
        let firsts = self.firsts.chunks(LANES);
        for (group, (firsts, counts)) in firsts.zip(rows.counts.chunks(LANES)).enumerate() {
            if block.load(values, firsts, counts) {
                block.reduce(simd, statistics, results);
            }
            for (lane, (first, count)) in firsts.iter().zip(counts).enumerate() {
                if *count as usize > SHORT {
                    let values = &values[*first as usize..][..*count as usize];
                    reduce_long(values, statistics, lane, results, scratch)?;
                }
            }
            let rows = group * LANES..group * LANES + firsts.len();
            for (content, column) in statistics.contents.iter().zip(&mut columns) {
                let column = &mut column[rows.clone()];
                match content {
                    Content::Count => copy(column, counts.iter().map(|n| f64::from(*n))),
                    Content::First => copy(column, firsts.iter().map(|i| values[*i as usize])),
                    Content::Last => {
                        let lasts = firsts.iter().zip(counts).map(|(i, n)| i + n - 1);
                        copy(column, lasts.map(|i| values[i as usize]));
                    }
                    computed => copy(column, results.of(*computed).iter().copied()),
                }
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn copy(column: &mut [f64], values: impl Iterator<Item = f64>) {
    for (to, value) in column.iter_mut().zip(values) {
        *to = value;
    }
}

/// Reduces a bucket of more than [`SHORT`] values into a lane of the results.
#[inline(never)]
fn reduce_long(
    values: &[f64],
    statistics: &Statistics,
    lane: usize,
    results: &mut Results,
    scratch: &mut Scratch,
) -> Result<(), SeriesError> {
    let n = values.len() as u32;
    if statistics.sums {
        let sum = long::plain_sum(values);
        let mean = sum / f64::from(n);
        results.sums[lane] = canonical_nan(sum);
        results.means[lane] = canonical_nan(mean);
        if statistics.deviations {
            let squares = long::sum(values, |v| (v - mean) * (v - mean));
            results.deviations[lane] = deviation(squares, n);
        }
    }
    if statistics.extremes || statistics.ordered() {
        let extremes = long::extremes(values);
        results.least[lane] = value(extremes.0);
        results.greatest[lane] = value(extremes.1);
        if statistics.ordered() {
            order::long_bucket(values, extremes, statistics, lane, results, scratch)?;
        }
    }
    Ok(())
}
