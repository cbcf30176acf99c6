//! Several devices: what they exchange, in one process or several.

pub(super) mod device_group;
pub(super) mod exchange;
pub(super) mod processes;
