//! NeXus and EMD files.

use super::layout_tests::{file, options, put, text_attribute, text_of_group};
use super::tests::real_file;
use super::*;
use ndarray::{Array, arr1};
use std::path::PathBuf;

/// A file of `tests/data` that `write_nexus.py` wrote, as a copy that `change` changes.
fn changed(folder: &Path, name: &str, change: impl FnOnce(&hdf5_metno::File)) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let to = folder.join(name);
    std::fs::copy(from, &to).unwrap();
    let file = hdf5_metno::File::open_rw(&to).unwrap();
    change(&file);
    file.close().unwrap();
    to
}

/// The group of the sample's motors in `nexus-stage.h5`.
const STAGE: &str = "/second/wafer/stage";

/// The numbers that `write_nexus.py` computed: positions, and wavelength, distance and pixel size.
fn oracle(path: &Path) -> (Array2<f64>, Vec<f64>) {
    let source = Source::open(path, Memory::available()).unwrap();
    let read = |name: &str| source.numbers(name).unwrap().unwrap().reals().unwrap();
    (
        read("/oracle/positions").into_dimensionality().unwrap(),
        read("/oracle/geometry").into_iter().collect(),
    )
}

#[test]
fn stages_and_beams_of_nexus_are_those_of_the_script() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["nexus-ptycho.h5", "nexus-stage.h5"] {
        let path = changed(folder.path(), name, |_| {});
        let read = read(&path, &ReadOptions::default()).unwrap();
        let (positions, numbers) = oracle(&path);
        assert_eq!(read.scan.shape(), [12, 16, 12]);
        for (found, expected) in read.scan.positions().iter().zip(&positions) {
            assert!(
                (found - expected).abs() < 1e-20,
                "{name}: {found} {expected}"
            );
        }
        let geometry = read.scan.geometry();
        let found = [
            geometry.wavelength,
            geometry.distance,
            geometry.pixel_size[0],
            geometry.pixel_size[1],
        ];
        for (found, expected) in found.into_iter().zip(numbers) {
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{name}: {found} {expected}"
            );
        }
        let bad = usize::from(name == "nexus-ptycho.h5");
        assert_eq!(read.scan.mask().valid_in(0), 16 * 12 - bad);
        let counts = |(j, r, c): (usize, usize, usize)| ((7 * j + 3 * r + 5 * c) % 23 + 1) as f32;
        let mut expected = Array::from_shape_fn((12, 16, 12), counts);
        if bad == 1 {
            expected.slice_mut(ndarray::s![.., 3, 4]).fill(0.0);
        }
        assert_eq!(read.scan.frames().unwrap(), expected);
        let notes = read.notes.join("\n");
        assert!(
            notes.contains("NeXus file") && notes.contains("row = +y"),
            "{notes}"
        );
        // What is imported gives the same bits.
        let cxi = folder.path().join("scan.cxi");
        write(&cxi, &read.scan).unwrap();
        assert_eq!(
            super::read(&cxi, &ReadOptions::default()).unwrap().scan,
            read.scan
        );
    }
}

#[test]
fn chains_that_cannot_be_followed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&hdf5_metno::File)| {
        let path = changed(folder.path(), "nexus-stage.h5", change);
        let e = read(&path, &ReadOptions::default())
            .unwrap_err()
            .to_string();
        assert!(!e.contains('\n') && e.contains("nexus-stage.h5"), "{e}");
        e
    };
    let attribute = |file: &hdf5_metno::File, path: &str, name: &str, text: &str| {
        file.dataset(path).unwrap().delete_attr(name).unwrap();
        text_attribute(file, path, name, text);
    };
    let fine = format!("{STAGE}/fine_x");
    let tip = "/second/wafer/table/tip";
    let e = refused(&|file| attribute(file, tip, "depends_on", &fine));
    assert!(e.contains("has no end") && e.contains("turn -> "), "{e}");
    let e = refused(&|file| attribute(file, tip, "depends_on", "tip"));
    assert!(e.contains("has no end"), "{e}");
    let e = refused(&|file| attribute(file, tip, "depends_on", "missing"));
    assert!(e.contains("/second/wafer/table/missing"), "{e}");
    let e = refused(&|file| attribute(file, tip, "depends_on", "/second"));
    assert!(e.contains("names a group"), "{e}");
    let e = refused(&|file| attribute(file, &fine, "units", "furlong"));
    assert!(e.contains("fine_x") && e.contains("\"furlong\""), "{e}");
    let e = refused(&|file| attribute(file, tip, "units", "mm"));
    assert!(e.contains("tip") && e.contains("\"mm\""), "{e}");
    let e = refused(&|file| attribute(file, tip, "transformation_type", "general"));
    assert!(e.contains("translation or rotation"), "{e}");
    let e = refused(&|file| {
        file.dataset(tip).unwrap().delete_attr("vector").unwrap();
        text_attribute(file, tip, "vector", "z");
    });
    assert!(e.contains("vector"), "{e}");
    let e = refused(&|file| {
        file.unlink(&fine).unwrap();
        put(file, &fine, &arr1(&[1.0, 2.0, 3.0, 4.0, 5.0]));
        text_attribute(file, &fine, "transformation_type", "translation");
        text_attribute(file, &fine, "units", "mm");
        let attribute = file
            .dataset(&fine)
            .unwrap()
            .new_attr::<f64>()
            .shape(3)
            .create("vector");
        attribute.unwrap().write(&arr1(&[1.0, 0.0, 0.0])).unwrap();
    });
    assert!(e.contains("one value, or one for each of 12 frames"), "{e}");
    let e = refused(&|file| file.unlink("/second/wafer").unwrap());
    assert!(e.contains("expected positions at"), "{e}");
    let e = refused(&|file| file.unlink("/second/beamline/camera/data").unwrap());
    assert!(e.contains("/second/measurement/frames"), "{e}");
    let e = refused(&|file| {
        file.unlink("/second/beamline/camera/data").unwrap();
        file.unlink("/second/measurement").unwrap();
    });
    assert!(e.contains("expected frames at"), "{e}");
}

#[test]
fn a_datacube_of_py4dstem_has_its_raster() {
    let Some(path) = real_file("formats/rota-py4dstem.h5") else {
        return;
    };
    // 300 kV, and 7.44 Å in real space for 160 pixels.
    let said =
        "[constants]\nwavelength = 1.9687e-12\ndistance = 1.0\npixel_size = [1.6538e-5, 1.6538e-5]";
    let ScanFile { scan, notes } = read(&path, &options(said)).unwrap();
    assert_eq!(scan.shape(), [144, 160, 160]);
    assert_eq!(scan.positions()[[13, 0]], 31.25 * 1e-10);
    assert_eq!(scan.positions()[[13, 1]], 31.25 * 1e-10);
    assert_eq!(scan.positions()[[143, 0]], 11.0 * (31.25 * 1e-10));
    assert!(
        notes
            .iter()
            .any(|n| n.contains("steps of 3.125 nm and 3.125 nm")),
        "{notes:?}"
    );
    let Some(whole) = real_file("ptycho/rotavirus-28x28.h5") else {
        return;
    };
    let source = Source::open(&whole, Memory::available()).unwrap();
    let numbers = source.numbers("/data").unwrap().unwrap();
    let corner = numbers.part(&[0..12, 0..12, 0..160, 0..160]).unwrap();
    let corner = corner.into_shape_with_order((144, 160, 160)).unwrap();
    assert_eq!(scan.frames().unwrap(), corner);
    // Without the beam the question, not a guess.
    assert!(
        read(&path, &ReadOptions::default())
            .unwrap_err()
            .to_string()
            .contains("wavelength")
    );
}

#[test]
fn datacubes_without_steps_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said = "[constants]\nwavelength = 1.9687e-12\ndistance = 1.0\npixel_size = [1e-4, 1e-4]";
    let cube = |unit: &str, steps: &[f64]| {
        let path = file(folder.path(), false, |file| {
            let group = file.create_group("4DSTEM_experiment/cube").unwrap();
            group
                .new_attr::<i32>()
                .create("emd_group_type")
                .unwrap()
                .write_scalar(&1)
                .unwrap();
            let data = Array::from_shape_fn((3, 2, 6, 6), |(a, b, r, c)| (1 + a + b + r + c) as u8);
            put(&group, "data", &data);
            // Older files begin with dim1.
            put(&group, "dim1", &arr1(steps));
            put(&group, "dim2", &arr1(&[0.0, 0.5]));
            text_attribute(&group, "dim1", "units", unit);
            text_attribute(&group, "dim2", "units", "[n_m]");
        });
        read(&path, &options(said))
    };
    let scan = cube("[n_m]", &[1.0, 1.5, 2.0]).unwrap().scan;
    assert_eq!(
        (scan.positions()[[5, 0]], scan.positions()[[5, 1]]),
        (2.0 * (0.5 * 1e-9), 0.5 * 1e-9)
    );
    // A detector pixel in mrad or 1/Å: the same object pixel, with the wavelength of the options.
    for (unit, step) in [("mrad", 0.2), ("A^-1", 0.2e-3 / 1.9687e-2)] {
        let path = file(folder.path(), false, |file| {
            let group = file.create_group("cube").unwrap();
            text_of_group(&group, "emd_group_type", "array");
            put(&group, "data", &Array::from_elem((2, 2, 6, 6), 1_u8));
            for (name, unit, step) in [
                ("dim0", "A", 20.0),
                ("dim1", "A", 20.0),
                ("dim2", unit, step),
                ("dim3", unit, step),
            ] {
                put(&group, name, &arr1(&[0.0, step]));
                text_attribute(&group, name, "units", unit);
            }
        });
        let read = read(&path, &options("[constants]\nwavelength = 1.9687e-12")).unwrap();
        let pixel = 1.9687e-12 / (6.0 * 0.2e-3);
        let found = read.scan.object_pixel()[0];
        assert!(
            (found - pixel).abs() < 1e-6 * pixel,
            "{unit}: {found} {pixel}"
        );
        assert!(
            read.notes.iter().any(|n| n.contains("(0.2000 mrad)")),
            "{:?}",
            read.notes
        );
    }
    let sentence = |unit: &str, steps: &[f64]| cube(unit, steps).unwrap_err().to_string();
    assert!(sentence("[pixels]", &[0.0, 1.0]).contains("--raster"));
    assert!(sentence("nm", &[0.0]).contains("--raster"));
    assert!(sentence("s", &[0.0, 1.0]).contains("\"s\""));
    assert!(sentence("nm", &[1.0, 1.0]).contains("other than 0"));
}
