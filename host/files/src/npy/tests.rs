use super::*;
use ndarray::array;
use proptest::prelude::*;
use std::path::PathBuf;

/// What NumPy's `save` writes for `np.array([[1, 2, 3], [4, 5, 6]], dtype="f4")`.
const BY_NUMPY: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \n\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xc0@";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join("a.npy");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// A file with the given header and data.
fn image(version: u8, entries: &str, data: &[u8]) -> Vec<u8> {
    let length = entries.len() as u32;
    let field = &length.to_le_bytes()[..if version == 1 { 2 } else { 4 }];
    [
        b"\x93NUMPY".as_slice(),
        &[version, 0],
        field,
        entries.as_bytes(),
        data,
    ]
    .concat()
}

fn entries(kind: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

#[track_caller]
fn refused(bytes: &[u8], words: &[&str]) {
    let folder = Folder::new();
    let path = folder.file(bytes);
    let text = read::<f32>(&path).unwrap_err().to_string();
    assert_eq!(shape(&path).unwrap_err().to_string(), text);
    assert!(text.contains("a.npy: ") && !text.contains('\n'), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is missing: {text}");
    }
}

#[test]
fn a_file_written_by_numpy_is_read_and_rewritten_byte_for_byte() {
    let folder = Folder::new();
    let path = folder.file(BY_NUMPY);
    let expected = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(shape(&path).unwrap(), [2, 3]);
    assert_eq!(read::<f32>(&path).unwrap(), expected);
    assert_eq!(read::<f64>(&path).unwrap(), expected.mapv(f64::from));
    write(&path, expected.view()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), BY_NUMPY);
    // A view whose last axis is not the fastest is the same array.
    let transposed = expected.t().as_standard_layout().into_owned();
    write(&path, transposed.t()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), BY_NUMPY);
}

#[test]
fn byte_orders_storage_orders_and_versions_give_the_same_array() {
    let expected = array![[1.5_f64, -2.0, 1e300], [4.0, f64::MIN_POSITIVE, 0.1]];
    let folder = Folder::new();
    for (version, fortran, big) in [
        (1, false, false),
        (1, true, false),
        (2, false, true),
        (3, true, true),
    ] {
        let ordered: Vec<f64> = if fortran {
            expected.t().iter().copied().collect()
        } else {
            expected.iter().copied().collect()
        };
        let data: Vec<u8> = ordered
            .iter()
            .flat_map(|v| {
                if big {
                    v.to_be_bytes()
                } else {
                    v.to_le_bytes()
                }
            })
            .collect();
        let entries = entries(
            if big { ">f8" } else { "<f8" },
            if fortran { "True" } else { "False" },
            "(2, 3)",
        );
        let path = folder.file(&image(version, &entries, &data));
        assert_eq!(read::<f64>(&path).unwrap(), expected);
        let nearest = expected.mapv(|v| v as f32);
        assert_eq!(read::<f32>(&path).unwrap(), nearest);
    }
    let other = "{\"shape\":(1L,1,),\"descr\":'>f4','fortran_order':False}";
    let path = folder.file(&image(1, other, &3.5_f32.to_be_bytes()));
    assert_eq!(read::<f64>(&path).unwrap(), array![[3.5]]);
}

#[test]
fn an_array_longer_than_a_chunk_survives_a_round_trip_bit_for_bit() {
    let folder = Folder::new();
    let path = folder.0.path().join("b.npy");
    let field = Array2::from_shape_fn((5, CHUNK + 7), |(r, c)| (r as f64 + 0.1) * c as f64);
    write(&path, field.view()).unwrap();
    assert_eq!(read::<f64>(&path).unwrap(), field);
    write(&path, field.t()).unwrap();
    assert_eq!(read::<f64>(&path).unwrap(), field.t());
}

#[test]
fn errors_say_what_another_file_is() {
    refused(b"", &["expected a NumPy array", "ends within the header"]);
    refused(
        b"\x89HDF\r\n\x1a\n rest",
        &["does not begin with \\x93NUMPY"],
    );
    refused(&image(4, "{}", &[]), &["found version 4.0", "1.0 to 3.0"]);
    refused(&BY_NUMPY[..60], &["ends within the header"]);
    let whole = &entries("<f4", "False", "(2, 3)");
    refused(&image(1, whole, &[0; 23]), &["truncated", "copy it again"]);
    refused(
        &image(1, whole, &[0; 25]),
        &["found 1 bytes after it", "expected a file of one array"],
    );
    for kind in ["<i4", "<f2", "|O", "<c8", "", "é"] {
        let text = entries(kind, "False", "(2, 3)");
        refused(
            &image(3, &text, &[0; 24]),
            &["the element type: expected f32 or f64", "found", kind],
        );
    }
    let record =
        "{'descr': [('a', '<f4'), ('b', '<f4', (2,))], 'fortran_order': False, 'shape': (3,)}";
    refused(&image(1, record, &[0; 36]), &["a record", "f32 or f64"]);
    for (shape, found) in [
        ("()", "a single value"),
        ("(6,)", "shape 6"),
        ("(1, 2, 3)", "shape 1 x 2 x 3"),
    ] {
        let text = entries("<f4", "False", shape);
        refused(
            &image(1, &text, &[0; 24]),
            &["expected rank 2 (row, column), found", found],
        );
    }
}

#[test]
fn impossible_sizes_are_refused_before_anything_is_allocated() {
    let huge = usize::MAX.to_string();
    for shape in [
        format!("({huge}, 2)"),
        format!("({huge}, {huge})"),
        format!("({}, 1)", "9".repeat(400)),
        format!("({}, 1)", usize::MAX / 4),
    ] {
        let text = entries("<f4", "False", &shape);
        refused(&image(1, &text, &[0; 24]), &["memory can address"]);
    }
    let text = entries("<f4", "False", "(1000000, 1000000)");
    refused(&image(1, &text, &[0; 24]), &["truncated", "4000000000"]);
    // A header's length field is not trusted either.
    let claim = [b"\x93NUMPY\x02\x00".as_slice(), &u32::MAX.to_le_bytes()].concat();
    refused(
        &claim,
        &["found a header of 4294967295 bytes", "at most 10000"],
    );
    // A file of so many empty rows is as long as its header says.
    let text = entries("<f4", "False", &format!("({huge}, 0)"));
    let folder = Folder::new();
    assert!(read::<f32>(&folder.file(&image(1, &text, &[]))).is_err());

    let folder = Folder::new();
    let path = folder.file(BY_NUMPY);
    assert!(read_within::<f32>(&path, Memory::limited(24)).is_ok());
    let text = read_within::<f64>(&path, Memory::limited(24)).unwrap_err();
    assert!(
        text.to_string()
            .contains("48 bytes of memory, but 24 bytes"),
        "{text}"
    );
}

#[test]
fn headers_of_another_form_are_refused() {
    let deep = "[".repeat(9000);
    for header in [
        "",
        "{",
        "}",
        "[]",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} and more",
        &deep,
        &format!("{{'descr': {deep}"),
    ] {
        refused(
            &image(1, header, &[0; 24]),
            &["expected a NumPy array", "header"],
        );
    }
    let mut bytes = BY_NUMPY.to_vec();
    bytes[20] = 0xFF;
    refused(&bytes, &["a header that is not UTF-8 text"]);
}

#[test]
fn folders_and_missing_files_are_refused() {
    let folder = Folder::new();
    let text = read::<f32>(folder.0.path()).unwrap_err().to_string();
    assert!(text.contains("not a regular file"), "{text}");
    let text = read::<f32>(&folder.0.path().join("b")).unwrap_err();
    assert!(matches!(text, IoError::Open { .. }));
}

proptest! {
    /// The reader returns for any header.
    #[test]
    fn any_header_is_read_or_refused(
        header in "[{}()\\[\\]',:0-9<>f48LTrueFals _descrhapo]{0,120}",
        data in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let folder = Folder::new();
        let path = folder.file(&image(1, &header, &data));
        if let Ok(found) = read_within::<f64>(&path, Memory::limited(1 << 20)) {
            prop_assert!(found.len() * 4 <= data.len());
        }
    }
}
