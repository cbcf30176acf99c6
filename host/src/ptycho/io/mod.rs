//! Files of ptychography: scans, results and checkpoints.

pub mod checkpoint;
#[cfg(feature = "hdf5")]
pub mod results;
#[cfg(feature = "hdf5")]
pub mod scan;

#[cfg(all(test, feature = "hdf5"))]
mod malformed_files;
