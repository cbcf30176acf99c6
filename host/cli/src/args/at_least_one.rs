//! Options that are numbers of things.

use std::num::{IntErrorKind, ParseIntError};

/// A whole number of which there is at least one; commands check the largest.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => error.to_string(),
            _ => "a whole number, 1 or more".to_owned(),
        })
}
