//! Positions as they have been found, before they are paired with frames.

use ndarray::Array2;
use warpstride_files::{InputFile, IoError, Remedy};

/// Positions as they have been found, before frames are selected.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoundPositions {
    /// What they are called.
    pub(super) name: String,
    /// The file that has them.
    pub(super) file: String,
    /// (position, (row, column)), m.
    pub(super) values: Array2<f64>,
    /// The number of the frame of each position, if the file has such numbers.
    pub(super) numbers: Option<FrameNumbers>,
    /// Columns of texts, which may have the names of the frames' files.
    pub(super) texts: Vec<Texts>,
    /// Metres of a number in the file, if it has them in one unit.
    pub(super) metres: Option<f64>,
    /// The rows and points in a row of a raster.
    pub(super) raster: Option<[usize; 2]>,
}

/// Numbers of frames in a table of positions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FrameNumbers {
    /// The name of the column.
    pub(super) column: String,
    /// Whether the numbers, and not the name of the column, let them appear to be those of frames.
    pub(super) doubtful: bool,
    /// Whether the lines follow a path of a scan through the places that the numbers are, and may
    /// be in the order of the frames.
    pub(super) is_path: bool,
    pub(super) values: Vec<f64>,
    /// The line of each position, from 1.
    pub(super) lines: Vec<u64>,
}

/// A column of texts in a table of positions, which may have the names of the files of the frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Texts {
    /// The name of the column.
    pub(super) column: String,
    /// The text of each position.
    pub(super) values: Vec<String>,
    /// The line of each position, from 1.
    pub(super) lines: Vec<u64>,
}

impl FoundPositions {
    /// The positions of the dataset `name` of a scan file.
    pub(super) fn of_dataset(input: &InputFile, name: String, values: Array2<f64>) -> Self {
        Self {
            name,
            file: input.name().to_owned(),
            values,
            numbers: None,
            texts: Vec::new(),
            metres: None,
            raster: None,
        }
    }

    /// These, whose numbers in the file are in units of so many metres.
    pub(super) fn in_units_of(self, metres: f64) -> Self {
        Self {
            metres: Some(metres),
            ..self
        }
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.values.nrows()
    }

    /// What an error says of their number.
    pub(super) fn described(&self) -> String {
        format!("{}{}", self.len(), self.of_raster())
    }

    /// The raster that they are, in brackets.
    pub(super) fn of_raster(&self) -> String {
        (self.raster).map_or_else(String::new, |[slow, fast]| {
            format!(" (a raster of {slow} x {fast} points)")
        })
    }

    /// The error of numbers that differ.
    pub(super) fn mismatch(
        &self,
        frames: usize,
        remedy: Option<(String, &'static str)>,
    ) -> IoError {
        // What has no option to name is said of what was found.
        let (remedy, why) = match remedy {
            Some((why, "")) => (None, format!("; {why}")),
            remedy => (remedy, String::new()),
        };
        IoError::Pairing {
            file: self.file.clone(),
            dataset: self.name.clone(),
            frames,
            found: self.described() + &why,
            remedy: remedy.map(Remedy::boxed),
        }
    }
}
