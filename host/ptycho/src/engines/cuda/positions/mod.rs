//! Refinement of positions and scales of frames.

pub(super) mod annealing;
pub(super) mod refinement;
