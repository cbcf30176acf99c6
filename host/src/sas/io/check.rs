//! Checks columns and converts them to curves and images. Errors name the location; notes list what
//! was left out.

use super::IoError;
use crate::data::{Curve, ScatteringImage, Smearing};
use crate::text::count;

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

/// The location of row `i` for messages: `line 12`.
pub(super) type RowLabel<'p> = &'p dyn Fn(usize) -> String;

fn refused(file: &str, what: &str, label: &str, found: f64, expected: &str) -> IoError {
    IoError::Value {
        file: file.to_owned(),
        dataset: format!("{what} in {label}"),
        found: found.to_string(),
        expected: expected.to_owned(),
    }
}

fn finite(file: &str, what: &str, values: &[f64], label: RowLabel<'_>) -> Result<(), IoError> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(refused(file, what, &label(i), values[i], "a finite number")),
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

/// Whether a column says nothing: 0, or −1 as SASfit writes, everywhere.
fn is_unset(values: &[f64]) -> bool {
    [0.0, -1.0]
        .iter()
        .any(|none| values.iter().all(|v| v == none))
}

/// The uncertainties, which must be positive; `None`, with a note, for a column that says nothing.
fn uncertainties(
    file: &str,
    sigma: Option<Vec<f64>>,
    label: RowLabel<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<f64>>, IoError> {
    let Some(sigma) = sigma else {
        return Ok(None);
    };
    if is_unset(&sigma) {
        let found = sigma.first().copied().unwrap_or(0.0);
        notes.push(format!(
            "the uncertainties are {found} everywhere: they are ignored"
        ));
        return Ok(None);
    }
    match sigma.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
        None => Ok(Some(sigma)),
        Some(i) => Err(refused(
            file,
            "the uncertainty",
            &label(i),
            sigma[i],
            "a positive number",
        )),
    }
}

/// Widths of the resolution; `None` if they are all zero.
fn widths(
    file: &str,
    what: &str,
    widths: Vec<f64>,
    label: RowLabel<'_>,
) -> Result<Option<Vec<f64>>, IoError> {
    if widths.iter().all(|w| *w == 0.0) {
        return Ok(None);
    }
    match widths.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        None => Ok(Some(widths)),
        Some(i) => Err(refused(
            file,
            what,
            &label(i),
            widths[i],
            "a number of 0 or more",
        )),
    }
}

/// Keeps the entries with the indices `rows`, in their order.
fn select_rows(values: &mut Vec<f64>, rows: &[usize]) {
    *values = rows.iter().map(|i| values[*i]).collect();
}

/// Checks a curve and sorts it by q; rows with q ≤ 0 are left out.
pub(super) fn curve(file: &str, raw: RawCurve, label: RowLabel<'_>) -> Result<Curve, IoError> {
    let RawCurve {
        mut q,
        mut intensity,
        mut sigma,
        mut width,
        mut slit,
        title,
        mut notes,
    } = raw;
    finite(file, "q", &q, label)?;
    let mut order: Vec<usize> = (0..q.len()).filter(|i| q[*i] > 0.0).collect();
    // Rows that are left out may have any intensity: a model may diverge at q = 0.
    if let Some(i) = order.iter().find(|i| !intensity[**i].is_finite()) {
        let (what, found) = ("the intensity", intensity[*i]);
        return Err(refused(file, what, &label(*i), found, "a finite number"));
    }
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
            order = counted_rows.iter().map(|i| order[*i]).collect();
        }
    }
    let sorted_label = |i: usize| label(order.get(i).copied().unwrap_or(i));
    let sigma = uncertainties(file, sigma, &sorted_label, &mut notes)?;
    let had_width = width.is_some();
    let pinhole = match width {
        Some(column) => widths(file, "the resolution dq", column, &sorted_label)?,
        None => None,
    };
    let slit = match slit {
        None => None,
        Some((length, width)) => {
            let zeros = vec![0.0; q.len()];
            let length = widths(file, "the slit's length", length, &sorted_label)?;
            let width = widths(file, "the slit's width", width, &sorted_label)?;
            (length.is_some() || width.is_some()).then(|| Smearing::Slit {
                length: length.unwrap_or_else(|| zeros.clone()),
                width: width.unwrap_or(zeros),
            })
        }
    };
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
    finite(file, "qx", &qx, label)?;
    finite(file, "qy", &qy, label)?;
    if sigma.as_deref().is_some_and(is_unset) {
        sigma = uncertainties(file, sigma, label, &mut notes)?;
    }
    if let Some(values) = &sigma
        && let Some(i) = values.iter().position(|s| *s < 0.0)
    {
        return Err(refused(
            file,
            "the uncertainty",
            &label(i),
            values[i],
            "a positive number",
        ));
    }
    let measured = |i: usize| {
        intensity[i].is_finite()
            && sigma
                .as_ref()
                .is_none_or(|s| s[i].is_finite() && s[i] > 0.0)
    };
    let kept: Vec<usize> = (0..qx.len()).filter(|i| measured(*i)).collect();
    if kept.is_empty() {
        return Err(no_points_left(
            file,
            &format!("0 of {}", count(qx.len(), PIXELS)),
        ));
    }
    if kept.len() < qx.len() {
        notes.push(format!(
            "{} without an intensity or with uncertainty 0 left out",
            count(qx.len() - kept.len(), PIXELS)
        ));
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
    let kept_label = |i: usize| label(kept.get(i).copied().unwrap_or(i));
    let resolution = match pair {
        None => None,
        Some((along, across)) => {
            let zeros = vec![0.0; qx.len()];
            let along = widths(file, "the resolution along q", along, &kept_label)?;
            let across = widths(file, "the resolution across q", across, &kept_label)?;
            (along.is_some() || across.is_some()).then(|| {
                (
                    along.unwrap_or_else(|| zeros.clone()),
                    across.unwrap_or(zeros),
                )
            })
        }
    };
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
