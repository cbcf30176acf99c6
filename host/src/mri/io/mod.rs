//! Files of MRI: raw data (ISMRMRD, BART) and images.

pub mod bart;
pub mod images;
pub mod ismrmrd;
mod not_finite;
