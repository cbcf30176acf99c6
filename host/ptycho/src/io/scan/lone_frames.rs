//! Reader of HDF5 files without a known layout that have one stack of frames, for positions that
//! are elsewhere.

use super::datasets::{Layout, read_datasets};
use super::parts::ScanFile;
use super::several_files::ScanFiles;
use super::{Format, MaskPolarity, Paths, ReadOptions};
use crate::session::read_options::Datasets;
use std::path::Path;
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// The dataset of frames of a file whose layout is not known, if the options have positions: that
/// which they name, or the only one of rank 3 or 4.
pub(super) fn path(source: &Source, options: &ReadOptions) -> Option<String> {
    if !options.has_other_positions() || options.format != Format::Auto {
        return None;
    }
    let listed = source.listing();
    let is_chosen = |path: &str| options.dataset.as_deref() == Some(path);
    if options.dataset.is_some() {
        let chosen = listed.into_iter().find(|of| is_chosen(&of.path));
        return chosen.map(|of| of.path);
    }
    let mut stacks = listed.iter().filter(|of| matches!(of.shape.len(), 3 | 4));
    let only = stacks.next()?;
    stacks.next().is_none().then(|| only.path.clone())
}

/// Reads the frames `path`; the geometry is that of the options.
pub(super) fn read(
    source: &ScanFiles,
    path: String,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let note = format!(
        "the layout of the file is not known: {path} is read as frames{}, and nothing else (data.paths names datasets)",
        match options.dataset {
            Some(_) => "",
            None => ", as it is the only dataset of rank 3 or 4",
        }
    );
    let paths = Paths {
        frames: path,
        positions: Datasets::default(),
        position_order: [0, 1],
        position_unit: None,
        mask: None,
        mask_marks: MaskPolarity::default(),
        probe: None,
        wavelength: None,
        energy: None,
        distance: None,
        pixel_size: None,
    };
    let layout = Layout {
        paths: &paths,
        axes: [0, 1, 2],
    };
    read_datasets(source, &layout, options, scratch, vec![note])
}
