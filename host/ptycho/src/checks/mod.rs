//! Checks of a scan: frames that measure nothing, pixels and geometries that are not as they should
//! be, and what `ptycho info` and `ptycho import` say of them.

pub(crate) mod bad_frames;
pub(crate) mod diagnosis;
pub(crate) mod scan;
