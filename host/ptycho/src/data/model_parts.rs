//! What a model of ptychography has beyond object, probe and frames.

use super::VariableProbe;
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

/// The slices of a thick specimen (multislice ptychography).
#[derive(Debug, Clone, PartialEq)]
pub struct SliceStack {
    /// Complex transmission (slice, row, column), in the order in which the beam passes the slices;
    /// at least two.
    pub slices: Array3<Complex<f64>>,
    /// Distance from each slice to the next, m; one less than slices.
    pub distances: Vec<f64>,
    /// The distances from which the run started, m.
    pub start_distances: Vec<f64>,
}

impl SliceStack {
    /// The product of the slices (row, column): the object of a specimen so thin that waves do not
    /// spread in it.
    #[must_use]
    pub fn product(&self) -> Array2<Complex<f64>> {
        product(&self.slices)
    }
}

/// The product of layers (layer, row, column).
pub(crate) fn product(layers: &Array3<Complex<f64>>) -> Array2<Complex<f64>> {
    let (_, rows, columns) = layers.dim();
    let mut product = Array2::from_elem((rows, columns), Complex::new(1.0, 0.0));
    for layer in layers.outer_iter() {
        product.zip_mut_with(&layer, |to, v| *to *= v);
    }
    product
}

/// A detector that measures G ∗ S + b of the intensity S.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectorModel {
    /// Standard deviations of the Gaussian G (row direction, column direction), pixels.
    pub blur: [f64; 2],
    /// b (row, column) of a frame, photons; `None` without a background.
    pub background: Option<Array2<f64>>,
}
