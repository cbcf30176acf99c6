//! Numbers with decimal commas: `0,123` beside other separators.

use super::{IoError, shorten};

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
            dataset: format!("line {line}"),
            found: format!("decimal commas in \"{}\"", shorten(row)),
            expected: "numbers with decimal points".to_owned(),
        }),
    }
}

/// Whether a line has quoted numbers with decimal commas: `"0,1","2,5"`.
pub(super) fn quotes_decimal_commas(line: &str) -> bool {
    line.split('"').skip(1).step_by(2).any(is_decimal)
}

/// Whether blanks, tabs or semicolons separate two or more fields, and every comma is the decimal
/// comma of a field.
fn has_decimal_commas(row: &str) -> bool {
    let fields = || {
        row.split(|c: char| c.is_whitespace() || c == ';')
            .filter(|field| !field.is_empty())
    };
    let commas = |field: &&str| field.contains(',');
    row.contains(',') && fields().count() > 1 && fields().filter(commas).all(is_decimal)
}

/// Whether the field is one number with a comma between two digits.
fn is_decimal(field: &str) -> bool {
    let Some((whole, rest)) = field.split_once(',') else {
        return false;
    };
    let end = rest.find(['e', 'E', 'd', 'D']).unwrap_or(rest.len());
    let (fraction, exponent) = rest.split_at(end);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let exponent = exponent
        .get(1..)
        .map(|text| text.trim_start_matches(['+', '-']));
    digits(whole.trim_start_matches(['+', '-'])) && digits(fraction) && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_numbers_differ_from_separators() {
        for row in ["0,1 2,5 3", "0,1;2,5;3", "0,1\t2,5E-3", "-0,1 ; 2"] {
            assert!(has_decimal_commas(row), "{row}");
        }
        for row in [
            "0.1 2",
            "0.1,2.5",
            "0.1, 2.5, 3",
            "1, 2",
            "1 ,2",
            "1,2, 3,4",
            "1,2",
            "0.1,2 3",
        ] {
            assert!(!has_decimal_commas(row), "{row}");
        }
    }
}
