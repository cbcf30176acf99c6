//! Mirrors `parquet.rs` in a build without the feature `parquet`: no Parquet file is begun.

use super::run::Run;
use crate::io::LabelColumns;
use std::convert::Infallible;
use std::path::Path;
use warpstride_core::system::atomic_file::refusal;
use warpstride_files::IoError;

/// A Parquet file of results, of which there is none in this build.
pub(super) struct ParquetRows(Infallible);

impl ParquetRows {
    /// Refuses the file.
    pub(super) fn create(path: &Path, _labels: Option<LabelColumns>) -> Result<Self, IoError> {
        let reason = "this program was built without Parquet (cargo feature parquet)";
        Err(refusal(path, &reason))
    }

    pub(super) fn append<'r>(
        &mut self,
        _runs: impl Iterator<Item = Run<'r>>,
    ) -> Result<u64, IoError> {
        match self.0 {}
    }

    pub(super) fn finish(self) -> Result<(), IoError> {
        match self.0 {}
    }
}
