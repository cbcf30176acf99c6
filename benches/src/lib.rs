//! Measurements, each with its floor. A benchmark prints machine, sizes, bytes, the floor and the
//! share of it that was reached; `cargo xtask bench --record` keeps what it prints in
//! `benches/runs/<date>-<machine>/`.

pub mod counted;

/// Median of some values; 0 for none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_does_not_depend_on_the_order() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }
}
