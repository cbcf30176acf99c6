//! Chunks of HDF5 with their filters, and files of detectors: whatever the bytes are, they must be
//! decoded or refused within the memory of the decoded data.
//!
//! | target | bytes |
//! |---|---|
//! | `chunk_filters` | a record of `host/formats/tests/write_vectors.py` |
//! | `mib_reader` | length of the `.hdr` file (two bytes, little-endian), the `.hdr` file, the `.mib` file |
//! | `empad_reader` | number of frames of the `.raw` file (one byte), the `.xml` file |
//! | `tiff_reader` | a TIFF file |
//! | `hdf5_structure` | an HDF5 file |
//! | `numpy_reader` | 0 for `.npy` or 1 for `.npz` (one byte), the file |

use std::path::Path;
use warpstride_formats::FrameFile;
use warpstride_formats::chunk_filters::{FilterSpec, Pipeline, Scratch};
use warpstride_formats::empad::EmpadFile;
use warpstride_formats::hdf5_structure::{LinkTarget, Structure};
use warpstride_formats::merlin::{MibFile, RowOrder};
use warpstride_formats::numpy::NumpyFile;
use warpstride_formats::tiff_stack::TiffStack;

/// The largest decoded chunk, bytes.
const MOST_DECODED: usize = 1 << 20;

/// The most pixels that are read of a file.
const MOST_PIXELS: usize = 1 << 22;

/// The most objects of an HDF5 file that are looked at.
const MOST_OBJECTS: usize = 500;

/// Bytes of a frame in a file of an EMPAD detector.
const EMPAD_FRAME: u64 = 130 * 128 * 4;

/// Takes the parts of a record.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }
}

/// Decodes a chunk twice: with an unused [`Scratch`], and with the one that the first time left.
pub fn chunk(record: &[u8]) -> Option<()> {
    let mut parts = Parts(record);
    let name = u16::from_le_bytes(parts.bytes(2)?.try_into().ok()?);
    parts.bytes(name.into())?;
    let [size, decoded, mask, count] = [(); 4].map(|()| parts.number());
    let decoded = decoded? as usize % (MOST_DECODED + 1);
    let mut filters = Vec::new();
    for _ in 0..count? % 40 {
        filters.push(FilterSpec {
            id: parts.number()?,
            optional: parts.number()? == 1,
            cd_values: (0..parts.number()? % 20)
                .map(|_| parts.number())
                .collect::<Option<_>>()?,
        });
    }
    parts.number()?;
    let raw = parts.0;
    let pipeline = Pipeline::new(&filters, size? as usize, decoded).ok()?;
    let mut scratch = Scratch::default();
    let [mut first, mut second] = [vec![0; decoded], vec![0; decoded]];
    let result = pipeline.decode(mask?, raw, &mut first, &mut scratch);
    assert_eq!(
        result,
        pipeline.decode(mask?, raw, &mut second, &mut scratch)
    );
    match result {
        Ok(()) => assert!(first == second),
        Err(e) => assert!(!e.to_string().is_empty()),
    }
    Some(())
}

/// Reads the first and the last frame of a file, and a range that it does not have.
fn exercise(file: &dyn FrameFile) {
    let [frames, rows, columns] = file.shape();
    let pixels = rows * columns;
    assert!(frames > 0 && pixels > 0);
    if let Some([slow, fast]) = file.scan_shape() {
        assert!(slow > 0 && fast > 0);
    }
    if pixels > MOST_PIXELS {
        return;
    }
    let (mut single, mut double) = (vec![0.0_f32; pixels], vec![0.0_f64; pixels]);
    for frame in [0, frames - 1] {
        let exact = file.read_f64(frame..frame + 1, &mut double);
        if file.read(frame..frame + 1, &mut single).is_ok() {
            assert!(exact.is_ok());
            let same = single
                .iter()
                .zip(&double)
                .all(|(single, double)| *single == *double as f32 || double.is_nan());
            assert!(same);
        }
    }
    assert!(file.read(frames..frames + 1, &mut single).is_err());
}

/// Reads a `.mib` file with its `.hdr` file.
pub fn mib(bytes: &[u8], folder: &Path) -> Option<()> {
    let mut parts = Parts(bytes);
    let length = u16::from_le_bytes(parts.bytes(2)?.try_into().ok()?);
    let hdr = parts.bytes(length.into())?;
    if !hdr.is_empty() {
        std::fs::write(folder.join("frames.hdr"), hdr).ok()?;
    }
    let path = folder.join("frames.mib");
    std::fs::write(&path, parts.0).ok()?;
    let file = MibFile::open(&path).ok()?;
    let [frames, rows, columns] = file.shape();
    assert!(frames.saturating_mul(rows).saturating_mul(columns) <= 8 * bytes.len());
    let _ = file.frame_header(frames - 1);
    exercise(&file);
    exercise(&file.with_rows(RowOrder::Stored));
    Some(())
}

/// Reads the `.xml` file of an EMPAD detector, with a `.raw` file that has holes.
pub fn empad(bytes: &[u8], folder: &Path) -> Option<()> {
    let (frames, xml) = bytes.split_first()?;
    let raw = std::fs::File::create(folder.join("scan.raw")).ok()?;
    raw.set_len(u64::from(*frames) * EMPAD_FRAME).ok()?;
    let path = folder.join("scan.xml");
    std::fs::write(&path, xml).ok()?;
    if let Ok(file) = EmpadFile::open(&path) {
        assert_eq!(file.shape()[0], usize::from(*frames));
        exercise(&file);
    }
    Some(())
}

/// Reads a TIFF file.
pub fn tiff(bytes: &[u8], folder: &Path) -> Option<()> {
    let path = folder.join("frames.tif");
    std::fs::write(&path, bytes).ok()?;
    exercise(&TiffStack::open(&path).ok()?);
    Some(())
}

/// Reads the links of all groups of an HDF5 file, and its virtual datasets.
pub fn structure(bytes: &[u8], folder: &Path) -> Option<()> {
    let path = folder.join("file.h5");
    std::fs::write(&path, bytes).ok()?;
    let mut file = Structure::open(&path).ok()?;
    let mut waiting = vec![(file.root(), 0)];
    let mut left = MOST_OBJECTS;
    while let Some((address, depth)) = waiting.pop() {
        left = left.checked_sub(1)?;
        if let Ok(Some(of)) = file.virtual_dataset(address) {
            assert!(!of.shape.is_empty() && of.fill.len() % of.bytes == 0);
        }
        for target in file.links(address).unwrap_or_default().into_values() {
            if let (LinkTarget::Hard(address), 0..5) = (target, depth) {
                waiting.push((address, depth + 1));
            }
        }
    }
    Some(())
}

/// Reads an `.npy` or an `.npz` file.
pub fn numpy(bytes: &[u8], folder: &Path) -> Option<()> {
    let (kind, bytes) = bytes.split_first()?;
    let path = folder.join(if kind % 2 == 0 {
        "frames.npy"
    } else {
        "frames.npz"
    });
    std::fs::write(&path, bytes).ok()?;
    let _ = NumpyFile::open_array(&path, "frames");
    exercise(&NumpyFile::open(&path).ok()?);
    Some(())
}

/// Seeds of a target: the test vectors of `host/formats`.
#[must_use]
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    match target {
        "chunk_filters" => {
            let vectors: [&[u8]; 7] = [
                include_bytes!("../../formats/tests/vectors/bitshuffle.bin"),
                include_bytes!("../../formats/tests/vectors/blosc.bin"),
                include_bytes!("../../formats/tests/vectors/blosc2.bin"),
                include_bytes!("../../formats/tests/vectors/builtin.bin"),
                include_bytes!("../../formats/tests/vectors/lz4.bin"),
                include_bytes!("../../formats/tests/vectors/masks.bin"),
                include_bytes!("../../formats/tests/vectors/zstd.bin"),
            ];
            vectors
                .iter()
                .filter_map(|file| records(file))
                .flatten()
                .collect()
        }
        "hdf5_structure" => [
            &include_bytes!("../../files/tests/data/linked/links.h5")[..],
            include_bytes!("../../files/tests/data/linked/latest.h5"),
            include_bytes!("../../files/tests/data/linked/virtual.h5"),
            include_bytes!("../../files/tests/data/linked/master.h5"),
        ]
        .map(<[u8]>::to_vec)
        .to_vec(),
        "mib_reader" => mib_seeds(),
        "empad_reader" => {
            let scan = "<root><type>scan</type><pix_x>4</pix_x><pix_y>3</pix_y><raw_file filename=\"scan.raw\"/>\
                        <scan_parameters mode=\"acquire\"><scan_size>0.5</scan_size></scan_parameters><iom_measurements>\
                        <source.get_voltage>3e5</source.get_voltage><optics.get_full_scan_field_of_view>[1e-6, 1e-6]\
                        </optics.get_full_scan_field_of_view></iom_measurements></root>";
            let single = "<root><raw_file filename='/data/scan.raw'/></root>";
            vec![
                [&[12], scan.as_bytes()].concat(),
                [&[1], single.as_bytes()].concat(),
            ]
        }
        "numpy_reader" => [
            (
                0,
                &include_bytes!("../../formats/tests/vectors/numpy/be-u2.npy")[..],
            ),
            (
                0,
                include_bytes!("../../formats/tests/vectors/numpy/le-f8.npy"),
            ),
            (
                0,
                include_bytes!("../../formats/tests/vectors/numpy/rank-4.npy"),
            ),
            (
                0,
                include_bytes!("../../formats/tests/vectors/numpy/fortran.npy"),
            ),
            (
                1,
                include_bytes!("../../formats/tests/vectors/numpy/stored.npz"),
            ),
            (
                1,
                include_bytes!("../../formats/tests/vectors/numpy/compressed.npz"),
            ),
            (
                1,
                include_bytes!("../../formats/tests/vectors/numpy/two.npz"),
            ),
        ]
        .map(|(kind, file)| [&[kind], file].concat())
        .into(),
        _ => [
            &include_bytes!("../../formats/tests/vectors/tiff/u8.tif")[..],
            include_bytes!("../../formats/tests/vectors/tiff/u16-big-endian.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/u16-predictor.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/u16-zstd.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/u8-packbits.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/i16-lzw.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/f64.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/f32-tiles-deflate.tif"),
            include_bytes!("../../formats/tests/vectors/tiff/imagej.tif"),
        ]
        .map(<[u8]>::to_vec)
        .into(),
    }
}

/// The records of a file of test vectors.
fn records(file: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut records = Vec::new();
    let mut parts = Parts(file);
    while !parts.0.is_empty() {
        let begin = parts.0;
        let name = u16::from_le_bytes(parts.bytes(2)?.try_into().ok()?);
        parts.bytes(usize::from(name) + 12)?;
        for _ in 0..parts.number()? {
            parts.bytes(8)?;
            let values = parts.number()? as usize;
            parts.bytes(4 * values)?;
        }
        let stored = parts.number()? as usize;
        parts.bytes(stored)?;
        records.push(begin[..begin.len() - parts.0.len()].to_vec());
        parts.number()?;
    }
    Some(records)
}

/// Small frames of each kind of pixel.
fn mib_seeds() -> Vec<Vec<u8>> {
    let hdr = "HDR,\t\r\nCounter Depth (number):\t12\r\nFrames in Acquisition (Number):\t4\r\nFrames per Trigger (Number):\t2\r\nEnd\t";
    let frame = |pixels: &str,
                 columns: usize,
                 rows: usize,
                 depth: u32,
                 bytes: usize,
                 sequence: usize| {
        let text = format!(
            "MQ1,{sequence:06},00384,01,{columns:04},{rows:04},{pixels},   1x1,01,2021-05-07 18:51:10.{sequence:06},0.1,0,0,0,\
             MQ1A,2021-05-07T16:51:10.{sequence:09}Z,100ns,{depth},"
        );
        let mut frame = text.into_bytes();
        frame.resize(384, 0);
        frame.extend((0..bytes).map(|n| (n * 7 % 64) as u8));
        frame
    };
    let kinds = [
        ("U08", 6, 4, 6, 24),
        ("U16", 6, 4, 12, 48),
        ("U32", 6, 4, 24, 96),
        ("R64", 256, 1, 1, 32),
        ("R64", 256, 1, 6, 256),
        ("R64", 256, 1, 12, 512),
        ("R64", 512, 1, 24, 1024),
    ];
    let with = |hdr: &str, mib: Vec<u8>| {
        [&(hdr.len() as u16).to_le_bytes()[..], hdr.as_bytes(), &mib].concat()
    };
    let frames = |(pixels, columns, rows, depth, bytes)| {
        (1..=4)
            .flat_map(|sequence| frame(pixels, columns, rows, depth, bytes, sequence))
            .collect::<Vec<u8>>()
    };
    kinds
        .into_iter()
        .flat_map(|kind| [with("", frames(kind)), with(hdr, frames(kind))])
        .collect()
}
