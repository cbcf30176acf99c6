//! Files of MRI: raw data (ISMRMRD, BART) and images.

pub mod bart;
mod excluded_coils;
mod faulty_readouts;
pub mod images;
pub mod ismrmrd;
mod left_out;

pub use excluded_coils::ExcludedCoils;
pub use faulty_readouts::leave_out;
