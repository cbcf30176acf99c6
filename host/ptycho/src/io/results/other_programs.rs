//! Results of other programs: PtyPy's `.ptyr` files and the products of Ptychodus, in which
//! pty-chi's results are saved.
//!
//! `docs/formats.md` lists what is read, and how their conventions were found.

use crate::data::Reconstruction;
use warpstride_files::IoError;
use warpstride_files::source::Source;

mod ptychodus;
mod ptypy;
mod result;

pub use result::{OtherResult, OtherResultError};

/// Reads the result of another program; `None` if the file is not one.
pub(super) fn read(source: &Source) -> Result<Option<Reconstruction>, IoError> {
    let (windows, found) = if source.has(ptypy::OBJECTS)? {
        (ptypy::POSITIONS.to_owned(), ptypy::read(source)?)
    } else if source.has(ptychodus::POSITIONS[0])? {
        let [rows, columns] = ptychodus::POSITIONS;
        (format!("{rows}, {columns}"), ptychodus::read(source)?)
    } else {
        return Ok(None);
    };
    let converted = found.into_reconstruction();
    converted.map(Some).map_err(|why| {
        let (expected, found) = match why {
            OtherResultError::Outside {
                frame,
                at,
                window,
                object,
            } => (
                format!(
                    "positions of windows of {} x {} pixels inside the object of {} x {}",
                    window[0], window[1], object[0], object[1]
                ),
                format!("one at ({:.2}, {:.2}) for frame {frame}", at[0], at[1]),
            ),
            OtherResultError::Count { windows, positions } => {
                (format!("{windows} positions"), positions.to_string())
            }
        };
        IoError::Value {
            file: source.name().to_owned(),
            dataset: windows,
            found,
            expected,
        }
    })
}

#[cfg(test)]
mod tests;
