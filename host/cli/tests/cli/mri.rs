//! `mri` on the command line: simulate, info, reconstruct.

use super::mri_raw::RawFile;
use super::support::{Output, TestFolder, read_png, skipped};
use ndarray::Axis;
use std::path::PathBuf;
use warpstride::mri::io::images;
use warpstride::system::Memory;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn summary(folder: &TestFolder) -> serde_json::Value {
    json(&std::fs::read_to_string(folder.path("s.json")).unwrap())
}

/// Reconstructs on the CPU into `out.h5`, with a summary.
fn reconstruct(folder: &TestFolder, file: &str, options: &[&str]) -> Output {
    let all = [&["--summary", "s.json"], options].concat();
    super::mri_raw::reconstruct(folder, file, &all)
}

fn simulate(folder: &TestFolder, options: &[&str]) {
    folder
        .run(&[&["mri", "simulate", "phantom.h5"], options].concat())
        .well();
}

#[test]
fn every_trajectory_is_simulated_and_read_back() {
    for (options, readouts, samples) in [
        (&["--trajectory", "radial", "--spokes", "50"][..], 50, 64),
        (&["--trajectory", "golden", "--spokes", "34"], 34, 64),
        (&["--trajectory", "spiral", "--spokes", "4"], 4, 0),
        (
            &[
                "--3d",
                "--matrix",
                "12",
                "--trajectory",
                "spiral",
                "--spokes",
                "2",
            ],
            24,
            0,
        ),
        (&["--3d", "--matrix", "12", "--spokes", "200"], 200, 24),
    ] {
        let folder = TestFolder::new();
        let matrix = if options.contains(&"--3d") {
            &[][..]
        } else {
            &["--matrix", "32"]
        };
        simulate(&folder, &[matrix, options, &["--coils", "3"]].concat());
        let output = folder.run(&["mri", "info", "phantom.h5", "--json"]);
        output.well();
        let found = json(&output.out);
        assert_eq!(found["readouts"], readouts, "{found}");
        if samples > 0 {
            assert_eq!(found["samples_per_readout"][0], samples);
        }
        assert_eq!(
            (&found["coils"], &found["acquisitions"]),
            (&3.into(), &readouts.into())
        );
        for need in found["memory"].as_array().unwrap() {
            assert!(need["cpu_bytes"].as_u64().unwrap() > 10_000);
        }
        folder.run(&["mri", "info", "phantom.h5"]).well();
    }
}

/// The image compared with the truth, with the maps of the same file: only the discontinuities that
/// the voxels cannot resolve remain.
#[test]
fn a_phantom_is_reconstructed() {
    let folder = TestFolder::new();
    simulate(&folder, &["--matrix", "64", "--coils", "4"]);
    let maps = ["--coil-maps", "phantom.h5", "--reference", "phantom.h5"];
    for (options, most) in [
        (&["--method", "adjoint"][..], 0.35),
        (&["--method", "cg", "--iterations", "10"], 0.25),
        (
            &["--method", "cg", "--iterations", "10", "--precision", "f64"],
            0.25,
        ),
        (&["--operator", "nufft", "--iterations", "10"], 0.25),
        (&["--operator", "direct", "--iterations", "10"], 0.25),
        (&["--method", "tv", "--iterations", "30"], 0.25),
        (&["--method", "wavelet", "--iterations", "30"], 0.3),
    ] {
        let output = reconstruct(&folder, "phantom.h5", &[&maps[..], options].concat());
        output.well();
        let found = summary(&folder);
        let nrmse = found["nrmse"].as_f64().unwrap();
        assert!(nrmse < most, "{options:?}: {nrmse}");
        let residuals = found["residuals"].as_array().unwrap();
        let iterations = found["iterations"].as_u64().unwrap() as usize;
        assert_eq!(residuals.len(), iterations);
        for key in ["operator", "method", "backend", "seconds", "psnr", "ssim"] {
            assert!(!found[key].is_null(), "{key}");
        }
        assert_eq!(found["ms_per_iteration"].is_null(), iterations == 0);
    }
}

#[test]
fn operators_agree_and_the_residual_falls() {
    let folder = TestFolder::new();
    simulate(
        &folder,
        &[
            "--matrix", "32", "--coils", "3", "--spokes", "24", "--noise", "40",
        ],
    );
    let mut histories: Vec<Vec<f64>> = Vec::new();
    for operator in ["direct", "nufft", "toeplitz"] {
        let options = [
            "--operator",
            operator,
            "--precision",
            "f64",
            "--tolerance",
            "1e-9",
            "--min-residual",
            "0",
        ];
        reconstruct(&folder, "phantom.h5", &options).well();
        let found = summary(&folder);
        assert_eq!(found["operator"], operator);
        let residuals = found["residuals"].as_array().unwrap();
        histories.push(residuals.iter().map(|v| v.as_f64().unwrap()).collect());
    }
    // In late iterations of conjugate gradients rounding errors are amplified.
    for history in &histories[1..] {
        for (a, b) in history.iter().zip(&histories[0]).take(10) {
            assert!((a / b - 1.0).abs() < 1e-5, "{a} {b}");
        }
    }
    assert!(histories[0][14] < 0.01 * histories[0][0]);
}

/// The GPU kernels, run in the emulator, give the same image as the CPU.
#[test]
fn the_emulator_agrees_with_the_cpu() {
    let folder = TestFolder::new();
    let size = [
        "--matrix",
        "12",
        "--coils",
        "2",
        "--spokes",
        "6",
        "--samples",
        "12",
    ];
    simulate(&folder, &size);
    let options = ["--iterations", "2", "--coil-maps", "phantom.h5", "--quiet"];
    for operator in ["direct", "toeplitz"] {
        let run = |backend: &str, out: &str| {
            let fixed = [
                "mri",
                "reconstruct",
                "phantom.h5",
                "-o",
                out,
                "--operator",
                operator,
            ];
            let folder = folder.run(&[&fixed[..], &["--backend", backend], &options].concat());
            folder.well();
        };
        run("cpu", "cpu.h5");
        run("emulator", "emulator.h5");
        let [cpu, emulator] =
            ["cpu.h5", "emulator.h5"].map(|name| images::read(&folder.path(name)).unwrap());
        let norm = |values: &ndarray::Array3<num_complex::Complex<f64>>| -> f64 {
            values.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
        };
        let difference = norm(&(&cpu - &emulator)) / norm(&cpu);
        assert!(difference < 1e-4, "{operator}: {difference}");
    }
}

#[test]
fn requested_outputs_are_written() {
    let folder = TestFolder::new();
    simulate(
        &folder,
        &["--3d", "--matrix", "16", "--coils", "2", "--spokes", "150"],
    );
    let options = [
        "--iterations",
        "2",
        "--png",
        "p.png",
        "--report",
        "r.html",
        "--json-progress",
    ];
    let output = reconstruct(&folder, "phantom.h5", &options);
    output.well();
    let events: Vec<_> = output.out.lines().map(json).collect();
    assert_eq!(events.len(), 4);
    assert_eq!(events[1]["iteration"], 1);
    assert!(events[2]["residual"].as_f64().unwrap() < 1.0);
    assert_eq!(
        folder.names(),
        ["out.h5", "p.png", "phantom.h5", "r.html", "s.json"]
    );
    let image = images::read(&folder.path("out.h5")).unwrap();
    assert_eq!(image.dim(), (16, 16, 16));
    let maps = images::read_coil_maps(&folder.path("out.h5"), Memory::available()).unwrap();
    assert_eq!(maps.dim(), (1, 2, 16, 16, 16));
    let picture = read_png(&folder.path("p.png"));
    assert_eq!((picture.width, picture.height), (16 * 3 + 4, 16));

    let npy = [
        "mri",
        "reconstruct",
        "phantom.h5",
        "-o",
        "a.npy",
        "--backend",
        "cpu",
        "--quiet",
    ];
    let output = folder.run(&[&npy[..], &["--iterations", "2"]].concat());
    output.well();
    assert_eq!(output.out, "");
    assert_eq!(images::read(&folder.path("a.npy")).unwrap(), image);
    // A result's own maps, and a result as its own reference.
    let again = [
        "--iterations",
        "2",
        "--coil-maps",
        "a.h5",
        "--reference",
        "a.h5",
    ];
    std::fs::rename(folder.path("out.h5"), folder.path("a.h5")).unwrap();
    reconstruct(&folder, "phantom.h5", &again).well();
    assert!(summary(&folder)["nrmse"].as_f64().unwrap() < 1e-4);
}

/// Noise scans and other acquisitions are left out, and reported.
#[test]
fn acquisitions_that_are_not_images_are_left_out_and_reported() {
    let folder = TestFolder::new();
    let clean = RawFile::valid();
    clean.write(&folder);
    reconstruct(&folder, "raw.h5", &[]).well();
    let expected = images::read(&folder.path("out.h5")).unwrap();

    let mut raw = RawFile::valid();
    let mut noise = raw.acquisitions[0].clone();
    noise.head.flags = 1 << 18;
    noise.head.trajectory_dimensions = 0;
    noise.head.active_channels = 1;
    noise.edit_data(|d| d.iter_mut().for_each(|v| *v = f32::NAN));
    raw.acquisitions.insert(0, noise.clone());
    noise.head.flags = 1 << 22;
    raw.acquisitions.push(noise);
    // A different slice, with other data.
    let mut other = raw.acquisitions[3].clone();
    other.head.idx.slice = 1;
    other.edit_data(|d| d.iter_mut().for_each(|v| *v *= 7.0));
    raw.acquisitions.push(other);
    // Samples before and after the signal.
    let padded = &mut raw.acquisitions[5];
    padded.head.number_of_samples = 19;
    (padded.head.discard_pre, padded.head.discard_post) = (2, 1);
    padded.edit_trajectory(|k| {
        k.splice(0..0, [9.0; 4]);
        k.extend([f32::NAN; 2]);
    });
    padded.edit_data(|d| {
        let coil = d.len() / 2;
        let parts = [&d[..coil], &d[coil..]].map(<[f32]>::to_vec);
        *d = parts
            .iter()
            .flat_map(|part| [&[f32::NAN; 4][..], part, &[1e9; 2]].concat())
            .collect();
    });
    raw.write(&folder);
    let output = reconstruct(&folder, "raw.h5", &[]);
    output.well();
    for words in [
        "1 noise scan",
        "1 navigator scan",
        "several values of slice",
    ] {
        assert!(output.out.contains(words), "{words}: {}", output.out);
    }
    assert_eq!(images::read(&folder.path("out.h5")).unwrap(), expected);
    let info = folder.run(&["mri", "info", "raw.h5", "--json", "--select", "slice=1"]);
    info.well();
    let found = json(&info.out);
    assert_eq!(found["readouts"], 1);
    assert_eq!(found["acquisitions"], 15);
}

#[test]
fn readouts_of_several_lengths_are_joined() {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    for acquisition in &mut raw.acquisitions[6..] {
        acquisition.head.number_of_samples = 10;
        acquisition.edit_trajectory(|k| k.truncate(20));
        acquisition.edit_data(|d| {
            let second = d[32..52].to_vec();
            d.truncate(20);
            d.extend(second);
        });
    }
    raw.write(&folder);
    let output = reconstruct(&folder, "raw.h5", &[]);
    output.well();
    assert!(
        output.out.contains("from 10 to 16 samples"),
        "{}",
        output.out
    );
    assert_eq!(summary(&folder)["samples"], 6 * 16 + 6 * 10);
}

#[test]
fn all_repetitions_are_joined_on_request() {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    for (number, acquisition) in raw.acquisitions.iter_mut().enumerate() {
        acquisition.head.idx.repetition = number as u16 % 3;
    }
    raw.write(&folder);
    let info = |select: &[&str]| {
        let output = folder.run(&[&["mri", "info", "raw.h5", "--json"], select].concat());
        output.well();
        json(&output.out)["readouts"].as_u64().unwrap()
    };
    assert_eq!(info(&[]), 4);
    assert_eq!(info(&["--select", "repetition=2"]), 4);
    assert_eq!(info(&["--select", "repetition=all"]), 4);
    assert_eq!(info(&["--combine", "repetition"]), 12);
}

/// The off-resonance map corrects precession: samples of the phantom with a phase that grows with
/// time are reconstructed without and with the map.
#[test]
fn off_resonance_is_corrected_by_its_map() {
    let folder = TestFolder::new();
    simulate(&folder, &["--matrix", "24", "--coils", "2"]);
    // A frequency that is the same everywhere is a factor of each sample, applied here.
    let hertz = 6_000.0_f64;
    apply_off_resonance(&folder, hertz);
    let map = ndarray::Array2::<f64>::from_elem((24, 24), hertz);
    warpstride::io::npy::write(&folder.path("hertz.npy"), map.view()).unwrap();
    let known = ["--coil-maps", "phantom.h5", "--reference", "phantom.h5"];
    reconstruct(&folder, "off_resonant.h5", &known).well();
    let blurred = summary(&folder)["nrmse"].as_f64().unwrap();
    let options = [&known[..], &["--off-resonance", "hertz.npy"]].concat();
    reconstruct(&folder, "off_resonant.h5", &options).well();
    let found = summary(&folder);
    let sharp = found["nrmse"].as_f64().unwrap();
    assert_eq!(found["operator"], "direct");
    reconstruct(&folder, "phantom.h5", &known).well();
    let clean = summary(&folder)["nrmse"].as_f64().unwrap();
    assert!((sharp - clean).abs() < 0.01 * clean, "{sharp} {clean}");
    assert!(blurred > 1.5 * clean, "{blurred} {clean}");
}

/// Writes `off_resonant.h5`: `phantom.h5` times exp(−2πi f t).
fn apply_off_resonance(folder: &TestFolder, hertz: f64) {
    use warpstride::mri::data::KSpace;
    use warpstride::mri::io::ismrmrd::{self, ReadOptions, Recording};
    let _guard = super::support::STARTING
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let path = folder.path("phantom.h5");
    let kspace = ismrmrd::read(&path, &ReadOptions::default())
        .unwrap()
        .kspace;
    let times = kspace.times().unwrap();
    let mut samples = kspace.samples().clone();
    for mut coil in samples.axis_iter_mut(Axis(0)) {
        for (value, time) in coil.iter_mut().zip(&times) {
            *value *= num_complex::Complex::cis(-std::f64::consts::TAU * hertz * time);
        }
    }
    let off_resonant = KSpace::new(
        kspace.extent().clone(),
        kspace.trajectory().clone(),
        samples,
        kspace.readouts().to_vec(),
    )
    .unwrap();
    let recording = Recording {
        kspace: &off_resonant,
        trajectory: "radial",
        steps: &[],
        truth: None,
    };
    ismrmrd::write(&folder.path("off_resonant.h5"), &recording).unwrap();
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_the_image_so_far() {
    let folder = TestFolder::new();
    simulate(
        &folder,
        &["--matrix", "128", "--coils", "4", "--spokes", "60"],
    );
    let output = folder.interrupt_at(
        folder
            .command()
            .args([
                "mri",
                "reconstruct",
                "phantom.h5",
                "-o",
                "out.h5",
                "--backend",
                "cpu",
            ])
            .args([
                "--iterations",
                "100000",
                "--min-residual",
                "0",
                "--json-progress",
                "--summary",
                "s.json",
            ]),
        "\"iteration\":3,",
    );
    assert_eq!(output.code, Some(130), "{output:?}");
    let output = output.err;
    assert!(
        output.contains("out.h5") && output.contains("100000") && output.lines().count() == 1,
        "{output}"
    );
    let done = summary(&folder)["iterations"].as_u64().unwrap();
    assert!((3..100_000).contains(&done), "{done}");
    assert!(images::read(&folder.path("out.h5")).is_ok());
}

#[test]
fn every_help_text_has_examples() {
    let folder = TestFolder::new();
    for command in ["simulate", "info", "reconstruct", "ladder"] {
        let help = folder.run(&["mri", command, "--help"]);
        help.well();
        let examples = help
            .out
            .matches(&format!("  warpstride mri {command}"))
            .count();
        assert!((3..=7).contains(&examples), "{command}: {examples}");
    }
    let help = folder.run(&["mri", "--help"]);
    help.well();
    assert!(help.out.contains("Examples:"));
}

/// The residuals of the project's specification, to 2 %.
#[test]
fn the_measured_heart_has_the_residuals_of_another_program() {
    const RESIDUALS: [f64; 15] = [
        1.323e-1, 3.301e-2, 1.169e-2, 4.629e-3, 3.058e-3, 1.548e-3, 9.392e-4, 5.898e-4, 3.965e-4,
        2.427e-4, 1.752e-4, 1.332e-4, 1.051e-4, 7.707e-5, 5.989e-5,
    ];
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/mri/cardiac-radial-25.h5");
    if !file.exists() {
        skipped("the measured heart", "../shared/data/mri is not there");
        return;
    }
    let folder = TestFolder::new();
    let file = file.to_str().unwrap();
    let options = [
        "--method",
        "cg",
        "--iterations",
        "15",
        "--density",
        "none",
        "--precision",
        "f64",
        "--coil-maps",
        "low-pass",
    ];
    reconstruct(&folder, file, &options).well();
    let found = summary(&folder);
    for (at, expected) in RESIDUALS.iter().enumerate() {
        let residual = found["residuals"][at].as_f64().unwrap();
        assert!((residual / expected - 1.0).abs() < 0.02, "{at}: {residual}");
    }
}
