//! Positions of the frames: their units, the affine map between two sets of them, their refinement
//! with that of the intensity scales, and the overlap of neighbouring illuminations.

pub(crate) mod affine;
pub(crate) mod frame_parameters;
pub(crate) mod frame_statistics;
pub(crate) mod overlap;
pub(crate) mod refinement;
pub(crate) mod units;
