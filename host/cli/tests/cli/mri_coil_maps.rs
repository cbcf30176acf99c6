//! Coil maps, stopping and comparison of `mri reconstruct`, with the real program.

use super::mri_raw::{RawFile, reconstruct};
use super::support::{STARTING, TestFolder};
use ndarray::{Array2, Array3, Array4, Axis};
use num_complex::Complex;
use std::sync::PoisonError;
use warpstride::mri::cpu::Direct;
use warpstride::mri::data::{Extent, KSpace, Readout, Truth};
use warpstride::mri::io::images;
use warpstride::mri::io::ismrmrd::{self, Recording};
use warpstride::mri::{Encoding, Grid, SimulateOptions, simulate};
use warpstride::system::Memory;

/// The summary of a reconstruction compared with the truth in the same file.
fn compared(folder: &TestFolder, file: &str, options: &[&str]) -> serde_json::Value {
    let fixed = ["--reference", file, "--summary", "s.json"];
    reconstruct(folder, file, &[&fixed, options].concat()).well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(summary: &serde_json::Value, key: &str) -> f64 {
    summary[key].as_f64().unwrap()
}

/// Writes `lines.h5`: Cartesian lines of the phantom as the samples of eight coils whose root sum
/// of squares is 1, without noise and without what voxels cannot resolve, so that the right maps
/// give the truth.
fn write_lines(folder: &TestFolder, side: usize, keep: impl Fn(i32) -> bool) {
    let options = SimulateOptions {
        matrix: side,
        spokes: Some(1),
        ..SimulateOptions::default()
    };
    let mut truth: Truth = simulate(&options).unwrap().truth;
    let squares = truth
        .coil_maps
        .mapv(|s| s.norm_sqr())
        .sum_axis(ndarray::Axis(0));
    for mut map in truth.coil_maps.outer_iter_mut() {
        map.zip_mut_with(&squares, |s, square| *s /= square.sqrt());
    }
    let coil_images = &truth.coil_maps * &truth.image;
    write_coil_images(folder, truth, &coil_images, keep);
}

/// Writes `lines.h5`: Cartesian lines of these images (coil, slice, row, column), with this
/// `truth`.
fn write_coil_images(
    folder: &TestFolder,
    truth: Truth,
    coil_images: &Array4<Complex<f64>>,
    keep: impl Fn(i32) -> bool,
) {
    let (coils, _, rows, columns) = coil_images.dim();
    let [half_rows, half_columns] = [rows, columns].map(|n| n as i32 / 2);
    let kept: Vec<i32> = (-half_rows..half_rows).filter(|line| keep(*line)).collect();
    let trajectory = Array2::from_shape_fn((kept.len() * columns, 2), |(sample, axis)| {
        let (line, at) = (sample / columns, sample % columns);
        match axis {
            0 => f64::from(at as i32 - half_columns) / columns as f64,
            _ => f64::from(kept[line]) / rows as f64,
        }
    });
    let direct = Direct::<f64>::new(Grid::two(rows, columns), trajectory.view(), None).unwrap();
    let mut samples = Array2::zeros((coils, trajectory.nrows()));
    direct.forward(
        coil_images.as_slice().unwrap(),
        samples.as_slice_mut().unwrap(),
    );
    let extent = Extent {
        matrix: [1, rows, columns],
        axes: 2,
        field_of_view: None,
    };
    let readouts = (0..kept.len())
        .map(|line| Readout {
            samples: line * columns..(line + 1) * columns,
            acquisition: line,
            interval: 0.0,
            discarded: 0,
        })
        .collect();
    let kspace = KSpace::new(extent, trajectory, samples, readouts).unwrap();
    let recording = Recording {
        kspace: &kspace,
        trajectory: "other",
        steps: &[],
        truth: Some(&truth),
    };
    let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    ismrmrd::write(&folder.path("lines.h5"), &recording).unwrap();
}

/// Every other line, and 24 lines in the centre for calibration.
#[test]
fn the_default_maps_leave_no_ghosts_of_every_other_line() {
    let folder = TestFolder::new();
    write_lines(&folder, 64, |line| {
        line % 2 == 0 || (-12..12).contains(&line)
    });
    let nrmse = |maps: &str| {
        let options = ["--coil-maps", maps, "--precision", "f64"];
        number(&compared(&folder, "lines.h5", &options), "magnitude_nrmse")
    };
    let known = nrmse("lines.h5");
    assert!(known < 1e-3, "{known}");
    let default = compared(&folder, "lines.h5", &[]);
    assert_eq!(default["coil_maps"], "espirit");
    assert!(default["notes"].as_array().unwrap().is_empty(), "{default}");
    let found = number(&default, "magnitude_nrmse");
    assert!(found < 0.005, "{found}");
    for other in ["low-pass", "walsh"] {
        let ghosts = nrmse(other);
        assert!(ghosts > 0.1, "{other}: {ghosts}");
    }
}

/// The object is a third longer than the field of view, and its ends fall on one another.
#[test]
fn an_object_larger_than_its_field_of_view_gets_two_sets_of_maps() {
    let folder = TestFolder::new();
    let (side, rows) = (64, 48);
    let options = SimulateOptions {
        matrix: side,
        spokes: Some(1),
        ..SimulateOptions::default()
    };
    let whole: Truth = simulate(&options).unwrap().truth;
    let coil_images = &whole.coil_maps * &whole.image;
    let mut folded = Array4::zeros((8, 1, rows, side));
    for row in 0..side {
        let mut to = folded.index_axis_mut(Axis(2), (row + 40) % rows);
        to += &coil_images.index_axis(Axis(2), row);
    }
    let squares = folded
        .mapv(|v: Complex<f64>| v.norm_sqr())
        .sum_axis(Axis(0));
    let image: Array3<Complex<f64>> = squares.mapv(|v| Complex::from(v.sqrt()));
    let coil_maps = folded.clone();
    write_coil_images(&folder, Truth { image, coil_maps }, &folded, |line| {
        line % 2 == 0 || (-12..12).contains(&line)
    });
    // The sets' maps are nearly parallel where the second is weak, so that many iterations are
    // needed.
    let fixed = ["--iterations", "100", "--min-residual", "0"];
    let found = compared(&folder, "lines.h5", &fixed);
    let note = found["notes"][0].as_str().unwrap();
    assert!(note.starts_with("2 sets of coil maps, "), "{note}");
    assert_eq!(found["coil_map_sets"], 2);
    let error = number(&found, "magnitude_nrmse");
    assert!(error < 0.02, "{error}");
    let maps = images::read_coil_maps(&folder.path("out.h5"), Memory::available()).unwrap();
    assert_eq!(maps.dim(), (2, 8, 1, rows, side));
    // One set cannot describe it.
    let one = maps.index_axis(Axis(0), 0).into_dyn();
    warpstride::io::npy::complex::write(&folder.path("one.npy"), one, true).unwrap();
    std::fs::rename(folder.path("out.h5"), folder.path("both.h5")).unwrap();
    let by = |maps: &str| {
        let options = [&fixed[..], &["--coil-maps", maps]].concat();
        number(&compared(&folder, "lines.h5", &options), "magnitude_nrmse")
    };
    let (one, both) = (by("one.npy"), by("both.h5"));
    assert!(
        one > 5.0 * error && (both / error - 1.0).abs() < 1e-3,
        "{one} {both} {error}"
    );
    for method in ["tv", "adjoint"] {
        reconstruct(
            &folder,
            "lines.h5",
            &["--method", method, "--coil-maps", "both.h5"],
        )
        .well();
    }
}

/// A small calibration region does not make several sets of an object within its field of view.
#[test]
fn few_lines_for_calibration_give_one_set() {
    let folder = TestFolder::new();
    write_lines(&folder, 64, |line| line % 2 == 0 || (-5..5).contains(&line));
    let found = compared(&folder, "lines.h5", &[]);
    assert_eq!(found["coil_map_sets"], 1);
    let error = number(&found, "magnitude_nrmse");
    assert!(error < 0.1, "{error}");
    for options in [
        &["--coils", "8"][..],
        &["--trajectory", "golden", "--noise", "30"],
    ] {
        let fixed = [
            "mri", "simulate", "v.h5", "--3d", "--matrix", "16", "--quiet",
        ];
        folder.run(&[&fixed, options].concat()).well();
        let found = compared(&folder, "v.h5", &[]);
        assert_eq!(found["coil_map_sets"], 1);
    }
}

/// All coils together leave no dimension of the patches empty, so that ESPIRiT's maps are
/// arbitrary.
#[test]
fn too_few_coils_get_adaptive_maps() {
    let folder = TestFolder::new();
    let options = ["--3d", "--matrix", "16", "--coils", "2", "--quiet"];
    folder
        .run(&[&["mri", "simulate", "v.h5"], &options[..]].concat())
        .well();
    let found = compared(&folder, "v.h5", &[]);
    let note = found["notes"][0].as_str().unwrap();
    assert!(note.contains("2 coils are too few for espirit"), "{note}");
    let walsh = compared(&folder, "v.h5", &["--coil-maps", "walsh"]);
    assert!(walsh["notes"].as_array().unwrap().is_empty());
    assert_eq!(found["nrmse"], walsh["nrmse"]);
}

/// Lines that are left out are a null space, in which rounding would grow.
#[test]
fn iterations_stop_at_rounding() {
    let folder = TestFolder::new();
    write_lines(&folder, 44, |line| line % 2 == 0 || (-6..6).contains(&line));
    let with = |options: &[&str]| {
        let fixed = ["--coil-maps", "none", "--iterations", "15"];
        compared(&folder, "lines.h5", &[&fixed, options].concat())
    };
    for options in [&[][..], &["--precision", "f64"], &["--operator", "nufft"]] {
        let found = with(options);
        let note = found["notes"][0].as_str().unwrap();
        assert!(note.contains("only amplify rounding errors"), "{note}");
        assert!(found["iterations"].as_u64() < Some(6), "{found}");
        let error = number(&found, "magnitude_nrmse");
        assert!(error < 0.5, "{error}");
    }
    assert_eq!(with(&["--min-residual", "0"])["iterations"], 15);
}

/// Without lines for calibration no maps can be right, and a note says so.
#[test]
fn an_undersampled_centre_is_noted() {
    let folder = TestFolder::new();
    write_lines(&folder, 32, |line| line % 2 == 0);
    let output = reconstruct(&folder, "lines.h5", &[]);
    output.well();
    let note = "note: the coil maps are inaccurate: 50 % of the central 8 x 8 cells";
    assert!(output.out.contains(note), "{}", output.out);
    let output = reconstruct(&folder, "lines.h5", &["--coil-maps", "lines.h5"]);
    output.well();
    assert!(!output.out.contains("inaccurate"), "{}", output.out);
}

#[test]
fn the_default_maps_are_better_than_those_of_low_pass_images() {
    for options in [
        &["--trajectory", "golden", "--spokes", "34", "--noise", "60"][..],
        &["--trajectory", "spiral"],
        &["--3d", "--matrix", "16", "--coils", "4"],
    ] {
        let folder = TestFolder::new();
        let fixed = ["mri", "simulate", "phantom.h5", "--quiet", "--matrix"];
        let matrix = if options.contains(&"--3d") {
            &[][..]
        } else {
            &["48"]
        };
        let fixed = if matrix.is_empty() {
            &fixed[..4]
        } else {
            &fixed
        };
        let output = folder.run(&[fixed, matrix, options].concat());
        output.well();
        assert_eq!(output.out, "");
        let nrmse = |maps: &str| {
            let found = compared(&folder, "phantom.h5", &["--coil-maps", maps]);
            number(&found, "magnitude_nrmse")
        };
        let (default, low_pass) = (nrmse("auto"), nrmse("low-pass"));
        assert!(default < low_pass, "{options:?}: {default} {low_pass}");
    }
}

#[test]
fn maps_without_signal_are_refused() {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    for acquisition in &mut raw.acquisitions {
        acquisition.edit_data(|d| d.fill(0.0));
    }
    raw.write(&folder);
    for maps in ["espirit", "low-pass", "walsh"] {
        let words = ["raw.h5: coil maps", maps, "expected signal", "found none"];
        reconstruct(&folder, "raw.h5", &["--coil-maps", maps]).refused(1, &words);
    }
    assert_eq!(folder.names(), ["raw.h5"]);
    reconstruct(&folder, "raw.h5", &["--coil-maps", "none"]).well();
    let maps = ndarray::ArrayD::from_elem(vec![2, 8, 8], Complex::from(1e-30));
    warpstride::io::npy::complex::write(&folder.path("maps.npy"), maps.view(), true).unwrap();
    let words = ["maps.npy: coil maps: expected a largest modulus of at least 1e-15, found 1e-30"];
    reconstruct(&folder, "raw.h5", &["--coil-maps", "maps.npy"]).refused(1, &words);
}

/// The same image with other phases: only the NRMSE of the magnitudes is 0.
#[test]
fn the_nrmse_of_the_magnitudes_ignores_phases() {
    let folder = TestFolder::new();
    write_lines(&folder, 32, |_| true);
    let options = ["--coil-maps", "lines.h5", "--quiet"];
    reconstruct(&folder, "lines.h5", &options).well();
    let image = images::read(&folder.path("out.h5")).unwrap();
    let mut n = 0.0;
    let turned = image.mapv(|v| {
        n += 1.0;
        v * Complex::cis(n)
    });
    let plane = turned.index_axis_move(ndarray::Axis(0), 0);
    warpstride::io::npy::complex::write(&folder.path("turned.npy"), plane.into_dyn().view(), true)
        .unwrap();
    let options = [
        "--coil-maps",
        "lines.h5",
        "--reference",
        "turned.npy",
        "--summary",
        "s.json",
        "--report",
        "r.html",
    ];
    let output = reconstruct(&folder, "lines.h5", &options);
    output.well();
    assert!(output.out.contains("magnitude NRMSE"), "{}", output.out);
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(number(&found, "nrmse") > 0.5);
    assert!(number(&found, "magnitude_nrmse") < 1e-6);
    assert!(number(&found, "ssim") > 0.999_999);
    let report = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(report.contains("NRMSE of the magnitudes"));
}

/// Many iterations from noisy samples fit the noise: they end at the residual, with a note.
#[test]
fn conjugate_gradients_stop_before_they_fit_noise() {
    let folder = TestFolder::new();
    let simulate = [
        "mri",
        "simulate",
        "phantom.h5",
        "--quiet",
        "--matrix",
        "32",
        "--trajectory",
        "golden",
        "--spokes",
        "21",
        "--coils",
        "4",
        "--noise",
        "30",
    ];
    folder.run(&simulate).well();
    let run = |options: &[&str]| {
        let fixed = ["--coil-maps", "phantom.h5", "--iterations", "400"];
        compared(&folder, "phantom.h5", &[&fixed, options].concat())
    };
    let stopped = run(&[]);
    let all = run(&["--min-residual", "0"]);
    let iterations = stopped["iterations"].as_u64().unwrap();
    assert!((15..100).contains(&iterations), "{iterations}");
    assert_eq!(all["iterations"], 400);
    let residuals: Vec<f64> = (stopped["residuals"].as_array().unwrap().iter())
        .map(|r| r.as_f64().unwrap())
        .collect();
    assert_eq!(residuals.len() as u64, iterations);
    let (last, before) = residuals.split_last().unwrap();
    assert!(*last <= 1e-6 && before.iter().skip(14).all(|r| *r > 1e-6));
    // A residual that is asked for ends them earlier.
    let early = run(&["--min-residual", "1e-3"]);
    let residuals = early["residuals"].as_array().unwrap();
    assert!(residuals.len() < 15 && residuals.last().unwrap().as_f64().unwrap() <= 1e-3);
    assert!(residuals[residuals.len() - 2].as_f64().unwrap() > 1e-3);
    assert!(number(&stopped, "nrmse") < 0.8 * number(&all, "nrmse"));
    let note = stopped["notes"][0].as_str().unwrap();
    assert!(note.starts_with(&format!("stopped after {iterations} of 400 iterations")));
    assert!(all["notes"].as_array().unwrap().is_empty());

    for method in ["tv", "wavelet", "adjoint"] {
        let options = ["--method", method, "--min-residual", "1e-3"];
        let words = ["--min-residual: expected --method cg", method];
        reconstruct(&folder, "phantom.h5", &options).refused(2, &words);
    }
    for wrong in ["-1", "1", "nan"] {
        let words = ["--min-residual", "expected a number from 0, below 1"];
        reconstruct(&folder, "phantom.h5", &["--min-residual", wrong]).refused(2, &words);
    }
}
