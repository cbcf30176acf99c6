//! TIFF stacks that tifffile wrote (`write_tiff.py`), whole and damaged.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use warpstride_formats::tiff_stack::TiffStack;
use warpstride_formats::{Element, FileError, FrameFile};

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/tiff/{name}.tif"))
}

/// Name, type, rows, columns.
const STACKS: [(&str, Element, usize, usize); 11] = [
    ("u8", Element::Unsigned(8), 13, 21),
    ("u16-big-endian", Element::Unsigned(16), 13, 21),
    ("u32-deflate-strips", Element::Unsigned(32), 40, 21),
    ("i16-lzw", Element::Signed(16), 13, 21),
    ("i32-tiles", Element::Signed(32), 40, 50),
    ("i8", Element::Signed(8), 13, 21),
    ("f32-tiles-deflate", Element::Float(32), 40, 50),
    ("f64", Element::Float(64), 13, 21),
    ("u16-predictor", Element::Unsigned(16), 13, 21),
    ("u16-zstd", Element::Unsigned(16), 13, 21),
    ("u8-packbits", Element::Unsigned(8), 13, 21),
];

#[test]
fn values_are_those_that_were_written() {
    for (name, element, rows, columns) in STACKS {
        let file = TiffStack::open(&vector(name)).expect(name);
        assert_eq!(file.shape(), [3, rows, columns], "{name}");
        assert_eq!(file.element(), element, "{name}");
        let offset = if matches!(element, Element::Unsigned(_)) {
            0
        } else {
            125
        };
        // Backwards: any frame can be read at any time.
        for frame in (0..3).rev() {
            let mut single = vec![0.0; rows * columns];
            let mut double = vec![0.0; rows * columns];
            file.read(frame..frame + 1, &mut single).expect(name);
            file.read_f64(frame..frame + 1, &mut double).expect(name);
            for (n, (single, double)) in single.iter().zip(&double).enumerate() {
                let expected = (frame * 131 + n / columns * 17 + n % columns * 3) % 251;
                assert_eq!(*double, expected as f64 - f64::from(offset), "{name}");
                assert_eq!(f64::from(*single), *double, "{name}");
            }
        }
    }
}

#[test]
fn several_threads_read_at_once() {
    let file = TiffStack::open(&vector("u32-deflate-strips")).expect("a file");
    let read = |frames: std::ops::Range<usize>| {
        let mut out = vec![0.0; frames.len() * 40 * 21];
        file.read(frames, &mut out).expect("frames");
        out
    };
    let all = read(0..3);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|n| scope.spawn(move || (n % 3, read(n % 3..n % 3 + 1))))
            .collect();
        for thread in threads {
            let (frame, found) = thread.join().expect("no panic");
            assert_eq!(found, all[frame * 840..(frame + 1) * 840]);
        }
    });
}

#[test]
fn other_images_are_refused() {
    let refused = |name: &str| TiffStack::open(&vector(name)).expect_err(name).to_string();
    assert!(
        refused("imagej").contains("each of the 3 frames"),
        "{}",
        refused("imagej")
    );
    assert!(
        refused("different").contains("5 x 8 pixels"),
        "{}",
        refused("different")
    );
    assert!(refused("colour").contains("RGB"), "{}", refused("colour"));
    assert!(matches!(
        TiffStack::open(&vector("absent")),
        Err(FileError::Open { .. })
    ));
}

#[test]
fn broken_files_are_described_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tif");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a file");
        let read = TiffStack::open(&path).and_then(|file| {
            let [_, rows, columns] = file.shape();
            file.read(0..1, &mut vec![0.0; rows * columns])
        });
        read.expect_err("broken").to_string()
    };
    let whole = std::fs::read(vector("u8")).expect("a file");
    let offset = |of: u8| {
        // The tag with this number, little-endian, and its value.
        let at = whole.windows(4).position(|tag| tag == [of, 1, 4, 0]);
        at.unwrap_or_else(|| panic!("no tag {of}")) + 8
    };
    let with = |at: usize, value: u32| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    for (bytes, said) in [
        (
            b"no TIFF at all".to_vec(),
            "expected a TIFF file, which begins with II or MM",
        ),
        (b"II*\0\0\0\0\0".to_vec(), "images are complete, found "),
        (
            whole[..6].to_vec(),
            "header or tags of image 0 beyond the end of the file",
        ),
        (
            with(4, 1 << 30),
            "header or tags of image 0 beyond the end of the file",
        ),
        (
            with(offset(17), 1 << 30),
            "pixels of image 0 beyond the end of the file",
        ),
    ] {
        let error = refused(&bytes);
        assert!(error.contains(said) && error.contains("a.tif"), "{error}");
        assert!(!error.contains("rror") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn truncated_files_never_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tif");
    for (name, _, rows, columns) in STACKS {
        let whole = std::fs::read(vector(name)).expect(name);
        for length in (0..whole.len()).step_by(97) {
            std::fs::write(&path, &whole[..length]).expect("a file");
            if let Ok(file) = TiffStack::open(&path) {
                let mut out = vec![0.0; rows * columns];
                let _ = file.read(0..1, &mut out);
                let _ = file.read(2..3, &mut out);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_files_never_panic(
        which in 0_usize..STACKS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        from_end in any::<bool>(),
    ) {
        let mut bytes = std::fs::read(vector(STACKS[which].0)).expect("a file");
        let length = bytes.len().min(300);
        for (at, value) in changes {
            let at = at.index(length);
            let at = if from_end { bytes.len() - 1 - at } else { at };
            bytes[at] = value;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tif");
        std::fs::write(&path, bytes).expect("a file");
        if let Ok(file) = TiffStack::open(&path) {
            let [frames, rows, columns] = file.shape();
            if rows * columns < 1 << 20 {
                let mut out = vec![0.0; rows * columns];
                for frame in 0..frames.min(4) {
                    let _ = file.read(frame..frame + 1, &mut out);
                }
            }
        }
    }
}
