//! Arrow and Parquet files as sources of points.

use super::arrow::Arrow;
use super::input::Content;
use super::parquet::Parquet;
use super::source::{Shared, Source};
use super::{IoError, ReadOptions, format_error};

/// Opens an Arrow or Parquet file. One without a column of series is the series `name`.
///
/// # Errors
/// The file is damaged or has no columns of series; text, which has another reader.
pub(super) fn open(
    file: String,
    name: &str,
    content: Content,
    options: &ReadOptions,
    shared: &mut Shared,
) -> Result<Box<dyn Source + Send>, IoError> {
    for (option, given) in [
        ("--date-column", options.date_column.is_some()),
        ("--decimal-comma", options.decimal_comma),
    ] {
        if given {
            return Err(IoError::Option {
                file,
                option,
                reason: "expected a text file, whose columns have no types, found Parquet or Arrow"
                    .to_owned(),
            });
        }
    }
    Ok(match content {
        Content::Arrow(stream) => Box::new(Arrow::stream(file, name, stream, options, shared)?),
        Content::ArrowFile(opened, length) => {
            Box::new(Arrow::file(file, name, (opened, length), options, shared)?)
        }
        Content::Parquet(opened, length) => Box::new(Parquet::open(
            file,
            name,
            (opened, length),
            options,
            shared,
        )?),
        Content::Text(_) => return Err(format_error(&file, "text")),
    })
}
