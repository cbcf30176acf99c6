//! Numbers with decimal commas: `0,123` beside other separators.

use super::{IoError, shorten};
use warpstride_core::text::{has_decimal_commas, is_decimal};

/// Refuses rows with decimal commas; each row has the number of its line. Commas also separate
/// columns, so such a row would be read as more columns than it has.
pub(super) fn refuse_decimal_commas<'t>(
    file: &str,
    mut rows: impl Iterator<Item = (usize, &'t str)>,
) -> Result<(), IoError> {
    match rows.find(|(_, row)| has_decimal_commas(row)) {
        None => Ok(()),
        Some((line, row)) => Err(IoError::Value {
            file: file.to_owned(),
            dataset: format!("line {line}, column {}", column_of_comma(row)),
            found: format!("decimal commas in \"{}\"", shorten(row)),
            expected: "numbers with decimal points, as `sed 's/,/./g' FILE` writes them".to_owned(),
        }),
    }
}

/// The number of the first field with a comma.
fn column_of_comma(row: &str) -> usize {
    let separators = |c: char| c.is_whitespace() || matches!(c, ';' | '|');
    let mut fields = row.split(separators).filter(|field| !field.is_empty());
    1 + fields.position(|field| field.contains(',')).unwrap_or(0)
}

/// Whether a line has quoted numbers with decimal commas: `"0,1","2,5"`.
pub(super) fn quotes_decimal_commas(line: &str) -> bool {
    line.split('"').skip(1).step_by(2).any(is_decimal)
}
