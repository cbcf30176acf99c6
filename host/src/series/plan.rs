//! The plan of an aggregation.

use super::{Aggregate, Granularity, SeriesError};

/// The treatment of NaN values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NanPolicy {
    /// NaN is a value, greater than all others.
    #[default]
    Keep,
    /// Points with NaN are dropped before anything else.
    Skip,
}

/// The granularities and aggregates to compute.
#[derive(Debug, Clone, PartialEq)]
pub struct Resample {
    granularities: Vec<Granularity>,
    aggregates: Vec<Aggregate>,
    nan: NanPolicy,
}

impl Resample {
    /// Plans every aggregate at every granularity, in the given orders.
    ///
    /// # Errors
    /// If either list is empty or has duplicates, or if rates are combined with a calendar
    /// granularity.
    pub fn new(
        granularities: Vec<Granularity>,
        aggregates: Vec<Aggregate>,
        nan: NanPolicy,
    ) -> Result<Self, SeriesError> {
        let refuse = |why: String| Err(SeriesError::Plan(why));
        if granularities.is_empty() || aggregates.is_empty() {
            return refuse("expected at least one granularity and one aggregate".to_owned());
        }
        for (i, granularity) in granularities.iter().enumerate() {
            if granularities[..i].contains(granularity) {
                return refuse(format!(
                    "granularity {granularity}: expected each once, found it twice"
                ));
            }
        }
        for (i, aggregate) in aggregates.iter().enumerate() {
            if aggregates[..i].contains(aggregate) {
                return refuse(format!(
                    "aggregate {aggregate}: expected each once, found it twice"
                ));
            }
        }
        let calendar = granularities
            .iter()
            .find(|g| matches!(g, Granularity::Calendar(_)));
        let rate = aggregates.iter().find(|a| a.rate);
        if let (Some(granularity), Some(aggregate)) = (calendar, rate) {
            return refuse(format!(
                "aggregate {aggregate}: expected granularities of fixed length for rates, found {granularity}"
            ));
        }
        Ok(Self {
            granularities,
            aggregates,
            nan,
        })
    }

    /// The granularities, in the order of the results.
    #[must_use]
    pub fn granularities(&self) -> &[Granularity] {
        &self.granularities
    }

    /// The aggregates, in the order of the results.
    #[must_use]
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// The treatment of NaN values.
    #[must_use]
    pub fn nan(&self) -> NanPolicy {
        self.nan
    }
}
