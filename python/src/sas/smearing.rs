//! The resolution of an instrument, in an evaluation.

use super::calculation::definition;
use crate::errors::Failure;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use warpstride::sas::resolution::{Cloud, Pinhole, Sampling, Slit, Width};
use warpstride::sas::{Points, Resolution};

type Column<'py> = PyReadonlyArray1<'py, f64>;

/// What smears the intensities; one of the four.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Smearing<'py> {
    /// Standard deviation of q over q.
    share: Option<f64>,
    /// Standard deviations of q (point).
    dq: Option<Column<'py>>,
    /// Standard deviations of q (pixel), parallel and perpendicular to q.
    pixels: Option<(Column<'py>, Column<'py>)>,
    /// Half length and half width of a slit.
    slit: Option<(f64, f64)>,
    /// Diameter of the particles, Å; 0 if they have none.
    diameter: f64,
}

impl Smearing<'_> {
    /// Intensities at `points` from those at finer points.
    pub(super) fn resolution(&self, points: &Points) -> Result<Resolution, Failure> {
        let column = |of: &Column<'_>| of.as_array().to_vec();
        Ok(match points {
            Points::Curve(q) => {
                if let Some((length, width)) = self.slit {
                    let [length, width] = [length, width].map(Width::Same);
                    return Ok(Slit::for_particles(length, width, self.diameter, q).resolution(q)?);
                }
                let width = match (self.share, &self.dq) {
                    (Some(share), _) => Width::Relative(share),
                    (None, Some(dq)) => Width::Each(column(dq)),
                    (None, None) => return Err(refused("of q, as q is a curve", "of pixels")),
                };
                Pinhole::new(width)
                    .sampled(Sampling::for_particles(self.diameter, q))
                    .resolution(q)?
            }
            Points::Pixels { qx, qy } => {
                let (along, across) = match (self.share, &self.pixels) {
                    (Some(share), _) => {
                        let pixels = qx.iter().zip(qy);
                        let widths: Vec<f64> = pixels.map(|(x, y)| share * x.hypot(*y)).collect();
                        (widths.clone(), widths)
                    }
                    (None, Some((along, across))) => (column(along), column(across)),
                    (None, None) => {
                        let expected = "(parallel, perpendicular) of pixels, as q is an image";
                        return Err(refused(expected, "those of a curve"));
                    }
                };
                Cloud::default().resolution(qx, qy, &along, &across)?
            }
        })
    }
}

fn refused(expected: &str, found: &str) -> Failure {
    Failure::Data(format!(
        "resolution: expected standard deviations {expected}, found {found}"
    ))
}

/// The diameter, Å, of the largest particles of vectors (vector, parameter); 0 if they have none.
#[pyfunction]
pub(super) fn sas_diameter(
    model: &str,
    magnetic: bool,
    values: PyReadonlyArray2<'_, f64>,
) -> PyResult<f64> {
    let definition = definition(model, magnetic)?;
    let values = values.as_array();
    let rows = values.rows().into_iter();
    let diameters = rows.map(|row| definition.diameter(&row.to_vec()));
    Ok(diameters
        .filter(|size| size.is_finite())
        .fold(0.0, f64::max))
}
