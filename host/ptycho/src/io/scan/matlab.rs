//! Reader of MATLAB 7.3 files: HDF5 behind a user block, with the axes of every array in reverse.
//!
//! The arrays are recognised by the names that laboratories use (`roles.rs`). MATLAB shows the
//! first axis of an array where HDF5 has the last: `dp(row, column, frame)` is stored as (frame,
//! column, row).

use super::datasets::{Layout, read_datasets};
use super::parts::ScanFile;
use super::roles::{FramesRole, Roles};
use super::several_files::ScanFiles;
use super::{MaskPolarity, Paths, ReadOptions};
use std::path::Path;
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// How the user block of a file begins.
const USER_BLOCK: &[u8] = b"MATLAB 7.3 MAT-file";
/// Attribute with the class of an array in MATLAB.
const CLASS: &str = "MATLAB_class";
/// Most arrays at the root whose attributes are looked at.
const MOST_LOOKED_AT: usize = 64;

/// Whether MATLAB wrote the file: its user block or an attribute of an array says so.
pub(in crate::io) fn is_matlab(source: &Source) -> bool {
    if source.begins_with(USER_BLOCK) {
        return true;
    }
    let names = source.groups().unwrap_or_default();
    names.iter().take(MOST_LOOKED_AT).any(|name| {
        let class = source.attribute(&format!("/{name}"), CLASS);
        class.is_ok_and(|class| class.is_some())
    })
}

/// The roles of the arrays.
pub(super) fn roles(source: &Source) -> Roles {
    let mut listed = source.listing();
    // Cells and what MATLAB keeps for itself.
    listed.retain(|of| !of.path.starts_with("/#"));
    Roles::guess(&listed, true)
}

/// Reads the arrays whose roles their names tell.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let roles = roles(source);
    let Some((paths, axes)) = roles.paths(options.has_other_positions()) else {
        let what = if roles.frames.is_none() {
            "an array of frames"
        } else {
            "positions of the frames"
        };
        return Err(IoError::Format {
            file: source.name().to_owned(),
            expected: "a MATLAB file whose arrays are called dp, positions, lambda, z and det_pixel or similarly, or data.paths and data.frame_axes in a recipe that name them (ptycho info lists the arrays)",
            found: format!("none that is {what} among {}", source.contents()),
        });
    };
    let mut notes = Vec::new();
    let axes = match (options.frame_axes, &roles.frames) {
        (Some(given), _) => {
            notes.push(described(&paths, given));
            given
        }
        (None, frames) => {
            notes.push(described(&paths, axes));
            notes.extend(frames.iter().flat_map(ambiguities));
            axes
        }
    };
    if paths.mask_marks != MaskPolarity::default() {
        notes.push(format!(
            "{} marks valid pixels, according to its name",
            paths.mask.as_deref().unwrap_or_default()
        ));
    }
    read_datasets(
        source,
        &Layout {
            paths: &paths,
            axes,
        },
        options,
        scratch,
        notes,
    )
}

/// Axes as MATLAB shows them: (row, column, frame).
fn shown(axes: [usize; 3]) -> String {
    let names = ["frame", "row", "column"];
    let mut shown = ["", "", ""];
    for (name, axis) in names.into_iter().zip(axes) {
        if let Some(place) = shown.get_mut(2_usize.saturating_sub(axis)) {
            *place = name;
        }
    }
    format!("({})", shown.join(", "))
}

/// What the shape of the frames does not tell, and what is assumed.
fn ambiguities(frames: &FramesRole) -> Vec<String> {
    let FramesRole {
        path, axes, shape, ..
    } = frames;
    let [count, rows, columns] = *shape;
    let mut notes = Vec::new();
    let mut note = |why: String, other: [usize; 3]| {
        notes.push(format!(
            "the shape of {path} does not tell its axes, {why}: {} is assumed, and data.frame_axes = {other:?} reads {}",
            shown(*axes),
            shown(other)
        ));
    };
    if frames.either_end {
        // The last of MATLAB's axes is assumed, so that its first one has the rows.
        let why = match rows == count {
            true => format!("as there are as many frames as rows ({count})"),
            false => "as no array has a position for each element of one".to_owned(),
        };
        note(why, [2, 1, 0]);
    }
    if rows == columns {
        let [frame, row, column] = *axes;
        let why = format!("as frames of {rows} x {columns} pixels are square");
        note(why, [frame, column, row]);
    }
    notes
}

/// What was recognised, in one note.
fn described(paths: &Paths, axes: [usize; 3]) -> String {
    let order = if paths.position_order == [1, 0] {
        " as (x, y)"
    } else {
        ""
    };
    let positions = if paths.positions.is_empty() {
        String::new()
    } else {
        format!(
            ", {} the positions{order}",
            paths.positions.paths().join(" and ")
        )
    };
    let probe =
        (paths.probe.as_ref()).map_or_else(String::new, |path| format!(", {path} the start probe"));
    format!(
        "MATLAB file: {} has the frames as {}{positions}{probe} (data.frame_axes, data.paths and data.swap_axes say otherwise)",
        paths.frames,
        shown(axes),
    )
}
