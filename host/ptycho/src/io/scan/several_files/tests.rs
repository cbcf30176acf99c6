//! Scans in several files: frames, positions, geometry and masks of each.

use super::*;
use crate::io::scan::frame_file::npy;
use crate::io::scan::layout_tests::{options, put};
use crate::io::scan::{read, write};
use ndarray::{Array2, Array3, Array4, Axis, concatenate, s};

fn counts(frames: std::ops::Range<usize>) -> Array3<u32> {
    let value = |(f, r, c): (usize, usize, usize)| ((f + frames.start) * 30 + r * 6 + c) as u32;
    Array3::from_shape_fn((frames.len(), 5, 6), value)
}

const GEOMETRY: &str = "constants.wavelength = 1e-10\nconstants.distance = 2.0\nconstants.pixel_size = [75e-6, 75e-6]\n";

fn named(files: &[PathBuf], more: &str) -> ReadOptions {
    let names: Vec<String> = files.iter().map(|f| format!("{f:?}")).collect();
    options(&format!("files = [{}]\n{GEOMETRY}{more}", names.join(", ")))
}

#[test]
fn frames_of_several_npy_files_follow_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = [0..2, 2..7, 7..8]
        .into_iter()
        .enumerate()
        .map(|(n, range)| {
            let path = folder.path().join(format!("f{n}.npy"));
            let part = counts(range);
            std::fs::write(&path, npy(part.shape(), part.iter().copied())).unwrap();
            path
        })
        .collect();
    let raster = "raster.points = [2, 4]\nraster.step = \"1nm\"\n";
    let found = read(&files[0], &named(&files[1..], raster)).unwrap();
    assert_eq!(
        found.scan.frames().unwrap(),
        counts(0..8).mapv(|v| v as f32)
    );
    let notes = found.notes.join("\n");
    assert!(notes.contains("8 frames of 3 files"), "{notes}");
    assert!(!notes.contains("order of the numbers"), "{notes}");
    // A range over a border, and another order.
    let range = format!("frames = [1, 6]\n{raster}");
    let some = read(&files[0], &named(&files[1..], &range)).unwrap();
    assert_eq!(some.scan.frames().unwrap(), counts(1..6).mapv(|v| v as f32));
    let swapped = [files[2].clone(), files[1].clone()];
    let asked = read(&files[0], &named(&swapped, raster)).unwrap_err();
    let asked = asked.to_string();
    assert!(
        asked.contains("f0.npy, f2.npy, f1.npy") && asked.contains("--order natural"),
        "{asked}"
    );
    for (order, third) in [("given", 211.0), ("natural", 61.0), ("name", 61.0)] {
        let order = format!("order = {order:?}\n{raster}");
        let other = read(&files[0], &named(&swapped, &order)).unwrap();
        assert_eq!(other.scan.frames().unwrap()[[2, 0, 1]], third);
    }
    // Frames of another size, a file named twice, another kind of file, a wrong number of
    // positions.
    let wide = folder.path().join("wide.npy");
    std::fs::write(&wide, npy(&[1, 5, 7], 0..35)).unwrap();
    let text = |others: &[PathBuf], more: &str| {
        let refused = read(&files[0], &named(others, more)).unwrap_err();
        refused.to_string()
    };
    let e = text(&[files[1].clone(), wide], raster);
    assert!(
        e.contains("wide.npy") && e.contains("5 x 6") && e.contains("f0.npy"),
        "{e}"
    );
    let e = text(&files[..2], raster);
    assert!(e.contains("twice"), "{e}");
    let e = text(&[folder.path().join("a.h5")], raster);
    assert!(e.contains("a.h5"), "{e}");
    let e = text(&files[1..2], raster);
    assert!(e.contains("7 frames"), "{e}");
    let lost = [folder.path().join("none.npy")];
    assert!(text(&lost, raster).contains("none.npy"));
}

#[test]
fn parts_of_a_cxi_scan_have_their_own_positions_or_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let positions = Array2::from_shape_fn((7, 2), |(f, k)| (f * (k + 1)) as f64 * 1e-8);
    let part = |name: &str, frames: std::ops::Range<usize>, of: std::ops::Range<usize>| {
        let path = folder.path().join(name);
        let scan = crate::data::Scan::new(
            counts(frames.clone()).mapv(|v| v as f32),
            None,
            positions.slice(s![frames, ..]).to_owned(),
            crate::data::Geometry {
                wavelength: 1e-10,
                distance: 2.0,
                pixel_size: [75e-6; 2],
                propagation: crate::data::Propagation::FarField,
            },
            None,
        );
        write(&path, &scan.unwrap()).unwrap();
        if of.len() == 7 {
            let file = hdf5_metno::File::open_rw(&path).unwrap();
            file.unlink("/entry_1/sample_1/geometry_1/translation")
                .unwrap();
            let xy = concatenate![
                Axis(1),
                positions.slice(s![.., 1..2]),
                positions.slice(s![.., 0..1])
            ];
            let xy = xy.as_standard_layout().into_owned();
            put(&file, "entry_1/sample_1/geometry_1/translation", &xy);
            file.close().unwrap();
        }
        path
    };
    for of in [0..3, 0..7] {
        let first = part("first.cxi", 0..3, of);
        let second = part("second.cxi", 3..7, 3..7);
        let names = [second];
        let read = read(&first, &named(&names, "")).unwrap().scan;
        assert_eq!(read.frames().unwrap(), counts(0..7).mapv(|v| v as f32));
        assert_eq!(read.positions(), positions);
    }
}

/// A file with a part of a scan, a distance, m, and a mask whose pixel (0, `bad`) is masked.
fn part(folder: &Path, name: &str, distance: f64, bad: Option<usize>) -> PathBuf {
    let path = folder.join(name);
    let file = hdf5_metno::File::create(&path).unwrap();
    put(&file, "stack", &counts(0..3).mapv(|v| v as u16 + 1));
    put(&file, "distance", &ndarray::arr0(distance));
    let mask = bad.map(|bad| Array2::from_shape_fn((5, 6), |at| u8::from(at == (0, bad))));
    if let Some(mask) = mask {
        put(&file, "mask", &mask);
    }
    file.close().unwrap();
    path
}

#[test]
fn parts_of_a_scan_have_one_geometry_and_all_their_masks() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name, distance, bad| part(folder.path(), name, distance, bad);
    let text = |others: &[&PathBuf], more: &str| {
        let names: Vec<String> = others.iter().map(|f| format!("{f:?}")).collect();
        options(&format!(
            "files = [{}]\nconstants.wavelength = 1e-10\nconstants.pixel_size = [75e-6, 75e-6]\n{more}raster.points = [2, 3]\nraster.step = \"1nm\"\n[paths]\nframes = \"/stack\"\npositions = \"\"\ndistance = \"/distance\"\nmask = \"/mask\"\n",
            names.join(", ")
        ))
    };
    let first = part("a.h5", 2.0, Some(1));
    let same = part("b.h5", 2.0 * (1.0 + 1e-6), Some(4));
    let found = read(&first, &text(&[&same], "")).unwrap();
    assert_eq!(found.scan.shape(), [6, 5, 6]);
    assert_eq!(found.scan.geometry().distance, 2.0);
    let valid = found.scan.mask().of_frame(0);
    let expected = Array2::from_shape_fn((5, 6), |at| at != (0, 1) && at != (0, 4));
    assert_eq!(valid, expected);
    let notes = found.notes.join("\n");
    assert!(notes.contains("further files have 1 pixel that"), "{notes}");
    // Another distance is refused, unless an option states that of all.
    let other = part("c.h5", 2.1, Some(1));
    let refused = read(&first, &text(&[&other], "")).unwrap_err().to_string();
    for words in ["c.h5: /distance", "a.h5", "2.1", "data.constants"] {
        assert!(refused.contains(words), "{refused}");
    }
    let given = text(&[&other], "constants.distance = 2.05\n");
    assert_eq!(read(&first, &given).unwrap().scan.geometry().distance, 2.05);
    // A file without a mask has none to add.
    let without = part("d.h5", 2.0, None);
    let found = read(&first, &text(&[&without], "")).unwrap();
    assert_eq!(found.scan.mask().valid_in(5), 29);
    // Neither file has to be the first.
    let mut alone = text(&[&first], "");
    let found = read(&without, &alone).map_err(|e| e.to_string());
    assert!(found.unwrap_err().contains("/mask"));
    if let Some(paths) = &mut alone.paths {
        paths.mask = None;
    }
    let found = read(&without, &alone).unwrap();
    assert_eq!(found.scan.mask().valid_in(5), 30);
}

#[test]
fn rows_of_a_raster_in_several_hdf5_files_are_one_raster() {
    let folder = tempfile::tempdir().unwrap();
    let part = |name: &str, rows: usize, columns: usize| {
        let path = folder.path().join(name);
        let file = hdf5_metno::File::create(&path).unwrap();
        let value = |(a, b, r, c): (usize, usize, usize, usize)| (a + b + r + c) as u16 + 1;
        put(
            &file,
            "stack",
            &Array4::from_shape_fn((rows, 3, 4, columns), value),
        );
        file.close().unwrap();
        path
    };
    let (first, second) = (part("a.h5", 1, 4), part("b.h5", 2, 4));
    let step = "raster.step = \"1nm\"\n";
    let read = |second: PathBuf| super::super::read(&first, &named(&[second], step));
    let found = read(second).unwrap().scan;
    assert_eq!(found.shape(), [9, 4, 4]);
    assert_eq!(found.positions().row(8), ndarray::arr1(&[2e-9, 2e-9]));
    let e = read(part("c.h5", 1, 5)).unwrap_err().to_string();
    assert!(
        e.contains("c.h5") && e.contains("/stack") && e.contains("a.h5"),
        "{e}"
    );
}
