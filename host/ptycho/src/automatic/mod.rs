//! What trial reconstructions decide: the automatic recipe, the orientation of the positions and
//! their rotation. [`central_part`] is the part of a scan on which trials are made.

pub(crate) mod central_part;
pub(crate) mod orientation;
pub(crate) mod recipe;
pub(crate) mod rotation;
