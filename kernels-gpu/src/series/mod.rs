//! Time series: buckets, their aggregates, order of points.
//!
//! What CPU and GPU must agree on to the bit lies here and is used by both: which bucket a timestamp
//! belongs to ([`bucket`]), the order of floating-point values ([`order`]), the order of additions
//! ([`sums`]), and interpolation between order statistics ([`quantile`]).

pub mod bucket;
pub mod order;
pub mod quantile;
pub mod sums;
