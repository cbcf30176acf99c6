//! NumPy arrays that NumPy wrote (`write_numpy.py`), whole and damaged.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use warpstride_formats::numpy::NumpyFile;
use warpstride_formats::{Element, FileError, FrameFile};

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors/numpy")
        .join(name)
}

/// Element `n` of an array.
fn expected(n: usize, element: Element) -> f64 {
    let value = ((n * 7 + n / 5) % 251) as f64;
    match element {
        Element::Unsigned(_) => value,
        Element::Bool => f64::from(u8::from(value > 100.0)),
        Element::Signed(8) => ((value - 100.0) / 2.0).floor(),
        _ => value - 100.0,
    }
}

/// Compares all frames and each frame alone with the formula.
fn check(file: &NumpyFile, name: &str) {
    let [frames, rows, columns] = file.shape();
    let mut double = vec![0.0; frames * rows * columns];
    file.read_f64(0..frames, &mut double).expect(name);
    for (n, found) in double.iter().enumerate() {
        assert_eq!(*found, expected(n, file.element()), "{name}, element {n}");
    }
    for frame in (0..frames).rev() {
        let mut single = vec![0.0; rows * columns];
        file.read(frame..frame + 1, &mut single).expect(name);
        let same = single.iter().zip(&double[frame * rows * columns..]);
        assert!(
            same.into_iter()
                .all(|(single, double)| f64::from(*single) == *double),
            "{name}"
        );
    }
}

#[test]
fn arrays_of_all_types() {
    use Element::{Bool, Float, Signed, Unsigned};
    for (name, element) in [
        ("u1", Unsigned(8)),
        ("i1", Signed(8)),
        ("le-u2", Unsigned(16)),
        ("be-u2", Unsigned(16)),
        ("le-i2", Signed(16)),
        ("le-u4", Unsigned(32)),
        ("be-i4", Signed(32)),
        ("le-i8", Signed(64)),
        ("le-u8", Unsigned(64)),
        ("bool", Bool),
        ("be-f2", Float(16)),
        ("le-f4", Float(32)),
        ("be-f4", Float(32)),
        ("le-f8", Float(64)),
        ("fortran", Unsigned(16)),
    ] {
        let file = NumpyFile::open(&vector(&format!("{name}.npy"))).expect(name);
        assert_eq!(
            (file.shape(), file.scan_shape(), file.element()),
            ([3, 4, 5], None, element)
        );
        check(&file, name);
    }
}

#[test]
fn integers_of_64_bits_are_rounded_in_double_precision() {
    let file = NumpyFile::open(&vector("largest.npy")).expect("an array");
    let mut double = [0.0; 4];
    file.read_f64(0..1, &mut double).expect("counts");
    let rounded = [0.0, 16_777_217.0, 2_f64.powi(63), 2_f64.powi(64)];
    assert_eq!(double, rounded);
    let inexact = file.read(0..1, &mut [0.0; 4]).expect_err("an error");
    let text = inexact.to_string();
    assert!(
        text.contains("column 1") && text.contains("found 16777217"),
        "{text}"
    );
}

#[test]
fn an_array_of_two_axes_may_be_one_frame() {
    let one = NumpyFile::open_frames_or_one(&vector("rank-2.npy")).expect("a frame");
    assert_eq!(one.shape(), [1, 4, 5]);
    check(&one, "rank-2");
    // Columns follow one another, and the file has another array without axes.
    let mask = NumpyFile::open_frames_or_one(&vector("plane.npz")).expect("a mask");
    assert_eq!((mask.shape(), mask.element()), ([1, 4, 5], Element::Bool));
    check(&mask, "plane");
    // Frames come before an array of two axes.
    let frames = NumpyFile::open_frames_or_one(&vector("stored.npz")).expect("frames");
    assert_eq!(frames.shape(), [6, 4, 5]);
}

#[test]
fn four_axes_are_a_scan() {
    let file = NumpyFile::open(&vector("rank-4.npy")).expect("an array");
    assert_eq!((file.shape(), file.scan_shape()), ([6, 4, 5], Some([2, 3])));
    check(&file, "rank-4");
}

/// A compressed array whose CRC-32 is not that of the file is refused when its last frame is read.
#[test]
fn damaged_arrays_of_npz_files_are_refused() {
    let bytes = std::fs::read(vector("compressed.npz")).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).unwrap();
    let crc = archive.by_index(0).unwrap().crc32();
    let mut damaged = bytes.clone();
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == crc.to_le_bytes() {
            damaged[at] ^= 1;
        }
    }
    assert_ne!(damaged, bytes);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.npz");
    std::fs::write(&path, damaged).unwrap();
    let file = NumpyFile::open(&path).unwrap();
    let [frames, rows, columns] = file.shape();
    let mut out = vec![0.0; frames * rows * columns];
    let part = rows * columns;
    assert_eq!(file.read(0..1, &mut out[..part]), Ok(()));
    let error = file.read(0..frames, &mut out).unwrap_err().to_string();
    assert!(
        error.contains("CRC-32") && error.contains("damaged.npz"),
        "{error}"
    );
}

#[test]
fn arrays_of_npz_files() {
    for (name, scan) in [
        ("stored.npz", None),
        ("compressed.npz", Some([2, 3])),
        ("fortran.npz", Some([2, 3])),
    ] {
        let file = NumpyFile::open(&vector(name)).expect(name);
        assert_eq!((file.shape(), file.scan_shape()), ([6, 4, 5], scan));
        check(&file, name);
    }
    for (name, frames) in [("first", 6), ("second", 3)] {
        let file = NumpyFile::open_array(&vector("two.npz"), name).expect(name);
        assert_eq!(file.shape(), [frames, 4, 5]);
        check(&file, name);
    }
}

#[test]
fn other_arrays_are_refused() {
    let refused = |name: &str| NumpyFile::open(&vector(name)).expect_err(name).to_string();
    for (name, reason) in [
        ("two.npz", "several: first [6, 4, 5], second [3, 4, 5]"),
        ("rank-2.npy", "found the shape [4, 5]"),
        ("complex.npy", "found '<c8'"),
    ] {
        assert!(refused(name).contains(reason), "{}", refused(name));
    }
    let absent = NumpyFile::open_array(&vector("two.npz"), "third");
    assert!(matches!(absent, Err(FileError::Format { .. })));
}

/// An array of a scan that the folder has, whose frames are as many as its positions.
#[test]
fn an_array_of_a_scan() {
    use std::io::Write as _;
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/formats/rota-6x6.npy");
    if !path.is_file() {
        let mut stderr = std::io::stderr();
        let _ = writeln!(
            stderr,
            "SKIPPED: an_array_of_a_scan: {} is absent",
            path.display()
        );
        return;
    }
    let file = NumpyFile::open(&path).expect("an array");
    assert_eq!(
        (file.shape(), file.scan_shape()),
        ([36, 160, 160], Some([6, 6]))
    );
    let mut counts = vec![0.0; 36 * 160 * 160];
    file.read(0..36, &mut counts).expect("counts");
    // The sum and the largest count that NumPy finds.
    assert_eq!(
        counts.iter().map(|count| f64::from(*count)).sum::<f64>(),
        2_969_016.0
    );
    assert_eq!(counts.iter().copied().fold(0.0, f32::max), 22.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_files_never_panic(
        which in prop::sample::select(vec!["le-u2.npy", "rank-4.npy", "fortran.npy", "stored.npz", "compressed.npz", "fortran.npz", "two.npz"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = std::fs::read(vector(which)).expect("a file");
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(which);
        std::fs::write(&path, &bytes).expect("a file");
        for file in [NumpyFile::open(&path), NumpyFile::open_array(&path, "frames")].into_iter().flatten() {
            let [frames, rows, columns] = file.shape();
            prop_assert!(frames * rows * columns <= 1040 * bytes.len());
            let mut out = vec![0.0; rows * columns];
            let _ = file.read(frames - 1..frames, &mut out);
        }
    }
}

/// Opening a pipe would wait for a program that writes to it.
#[test]
fn pipes_and_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["npy", "npz", "mib", "raw", "xml", "tif"] {
        let path = folder.path().join(format!("pipe.{ending}"));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let error = warpstride_formats::open(&path).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}
