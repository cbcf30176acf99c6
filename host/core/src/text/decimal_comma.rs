//! Numbers with decimal commas: `0,123` beside other separators than commas.

/// Whether blanks, tabs, semicolons or bars separate two or more fields, and every comma is the
/// decimal comma of a field.
pub fn has_decimal_commas(row: &str) -> bool {
    let fields = || {
        row.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|'))
            .filter(|field| !field.is_empty())
    };
    let commas = |field: &&str| field.contains(',');
    row.contains(',') && fields().count() > 1 && fields().filter(commas).all(is_decimal)
}

/// Whether the field is one number with a comma between two digits.
pub fn is_decimal(field: &str) -> bool {
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
