//! Data: arrays, and files.

use super::calculation::BackendOptions;
use crate::detached::detached;
use crate::errors::Failure;
use crate::wording::all_in_python;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::path::PathBuf;
use warpstride::sas::data::{Curve, Scattering, ScatteringImage, Smearing};
use warpstride::sas::fit::Selection;
use warpstride::sas::io::{Kind, QUnit, ReadOptions};

type Column<'py> = PyReadonlyArray1<'py, f64>;

/// Measured intensities: q or qx, qy, intensity, standard deviations, and the resolution: standard
/// deviations of q, the extent of a slit (half length, half width), or standard deviations of
/// pixels (parallel, perpendicular).
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Arrays<'py> {
    q: Column<'py>,
    qy: Option<Column<'py>>,
    intensity: Column<'py>,
    sigma: Option<Column<'py>>,
    dq: Option<Column<'py>>,
    slit: Option<(Column<'py>, Column<'py>)>,
    pixels: Option<(Column<'py>, Column<'py>)>,
}

/// Arrays, or the name of a file.
#[derive(FromPyObject)]
pub(super) enum Data<'py> {
    #[pyo3(transparent)]
    File(PathBuf),
    #[pyo3(transparent)]
    Arrays(Arrays<'py>),
}

/// One point in so many may be invalid; of more, the data are refused.
const POINTS_PER_INVALID: usize = 3;

/// What makes the values of a column invalid, and which values are valid.
type Condition<'a> = (&'static str, &'a [f64], fn(f64) -> bool, &'static str);

/// The data without points that have invalid values, as readers of files leave them out, and
/// with a note on these; `weighted`: σ counts.
fn sound(data: Scattering, weighted: bool) -> Result<Scattering, Failure> {
    let mut columns: Vec<Condition<'_>> = Vec::new();
    let mut add = |what, values, is_valid, expected| {
        columns.push((what, values, is_valid, expected));
    };
    let finite: fn(f64) -> bool = f64::is_finite;
    let width: fn(f64) -> bool = |width| width.is_finite() && width >= 0.0;
    let (intensity, sigma) = match &data {
        Scattering::Curve(of) => {
            let positive = |q: f64| q.is_finite() && q > 0.0;
            add("q", &of.q[..], positive, "a positive number");
            let (first, second) = match &of.smearing {
                None => (None, None),
                Some(Smearing::Pinhole(dq)) => (Some(dq), None),
                Some(Smearing::Slit { length, width }) => (Some(length), Some(width)),
            };
            for of in [first, second].into_iter().flatten() {
                add("the resolution", of, width, "a number of 0 or more");
            }
            (&of.intensity, &of.sigma)
        }
        Scattering::Image(of) => {
            add("qx", &of.qx[..], finite, "a finite number");
            add("qy", &of.qy, finite, "a finite number");
            for of in of.resolution.iter().flat_map(|(of, other)| [of, other]) {
                add("the resolution", of, width, "a number of 0 or more");
            }
            (&of.intensity, &of.sigma)
        }
    };
    add("the intensity", intensity, finite, "a finite number");
    if let Some(sigma) = sigma.as_ref().filter(|_| weighted) {
        let positive = |sigma: f64| sigma.is_finite() && sigma > 0.0;
        let expected = "a standard deviation above 0";
        add("sigma", sigma, positive, expected);
    }
    let total = intensity.len();
    let fault = |at: usize| {
        columns
            .iter()
            .find(|(_, of, is_valid, _)| !is_valid(of[at]))
    };
    let invalid: Vec<usize> = (0..total).filter(|at| fault(*at).is_some()).collect();
    let first = invalid.first().and_then(|at| Some((*at, fault(*at)?)));
    let Some((at, (what, values, _, expected))) = first else {
        return Ok(data);
    };
    let (found, count) = (values[at], invalid.len());
    if count * POINTS_PER_INVALID > total {
        let remedy = match *what {
            "sigma" => ", or give no standard deviations",
            _ => "",
        };
        return Err(Failure::Data(format!(
            "the data: {what} of point {at} (from 0): expected {expected}, found {found}; {count} of {total} points are invalid: leave them out{remedy}"
        )));
    }
    let note = format!(
        "{count} of {total} points left out: {what} of point {at} (from 0) is {found}, expected {expected}"
    );
    let mut mask = vec![true; total];
    for at in invalid {
        mask[at] = false;
    }
    let selection = Selection {
        mask: Some(mask),
        ..Selection::default()
    };
    let mut data = selection.of(&data)?;
    // The selection's own note has the number alone.
    match &mut data {
        Scattering::Curve(of) => of.notes = vec![note],
        Scattering::Image(of) => of.notes = vec![note],
    }
    Ok(data)
}

pub(super) fn scattering(data: Data<'_>, weighted: bool) -> Result<Scattering, Failure> {
    let of = match data {
        Data::File(path) => {
            let options = ReadOptions::default();
            return Ok(warpstride::sas::io::read(&path, &options)?);
        }
        Data::Arrays(arrays) => arrays,
    };
    let values = |array: Column<'_>| array.as_array().to_vec();
    let pair = |(first, second): (Column<'_>, Column<'_>)| (values(first), values(second));
    let (q, intensity) = (values(of.q), values(of.intensity));
    let sigma = of.sigma.map(values);
    let (dq, slit, pixels) = (of.dq.map(values), of.slit.map(pair), of.pixels.map(pair));
    let pairs = [&slit, &pixels].into_iter().flatten();
    let single = [Some(&intensity), sigma.as_ref(), dq.as_ref()];
    let mut found: Vec<usize> = single.into_iter().flatten().map(Vec::len).collect();
    found.extend(pairs.flat_map(|(first, second)| [first.len(), second.len()]));
    if found.iter().any(|length| *length != q.len()) {
        return Err(Failure::Data(format!(
            "the data: expected as many intensities, standard deviations and resolutions as points, {}, found others",
            q.len()
        )));
    }
    let (title, notes) = ("the data".to_owned(), Vec::new());
    let data = match of.qy.map(values) {
        None => Scattering::Curve(Curve {
            smearing: match slit {
                Some((length, width)) => Some(Smearing::Slit { length, width }),
                None => dq.map(Smearing::Pinhole),
            },
            q,
            intensity,
            sigma,
            title,
            notes,
        }),
        Some(_) if dq.is_some() => {
            return Err(Failure::data("dq: expected a curve, found an image"));
        }
        Some(qy) => Scattering::Image(ScatteringImage {
            qx: q,
            qy,
            intensity,
            sigma,
            resolution: pixels,
            title,
            notes,
        }),
    };
    sound(data, weighted)
}

type Array<'py> = Bound<'py, PyArray1<f64>>;

/// q or qx, qy, intensity, standard deviations, resolution (its kind, one or two columns), title,
/// notes.
type Read<'py> = (
    Array<'py>,
    Option<Array<'py>>,
    Array<'py>,
    Option<Array<'py>>,
    Option<(&'static str, Vec<Array<'py>>)>,
    String,
    Vec<String>,
);

/// Reads columns of text, canSAS XML or NXcanSAS.
#[pyfunction]
pub(super) fn sas_read(
    py: Python<'_>,
    path: PathBuf,
    select: Option<String>,
    kind: Option<String>,
    q_unit: Option<String>,
) -> PyResult<Read<'_>> {
    let kind = match kind.as_deref() {
        None => None,
        Some("curve") => Some(Kind::Curve),
        Some("image") => Some(Kind::Image),
        Some(other) => {
            let text = format!("kind {other:?}: expected curve or image");
            return Err(Failure::Data(text).into());
        }
    };
    let q_unit = match q_unit.as_deref() {
        None => None,
        Some("1/A") => Some(QUnit::InverseAngstrom),
        Some("1/nm") => Some(QUnit::InverseNanometre),
        Some(other) => {
            let text = format!("q_unit {other:?}: expected 1/A or 1/nm");
            return Err(Failure::Data(text).into());
        }
    };
    let options = ReadOptions {
        select,
        kind,
        q_unit,
    };
    let read = detached(py, || warpstride::sas::io::read(&path, &options));
    let column = |values: Vec<f64>| values.into_pyarray(py);
    Ok(match read.map_err(Failure::from)? {
        Scattering::Curve(of) => {
            let resolution = of.smearing.map(|smearing| match smearing {
                Smearing::Pinhole(dq) => ("dq", vec![column(dq)]),
                Smearing::Slit { length, width } => ("slit", vec![column(length), column(width)]),
            });
            let sigma = of.sigma.map(column);
            let (q, intensity) = (column(of.q), column(of.intensity));
            (
                q,
                None,
                intensity,
                sigma,
                resolution,
                of.title,
                all_in_python(of.notes),
            )
        }
        Scattering::Image(of) => {
            let resolution = of.resolution.map(|(parallel, perpendicular)| {
                ("pixels", vec![column(parallel), column(perpendicular)])
            });
            let (qx, qy) = (column(of.qx), Some(column(of.qy)));
            let (intensity, sigma) = (column(of.intensity), of.sigma.map(column));
            (
                qx,
                qy,
                intensity,
                sigma,
                resolution,
                of.title,
                all_in_python(of.notes),
            )
        }
    })
}

impl BackendOptions {
    /// Refuses magnetism for curves, which are averages over directions.
    pub(super) fn check_points(&self, pixels: bool) -> Result<(), Failure> {
        match self.magnetic && !pixels {
            true => Err(Failure::data(
                "magnetic: expected an image (qx, qy), found a curve, which is averaged over all directions",
            )),
            false => Ok(()),
        }
    }
}
