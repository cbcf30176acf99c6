//! Why the structure of a file cannot be read.

/// The reason why the structure of a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// The operating system refuses to open or read the file.
    #[error("{0}")]
    Read(String),
    /// The structure is broken.
    #[error("{0} is damaged")]
    Damaged(&'static str),
    /// The file uses a part of the specification that this reader does not know.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// More of the file would have to be read than is sensible.
    #[error("its structure is too large or damaged")]
    TooLarge,
}
