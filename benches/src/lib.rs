//! Support for the benchmarks. Each prints the device, sizes, bytes, the least possible time and
//! the fraction of it that is reached; `cargo xtask bench --record` stores this output in
//! `benches/runs/<date>-<machine>/`.

pub mod counted;
pub mod scan;

/// The median of `values`, or 0 if there are none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_does_not_depend_on_order() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }
}
