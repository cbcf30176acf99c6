//! A probe that differs from frame to frame: variations of its first mode.

use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayViewMut2, Axis};
use num_complex::Complex;

/// Variations of the first probe mode: that of frame j is P_0 + Σ_k c_jk U_k (orthogonal probe
/// relaxation, Odstrčil et al., Opt. Express 24, 8360 (2016)).
#[derive(Debug, Clone, PartialEq)]
pub struct VariableProbe {
    /// U (variation, row, column), of unit norm, orthogonal in the sense Re Σ conj(U_k) U_l = 0,
    /// strongest first; 0 where fewer variations than these were found.
    pub shapes: Array3<Complex<f64>>,
    /// c (frame, variation), √photons; their mean over the frames is 0, but for frames at the limit
    /// Σ_k c² = Σ|P_0|².
    pub coefficients: Array2<f64>,
}

impl VariableProbe {
    /// Number of variations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shapes.dim().0
    }

    /// Power of each variation: the mean over the frames of c² Σ|U|², photons.
    #[must_use]
    pub fn power(&self) -> Array1<f64> {
        let frames = self.coefficients.nrows().max(1) as f64;
        let norms = self.shapes.outer_iter();
        let norms = norms.map(|shape| shape.iter().map(Complex::norm_sqr).sum::<f64>());
        let columns = self.coefficients.axis_iter(Axis(1));
        let powers = columns.zip(norms);
        powers
            .map(|(c, norm)| c.iter().map(|c| c * c).sum::<f64>() * norm / frames)
            .collect()
    }

    /// Adds Σ_k c_jk U_k of a frame to its first probe mode (row, column).
    pub fn add_to(&self, frame: usize, probe: &mut ArrayViewMut2<'_, Complex<f64>>) {
        let coefficients = self.coefficients.row(frame);
        for (c, shape) in coefficients.iter().zip(self.shapes.outer_iter()) {
            probe.zip_mut_with(&shape, |p, u| *p += u * *c);
        }
    }

    /// The first mode (row, column) of a frame, from the mean one.
    #[must_use]
    pub fn of_frame(
        &self,
        frame: usize,
        mean: ArrayView2<'_, Complex<f64>>,
    ) -> Array2<Complex<f64>> {
        let mut own = mean.to_owned();
        self.add_to(frame, &mut own.view_mut());
        own
    }

    /// Whether all values are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.shapes
            .iter()
            .all(|v| v.re.is_finite() && v.im.is_finite())
            && self.coefficients.iter().all(|c| c.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_the_mean_squares_of_what_is_added() {
        let shapes = Array3::from_shape_fn((2, 3, 4), |(k, r, c)| {
            Complex::new((k + r) as f64 - 1.0, c as f64 * 0.5)
        });
        let mut coefficients = Array2::zeros((5, 2));
        coefficients.column_mut(1).fill(2.0);
        coefficients[(3, 0)] = -3.0;
        let variable = VariableProbe {
            shapes,
            coefficients,
        };
        let mean = Array2::from_elem((3, 4), Complex::new(0.5, -1.0));
        let power = |of: &dyn Fn(usize) -> Array2<Complex<f64>>| -> f64 {
            let frames = (0..5).map(|frame| {
                let added = of(frame) - &mean;
                added.iter().map(Complex::norm_sqr).sum::<f64>()
            });
            frames.sum::<f64>() / 5.0
        };
        let mut alone = variable.clone();
        alone.coefficients.column_mut(0).fill(0.0);
        let found = power(&|frame| alone.of_frame(frame, mean.view()));
        assert!((found / variable.power()[1] - 1.0).abs() < 1e-12);
        let norm: f64 = variable
            .shapes
            .index_axis(Axis(0), 0)
            .iter()
            .map(Complex::norm_sqr)
            .sum();
        assert!((variable.power()[0] / (9.0 * norm / 5.0) - 1.0).abs() < 1e-12);
        assert!(variable.is_finite() && variable.count() == 2);
    }
}
