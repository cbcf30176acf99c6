//! The columns that a plan needs of values and of rates, and the source of each aggregate. Plain
//! data.

use crate::{Aggregate, Method, Resample};

/// The one-pass methods in the order of their columns, which is that of the kernels' bits. Counts
/// follow from the first points of buckets.
const ONE_PASS: [Method; 7] = [
    Method::Sum,
    Method::Mean,
    Method::Min,
    Method::Max,
    Method::First,
    Method::Last,
    Method::Std,
];

/// The source of an aggregate's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The first points of buckets.
    Counts,
    /// A column on the device.
    Column(usize),
}

/// The columns of values, or of rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputColumns {
    pub(super) rate: bool,
    /// In the order of the plan.
    pub(super) aggregates: Vec<Aggregate>,
    /// The source of each aggregate.
    pub(super) sources: Vec<Source>,
    /// One-pass methods in the order of [`ONE_PASS`]: the first columns.
    pub(super) one_pass: Vec<Method>,
    /// Methods that need the sorted values of a bucket: the columns after those.
    pub(super) ordered: Vec<Method>,
}

impl OutputColumns {
    /// The columns of values, then those of rates, if there are any.
    pub(super) fn of(plan: &Resample) -> Vec<Self> {
        let both = [false, true].into_iter();
        both.map(|rate| Self::with(plan, rate))
            .filter(|outputs| !outputs.aggregates.is_empty())
            .collect()
    }

    fn with(plan: &Resample, rate: bool) -> Self {
        let aggregates = plan.aggregates().iter().filter(|a| a.rate == rate);
        let aggregates: Vec<Aggregate> = aggregates.copied().collect();
        let methods = || aggregates.iter().map(|aggregate| aggregate.method);
        let one_pass: Vec<Method> = ONE_PASS
            .into_iter()
            .filter(|method| methods().any(|outputs| outputs == *method))
            .collect();
        let ordered: Vec<Method> = methods().filter(|m| m.needs_sorted_values()).collect();
        let source = |method: Method| {
            let mut columns = one_pass.iter().chain(&ordered);
            let index = columns.position(|m| *m == method);
            index.map_or(Source::Counts, Source::Column)
        };
        Self {
            rate,
            sources: methods().map(source).collect(),
            aggregates,
            one_pass,
            ordered,
        }
    }

    /// Number of columns on the device.
    pub(super) fn columns(&self) -> usize {
        self.one_pass.len() + self.ordered.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Granularity, NanPolicy};

    #[test]
    fn every_aggregate_has_a_column() {
        let names = [
            "median",
            "count",
            "std",
            "rate:max",
            "sum",
            "95pct",
            "rate:count",
        ];
        let plan = Resample::new(
            vec![Granularity::Fixed(1)],
            names.iter().map(|name| name.parse().unwrap()).collect(),
            NanPolicy::Keep,
        )
        .unwrap();
        let [values, rates] = &OutputColumns::of(&plan)[..] else {
            panic!("values and rates")
        };
        assert_eq!(values.one_pass, [Method::Sum, Method::Std]);
        assert_eq!(values.ordered, [Method::Median, Method::Percentile(95.0)]);
        assert_eq!(
            values.sources,
            [
                Source::Column(2),
                Source::Counts,
                Source::Column(1),
                Source::Column(0),
                Source::Column(3)
            ]
        );
        assert_eq!(rates.sources, [Source::Column(0), Source::Counts]);
        assert_eq!((values.columns(), rates.columns()), (4, 1));
    }
}
