use super::*;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../files/tests/data/linked")
        .join(name)
}

/// The links of the group `path`.
fn links(structure: &mut Structure, path: &[&str]) -> BTreeMap<String, LinkTarget> {
    let mut links = structure.links(structure.root()).unwrap();
    for name in path {
        let LinkTarget::Hard(address) = links[*name] else {
            panic!("{name} is no hard link");
        };
        links = structure.links(address).unwrap();
    }
    links
}

fn external(file: &str, path: &str) -> LinkTarget {
    LinkTarget::External {
        file: file.to_owned(),
        path: path.to_owned(),
    }
}

#[test]
fn links_of_groups_of_every_kind_are_read() {
    let soft = |path: &str| LinkTarget::Soft(path.to_owned());
    let mut file = Structure::open(&data("links.h5")).unwrap();
    let root = links(&mut file, &[]);
    assert_eq!(root["back"], external("below/inner.h5", "/back"));
    let old = links(&mut file, &["old"]);
    assert_eq!(old.len(), 5);
    assert_eq!(old["hard"], root["numbers"]);
    assert_eq!(old["soft"], soft("/numbers"));
    assert_eq!(old["relative"], soft("hard"));
    let compact = links(&mut file, &["compact"]);
    assert_eq!(compact["inner"], external("below/inner.h5", "/"));
    assert_eq!(compact["far_soft"], soft("inner/numbers"));
    let many = links(&mut file, &["many"]);
    assert_eq!(many.len(), 120);
    for number in [0, 1, 57, 119] {
        let name = format!("link_{number:03}_of_a_group_that_has_many");
        assert_eq!(many[&name], external("below/inner.h5", "/numbers"));
    }
    let mut file = Structure::open(&data("latest.h5")).unwrap();
    let group = links(&mut file, &["group"]);
    assert_eq!(group["numbers"], external("below/inner.h5", "/numbers"));
    assert_eq!(links(&mut file, &[])["soft"], soft("/group/numbers"));
}

/// Files of h5py: attributes in the header and in a heap of their own, headers of both versions.
#[test]
fn lengths_of_strings_in_attributes_are_those_that_were_written() {
    for name in ["attributes-earliest.h5", "attributes-latest.h5"] {
        let mut file = Structure::open(&data(name)).unwrap();
        let root = file.root();
        let mut longest = |address, of: &str| file.longest_text(address, of).unwrap();
        assert_eq!(longest(root, "text"), Some(11), "{name}");
        assert_eq!(longest(root, "several"), Some(5), "{name}");
        assert_eq!(longest(root, "another"), None, "{name}");
        let LinkTarget::Hard(many) = file.links(root).unwrap()["many"] else {
            panic!("{name}");
        };
        for number in [0_u32, 7, 39] {
            let found = file.longest_text(many, &format!("attribute_{number:02}"));
            assert_eq!(found, Ok(Some(number + 1)), "{name}");
        }
    }
}

/// HDF5 may find either of two links with the same name.
#[test]
fn a_name_that_a_group_has_twice_is_damage() {
    let mut bytes = std::fs::read(data("links.h5")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("twice.h5");
    for at in 0..bytes.len() - 5 {
        if bytes[at..].starts_with(b"soft\0") {
            bytes[at..at + 4].copy_from_slice(b"hard");
        }
    }
    std::fs::write(&path, bytes).unwrap();
    let mut file = Structure::open(&path).unwrap();
    let LinkTarget::Hard(old) = links(&mut file, &[])["old"] else {
        panic!("no hard link");
    };
    assert!(matches!(file.links(old), Err(StructureError::Damaged(_))));
}

#[test]
fn virtual_datasets_are_read() {
    let mut file = Structure::open(&data("virtual.h5")).unwrap();
    let root = links(&mut file, &[]);
    let mut read = |name: &str| {
        let LinkTarget::Hard(address) = root[name] else {
            panic!("{name} is no hard link");
        };
        file.virtual_dataset(address).unwrap()
    };
    assert_eq!(read("plain"), None);
    let possible = [root["plain"].clone(), root["modules"].clone()].map(|of| match of {
        LinkTarget::Hard(address) => Structure::open(&data("virtual.h5"))
            .unwrap()
            .may_be_virtual(address),
        _ => panic!("no hard link"),
    });
    assert_eq!(possible, [false, true]);
    let modules = read("modules").unwrap();
    assert_eq!(modules.shape, [3, 6, 6]);
    let number = (modules.number, modules.bytes, modules.big_endian);
    assert_eq!(number, (NumberType::Unsigned, 4, false));
    assert_eq!(modules.fill, [9, 0, 0, 0]);
    let [first, second] = &modules.mappings[..] else {
        panic!("{:?}", modules.mappings);
    };
    assert_eq!((&*first.file, &*first.dataset), ("part_0.h5", "/data"));
    let selected = |selection: &Selection| -> Vec<Vec<u64>> {
        let Selection::Regular(axes) = selection else {
            panic!("{selection:?}");
        };
        let each = |axis: &Axis| {
            let blocks = 0..axis.count.unwrap();
            let block = axis.block.unwrap();
            blocks
                .flat_map(|i| (0..block).map(move |j| axis.start + i * axis.stride + j))
                .collect()
        };
        axes.iter().map(each).collect()
    };
    assert_eq!(
        selected(&first.target),
        [vec![0, 1], vec![0, 1], vec![1, 2, 3, 4]]
    );
    assert_eq!(
        selected(&first.source),
        [vec![1, 2], vec![3, 4], vec![2, 3, 4, 5]]
    );
    assert_eq!(
        selected(&second.source),
        [vec![0, 3], vec![0, 1], vec![0, 2, 4, 6]]
    );
    let numbered = read("numbered").unwrap();
    assert_eq!(numbered.mappings[0].file, "part_%b.h5");
    assert_eq!(numbered.mappings[0].source, Selection::All);
    let Selection::Regular(axes) = &numbered.mappings[0].target else {
        panic!("{numbered:?}");
    };
    assert!(axes[0].count.is_none() || axes[0].block.is_none());
}

/// Every byte of the files is changed: nothing may panic or take long.
#[test]
fn damaged_files_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.h5");
    let mut state = 1_u64;
    for name in [
        "virtual.h5",
        "latest.h5",
        "master.h5",
        "attributes-latest.h5",
    ] {
        let bytes = std::fs::read(data(name)).unwrap();
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            for _ in 0..4 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 33) as usize % damaged.len();
                damaged[at] = (state >> 24) as u8;
            }
            std::fs::write(&path, &damaged).unwrap();
            let Ok(mut file) = Structure::open(&path) else {
                continue;
            };
            let mut waiting = vec![(file.root(), 0)];
            while let Some((address, depth)) = waiting.pop() {
                let _ = file.virtual_dataset(address);
                let _ = file.longest_text(address, "text");
                for target in file.links(address).unwrap_or_default().into_values() {
                    if let (LinkTarget::Hard(address), 0..4) = (target, depth) {
                        waiting.push((address, depth + 1));
                    }
                }
            }
        }
    }
}
