//! Which of several images of a scan one is.

use serde::Serialize;

/// The counters of one of several images, each from 0 if the file counts so. Indices are ordered by set, repetition,
/// phase, contrast and, fastest, slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct ImageIndex {
    /// Set (for example of flow encoding).
    pub set: u16,
    /// Repetition.
    pub repetition: u16,
    /// Cardiac or respiratory phase.
    pub phase: u16,
    /// Contrast (echo).
    pub contrast: u16,
    /// Slice.
    pub slice: u16,
}
