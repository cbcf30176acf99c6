//! Units and translations of CXI files, pixels in the coordinates of a file, and arrays of other
//! measurements that are wrong.

use super::layout_tests::{file, options, put, text_attribute};
use super::*;
use crate::data::Geometry;
use hdf5_metno as hdf5;
use ndarray::{Array, Array2, arr1, arr2};
use std::path::PathBuf;

const DISTANCE: &str = "/entry_1/instrument_1/detector_1/distance";
const TRANSLATION: &str = "/entry_1/sample_1/geometry_1/translation";

/// Six frames of 9 × 8 pixels, whose pixel (2, 5) is hot, with a distance and its unit, and what
/// `more` adds.
fn cxi(
    folder: &Path,
    distance: f64,
    unit: Option<&str>,
    more: impl FnOnce(&hdf5::File),
) -> PathBuf {
    file(folder, false, |file| {
        for group in [
            "instrument_1/detector_1",
            "instrument_1/source_1",
            "sample_1/geometry_1",
        ] {
            file.create_group(&format!("/entry_1/{group}")).unwrap();
        }
        let counts = Array::from_shape_fn((6, 9, 8), |(_, r, c)| match (r, c) {
            (2, 5) => 9000_u16,
            _ => 50 + (r + c) as u16,
        });
        let detector = "/entry_1/instrument_1/detector_1";
        put(file, &format!("{detector}/data"), &counts);
        put(file, DISTANCE, &arr1(&[distance]));
        if let Some(unit) = unit {
            text_attribute(file, DISTANCE, "units", unit);
        }
        put(file, &format!("{detector}/x_pixel_size"), &arr1(&[75e-6]));
        put(
            file,
            "/entry_1/instrument_1/source_1/wavelength",
            &arr1(&[1e-10]),
        );
        let translation = Array2::from_shape_fn((6, 3), |(j, axis)| match axis {
            0 => 1e-6 * (j % 3) as f64,
            1 => 2e-6 * (j / 3) as f64,
            _ => 0.5,
        });
        put(file, TRANSLATION, &translation);
        more(file);
    })
}

#[test]
fn lengths_without_a_known_unit_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let distance = |metres: f64, unit: Option<&str>, text: &str| {
        let path = cxi(folder.path(), metres, unit, |_| {});
        let read = read(&path, &options(text)).map_err(|error| error.to_string());
        read.map(|read| (read.scan.geometry().distance, read.notes.join("\n")))
    };
    assert_eq!(distance(0.7, None, "").unwrap().0, 0.7);
    assert_eq!(distance(681.0, Some("mm"), "").unwrap().0, 681.0 * 1e-3);
    assert_eq!(
        distance(681.0, None, "units.distance = \"mm\"").unwrap().0,
        681.0 * 1e-3
    );
    // What an option replaces is not asked about.
    assert_eq!(
        distance(681.0, None, "constants.distance = 2.0").unwrap().0,
        2.0
    );
    for (metres, unit, question) in [
        (681.0, None, "681 without a unit: is it in mm or m?"),
        (
            25.0,
            Some("furlong"),
            "25 with units = \"furlong\": is it in m or mm?",
        ),
    ] {
        let refused = distance(metres, unit, "").unwrap_err();
        assert!(
            refused.contains(question) && refused.contains("--set 'data.units.distance="),
            "{refused}"
        );
    }
    let (found, notes) = distance(0.7, Some("furlong"), "").unwrap();
    assert!(
        found == 0.7 && notes.contains("the only plausible one"),
        "{notes}"
    );
}

#[test]
fn a_translation_of_another_file_is_x_y_z() {
    let folder = tempfile::tempdir().unwrap();
    let path = cxi(folder.path(), 2.0, None, |_| {});
    let own = read(&path, &ReadOptions::default()).unwrap().scan;
    let text = format!("positions.file = \"{}:{TRANSLATION}\"", path.display());
    let ScanFile { scan, notes, .. } = read(&path, &options(&text)).unwrap();
    assert_eq!(scan.positions(), own.positions());
    let notes = notes.join("\n");
    assert!(notes.contains("row = y, column = x"), "{notes}");
    // Columns that are named are taken.
    let columns = format!("{text}\npositions.columns = [\"0\", \"1\"]\npositions.unit = \"m\"");
    let named = read(&path, &options(&columns)).unwrap().scan;
    assert_eq!(named.positions().column(0), own.positions().column(1));
}

#[test]
fn hot_pixels_are_named_as_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = cxi(folder.path(), 2.0, None, |_| {});
    for text in [
        "",
        "crop = [6, 6]",
        "centre = [3.0, 5.0]\ncrop = [4, 4]",
        "transform_frames = [\"transpose\", \"flip-rows\"]",
    ] {
        let scan = read(&path, &options(text)).unwrap().scan;
        let problems = crate::diagnose_frames(&scan).unwrap().join("\n");
        assert!(
            problems.contains("--hot-pixels mask): (2, 5)"),
            "{text}: {problems}"
        );
    }
}

/// Errors name the file and the dataset that are wrong.
#[test]
fn arrays_of_other_measurements_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.h5");
    let made = hdf5::File::create(&other).unwrap();
    put(&made, "bad", &Array2::from_elem((9, 8), 1_u8));
    put(&made, "dark", &Array2::from_elem((9, 8), f32::NAN));
    put(&made, "flat", &Array2::<f32>::zeros((9, 8)));
    put(&made, "beam", &arr1(&[1.0, 2.0, -3.0, 4.0, 5.0, 6.0]));
    put(&made, "small", &arr2(&[[1.0, 2.0]]));
    made.close().unwrap();
    let path = cxi(folder.path(), 2.0, None, |_| {});
    let other = other.display();
    for (option, dataset, words) in [
        ("mask", "/bad", "give --mask-marks valid"),
        (
            "dark",
            "/dark",
            "expected finite counts on valid pixels (data.dark)",
        ),
        (
            "flat",
            "/flat",
            "expected counts above 0 on valid pixels (data.flat)",
        ),
        ("monitor", "/beam", "found -3 for frame 2"),
        ("mask", "/small", "found shape 1 x 2"),
        ("monitor", "/absent", "data.monitor at /absent"),
    ] {
        let text = format!("{option} = \"{other}:{dataset}\"");
        let refused = read(&path, &options(&text)).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("{other}: ")) && refused.contains(words),
            "{refused}"
        );
    }
}

/// Frames without positions are described.
#[test]
fn frames_without_positions_can_be_read_to_describe_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = cxi(folder.path(), 2.0, None, |file| {
        file.unlink(TRANSLATION).unwrap()
    });
    let missing = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(
        matches!(&missing, IoError::Missing { what, .. } if what == "positions"),
        "{missing}"
    );
    let options = ReadOptions {
        without_positions: true,
        ..ReadOptions::default()
    };
    let scan = read(&path, &options).unwrap().scan;
    assert_eq!(scan.shape(), [6, 9, 8]);
}

const SOURCE: &str = "/entry_1/instrument_1/source_1";

/// A file whose source has `energy` in `unit` in the place of the wavelength.
fn with_energy(folder: &Path, energy: f64, unit: Option<&str>) -> PathBuf {
    cxi(folder, 0.7, None, |file| {
        file.unlink(&format!("{SOURCE}/wavelength")).unwrap();
        let path = format!("{SOURCE}/energy");
        put(file, &path, &arr1(&[energy]));
        if let Some(unit) = unit {
            text_attribute(file, &path, "units", unit);
        }
    })
}

#[test]
fn an_energy_in_a_unit_of_voltage_is_that_of_electrons() {
    let folder = tempfile::tempdir().unwrap();
    let expected = Geometry::wavelength_of_voltage(3e5);
    for (energy, unit) in [(300.0, "kV"), (3e5, "V"), (300.0, "kilovolts")] {
        let path = with_energy(folder.path(), energy, Some(unit));
        let found = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(found.scan.voltage(), Some(3e5), "{unit}");
        assert_eq!(found.scan.geometry().wavelength, expected, "{unit}");
        let notes = found.notes.join("\n");
        assert!(
            notes.contains("300 kV are taken as the voltage") && notes.contains("energy"),
            "{notes}"
        );
        // An option says that these are photons.
        let photons = read(&path, &options("constants.energy = \"8keV\"")).unwrap();
        assert_eq!(photons.scan.voltage(), None);
    }
    // Photons of hard X-rays have such energies in eV and keV, and units of energy say so.
    let path = with_energy(folder.path(), 3e5, Some("eV"));
    let found = read(&path, &ReadOptions::default()).unwrap().scan;
    assert_eq!(found.voltage(), None);
    let joule = 3e5 * 1.602_176_634e-19;
    let photons = Geometry::wavelength_of_energy(joule);
    assert!((found.geometry().wavelength / photons - 1.0).abs() < 1e-14);
    // No electron microscope has 8.8 kV; photons of 8.8 keV are common.
    let path = with_energy(folder.path(), 8.8, Some("kV"));
    let refused = read(&path, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    for words in ["--voltage 8.8kV", "--energy 8.8keV", "units = \"kV\""] {
        assert!(refused.contains(words), "{refused}");
    }
    assert!(read(&path, &options("constants.energy = \"8.8keV\"")).is_ok());
}

#[test]
fn a_voltage_is_that_of_the_wavelength_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let with = |wavelength: Option<f64>, volts: f64, unit: Option<&str>| {
        let path = cxi(folder.path(), 0.7, None, |file| {
            file.unlink(&format!("{SOURCE}/wavelength")).unwrap();
            if let Some(wavelength) = wavelength {
                put(file, &format!("{SOURCE}/wavelength"), &arr1(&[wavelength]));
            }
            put(file, &format!("{SOURCE}/voltage"), &arr1(&[volts]));
            if let Some(unit) = unit {
                text_attribute(file, &format!("{SOURCE}/voltage"), "units", unit);
            }
        });
        read(&path, &ReadOptions::default()).map_err(|error| error.to_string())
    };
    let of = Geometry::wavelength_of_voltage;
    let alone = with(None, 200.0, Some("kV")).unwrap().scan;
    assert_eq!(
        (alone.voltage(), alone.geometry().wavelength),
        (Some(2e5), of(2e5))
    );
    // A wavelength is kept to the bit.
    let near = of(2e5) * (1.0 + 1e-6);
    let both = with(Some(near), 2e5, None).unwrap();
    assert_eq!(both.scan.geometry().wavelength, near);
    assert_eq!(both.scan.voltage(), Some(2e5));
    assert!(
        !both.notes.join("\n").contains("voltage"),
        "{:?}",
        both.notes
    );
    let other = with(Some(1e-10), 2e5, None).unwrap();
    assert_eq!(
        (other.scan.voltage(), other.scan.geometry().wavelength),
        (None, 1e-10)
    );
    let notes = other.notes.join("\n");
    assert!(notes.contains("voltage (200 kV) is not used"), "{notes}");
    for (volts, unit, words) in [
        (300.0, None, "300 without a unit: is it in kV or V?"),
        (300.0, Some("Tesla"), "units = \"Tesla\""),
        (3.0, Some("V"), "a voltage between 100V and 10MV"),
    ] {
        let refused = with(None, volts, unit).unwrap_err();
        assert!(
            refused.contains(words) && refused.contains("--voltage 300kV"),
            "{refused}"
        );
        assert!(with(Some(of(3e5)), volts, unit).is_ok());
    }
}
