//! Ptychography.
//!
//! Arrays of complex numbers, row-major: exit waves (frame, mode, row, column); probe (mode, row, column); object
//! (row, column). Modes are the probe's. Corners are the first row and column of each frame's window on the object,
//! and must lie so that the window is inside it.

/// The magnitude of a free pixel, which no update sees, with √counts m is `FREE − m`; that of a masked pixel is −1.
pub const FREE: f32 = -2.0;

pub mod advance_layers;
pub mod batch_advance;
mod batch_bounds;
pub mod batch_exchange;
pub mod batch_finish;
pub mod batch_shares;
pub mod batch_step_sums;
pub mod batch_sums;
mod block_parts;
pub mod centring_shift;
mod cluster_pass;
pub mod coefficient_blocks;
pub mod column_tiles;
pub mod columns_finish;
pub mod columns_reflect;
pub mod conjugate_direction;
pub mod conjugate_precondition;
pub mod copy_waves;
pub mod deferred_momentum;
pub mod direction_finish;
pub mod exact_advance;
pub mod exact_chi;
pub mod exact_finish;
mod exact_frame;
pub mod exact_gradient;
pub mod exact_line;
pub mod exact_modes;
pub mod exact_step_sums;
pub mod exit_wave_build;
pub mod exposure_points;
mod fixed_point;
pub mod fluence;
pub mod fourier_step;
pub mod frame_blocks;
pub mod frame_chi;
pub mod frame_gradient;
pub mod frame_line;
pub mod fused_metrics;
pub mod fused_step;
pub mod gaussian_smoothing;
pub mod gram;
pub mod keep_better;
pub mod largest;
pub mod layer_power;
pub mod layered_line_waves;
pub mod likelihood_deviation;
pub mod likelihood_losses;
pub mod likelihood_noise;
pub mod line_point;
pub mod line_sums;
pub mod line_waves;
pub mod magnitude_deviation;
pub mod mix_layers;
mod mode_rows;
pub mod model_metrics;
pub mod modes_gradient;
pub mod modes_line;
pub mod near_field_factors;
pub mod object_direction;
pub mod object_finish;
pub mod object_from_sums;
pub mod object_sums_tiled;
mod object_tile_sums;
pub mod object_update_atomic;
pub mod object_update_tiled;
pub mod phase_ramp_layers;
pub mod pie_cluster;
pub mod pie_cluster_exact;
pub mod pie_pass;
mod pie_shared;
pub mod position_equations;
pub mod probe_change;
pub mod probe_direction;
pub mod probe_finish;
mod probe_sums;
pub mod probe_update_atomic;
pub mod probe_update_tiled;
pub mod probe_variations;
pub mod rank_sums;
pub mod region_merge;
pub mod roll_frames;
pub mod roll_layers;
pub mod rows_metrics;
pub mod rows_project;
pub mod scale_layers;
pub mod scale_to_power;
pub mod shifted_spectra;
pub mod slice_sums;
pub mod smoothness;
pub mod step_mean;
pub mod step_sums;
pub mod tile_frames;
pub mod trial_positions;
pub mod variation_advance;
pub mod variation_equations;
pub mod variation_sums;
mod warp_sums;
pub mod wave_limit;
mod wave_storage;
pub mod widen_waves;
pub mod window_product;
pub mod window_residual;
mod window_walk;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod registry;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
