//! What a plan wants of the values and of the rates, and where each aggregate comes from. Plain data.

use crate::series::{Aggregate, Method, Resample};

/// Methods of one pass in the order of their columns, which is that of the kernels' bits. Counts follow from where buckets
/// begin.
const ONE_PASS: [Method; 7] = [
    Method::Sum,
    Method::Mean,
    Method::Min,
    Method::Max,
    Method::First,
    Method::Last,
    Method::Std,
];

/// Where an aggregate's column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// From where buckets begin.
    Counts,
    /// A column on the device.
    Column(usize),
}

/// Aggregates of values, or of rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) rate: bool,
    /// In the order of the plan.
    pub(super) aggregates: Vec<Aggregate>,
    /// Of each aggregate.
    pub(super) sources: Vec<Source>,
    /// Methods of one pass over a bucket, in the order of [`ONE_PASS`]: the first columns.
    pub(super) one_pass: Vec<Method>,
    /// Methods that need a bucket's values in order: the columns after those.
    pub(super) of_order: Vec<Method>,
}

impl Wanted {
    /// Those of values, then those of rates, where there are any.
    pub(super) fn of(plan: &Resample) -> Vec<Self> {
        let both = [false, true].into_iter();
        both.map(|rate| Self::with(plan, rate))
            .filter(|wanted| !wanted.aggregates.is_empty())
            .collect()
    }

    fn with(plan: &Resample, rate: bool) -> Self {
        let aggregates = plan.aggregates().iter().filter(|a| a.rate == rate);
        let aggregates: Vec<Aggregate> = aggregates.copied().collect();
        let methods = || aggregates.iter().map(|aggregate| aggregate.method);
        let one_pass: Vec<Method> = ONE_PASS
            .into_iter()
            .filter(|method| methods().any(|wanted| wanted == *method))
            .collect();
        let of_order: Vec<Method> = methods().filter(|m| m.is_of_order()).collect();
        let source = |method: Method| {
            let mut columns = one_pass.iter().chain(&of_order);
            let place = columns.position(|m| *m == method);
            place.map_or(Source::Counts, Source::Column)
        };
        Self {
            rate,
            sources: methods().map(source).collect(),
            aggregates,
            one_pass,
            of_order,
        }
    }

    /// On the device.
    pub(super) fn columns(&self) -> usize {
        self.one_pass.len() + self.of_order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{Granularity, NanPolicy};

    #[test]
    fn every_aggregate_has_its_column() {
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
        let [values, rates] = &Wanted::of(&plan)[..] else {
            panic!("values and rates")
        };
        assert_eq!(values.one_pass, [Method::Sum, Method::Std]);
        assert_eq!(values.of_order, [Method::Median, Method::Percentile(95.0)]);
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
