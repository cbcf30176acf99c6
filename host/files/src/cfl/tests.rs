use super::*;
use proptest::prelude::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A pair of files; no header if `header` is `None`.
    fn pair(&self, header: Option<&[u8]>, data: &[u8]) -> PathBuf {
        let path = self.0.path().join("a.cfl");
        std::fs::write(&path, data).unwrap();
        if let Some(header) = header {
            std::fs::write(header_path(&path), header).unwrap();
        }
        path
    }

    fn refusal(&self, header: &[u8], data: &[u8]) -> String {
        let path = self.pair(Some(header), data);
        CflFile::open(&path).unwrap_err().to_string()
    }
}

fn dimensions(of: &[usize]) -> [usize; DIMENSIONS] {
    let mut all = [1; DIMENSIONS];
    all[..of.len()].copy_from_slice(of);
    all
}

/// The bytes of numbers, written down by hand from the description of the format.
#[test]
fn the_first_dimension_runs_fastest_and_other_sections_are_ignored() {
    let folder = Folder::new();
    let header = b"# Command\ncopy \xff a\n# Dimensions\n2 3 1 \n# Creator\na program\n";
    let mut data = Vec::new();
    for number in 0..6_u8 {
        data.extend(f32::from(number).to_le_bytes());
        data.extend((-0.5_f32).to_le_bytes());
    }
    let mut file = CflFile::open(&folder.pair(Some(header), &data)).unwrap();
    assert_eq!((file.shape(), file.count()), (&[2, 3][..], 6));
    let array = file.read_reversed(3, Memory::available()).unwrap();
    assert_eq!(array.shape(), [1, 3, 2]);
    assert_eq!(array[[0, 2, 1]], Complex::new(5.0, -0.5));
    assert_eq!(array[[0, 1, 0]], Complex::new(2.0, -0.5));
    let mut part = Vec::new();
    file.read(4, 2, |v| part.push(v.re)).unwrap();
    assert_eq!(part, [4.0, 5.0]);
    assert!(file.read(5, 2, |_| ()).is_err());
}

#[test]
fn what_is_written_is_read_back_to_the_bit() {
    let folder = Folder::new();
    let path = folder.0.path().join("b.cfl");
    let values = [0.1_f32, -0.0, f32::MIN_POSITIVE, 3e38, 1.0, 7.5];
    let values: Vec<Complex<f32>> = values.iter().map(|v| Complex::new(*v, -*v)).collect();
    let sides = dimensions(&[3, 1, 2]);
    write(&path, &sides, values.iter().copied().map(widened)).unwrap();
    let text = std::fs::read_to_string(header_path(&path)).unwrap();
    assert_eq!(text, "# Dimensions\n3 1 2 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
    let mut file = CflFile::open(&path).unwrap();
    assert_eq!(file.dimensions(), &sides);
    let mut found = Vec::new();
    file.read(0, 6, |v| found.push(v)).unwrap();
    let bits = |all: &[Complex<f32>]| -> Vec<[u32; 2]> {
        all.iter()
            .map(|v| [v.re.to_bits(), v.im.to_bits()])
            .collect()
    };
    assert_eq!(bits(&found), bits(&values));
}

#[test]
fn headers_that_are_wrong_are_refused_before_memory_is_taken() {
    let folder = Folder::new();
    for (header, words) in [
        (&b""[..], "found no such line"),
        (b"# Dimensions", "found none"),
        (b"# Dimensions\n\n2", "found none"),
        (b"# Dimensions\n-4 2\n", "found -4"),
        (b"# Dimensions\n0 2\n", "found 0"),
        (b"# Dimensions\n2.5\n", "found 2.5"),
        (b"# Dimensions\n99999999999999999999999\n", "found 9999999"),
        (
            b"# Dimensions\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
            "more than 16",
        ),
        (
            b"# Dimensions\n4294967296 4294967296 4294967296\n",
            "memory can address",
        ),
        (b"# Dimensions\n1000000000 100\n", "800000000000 bytes"),
        (
            b"# Dimensions\n1000000000 1000000000\n",
            "memory can address",
        ),
        (b"# Dimensions\n3\n", "expected 24 bytes"),
        (b"# Dimensions\n1\n", "expected 8 bytes"),
    ] {
        let text = folder.refusal(header, &[0; 16]);
        assert!(text.contains(words) && !text.contains('\n'), "{text}");
    }
    // A line of ten million numbers.
    let mut long = b"# Dimensions\n".to_vec();
    long.resize(20_000_000, b'1');
    assert!(folder.refusal(&long, &[0; 16]).contains("a.hdr"));
    let other = Folder::new();
    let path = other.pair(None, &[0; 16]);
    let text = CflFile::open(&path).unwrap_err().to_string();
    assert!(
        text.contains("a.hdr: cannot be read") && text.contains("a.cfl"),
        "{text}"
    );
    let path = folder.pair(Some(b"# Dimensions\n2\n"), &[0; 16]);
    let mut file = CflFile::open(&path).unwrap();
    assert!(file.read_reversed(1, Memory::limited(31)).is_err());
    assert!(file.read_reversed(1, Memory::limited(32)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_header_is_read_or_refused(
        numbers in prop::collection::vec(prop_oneof![4 => 0_i64..5, 1 => any::<i64>()], 0..18),
        data in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let folder = Folder::new();
        let text: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let header = format!("# Dimensions\n{}\n", text.join(" "));
        let path = folder.pair(Some(header.as_bytes()), &data);
        match CflFile::open(&path) {
            Ok(mut file) => {
                prop_assert_eq!(8 * file.count(), data.len());
                prop_assert!(file.read_reversed(3, Memory::limited(1 << 20)).is_ok());
            }
            Err(e) => prop_assert!(!e.to_string().contains('\n')),
        }
    }
}

#[test]
fn a_header_names_the_array_beside_it() {
    let folder = Folder::new();
    let path = folder.pair(Some(b"# Dimensions\n1\n"), &[0; 8]);
    assert_eq!(array_of(header_path(&path)), path);
    let alone = folder.0.path().join("b.hdr");
    assert_eq!(array_of(alone.clone()), alone);
}
