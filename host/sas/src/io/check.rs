//! Checks columns and converts them to curves and images. Errors name the location; notes list what
//! was left out.

mod invalid_rows;

use super::IoError;
use crate::data::{Curve, ScatteringImage, Smearing};
pub(super) use invalid_rows::RowLabel;
use invalid_rows::{Validity, coordinate, is_unset, of_sigma, of_width, valid_rows};
use warpstride_core::text::count;

/// Singular and plural for [`count`].
const ROWS: [&str; 2] = ["row", "rows"];
const PIXELS: [&str; 2] = ["pixel", "pixels"];

/// Columns of a curve as read; all of the same length.
#[derive(Debug, Default)]
pub(super) struct RawCurve {
    pub(super) q: Vec<f64>,
    pub(super) intensity: Vec<f64>,
    pub(super) sigma: Option<Vec<f64>>,
    /// Standard deviation of q.
    pub(super) width: Option<Vec<f64>>,
    /// Length and width of a slit.
    pub(super) slit: Option<(Vec<f64>, Vec<f64>)>,
    pub(super) title: String,
    pub(super) notes: Vec<String>,
}

/// Columns of an image as read; all of the same length.
#[derive(Debug, Default)]
pub(super) struct RawImage {
    pub(super) qx: Vec<f64>,
    pub(super) qy: Vec<f64>,
    pub(super) intensity: Vec<f64>,
    pub(super) sigma: Option<Vec<f64>>,
    /// Standard deviations of q along and across its direction.
    pub(super) widths: Option<(Vec<f64>, Vec<f64>)>,
    pub(super) title: String,
    pub(super) notes: Vec<String>,
}

impl RawCurve {
    /// Keeps the rows with these indices.
    pub(super) fn keep(&mut self, rows: &[usize]) {
        let slit = self
            .slit
            .iter_mut()
            .flat_map(|(length, width)| [length, width]);
        let optional = [&mut self.sigma, &mut self.width];
        let all = [&mut self.q, &mut self.intensity].into_iter();
        all.chain(optional.into_iter().flatten())
            .chain(slit)
            .for_each(|column| select_rows(column, rows));
    }
}

impl RawImage {
    /// Keeps the pixels with these indices.
    pub(super) fn keep(&mut self, pixels: &[usize]) {
        let widths = self
            .widths
            .iter_mut()
            .flat_map(|(along, across)| [along, across]);
        let all = [&mut self.qx, &mut self.qy, &mut self.intensity].into_iter();
        all.chain(self.sigma.as_mut())
            .chain(widths)
            .for_each(|column| select_rows(column, pixels));
    }
}

fn no_points_left(file: &str, found: &str) -> IoError {
    IoError::Value {
        file: file.to_owned(),
        dataset: "the number of points".to_owned(),
        found: found.to_owned(),
        expected: "at least one point with q > 0".to_owned(),
    }
}

/// The uncertainties; `None`, with a note, for a column that says nothing.
fn uncertainties(sigma: Option<Vec<f64>>, notes: &mut Vec<String>) -> Option<Vec<f64>> {
    let sigma = sigma?;
    if !is_unset(&sigma) {
        return Some(sigma);
    }
    let found = sigma.first().copied().unwrap_or(0.0);
    notes.push(format!(
        "the uncertainties are {found} everywhere: they are ignored"
    ));
    None
}

/// Widths of the resolution; `None` if they are all zero.
fn widths(widths: Vec<f64>) -> Option<Vec<f64>> {
    widths.iter().any(|w| *w != 0.0).then_some(widths)
}

/// Keeps the entries with the indices `rows`, in their order.
fn select_rows(values: &mut Vec<f64>, rows: &[usize]) {
    *values = rows.iter().map(|i| values[*i]).collect();
}

/// Checks a curve and sorts it by q; rows with q ≤ 0 and invalid rows are left out.
pub(super) fn curve(file: &str, mut raw: RawCurve, label: RowLabel<'_>) -> Result<Curve, IoError> {
    let rows = raw.q.len();
    let mut notes = std::mem::take(&mut raw.notes);
    // NIST's files of ultra-small angles have minus the half length of the slit in the place of dq.
    let is_slit = |width: &Vec<f64>| !width.is_empty() && width.iter().all(|w| *w < 0.0);
    if raw.slit.is_none()
        && let Some(width) = raw.width.take_if(|width| is_slit(width))
    {
        notes.push(
            "the resolution is negative: it is read as the half length of a slit, as in NIST's \
             files of ultra-small angles"
                .to_owned(),
        );
        raw.slit = Some((width.iter().map(|w| -w).collect(), vec![0.0; rows]));
    }
    // A row with q ≤ 0 may have any intensity: a model may diverge at q = 0. A bin without counts
    // has neither intensity nor uncertainty.
    let counted = |row: usize| {
        let zero = |column: &Vec<f64>| column[row] == 0.0 && raw.intensity[row] == 0.0;
        raw.q[row] > 0.0 && !raw.sigma.as_ref().is_some_and(zero)
    };
    let masked = |column: &[f64]| -> Vec<f64> {
        let pairs = column.iter().enumerate();
        pairs
            .map(|(row, value)| {
                if counted(row) || raw.q[row].is_nan() {
                    *value
                } else {
                    1.0
                }
            })
            .collect()
    };
    let intensity = masked(&raw.intensity);
    let sigma = raw
        .sigma
        .as_ref()
        .filter(|sigma| !is_unset(sigma))
        .map(|sigma| masked(sigma));
    let conditions = [
        Some(coordinate("q", &raw.q)),
        Some(coordinate("the intensity", &intensity)),
        of_sigma(sigma.as_ref(), |sigma| sigma.is_finite() && sigma > 0.0),
        of_width("the resolution dq", raw.width.as_ref()),
        of_width(
            "the slit's length",
            raw.slit.as_ref().map(|(length, _)| length),
        ),
        of_width(
            "the slit's width",
            raw.slit.as_ref().map(|(_, width)| width),
        ),
    ];
    let conditions: Vec<Validity<'_>> = conditions.into_iter().flatten().collect();
    let valid = valid_rows(file, rows, &conditions, ROWS, label, &mut notes)?;
    drop(conditions);
    if valid.len() < rows {
        raw.keep(&valid);
    }
    let label = &|row: usize| label(valid.get(row).copied().unwrap_or(row));
    let RawCurve {
        mut q,
        mut intensity,
        mut sigma,
        mut width,
        mut slit,
        title,
        notes: _,
    } = raw;
    let mut order: Vec<usize> = (0..q.len()).filter(|i| q[*i] > 0.0).collect();
    let dropped = q.len() - order.len();
    if order.is_empty() {
        return Err(no_points_left(
            file,
            &format!("0 of {}", count(dropped, ROWS)),
        ));
    }
    if dropped > 0 {
        let first = q.iter().position(|q| *q <= 0.0).unwrap_or(0);
        notes.push(format!(
            "{} with q ≤ 0 left out ({})",
            count(dropped, ROWS),
            label(first)
        ));
    }
    let descent = order
        .windows(2)
        .find(|pair| q[pair[1]] < q[pair[0]])
        .map(<[usize]>::to_vec);
    if let Some(pair) = &descent {
        notes.push(format!(
            "q is not in ascending order ({}: {} after {}): sorted",
            label(pair[1]),
            q[pair[1]],
            q[pair[0]]
        ));
        order.sort_by(|a, b| q[*a].total_cmp(&q[*b]));
    }
    let repeated = order
        .windows(2)
        .filter(|pair| q[pair[1]] == q[pair[0]])
        .count();
    if repeated > 0 {
        let first = order.windows(2).find(|pair| q[pair[1]] == q[pair[0]]);
        let first = first.map_or_else(String::new, |pair| {
            format!(", q = {} first ({})", q[pair[1]], label(pair[1]))
        });
        notes.push(format!(
            "{} the same q as another{first}: all are kept",
            count(repeated, ["row has", "rows have"])
        ));
    }
    if order.len() < q.len() || descent.is_some() {
        select_rows(&mut q, &order);
        select_rows(&mut intensity, &order);
        for column in [&mut sigma, &mut width].into_iter().flatten() {
            select_rows(column, &order);
        }
        if let Some((length, width)) = &mut slit {
            select_rows(length, &order);
            select_rows(width, &order);
        }
    }
    // A bin without counts has neither intensity nor uncertainty. If all rows have none, the column
    // says nothing.
    if let Some(column) = &mut sigma
        && !is_unset(column)
    {
        let counted_rows: Vec<usize> = (0..q.len())
            .filter(|i| intensity[*i] != 0.0 || column[*i] != 0.0)
            .collect();
        if let Some(first) = (0..q.len()).find(|i| intensity[*i] == 0.0 && column[*i] == 0.0) {
            notes.push(format!(
                "{} without counts (intensity and uncertainty 0) left out ({})",
                count(q.len() - counted_rows.len(), ROWS),
                label(order[first])
            ));
            select_rows(column, &counted_rows);
            select_rows(&mut q, &counted_rows);
            select_rows(&mut intensity, &counted_rows);
            if let Some(column) = &mut width {
                select_rows(column, &counted_rows);
            }
            if let Some((length, width)) = &mut slit {
                select_rows(length, &counted_rows);
                select_rows(width, &counted_rows);
            }
        }
    }
    let sigma = uncertainties(sigma, &mut notes);
    let had_width = width.is_some();
    let pinhole = width.and_then(widths);
    let slit = slit.and_then(|(length, width)| {
        let zeros = vec![0.0; q.len()];
        let (length, width) = (widths(length), widths(width));
        (length.is_some() || width.is_some()).then(|| Smearing::Slit {
            length: length.unwrap_or_else(|| zeros.clone()),
            width: width.unwrap_or(zeros),
        })
    });
    if pinhole.is_some() && slit.is_some() {
        notes.push("the file has Gaussian widths of q and a slit: the widths are used".to_owned());
    }
    if had_width && pinhole.is_none() && slit.is_none() {
        notes.push("the resolution is zero everywhere: it is ignored".to_owned());
    }
    Ok(Curve {
        q,
        intensity,
        sigma,
        smearing: pinhole.map(Smearing::Pinhole).or(slit),
        title,
        notes,
    })
}

/// Checks an image; pixels without a finite intensity or without an uncertainty are left out.
pub(super) fn image(
    file: &str,
    raw: RawImage,
    label: RowLabel<'_>,
) -> Result<ScatteringImage, IoError> {
    let RawImage {
        mut qx,
        mut qy,
        mut intensity,
        mut sigma,
        widths: mut pair,
        title,
        mut notes,
    } = raw;
    if sigma.as_deref().is_some_and(is_unset) {
        sigma = uncertainties(sigma, &mut notes);
    }
    let positions = [coordinate("qx", &qx), coordinate("qy", &qy)];
    let with_widths = pair.iter().flat_map(|(along, across)| {
        let along = of_width("the resolution along q", Some(along));
        along
            .into_iter()
            .chain(of_width("the resolution across q", Some(across)))
    });
    let conditions: Vec<Validity<'_>> = positions.into_iter().chain(with_widths).collect();
    let measured = |i: &usize| {
        intensity[*i].is_finite()
            && sigma
                .as_ref()
                .is_none_or(|s| s[*i].is_finite() && s[*i] > 0.0)
    };
    let all = qx.len();
    let valid = valid_rows(file, all, &conditions, PIXELS, label, &mut notes)?;
    drop(conditions);
    let kept: Vec<usize> = valid.iter().copied().filter(measured).collect();
    if kept.is_empty() {
        return Err(no_points_left(
            file,
            &format!("0 of {}", count(all, PIXELS)),
        ));
    }
    if kept.len() < valid.len() {
        notes.push(format!(
            "{} without an intensity or with uncertainty 0 left out",
            count(valid.len() - kept.len(), PIXELS)
        ));
    }
    if kept.len() < all {
        for column in [&mut qx, &mut qy, &mut intensity] {
            select_rows(column, &kept);
        }
        if let Some(column) = &mut sigma {
            select_rows(column, &kept);
        }
        if let Some((along, across)) = &mut pair {
            select_rows(along, &kept);
            select_rows(across, &kept);
        }
    }
    let resolution = pair.and_then(|(along, across)| {
        let zeros = vec![0.0; qx.len()];
        let (along, across) = (widths(along), widths(across));
        (along.is_some() || across.is_some()).then(|| {
            (
                along.unwrap_or_else(|| zeros.clone()),
                across.unwrap_or(zeros),
            )
        })
    });
    Ok(ScatteringImage {
        qx,
        qy,
        intensity,
        sigma,
        resolution,
        title,
        notes,
    })
}
