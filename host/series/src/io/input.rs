//! Opens an input: recognizes its format by its first bytes, and decompresses it.

use super::piped::PipeReader;
use super::remote_read;
use super::stream::{Stream, failed};
use super::{IoError, Memory, damaged, format_error};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An opened input.
pub(super) struct Input {
    /// The path as given.
    pub(super) file: String,
    /// Name of the series if the file does not name any: the file name without folder and
    /// extensions.
    pub(super) name: String,
    pub(super) content: Content,
    /// Bytes read from the file, before decompression.
    pub(super) taken: Arc<AtomicU64>,
}

/// The format and contents of an input.
pub(super) enum Content {
    Text(Stream),
    Arrow(Stream),
    /// The file and its length.
    ArrowFile(File, u64),
    /// The file and its length.
    Parquet(File, u64),
}

/// Counts the bytes read.
struct Counted<R> {
    from: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The path that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// Rejects inputs that cannot be read before any is read.
pub(super) fn check(path: &Path) -> Result<(), IoError> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(());
    }
    let file = path.display().to_string();
    let kind = std::fs::metadata(path).map_err(|e| failed(&file, None, &e))?;
    if kind.is_dir() {
        return Err(format_error(&file, "a folder"));
    }
    if !kind.is_file() && !is_pipe(kind.file_type()) {
        return Err(format_error(&file, "a device or socket"));
    }
    if kind.is_file() && kind.len() == 0 {
        return Err(format_error(&file, "an empty file"));
    }
    Ok(())
}

#[cfg(unix)]
fn is_pipe(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo()
}

#[cfg(not(unix))]
fn is_pipe(_: std::fs::FileType) -> bool {
    false
}

/// Opens `path`, or standard input for `-`.
pub(super) fn open(path: &Path, memory: Memory) -> Result<Input, IoError> {
    check(path)?;
    if path.as_os_str() == STANDARD_INPUT {
        let file = "standard input".to_owned();
        let taken = Arc::new(AtomicU64::new(0));
        let from = Counted {
            from: PipeReader::of(&file, io::stdin())?,
            taken: Arc::clone(&taken),
        };
        let content = content(&file, Box::new(from), None, memory)?;
        return Ok(Input {
            file,
            taken,
            name: "stdin".to_owned(),
            content,
        });
    }
    let file = path.display().to_string();
    let opened = File::open(path).map_err(|e| failed(&file, None, &e))?;
    let seekable = opened.metadata().ok().filter(std::fs::Metadata::is_file);
    let seekable = seekable.map(|m| m.len());
    let again = opened.try_clone().map_err(|e| failed(&file, None, &e))?;
    let whole = seekable.map(|length| (again, length));
    let taken = Arc::new(AtomicU64::new(0));
    let bytes: Box<dyn Read + Send> = match whole {
        Some(_) => Box::new(opened),
        None => Box::new(PipeReader::of(&file, opened)?),
    };
    let from = Counted {
        from: bytes,
        taken: Arc::clone(&taken),
    };
    let content = if remote_read::is_remote_read(path) {
        Content::Text(remote_read::as_text(&file, path, Box::new(from), memory)?)
    } else {
        content(&file, Box::new(from), whole, memory)?
    };
    Ok(Input {
        name: name_of(path),
        content,
        taken,
        file,
    })
}

/// Extensions that state a compression, not a format.
const PACKED: [&str; 4] = ["gz", "zst", "zstd", "gzip"];

/// Whether the file's name says that it is in Prometheus' text format: `.prom`, also compressed.
pub(super) fn is_prometheus(path: &Path) -> bool {
    let unpacked = match is_packed(path) {
        true => Path::new(path.file_stem().unwrap_or_default()),
        false => path,
    };
    let ending = unpacked.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("prom"))
}

fn is_packed(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| PACKED.iter().any(|p| ending.eq_ignore_ascii_case(p)))
}

fn name_of(path: &Path) -> String {
    let packed = is_packed(path);
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    let stem = if packed {
        Path::new(stem).file_stem().unwrap_or(stem)
    } else {
        stem
    };
    stem.to_string_lossy().into_owned()
}

/// Number of bytes that identify a format.
const START: usize = 8;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

fn content(
    file: &str,
    bytes: Box<dyn Read + Send>,
    whole: Option<(File, u64)>,
    memory: Memory,
) -> Result<Content, IoError> {
    let live = whole.is_none();
    let mut stream = Stream {
        bytes,
        compression: None,
        live,
    };
    let mut start = peek(file, &mut stream)?;
    let skippable = start.get(1..4) == Some(b"\x2a\x4d\x18") && start[0] & 0xf0 == 0x50;
    if start.starts_with(GZIP) {
        let bytes = BufReader::with_capacity(1 << 17, stream.bytes);
        stream = Stream {
            bytes: Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
            compression: Some("gzip"),
            live,
        };
        start = peek(file, &mut stream)?;
    } else if start.starts_with(ZSTD) || skippable {
        let bytes = BufReader::with_capacity(1 << 17, stream.bytes);
        let refuse = |e: io::Error| damaged(file, "zstd stream", e);
        let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(refuse)?;
        decoder.window_log_max(window_log(memory)).map_err(refuse)?;
        stream = Stream {
            bytes: Box::new(decoder),
            compression: Some("zstd"),
            live,
        };
        start = peek(file, &mut stream)?;
    }
    for (signature, what) in [
        (&b"\x89HDF"[..], "an HDF5 file"),
        (
            b"PK\x03\x04",
            "a ZIP archive, or a spreadsheet (.xlsx, .ods); unpack it, or save the sheet as CSV",
        ),
        (
            b"\xd0\xcf\x11\xe0",
            "an old spreadsheet (.xls); save the sheet as CSV",
        ),
        (
            b"SQLite f",
            "an SQLite database; write the table as CSV or Parquet",
        ),
        (b"\xfd7zXZ", "xz compression; decompress the file"),
        (b"BZh", "bzip2 compression; decompress the file"),
        (b"\x04\x22\x4d\x18", "lz4 compression; decompress the file"),
        (GZIP, "a file compressed twice; decompress it"),
        (ZSTD, "a file compressed twice; decompress it"),
        (b"PARE", "encrypted Parquet; decrypt the file"),
        (b"FEA1", "Feather version 1; write the file as version 2"),
        (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
        (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    ] {
        if start.starts_with(signature) {
            return Err(format_error(file, what));
        }
    }
    if start.starts_with(b"PAR1") {
        return match (whole, stream.compression) {
            (Some((opened, length)), None) => Ok(Content::Parquet(opened, length)),
            (_, Some(name)) => Err(format_error(
                file,
                format!("Parquet inside {name}; decompress the file"),
            )),
            (None, None) => Err(format_error(
                file,
                "Parquet from a pipe, which cannot be read from its end; use a file",
            )),
        };
    }
    // An Arrow stream begins with the continuation marker, or, before version 0.15, with the length
    // of a message.
    if start.starts_with(b"ARROW1")
        && stream.compression.is_none()
        && let Some((opened, length)) = whole
    {
        return Ok(Content::ArrowFile(opened, length));
    }
    if start.starts_with(b"ARROW1") || start.starts_with(&[0xff; 4]) {
        return Ok(Content::Arrow(stream));
    }
    if start.is_empty() {
        return Err(format_error(file, "an empty file"));
    }
    Ok(Content::Text(stream))
}

/// Reads the first bytes, which remain to be read again.
fn peek(file: &str, stream: &mut Stream) -> Result<Vec<u8>, IoError> {
    let mut start = vec![0; START];
    let count = stream
        .fill(&mut start)
        .map_err(|e| stream.failed(file, &e))?;
    start.truncate(count);
    let rest = std::mem::replace(&mut stream.bytes, Box::new(io::empty()));
    stream.bytes = Box::new(Cursor::new(start.clone()).chain(rest));
    Ok(start)
}

/// The largest accepted Zstandard window (as a power of two): 128 MiB, or a quarter of the memory.
fn window_log(memory: Memory) -> u32 {
    (memory.limit() / 4).max(1 << 10).ilog2().min(27)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_named_after_its_file() {
        for (path, name) in [
            ("cpu.csv", "cpu"),
            ("/data/cpu.csv.gz", "cpu"),
            ("cpu.load.csv.zst", "cpu.load"),
            ("cpu", "cpu"),
            ("cpu.gz", "cpu"),
            (".csv", ".csv"),
        ] {
            assert_eq!(name_of(Path::new(path)), name, "{path}");
        }
    }
}
