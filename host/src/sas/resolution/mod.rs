//! Resolution: measured intensities are averages over nearby wave vectors, so a matrix times the intensities at a
//! finer set of points.
//!
//! A row of the matrix is a quadrature of ∫ g(q') I(q') dq' with the row's own weight function g. All rows share one
//! set of points q_k, fine where the narrowest of the weight functions there asks for it; between the points I is the
//! cubic through the four nearest ones, and each stretch between two points is integrated with g as it is, so that the
//! error is that of the cubics: 1e-6 for q^-4 and a width of 5 %, where bins of the same size have 1e-3.

mod matrix;
mod pinhole;
mod pixels;
mod slit;

pub use pinhole::{Pinhole, Sampling, Width};
pub use pixels::Cloud;
pub use slit::Slit;

use super::{Points, SasError};
use crate::data::{Curve, ScatteringImage, Smearing};

/// A matrix whose rows are stretches of a finer set of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// Where the model is computed.
    pub fine: Points,
    /// First fine point of each row.
    pub first: Vec<u32>,
    /// Fine points of each row.
    pub count: Vec<u32>,
    /// Weights, row after row.
    pub weights: Vec<f64>,
}

impl Resolution {
    /// The matrix times intensities at the fine points.
    #[must_use]
    pub fn apply(&self, fine: &[f64]) -> Vec<f64> {
        let mut weights = self.weights.as_slice();
        let rows = self.first.iter().zip(&self.count);
        rows.map(|(first, count)| {
            let (row, rest) = weights.split_at(*count as usize);
            weights = rest;
            let values = &fine[*first as usize..];
            row.iter()
                .zip(values)
                .map(|(weight, value)| weight * value)
                .sum()
        })
        .collect()
    }

    /// The resolution that a measured curve has; `None` where it has none.
    ///
    /// # Errors
    /// Widths that are none.
    pub fn of_curve(curve: &Curve) -> Result<Option<Self>, SasError> {
        match &curve.smearing {
            None => Ok(None),
            Some(Smearing::Pinhole(width)) => Pinhole::new(Width::Each(width.clone()))
                .resolution(&curve.q)
                .map(Some),
            Some(Smearing::Slit { length, width }) => Slit {
                length: Width::Each(length.clone()),
                width: Width::Each(width.clone()),
            }
            .resolution(&curve.q)
            .map(Some),
        }
    }

    /// The resolution that a measured image has; `None` where it has none.
    ///
    /// # Errors
    /// Widths that are none.
    pub fn of_image(image: &ScatteringImage) -> Result<Option<Self>, SasError> {
        match &image.resolution {
            None => Ok(None),
            Some((along, across)) => Cloud::default()
                .resolution(&image.qx, &image.qy, along, across)
                .map(Some),
        }
    }
}

/// Refuses q that no curve has.
fn check_q(q: &[f64]) -> Result<(), SasError> {
    if q.is_empty() {
        return Err(SasError::Refused(
            "resolution: there are no points; at least one is expected".to_owned(),
        ));
    }
    match q.iter().position(|q| !(q.is_finite() && *q > 0.0)) {
        None => Ok(()),
        Some(i) => Err(SasError::Refused(format!(
            "resolution: q of point {} is {}: a positive number is expected",
            i + 1,
            q[i]
        ))),
    }
}

#[cfg(test)]
mod tests;
