//! Errors of reading and writing files, each displayed as one sentence.

use warpstride_core::system::{Bytes, ScratchError, WriteError};

/// The reason why a file cannot be read or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum IoError {
    /// The operating system refuses to open or read the file.
    #[error("{file}: cannot be read: {reason}")]
    Open {
        /// The file, as given.
        file: String,
        /// The operating system's message.
        reason: String,
    },
    /// The file has another format.
    #[error("{file}: expected {expected}, found {found}")]
    Format {
        /// The file, as given.
        file: String,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// A file of frames cannot be read.
    #[cfg(feature = "hdf5")]
    #[error(transparent)]
    FrameFile(#[from] warpstride_formats::FileError),
    /// The file is shorter than its header announces.
    #[error(
        "{file}: expected {expected} bytes, as its header says, found {found} (truncated); copy it again"
    )]
    Truncated {
        /// The file, as given.
        file: String,
        /// Length that its header announces, bytes.
        expected: u64,
        /// Length of the file, bytes.
        found: u64,
    },
    /// The file's structure is broken.
    #[error("{file}: {dataset}: cannot be read: {reason}")]
    Damaged {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// What failed.
        reason: String,
    },
    /// A required dataset is missing.
    #[error("{file}: expected {what} at {}, found none", tried.join(" or "))]
    Missing {
        /// The file, as given.
        file: String,
        /// What is missing.
        what: String,
        /// The paths that were tried.
        tried: Vec<String>,
    },
    /// A scan lacks several things beside its frames.
    #[error("{file}: expected {missing}, found none of them")]
    Incomplete {
        /// The file, as given.
        file: String,
        /// What is missing, with the options that give it.
        missing: String,
        /// Options with plausible values of all of it.
        arguments: Vec<(&'static str, String)>,
    },
    /// A scan has something wrong, and lacks something beside it.
    #[error("{error}; missing as well: {missing}")]
    WrongAndIncomplete {
        /// What is wrong.
        error: Box<IoError>,
        /// What is missing, with the options that give it.
        missing: String,
    },
    /// A dataset has the wrong shape.
    #[error("{file}: {dataset}: expected {expected}, found {}", shape(found))]
    Shape {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// The shape found.
        found: Vec<usize>,
        /// Description of the expected shape.
        expected: String,
    },
    /// A dataset has the wrong element type.
    #[error("{file}: {dataset}: expected {expected}, found another element type")]
    Type {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Description of the expected element type.
        expected: &'static str,
    },
    /// A single value is invalid.
    #[error("{file}: {dataset}: expected {expected}, found {found}")]
    Value {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// The value found.
        found: String,
        /// Description of the expected value.
        expected: String,
    },
    /// A dataset of a scan does not fit into memory.
    #[error(
        "{file}: reading {dataset} needs {needed} of memory, but {available} is available; read fewer frames (`frames`) or a smaller part of each (`crop`)"
    )]
    TooLarge {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes available.
        available: Bytes,
    },
    /// An array file does not fit into memory.
    #[error(
        "{file}: reading the array needs {needed} of memory, but {available} is available; use a smaller array"
    )]
    ArrayTooLarge {
        /// The file, as given.
        file: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes available.
        available: Bytes,
    },
    /// The acquisitions do not fit into memory.
    #[error(
        "{file}: reading {dataset} needs {needed} of memory, but {available} is available; read fewer acquisitions (--select)"
    )]
    AcquisitionsTooLarge {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes available.
        available: Bytes,
    },
    /// The scattering data do not fit into memory.
    #[error(
        "{file}: reading {dataset} needs {needed} of memory, but {available} is available; use a smaller file"
    )]
    ScatteringTooLarge {
        /// The file, as given.
        file: String,
        /// What is read.
        dataset: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes available.
        available: Bytes,
    },
    /// The time series do not fit into memory.
    #[error(
        "{file}: reading {what} needs {} of memory, but {} is available; read fewer or smaller files at a time",
        needed.beside(*available),
        available.beside(*needed)
    )]
    SeriesTooLarge {
        /// The file, as given.
        file: String,
        /// What is read.
        what: String,
        /// Bytes needed.
        needed: Bytes,
        /// Bytes available.
        available: Bytes,
    },
    /// One row of a table of time series is invalid.
    #[error("{file}: {unit} {number}: expected {expected}, found {found}")]
    Row {
        /// The file, as given.
        file: String,
        /// What `number` counts: `line` of a text, `row` of a table.
        unit: &'static str,
        /// Number of the line or row, from 1.
        number: u64,
        /// What was found.
        found: String,
        /// Description of what was expected.
        expected: String,
    },
    /// A feature that HDF5 allows and this program does not support.
    #[error("{file}: {dataset}: expected {expected}, found {found}; {advice}")]
    Unsupported {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// What is supported.
        expected: &'static str,
        /// The unsupported feature: `a virtual dataset`.
        found: String,
        /// What the user can do about it.
        advice: &'static str,
    },
    /// The data are readable but not valid.
    #[error("{file}: {dataset}: {reason}")]
    Invalid {
        /// The file, as given.
        file: String,
        /// Path of the invalid dataset.
        dataset: String,
        /// What is wrong: what was expected and found.
        reason: String,
    },
    /// A scan has not one position for each frame.
    #[error(
        "{file}: {dataset}: expected one position for {}, found {found}{}",
        if *frames == 1 { "the only frame".to_owned() } else { format!("each of {frames} frames") },
        remedy.as_ref().map_or_else(String::new, |remedy| format!("; {}", remedy.how))
    )]
    Pairing {
        /// The file, as given.
        file: String,
        /// Path of the positions.
        dataset: String,
        /// Number of frames.
        frames: usize,
        /// The positions found.
        found: String,
        /// What can be done.
        remedy: Option<Box<Remedy>>,
    },
    /// Files with frames of a series are missing.
    #[error(
        "{file}: {dataset}: expected all files of the series, but {found}{}",
        remedy.as_ref().map_or_else(String::new, |remedy| format!("; {}", remedy.how))
    )]
    MissingFiles {
        /// The file that leads to them, as given.
        file: String,
        /// Path of the links.
        dataset: String,
        /// The files that are missing, and how many frames exist.
        found: String,
        /// What can be done.
        remedy: Option<Box<Remedy>>,
    },
    /// One acquisition is invalid.
    #[error("{file}: {dataset}: acquisition {acquisition}: expected {expected}, found {found}")]
    Acquisition {
        /// The file, as given.
        file: String,
        /// Path of the dataset.
        dataset: String,
        /// Number of the acquisition in the file, from 0.
        acquisition: usize,
        /// What was found.
        found: String,
        /// Description of what was expected.
        expected: String,
    },
    /// An option contradicts another one or the file.
    #[error("{file}: {option}: {reason}")]
    Option {
        /// The file, as given.
        file: String,
        /// The option on the command line, or its path in the recipe: `--select`, `data.frames`.
        option: &'static str,
        /// What was expected and found.
        reason: String,
    },
    /// The operating system refuses to write the file.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A temporary file of counts cannot be written or read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The file is not as it was when it was opened.
    #[error(
        "{file}: expected {expected} bytes, as when it was opened, found {found}: it was changed while it was read"
    )]
    Resized {
        /// The file, as given.
        file: String,
        /// Length when it was opened, bytes.
        expected: u64,
        /// Length now, bytes.
        found: u64,
    },
    /// The file was written to while it was read.
    #[error("{file}: it was changed while it was read; read it again when nothing writes to it")]
    Changed {
        /// The file, as given.
        file: String,
    },
}

/// What can be done about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// A sentence.
    pub how: String,
    /// The arguments that do it, beside those that were given.
    pub arguments: &'static str,
}

#[cfg(feature = "hdf5")]
impl Remedy {
    /// A remedy of an error.
    pub fn boxed((how, arguments): (String, &'static str)) -> Box<Self> {
        Box::new(Self { how, arguments })
    }
}

impl IoError {
    /// The file, as given; none of a temporary file.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Open { file, .. }
            | Self::Format { file, .. }
            | Self::Truncated { file, .. }
            | Self::Damaged { file, .. }
            | Self::Missing { file, .. }
            | Self::Incomplete { file, .. }
            | Self::Shape { file, .. }
            | Self::Type { file, .. }
            | Self::Value { file, .. }
            | Self::TooLarge { file, .. }
            | Self::ArrayTooLarge { file, .. }
            | Self::AcquisitionsTooLarge { file, .. }
            | Self::ScatteringTooLarge { file, .. }
            | Self::SeriesTooLarge { file, .. }
            | Self::Row { file, .. }
            | Self::Unsupported { file, .. }
            | Self::Invalid { file, .. }
            | Self::Pairing { file, .. }
            | Self::MissingFiles { file, .. }
            | Self::Acquisition { file, .. }
            | Self::Option { file, .. }
            | Self::Resized { file, .. }
            | Self::Changed { file } => Some(file),
            Self::WrongAndIncomplete { error, .. } => error.file(),
            #[cfg(feature = "hdf5")]
            Self::FrameFile(error) => Some(error.file()),
            Self::Write(error) => Some(&error.file),
            Self::Scratch(_) => None,
        }
    }
}

/// `shape 3 x 4 x 5`, or `a single value` for a scalar.
fn shape(dimensions: &[usize]) -> String {
    if dimensions.is_empty() {
        return "a single value".to_owned();
    }
    let parts: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
    format!("shape {}", parts.join(" x "))
}
