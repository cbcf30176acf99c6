//! What several devices divide.

use crate::{Problem, StreamPlan};

/// What an engine for all frames is made of.
pub(super) struct Undivided {
    pub(super) problem: Problem,
    pub(super) stream: Option<StreamPlan>,
}

/// The mini-batches that devices divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchDivision {
    /// None, but those of regions: arrays are exchanged through the hosts or between them, which
    /// takes longer than to compute them.
    Never,
    /// Those for which that takes less time than to compute them on each device.
    Gaining,
    /// All that can be.
    Always,
}
