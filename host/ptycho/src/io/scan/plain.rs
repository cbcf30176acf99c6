//! Reader of HDF5 files without a fixed layout: the paths of the datasets are given in the options.

use super::ReadOptions;
use super::datasets::{Layout, read_datasets};
use super::matlab::is_matlab;
use super::parts::ScanFile;
use super::several_files::ScanFiles;
use std::path::Path;
use warpstride_files::IoError;

/// Reads the datasets that `options.paths` names.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let Some(paths) = &options.paths else {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.format",
            reason: "expected the table data.paths with at least frames and positions beside \"hdf5\", found \"hdf5\" alone"
                .to_owned(),
        });
    };
    let axes = match options.frame_axes {
        Some(axes) => axes,
        None if is_matlab(source) => {
            return Err(IoError::Option {
                file: source.name().to_owned(),
                option: "data.frame_axes",
                reason: "expected the axes of frame, row and column beside data.paths, as MATLAB stores the first axis last: [0, 2, 1] for an array (row, column, frame), [2, 1, 0] for (frame, row, column), and [0, 1, 2] if rows and columns were exchanged; found none".to_owned(),
            });
        }
        None => [0, 1, 2],
    };
    read_datasets(
        source,
        &Layout { paths, axes },
        options,
        scratch,
        Vec::new(),
    )
}
