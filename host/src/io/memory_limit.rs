//! The check of a dataset's size against the available memory.

use super::IoError;
use crate::system::{Bytes, Memory};

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
