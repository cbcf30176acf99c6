//! Results with NaN or infinite values.

use super::Reconstruction;
use num_complex::Complex;

impl Reconstruction {
    /// The first part with NaN or infinite values, with its verb: `the object is`.
    #[must_use]
    pub fn not_finite(&self) -> Option<&'static str> {
        let complex = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
        let real = |v: &f64| v.is_finite();
        let parts = &self.parts;
        let slices = parts.slices.as_ref();
        let modes = parts.object_modes.as_ref();
        let variable = parts.variable_probe.as_ref();
        let background = parts.detector.as_ref().and_then(|d| d.background.as_ref());
        let checked = [
            ("the object is", self.object.iter().all(complex)),
            ("the probe is", self.probe.iter().all(complex)),
            (
                "the modes of the object are",
                modes.is_none_or(|modes| modes.further.iter().all(complex)),
            ),
            (
                "the slices are",
                slices.is_none_or(|stack| {
                    stack.slices.iter().all(complex) && stack.distances.iter().all(real)
                }),
            ),
            (
                "the variations of the probe are",
                variable.is_none_or(|variable| {
                    variable.shapes.iter().all(complex) && variable.coefficients.iter().all(real)
                }),
            ),
            (
                "the background is",
                background.is_none_or(|background| background.iter().all(real)),
            ),
            ("the positions are", self.positions.iter().all(real)),
            (
                "the factors of the frames are",
                self.frame_scales.iter().all(real),
            ),
        ];
        let wrong = checked.into_iter().find(|(_, finite)| !finite);
        wrong.map(|(part, _)| part)
    }
}

#[cfg(all(test, feature = "plots"))]
mod tests {
    use super::*;
    use crate::data::{DetectorModel, ModelParts, SliceStack, VariableProbe};
    use crate::report::sample;
    use ndarray::{Array2, Array3};

    #[test]
    fn all_parts_of_a_result_must_be_finite() {
        let whole = Reconstruction {
            parts: ModelParts {
                slices: Some(SliceStack {
                    slices: Array3::zeros((2, 3, 3)),
                    distances: vec![1e-6],
                    start_distances: vec![1e-6],
                }),
                variable_probe: Some(VariableProbe {
                    shapes: Array3::zeros((1, 3, 3)),
                    coefficients: Array2::zeros((4, 1)),
                }),
                detector: Some(DetectorModel {
                    blur: [0.0; 2],
                    background: Some(Array2::zeros((3, 3))),
                }),
                ..ModelParts::default()
            },
            ..sample::reconstruction()
        };
        assert_eq!(whole.not_finite(), None);
        let spoilt = |spoil: fn(&mut Reconstruction)| {
            let mut result = whole.clone();
            spoil(&mut result);
            result.not_finite()
        };
        let slices = |of: &mut Reconstruction| {
            if let Some(stack) = &mut of.parts.slices {
                stack.distances[0] = f64::NAN;
            }
        };
        let coefficients = |of: &mut Reconstruction| {
            if let Some(variable) = &mut of.parts.variable_probe {
                variable.coefficients[(2, 0)] = f64::INFINITY;
            }
        };
        let background = |of: &mut Reconstruction| {
            if let Some(detector) = &mut of.parts.detector {
                detector.background = Some(Array2::from_elem((3, 3), f64::NAN));
            }
        };
        assert_eq!(
            spoilt(|of| of.object[(0, 0)].im = f64::NAN),
            Some("the object is")
        );
        assert_eq!(spoilt(slices), Some("the slices are"));
        assert_eq!(
            spoilt(coefficients),
            Some("the variations of the probe are")
        );
        assert_eq!(spoilt(background), Some("the background is"));
        assert_eq!(
            spoilt(|of| of.frame_scales[0] = f64::NAN),
            Some("the factors of the frames are")
        );
    }
}
