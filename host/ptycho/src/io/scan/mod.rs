//! Scan files: reads CXI, PtyPy's `.ptyd`, DECTRIS masters, MATLAB 7.3, NeXus, EMD, plain HDF5 and
//! files of frames alone; writes CXI.

mod assemble;
mod bad_frames;
mod cutoff;
mod cxi;
mod datasets;
mod dectris;
mod emd;
mod empty_frames;
mod energy;
mod extremes;
mod file_state;
mod format;
mod found_positions;
mod frame_file;
mod frame_stack;
mod geometry;
mod lone_frames;
mod mask_light;
mod matlab;
mod missing;
mod negative;
mod nexus;
mod no_data;
mod numbered_names;
mod pairing;
mod parts;
mod plain;
mod positions;
mod prepare;
mod ptyd;
mod roles;
mod roll;
mod several_files;
mod truth;
mod units;
mod unknown;
mod window;
mod write;

pub use crate::session::read_options::{
    Constants, Datasets, EmptyFrames, Format, MaskPolarity, NegativeCounts, NoData, NoDataSetting,
    Paths, PositionUnit, ReadOptions, Units,
};
pub use bad_frames::used_faults;
pub(super) use matlab::is_matlab;
pub use missing::{MissingParts, missing_parts};
pub use parts::ScanFile;
pub use unknown::{UnknownDataset, UnknownLayout, unknown_layout};
pub use write::{write, write_with};

use format::read_once;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::IoError;

/// Reads the scan in `path`, which must fit into the available memory.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read(path: &Path, options: &ReadOptions) -> Result<ScanFile, IoError> {
    read_within(path, options, Memory::available())
}

/// Like [`read`], with a given limit of memory.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read_within(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<ScanFile, IoError> {
    read_with_scratch(path, options, memory, None)
}

/// Like [`read_within`]. With a folder `scratch`, the counts of a scan that could not be
/// reconstructed within the limit are copied to a temporary file there: 2 bytes a pixel, or 4 if
/// they are no small whole numbers.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read_with_scratch(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let read = read_once(path, options, memory, scratch);
    read.map_err(|error| missing::all_missing(path, options, memory, error))
}

#[cfg(test)]
mod cxi_tests;
#[cfg(test)]
mod inspection_tests;
#[cfg(test)]
mod layout_tests;
#[cfg(test)]
mod nexus_tests;
#[cfg(test)]
mod option_effect_tests;
#[cfg(test)]
pub(crate) mod tests;
