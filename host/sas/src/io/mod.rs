//! Files of small-angle scattering: columns of text, canSAS 1-D XML, NXcanSAS HDF5.
//!
//! The contents of a file, not its name, determine its format. Results are in 1/Å and 1/cm if the
//! file gives its units. Notes list everything that was omitted, converted or assumed.

mod cansas;
mod check;
mod column_order;
mod decimal_comma;
mod header;
mod messages;
mod names;
#[cfg(feature = "hdf5")]
mod nxcansas;
#[cfg(not(feature = "hdf5"))]
#[path = "nxcansas_off.rs"]
mod nxcansas;
mod options;
mod rows;
mod text;
mod units;
mod write;
#[cfg(feature = "hdf5")]
mod write_hdf5;

pub(crate) use header::UNIT_NOTES;
pub use options::{Kind, ReadOptions};
pub use units::QUnit;
pub use write::{Computed, write_csv};
#[cfg(feature = "hdf5")]
pub use write_hdf5::write_hdf5;

use crate::data::{Curve, Scattering, ScatteringImage};
use messages::{MAX_NOTES, allow, name_of, not_scattering, shorten};
use options::select;
use std::io::Read;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::IoError;

/// Maximum size of a text file, bytes.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Maximum size of an XML file, bytes, which takes several times as much memory.
const MAX_XML_BYTES: usize = 32 << 20;

/// Bytes at the start of a longer text in which its rows must begin.
const START_BYTES: u64 = 1 << 20;

/// Formats that are not read: how they begin, and what to do about them.
const OTHER_FORMATS: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "gzip compression; decompress the file"),
    (b"\x28\xb5\x2f\xfd", "zstd compression; decompress the file"),
    (b"BZh", "bzip2 compression; decompress the file"),
    (
        b"PK\x03\x04",
        "a ZIP archive, or a spreadsheet (.xlsx, .ods); unpack it, or save the sheet as text",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "an old spreadsheet (.xls); save the sheet as text",
    ),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
];

/// Reads `path`, which must fit into the available memory.
///
/// # Errors
/// [`IoError`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scattering, IoError> {
    read_within(path, options, Memory::available())
}

/// Reads `path`, which must hold a curve.
///
/// # Errors
/// [`IoError`].
pub fn read_curve(path: &Path, options: &ReadOptions) -> Result<Curve, IoError> {
    let options = ReadOptions {
        kind: Some(Kind::Curve),
        ..options.clone()
    };
    match read(path, &options)? {
        Scattering::Curve(curve) => Ok(curve),
        Scattering::Image(_) => Err(wrong_kind(&path.display().to_string(), Kind::Curve)),
    }
}

/// Reads `path`, which must hold an image.
///
/// # Errors
/// [`IoError`].
pub fn read_image(path: &Path, options: &ReadOptions) -> Result<ScatteringImage, IoError> {
    let options = ReadOptions {
        kind: Some(Kind::Image),
        ..options.clone()
    };
    match read(path, &options)? {
        Scattering::Image(image) => Ok(image),
        Scattering::Curve(_) => Err(wrong_kind(&path.display().to_string(), Kind::Image)),
    }
}

/// Like [`read`], with a given memory limit.
///
/// # Errors
/// [`IoError`].
pub fn read_within(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Scattering, IoError> {
    let file = path.display().to_string();
    let length = regular(path, &file)?;
    let start = first_bytes(path, &file)?;
    let other = OTHER_FORMATS
        .iter()
        .find(|(signature, _)| start.starts_with(signature));
    if let Some((_, what)) = other {
        return Err(not_scattering(&file, *what));
    }
    let read = if start.starts_with(b"\x89HDF\r\n\x1a\n") {
        nxcansas::read(path, options, memory)?
    } else {
        if length > START_BYTES {
            check_start(path, &file, length, memory)?;
        }
        let text = whole_text(path, &file, length, memory)?;
        let trimmed = text.trim_start();
        if trimmed.starts_with('<') && is_markup(trimmed) {
            cansas::read(&file, trimmed, options, memory)?
        } else {
            text::read(&file, &text, options, memory)?
        }
    };
    match (&read, options.kind) {
        (Scattering::Curve(_), Some(Kind::Image)) => Err(wrong_kind(&file, Kind::Image)),
        (Scattering::Image(_), Some(Kind::Curve)) => Err(wrong_kind(&file, Kind::Curve)),
        _ => Ok(read),
    }
}

/// Refuses a long text from its first part, before all of it is read: XML that is too long, and
/// text without rows of numbers.
fn check_start(path: &Path, file: &str, length: u64, memory: Memory) -> Result<(), IoError> {
    let start = whole_text(path, file, length.min(START_BYTES), memory)?;
    let trimmed = start.trim_start();
    if trimmed.starts_with('<') && is_markup(trimmed) {
        return match length > MAX_XML_BYTES as u64 {
            true => Err(not_scattering(
                file,
                format!("{length} bytes of XML (at most {MAX_XML_BYTES} are read)"),
            )),
            false => Ok(()),
        };
    }
    text::check_start(file, &start)
}

/// Whether the text is XML. A line like `<X>  <Y>` can be a header of columns, so markup must start
/// with `<?xml` or `<!`, or contain `SASroot`.
fn is_markup(text: &str) -> bool {
    let start: String = text.chars().take(4096).collect();
    start.starts_with("<?xml") || start.starts_with("<!") || start.contains("SASroot")
}

fn wrong_kind(file: &str, expected: Kind) -> IoError {
    let (expected, found) = match expected {
        Kind::Curve => ("a curve I(q)", "it holds an image I(qx, qy)"),
        Kind::Image => ("an image I(qx, qy)", "it holds a curve I(q)"),
    };
    IoError::Format {
        file: file.to_owned(),
        expected,
        found: found.to_owned(),
    }
}

/// Length of `path`, which must be a regular, non-empty file. Checked before opening, because
/// opening a pipe would block.
fn regular(path: &Path, file: &str) -> Result<u64, IoError> {
    let kind = std::fs::metadata(path).map_err(|e| unreadable(file, &e))?;
    if kind.is_dir() {
        return Err(not_scattering(file, "a folder"));
    }
    if !kind.is_file() {
        return Err(not_scattering(file, "a device, pipe or socket"));
    }
    if kind.len() == 0 {
        return Err(not_scattering(file, "an empty file"));
    }
    Ok(kind.len())
}

fn unreadable(file: &str, error: &std::io::Error) -> IoError {
    IoError::Open {
        file: file.to_owned(),
        reason: error.to_string(),
    }
}

fn first_bytes(path: &Path, file: &str) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::with_capacity(8);
    std::fs::File::open(path)
        .and_then(|f| f.take(8).read_to_end(&mut bytes))
        .map_err(|e| unreadable(file, &e))?;
    Ok(bytes)
}

/// The file as text; bytes that are not UTF-8 (such as Å in Latin-1) become replacement characters.
fn whole_text(path: &Path, file: &str, length: u64, memory: Memory) -> Result<String, IoError> {
    if length > MAX_TEXT_BYTES {
        return Err(not_scattering(
            file,
            format!("{length} bytes of text (at most {MAX_TEXT_BYTES} are read)"),
        ));
    }
    // The bytes, and a copy as text.
    allow(file, "the text", 2 * u128::from(length), memory)?;
    let mut bytes = Vec::with_capacity(length as usize);
    std::fs::File::open(path)
        .and_then(|f| f.take(length).read_to_end(&mut bytes))
        .map_err(|e| unreadable(file, &e))?;
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(not_scattering(
            file,
            format!("binary data (byte {at} is 0)"),
        ));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let bytes = e.into_bytes();
            let non_ascii = bytes.iter().filter(|b| !b.is_ascii()).count();
            if non_ascii > 64 + bytes.len() / 8 {
                return Err(not_scattering(file, "binary data"));
            }
            allow(file, "the text", 5 * u128::from(length), memory)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    // Old programs of the Macintosh end lines with CR alone.
    Ok(match text.contains('\r') && !text.contains('\n') {
        true => text.replace('\r', "\n"),
        false => text,
    })
}

#[cfg(test)]
mod tests;
