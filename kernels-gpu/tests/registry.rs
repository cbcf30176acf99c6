//! The registries list every kernel of the built PTX and no other, with the launch bounds that it states.
//!
//! The lists are written by hand, and the device linker reads kernels from bitcode without them: this test compares
//! the two.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use warpstride_device::launch::KernelInfo;

/// What a text states of a kernel: its block, its minimum of blocks, and the blocks of its cluster.
type Bounds = ([u32; 3], u32, u32);

fn built(file: &str) -> BTreeMap<String, Bounds> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx").join(file);
    let text = fs::read_to_string(path).expect("built PTX");
    let mut kernels = BTreeMap::new();
    for entry in text.split(".entry ").skip(1) {
        let header = entry.split("\n{").next().expect("a header");
        let stated = |directive: &str| -> Option<Vec<u32>> {
            let code = |line: &'_ str| line.split("//").next().map(str::trim).map(str::to_owned);
            let line = header
                .lines()
                .filter_map(code)
                .find(|line| line.starts_with(directive))?;
            let numbers = line[directive.len()..].split(',');
            Some(
                numbers
                    .map(|number| number.trim().parse().expect("a number"))
                    .collect(),
            )
        };
        let mut block = [1; 3];
        for (extent, number) in block.iter_mut().zip(stated(".maxntid").expect("a block")) {
            *extent = number;
        }
        let min_blocks = stated(".minnctapersm").map_or(0, |numbers| numbers[0]);
        let cluster = stated(".reqnctapercluster").map_or(1, |numbers| numbers[0]);
        let name = entry.split('(').next().expect("a name").trim().to_owned();
        assert!(kernels.insert(name, (block, min_blocks, cluster)).is_none());
    }
    kernels
}

/// The kernels of a text for sm_80.
fn registered(kernels: &[KernelInfo]) -> BTreeMap<String, Bounds> {
    registered_if(kernels, |min_arch| min_arch <= 80)
}

/// The kernels that only a text for a later architecture has.
#[cfg(feature = "ptycho")]
fn only_later(kernels: &[KernelInfo]) -> BTreeMap<String, Bounds> {
    registered_if(kernels, |min_arch| min_arch > 80)
}

fn registered_if(kernels: &[KernelInfo], takes: fn(u32) -> bool) -> BTreeMap<String, Bounds> {
    let bounds = |info: &KernelInfo| (info.block, info.min_blocks, info.cluster);
    kernels
        .iter()
        .filter(|info| takes(info.min_arch))
        .map(|info| (info.entry.to_owned(), bounds(info)))
        .collect()
}

#[cfg(feature = "fft")]
#[test]
fn fft_is_complete() {
    assert_eq!(
        built("fft.ptx"),
        registered(warpstride_kernels::fft::registry())
    );
}

#[cfg(feature = "jacobi")]
#[test]
fn jacobi_is_complete() {
    assert_eq!(
        built("jacobi.ptx"),
        registered(warpstride_kernels::jacobi::registry())
    );
}

#[cfg(feature = "mri")]
#[test]
fn mri_is_complete() {
    assert_eq!(
        built("mri.ptx"),
        registered(warpstride_kernels::mri::registry())
    );
}

#[cfg(feature = "ptycho")]
#[test]
fn ptycho_is_complete() {
    let all = registered(warpstride_kernels::ptycho::registry());
    assert_eq!(built("ptycho.ptx"), all);
    let later = only_later(warpstride_kernels::ptycho::registry());
    let newest = built("ptycho_sm90.ptx");
    assert!(newest.len() > later.len(), "none is faster");
    for (entry, bounds) in &newest {
        let expected = all.get(entry).or(later.get(entry));
        assert_eq!(expected, Some(bounds), "{entry}");
    }
    for entry in later.keys() {
        assert!(newest.contains_key(entry), "{entry}");
    }
}

#[cfg(feature = "sas")]
#[test]
fn sas_is_complete() {
    assert_eq!(
        built("sas.ptx"),
        registered(warpstride_kernels::sas::registry())
    );
}

#[cfg(feature = "series")]
#[test]
fn series_is_complete() {
    assert_eq!(
        built("series.ptx"),
        registered(warpstride_kernels::series::registry())
    );
}

#[test]
fn names_are_unique_and_begin_with_their_science() {
    let all = warpstride_kernels::registry();
    let mut names: Vec<&str> = all.iter().map(|info| info.entry).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    let prefixes = ["fft_", "jacobi_", "mri_", "ptycho_", "sas_", "series_"];
    for name in names {
        assert!(
            prefixes.iter().any(|prefix| name.starts_with(prefix)),
            "{name}"
        );
    }
}

/// `lib.rs` leaves the other sciences out of the build of the unit tests, so a test there would never run.
#[test]
fn only_the_time_series_have_unit_tests() {
    let mut folders: Vec<_> = ["fft", "jacobi", "mri", "ptycho", "sas"]
        .map(|science| {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("src")
                .join(science)
        })
        .into();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("a source file");
                assert!(!text.contains("cfg(test)"), "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 100, "{files} files");
}
