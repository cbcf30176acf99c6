//! The check of a dataset's size against the available memory.

use super::IoError;
use crate::system::{Bytes, Memory};

/// An empty vector with memory for so many elements; `None` if the system refuses it, as under a limit of the address space.
pub(crate) fn reserved<T>(count: usize) -> Option<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    Some(values)
}

impl Memory {
    /// Checks that `needed` bytes for `dataset` of `file` are within the limit.
    ///
    /// # Errors
    /// [`IoError::TooLarge`].
    pub(crate) fn allow(self, file: &str, dataset: &str, needed: u128) -> Result<(), IoError> {
        if needed <= u128::from(self.limit()) {
            return Ok(());
        }
        Err(IoError::TooLarge {
            file: file.to_owned(),
            dataset: dataset.to_owned(),
            needed: Bytes(needed),
            available: Bytes(u128::from(self.limit())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_the_system_refuses_is_none() {
        assert!(reserved::<f64>(3).is_some_and(|of| of.capacity() >= 3));
        assert_eq!(reserved::<f64>(usize::MAX / 16), None);
    }
}
