//! Units and translations of CXI files, pixels in the coordinates of a file, and arrays of other measurements that are wrong.

use super::layout_tests::{file, options, put, text_attribute};
use super::*;
use hdf5_metno as hdf5;
use ndarray::{Array, Array2, arr1, arr2};
use std::path::PathBuf;

const DISTANCE: &str = "/entry_1/instrument_1/detector_1/distance";
const TRANSLATION: &str = "/entry_1/sample_1/geometry_1/translation";

/// Six frames of 9 × 8 pixels, whose pixel (2, 5) is hot, with a distance and its unit, and what `more` adds.
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
        (681.0, None, "681 without a unit: is it in m or mm?"),
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
    let ScanFile { scan, notes } = read(&path, &options(&text)).unwrap();
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
        let problems = crate::ptycho::diagnose_frames(&scan).unwrap().join("\n");
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
        ("mask", "/bad", "found none: all pixels would be masked"),
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
