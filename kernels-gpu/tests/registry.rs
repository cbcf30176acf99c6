//! The registry names every kernel of the sources: the attribute and the list are written by hand
//! in two places, so the sources are read here as text.

use std::fs;
use std::path::Path;

fn kernels_in(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the source folder") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() {
            kernels_in(&path, names);
        } else {
            let text = fs::read_to_string(&path).expect("a source file");
            for kernel in text.split("\n#[kernel(").skip(1) {
                let (_, signature) = kernel.split_once("pub unsafe fn ").expect("a kernel");
                names.push(signature[..signature.find('(').expect("its arguments")].to_owned());
            }
        }
    }
}

#[test]
fn registry_is_complete() {
    let mut in_sources = Vec::new();
    kernels_in(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut in_sources,
    );
    in_sources.sort();
    let mut listed: Vec<_> = warpstride_kernels::registry()
        .iter()
        .map(|info| info.entry)
        .collect();
    listed.sort_unstable();
    assert!(!listed.is_empty());
    assert_eq!(in_sources, listed);
}
