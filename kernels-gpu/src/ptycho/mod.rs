//! Ptychography.
//!
//! Arrays of complex numbers, row-major: exit waves (frame, mode, row, column); probe (mode, row, column); object
//! (row, column). Modes are the probe's. Corners are the first row and column of each frame's window on the object,
//! and must lie so that the window is inside it.

/// The magnitude of a free pixel, which no update sees, with √counts m is `FREE − m`; that of a masked pixel is −1.
pub const FREE: f32 = -2.0;

pub mod centring_shift;
pub mod copy_waves;
pub mod exit_wave_build;
pub mod fourier_step;
pub mod layer_power;
pub mod model_metrics;
pub mod object_finish;
pub mod object_update_atomic;
pub mod object_update_tiled;
pub mod phase_ramp_layers;
pub mod probe_change;
pub mod probe_finish;
mod probe_sums;
pub mod probe_update_atomic;
pub mod probe_update_tiled;
pub mod roll_layers;
pub mod scale_layers;
mod window_walk;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod registry;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
