//! The smallest positive minimum of a polynomial.
//!
//! The roots of a polynomial are separated by those of its derivative, so bisection between the
//! latter finds all that change its sign.

/// Most bisections of one root: enough for any interval of numbers in double precision.
const BISECTIONS: usize = 1100;

/// The smallest positive t at which the polynomial with these coefficients (of t⁰, t¹, …) has a
/// minimum, if it falls at 0.
pub(super) fn smallest_minimum(coefficients: &[f64]) -> Option<f64> {
    let slope = -coefficients.get(1).copied()?;
    if !(slope > 0.0 && coefficients.iter().all(|c| c.is_finite())) {
        return None;
    }
    // In units of `unit`, and divided by the slope, no coefficient is larger than 1.
    let unit = (2..coefficients.len())
        .filter(|k| coefficients[*k] != 0.0)
        .map(|k| (slope / coefficients[k].abs()).powf(1.0 / (k - 1) as f64))
        .fold(f64::INFINITY, f64::min);
    if !(unit > 0.0 && unit.is_finite()) {
        return None;
    }
    let mut derivative: Vec<f64> = (1..coefficients.len())
        .map(|k| k as f64 * coefficients[k] / slope * unit.powi(k as i32 - 1))
        .collect();
    while derivative.last().is_some_and(|c| c.abs() < 1e-30) {
        derivative.pop();
    }
    let (last, others) = derivative.split_last()?;
    let largest = others.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
    let roots = sign_changes(&derivative, 1.0 + largest / last.abs());
    // The derivative is negative at 0, so at its first change of sign it becomes positive.
    roots.first().map(|root| root * unit)
}

fn value(coefficients: &[f64], t: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c)
}

/// The roots between 0 and `end` at which the polynomial changes its sign, in order.
fn sign_changes(coefficients: &[f64], end: f64) -> Vec<f64> {
    if coefficients.len() < 2 {
        return Vec::new();
    }
    let derivative: Vec<f64> = (1..coefficients.len())
        .map(|k| k as f64 * coefficients[k])
        .collect();
    let mut roots = Vec::new();
    let mut low = 0.0;
    for high in sign_changes(&derivative, end).into_iter().chain([end]) {
        if (value(coefficients, low) < 0.0) != (value(coefficients, high) < 0.0) {
            roots.push(bisect(coefficients, low, high));
        }
        low = high;
    }
    roots
}

fn bisect(coefficients: &[f64], mut low: f64, mut high: f64) -> f64 {
    let negative = value(coefficients, low) < 0.0;
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if (value(coefficients, middle) < 0.0) == negative {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_minima_is_found() {
        // Derivative (t−1)(t−2)(t−3): minima at 1 and 3.
        let polynomial = [0.0, -6.0, 5.5, -2.0, 0.25];
        let found = smallest_minimum(&polynomial).unwrap();
        assert!((found - 1.0).abs() < 1e-12, "{found}");
        // In other units, with a tiny highest coefficient.
        let scaled: Vec<f64> = (polynomial.iter().enumerate())
            .map(|(k, c)| c * 1e9 * 1e-7_f64.powi(k as i32))
            .chain([0.0, 0.0, 0.0, 1e-90])
            .collect();
        let found = smallest_minimum(&scaled).unwrap();
        assert!((found / 1e7 - 1.0).abs() < 1e-10, "{found}");
    }

    #[test]
    fn squares_have_their_vertex() {
        assert_eq!(smallest_minimum(&[1.0, -2.0, 4.0]), Some(0.25));
    }

    #[test]
    fn what_does_not_fall_or_never_ends_has_none() {
        for polynomial in [
            &[0.0, 1.0, 1.0][..],
            &[0.0, 0.0, 1.0],
            &[0.0, -1.0, -1.0],
            &[0.0, -1.0],
            &[0.0, f64::NAN, 1.0],
            &[1.0],
        ] {
            assert_eq!(smallest_minimum(polynomial), None, "{polynomial:?}");
        }
    }
}
