//! What is to be computed.

use super::{Aggregate, Granularity, SeriesError};

/// What becomes of NaN values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NanPolicy {
    /// They are values like others, greater than all.
    #[default]
    Keep,
    /// Their points are left out before anything else.
    Skip,
}

/// Granularities × aggregates.
#[derive(Debug, Clone, PartialEq)]
pub struct Resample {
    granularities: Vec<Granularity>,
    aggregates: Vec<Aggregate>,
    nan: NanPolicy,
}

impl Resample {
    /// Every aggregate at every granularity, in the given orders.
    ///
    /// # Errors
    /// None of either, one named twice, or rates at a granularity of the calendar.
    pub fn new(
        granularities: Vec<Granularity>,
        aggregates: Vec<Aggregate>,
        nan: NanPolicy,
    ) -> Result<Self, SeriesError> {
        let refuse = |why: String| Err(SeriesError::Plan(why));
        if granularities.is_empty() || aggregates.is_empty() {
            return refuse("at least one granularity and one aggregate are needed".to_owned());
        }
        for (i, granularity) in granularities.iter().enumerate() {
            if granularities[..i].contains(granularity) {
                return refuse(format!("granularity {granularity} is named twice"));
            }
        }
        for (i, aggregate) in aggregates.iter().enumerate() {
            if aggregates[..i].contains(aggregate) {
                return refuse(format!("aggregate {aggregate} is named twice"));
            }
        }
        let calendar = granularities
            .iter()
            .find(|g| matches!(g, Granularity::Calendar(_)));
        let rate = aggregates.iter().find(|a| a.rate);
        if let (Some(granularity), Some(aggregate)) = (calendar, rate) {
            return refuse(format!(
                "{aggregate} cannot be taken at granularity {granularity}: rates need buckets of one length"
            ));
        }
        Ok(Self {
            granularities,
            aggregates,
            nan,
        })
    }

    /// In the order of the results.
    #[must_use]
    pub fn granularities(&self) -> &[Granularity] {
        &self.granularities
    }

    /// In the order of the results.
    #[must_use]
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// What becomes of NaN.
    #[must_use]
    pub fn nan(&self) -> NanPolicy {
        self.nan
    }
}
