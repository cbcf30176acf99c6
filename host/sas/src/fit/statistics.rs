//! Statistics of the parameters at a minimum: covariance, uncertainties, correlations.

use nalgebra::DMatrix;
use serde::Serialize;

/// The bound at which a parameter stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The least value allowed.
    Least,
    /// The greatest value allowed.
    Greatest,
}

/// Least component along an undetermined direction for which a parameter counts as undetermined,
/// and the same in units of the noise of singular values.
const SHARE: (f64, f64) = (1e-3, 30.0);

/// Statistics of a minimum. Entries are `None` for parameters at a bound and for those that the
/// data do not determine.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Covariance of the parameters, (parameter, parameter).
    pub covariance: Vec<Vec<Option<f64>>>,
    /// Standard uncertainty of each parameter.
    pub uncertainty: Vec<Option<f64>>,
    /// Correlation, −1…1.
    pub correlation: Vec<Vec<Option<f64>>>,
    /// Parameters that the data do not determine, alone or in combination with others.
    pub undetermined: Vec<usize>,
    /// Parameters whose uncertainty, given here, exceeds the distance of their bounds.
    pub beyond_bounds: Vec<(usize, f64)>,
}

impl Statistics {
    /// Statistics of a minimum; `jacobian` (point, parameter) holds the derivatives of the
    /// residuals there. Parameters whose entry in `held` is true count as known. The covariance is
    /// that of the linearised problem, (JᵀJ)⁻¹, times `factor`, which is 1 if the σ of the data are
    /// known. Singular values below `noise` times the largest count as 0.
    #[must_use]
    pub fn new(jacobian: &DMatrix<f64>, held: &[bool], factor: f64, noise: f64) -> Self {
        let count = jacobian.ncols();
        let lengths: Vec<f64> = jacobian.column_iter().map(|c| c.norm()).collect();
        let usable = |j: &usize| lengths[*j] > 0.0 && lengths[*j].is_finite();
        let free: Vec<usize> = (0..count).filter(|j| !held[*j]).collect();
        let mut undetermined: Vec<usize> = free.iter().copied().filter(|j| !usable(j)).collect();
        let free: Vec<usize> = free.into_iter().filter(usable).collect();
        let mut covariance = vec![vec![None; count]; count];
        if !free.is_empty() && jacobian.nrows() >= free.len() {
            let mut scaled = jacobian.select_columns(&free);
            for (mut column, j) in scaled.column_iter_mut().zip(&free) {
                column /= lengths[*j];
            }
            let svd = scaled.qr().r().svd(false, true);
            if let Some(v_t) = svd.v_t {
                let largest = svd.singular_values.max();
                let is_significant = |k: &usize| svd.singular_values[*k] > noise * largest;
                let (kept, lost): (Vec<usize>, Vec<usize>) =
                    (0..free.len()).partition(|k| is_significant(k));
                let least = SHARE.0.max(SHARE.1 * noise);
                let is_lost = |i: usize| lost.iter().any(|k| v_t[(*k, i)].abs() > least);
                undetermined.extend((0..free.len()).filter(|i| is_lost(*i)).map(|i| free[i]));
                for a in (0..free.len()).filter(|a| !is_lost(*a)) {
                    for b in (0..free.len()).filter(|b| !is_lost(*b)) {
                        let sum: f64 = kept
                            .iter()
                            .map(|k| v_t[(*k, a)] * v_t[(*k, b)] / svd.singular_values[*k].powi(2))
                            .sum();
                        let value = factor * sum / (lengths[free[a]] * lengths[free[b]]);
                        covariance[free[a]][free[b]] = value.is_finite().then_some(value);
                    }
                }
            }
        }
        undetermined.sort_unstable();
        let uncertainty: Vec<Option<f64>> = (0..count)
            .map(|j| covariance[j][j].filter(|v| *v >= 0.0).map(f64::sqrt))
            .collect();
        let correlation = (0..count)
            .map(|a| {
                (0..count)
                    .map(|b| {
                        let product = uncertainty[a]? * uncertainty[b]?;
                        let value = covariance[a][b]? / product;
                        value.is_finite().then(|| value.clamp(-1.0, 1.0))
                    })
                    .collect()
            })
            .collect();
        Self {
            covariance,
            uncertainty,
            correlation,
            undetermined,
            beyond_bounds: Vec::new(),
        }
    }

    /// These statistics without the parameters `undetermined`, if a free one is among them: a
    /// combination with one that stopped at a bound by chance is not determined either.
    #[must_use]
    pub fn without(mut self, undetermined: &[usize]) -> Self {
        let is_free = |i: &usize| self.uncertainty[*i].is_some();
        if undetermined.iter().any(is_free) {
            self.withhold(undetermined);
        }
        self
    }

    /// These statistics without the parameters whose uncertainty exceeds the distance of their
    /// bounds (least, greatest): within the bounds, the data do not determine them.
    #[must_use]
    pub fn within(mut self, bounds: &[(f64, f64)]) -> Self {
        let uncertain = self.uncertainty.iter().zip(bounds).enumerate();
        self.beyond_bounds = uncertain
            .filter_map(|(i, (uncertainty, (low, high)))| Some((i, (*uncertainty)?, high - low)))
            .filter(|(_, uncertainty, distance)| uncertainty > distance)
            .map(|(i, uncertainty, _)| (i, uncertainty))
            .collect();
        let loose: Vec<usize> = self.beyond_bounds.iter().map(|(i, _)| *i).collect();
        self.withhold(&loose);
        self
    }

    fn withhold(&mut self, parameters: &[usize]) {
        for i in parameters {
            self.uncertainty[*i] = None;
            for table in [&mut self.covariance, &mut self.correlation] {
                table[*i].fill(None);
                table.iter_mut().for_each(|row| row[*i] = None);
            }
            if !self.undetermined.contains(i) {
                self.undetermined.push(*i);
            }
        }
        self.undetermined.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points 0…4 with the columns 1 and x, so that (JᵀJ)⁻¹ = [[30, −10], [−10, 5]] / 50.
    fn line() -> DMatrix<f64> {
        DMatrix::from_fn(5, 2, |i, j| if j == 0 { 1.0 } else { i as f64 })
    }

    #[test]
    fn a_line_has_the_textbook_covariance() {
        let of = Statistics::new(&line(), &[false; 2], 4.0, 1e-10);
        let expected = [[2.4, -0.8], [-0.8, 0.4]];
        for (found, expected) in of.covariance.iter().zip(expected) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found.unwrap() - expected).abs() < 1e-12);
            }
        }
        let correlation = -10.0 / (30.0_f64 * 5.0).sqrt();
        assert!((of.correlation[0][1].unwrap() - correlation).abs() < 1e-12);
        assert_eq!(of.undetermined, [0_usize; 0]);
    }

    #[test]
    fn held_parameters_count_as_known() {
        let of = Statistics::new(&line(), &[true, false], 1.0, 1e-10);
        assert_eq!(of.uncertainty[0], None);
        assert!((of.uncertainty[1].unwrap() - 30.0_f64.sqrt().recip()).abs() < 1e-12);
    }

    #[test]
    fn undetermined_directions_are_reported_and_others_unaffected() {
        // Columns 0 and 1 occur only as their sum, and column 3 has no effect.
        let jacobian = DMatrix::from_fn(6, 4, |i, j| match j {
            0 | 1 => 1.0,
            2 => [1.0, -1.0][i % 2],
            _ => 0.0,
        });
        let of = Statistics::new(&jacobian, &[false; 4], 1.0, 1e-10);
        assert_eq!(of.undetermined, [0, 1, 3]);
        assert_eq!(of.uncertainty[0], None);
        assert!((of.uncertainty[2].unwrap() - 6.0_f64.sqrt().recip()).abs() < 1e-12);
    }

    #[test]
    fn a_combination_with_a_held_parameter_is_undetermined() {
        let jacobian = DMatrix::from_fn(6, 3, |i, j| if j < 2 { 1.0 } else { [1.0, -1.0][i % 2] });
        let free = Statistics::new(&jacobian, &[false; 3], 1.0, 1e-10);
        let held = Statistics::new(&jacobian, &[true, false, false], 1.0, 1e-10);
        assert!(held.uncertainty[1].is_some());
        let of = held.without(&free.undetermined);
        assert_eq!((of.undetermined, of.uncertainty[1]), (vec![0, 1], None));
        assert!(of.uncertainty[2].is_some() && of.covariance[1][1].is_none());
    }

    #[test]
    fn an_uncertainty_beyond_the_bounds_is_withheld() {
        let of = Statistics::new(&line(), &[false; 2], 4.0, 1e-10);
        let of = of.within(&[(0.0, 1.0), (0.0, 1.0)]);
        assert_eq!((&of.undetermined, of.uncertainty[0]), (&vec![0], None));
        assert_eq!(of.beyond_bounds.len(), 1);
        let (parameter, uncertainty) = of.beyond_bounds[0];
        assert!(parameter == 0 && (uncertainty - 2.4_f64.sqrt()).abs() < 1e-12);
        assert!((of.uncertainty[1].unwrap() - 0.4_f64.sqrt()).abs() < 1e-12);
        assert_eq!(of.correlation[0][1], None);
    }
}
