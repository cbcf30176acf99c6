//! The data of the cases.

use crate::model::detector::root_correction;
use crate::selftest::batch_waves::Batch;
use crate::selftest::shape::{Shape, Source};

/// An arbitrary scale for which the modelled magnitudes are some tenths, like the data.
pub(super) const SCALE: f32 = 0.37;

/// A batch with what its frames measure.
pub(super) struct Data {
    pub(super) batch: Batch,
    pub(super) magnitudes: Vec<f32>,
    /// (pixel): none, less than a photon and more.
    pub(super) background: Vec<f32>,
    pub(super) scales: Vec<f32>,
    /// (member, pixel).
    pub(super) measured: Vec<f32>,
}

impl Data {
    pub(super) fn new(source: &mut Source, shape: &Shape) -> Self {
        let batch = Batch::new(source, shape);
        let values = batch.count as usize * shape.pixels();
        let background = source.reals(shape.pixels(), -0.4, 1.6);
        Self {
            magnitudes: source.magnitudes_with_zeros(shape),
            background: background.into_iter().map(|b| b.max(0.0)).collect(),
            scales: source.scales(shape),
            measured: source.reals(values, 0.0, 2.0),
            batch,
        }
    }

    /// √I corrected for the background.
    pub(super) fn amplitude(&self, pixel: usize, magnitude: f64) -> f64 {
        let correction = root_correction(f64::from(self.background[pixel]));
        (magnitude * magnitude + correction).sqrt()
    }

    /// The measured intensity and the magnitude of each pixel of a member, which is this frame.
    pub(super) fn pixels(&self, shape: &Shape, member: usize, frame: usize) -> Vec<[f64; 2]> {
        let size = shape.pixels();
        let measured = &self.measured[member * size..][..size];
        let magnitudes = &self.magnitudes[frame * size..][..size];
        let pairs = measured.iter().zip(magnitudes);
        pairs.map(|(i, m)| [f64::from(*i), f64::from(*m)]).collect()
    }

    pub(super) fn label(&self, shape: &Shape) -> String {
        format!("{shape}, {}", self.batch.label())
    }
}
