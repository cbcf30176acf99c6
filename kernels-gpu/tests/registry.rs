//! The registry names every kernel: the list is written by hand, so it is compared with the entries
//! of the built PTX.

use std::fs;
use std::path::Path;

#[test]
fn registry_is_complete() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx");
    for (file, arch) in [("warpstride_sm80.ptx", 80), ("warpstride_sm90.ptx", 90)] {
        let text = fs::read_to_string(folder.join(file)).expect("built PTX");
        let mut built: Vec<&str> = text
            .split(".entry ")
            .skip(1)
            .map(|entry| entry[..entry.find('(').expect("its arguments")].trim())
            .collect();
        built.sort_unstable();
        let mut listed: Vec<_> = warpstride_kernels::registry()
            .iter()
            .filter(|info| info.min_arch <= arch)
            .map(|info| info.entry)
            .collect();
        listed.sort_unstable();
        assert!(!listed.is_empty());
        assert_eq!(built, listed, "{file}");
    }
}
