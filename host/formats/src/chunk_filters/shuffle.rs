//! HDF5's shuffle filter, whose data have the first bytes of all elements, then the second, and so
//! on.

use super::FilterError;
use super::transpose::{Bytes, vectorised};

const NAME: &str = "shuffle";

/// The element size from the filter's parameters, or that of the dataset.
pub(super) fn element_size(cd_values: &[u32], element_size: usize) -> Result<usize, FilterError> {
    match cd_values.first() {
        None => Ok(element_size.max(1)),
        Some(0) => Err(FilterError::Variant {
            filter: NAME,
            expected: "an element size of at least 1",
            found: 0,
        }),
        Some(size) => Ok(*size as usize),
    }
}

/// Puts the bytes of elements together. Bytes behind the last whole element are copied.
pub(super) fn undo(input: &[u8], output: &mut [u8], size: usize) -> Result<usize, FilterError> {
    let available = output.len();
    let Some(output) = output.get_mut(..input.len()) else {
        return Err(FilterError::length(NAME, available, input.len() as u64));
    };
    unshuffle(input, output, size);
    Ok(input.len())
}

/// [`undo`] of slices of equal length.
pub(super) fn unshuffle(input: &[u8], output: &mut [u8], size: usize) {
    let whole = input.len() - input.len() % size;
    let (input, left) = input.split_at(whole);
    let (output, left_out) = output.split_at_mut(whole);
    if size == 1 {
        output.copy_from_slice(input);
    } else if whole > 0 {
        vectorised(Bytes {
            input,
            output,
            size,
        });
    }
    left_out.copy_from_slice(left);
}
