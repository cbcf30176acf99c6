//! Files of MRI: raw data (ISMRMRD) and images.

pub mod images;
pub mod ismrmrd;
