//! Attributes with strings that claim to be longer than any memory.

use super::*;

fn data(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/linked");
    std::fs::read(folder.join(name)).unwrap()
}

fn text(bytes: &[u8], path: &str, name: &str) -> Result<Option<Vec<String>>, IoError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.h5");
    std::fs::write(&file, bytes).unwrap();
    let source = Source::open_with_links(&file, Memory::limited(8 << 20), Follow::Inside);
    source.unwrap().attribute_texts(path, name)
}

#[test]
fn texts_are_read() {
    for name in ["attributes-earliest.h5", "attributes-latest.h5"] {
        let bytes = data(name);
        let found = text(&bytes, "/", "several").unwrap().unwrap();
        assert_eq!(found, ["a", "fifth", "ab"], "{name}");
        let found = text(&bytes, "/many", "attribute_39").unwrap().unwrap();
        assert_eq!(found, ["x".repeat(40)], "{name}");
        assert_eq!(text(&bytes, "/", "none").unwrap(), None);
    }
}

#[test]
fn a_claimed_length_beyond_memory_is_refused() {
    for (name, path, attribute, length) in [
        ("attributes-earliest.h5", "/", "text", 11_u32),
        ("attributes-earliest.h5", "/many", "attribute_30", 31),
    ] {
        let mut bytes = data(name);
        let called = bytes
            .windows(attribute.len())
            .position(|w| w == attribute.as_bytes())
            .unwrap();
        let behind = &bytes[called..];
        let at = called
            + behind
                .windows(4)
                .position(|w| w == length.to_le_bytes())
                .unwrap();
        for claimed in [1 << 20, u32::MAX] {
            bytes[at..at + 4].copy_from_slice(&claimed.to_le_bytes());
            let error = text(&bytes, path, attribute).unwrap_err().to_string();
            let expected = format!("claims {claimed} bytes");
            assert!(
                error.contains(&expected) && error.contains(attribute),
                "{error}"
            );
        }
    }
}
