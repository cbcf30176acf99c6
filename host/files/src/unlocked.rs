//! HDF5 files without locks.
//!
//! HDF5 locks every file that it opens (`flock`), and keeps the lock as long as any process has the
//! descriptor: also one that was started meanwhile and has inherited it. A file would then be
//! refused (`Resource temporarily unavailable`) that is no longer used, or that another program
//! only has open. Nothing here needs the lock: outputs are written under temporary names that no
//! other process opens, and a file that is still being written is recognised by its superblock.
//!
//! The environment variable `HDF5_USE_FILE_LOCKING` takes precedence, as in every program with
//! HDF5.

use hdf5_metno as hdf5;

/// Options to open or create a file without locking it.
#[cfg(feature = "static")]
pub(crate) fn options() -> hdf5::FileBuilder {
    let mut options = hdf5::File::with_options();
    options.with_fapl(|access| access.file_locking(false));
    options
}

/// Options to open or create a file. An installed library keeps its own default: versions before
/// 1.10.7 always lock.
#[cfg(not(feature = "static"))]
pub(crate) fn options() -> hdf5::FileBuilder {
    hdf5::File::with_options()
}
