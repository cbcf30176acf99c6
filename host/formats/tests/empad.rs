//! EMPAD files: frames without their last two rows, scans of their XML files.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use warpstride_formats::empad::{EmpadFile, EmpadHeader};
use warpstride_formats::{FileError, FrameFile};

const STORED: usize = 130 * 128;
const IMAGE: usize = 128 * 128;

fn value(n: usize) -> f32 {
    (n % 977) as f32 * 0.25 - 3.0
}

fn write_raw(path: &Path, frames: usize) {
    let bytes: Vec<u8> = (0..frames * STORED)
        .flat_map(|n| value(n).to_le_bytes())
        .collect();
    std::fs::write(path, bytes).expect("a file");
}

fn xml(fast: &str, slow: &str, raw: &str) -> String {
    let mut text = "<root name=\"acquisition_1\"><type>scan</type>".to_owned();
    write!(
        text,
        "<pix_x>{fast}</pix_x><pix_y>{slow}</pix_y><raw_file filename=\"{raw}\"/>"
    )
    .expect("memory");
    text + "<iom_measurements><source.get_voltage>300000.0</source.get_voltage></iom_measurements></root>"
}

#[test]
fn frames_without_their_last_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scan.raw");
    write_raw(&path, 6);
    let file = EmpadFile::open(&path).expect("a file");
    assert_eq!(file.shape(), [6, 128, 128]);
    assert_eq!(file.scan_shape(), None);
    let mut out = vec![0.0; 2 * IMAGE];
    file.read(3..5, &mut out).expect("frames");
    for (n, found) in out.iter().enumerate() {
        assert_eq!(*found, value((3 + n / IMAGE) * STORED + n % IMAGE));
    }
    let mut double = vec![0.0; IMAGE];
    file.read_f64(5..6, &mut double).expect("a frame");
    assert_eq!(double[7], f64::from(value(5 * STORED + 7)));
}

#[test]
fn scans_of_xml_files() {
    let folder = tempfile::tempdir().expect("a folder");
    write_raw(&folder.path().join("a.raw"), 6);
    let path = folder.path().join("a.xml");
    let open = |text: &str| {
        std::fs::write(&path, text).expect("a file");
        EmpadFile::open(&path)
    };
    let file = open(&xml("3", "2", "a.raw")).expect("a scan");
    assert_eq!(file.scan_shape(), Some([2, 3]));
    assert_eq!(file.header().and_then(|header| header.voltage), Some(300e3));
    // Only the name in the file's own folder is used.
    assert!(open(&xml("3", "2", "/elsewhere/a.raw")).is_ok());
    // The raster of a scan whose frames are not all there.
    let aborted = open(&xml("3", "3", "a.raw")).expect("6 frames of 9");
    assert_eq!(
        (aborted.shape()[0], aborted.scan_shape()),
        (6, Some([3, 3]))
    );
    // By the name of its frames, too, unless two files name them.
    open(&xml("3", "2", "a.raw")).expect("a scan");
    let raw = folder.path().join("a.raw");
    let by_raw = || EmpadFile::open(&raw).expect("frames").scan_shape();
    assert_eq!(by_raw(), Some([2, 3]));
    let resolution = "<root><scan_parameters mode=\"search\"><scan_resolution_x>9</scan_resolution_x></scan_parameters><scan_parameters mode=\"acquire\"><scan_resolution_y>1</scan_resolution_y><scan_resolution_x>6</scan_resolution_x></scan_parameters><raw_file filename=\"a.raw\"/></root>";
    open(resolution).expect("a scan");
    assert_eq!(by_raw(), Some([1, 6]));
    std::fs::write(folder.path().join("b.xml"), resolution).expect("a file");
    assert_eq!(by_raw(), None);
    for (fast, slow, raw) in [
        ("0", "2", "a.raw"),
        ("x", "2", "a.raw"),
        ("3", "2", ".."),
        ("3", "2", "b.raw"),
    ] {
        assert!(open(&xml(fast, slow, raw)).is_err());
    }
    assert!(open(&xml("99999999999999999999", "3", "a.raw")).is_err());
    assert!(open("<root><raw_file filename=\"a.raw\"/>").is_err());
    assert!(open("").is_err());
}

#[test]
fn files_that_are_no_whole_frames_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.raw");
    for size in [0, 1, 4 * STORED - 1, 4 * STORED + 4] {
        std::fs::write(&path, vec![0; size]).expect("a file");
        assert!(
            matches!(EmpadFile::open(&path), Err(FileError::Format { .. })),
            "{size} bytes"
        );
    }
    assert!(matches!(
        EmpadFile::open(&folder.path().join("b.raw")),
        Err(FileError::Open { .. })
    ));
}

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/formats")
        .join(name);
    if path.is_file() {
        return Some(path);
    }
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "SKIPPED: {} is absent", path.display());
    None
}

/// The header of a detector, as rosettasciio takes its scan.
#[test]
fn header_of_a_detector() {
    let Some(path) = shared("empad-map4x4.xml") else {
        return;
    };
    let header = EmpadHeader::read(&path).expect("a header");
    assert_eq!(header.scan_shape, Some([4, 4]));
    assert_eq!(header.raw_file, "scan_x4_y4.raw");
    assert_eq!(header.voltage, Some(300e3));
    assert_eq!(header.camera_length, Some(0.7225));
    assert_eq!(header.scan_size, Some(0.55));
    assert_eq!(header.field_of_view, Some([4.566_342_650_568_219_5e-6; 2]));
    // All frames of such a scan.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("a.xml");
    std::fs::copy(&path, &copy).expect("a copy");
    write_raw(&folder.path().join("scan_x4_y4.raw"), 16);
    assert_eq!(
        EmpadFile::open(&copy).expect("a scan").shape(),
        [16, 128, 128]
    );
}

/// A corner of a scan that the folder also has as a NumPy array of 160 x 160 pixels, of which the
/// file has the middle.
#[test]
fn counts_are_those_of_the_array() {
    let (Some(path), Some(array)) = (shared("rota-6x6-empad.raw"), shared("rota-6x6.npy")) else {
        return;
    };
    let file = EmpadFile::open(&path).expect("a file");
    assert_eq!(file.shape(), [36, 128, 128]);
    let array = std::fs::read(array).expect("an array");
    let counts = &array[array.len() - 36 * 160 * 160..];
    let mut out = vec![0.0; 36 * IMAGE];
    file.read(0..36, &mut out).expect("frames");
    for (n, found) in out.iter().enumerate() {
        let (frame, row, column) = (n / IMAGE, n % IMAGE / 128, n % 128);
        assert_eq!(
            *found,
            f32::from(counts[(frame * 160 + row + 16) * 160 + column + 16])
        );
    }
}
