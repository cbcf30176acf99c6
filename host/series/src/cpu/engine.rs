//! Executes a plan on the CPU.

use super::heads::Heads;
use super::prepare::{Points, prepare};
use super::rates::differences;
use super::reduce::reduce;
use super::statistics::Statistics;
use crate::{Aggregate, Batch, Buckets, Column, Engine, Resample, Resampled, SeriesError};
use warpstride_core::run::Setup;

/// Most points in a batch: positions have 32 bits.
const MAX_POINTS: usize = 1 << 31;

/// Aggregates with the threads of the current rayon pool.
///
/// ```
/// use warpstride_series::cpu::CpuEngine;
/// use warpstride_series::{Aggregate, Batch, Engine, Granularity, Method, NanPolicy, Resample};
/// # fn main() -> Result<(), warpstride_series::SeriesError> {
///
/// let plan = Resample::new(
///     vec!["60s".parse()?],
///     vec![Aggregate::of(Method::Mean), "95pct".parse()?],
///     NanPolicy::Keep,
/// )?;
/// let second = 1_000_000_000;
/// let batch = Batch::single(vec![0, 30 * second, 70 * second], vec![1.0, 2.0, 5.0])?;
/// let minutes = &CpuEngine::new(plan).resample(&batch)?.buckets[0];
/// assert_eq!(minutes.starts, [0, 60 * second]);
/// assert_eq!(minutes.columns[0].values, [1.5, 5.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CpuEngine {
    plan: Resample,
    setup: Setup,
}

impl CpuEngine {
    /// Makes an engine for any number of batches.
    #[must_use]
    pub fn new(plan: Resample) -> Self {
        Self {
            plan,
            setup: Setup::cpu("f64"),
        }
    }

    /// Computes the plan's aggregates of the values or of the rates at every granularity.
    fn of_values(
        &self,
        points: &Points<'_>,
        rates: bool,
        buckets: &mut Vec<Buckets>,
    ) -> Result<(), SeriesError> {
        let aggregates: Vec<Aggregate> = (self.plan.aggregates().iter().copied())
            .filter(|aggregate| aggregate.rate == rates)
            .collect();
        if aggregates.is_empty() {
            return Ok(());
        }
        let statistics = Statistics::new(aggregates.iter().map(|aggregate| aggregate.method));
        let differences = if rates {
            differences(points)?
        } else {
            Vec::new()
        };
        let values = if rates { &differences } else { &*points.values };
        for granularity in self.plan.granularities() {
            let heads = Heads::find(points, rates, granularity.bucketing())?;
            let columns = reduce(points, values, &heads, &statistics)?;
            let named = aggregates.iter().zip(columns.columns);
            buckets.push(Buckets {
                granularity: *granularity,
                rate: rates,
                offsets: heads.offsets,
                starts: columns.starts,
                counts: columns.counts,
                columns: named
                    .map(|(aggregate, values)| Column {
                        aggregate: *aggregate,
                        values,
                    })
                    .collect(),
            });
        }
        Ok(())
    }
}

impl Engine for CpuEngine {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn plan(&self) -> &Resample {
        &self.plan
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        if batch.len() > MAX_POINTS {
            return Err(SeriesError::Batch(format!(
                "the batch: expected at most {MAX_POINTS} points, found {}",
                batch.len()
            )));
        }
        let points = prepare(batch, self.plan.nan(), self.plan.duplicates())?;
        let mut buckets = Vec::new();
        self.of_values(&points, false, &mut buckets)?;
        self.of_values(&points, true, &mut buckets)?;
        Ok(Resampled {
            buckets,
            duplicates: points.duplicates,
            skipped: points.skipped,
        })
    }
}
