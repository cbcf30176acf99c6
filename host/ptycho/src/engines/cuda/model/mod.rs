//! Parts of the forward model.

pub(super) mod detector;
pub(super) mod exposure_points;
pub(super) mod multislice;
pub(super) mod object_modes;
pub(super) mod propagation;
pub(super) mod variable_probe;
pub(super) mod window_product;
