//! The format of a file, and its reader.

use super::parts::ScanFile;
use super::several_files::{ScanFiles, open_source};
use super::{
    Format, ReadOptions, cxi, dectris, emd, frame_file, lone_frames, matlab, nexus, plain, ptyd,
};
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// Refuses axes of the frames for a file whose layout states them.
fn no_frame_axes(file: &str, options: &ReadOptions) -> Result<(), IoError> {
    match options.frame_axes {
        None => Ok(()),
        Some(_) => Err(IoError::Option {
            file: file.to_owned(),
            option: "data.frame_axes",
            reason: "expected a MATLAB file, or data.paths beside it, found a file whose layout states the axes".to_owned(),
        }),
    }
}

/// Like [`super::read_with_scratch`]; an error names the first thing that is missing.
pub(super) fn read_once(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    if is_frame_file(path, options) {
        no_frame_axes(&path.display().to_string(), options)?;
        return frame_file::read(path, options, memory, scratch);
    }
    let source = open_source(path, options, memory)?;
    let source = ScanFiles::open(source, path, options, memory)?;
    let Some(format) = format_of(&source, options) else {
        if let Some(frames) = lone_frames::path(&source, options) {
            let read = lone_frames::read(&source, frames, options, scratch);
            return whole(&source, read);
        }
        return Err(IoError::Format {
            file: source.name().to_owned(),
            expected: "a known layout of a scan, or a recipe whose table data.paths names the datasets (`warpstride ptycho info` prints one for this file)",
            found: format!("HDF5 with {}", source.contents()),
        });
    };
    if !matches!(format, Format::Hdf5 | Format::Matlab) {
        no_frame_axes(source.name(), options)?;
    }
    if options.dataset.is_some() && format != Format::Nexus {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.dataset",
            reason: "expected an .npz file, a NeXus file or one without a known layout, found one whose format says where the frames are".to_owned(),
        });
    }
    if options.paths.is_some() && format != Format::Hdf5 {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.format",
            reason: "expected \"hdf5\", as data.paths names the datasets, found another format"
                .to_owned(),
        });
    }
    let read = match format {
        Format::Ptyd => ptyd::read(&source, options, scratch),
        Format::Hdf5 => plain::read(&source, options, scratch),
        Format::Matlab => matlab::read(&source, options, scratch),
        Format::Nexus => nexus::read(&source, options, scratch),
        Format::Emd => emd::read(&source, options, scratch),
        Format::Dectris => dectris::read(&source, options, scratch),
        Format::Cxi | Format::Frames | Format::Auto => cxi::read(&source, options, scratch),
    };
    whole(&source, read)
}

/// What was read, unless the files have changed meanwhile; notes those that are still open for
/// writing.
fn whole(source: &ScanFiles, read: Result<ScanFile, IoError>) -> Result<ScanFile, IoError> {
    // What was read of a file that has changed means nothing, and neither do its errors.
    source.unchanged()?;
    let mut read = read?;
    read.notes.extend(source.unclosed());
    Ok(read)
}

/// Whether `path` is read as a file of frames alone.
pub(super) fn is_frame_file(path: &Path, options: &ReadOptions) -> bool {
    let alone = options.format == Format::Auto && options.paths.is_none();
    options.format == Format::Frames || (alone && frame_file::is_one(path))
}

/// The layout of a file, as the options say or as its contents show; `None` if they show none.
pub(super) fn format_of(source: &Source, options: &ReadOptions) -> Option<Format> {
    // If the file is damaged, reading it as CXI reports the error.
    let has_entry = || source.has("/entry_1").unwrap_or(true);
    match options.format {
        Format::Auto if options.paths.is_some() => Some(Format::Hdf5),
        Format::Auto if dectris::is_one(source) => Some(Format::Dectris),
        Format::Auto if nexus::is_nexus(source) => Some(Format::Nexus),
        Format::Auto if has_entry() => Some(Format::Cxi),
        Format::Auto if source.has("/chunks").unwrap_or(false) => Some(Format::Ptyd),
        Format::Auto if matlab::is_matlab(source) => Some(Format::Matlab),
        Format::Auto if emd::datacube(source).is_some() => Some(Format::Emd),
        Format::Auto => None,
        given => Some(given),
    }
}
