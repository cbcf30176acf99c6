//! Computes aggregates of collected points.

use super::gather::{Gathered, Points};
use super::pending_columns::PendingColumns;
use super::portion::{self, Portion};
use super::run_file::Point;
use super::sink::{Rows, Sink};
use super::window::Windows;
use super::{Limits, StreamError};
use crate::{Buckets, Column, Engine, Granularity, Resample, Resampled, SeriesError};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Counts of the processed points.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Points within the limits.
    pub points: u64,
    /// Points outside the limits.
    pub outside: u64,
    /// Points with the series and time of an earlier one, whether the plan keeps them or not.
    pub duplicates: u64,
    /// Points left out because they are NaN.
    pub skipped: u64,
    /// Number of series with points.
    pub series: u64,
    /// Number of buckets of each granularity, of values and of rates if the plan has such
    /// aggregates.
    pub buckets: Vec<(Granularity, bool, u64)>,
    /// Number of batches.
    pub batches: u64,
    /// Bytes of points that did not fit in memory.
    pub spilled: u64,
}

/// Results on the way from the engine to the sink.
struct Job {
    /// Index of the batch's first series.
    first: usize,
    resampled: Resampled,
    /// Set for a series that is split in time.
    window: Option<WindowRange>,
}

/// The range of buckets that a window is responsible for.
#[derive(Clone, Copy)]
struct WindowRange {
    from: i64,
    to: Option<i64>,
    last: bool,
}

impl WindowRange {
    fn has(&self, start: i64) -> bool {
        start >= self.from && self.to.is_none_or(|to| start < to)
    }
}

impl Gathered {
    /// Computes all aggregates and passes them to `sink`. `watch` receives the number of finished
    /// points, and stops the stream by returning `false`.
    ///
    /// # Errors
    /// Errors of the engine, the sink and the storage; if a bucket does not fit or the stream was
    /// stopped.
    pub fn resample(
        self,
        engine: &mut dyn Engine,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Tally, StreamError> {
        let plan = engine.plan().clone();
        let mut tally = Tally {
            points: self.extents.iter().map(|extent| extent.points).sum(),
            outside: self.outside,
            series: self.extents.iter().filter(|e| e.points > 0).count() as u64,
            ..Tally::default()
        };
        for rate in [false, true] {
            if plan.aggregates().iter().any(|a| a.rate == rate) {
                let all = plan.granularities().iter();
                tally.buckets.extend(all.map(|g| (*g, rate, 0)));
            }
        }
        let limits = self.limits.clone();
        thread::scope(|scope| {
            // Results of one batch are consumed while the next is computed.
            let (sender, receiver) = sync_channel(0);
            let plan = &plan;
            let sending = scope.spawn(move || send_results(&receiver, plan, &limits, sink));
            let computed = self.compute(engine, plan, &mut tally, &sender, watch);
            drop(sender);
            let sent = sending
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // The error of a closed channel does not contain the reason.
            sent?;
            computed.map(|()| tally)
        })
    }

    fn compute(
        self,
        engine: &mut dyn Engine,
        plan: &Resample,
        tally: &mut Tally,
        sender: &SyncSender<Job>,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), StreamError> {
        let send = |job| sender.send(job).map_err(|_| StreamError::Stopped);
        let mut done = 0;
        let mut go_on = |points: u64| {
            done += points;
            watch(done).then_some(()).ok_or(StreamError::Stopped)
        };
        let file = match self.points {
            Points::Memory(batch) => {
                go_on(0)?;
                let resampled = engine.resample(&batch)?;
                let points = batch.len() as u64;
                drop(batch);
                tally.add(&resampled);
                go_on(points)?;
                return send(Job {
                    first: 0,
                    resampled,
                    window: None,
                });
            }
            Points::Storage(file) => file,
        };
        tally.spilled = file.bytes();
        for portion in portion::split(&self.extents, &self.need) {
            go_on(0)?;
            match portion {
                Portion::Series(series) => {
                    let batch = portion::load(&file, &series, &self.extents)?;
                    let resampled = engine.resample(&batch);
                    let resampled = resampled.map_err(|why| of_portion(why, series.start))?;
                    tally.add(&resampled);
                    go_on(batch.len() as u64)?;
                    drop(batch);
                    send(Job {
                        first: series.start,
                        resampled,
                        window: None,
                    })?;
                }
                Portion::SplitSeries(series) => {
                    let extent = &self.extents[series];
                    let mut windows = Windows::new(&file, series, extent, plan, &self.need)?;
                    let mut next = windows.next()?;
                    while let Some(window) = next {
                        let resampled = engine.resample(&window.batch)?;
                        drop(window.batch);
                        tally.duplicates += window.duplicates;
                        tally.skipped += window.skipped;
                        tally.batches += 1;
                        go_on(window.own)?;
                        next = windows.next()?;
                        let cut = WindowRange {
                            from: window.from,
                            to: window.to,
                            last: next.is_none(),
                        };
                        tally.count(&resampled, |start| cut.has(start));
                        send(Job {
                            first: series,
                            resampled,
                            window: Some(cut),
                        })?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// An error of a batch that begins with series `first`, with the number of the series among all.
fn of_portion(error: SeriesError, first: usize) -> SeriesError {
    match error {
        SeriesError::SameTime { series, time } => SeriesError::SameTime {
            series: first + series,
            time,
        },
        other => other,
    }
}

impl Tally {
    /// Counts a whole batch.
    fn add(&mut self, of: &Resampled) {
        self.batches += 1;
        self.duplicates += of.duplicates as u64;
        self.skipped += of.skipped as u64;
        self.count(of, |_| true);
    }

    fn count(&mut self, of: &Resampled, counts: impl Fn(i64) -> bool) {
        for buckets in &of.buckets {
            let number = buckets
                .starts
                .iter()
                .filter(|start| counts(**start))
                .count();
            let known = self.buckets.iter_mut().find(|(granularity, rate, _)| {
                (*granularity, *rate) == (buckets.granularity, buckets.rate)
            });
            if let Some((.., sum)) = known {
                *sum += number as u64;
            }
        }
    }
}

/// Passes results to the sink in order.
fn send_results(
    jobs: &Receiver<Job>,
    plan: &Resample,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<(), StreamError> {
    let columns = plan.granularities().len() * plan.aggregates().len();
    let mut pending = PendingColumns::new(&limits.folder, columns);
    let mut rows = Vec::new();
    for Job {
        first,
        resampled,
        window,
    } in jobs
    {
        let Some(cut) = window else {
            send_batch(first, &resampled, plan, sink)?;
            continue;
        };
        for (column, (buckets, of)) in in_order(&resampled, plan).enumerate() {
            rows.clear();
            let counting = buckets.of(of, 0).filter(|(start, _)| cut.has(*start));
            rows.extend(counting.map(|(time, value)| Point { time, value }));
            pending.append(column, &rows)?;
        }
        if cut.last {
            pending.flush(first, plan, sink)?;
        }
    }
    Ok(())
}

/// Passes all rows of a batch to the sink.
fn send_batch(
    first: usize,
    resampled: &Resampled,
    plan: &Resample,
    sink: &mut dyn Sink,
) -> Result<(), StreamError> {
    let columns: Vec<_> = in_order(resampled, plan).collect();
    let series = resampled.buckets.first().map_or(0, |b| b.offsets.len() - 1);
    let mut rows = (0..series).flat_map(|of_batch| {
        columns.iter().map(move |(buckets, column)| {
            let range = buckets.offsets[of_batch]..buckets.offsets[of_batch + 1];
            let some_lack = column.aggregate.method.min_values() > 1;
            Rows {
                series: first + of_batch,
                granularity: buckets.granularity,
                aggregate: column.aggregate,
                starts: &buckets.starts[range.clone()],
                values: &column.values[range.clone()],
                counts: some_lack.then(|| &buckets.counts[range]),
            }
        })
    });
    sink.take(&mut rows)
}

/// Columns in the order of the plan's granularities and aggregates, with their buckets.
fn in_order<'a>(
    resampled: &'a Resampled,
    plan: &'a Resample,
) -> impl Iterator<Item = (&'a Buckets, &'a Column)> {
    plan.granularities().iter().flat_map(move |granularity| {
        plan.aggregates().iter().filter_map(move |aggregate| {
            let buckets = resampled
                .buckets
                .iter()
                .find(|b| b.granularity == *granularity && b.rate == aggregate.rate)?;
            let column = buckets.columns.iter().find(|c| c.aggregate == *aggregate)?;
            Some((buckets, column))
        })
    })
}
