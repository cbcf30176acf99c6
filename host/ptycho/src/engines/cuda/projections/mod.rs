//! Projection engines: exit waves, and the updates from them.

pub(super) mod exact_positions;
pub(super) mod fourier_projection;
pub(super) mod fused;
pub(super) mod object_update;
pub(super) mod packed_waves;
pub(super) mod passes;
pub(super) mod probe_update;
pub(super) mod tile_windows;
