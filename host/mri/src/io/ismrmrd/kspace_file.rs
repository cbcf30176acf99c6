//! Samples of k-space as a file has them.

use super::LeftOut;
use crate::data::{KSpace, Placement};

/// Samples of k-space and the decisions made when they were read.
#[derive(Debug, Clone, PartialEq)]
pub struct KSpaceFile {
    /// The data.
    pub kspace: KSpace,
    /// Position and orientation of the image, if the file states them.
    pub placement: Option<Placement>,
    /// Slice of the image, from 0 if the file counts so.
    pub slice: u16,
    /// The trajectory's name in the header; empty if absent.
    pub trajectory: String,
    /// Number of acquisitions in the file.
    pub acquisitions: usize,
    /// Acquisitions that are not part of [`Self::kspace`].
    pub left_out: Vec<LeftOut>,
    /// Decisions of interest to the user, one sentence each.
    pub notes: Vec<String>,
}
