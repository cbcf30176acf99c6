//! What can be wrong with a file, one sentence each.

use super::memory::Bytes;
use crate::data::{KSpaceError, ScanError};

/// Why a file was not read or not written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum IoError {
    /// The system refuses to open or read the file.
    #[error("{file}: cannot be read: {reason}")]
    Open {
        /// The file, as given.
        file: String,
        /// The system's words.
        reason: String,
    },
    /// Another kind of file.
    #[error("{file}: is not {expected}: {found}")]
    Format {
        /// The file, as given.
        file: String,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// The file ends too early.
    #[error(
        "{file}: is truncated: it says that it holds {expected} bytes, but {found} are there; copy it again"
    )]
    Truncated {
        /// The file, as given.
        file: String,
        /// Bytes that its header announces.
        expected: u64,
        /// Its length.
        found: u64,
    },
    /// The file's structure is broken.
    #[error("{file}: {dataset} cannot be read: {reason}")]
    Damaged {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// What failed.
        reason: String,
    },
    /// A dataset that must be there is not.
    #[error("{file}: has no {what}: expected at {}", tried.join(" or "))]
    Missing {
        /// The file, as given.
        file: String,
        /// What is missed.
        what: String,
        /// Where it was looked for.
        tried: Vec<String>,
    },
    /// A dataset's shape.
    #[error("{file}: {dataset} has shape {}: {expected} is expected", shape(found))]
    Shape {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Found.
        found: Vec<usize>,
        /// Expected, in words.
        expected: String,
    },
    /// A dataset's element type.
    #[error("{file}: {dataset} does not hold {expected}")]
    Type {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Expected, in words.
        expected: &'static str,
    },
    /// A single value that makes no sense.
    #[error("{file}: {dataset} is {found}: {expected} is expected")]
    Value {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Found.
        found: String,
        /// Expected, in words.
        expected: String,
    },
    /// More than fits.
    #[error(
        "{file}: reading {dataset} needs {needed} of memory, but {available} may be used; read fewer frames (`frames`) or a smaller part of each (`crop`)"
    )]
    TooLarge {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// An array by itself that is more than fits.
    #[error(
        "{file}: reading the array needs {needed} of memory, but {available} may be used; a smaller array is expected"
    )]
    ArrayTooLarge {
        /// The file, as given.
        file: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// Acquisitions that are more than fits.
    #[error(
        "{file}: reading {dataset} needs {needed} of memory, but {available} may be used; take fewer acquisitions (--select)"
    )]
    AcquisitionsTooLarge {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// Scattering data that are more than fits.
    #[error(
        "{file}: reading {dataset} needs {needed} of memory, but {available} may be used; a smaller file is expected"
    )]
    ScatteringTooLarge {
        /// The file, as given.
        file: String,
        /// What is read.
        dataset: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// Time series that are more than fits.
    #[error(
        "{file}: reading {what} needs {needed} of memory, but {available} may be used; read fewer or smaller files at a time"
    )]
    SeriesTooLarge {
        /// The file, as given.
        file: String,
        /// What is read.
        what: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
    },
    /// One row of a table of time series.
    #[error("{file}: {place} {number}: {found}; expected {expected}")]
    Row {
        /// The file, as given.
        file: String,
        /// What is counted: `line` of a text, `row` of a table.
        place: &'static str,
        /// Its number, from 1.
        number: u64,
        /// What is wrong with it.
        found: String,
        /// What is expected, in words.
        expected: String,
    },
    /// Something HDF5 allows and this program does not read.
    #[error("{file}: {dataset} {found}, which is not read here; {advice}")]
    Unsupported {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// What it is or has.
        found: String,
        /// What to do.
        advice: &'static str,
    },
    /// The data are readable but make no scan.
    #[error("{file}: {dataset}: {source}")]
    Scan {
        /// The file, as given.
        file: String,
        /// Path of the dataset that is to blame.
        dataset: String,
        /// What is wrong.
        source: ScanError,
    },
    /// The data are readable but are no samples of k-space.
    #[error("{file}: {dataset}: {source}")]
    KSpace {
        /// The file, as given.
        file: String,
        /// Path of the dataset that is to blame.
        dataset: String,
        /// What is wrong.
        source: Box<KSpaceError>,
    },
    /// One acquisition.
    #[error("{file}: {dataset}: acquisition {acquisition} {found}: {expected}")]
    Acquisition {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Number in the file, from 0.
        acquisition: usize,
        /// What it is or has.
        found: String,
        /// What is expected, in words.
        expected: String,
    },
    /// Options that contradict each other or the file.
    #[error("{file}: option `{option}`: {reason}")]
    Option {
        /// The file, as given.
        file: String,
        /// Its name in the recipe.
        option: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The output cannot be written; nothing of it is left.
    #[error("{file}: cannot be written: {reason}")]
    Write {
        /// The file, as given.
        file: String,
        /// The system's words.
        reason: String,
    },
}

/// `3 x 4 x 5`; `a single value` for no dimension.
fn shape(dimensions: &[usize]) -> String {
    if dimensions.is_empty() {
        return "of a single value".to_owned();
    }
    let parts: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
    parts.join(" x ")
}
