//! Rows with invalid values, which are left out if they are few.

use warpstride_core::text::count;
use warpstride_files::IoError;

/// One row in so many may be invalid; of more, the data are refused.
const ROWS_PER_INVALID: usize = 3;
/// Most invalid rows that a note lists.
const MOST_LISTED: usize = 8;

/// The location of row `i` for messages: `line 12`.
pub(in crate::io) type RowLabel<'p> = &'p dyn Fn(usize) -> String;

/// A column, and which of its values make a row invalid.
pub(super) struct Validity<'c> {
    what: &'static str,
    values: &'c [f64],
    is_valid: fn(f64) -> bool,
    expected: &'static str,
}

/// Whether a column says nothing: NaN, 0, or −1 as SASfit writes, everywhere.
pub(super) fn is_unset(values: &[f64]) -> bool {
    [0.0, -1.0]
        .iter()
        .any(|none| values.iter().all(|v| v == none))
        || values.iter().all(|v| v.is_nan())
}

/// The first invalid value of a row.
fn invalid<'v>(row: usize, columns: &'v [Validity<'_>]) -> Option<&'v Validity<'v>> {
    (columns.iter()).find(|of| !(of.is_valid)(of.values[row]))
}

/// Indices of the rows without invalid values, with a note on the others.
///
/// # Errors
/// Too many rows are invalid.
pub(super) fn valid_rows(
    file: &str,
    rows: usize,
    columns: &[Validity<'_>],
    named: [&str; 2],
    label: RowLabel<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<usize>, IoError> {
    let (valid, others): (Vec<usize>, Vec<usize>) =
        (0..rows).partition(|row| invalid(*row, columns).is_none());
    let Some((row, of)) = others
        .first()
        .and_then(|row| Some((*row, invalid(*row, columns)?)))
    else {
        return Ok(valid);
    };
    let found = of.values[row];
    if others.len() * ROWS_PER_INVALID > rows {
        let mut found = found.to_string();
        if others.len() > 1 {
            found += &format!(
                "; {} of {rows} {} are invalid: remove them{}",
                others.len(),
                named[1],
                match of.what {
                    "the uncertainty" => ", or the column of uncertainties",
                    _ => "",
                }
            );
        }
        return Err(refused(file, of.what, &label(row), found, of.expected));
    }
    let mut list: Vec<String> = others
        .iter()
        .skip(1)
        .take(MOST_LISTED)
        .map(|row| label(*row))
        .collect();
    if others.len() > MOST_LISTED + 1 {
        list.push("…".to_owned());
    }
    let also = match list[..] {
        [] => String::new(),
        _ => format!("; also {}", list.join(", ")),
    };
    notes.push(format!(
        "{} of {rows} left out: {} in {} is {found}{also}",
        count(others.len(), named),
        of.what,
        label(row)
    ));
    Ok(valid)
}

/// The conditions of uncertainties: those of `sigma`, unless it says nothing.
pub(super) fn of_sigma(
    sigma: Option<&Vec<f64>>,
    is_valid: fn(f64) -> bool,
) -> Option<Validity<'_>> {
    sigma
        .filter(|sigma| !is_unset(sigma))
        .map(|sigma| Validity {
            what: "the uncertainty",
            values: sigma,
            is_valid,
            expected: "a positive number",
        })
}

/// Finite, as every coordinate is.
pub(super) fn coordinate<'c>(what: &'static str, values: &'c [f64]) -> Validity<'c> {
    Validity {
        what,
        values,
        is_valid: f64::is_finite,
        expected: "a finite number",
    }
}

/// A width of the resolution; a column of zeros says nothing.
pub(super) fn of_width<'c>(
    what: &'static str,
    values: Option<&'c Vec<f64>>,
) -> Option<Validity<'c>> {
    values.map(|values| Validity {
        what,
        values,
        is_valid: |width| width.is_finite() && width >= 0.0,
        expected: "a number of 0 or more",
    })
}

fn refused(file: &str, what: &str, label: &str, found: String, expected: &str) -> IoError {
    IoError::Value {
        file: file.to_owned(),
        dataset: format!("{what} in {label}"),
        found,
        expected: expected.to_owned(),
    }
}
