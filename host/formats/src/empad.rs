//! The EMPAD detector: `.raw` files with frames of 130 x 128 single-precision numbers, and the
//! `.xml` file of a scan.
//!
//! Numbers are little-endian. The last two rows of a frame are no image, and are not read. The
//! `.xml` file names its `.raw` file and has the positions of the scan (`pix_x` fast, `pix_y`
//! slow). Scales of scan and detector are not computed from it: what its numbers mean depends on
//! the program that wrote it.

use crate::element::Element;
use crate::file_error::{FileError, name_of, open_regular};
use crate::frame_file::{FrameFile, check_range, read_by_pixels};
use crate::pixel::Pixel;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Rows and columns of the image.
const SIDE: usize = 128;

/// Rows of a frame in the file.
const STORED_ROWS: usize = 130;

/// Bytes of a frame in the file.
const FRAME_BYTES: usize = STORED_ROWS * SIDE * 4;

/// The longest `.xml` file, bytes: the usual one has 5 kB.
const LONGEST_XML: u64 = 1 << 20;

/// What the `.xml` file of a scan says.
#[derive(Debug, Clone, PartialEq)]
pub struct EmpadHeader {
    /// Positions (slow, fast); none if the file is not of a scan.
    pub scan_shape: Option<[usize; 2]>,
    /// Name of the `.raw` file, in the same folder.
    pub raw_file: String,
    /// Accelerating voltage, V.
    pub voltage: Option<f64>,
    /// Camera length, m.
    pub camera_length: Option<f64>,
    /// Width and height of the microscope's full field of view, m.
    pub field_of_view: Option<[f64; 2]>,
    /// Part of the full field of view that the scan has (`scan_size`), as written.
    pub scan_size: Option<f64>,
}

impl EmpadHeader {
    /// Reads an `.xml` file.
    ///
    /// # Errors
    /// The file cannot be read, is larger than 1 MiB, or names no `.raw` file.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let file = name_of(path);
        let unreadable = |e: std::io::Error| FileError::open(&file, &e);
        let mut bytes = Vec::new();
        let read = open_regular(path)
            .map_err(unreadable)?
            .take(LONGEST_XML + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if read as u64 > LONGEST_XML {
            return Err(FileError::format(
                &file,
                format!("at most {LONGEST_XML} bytes of XML"),
                "more",
            ));
        }
        Self::parse(&file, &String::from_utf8_lossy(&bytes))
    }

    fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let document = roxmltree::Document::parse(text).map_err(|e| {
            FileError::format(file, "the XML file of an EMPAD detector", e.to_string())
        })?;
        let find = |name: &str| document.descendants().find(|node| node.has_tag_name(name));
        let value = |name: &str| find(name).and_then(|node| node.text()).map(str::trim);
        let number = |name: &str| {
            value(name)?
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
        };
        let count = |name: &str| -> Result<Option<usize>, FileError> {
            match value(name).map(|text| (text, text.parse::<usize>())) {
                None => Ok(None),
                Some((_, Ok(count))) if count > 0 => Ok(Some(count)),
                Some((text, _)) => Err(FileError::format(
                    file,
                    format!("a number of positions in <{name}>"),
                    format!("'{text}'"),
                )),
            }
        };
        let raw_file = find("raw_file").and_then(|node| node.attribute("filename"));
        let raw_file = raw_file
            .and_then(|name| name.rsplit(['/', '\\']).next())
            .filter(|name| !matches!(*name, "" | "." | ".."))
            .ok_or_else(|| FileError::format(file, "<raw_file filename=...>", "none"))?;
        let acquire = document.descendants().find(|node| {
            node.has_tag_name("scan_parameters") && node.attribute("mode") == Some("acquire")
        });
        let acquired = |name: &str| {
            let node = acquire?
                .descendants()
                .find(|node| node.has_tag_name(name))?;
            node.text().map(str::trim)
        };
        let resolution = |name: &str| acquired(name)?.parse().ok().filter(|n| *n > 0);
        let is_series = find("series_count").is_some();
        // Older files have the points of the scan only among its parameters.
        let scan_shape = (count("pix_y")?.zip(count("pix_x")?))
            .or_else(|| resolution("scan_resolution_y").zip(resolution("scan_resolution_x")))
            .filter(|_| !is_series)
            .map(<[usize; 2]>::from);
        let scan_size = acquired("scan_size").and_then(|size| size.parse().ok());
        let field_of_view = value("optics.get_full_scan_field_of_view").and_then(|text| {
            let (width, height) = text.trim_matches(['[', ']']).split_once(',')?;
            Some([width.trim().parse().ok()?, height.trim().parse().ok()?])
        });
        Ok(Self {
            scan_shape,
            raw_file: raw_file.to_owned(),
            voltage: number("source.get_voltage"),
            camera_length: number("optics.get_cameralength"),
            field_of_view,
            scan_size,
        })
    }
}

/// An open `.raw` file.
#[derive(Debug)]
pub struct EmpadFile {
    file: File,
    name: String,
    frames: usize,
    incomplete: u64,
    header: Option<EmpadHeader>,
}

/// Most `.xml` files beside a `.raw` file that are looked at.
const MOST_XML: usize = 64;

/// The header of the scan whose frames are in the file `raw`: the `.xml` file in its folder that
/// names it, if there is one and no other.
fn header_beside(raw: &Path) -> Option<EmpadHeader> {
    let name = raw.file_name()?.to_str()?;
    let folder = match raw.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let is_xml = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("xml"))
    };
    let files = std::fs::read_dir(folder).ok()?;
    let mut of_raw = (files.filter_map(|entry| Some(entry.ok()?.path())))
        .filter(is_xml)
        .take(MOST_XML)
        .filter_map(|path| EmpadHeader::read(&path).ok())
        .filter(|header| header.raw_file == name);
    let only = of_raw.next()?;
    of_raw.next().is_none().then_some(only)
}

impl EmpadFile {
    /// Opens a `.raw` file, with the `.xml` file in its folder that names it if there is one, or
    /// the `.raw` file that an `.xml` file names.
    ///
    /// # Errors
    /// A file cannot be read or is not of this format, or the `.raw` file has no whole frame.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let is_xml = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("xml"));
        if !is_xml {
            return Self::open_raw(path, header_beside(path));
        }
        let header = EmpadHeader::read(path)?;
        let raw: PathBuf = path.with_file_name(&header.raw_file);
        Self::open_raw(&raw, Some(header))
    }

    fn open_raw(path: &Path, header: Option<EmpadHeader>) -> Result<Self, FileError> {
        let name = name_of(path);
        let unreadable = |e: std::io::Error| FileError::open(&name, &e);
        let file = open_regular(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let frames = usize::try_from(size / FRAME_BYTES as u64).unwrap_or(usize::MAX);
        // Bytes that are no part of a frame of a scan are those of another program.
        let incomplete = size % FRAME_BYTES as u64;
        if frames == 0 || (incomplete != 0 && header.is_none()) {
            return Err(FileError::format(
                &name,
                format!("frames of {FRAME_BYTES} bytes (130 x 128 float32)"),
                format!("{size} bytes"),
            ));
        }
        Ok(Self {
            file,
            name,
            frames,
            incomplete,
            header,
        })
    }

    /// What the `.xml` file says, if there is one.
    #[must_use]
    pub fn header(&self) -> Option<&EmpadHeader> {
        self.header.as_ref()
    }

    fn read_pixels<T: Pixel>(&self, frames: Range<usize>, out: &mut [T]) -> Result<(), FileError> {
        check_range(&self.name, self.shape(), &frames, out.len())?;
        let mut bytes = vec![0; SIDE * SIDE * 4];
        for (frame, out) in frames.zip(out.chunks_exact_mut(SIDE * SIDE)) {
            self.file
                .read_exact_at(&mut bytes, frame as u64 * FRAME_BYTES as u64)
                .map_err(|e| FileError::open(&self.name, &e))?;
            for (to, number) in out.iter_mut().zip(bytes.as_chunks().0) {
                *to = T::from_single(f32::from_le_bytes(*number));
            }
        }
        Ok(())
    }
}

impl FrameFile for EmpadFile {
    fn shape(&self) -> [usize; 3] {
        [self.frames, SIDE, SIDE]
    }

    fn incomplete_bytes(&self) -> u64 {
        self.incomplete
    }

    fn element(&self) -> Element {
        Element::Float(32)
    }

    fn scan_shape(&self) -> Option<[usize; 2]> {
        self.header.as_ref().and_then(|header| header.scan_shape)
    }

    read_by_pixels!();
}
