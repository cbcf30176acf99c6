//! Files of MRI: raw data (ISMRMRD, BART) and images.

pub mod bart;
mod excluded_coils;
pub mod images;
pub mod ismrmrd;
mod not_finite;
