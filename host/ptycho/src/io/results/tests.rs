//! Round trips of results, and files that are refused.

use super::*;
use crate::data::Propagation;
use ndarray::{Array3, ArrayD};
use num_complex::Complex;

fn result(double: bool) -> Reconstruction {
    let entry = |iteration: usize, errors: Option<f64>| HistoryEntry {
        iteration,
        engine: if iteration < 2 { "dm" } else { "raar" }.to_owned(),
        err_fourier: 1.0 / iteration as f64,
        err_exit: (iteration < 3).then_some(0.1),
        err_phot: errors,
        r_factor: errors.map(|f| f / 3.0),
        r_free: errors.map(|f| f / 2.0),
        seconds: iteration as f64 * 0.7,
    };
    Reconstruction {
        object: Array2::from_shape_fn((7, 9), |(r, c)| Complex::new(r as f64, -(c as f64))),
        probe: Array3::from_shape_fn((2, 4, 3), |(m, r, c)| {
            Complex::new(m as f64 - c as f64, 0.5 * r as f64)
        }),
        mode_power: vec![0.75, 0.25],
        pixel: [1.1e-8, 1.3e-8],
        positions: Array2::from_shape_fn((3, 2), |(j, k)| j as f64 * 1e-7 - k as f64),
        recorded_positions: Array2::from_shape_fn((3, 2), |(j, k)| j as f64 * 2e-7 - k as f64),
        corners: vec![[0, 1], [2, 3], [4, u32::MAX]],
        fractions: vec![[0.5, -0.25], [0.0, 0.1], [-0.5, 0.0]],
        frame_scales: vec![0.9, 1.0, 1.1],
        origin: [-1e-6, 2e-6],
        fluence: Array2::from_elem((7, 9), 12.5),
        history: vec![entry(1, None), entry(2, Some(0.25)), entry(3, None)],
        recipe: "[[engine]]\nname = \"dm\" # α β\n".to_owned(),
        backend: "cpu".to_owned(),
        device: String::new(),
        plan: "fused into one kernel".to_owned(),
        trials: "{\"tried\":[]}".to_owned(),
        version: "0.1.0".to_owned(),
        source: "a/b ü.cxi".to_owned(),
        wavelength: 1e-10,
        voltage: None,
        distance: 2.0,
        propagation: Propagation::FarField,
        double_precision: double,
        parts: crate::data::ModelParts::default(),
    }
}

/// A result of about 1 MB.
pub(crate) fn large() -> Reconstruction {
    let mut large = result(true);
    large.object = Array2::from_elem((256, 256), Complex::new(0.5, 0.25));
    large
}

#[test]
fn a_result_is_read_back_unchanged_in_both_precisions() {
    let folder = tempfile::tempdir().unwrap();
    for double in [false, true] {
        let path = folder.path().join("r.h5");
        // All values of object, probe and fluence above are exact in f32.
        let mut given = result(double);
        if double {
            given.object[[3, 3]].re = 1.0 / 3.0;
        }
        write(&path, &given).unwrap();
        assert_eq!(read(&path).unwrap(), given);
    }
}

#[test]
fn the_propagation_to_a_near_field_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.h5");
    for focus_to_sample in [None, Some(3.65e-3)] {
        let mut given = result(true);
        given.propagation = Propagation::NearField { focus_to_sample };
        write(&path, &given).unwrap();
        assert_eq!(read(&path).unwrap(), given);
    }
    let file = hdf5::File::open_rw(&path).unwrap();
    let focus = file.dataset(&format!("{SOURCE}/focus_to_sample")).unwrap();
    focus.write_scalar(&-1.0).unwrap();
    drop((focus, file));
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("focus_to_sample") && error.contains("above 0"),
        "{error}"
    );
}

#[test]
fn a_result_without_frames_or_iterations_is_read_back_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.h5");
    let mut given = result(true);
    given.positions = Array2::zeros((0, 2));
    given.recorded_positions = Array2::zeros((0, 2));
    given.corners.clear();
    given.fractions.clear();
    given.frame_scales.clear();
    given.history.clear();
    write(&path, &given).unwrap();
    assert_eq!(read(&path).unwrap(), given);
}

/// Changes a result's file and reads it.
fn read_after(change: impl Fn(&hdf5::File) -> hdf5::Result<()>) -> Result<Reconstruction, IoError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.h5");
    write(&path, &result(true)).unwrap();
    let file = hdf5::File::open_rw(&path).unwrap();
    change(&file).unwrap();
    file.close().unwrap();
    read(&path)
}

#[test]
fn results_of_earlier_versions_have_whole_pixels_and_scales_of_1() {
    let names = [
        format!("{IMAGE}/fractions"),
        format!("{IMAGE}/frame_scales"),
        TRANSLATION_RECORDED.to_owned(),
    ];
    let old = read_after(|file| names.iter().try_for_each(|name| file.unlink(name))).unwrap();
    let expected = result(true);
    assert_eq!(
        old,
        Reconstruction {
            recorded_positions: expected.positions.clone(),
            fractions: vec![[0.0; 2]; 3],
            frame_scales: vec![1.0; 3],
            ..expected
        }
    );
}

#[test]
fn shapes_that_do_not_fit_the_positions_are_refused() {
    let image = |name: &str| format!("{IMAGE}/{name}");
    for (name, shape, expected) in [
        (TRANSLATION.to_owned(), [3, 2], "shape (frame, 3)"),
        (TRANSLATION_RECORDED.to_owned(), [4, 3], "shape (3, 3)"),
        (TRANSLATION_RECORDED.to_owned(), [3, 2], "shape (3, 3)"),
        (image("corners"), [2, 2], "shape (3, 2), one corner"),
        (image("fractions"), [3, 1], "shape (3, 2), one shift"),
        (image("frame_scales"), [3, 1], "shape (3), one factor"),
    ] {
        let error = read_after(|file| {
            file.unlink(&name)?;
            output::array(file, &name, &Array2::<f64>::zeros(shape))
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains(&name) && text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let negative = read_after(|file| {
        let scales = file.dataset(&image("frame_scales"))?;
        scales.write(&Array1::from_vec(vec![1.0, -0.5, 1.0]))
    });
    let text = negative.unwrap_err().to_string();
    assert!(text.contains("expected") && text.contains("-0.5"), "{text}");
}

#[test]
fn values_that_no_result_has_are_refused() {
    for (name, value, expected) in [
        ("corners", -1.0, "whole number"),
        ("corners", 0.5, "whole number"),
        ("corners", f64::NAN, "found NaN"),
        ("fractions", 0.9, "-0.5 to 0.5"),
        ("fractions", f64::NAN, "found NaN"),
    ] {
        let name = format!("{IMAGE}/{name}");
        let error = read_after(|file| {
            file.unlink(&name)?;
            output::array(file, &name, &Array2::from_elem([3, 2], value))
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains(&name) && text.contains(expected), "{text}");
    }
    for (name, value) in [("x_pixel_size", 0.0), ("y_pixel_size", f64::NAN)] {
        let name = format!("{IMAGE}/{name}");
        let error = read_after(|file| {
            file.unlink(&name)?;
            output::number(file, &name, value)
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains(&name) && text.contains("above 0"), "{text}");
    }
    for name in [TRANSLATION, TRANSLATION_RECORDED] {
        let error = read_after(|file| {
            file.unlink(name)?;
            output::array(file, name, &Array2::from_elem([3, 3], f64::INFINITY))
        });
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains(name) && text.contains("finite positions"),
            "{text}"
        );
    }
    for (path, shape) in [("data", vec![20, 19]), ("illumination", vec![0, 4, 4])] {
        let name = match path {
            "data" => format!("{IMAGE}/data"),
            _ => format!("{SOURCE}/illumination"),
        };
        let error = read_after(|file| {
            file.unlink(&name)?;
            output::array(file, &name, &ArrayD::from_elem(shape.clone(), f64::NAN))
        });
        let text = error.unwrap_err().to_string();
        assert!(text.contains(&name) && text.contains("expected"), "{text}");
    }
}

#[test]
fn a_scan_is_not_read_as_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.cxi");
    output::write(&path, |file| output::number(file, "cxi_version", 160_i64)).unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(
        text.contains("expected object") && text.contains("image_1/data"),
        "{text}"
    );
}
