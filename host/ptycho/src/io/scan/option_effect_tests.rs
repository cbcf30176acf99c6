//! Every option of `[data]` that does not only permit or state something has an effect on each
//! layout, or is refused.

use super::frame_file::npy;
use super::layout_tests::{options, put};
use super::{read, write};
use crate::data::{Geometry, Propagation, Scan};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, arr0};
use std::path::{Path, PathBuf};

/// Options with values other than those of the files.
const OPTIONS: [&str; 23] = [
    "frames = [0, 6]",
    "half = 1",
    "every = 2",
    "exclude = [1]",
    "transform_frames = [\"flip-rows\"]",
    "centre = [7.0, 6.0]",
    "crop = [8, 8]",
    "pad = [32, 32]",
    "bin = 2",
    "coarse = 2",
    "affine = [[2.0, 0.0], [0.0, 1.0]]",
    "swap_axes = true",
    "flip_rows = true",
    "no_data = [3]",
    "frame_axes = [0, 2, 1]",
    "near_field = true",
    "constants.wavelength = 2e-10",
    "constants.distance = 3.0",
    "constants.pixel_size = [5e-5, 5e-5]",
    "units.positions = \"nm\"",
    "units.wavelength = \"nm\"",
    "units.energy = \"eV\"",
    "units.distance = \"cm\"",
];

fn counts() -> Array3<u32> {
    Array3::from_shape_fn((12, 16, 16), |(f, r, c)| {
        (1 + (3 * f + 5 * r + 7 * c) % 11) as u32
    })
}

fn positions() -> Array2<f64> {
    Array2::from_shape_fn((12, 2), |(f, axis)| match axis {
        0 => (f / 4) as f64 * 1e-6,
        _ => (f % 4) as f64 * 1.5e-6,
    })
}

/// A scan of each layout, with the options that it needs.
fn scans(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let scan = Scan::new(
        counts().mapv(|count| count as f32),
        None,
        positions(),
        Geometry {
            wavelength: 1e-10,
            distance: 2.0,
            pixel_size: [75e-6; 2],
            propagation: Propagation::FarField,
        },
        None,
    );
    let cxi = folder.join("a.cxi");
    write(&cxi, &scan.unwrap()).unwrap();
    let ptyd = folder.join("a.ptyd");
    let file = hdf5::File::create(&ptyd).unwrap();
    for group in ["chunks", "chunks/0", "meta"] {
        file.create_group(group).unwrap();
    }
    put(&file, "chunks/0/data", &counts());
    put(&file, "chunks/0/positions", &positions());
    put(&file, "meta/energy", &arr0(12.4));
    put(&file, "meta/distance", &arr0(2.0));
    put(&file, "meta/psize", &arr0(75e-6));
    file.close().unwrap();
    let plain = folder.join("a.h5");
    let file = hdf5::File::create(&plain).unwrap();
    put(&file, "counts", &counts());
    put(&file, "xy", &positions());
    put(&file, "lambda", &arr0(1e-10));
    put(&file, "z", &arr0(2.0));
    put(&file, "pixel", &arr0(75e-6));
    file.close().unwrap();
    let alone = folder.join("a.npy");
    std::fs::write(&alone, npy(&[12, 16, 16], counts().iter().copied())).unwrap();
    vec![
        (cxi, ""),
        (ptyd, ""),
        (
            plain,
            "[paths]\nframes = \"/counts\"\npositions = \"/xy\"\nwavelength = \"/lambda\"\ndistance = \"/z\"\npixel_size = \"/pixel\"\n",
        ),
        (
            alone,
            "[raster]\npoints = [3, 4]\nstep = \"1um\"\n[constants]\nwavelength = 1e-10\ndistance = 2.0\npixel_size = [75e-6, 75e-6]\n",
        ),
    ]
}

#[test]
fn no_option_is_accepted_without_effect() {
    let folder = tempfile::tempdir().unwrap();
    for (path, needed) in scans(folder.path()) {
        let plain = read(&path, &options(needed)).unwrap_or_else(|e| panic!("{e}"));
        for option in OPTIONS {
            let (name, _) = option.split_once(" = ").unwrap();
            // It is there already.
            if needed.contains("[constants]") && name.starts_with("constants.") {
                continue;
            }
            let text = format!("{option}\n{needed}");
            match read(&path, &options(&text)) {
                Ok(found) => assert_ne!(
                    found.scan,
                    plain.scan,
                    "{option} has no effect on {}",
                    path.display()
                ),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!error.contains('\n'), "{error}");
                }
            }
        }
    }
}

/// Units that replace nothing are refused by their name.
#[test]
fn units_without_effect_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (path, needed) in scans(folder.path()) {
        let ending = path.extension().unwrap().to_str().unwrap();
        let unused: &[&str] = match ending {
            "cxi" | "h5" => &["energy"],
            "ptyd" => &["wavelength"],
            _ => &[
                "positions",
                "wavelength",
                "energy",
                "distance",
                "pixel_size",
            ],
        };
        if ending == "cxi" {
            let text = "units.wavelength = \"nm\"\nconstants.wavelength = 1.4e-10";
            let refused = read(&path, &options(text)).unwrap_err().to_string();
            assert!(
                refused.contains("data.units.wavelength: the option has no effect"),
                "{refused}"
            );
        }
        for name in unused {
            let unit = if *name == "energy" { "keV" } else { "mm" };
            let text = format!("units.{name} = \"{unit}\"\n{needed}");
            let refused = read(&path, &options(&text)).unwrap_err().to_string();
            let named = format!("data.units.{name}: the option has no effect here");
            assert!(refused.contains(&named), "{refused}");
        }
    }
}
