//! Mirrors `columnar.rs` in a build without the feature `parquet`: Arrow and Parquet files are
//! refused.

use super::input::Content;
use super::source::{Shared, Source};
use super::{IoError, ReadOptions, format_error};

/// Refuses the file.
///
/// # Errors
/// Always.
pub(super) fn open(
    file: String,
    _name: &str,
    content: Content,
    _options: &ReadOptions,
    _shared: &mut Shared,
) -> Result<Box<dyn Source + Send>, IoError> {
    let found = match content {
        Content::Text(_) => "text",
        _ => "Arrow or Parquet, which this program was built without (cargo feature parquet)",
    };
    Err(format_error(&file, found))
}
