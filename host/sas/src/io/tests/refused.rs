//! Files of other formats, files that are too large and random files cause an error of one
//! sentence, never a panic.

use super::*;
use proptest::prelude::*;

#[test]
fn files_of_other_formats_are_refused() {
    let plain = ReadOptions::default();
    let text = refused(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &plain);
    assert!(text.contains("binary"), "{text}");
    let text = refused(&[0xfe; 4000], &plain);
    assert!(text.contains("binary"), "{text}");
    let text = refused(b"\x89HDF\r\n\x1a\nand no more", &plain);
    assert!(text.contains("HDF5"), "{text}");
    assert_refused("<?xml version=\"1.0\"?><html/>", &["<html>", "SASroot"]);
    let text = read(Path::new("/nonexistent/a"), &plain)
        .unwrap_err()
        .to_string();
    assert!(text.contains("cannot be read"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let text = read(folder.path(), &plain).unwrap_err().to_string();
    assert!(text.contains("folder"), "{text}");
    let image = "Qx Qy I\n-0.1 -0.1 1\n0.1 0.1 1\n";
    let (_folder, path) = temporary(image.as_bytes());
    assert!(matches!(read(&path, &plain), Ok(Scattering::Image(_))));
    let two = ReadOptions {
        kind: Some(Kind::Image),
        ..ReadOptions::default()
    };
    let text = refused(b"0.1 1\n0.2 2\n", &two);
    assert!(text.contains("number of columns: expected"), "{text}");
    assert!(text.ends_with("found 2"), "{text}");
    let xml = entry("<Idata><Q unit=\"1/A\">0.1</Q><I unit=\"1/cm\">1</I></Idata>");
    let text = refused(xml.as_bytes(), &two);
    assert!(
        text.contains("an image") && text.contains("a curve"),
        "{text}"
    );
}

/// More than can be looked at in their first part.
#[test]
fn long_texts_begin_with_their_rows() {
    let letters = "no number at all\n".repeat(100_000);
    assert_refused(&letters, &["no line with two or more numbers"]);
    assert_refused(
        &"1.5\n".repeat(400_000),
        &["the number of columns", "found 1"],
    );
    assert_refused(&"1 ".repeat(1 << 20), &["no line with two or more numbers"]);
    let rows: String = (1..100_000)
        .map(|row| format!("{:.6e} {:.6e}\n", f64::from(row) * 1e-6, 1.0))
        .collect();
    let text = format!("q I\n{rows}");
    assert!(text.len() > START_BYTES as usize);
    assert_eq!(curve_from(&text).q.len(), 99_999);
    let xml = format!("<?xml version=\"1.0\"?><SASroot>{}", "<a/>".repeat(8 << 20));
    assert_refused(&xml, &["bytes of XML", "at most 33554432"]);
    let xml = format!(
        "<?xml version=\"1.0\"?><SASroot>{}</SASroot>",
        "<a/>".repeat(1 << 20)
    );
    assert_refused(&xml, &["not well-formed", "limit"]);
}

#[test]
fn memory_is_checked_before_it_is_allocated() {
    let (_folder, path) = temporary("0.1 1\n".repeat(20_000).as_bytes());
    for limit in [1000, 300_000] {
        let text = read_within(&path, &ReadOptions::default(), Memory::limited(limit))
            .unwrap_err()
            .to_string();
        assert!(text.contains("memory"), "{text}");
    }
    let xml = entry(&"<a/>".repeat(20_000));
    let (_folder, path) = temporary(xml.as_bytes());
    let text = read_within(&path, &ReadOptions::default(), Memory::limited(1 << 20))
        .unwrap_err()
        .to_string();
    assert!(text.contains("memory"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Well-formed files with unusual contents are read or refused. The fuzz targets test this for
    /// longer.
    #[test]
    fn hostile_files_are_read_or_refused(bytes in proptest::collection::vec(0_u8..64, 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let limit = Memory::limited(8 << 20);
        let plain = ReadOptions::default();
        let check = || {
            if let Err(e) = read_within(&path, &plain, limit) {
                let text = e.to_string();
                assert!(!text.is_empty() && !text.contains('\n'), "{text}");
            }
        };
        std::fs::write(&path, scattering::xml(&bytes)).unwrap();
        check();
        if scattering::build(&path, &bytes).is_ok() {
            check();
        }
    }
}
