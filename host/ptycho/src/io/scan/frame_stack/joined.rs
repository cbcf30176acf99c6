//! Stacks of several files, one after the other, and files that do not stay open.

use super::{FrameStack, Stored};
use crate::io::scan::file_state::FileState;
use crate::io::scan::numbered_names::FramesOfFile;
use std::path::Path;
use warpstride_files::IoError;
use warpstride_formats::FrameFile;

impl FrameStack<'_> {
    /// The frames of a file of another format than HDF5, which does not stay open: a scan may have
    /// thousands of them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in crate::io::scan) fn of_closed_file(path: &Path) -> Result<Self, IoError> {
        let state = FileState::of(path)?;
        let file = warpstride_formats::open(path)?;
        Ok(Self {
            shape: file.shape(),
            scan_shape: file.scan_shape(),
            stored: Stored::Closed(state),
            factors: None,
        })
    }

    /// The file of these frames, open again.
    pub(super) fn reopened(&self, state: &FileState) -> Result<Box<dyn FrameFile>, IoError> {
        let file = warpstride_formats::open(state.path())?;
        // Ranges are checked against the shape that the file had.
        if file.shape() != self.shape {
            return Err(IoError::Changed {
                file: state.name().to_owned(),
            });
        }
        Ok(file)
    }

    /// The frames of several stacks, at least one, one after the other; `first` is what errors call
    /// the first of them. They are a raster if each of them is one with as many points in a row, or
    /// if each says that all are this raster.
    ///
    /// # Errors
    /// Other rows and columns than those of the first, or too many frames.
    pub(in crate::io::scan) fn joined(mut stacks: Vec<Self>, first: &str) -> Result<Self, IoError> {
        if stacks.len() == 1
            && let Some(only) = stacks.pop()
        {
            return Ok(only);
        }
        let mut all = [0_usize; 3];
        for (number, stack) in stacks.iter().enumerate() {
            let [frames, rows, columns] = stack.shape;
            if number > 0 && [rows, columns] != all[1..] {
                let [_, rows, columns] = all;
                let expected = format!("frames of {rows} x {columns} pixels, as in {first}");
                return Err(stack.bad_shape(&expected));
            }
            let frames = all[0].checked_add(frames);
            let frames = frames.ok_or_else(|| stack.bad_shape("fewer frames"))?;
            all = [frames, rows, columns];
        }
        Ok(Self {
            shape: all,
            scan_shape: raster_of(&stacks, all[0]),
            stored: Stored::Several(stacks),
            factors: None,
        })
    }

    /// Checks that nothing has been written to the files that do not stay open since they were
    /// opened first.
    ///
    /// # Errors
    /// A file has changed.
    pub(in crate::io::scan) fn unchanged(&self) -> Result<(), IoError> {
        match &self.stored {
            Stored::Closed(state) => state.unchanged(),
            Stored::Several(stacks) => stacks.iter().try_for_each(Self::unchanged),
            Stored::Datasets(_) | Stored::File { .. } => Ok(()),
        }
    }

    /// Numbers of frames of the stacks that were joined to this one.
    pub(in crate::io::scan) fn counts_of_parts(&self) -> Vec<usize> {
        match &self.stored {
            Stored::Several(stacks) => stacks.iter().map(|stack| stack.shape[0]).collect(),
            _ => vec![self.shape[0]],
        }
    }

    /// The files that have these frames, and how many each has.
    pub(in crate::io::scan) fn files(&self) -> Vec<FramesOfFile> {
        match &self.stored {
            Stored::Several(stacks) => stacks.iter().flat_map(Self::files).collect(),
            _ => vec![FramesOfFile {
                name: self.file().to_owned(),
                frames: self.shape[0],
            }],
        }
    }

    /// The error for the shape of this stack.
    fn bad_shape(&self, expected: &str) -> IoError {
        let of_file = |file: &str| IoError::Shape {
            file: file.to_owned(),
            dataset: self.path().to_owned(),
            found: self.shape.to_vec(),
            expected: expected.to_owned(),
        };
        match &self.stored {
            Stored::Datasets(all) => match all.first() {
                Some(numbers) => numbers.bad_shape(expected),
                None => of_file(""),
            },
            Stored::File { name, .. } => of_file(name),
            Stored::Closed(state) => of_file(state.name()),
            Stored::Several(stacks) => match stacks.first() {
                Some(stack) => stack.bad_shape(expected),
                None => of_file(""),
            },
        }
    }
}

/// The raster (slow, fast) that stacks with so many frames are together.
fn raster_of(stacks: &[FrameStack<'_>], frames: usize) -> Option<[usize; 2]> {
    let [_, fast] = stacks.first()?.scan_shape?;
    let whole = |stack: &FrameStack<'_>, frames: usize| {
        (stack.scan_shape)
            .is_some_and(|[slow, of]| of == fast && slow.checked_mul(of) == Some(frames))
    };
    if stacks.iter().all(|stack| whole(stack, frames)) {
        return Some([frames / fast, fast]);
    }
    let each = stacks.iter().all(|stack| whole(stack, stack.shape[0]));
    each.then_some([frames / fast, fast])
}
