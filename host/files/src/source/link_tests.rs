//! Links to other files and virtual datasets: what h5py reads is read, and what leaves the folder
//! or never ends is refused.

use super::*;
use ndarray::ArrayD;
use std::time::{Duration, Instant};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/linked")
        .join(name)
}

fn follow(path: &Path, follow: Follow) -> Source {
    Source::open_with_links(path, Memory::available(), follow).unwrap()
}

fn inside(path: &Path) -> Source {
    follow(path, Follow::Inside)
}

/// The numbers of all links, as `write_linked.py` computes them.
fn counts(frames: std::ops::Range<usize>) -> ArrayD<f64> {
    let count = |n: usize, r: usize, c: usize| ((n * 7919 + r * 131 + c * 17) % 1009 / 40) as f64;
    ndarray::Array3::from_shape_fn((frames.len(), 6, 8), |(n, r, c)| {
        count(frames.start + n, r, c)
    })
    .into_dyn()
}

fn read(source: &Source, path: &str) -> Result<ArrayD<f64>, IoError> {
    source.require("numbers", &[path])?.reals()
}

/// The error of reading `path`, within a second.
fn refusal(source: &Source, path: &str) -> String {
    let begin = Instant::now();
    let error = read(source, path).unwrap_err().to_string();
    // Ten times as long, for a busy machine.
    assert!(begin.elapsed() < Duration::from_secs(10), "{path}: {error}");
    assert!(!error.contains('\n'), "{error}");
    error
}

fn assert_has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn links_of_every_kind_are_followed() {
    let source = inside(&data("links.h5"));
    let (own, other) = (counts(2..4), counts(0..2));
    for path in [
        "/numbers",
        "/old/hard",
        "/old/soft",
        "/old/relative",
        "/back",
    ] {
        assert_eq!(read(&source, path).unwrap(), own, "{path}");
    }
    for path in [
        "/old/to_other",
        "/compact/inner/numbers",
        "/compact/far_soft",
        "/many/link_119_of_a_group_that_has_many",
    ] {
        assert_eq!(read(&source, path).unwrap(), other, "{path}");
    }
    let latest = inside(&data("latest.h5"));
    for path in ["/soft", "/group/numbers"] {
        assert_eq!(read(&latest, path).unwrap(), other, "{path}");
    }
    let inner = "/compact/inner";
    let label = source.label(&format!("{inner}/label")).unwrap();
    assert_eq!(label.as_deref(), Some("inner"));
    let unit = source.attribute("/old/to_other", "units").unwrap();
    assert_eq!(unit.as_deref(), Some("mm"));
    let members = source.members(inner).unwrap().unwrap();
    assert_eq!(members, ["back", "label", "loop", "numbers"]);
    assert!(source.has(&format!("{inner}/numbers")).unwrap());
    assert!(!source.has(&format!("{inner}/none")).unwrap());
    assert!(source.numbers(&format!("{inner}/none")).unwrap().is_none());
    assert_has(
        &refusal(&source, "/loop"),
        &["links.h5", "/loop", "more than 8 files"],
    );
    assert_has(
        &refusal(&source, "/old/circle"),
        &["/old/circle", "in a circle"],
    );
    source.unchanged().unwrap();
    // Other sciences read a file alone.
    let alone = Source::open(&data("links.h5"), Memory::available()).unwrap();
    assert_eq!(read(&alone, "/old/soft").unwrap(), own);
    assert_has(&refusal(&alone, "/back"), &["a link to another file"]);
    let alone = Source::open(&data("virtual.h5"), Memory::available()).unwrap();
    assert_has(&refusal(&alone, "/stack"), &["a virtual dataset"]);
}

#[test]
fn virtual_datasets_have_the_numbers_of_their_parts() {
    let source = inside(&data("virtual.h5"));
    let names = source.members("/plain").unwrap().unwrap();
    assert_eq!(names.len(), 8);
    for name in names {
        let found = source.numbers(&name).unwrap().unwrap();
        let plain = source.numbers(&format!("/plain/{name}")).unwrap().unwrap();
        assert_eq!(found.shape(), plain.shape(), "{name}");
        assert_eq!(found.reals().unwrap(), plain.reals().unwrap(), "{name}");
        assert_eq!(found.unsigned().unwrap(), plain.unsigned().unwrap());
        for (first, last) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let part: Vec<std::ops::Range<usize>> = (found.shape().iter())
                .map(|length| first..(*length - last).max(first))
                .collect();
            let expected = plain.part(&part).unwrap();
            assert_eq!(found.part(&part).unwrap(), expected, "{name} {part:?}");
        }
    }
    source.unchanged().unwrap();
}

/// A folder with `scan.h5`, made by `make`, and a file `other.h5` with /data above it, beside it
/// and in a folder in it.
fn folder(make: impl Fn(&hdf5::File, &Path) -> hdf5::Result<()>) -> (tempfile::TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("inner");
    for (number, folder) in [
        (1, outer.path().to_owned()),
        (2, inner.clone()),
        (3, inner.join("below")),
    ] {
        std::fs::create_dir_all(&folder).unwrap();
        let file = unlocked::options().create(folder.join("other.h5")).unwrap();
        let numbers = ndarray::arr1(&[number as f32]);
        super::super::output::array(&file, "data", &numbers).unwrap();
    }
    let scan = inner.join("scan.h5");
    let file = unlocked::options().create(&scan).unwrap();
    make(&file, outer.path()).unwrap();
    file.close().unwrap();
    (outer, scan)
}

#[test]
fn links_that_leave_the_folder_need_an_option() {
    let (outer, scan) = folder(|file, outer| {
        file.link_external("other.h5", "/data", "beside")?;
        file.link_external("below/other.h5", "data", "below")?;
        file.link_external("below/../other.h5", "data", "around")?;
        file.link_external("../other.h5", "/data", "above")?;
        file.link_external("below/symbolic.h5", "/data", "symbolic")?;
        let absolute = |name: &str| outer.join(name).to_str().unwrap().to_owned();
        file.link_external(&absolute("other.h5"), "/data", "absolute")?;
        file.link_external(&absolute("inner/other.h5"), "/data", "absolute_inside")?;
        // A file that has been moved with the scan.
        file.link_external("/no/such/folder/other.h5", "/data", "moved")?;
        file.link_external("none.h5", "/data", "missing")?;
        file.link_external(".", "/data", "folder")?;
        file.link_external("pipe", "/data", "pipe")?;
        file.link_external("text", "/data", "text")?;
        file.link_external("other.h5", "/none", "no_dataset")
    });
    let inner = outer.path().join("inner");
    std::fs::write(inner.join("text"), "no numbers").unwrap();
    let source = inside(&scan);
    let number = |source: &Source, path: &str| read(source, path).map(|all| all.sum()).unwrap();
    for (path, expected) in [
        ("/beside", 2.0),
        ("/below", 3.0),
        ("/around", 2.0),
        ("/absolute_inside", 2.0),
        ("/moved", 2.0),
    ] {
        assert_eq!(number(&source, path), expected, "{path}");
    }
    let mut leaving = vec!["/above", "/absolute"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(
            outer.path().join("other.h5"),
            inner.join("below/symbolic.h5"),
        )
        .unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(inner.join("pipe"))
            .status();
        assert!(made.unwrap().success());
        assert_has(
            &refusal(&source, "/pipe"),
            &["pipe", "a device, pipe or socket"],
        );
        leaving.push("/symbolic");
    }
    let anywhere = follow(&scan, Follow::Anywhere);
    for path in leaving {
        assert_has(
            &refusal(&source, path),
            &["scan.h5", path, "other.h5", "--follow-links"][..2],
        );
        assert_has(
            &refusal(&source, path),
            &["which is elsewhere", "--follow-links"],
        );
        assert_eq!(number(&anywhere, path), 1.0, "{path}");
    }
    assert_has(
        &refusal(&source, "/missing"),
        &["\"none.h5\"", "does not exist"],
    );
    assert_has(&refusal(&source, "/folder"), &["a folder"]);
    assert_has(
        &refusal(&source, "/text"),
        &["text", "expected an HDF5 file"],
    );
    assert_has(
        &refusal(&source, "/no_dataset"),
        &["/no_dataset", "does not exist"],
    );
    // A file that is written to while it is read.
    source.unchanged().unwrap();
    let mut bytes = std::fs::read(inner.join("other.h5")).unwrap();
    bytes.push(0);
    std::fs::write(inner.join("other.h5"), bytes).unwrap();
    assert_has(
        &source.unchanged().unwrap_err().to_string(),
        &["other.h5", "changed"],
    );
}

/// Creates the virtual dataset `name` of `shape`, with a mapping of all of (file, dataset).
fn virtual_dataset(
    file: &hdf5::File,
    name: &str,
    shape: &[usize],
    parts: &[(&str, &str)],
) -> hdf5::Result<()> {
    let all = || hdf5::Selection::All;
    file.new_dataset_builder()
        .with_dcpl(|p| {
            for (file, dataset) in parts {
                p.virtual_map(file, dataset, shape, all(), shape, all());
            }
            p
        })
        .empty::<f32>()
        .shape(shape)
        .create(name)
        .map(drop)
}

#[test]
fn virtual_datasets_of_themselves_and_of_nothing_are_refused() {
    let (outer, scan) = folder(|file, _| {
        virtual_dataset(file, "good", &[1], &[("other.h5", "/data")])?;
        virtual_dataset(file, "itself", &[1], &[(".", "/itself")])?;
        virtual_dataset(file, "by_name", &[1], &[("scan.h5", "/by_name")])?;
        virtual_dataset(file, "first", &[1], &[(".", "/second")])?;
        virtual_dataset(file, "second", &[1], &[(".", "/first")])?;
        virtual_dataset(file, "no_file", &[1], &[("none.h5", "/data")])?;
        virtual_dataset(file, "no_data", &[1], &[("other.h5", "/none")])?;
        virtual_dataset(file, "other_shape", &[2], &[("other.h5", "/data")])?;
        virtual_dataset(file, "above", &[1], &[("../other.h5", "/data")])?;
        virtual_dataset(file, "pipe", &[1], &[("pipe", "/data")])?;
        let huge = [1_usize << 20; 3];
        let first = hdf5::Hyperslab::new(vec![hdf5::SliceOrIndex::from(0..1); 3]);
        file.new_dataset_builder()
            .with_dcpl(|p| {
                let one = &[1_usize][..];
                let all = hdf5::Selection::All;
                p.virtual_map("other.h5", "/data", one, all, &huge[..], first.clone())
            })
            .empty::<f32>()
            .shape(huge)
            .create("huge")?;
        // Many names of one dataset, inside each other.
        let names: Vec<String> = (1..100).map(|n| "/".repeat(n) + "first").collect();
        let aliases: Vec<(&str, &str)> = names.iter().map(|name| (".", name.as_str())).collect();
        virtual_dataset(file, "aliases", &[1], &aliases)
    });
    #[cfg(unix)]
    {
        let pipe = outer.path().join("inner/pipe");
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.unwrap().success());
    }
    let source = inside(&scan);
    assert_eq!(read(&source, "/good").unwrap().sum(), 2.0);
    for path in ["/itself", "/by_name", "/first", "/second", "/aliases"] {
        assert_has(&refusal(&source, path), &["a virtual dataset of itself"]);
    }
    assert_has(
        &refusal(&source, "/no_file"),
        &["/no_file", "\"none.h5\"", "does not exist"],
    );
    assert_has(
        &refusal(&source, "/no_data"),
        &["\"/none\" of \"other.h5\""],
    );
    assert_has(&refusal(&source, "/above"), &["--follow-links"]);
    assert_has(&refusal(&source, "/huge"), &["/huge", "memory"]);
    let huge = source.numbers("/huge").unwrap().unwrap();
    let corner = huge.part(&[0..1, 0..2, 0..1]).unwrap();
    assert_eq!(corner.into_raw_vec_and_offset().0, [2.0, 0.0]);
    assert_has(&refusal(&source, "/other_shape"), &["/other_shape"]);
    if cfg!(unix) {
        assert_has(&refusal(&source, "/pipe"), &["a device, pipe or socket"]);
    }
}

#[test]
fn targets_that_do_not_exist_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        unlocked::options()
            .create(folder.path().join(name))
            .unwrap()
    };
    file("there.h5").create_group("group").unwrap();
    let links = file("links.h5");
    links.link_external("there.h5", "/none", "dataset").unwrap();
    links.link_external("there.h5", "/gone", "group").unwrap();
    links.link_external("absent.h5", "/a", "file").unwrap();
    links.close().unwrap();
    let source = inside(&folder.path().join("links.h5"));
    for (path, words) in [
        ("/dataset", ["/dataset", "/none of", "there.h5"]),
        (
            "/group/numbers",
            ["/group/numbers", "/gone/numbers of", "there.h5"],
        ),
        ("/file", ["/file", "absent.h5", "does not exist"]),
    ] {
        assert_has(&refusal(&source, path), &words);
    }
    // A dataset that may be absent.
    assert!(source.numbers("/group/numbers").unwrap().is_none());
}

/// HDF5 would read an object without length of a global heap for ever when it opens the dataset.
#[test]
fn damaged_heaps_of_virtual_datasets_are_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("virtual.h5");
    let mut bytes = std::fs::read(data("virtual.h5")).unwrap();
    let starts = |at: &usize| bytes[*at..].starts_with(b"GCOL");
    let heaps: Vec<usize> = (0..bytes.len()).filter(starts).collect();
    assert!(!heaps.is_empty());
    // Free space (index 0) without length.
    for at in heaps {
        bytes[at + 16..at + 18].fill(0);
        bytes[at + 24..at + 32].fill(0);
    }
    std::fs::write(&path, bytes).unwrap();
    let alone = Source::open(&path, Memory::available()).unwrap();
    for source in [inside(&path), alone] {
        refusal(&source, "/stack");
        let _ = source.attribute("/stack", "units");
        let _ = source.label("/stack");
        let _ = source.contents();
        let _ = source.listing();
    }
}

/// The same behind more soft links than are followed without HDF5.
#[test]
fn damaged_heaps_behind_many_links_are_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("soft.h5");
    let file = unlocked::options().create(&path).unwrap();
    virtual_dataset(&file, "end", &[1], &[("none.h5", "/data")]).unwrap();
    for number in 0..40 {
        let target = match number {
            0 => "/end".to_owned(),
            n => format!("/link{}", n - 1),
        };
        file.link_soft(&target, &format!("link{number}")).unwrap();
    }
    file.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).position(|of| of == b"GCOL").unwrap();
    bytes[at + 16..at + 18].fill(0);
    bytes[at + 24..at + 32].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let alone = Source::open(&path, Memory::available()).unwrap();
    for source in [inside(&path), alone] {
        assert_has(&refusal(&source, "/link39"), &["object without length"]);
    }
}

/// More files than are open together, read in turns.
#[test]
fn virtual_datasets_of_many_files_are_read() {
    const FILES: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        let file = unlocked::options()
            .create(folder.path().join(format!("{number}.h5")))
            .unwrap();
        let values: Vec<f32> = (0..4).map(|row| (number * 10 + row) as f32).collect();
        let builder = file.new_dataset_builder();
        match number % 5 {
            1 => builder.chunk(1).deflate(1).with_data(&values),
            _ => builder.with_data(&values),
        }
        .create("data")
        .unwrap();
    }
    let path = folder.path().join("all.h5");
    let column = |number: usize| hdf5::Hyperslab::from((.., number..number + 1));
    let made = |path: &Path, name: fn(usize) -> String, count: usize| {
        let file = unlocked::options().create(path).unwrap();
        file.new_dataset_builder()
            .with_dcpl(|p| {
                for number in 0..count {
                    let all = hdf5::Selection::All;
                    p.virtual_map(name(number), "/data", 4, all, (4, count), column(number));
                }
                p
            })
            .empty::<f32>()
            .shape((4, count))
            .create("data")
            .unwrap();
        file.close().unwrap();
    };
    made(&path, |number| format!("{number}.h5"), FILES);
    let source = inside(&path);
    let numbers = source.numbers("/data").unwrap().unwrap();
    for row in 0..4 {
        let read = numbers.part(&[row..row + 1, 0..FILES]).unwrap();
        let expected = (0..FILES).map(|number| (number * 10 + row) as f32);
        assert!(read.iter().copied().eq(expected), "{row}: {read}");
    }
    source.unchanged().unwrap();
    // A file that was replaced while it was closed.
    let file = unlocked::options()
        .create(folder.path().join("0.h5"))
        .unwrap();
    let data = file.new_dataset::<f32>().shape(100).create("data");
    data.unwrap().write(&[7.0; 100]).unwrap();
    file.close().unwrap();
    let error = numbers.part(&[0..1, 0..FILES]).unwrap_err().to_string();
    assert_has(&error, &["0.h5"]);
    // Too many are refused before the first is looked for.
    let path = folder.path().join("more.h5");
    made(&path, |number| format!("absent{number}.h5"), 10_001);
    let text = refusal(&inside(&path), "/data");
    assert_has(&text, &["/data", "10001 files", "at most 10000"]);
}

/// The dataset is listed at the path of the link, and what cannot be followed is counted.
#[test]
fn datasets_of_other_files_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["a.h5", "b.h5"].map(|name| folder.path().join(name));
    let file = unlocked::options().create(&other).unwrap();
    let data = file
        .new_dataset_builder()
        .with_data(&[1.5; 7])
        .create("inside");
    drop(data.unwrap());
    file.close().unwrap();
    let file = unlocked::options().create(&path).unwrap();
    let group = file.create_group("scan").unwrap();
    group.link_external("b.h5", "/inside", "frames").unwrap();
    group.link_external("b.h5", "/nothing", "nothing").unwrap();
    group
        .link_external("../c.h5", "/inside", "outside")
        .unwrap();
    drop(group);
    file.close().unwrap();
    let source = inside(&path);
    let listed = source.listing();
    let found: Vec<_> = (listed.iter().map(|of| (of.path.as_str(), &of.shape[..]))).collect();
    assert_eq!(found, [("/scan/frames", &[7][..])]);
    let unseen = source.unseen().unwrap();
    assert_has(&unseen, &["2 links to other files", "--follow-links"]);
}

#[test]
fn long_lists_and_loops_of_groups_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groups.h5");
    let file = unlocked::options().create(&path).unwrap();
    let mut inner = file.create_group("deep").unwrap();
    for _ in 0..20 {
        inner = inner.create_group("deep").unwrap();
    }
    let loops = file.create_group("loop").unwrap();
    for name in ["a", "b", "c"] {
        loops.link_hard("/loop", name).unwrap();
        loops.link_hard("/", &format!("root_{name}")).unwrap();
    }
    let number = |name: &str| {
        let builder = file.new_dataset_builder().with_data(&[1, 2]);
        builder.create(name).unwrap()
    };
    number("loop/numbers");
    // While a group is open, so is the file, and not all of it is on disk.
    drop((inner, loops));
    file.close().unwrap();
    let source = inside(&path);
    let listed = source.listing();
    let paths: Vec<&str> = listed.iter().map(|of| of.path.as_str()).collect();
    assert_eq!(paths, ["/loop/numbers"]);
    let unseen = source.unseen().unwrap();
    assert_has(&unseen, &["1 group more", "8 levels"]);
    drop(source);
    let file = unlocked::options().open_rw(&path).unwrap();
    let many = file.create_group("many").unwrap();
    let put = |name: &str| {
        let builder = file.new_dataset_builder().with_data(&[1.5; 3]);
        drop(builder.create(name).unwrap());
    };
    put("many/0");
    for number in 1..2500 {
        many.link_hard("/many/0", &number.to_string()).unwrap();
    }
    put(&"n".repeat(5000));
    drop(many);
    file.close().unwrap();
    let source = inside(&path);
    let text = source.contents();
    assert_has(&text, &["links and 1 group more", "at most 2000 links"]);
    assert!(text.len() < 2000 && !text.contains('\n'), "{text}");
    assert!(source.has("/many/2499").unwrap());
    assert!(!source.has("/many/2500").unwrap());
}

#[test]
fn texts_longer_than_any_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.h5");
    let file = unlocked::options().create(&path).unwrap();
    crate::output::text(&file, "text", &"x".repeat((32 << 20) + 1)).unwrap();
    file.close().unwrap();
    let source = Source::open(&path, Memory::available()).unwrap();
    for error in [source.text("/text").err(), source.lone_text("/text").err()] {
        assert_has(&error.unwrap().to_string(), &["/text", "at most 32"]);
    }
}

#[test]
fn soft_links_in_a_circle_are_named_as_such() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("circle.h5");
    let file = unlocked::options().create(&path).unwrap();
    file.link_soft("/b", "a").unwrap();
    file.link_soft("/a", "b").unwrap();
    file.link_soft("/itself", "itself").unwrap();
    file.close().unwrap();
    for source in [
        inside(&path),
        Source::open(&path, Memory::available()).unwrap(),
    ] {
        for name in ["/a", "/itself"] {
            let found = refusal(&source, name);
            assert_has(&found, &["circle.h5", name, "its links lead in a circle"]);
        }
    }
}
