//! Files of ptychography: scans, results, start objects and checkpoints.

pub mod checkpoint;
#[cfg(feature = "hdf5")]
pub mod export;
#[cfg(feature = "hdf5")]
mod nexus_attributes;
#[cfg(feature = "hdf5")]
pub mod provenance;
#[cfg(feature = "hdf5")]
pub mod results;
#[cfg(feature = "hdf5")]
pub mod scan;
#[cfg(feature = "hdf5")]
mod slices;
#[cfg(feature = "hdf5")]
pub mod start_object;

#[cfg(all(test, feature = "hdf5"))]
mod full_disk_tests;
#[cfg(all(test, feature = "hdf5"))]
mod malformed_files;
