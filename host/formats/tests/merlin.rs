//! Merlin files against what rosettasciio and LiberTEM read (`write_merlin.py`), and damaged ones.

use flate2::Crc;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use warpstride_formats::merlin::{MibFile, RowOrder};
use warpstride_formats::{Element, FileError, FrameFile};

/// A file of `write_merlin.py`.
#[derive(Clone)]
struct Kind<'a> {
    chips: usize,
    columns: usize,
    rows: usize,
    pixels: &'a str,
    layout: &'a str,
    depth: u32,
    frames: usize,
}

fn checksum(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let mut crc = Crc::new();
    crc.update(&bytes.into_iter().collect::<Vec<_>>());
    crc.sum()
}

fn checksum_of(counts: &[f32]) -> u32 {
    checksum(
        counts
            .iter()
            .flat_map(|count| (*count as u32).to_le_bytes()),
    )
}

impl Kind<'_> {
    fn header(&self, sequence: usize) -> Vec<u8> {
        let Self {
            chips,
            columns,
            rows,
            pixels,
            layout,
            depth,
            ..
        } = self;
        let length = if *chips == 1 { 384 } else { 768 };
        let mut text = format!(
            "MQ1,{sequence:06},{length:05},{chips:02},{columns:04},{rows:04},{pixels},{layout:>6},{:02X},2021-05-07 \
             18:51:10.{sequence:06},0.001000,0,0,0{}",
            (1 << chips) - 1,
            ",1.000000E+1".repeat(8)
        );
        text.push_str(&format!(",3RX{}", ",100".repeat(27)).repeat(*chips));
        write!(
            text,
            ",MQ1A,2021-05-07T16:51:10.{sequence:09}Z,1000000ns,{depth},"
        )
        .expect("memory");
        let mut bytes = text.into_bytes();
        bytes.resize(length, 0);
        bytes
    }

    /// Stored values in their order, from a linear congruential generator.
    fn payload(&self, seed: u64) -> Vec<u8> {
        let bits = match (self.pixels, self.depth) {
            ("U08", _) | ("R64", 6) => 8,
            ("U16", _) | ("R64", 12 | 24) => 16,
            ("U32", _) => 32,
            _ => 1,
        };
        let most = if self.pixels == "R64" { 12 } else { 24 };
        let greatest = if bits == 1 {
            255
        } else {
            (1 << self.depth.min(most)) - 1
        };
        let width = if bits == 1 { 1 } else { bits / 8 };
        let mut state = seed;
        let count = self.columns * self.rows * bits / (8 * width);
        (0..count)
            .flat_map(|_| {
                state = (state * 1_103_515_245 + 12345) % (1 << 31);
                (state >> 5 & greatest).to_be_bytes()[8 - width..].to_vec()
            })
            .collect()
    }

    fn content(&self, seed: u64) -> Vec<u8> {
        (0..self.frames)
            .flat_map(|frame| [self.header(frame + 1), self.payload(seed + frame as u64)].concat())
            .collect()
    }
}

fn written(folder: &Path, content: &[u8]) -> PathBuf {
    let path = folder.join("frames.mib");
    std::fs::write(&path, content).expect("a file");
    path
}

fn all_frames(file: &MibFile) -> Vec<f32> {
    let [frames, rows, columns] = file.shape();
    let mut out = vec![0.0; frames * rows * columns];
    file.read(0..frames, &mut out).expect("frames");
    out
}

/// The table of `write_merlin.py`: name, number, kind, CRC-32 of the file, reader, CRC-32 of what
/// it read.
fn table() -> Vec<(&'static str, u64, Kind<'static>, u32, &'static str, u32)> {
    let mut names: Vec<&str> = Vec::new();
    let lines = include_str!("vectors/merlin.txt").lines();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let number = |n: usize| fields[n].parse().expect("a number");
            if names.last() != Some(&fields[0]) {
                names.push(fields[0]);
            }
            let kind = Kind {
                chips: number(1) as usize,
                columns: number(2) as usize,
                rows: number(3) as usize,
                pixels: fields[4],
                layout: fields[5],
                depth: number(6),
                frames: number(7) as usize,
            };
            (
                fields[0],
                names.len() as u64 - 1,
                kind,
                number(8),
                fields[9],
                number(10),
            )
        })
        .collect()
}

#[test]
fn arrays_are_those_of_other_readers() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for (name, n, kind, file_checksum, reader, array_checksum) in table() {
        let content = kind.content(1000 * n);
        assert_eq!(
            checksum(content.clone()),
            file_checksum,
            "{name}: the file is not that of the table"
        );
        let path = written(folder.path(), &content);
        let file = MibFile::open(&path).expect(name);
        assert_eq!(file.counter_depth(), Some(kind.depth), "{name}");
        assert_eq!(file.incomplete_bytes(), 0, "{name}");
        if reader != "none" {
            assert_eq!(
                checksum_of(&all_frames(&file)),
                array_checksum,
                "{name}, {reader}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 27);
}

/// Each bit of a word is a pixel, the lowest bit the first. No other reader was found that reads
/// these files.
#[test]
fn raw_counters_of_one_bit() {
    let (_, n, kind, ..) = table()
        .into_iter()
        .find(|(name, ..)| *name == "raw-1")
        .expect("in the table");
    let folder = tempfile::tempdir().expect("a folder");
    let file = MibFile::open(&written(folder.path(), &kind.content(1000 * n))).expect("a file");
    let file = file.with_rows(RowOrder::Stored);
    assert_eq!(file.shape(), [3, 256, 256]);
    let found = all_frames(&file);
    for frame in 0..3 {
        let bytes = kind.payload(1000 * n + frame as u64);
        for pixel in 0..65536 {
            let (word, bit) = (pixel / 64, pixel % 64);
            let byte = bytes[8 * word + 7 - bit / 8];
            assert_eq!(
                found[frame * 65536 + pixel],
                f32::from(byte >> (bit % 8) & 1)
            );
        }
    }
}

/// A quad's 24-bit counters: its image of the upper 12 bits, then that of the lower. No other
/// reader reads these files.
#[test]
fn raw_counters_of_24_bits_of_a_quad() {
    let kind = |depth, columns| Kind {
        chips: 4,
        columns,
        rows: 256,
        pixels: "R64",
        layout: "2x2",
        depth,
        frames: 1,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [upper, lower] = [7, 8].map(|seed| kind(12, 1024).payload(seed));
    let halves = [&upper, &lower].map(|half| {
        let content = [kind(12, 1024).header(1), half.clone()].concat();
        all_frames(&MibFile::open(&written(folder.path(), &content)).expect("12 bits"))
    });
    for columns in [1024, 2048] {
        let content = [kind(24, columns).header(1), upper.clone(), lower.clone()].concat();
        let file = MibFile::open(&written(folder.path(), &content)).expect("24 bits");
        let expected = halves[0]
            .iter()
            .zip(&halves[1])
            .map(|(upper, lower)| upper * 4096.0 + lower);
        assert!(all_frames(&file).into_iter().eq(expected));
        assert_eq!(file.element(), Element::Unsigned(32));
    }
}

fn small() -> Kind<'static> {
    Kind {
        chips: 1,
        columns: 6,
        rows: 4,
        pixels: "U16",
        layout: "1x1",
        depth: 12,
        frames: 12,
    }
}

#[test]
fn any_range_of_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = MibFile::open(&written(folder.path(), &small().content(3))).expect("a file");
    assert_eq!(file.shape(), [12, 4, 6]);
    let all = all_frames(&file);
    for (start, end) in [(0, 0), (0, 1), (3, 9), (11, 12), (12, 12)] {
        let mut single = vec![0.0; (end - start) * 24];
        file.read(start..end, &mut single).expect("frames");
        assert_eq!(single, all[24 * start..24 * end]);
        let mut double = vec![0.0; (end - start) * 24];
        file.read_f64(start..end, &mut double).expect("frames");
        assert!(
            double
                .iter()
                .zip(&single)
                .all(|(double, single)| *double == f64::from(*single))
        );
    }
    assert!(matches!(
        file.read(5..13, &mut [0.0; 192]),
        Err(FileError::Frames { .. })
    ));
    assert!(matches!(
        file.read(5..6, &mut [0.0; 23]),
        Err(FileError::Output { .. })
    ));
    let stored = MibFile::open(&folder.path().join("frames.mib"))
        .expect("a file")
        .with_rows(RowOrder::Stored);
    let rows = |counts: &[f32]| counts.chunks(6).map(<[f32]>::to_vec).collect::<Vec<_>>();
    let mut reversed = rows(&all_frames(&stored)[..24]);
    reversed.reverse();
    assert_eq!(rows(&all[..24]), reversed);
}

#[test]
fn sequence_numbers_and_time_stamps() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = MibFile::open(&written(folder.path(), &small().content(3))).expect("a file");
    let header = file.frame_header(4).expect("a header");
    assert_eq!(header.sequence, 5);
    assert_eq!(header.time_stamp, "2021-05-07T16:51:10.000000005Z");
    assert_eq!(header.exposure, Some(1e-3));
    assert!(file.frame_header(12).is_err());
}

#[test]
fn scan_shapes_from_triggers_and_time_stamps() {
    let folder = tempfile::tempdir().expect("a folder");
    let sidecar = |frames: usize, per_trigger: usize| {
        let text = format!(
            "HDR,\t\r\nCounter Depth (number):\t12\r\nFrames in Acquisition (Number):\t{frames}\r\nFrames per Trigger \
             (Number):\t{per_trigger}\r\nEnd\t"
        );
        std::fs::write(folder.path().join("frames.hdr"), text).expect("a file");
    };
    let shape = |content: &[u8]| {
        MibFile::open(&written(folder.path(), content))
            .expect("a file")
            .scan_shape()
    };
    let even = small().content(3);
    assert_eq!(shape(&even), None);
    sidecar(12, 4);
    assert_eq!(shape(&even), Some([3, 4]));
    // The raster of a scan whose frames are not all there, or more than these.
    sidecar(16, 4);
    assert_eq!(shape(&even), Some([4, 4]));
    sidecar(12, 12);
    assert_eq!(shape(&even), None);
    sidecar(12, 1);
    assert_eq!(shape(&even), None);
    let text = "HDR,\t\r\nScanX:\t6\r\nScanY:\t2\r\nFrames per Trigger (Number):\t4\r\nEnd\t";
    std::fs::write(folder.path().join("frames.hdr"), text).expect("a file");
    assert_eq!(shape(&even), Some([2, 6]));
    sidecar(12, 1);
    // Lines of 3 frames, with longer gaps between them.
    let mut lines = even;
    let length = lines.len() / 12;
    for frame in 0..12 {
        let time = format!("T16:51:10.{:09}Z", 1_000_000 * frame + 5_000 * (frame / 3));
        let header = &mut lines[frame * length..(frame + 1) * length];
        let at = header
            .windows(4)
            .position(|bytes| bytes == b"T16:")
            .expect("a time stamp");
        header[at..at + time.len()].copy_from_slice(time.as_bytes());
    }
    assert_eq!(shape(&lines), Some([4, 3]));
}

#[test]
fn integers_beyond_single_precision_are_refused() {
    let mut kind = small();
    (kind.pixels, kind.depth, kind.frames) = ("U32", 24, 1);
    let mut content = kind.content(3);
    let last = content.len() - 8;
    content[last..last + 4].copy_from_slice(&(1_u32 << 24 | 1).to_be_bytes());
    let folder = tempfile::tempdir().expect("a folder");
    let file = MibFile::open(&written(folder.path(), &content)).expect("a file");
    let refused = file
        .read(0..1, &mut [0.0; 24])
        .expect_err("an odd integer beyond 2^24")
        .to_string();
    assert!(refused.contains("frame 0, row 0, column 4: "), "{refused}");
    let mut double = [0.0; 24];
    file.read_f64(0..1, &mut double).expect("double precision");
    assert_eq!(double[4], 16_777_217.0);
    // An even one is represented.
    content[last..last + 4].copy_from_slice(&(1_u32 << 24 | 2).to_be_bytes());
    let file = MibFile::open(&written(folder.path(), &content)).expect("a file");
    let mut single = [0.0; 24];
    file.read(0..1, &mut single).expect("an even integer");
    assert_eq!(single[4], 16_777_218.0);
}

#[test]
fn interrupted_and_damaged_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = small().content(3);
    let length = content.len() / 12;
    let file =
        MibFile::open(&written(folder.path(), &content[..content.len() - 1])).expect("a file");
    assert_eq!(
        (file.shape()[0], file.incomplete_bytes()),
        (11, length as u64 - 1)
    );
    let open = |content: &[u8]| MibFile::open(&written(folder.path(), content));
    for short in [0, 10, 46, 383, 384, length - 1] {
        assert!(open(&content[..short]).is_err(), "{short} bytes");
    }
    let altered = |at: usize, text: &str| {
        let mut content = content.clone();
        content[at..at + text.len()].copy_from_slice(text.as_bytes());
        open(&content)
    };
    // A first header that declares more than there is.
    assert!(altered(20, "9999,9999").is_err());
    assert!(altered(11, "99999").is_err());
    assert!(altered(20, "0000").is_err());
    assert!(altered(30, "U64").is_err());
    // Another header within the file.
    let file = altered(3 * length + 25, "0005").expect("a file");
    assert!(file.read(0..3, &mut [0.0; 72]).is_ok());
    assert!(file.read(3..4, &mut [0.0; 24]).is_err());
    // Raw counters of a size that no chip has.
    assert!(altered(30, "R64").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_headers_never_panic(
        changes in prop::collection::vec((0_usize..500, any::<u8>()), 1..8),
        length in 0_usize..1500,
    ) {
        let mut content = small().content(3);
        for (at, value) in changes {
            content[at] = value;
        }
        content.truncate(length);
        let folder = tempfile::tempdir().expect("a folder");
        if let Ok(file) = MibFile::open(&written(folder.path(), &content)) {
            let [frames, rows, columns] = file.shape();
            prop_assert!(frames * rows * columns <= 8 * content.len());
            let mut out = vec![0.0; rows * columns];
            for frame in 0..frames {
                let _ = file.read(frame..frame + 1, &mut out);
                let _ = file.frame_header(frame);
            }
            let _ = file.scan_shape();
        }
    }
}

/// Files of a detector, against CRC-32 of the arrays that rosettasciio reads.
#[test]
fn files_of_a_detector() {
    let zipped = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/formats/merlin/Merlin_navigation4x2_ROI.zip");
    let Ok(file) = std::fs::File::open(&zipped) else {
        let mut stderr = std::io::stderr();
        let _ = writeln!(
            stderr,
            "SKIPPED: files_of_a_detector: {} is absent",
            zipped.display()
        );
        return;
    };
    let mut archive = zip::ZipArchive::new(file).expect("a zip file");
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "001_4x2_6bit.hdr",
        "001_4x2_6bit.mib",
        "002_4x2_6bit_roi128.hdr",
        "002_4x2_6bit_roi128.mib",
    ] {
        let mut bytes = Vec::new();
        archive
            .by_name(name)
            .expect(name)
            .read_to_end(&mut bytes)
            .expect(name);
        std::fs::write(folder.path().join(name), bytes).expect(name);
    }
    for (name, rows, expected) in [
        ("001_4x2_6bit.mib", 256, 944_944_531),
        ("002_4x2_6bit_roi128.mib", 128, 4_260_481_171),
    ] {
        let file = MibFile::open(&folder.path().join(name)).expect(name);
        assert_eq!(file.shape(), [8, rows, 256]);
        assert_eq!(file.scan_shape(), Some([2, 4]));
        assert_eq!(checksum_of(&all_frames(&file)), expected, "{name}");
    }
}
