//! What the aggregates of a plan take to compute.

use crate::series::Method;
use warpstride_kernels::series::quantile::{interpolate, middle, position};
use warpstride_kernels::series::sums::SHORT;

/// What a column holds.
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
    /// By its number among the quantiles.
    Quantile(usize),
}

/// A quantile.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantile {
    Median,
    Percent(f64),
}

/// Between which of the sorted values a quantile lies, and how far on the way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) below: usize,
    pub(super) above: usize,
    pub(super) fraction: f64,
}

/// The columns of one granularity, and which work they need.
#[derive(Debug)]
pub(super) struct Statistics {
    pub(super) contents: Vec<Content>,
    pub(super) sums: bool,
    pub(super) extremes: bool,
    pub(super) deviations: bool,
    pub(super) unique: bool,
    pub(super) quantiles: Vec<Quantile>,
    /// (points of a short bucket − 1, quantile).
    short: Vec<Place>,
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
                        .map(move |quantile: &Quantile| quantile.place(n))
                })
                .collect(),
            quantiles,
            contents,
        }
    }

    /// Whether buckets' values must be put in order.
    pub(super) fn ordered(&self) -> bool {
        self.unique || !self.quantiles.is_empty()
    }

    /// The place of a quantile of `n` ≤ [`SHORT`] values.
    #[inline(always)]
    pub(super) fn short_place(&self, n: usize, quantile: usize) -> &Place {
        &self.short[(n - 1) * self.quantiles.len() + quantile]
    }
}

impl Quantile {
    /// Of `n` ≥ 1 values.
    pub(super) fn place(self, n: usize) -> Place {
        match self {
            Self::Median => Place {
                below: (n - 1) / 2,
                above: n / 2,
                fraction: 0.0,
            },
            Self::Percent(percent) => {
                let (below, fraction) = position(n as u32, percent);
                let below = below as usize;
                Place {
                    below,
                    above: below + usize::from(fraction > 0.0),
                    fraction,
                }
            }
        }
    }

    /// Between the two values of its place.
    #[inline(always)]
    pub(super) fn between(self, below: f64, above: f64, fraction: f64) -> f64 {
        plain(match self {
            Self::Median => middle(below, above),
            Self::Percent(_) => interpolate(below, above, fraction),
        })
    }
}

/// One NaN for all. Which one an addition gives depends on its instruction.
#[inline(always)]
pub(super) fn plain(value: f64) -> f64 {
    warpstride_kernels::series::order::one_nan(value)
}

/// √(`squares`/(`n` − 1)); NaN of one value.
#[inline(always)]
pub(super) fn deviation(squares: f64, n: u32) -> f64 {
    plain((squares / (f64::from(n) - 1.0)).sqrt())
}
