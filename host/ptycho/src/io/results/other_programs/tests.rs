//! Files in the layouts of other programs, and wrong ones.

use crate::io::results;
use hdf5::H5Type;
use hdf5_metno as hdf5;
use ndarray::{Array, Array2, Array3, Array4, Axis, Dimension, arr1, arr2};
use num_complex::Complex;
use std::path::Path;

fn put<T: H5Type, D: Dimension>(file: &hdf5::File, name: &str, values: &Array<T, D>) {
    let dataset = file.new_dataset::<T>().shape(values.shape()).create(name);
    dataset.unwrap().write(values.view()).unwrap();
}

fn attribute(of: &hdf5::Location, name: &str, value: f64) {
    let made = of.new_attr::<f64>().create(name).unwrap();
    made.write_scalar(&value).unwrap();
}

fn object() -> Array3<Complex<f64>> {
    Array3::from_shape_fn((1, 9, 12), |(_, r, c)| {
        Complex::new(r as f64 + 1.0, c as f64)
    })
}

/// A product of which `change` alters parts before the file is closed.
fn product(path: &Path, photons: f64, change: impl Fn(&hdf5::File)) {
    let file = hdf5::File::create(path).unwrap();
    put(&file, "object", &object());
    let probe = Array4::from_elem((2, 1, 4, 4), Complex::new(0.5, 0.0));
    put(&file, "probe", &probe);
    // The middle of the object, and one pixel (20 nm) below and two (30 nm) before it.
    put(&file, "probe_position_y_m", &arr1(&[1e-6, 1e-6 + 20e-9]));
    put(&file, "probe_position_x_m", &arr1(&[2e-6, 2e-6 - 60e-9]));
    let dataset = file.dataset("object").unwrap();
    for (name, value) in [
        ("pixel_height_m", 20e-9),
        ("pixel_width_m", 30e-9),
        ("center_y_m", 1e-6),
        ("center_x_m", 2e-6),
    ] {
        attribute(&dataset, name, value);
    }
    for (name, value) in [
        ("photon_energy_eV", 8000.0),
        ("detector_object_distance_m", 2.0),
        ("probe_photon_count", photons),
    ] {
        attribute(&file, name, value);
    }
    change(&file);
    drop(dataset);
    file.close().unwrap();
}

#[test]
fn the_middle_window_of_a_product_is_in_the_middle_of_the_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("product.h5");
    // Σ|P|² is 4, of pty-chi's transform 64.
    for (photons, expected) in [(64.0, 64.0), (4.0, 4.0), (0.0, 64.0)] {
        product(&path, photons, |_| {});
        let found = results::read(&path).unwrap();
        assert_eq!(found.object, object().index_axis(Axis(0), 0));
        let power: f64 = found.probe.iter().map(Complex::norm_sqr).sum();
        assert!((power - expected).abs() < 1e-9, "{power}");
        assert_eq!(found.pixel, [20e-9, 30e-9]);
        // Rows 2.5 to 6.5 of 9, columns 4 to 8 of 12.
        let begins: Vec<[f64; 2]> = std::iter::zip(&found.corners, &found.fractions)
            .map(|(corner, by)| [0, 1].map(|axis| f64::from(corner[axis]) + by[axis]))
            .collect();
        for (begin, expected) in std::iter::zip(begins, [[2.5, 4.0], [3.5, 2.0]]) {
            for axis in 0..2 {
                assert!((begin[axis] - expected[axis]).abs() < 1e-6, "{begin:?}");
                let at = found.origin[axis] + begin[axis] * found.pixel[axis];
                assert!(
                    [1e-6, 1.02e-6, 2e-6, 1.94e-6]
                        .iter()
                        .any(|v| (at - v).abs() < 1e-12)
                );
            }
        }
        assert!((found.wavelength - 1.549_802_48e-10).abs() < 1e-17);
        assert_eq!(found.backend, "Ptychodus");
        // Saved and read again it is the same, though it has no history.
        let again = folder.path().join("again.h5");
        results::write(&again, &found).unwrap();
        assert_eq!(results::read(&again).unwrap(), found);
    }
}

fn refused(path: &Path, expected: &str) {
    let text = results::read(path).unwrap_err().to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn wrong_products_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("product.h5");
    let replace = |name: &'static str| move |file: &hdf5::File| file.unlink(name).unwrap();
    product(&path, 0.0, |file| {
        replace("probe_position_x_m")(file);
        put(file, "probe_position_x_m", &arr1(&[2e-6]));
    });
    refused(&path, "probe_position_x_m: expected shape (2), as of");
    product(&path, 0.0, |file| {
        replace("probe_position_x_m")(file);
        put(file, "probe_position_x_m", &arr1(&[2e-6, 1.0]));
    });
    refused(&path, "for frame 1");
    product(&path, 0.0, |file| {
        replace("probe_position_x_m")(file);
        put(file, "probe_position_x_m", &arr1(&[2e-6, f64::NAN]));
    });
    refused(&path, "expected finite positions in metres");
    product(&path, 0.0, |file| {
        let dataset = file.dataset("object").unwrap();
        dataset.delete_attr("pixel_width_m").unwrap();
    });
    refused(&path, "expected an attribute pixel_width_m");
    product(&path, 0.0, |file| {
        file.delete_attr("photon_energy_eV").unwrap();
    });
    refused(
        &path,
        "expected an attribute photon_energy_eV, a finite number above 0, found none",
    );
    product(&path, 0.0, |file| {
        replace("probe")(file);
        put(file, "probe", &object());
    });
    refused(
        &path,
        "probe: expected shape (coherent mode, incoherent mode, row, column)",
    );
    product(&path, 0.0, |file| {
        replace("object")(file);
        put(
            file,
            "object",
            &Array3::from_elem((2, 9, 12), Complex::new(1.0, 0.0)),
        );
    });
    refused(&path, "object: expected shape (1, row, column)");
}

/// A file of PtyPy of which `change` alters parts before it is closed.
fn ptyr(path: &Path, change: impl Fn(&hdf5::File)) {
    let file = hdf5::File::create(path).unwrap();
    for group in ["obj", "probe"] {
        file.create_group(&format!("content/{group}/SMFG00"))
            .unwrap();
    }
    put(&file, "content/obj/SMFG00/data", &object());
    put(&file, "content/obj/SMFG00/_psize", &arr1(&[20e-9, 30e-9]));
    put(&file, "content/obj/SMFG00/_energy", &arr1(&[8.0]));
    let probe = Array3::from_elem((1, 4, 4), Complex::new(0.5, 0.0));
    put(&file, "content/probe/SMFG00/data", &probe);
    change(&file);
    file.close().unwrap();
}

#[test]
fn a_file_of_ptypy_is_read_with_positions_where_it_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.ptyr");
    ptyr(&path, |_| {});
    let found = results::read(&path).unwrap();
    assert_eq!(found.object, object().index_axis(Axis(0), 0));
    assert_eq!((found.pixel, found.positions.nrows()), ([20e-9, 30e-9], 0));
    assert!((found.wavelength - 1.549_802_48e-10).abs() < 1e-17);
    assert!(found.distance.is_nan());
    assert_eq!(found.fluence, Array2::<f64>::ones((9, 12)));
    let again = folder.path().join("again.h5");
    results::write(&again, &found).unwrap();
    let back = results::read(&again).unwrap();
    assert_eq!((back.object, back.corners), (found.object, found.corners));

    // The documented example: the centre is pixel 3.2, and a window of 4 pixels at 0 begins at
    // pixel 1.
    ptyr(&path, |file| {
        put(file, "content/obj/SMFG00/_center", &arr1(&[3.2, 3.2]));
        file.create_group("content/positions").unwrap();
        let positions = arr2(&[[0.0, 0.0], [20e-9, 90e-9]]);
        put(file, "content/positions/SMFG00", &positions);
        file.create_group("content/pars/scans/MF/data").unwrap();
        put(file, "content/pars/scans/MF/data/distance", &arr1(&[7.0]));
    });
    let found = results::read(&path).unwrap();
    assert_eq!(found.corners, [[1, 1], [2, 4]]);
    assert_eq!(found.fractions, [[0.0; 2]; 2]);
    assert_eq!(found.distance, 7.0);
    let at = found.origin[1] + 1.2 * found.pixel[1];
    assert!(at.abs() < 1e-15, "{at}");
    ptyr(&path, |file| {
        put(file, "content/obj/SMFG00/_origin", &arr1(&[-64e-9, -96e-9]));
        file.create_group("content/positions").unwrap();
        put(file, "content/positions/SMFG00", &arr2(&[[0.0, 0.0]]));
    });
    assert_eq!(results::read(&path).unwrap().corners, [[1, 1]]);
}

#[test]
fn wrong_files_of_ptypy_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.ptyr");
    ptyr(&path, |file| {
        drop(file.create_group("content/obj/SMFG01").unwrap());
    });
    refused(
        &path,
        "/content/obj: expected one object, found SMFG00, SMFG01",
    );
    ptyr(&path, |file| {
        file.unlink("content/obj/SMFG00/_energy").unwrap()
    });
    refused(&path, "expected energy at /content/obj/SMFG00/_energy");
    ptyr(&path, |file| file.unlink("content/probe/SMFG00").unwrap());
    refused(&path, "expected probe at /content/probe/*/data");
    ptyr(&path, |file| {
        file.unlink("content/obj/SMFG00/_psize").unwrap();
        put(file, "content/obj/SMFG00/_psize", &arr1(&[20e-9, -1.0]));
    });
    refused(&path, "_psize: expected finite sizes above 0, m, found -1");
    ptyr(&path, |file| {
        put(file, "content/obj/SMFG00/_center", &arr1(&[0.0, 0.0]));
        file.create_group("content/positions").unwrap();
        put(file, "content/positions/SMFG00", &arr2(&[[0.0, 0.0]]));
    });
    refused(
        &path,
        "/content/positions: expected positions of windows of 4 x 4 pixels inside the object of 9 x 12, found one at (-2.00, -2.00) for frame 0",
    );
}
