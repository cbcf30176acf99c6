//! Errors of headers, and headers as they are written.

use super::super::IoError;
use warpstride_formats::numpy::HeaderError;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The length of a written header is a multiple of this.
const ALIGNMENT: usize = 64;

/// The error for a header of the file `name`.
pub(super) fn refused(name: &str, error: HeaderError) -> IoError {
    match error {
        HeaderError::Read(e) => unreadable(name, &e),
        HeaderError::Form(found) => IoError::Format {
            file: name.to_owned(),
            expected: "a NumPy array (.npy)",
            found,
        },
        HeaderError::Element(description) => wrong_element(name, &description),
    }
}

/// The error for a file that cannot be read.
pub(super) fn unreadable(name: &str, reason: &dyn std::fmt::Display) -> IoError {
    IoError::Open {
        file: name.to_owned(),
        reason: reason.to_string(),
    }
}

/// The error for an unsupported element type.
pub(super) fn wrong_element(name: &str, description: &str) -> IoError {
    IoError::Value {
        file: name.to_owned(),
        dataset: "the element type".to_owned(),
        found: description.to_owned(),
        expected:
            "f32 or f64 (<f4, <f8, >f4 or >f8), for images also complex (<c8, <c16, >c8 or >c16)"
                .to_owned(),
    }
}

/// A header of version 1.0, padded with spaces as NumPy does.
pub(super) fn text(description: &str, shape: &[usize]) -> Vec<u8> {
    let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let entries = format!(
        "{{'descr': '{description}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        sides.join(", ")
    );
    let before = MAGIC.len() + 4;
    let whole = (before + entries.len() + 1).next_multiple_of(ALIGNMENT);
    let length = (whole - before) as u16;
    let mut bytes = [MAGIC, &[1, 0], &length.to_le_bytes(), entries.as_bytes()].concat();
    bytes.resize(whole - 1, b' ');
    bytes.push(b'\n');
    bytes
}
