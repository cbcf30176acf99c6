//! Data that a filter leaves as they are.

use super::FilterError;

/// Copies data that no filter changes, at most as many as there is memory for.
pub(super) fn copy(
    filter: &'static str,
    input: &[u8],
    output: &mut [u8],
) -> Result<usize, FilterError> {
    match output.get_mut(..input.len()) {
        Some(output) => {
            output.copy_from_slice(input);
            Ok(input.len())
        }
        None => Err(FilterError::length(
            filter,
            output.len(),
            input.len() as u64,
        )),
    }
}
