//! The columns and work that the aggregates of a plan require.

use crate::Method;
use warpstride_kernels::series::quantile::{interpolate, middle, position};
use warpstride_kernels::series::sums::SHORT;

/// The contents of a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    Count,
    Sum,
    Mean,
    Least,
    Greatest,
    First,
    Last,
    Unique,
    Deviation,
    /// Index into the quantiles.
    Quantile(usize),
}

/// A quantile to compute.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantile {
    Median,
    Percent(f64),
}

/// The two sorted values between which a quantile lies, and the fraction of the way from one to the
/// other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QuantilePosition {
    pub(super) below: usize,
    pub(super) above: usize,
    pub(super) fraction: f64,
}

/// The columns of one granularity, and the work that they require.
#[derive(Debug)]
pub(super) struct Statistics {
    pub(super) contents: Vec<Content>,
    pub(super) sums: bool,
    pub(super) extremes: bool,
    pub(super) deviations: bool,
    pub(super) unique: bool,
    pub(super) quantiles: Vec<Quantile>,
    /// (values of a short bucket − 1, quantile).
    short: Vec<QuantilePosition>,
}

impl Statistics {
    pub(super) fn new(methods: impl Iterator<Item = Method>) -> Self {
        let mut quantiles = Vec::new();
        let mut quantile = |quantile| {
            quantiles.push(quantile);
            Content::Quantile(quantiles.len() - 1)
        };
        let contents: Vec<Content> = methods
            .map(|method| match method {
                Method::Count => Content::Count,
                Method::Sum => Content::Sum,
                Method::Mean => Content::Mean,
                Method::Min => Content::Least,
                Method::Max => Content::Greatest,
                Method::First => Content::First,
                Method::Last => Content::Last,
                Method::Nunique => Content::Unique,
                Method::Std => Content::Deviation,
                Method::Median => quantile(Quantile::Median),
                Method::Percentile(percent) => quantile(Quantile::Percent(percent)),
            })
            .collect();
        let any = |test: fn(&Content) -> bool| contents.iter().any(test);
        Self {
            sums: any(|c| matches!(c, Content::Sum | Content::Mean | Content::Deviation)),
            extremes: any(|c| matches!(c, Content::Least | Content::Greatest)),
            deviations: any(|c| matches!(c, Content::Deviation)),
            unique: any(|c| matches!(c, Content::Unique)),
            short: (1..=SHORT)
                .flat_map(|n| {
                    quantiles
                        .iter()
                        .map(move |quantile: &Quantile| quantile.position(n))
                })
                .collect(),
            quantiles,
            contents,
        }
    }

    /// Whether the values of buckets must be sorted.
    pub(super) fn ordered(&self) -> bool {
        self.unique || !self.quantiles.is_empty()
    }

    /// Position of a quantile among `n` ≤ [`SHORT`] values.
    #[inline(always)]
    pub(super) fn short_position(&self, n: usize, quantile: usize) -> &QuantilePosition {
        &self.short[(n - 1) * self.quantiles.len() + quantile]
    }
}

impl Quantile {
    /// Position of the quantile among `n` ≥ 1 values.
    pub(super) fn position(self, n: usize) -> QuantilePosition {
        match self {
            Self::Median => QuantilePosition {
                below: (n - 1) / 2,
                above: n / 2,
                fraction: 0.0,
            },
            Self::Percent(percent) => {
                let (below, fraction) = position(n as u32, percent);
                let below = below as usize;
                QuantilePosition {
                    below,
                    above: below + usize::from(fraction > 0.0),
                    fraction,
                }
            }
        }
    }

    /// Interpolates between the two values of the position.
    #[inline(always)]
    pub(super) fn between(self, below: f64, above: f64, fraction: f64) -> f64 {
        canonical_nan(match self {
            Self::Median => middle(below, above),
            Self::Percent(_) => interpolate(below, above, fraction),
        })
    }
}

/// Replaces every NaN by the same NaN, because the NaN that an addition returns depends on its
/// instruction.
#[inline(always)]
pub(super) fn canonical_nan(value: f64) -> f64 {
    warpstride_kernels::series::order::one_nan(value)
}

/// √(`squares`/(`n` − 1)); NaN for one value.
#[inline(always)]
pub(super) fn deviation(squares: f64, n: u32) -> f64 {
    canonical_nan((squares / (f64::from(n) - 1.0)).sqrt())
}
