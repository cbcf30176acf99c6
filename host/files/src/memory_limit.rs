//! The check of a dataset's size against the available memory.

use super::IoError;
use warpstride_core::system::{Bytes, Memory};

/// An empty vector with memory for so many elements; `None` if the system refuses it, as under a
/// limit of the address space.
pub fn reserved<T>(count: usize) -> Option<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    Some(values)
}

/// Checks that `needed` bytes for `dataset` of `file` are within the limit of `memory`.
///
/// # Errors
/// [`IoError::TooLarge`].
pub fn check_memory(
    memory: Memory,
    file: &str,
    dataset: &str,
    needed: u128,
) -> Result<(), IoError> {
    if needed <= u128::from(memory.limit()) {
        return Ok(());
    }
    Err(IoError::TooLarge {
        file: file.to_owned(),
        dataset: dataset.to_owned(),
        needed: Bytes(needed),
        available: Bytes(u128::from(memory.limit())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_the_system_refuses_is_none() {
        assert!(reserved::<f64>(3).is_some_and(|of| of.capacity() >= 3));
        assert_eq!(reserved::<f64>(usize::MAX / 16), None);
    }

    #[test]
    fn the_error_names_needed_and_available_memory() {
        let m = Memory::limited(1 << 20);
        assert!(check_memory(m, "a.cxi", "/d", 1 << 20).is_ok());
        let text = check_memory(m, "a.cxi", "/d", 3 << 30)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("3.0 GiB") && text.contains("1.0 MiB"),
            "{text}"
        );
    }
}
