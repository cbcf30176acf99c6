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

/// The treatment of points of one series that have the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// All of them are points, in the order of the input.
    #[default]
    Keep,
    /// The first of them in the input is used.
    First,
    /// The last of them in the input is used.
    Last,
    /// They are an error.
    Error,
}

/// The granularities and aggregates to compute.
#[derive(Debug, Clone, PartialEq)]
pub struct Resample {
    granularities: Vec<Granularity>,
    aggregates: Vec<Aggregate>,
    nan: NanPolicy,
    duplicates: Duplicates,
}

impl Resample {
    /// Plans every aggregate at every granularity, in the given orders. Points of the same time are
    /// kept: see [`Resample::with_duplicates`].
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
            duplicates: Duplicates::default(),
        })
    }

    /// Sets the treatment of points of the same time.
    #[must_use]
    pub fn with_duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
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

    /// The treatment of points of the same time.
    #[must_use]
    pub fn duplicates(&self) -> Duplicates {
        self.duplicates
    }
}
