//! Prepares points in time order: drops NaN if requested, sorts series, treats duplicates.

use super::memory::{allow, reserve, split_lengths, zeroed};
use crate::{Batch, Duplicates, NanPolicy, SeriesError};
use rayon::prelude::*;
use std::borrow::Cow;

/// Number of points in a thread's work item.
pub(super) const PIECE: usize = 1 << 15;

/// Number of points beyond which all threads sort one series together.
const LONG: usize = 1 << 16;

/// Series in the order of time. Borrows the batch's memory if nothing has to change.
#[derive(Debug)]
pub(super) struct Points<'a> {
    /// (point), nanoseconds since 1970.
    pub(super) times: Cow<'a, [i64]>,
    /// (point).
    pub(super) values: Cow<'a, [f64]>,
    /// (series + 1): first points, as in the batch.
    pub(super) offsets: &'a [usize],
    /// (series): end of the series' points. The points between it and the next series' first point
    /// are undefined.
    pub(super) ends: Cow<'a, [usize]>,
    /// Points with the time of an earlier one of their series, whatever is done with them.
    pub(super) duplicates: usize,
    /// Points dropped because they are NaN.
    pub(super) skipped: usize,
}

/// Returns the points of a batch in time order.
pub(super) fn prepare(
    batch: &Batch,
    nan: NanPolicy,
    duplicates: Duplicates,
) -> Result<Points<'_>, SeriesError> {
    let skip = nan == NanPolicy::Skip;
    let with_nan = || {
        batch
            .values()
            .par_chunks(PIECE)
            .any(|part| !all_numbers(part))
    };
    if duplicates == Duplicates::Error {
        batch.reject_duplicates(nan)?;
    }
    let order = order(batch);
    let in_order = match duplicates {
        Duplicates::Keep => order.sorted,
        _ => order.sorted && order.repeats == 0,
    };
    if in_order && !(skip && with_nan()) {
        return Ok(Points {
            times: Cow::Borrowed(batch.times()),
            values: Cow::Borrowed(batch.values()),
            offsets: batch.offsets(),
            ends: Cow::Borrowed(&batch.offsets()[1..]),
            duplicates: order.repeats,
            skipped: 0,
        });
    }
    sorted(batch, skip, duplicates)
}

/// The order of times.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// Whether no time follows a later one of its series.
    sorted: bool,
    /// Number of times equal to the one before in their series.
    repeats: usize,
}

/// The order of the times of all series.
fn order(batch: &Batch) -> Order {
    let (times, offsets) = (batch.times(), batch.offsets());
    let of_piece = |from: usize| {
        let end = (from + PIECE).min(times.len());
        let mut series = offsets.partition_point(|first| *first <= from);
        let mut first = from.saturating_sub(usize::from(offsets[series - 1] < from));
        let mut repeats = 0;
        while first < end {
            let last = offsets[series].min(end);
            let found = order_of(&times[first..last]);
            if !found.sorted {
                return found;
            }
            repeats += found.repeats;
            first = last;
            series += 1;
        }
        Order {
            sorted: true,
            repeats,
        }
    };
    let pieces = (0..times.len().div_ceil(PIECE)).into_par_iter();
    let none = || Order {
        sorted: true,
        repeats: 0,
    };
    pieces
        .map(|piece| of_piece(piece * PIECE))
        .reduce(none, |a, b| Order {
            sorted: a.sorted && b.sorted,
            repeats: a.repeats + b.repeats,
        })
}

/// The order of the times of one series.
fn order_of(times: &[i64]) -> Order {
    pulp::Arch::new().dispatch(InOrder(times))
}

struct InOrder<'a>(&'a [i64]);

impl pulp::NullaryFnOnce for InOrder<'_> {
    type Output = Order;

    #[inline(always)]
    fn call(self) -> Order {
        // Without an early exit, so that the compiler vectorizes it.
        let later = self.0.get(1..).unwrap_or_default();
        let pairs = self.0.iter().zip(later);
        let (sorted, repeats) = pairs.fold((true, 0), |(sorted, repeats), (a, b)| {
            (sorted & (a <= b), repeats + usize::from(a == b))
        });
        Order { sorted, repeats }
    }
}

/// Whether no value is NaN.
fn all_numbers(values: &[f64]) -> bool {
    values.iter().fold(true, |ok, v| ok & !v.is_nan())
}

/// A work item: consecutive series, and where their points go.
struct Task<'a> {
    series: std::ops::Range<usize>,
    times: &'a mut [i64],
    values: &'a mut [f64],
    ends: &'a mut [usize],
}

/// Numbers of points with the time of an earlier one, and of dropped points with NaN.
#[derive(Clone, Copy, Default)]
struct Dropped {
    duplicates: usize,
    skipped: usize,
}

fn sorted(batch: &Batch, skip: bool, duplicates: Duplicates) -> Result<Points<'_>, SeriesError> {
    const WHAT: &str = "sorting by time";
    let offsets = batch.offsets();
    // Groups consecutive series until a group has the points of a piece.
    let mut bounds = vec![0];
    for series in 1..=batch.series() {
        let first = bounds[bounds.len() - 1];
        if offsets[series] - offsets[first] >= PIECE || series == batch.series() {
            bounds.push(series);
        }
    }
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max();
    // A thread holds the pairs of one series and as much memory again for merging them.
    let scratch = 2 * size_of::<(i64, f64)>() * longest.unwrap_or(0);
    let results = batch.len() * size_of::<(i64, f64)>();
    let sorters = rayon::current_num_threads().min(bounds.len());
    allow(
        WHAT,
        results.saturating_add(scratch.saturating_mul(sorters)),
    )?;
    let mut times = zeroed(WHAT, batch.len())?;
    let mut values = zeroed(WHAT, batch.len())?;
    let mut ends = zeroed(WHAT, batch.series())?;

    let tasks = || bounds.windows(2).map(|pair| pair[0]..pair[1]);
    let points = || tasks().map(|task| offsets[task.end] - offsets[task.start]);
    let tasks: Vec<Task<'_>> = tasks()
        .zip(split_lengths(&mut times, points()))
        .zip(split_lengths(&mut values, points()))
        .zip(split_lengths(&mut ends, tasks().map(|task| task.len())))
        .map(|(((series, times), values), ends)| Task {
            series,
            times,
            values,
            ends,
        })
        .collect();
    let dropped = tasks
        .into_par_iter()
        .map_init(Vec::new, |pairs, task| {
            task.run(batch, skip, duplicates, pairs)
        })
        .try_reduce(Dropped::default, |a, b| {
            Ok(Dropped {
                duplicates: a.duplicates + b.duplicates,
                skipped: a.skipped + b.skipped,
            })
        })?;
    Ok(Points {
        times: Cow::Owned(times),
        values: Cow::Owned(values),
        offsets,
        ends: Cow::Owned(ends),
        duplicates: dropped.duplicates,
        skipped: dropped.skipped,
    })
}

impl Task<'_> {
    fn run(
        self,
        batch: &Batch,
        skip: bool,
        duplicates: Duplicates,
        pairs: &mut Vec<(i64, f64)>,
    ) -> Result<Dropped, SeriesError> {
        let mut dropped = Dropped::default();
        let base = batch.offsets()[self.series.start];
        for (series, end) in self.series.clone().zip(self.ends) {
            let (first, after) = (batch.offsets()[series], batch.offsets()[series + 1]);
            let (times, values) = (&batch.times()[first..after], &batch.values()[first..after]);
            let points = times.iter().copied().zip(values.iter().copied());
            pairs.clear();
            reserve("sorting by time", pairs, times.len())?;
            pairs.extend(points.filter(|(_, value)| !(skip && value.is_nan())));
            if !order_of(times).sorted {
                sort(pairs);
            }
            let repeats = pairs.windows(2).filter(|pair| pair[0].0 == pair[1].0);
            dropped.duplicates += repeats.count();
            let kept = write(
                pairs,
                duplicates,
                &mut self.times[first - base..],
                &mut self.values[first - base..],
            );
            dropped.skipped += times.len() - pairs.len();
            *end = first + kept;
        }
        Ok(dropped)
    }
}

/// Sorts by time; points of equal time keep their order.
fn sort(pairs: &mut [(i64, f64)]) {
    if pairs.len() > LONG {
        pairs.par_sort_by_key(|pair| pair.0);
    } else {
        pairs.sort_by_key(|pair| pair.0);
    }
}

/// Writes points of non-decreasing time, treating those of the same time as asked. Returns the
/// number of written points.
fn write(
    pairs: &[(i64, f64)],
    duplicates: Duplicates,
    times: &mut [i64],
    values: &mut [f64],
) -> usize {
    let mut kept = 0;
    for (time, value) in pairs {
        let repeats = kept > 0 && times[kept - 1] == *time;
        match duplicates {
            Duplicates::First if repeats => {}
            Duplicates::Last if repeats => values[kept - 1] = *value,
            _ => {
                (times[kept], values[kept]) = (*time, *value);
                kept += 1;
            }
        }
    }
    kept
}
