//! What keeps a division by a modelled magnitude finite.

/// Added to the modelled magnitude before dividing by it, √counts.
pub const MAGNITUDE_FLOOR: f64 = 1e-10;
/// The same in single precision.
pub(super) const MAGNITUDE_FLOOR_F32: f32 = MAGNITUDE_FLOOR as f32;
