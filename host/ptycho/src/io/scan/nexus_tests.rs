//! NeXus and EMD files.

use super::layout_tests::{file, options, put, text_attribute, text_of_group};
use super::tests::real_file;
use super::*;
use crate::data::Geometry;
use ndarray::{Array, Array2, Array3, arr1};
use std::path::PathBuf;
use warpstride_files::source::Source;

/// A file of `host/files/tests/data` that `write_nexus.py` wrote, as a copy that `change` changes.
fn changed(folder: &Path, name: &str, change: impl FnOnce(&hdf5_metno::File)) -> PathBuf {
    let from = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .join("files/tests/data")
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
    let e = refused(&|file| attribute(file, &fine, "units", ""));
    assert!(e.contains("fine_x") && e.contains("is it in nm, "), "{e}");
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
    assert!(
        e.contains("fine_x: expected one position for each of 12 frames, found 5"),
        "{e}"
    );
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
    let ScanFile { scan, notes, .. } = read(&path, &options(said)).unwrap();
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

/// What the package emdfile writes as py4DSTEM uses it (`write_emd.py`).
#[test]
fn the_calibration_of_py4dstem_gives_steps_pixels_and_beam() {
    let folder = tempfile::tempdir().unwrap();
    let name = "emd-calibrated.h5";
    let step = 31.25 * 1e-10;
    let path = changed(folder.path(), name, |_| {});
    let ScanFile { scan, notes, .. } = read(&path, &ReadOptions::default()).unwrap();
    let counts =
        |(j, r, c): (usize, usize, usize)| (1 + 100 * (j / 3) + 30 * (j % 3) + 5 * r + c) as f32;
    assert_eq!(
        scan.frames().unwrap(),
        Array3::from_shape_fn((6, 6, 4), counts)
    );
    assert_eq!(scan.positions().row(5), arr1(&[step, 2.0 * step]));
    assert_eq!(
        scan.geometry().wavelength,
        Geometry::wavelength_of_voltage(3e5)
    );
    assert_eq!(scan.voltage(), Some(3e5));
    // One over the field of view of the detector, 6 and 4 pixels of 0.02 1/Å.
    for (found, pixels) in scan.object_pixel().into_iter().zip([6.0, 4.0]) {
        let expected = 1e-10 / (0.02 * pixels);
        assert!(
            (found - expected).abs() < 1e-9 * expected,
            "{found} {expected}"
        );
    }
    let notes = notes.join("\n");
    for words in [
        "accelerating_voltage: electrons of 300 kV",
        "QR_rotation_degrees = -120, QR_flip = true is not applied",
        "--find-rotation",
    ] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    // Options come first; a voltage without a unit is in V or kV; what the axes say comes before
    // the calibration.
    let said = read(&path, &options("constants.voltage = \"80kV\"")).unwrap();
    let wavelength = said.scan.geometry().wavelength;
    assert_eq!(wavelength, Geometry::wavelength_of_voltage(8e4));
    let other = changed(folder.path(), name, |file| {
        let group = "/datacube_root/metadatabundle/calibration";
        file.unlink(&format!("{group}/accelerating_voltage"))
            .unwrap();
        put(
            file,
            &format!("{group}/accelerating_voltage"),
            &ndarray::arr0(200.0),
        );
        let axis = file.dataset("/datacube_root/datacube/dim1").unwrap();
        axis.delete_attr("units").unwrap();
        text_attribute(file, "/datacube_root/datacube/dim1", "units", "nm");
    });
    let read = read(&other, &ReadOptions::default()).unwrap();
    let wavelength = read.scan.geometry().wavelength;
    assert_eq!(wavelength, Geometry::wavelength_of_voltage(2e5));
    assert_eq!(read.scan.positions().row(5), arr1(&[step, 2e-9]));
}

/// Motors and the energy as logs, with attributes of the axis at the log or at its values.
#[test]
fn logs_of_nexus_stand_for_axes_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let name = "nexus-ptycho.h5";
    let (positions, numbers) = oracle(&changed(folder.path(), name, |_| {}));
    let stage = "/entry_1/sample_1/transformations";
    let log = |file: &hdf5_metno::File, path: &str| {
        let group = file.create_group(path).unwrap();
        text_of_group(&group, "NX_class", "NXlog");
        group
    };
    let vector = |of: &hdf5_metno::Location, vector: [f64; 3]| {
        let made = of.new_attr::<f64>().shape(3).create("vector").unwrap();
        made.write(&arr1(&vector)).unwrap();
    };
    let with_logs = |x_value: &dyn Fn(usize) -> f64, count: usize| {
        changed(folder.path(), name, |file| {
            for axis in ["x", "y"] {
                file.unlink(&format!("{stage}/{axis}")).unwrap();
            }
            let x = log(file, &format!("{stage}/x"));
            put(&x, "value", &Array::from_shape_fn(count, x_value));
            put(&x, "time", &Array::from_shape_fn(count, |n| n as f64));
            text_attribute(&x, "value", "units", "um");
            text_of_group(&x, "transformation_type", "translation");
            text_of_group(&x, "depends_on", "y");
            vector(&x, [1.0, 0.0, 0.0]);
            let y = log(file, &format!("{stage}/y"));
            put(&y, "value", &Array::from_elem(40, 0.0));
            put(
                &y,
                "average_value",
                &Array::from_shape_fn(12, |j| 1.25 * (j / 4) as f64),
            );
            text_attribute(&y, "average_value", "units", "um");
            text_attribute(&y, "average_value", "transformation_type", "translation");
            vector(&y.dataset("average_value").unwrap(), [0.0, 1.0, 0.0]);
            text_attribute(&y, "average_value", "depends_on", ".");
            let beam = "/entry_1/instrument_1/beam_1/incident_beam_energy";
            file.unlink(beam).unwrap();
            let beam = log(file, beam);
            put(&beam, "value", &arr1(&[7.9, 8.1]));
            text_attribute(&beam, "value", "units", "keV");
            put(&beam, "average_value", &arr1(&[8.0]));
        })
    };
    let moved = with_logs(&|j| 1.5 * (j % 4) as f64 + 0.125 * (j / 4) as f64, 12);
    let found = read(&moved, &ReadOptions::default()).unwrap().scan;
    for (found, expected) in found.positions().iter().zip(&positions) {
        assert!((found - expected).abs() < 1e-20, "{found} {expected}");
    }
    let wavelength = found.geometry().wavelength;
    assert!(
        (wavelength - numbers[0]).abs() < 1e-9 * numbers[0],
        "{wavelength}"
    );
    // A motor that stands still may have any number of values; one that moves may not.
    let still = read(&with_logs(&|_| 2.0, 5), &ReadOptions::default()).unwrap();
    assert!(still.scan.positions().column(1).iter().all(|x| *x == 2e-6));
    let e = read(&with_logs(&|n| n as f64, 5), &ReadOptions::default());
    let e = e.unwrap_err().to_string();
    assert!(
        e.contains("NXlog") && e.contains("/x/value") && e.contains("data.positions"),
        "{e}"
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
