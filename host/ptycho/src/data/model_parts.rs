//! What a model of ptychography has beyond object, probe and frames.

use super::{DetectorModel, SliceStack, VariableProbe};
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;

/// What a model of ptychography has beyond object, probe and frames; nothing, unless the recipe
/// asks for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelParts {
    /// The modes of the object, if there are several.
    pub object_modes: Option<ObjectModes>,
    /// The motion during the exposures of a fly scan.
    pub exposures: Option<Exposures>,
    /// The slices of a thick specimen, whose product is the object.
    pub slices: Option<SliceStack>,
    /// Variations of the first probe mode from frame to frame.
    pub variable_probe: Option<VariableProbe>,
    /// How the detector measures intensities; `None` if frames are the intensities themselves.
    pub detector: Option<DetectorModel>,
}

/// Modes of an object, mutually incoherent and orthogonal under the fluence.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectModes {
    /// Transmission of the modes after the first, which is the object (mode − 1, row, column).
    pub further: Array3<Complex<f64>>,
    /// Share of the power of each mode, the first one's too, weighted by the fluence; strongest
    /// first.
    pub power: Vec<f64>,
}

impl ObjectModes {
    /// The modes after the first (row, column).
    pub fn further(&self) -> impl Iterator<Item = Array2<Complex<f64>>> {
        self.further.axis_iter(Axis(0)).map(|mode| mode.to_owned())
    }
}

/// Motion of the specimen during the exposures, as the model has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exposures {
    /// Points of each exposure, at least 2; point s is displaced by (s − (S−1)/2)/S times the path.
    pub points: usize,
    /// (frame): path during the exposure (row, column), object pixels.
    pub paths: Vec<[f64; 2]>,
}
