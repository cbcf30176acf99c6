//! Quantiles of values.

/// The value below which a share of the others is; values in ascending order.
pub(super) fn quantile(ordered: &[f64], share: f64) -> f64 {
    let last = ordered.len().saturating_sub(1) as f64;
    ordered.get((last * share) as usize).copied().unwrap_or(0.0)
}

/// The middle one of values, and 0 of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}
