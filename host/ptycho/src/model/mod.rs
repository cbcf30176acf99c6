//! The forward model: what a scan, its specimen and its illumination make of the detector's frames.
//!
//! [`problem`] is a scan prepared for iteration. Free space is in [`near_field`], thick specimens
//! in [`multislice`], exposures that move in [`fly`], incoherent states in [`object_modes`], probes
//! that change in [`variable_probe`], and what the detector adds in [`detector`]. [`magnitudes`]
//! are what the model is compared with; [`normalisation`] and [`intensity_ramp`] fix what
//! intensities leave open. [`predict`] computes the frames of a result.

pub(crate) mod count_codes;
pub(crate) mod detector;
pub(crate) mod fluence;
pub(crate) mod fly;
pub(crate) mod intensity_ramp;
pub(crate) mod interpolation;
pub(crate) mod magnitudes;
pub(crate) mod multislice;
pub(crate) mod near_field;
pub(crate) mod normalisation;
pub(crate) mod object_layout;
pub(crate) mod object_modes;
pub(crate) mod predict;
pub(crate) mod probe_grid;
pub(crate) mod problem;
pub(crate) mod problem_error;
pub(crate) mod quadratic_phase;
pub(crate) mod roll;
pub(crate) mod variable_probe;
