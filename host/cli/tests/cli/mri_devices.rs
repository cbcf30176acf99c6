//! `mri reconstruct` on several emulated devices: the image of one device, but for rounding.

use super::support::{Output, TestFolder, skipped};
use ndarray::Array3;
use num_complex::Complex;
use serde_json::Value;
use warpstride::mri::io::images;

fn simulate(folder: &TestFolder, name: &str, coils: &str) {
    let size = ["--matrix", "24", "--spokes", "15", "--samples", "32"];
    let fixed = ["mri", "simulate", name, "--coils", coils, "--noise", "50"];
    folder.run(&[&fixed[..], &size].concat()).well();
}

/// Reconstructs `p.h5` with the maps of the simulation.
fn reconstruct(folder: &TestFolder, options: &[&str]) -> Output {
    let fixed = ["mri", "reconstruct", "p.h5", "-o", "i.h5"];
    folder.run(&[&fixed[..], options].concat())
}

/// Image and summary on emulated devices.
fn emulated(folder: &TestFolder, options: &[&str]) -> (Array3<Complex<f64>>, Value) {
    let fixed = ["--backend", "emulator", "--summary", "s.json"];
    reconstruct(folder, &[&fixed, options].concat()).well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    (
        images::read(&folder.path("i.h5")).unwrap(),
        serde_json::from_str(&text).unwrap(),
    )
}

fn norm(image: &Array3<Complex<f64>>) -> f64 {
    image.iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
}

/// The notes on devices.
fn notes(summary: &Value) -> Vec<String> {
    let notes = summary["notes"].as_array().unwrap().iter();
    let notes = notes.map(|note| note.as_str().unwrap().to_owned());
    notes.filter(|note| note.contains("devices")).collect()
}

/// Rounding of the sums over coils, and what a few iterations make of it. Conjugate gradients
/// amplify rounding from iteration to iteration: after eight, the image in single precision is 4e-4
/// from that in double precision, and images that were rounded differently are as far from each
/// other.
#[test]
fn several_devices_give_the_image_of_one() {
    let folder = TestFolder::new();
    simulate(&folder, "p.h5", "5");
    let fixed = ["--coil-maps", "p.h5", "--min-residual", "0"];
    for method in [
        &["--iterations", "4"][..],
        &["--iterations", "8"],
        &["--method", "adjoint"],
        &["--method", "tv", "--iterations", "5", "--operator", "nufft"],
    ] {
        // Only conjugate gradients have the option --min-residual.
        let conjugate = method[0] == "--iterations";
        let fixed = if conjugate { &fixed[..] } else { &fixed[..2] };
        let options = [fixed, method].concat();
        let (one, of_one) = emulated(&folder, &options);
        assert!(notes(&of_one).is_empty(), "{of_one}");
        let (named, _) = emulated(&folder, &[&options[..], &["--devices", "0"]].concat());
        assert_eq!(named, one);
        let distance = |image: &Array3<Complex<f64>>| norm(&(image - &one)) / norm(&one);
        let tolerance = if method == ["--iterations", "8"] {
            let double = ["--backend", "cpu", "--precision", "f64"];
            reconstruct(&folder, &[&options[..], &double].concat()).well();
            4.0 * distance(&images::read(&folder.path("i.h5")).unwrap())
        } else {
            5e-6
        };
        assert!(tolerance < 1e-2, "{tolerance}");
        for (devices, coils) in [("0,1", "2, 3"), ("0,1,2", "1, 2, 2")] {
            let several = [&options[..], &["--devices", devices]].concat();
            let (image, summary) = emulated(&folder, &several);
            let error = distance(&image);
            assert!(error < tolerance, "{method:?} {devices}: {error}");
            let notes = notes(&summary);
            assert!(notes[0].contains(&format!("({coils})")), "{notes:?}");
            let names = summary["device"].as_str().unwrap();
            assert_eq!(names.split(", ").count(), devices.split(',').count());
            // The same bits in every run.
            assert_eq!(emulated(&folder, &several).0, image);
        }
    }
}

#[test]
fn devices_that_have_no_coil_are_not_used() {
    let folder = TestFolder::new();
    for (coils, maps, words) in [
        ("2", "p.h5", "2 of 4 devices used: the samples have 2 coils"),
        ("1", "p.h5", "1 of 4 devices used: the samples have 1 coil"),
        ("2", "none", "1 of 4 devices used: without coil maps"),
    ] {
        simulate(&folder, "p.h5", coils);
        let options = ["--coil-maps", maps, "--iterations", "3"];
        let (one, _) = emulated(&folder, &options);
        let several = [&options[..], &["--devices", "0,1,2,3"]].concat();
        let (image, summary) = emulated(&folder, &several);
        assert!(notes(&summary)[0].starts_with(words), "{summary}");
        let error = norm(&(&image - &one)) / norm(&one);
        assert!(error < 2e-6, "{error}");
        assert_eq!(error == 0.0, words.starts_with('1'), "{error}");
    }
}

#[test]
fn wrong_devices_are_refused() {
    let folder = TestFolder::new();
    simulate(&folder, "p.h5", "2");
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--devices", "0,x"], &["--devices 0,x: expected all, or"]),
        (
            &["--devices", "0,0"],
            &["expected each device once, found 0 twice"],
        ),
        (&["--devices", "2"], &["--devices 2: expected 0,1,2"]),
        (&["--devices", "all"], &["--devices all: expected a list"]),
        (
            &["--devices", "0", "--device", "0"],
            &["cannot be used with"],
        ),
        (
            &["--devices", "0,1", "--precision", "f64"],
            &["--backend emulator: expected --precision f32"],
        ),
    ];
    for (options, words) in cases {
        reconstruct(&folder, &[&["--backend", "emulator"], options].concat()).refused(2, words);
    }
    for devices in ["0", "0,1", "all"] {
        reconstruct(&folder, &["--backend", "cpu", "--devices", devices]).refused(
            2,
            &["--devices: expected --backend cuda or emulator, found --backend cpu"],
        );
    }
    assert_eq!(folder.names(), ["p.h5"]);
}

#[test]
fn devices_ask_for_gpus() {
    let folder = TestFolder::new();
    let devices = folder.run(&["devices", "--json"]);
    devices.well();
    let listing: Value = serde_json::from_str(&devices.out).unwrap();
    if listing["reason"].is_null() {
        skipped(
            "mri reconstruct without a driver",
            "this machine has a driver",
        );
        return;
    }
    simulate(&folder, "p.h5", "2");
    for devices in ["3", "0,1", "all"] {
        let option = format!("--devices {devices}: ");
        reconstruct(&folder, &["--devices", devices]).refused(1, &[&option, "driver"]);
    }
}
