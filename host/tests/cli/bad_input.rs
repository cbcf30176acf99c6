//! Bad input and wrong usage: one sentence each, exit code 1 or 2, nothing written, no panic.

use super::support::{Place, STARTING, Said, skipped};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3, s};
use std::sync::PoisonError;

const DETECTOR: &str = "/entry_1/instrument_1/detector_1";
const TRANSLATION: &str = "/entry_1/sample_1/geometry_1/translation";

/// Opens `scan.cxi` for spoiling.
fn spoil(place: &Place, change: impl FnOnce(&hdf5::File) -> hdf5::Result<()>) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(place.path("scan.cxi")).unwrap();
    change(&file).unwrap();
}

fn replace<'d, A, T, D>(file: &hdf5::File, path: &str, data: A) -> hdf5::Result<()>
where
    A: Into<ndarray::ArrayView<'d, T, D>>,
    T: hdf5::H5Type,
    D: ndarray::Dimension,
{
    let (group, name) = path.rsplit_once('/').unwrap();
    let group = file.group(group)?;
    group.unlink(name)?;
    group
        .new_dataset_builder()
        .with_data(data)
        .create(name)
        .map(drop)
}

fn frames(file: &hdf5::File) -> Array3<f32> {
    file.dataset(&format!("{DETECTOR}/data"))
        .unwrap()
        .read()
        .unwrap()
}

/// Reconstruction and inspection refuse alike; nothing but the scan is left.
#[track_caller]
fn refused(place: &Place, words: &[&str]) {
    let said = place.reconstruct(&["-o", "out.h5", "--summary", "s.json"]);
    said.refused(1, words);
    assert_eq!(said.out, "");
    let info = place.run(&["ptycho", "info", "scan.cxi"]);
    info.refused(1, words);
    assert_eq!(place.names(), ["scan.cxi"]);
}

#[test]
fn not_hdf5() {
    let place = Place::new();
    std::fs::write(place.path("scan.cxi"), "frames: 3\n".repeat(100)).unwrap();
    refused(&place, &["scan.cxi", "HDF5"]);
}

#[test]
fn no_file_and_an_empty_one() {
    let place = Place::new();
    place
        .reconstruct(&["-o", "out.h5"])
        .refused(1, &["scan.cxi", "cannot be read"]);
    std::fs::write(place.path("scan.cxi"), "").unwrap();
    refused(&place, &["scan.cxi"]);
}

#[test]
fn truncated_file() {
    let place = Place::with_scan();
    let bytes = std::fs::read(place.path("scan.cxi")).unwrap();
    std::fs::write(place.path("scan.cxi"), &bytes[..bytes.len() / 2]).unwrap();
    refused(&place, &["scan.cxi", "truncated"]);
}

#[test]
fn missing_dataset() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        file.unlink(&format!("{DETECTOR}/data"))?;
        file.unlink("/entry_1/data_1/data")
    });
    refused(&place, &["scan.cxi", "/entry_1/data_1/data"]);
}

#[test]
fn wrong_rank() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        let one = frames(file).slice(s![0, .., ..]).to_owned();
        replace(file, &format!("{DETECTOR}/data"), &one)
    });
    refused(&place, &["scan.cxi", "data has shape 32 x 32", "expected"]);
}

#[test]
fn frame_count_is_not_position_count() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        let fewer = frames(file).slice(s![..7, .., ..]).to_owned();
        replace(file, &format!("{DETECTOR}/data"), &fewer)
    });
    refused(&place, &["scan.cxi", "7 frames", "12 positions"]);
}

#[test]
fn counts_that_are_no_counts() {
    for (value, word) in [(f32::NAN, "NaN"), (-1.0, "-1"), (f32::INFINITY, "inf")] {
        let place = Place::with_scan();
        spoil(&place, |file| {
            let mut counts = frames(file);
            counts[[3, 5, 7]] = value;
            replace(file, &format!("{DETECTOR}/data"), &counts)
        });
        refused(&place, &["scan.cxi", "frame 3, row 5, column 7", word]);
    }
}

#[test]
fn a_marker_that_is_not_masked_and_other_doubts_are_said() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        let mut counts = frames(file).mapv(|v| v as u32);
        counts[[3, 5, 7]] = u32::MAX;
        let mut mask = Array2::<u32>::ones((32, 32));
        mask.slice_mut(s![..8, ..]).fill(0);
        replace(file, &format!("{DETECTOR}/mask"), &mask)?;
        replace(file, &format!("{DETECTOR}/data"), &counts)
    });
    let said = place.run(&["ptycho", "info", "scan.cxi"]);
    said.well();
    for words in ["1 pixels hold 2^32 - 1", "75.0 % of the pixels are masked"] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
}

#[test]
fn frames_without_pixels_and_lengths_that_are_none() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        let empty = Array3::<u16>::zeros((12, 0, 32));
        replace(file, &format!("{DETECTOR}/data"), &empty)
    });
    refused(
        &place,
        &[
            "detector_1/data has shape 12 x 0 x 32",
            "at least one pixel",
        ],
    );
    for name in ["distance", "y_pixel_size"] {
        let place = Place::with_scan();
        let path = format!("{DETECTOR}/{name}");
        spoil(&place, |file| {
            replace(file, &path, &Array1::<f64>::zeros(1))
        });
        refused(&place, &[&path, "is 0", "a finite length > 0"]);
    }
}

#[test]
fn all_masked() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        replace(
            file,
            &format!("{DETECTOR}/mask"),
            &Array2::<u32>::ones((32, 32)),
        )
    });
    refused(&place, &["scan.cxi", "mask", "at least one valid pixel"]);
}

#[test]
fn positions_in_wrong_units() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        let metres: Array2<f64> = file.dataset(TRANSLATION)?.read()?;
        replace(file, TRANSLATION, &(metres * 1e6))
    });
    let said = place.reconstruct(&["-o", "out.h5"]);
    said.refused(1, &["scan.cxi", "expected in metres"]);
    // What is known is still shown.
    let info = place.run(&["ptycho", "info", "scan.cxi", "--json"]);
    info.refused(1, &["expected in metres"]);
    let found: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(
        (found["frames"].as_u64(), found["memory"].is_null()),
        (Some(12), true)
    );
    assert!(found["problems"][0].as_str().unwrap().contains("metres"));
    assert_eq!(place.names(), ["scan.cxi"]);
}

#[test]
fn counts_beyond_the_arithmetic_diverge_and_overwrite_nothing() {
    let place = Place::with_scan();
    spoil(&place, |file| {
        let counts = frames(file);
        let brightest = counts.iter().copied().fold(0.0, f32::max);
        let brightened = counts.mapv(|v| v / brightest * 3e38);
        replace(file, &format!("{DETECTOR}/data"), &brightened)
    });
    std::fs::write(place.path("out.h5"), "older").unwrap();
    let said = place.reconstruct(&["-o", "out.h5", "--engine", "dm:5", "--quiet"]);
    said.refused(1, &["diverged"]);
    assert_eq!(std::fs::read(place.path("out.h5")).unwrap(), b"older");
    assert_eq!(place.names(), ["out.h5", "scan.cxi"]);
}

#[test]
fn wrong_usage() {
    let place = Place::with_scan();
    let cases: [(&[&str], &str); 14] = [
        (&["--engine", "dm:0"], "dm.iterations is 0"),
        (&["--set", "data.constants.colour=1"], "colour"),
        (&["--engine", "foo:3"], "dm and raar"),
        (&["--engine", "dm"], "NAME:ITERATIONS"),
        (&["--engine", "dm:-1"], "whole number"),
        (&["--set", "dm.gamma=1"], "gamma"),
        (&["--set", "dm.alpha=9"], "dm.alpha is 9"),
        (&["--probe-modes", "0"], "probe_modes is 0"),
        (
            &["--resume", "c", "--engine", "dm:3"],
            "cannot be used with",
        ),
        (&["--quiet", "--json-progress"], "cannot be used with"),
        (&["--precision", "f64", "--backend", "cuda"], "f32 only"),
        (&["--device", "0"], "--backend cpu"),
        (&["--checkpoint-every", "-1"], "0 or more"),
        (&["--threads", "0"], "--threads 0"),
    ];
    for (options, word) in cases {
        let fixed = ["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"];
        let backend: &[&str] = if options.contains(&"--backend") {
            &[]
        } else {
            &["--backend", "cpu"]
        };
        place
            .run(&[&fixed, backend, options].concat())
            .refused(2, &[word]);
    }
    place
        .run(&["ptycho", "reconstruct", "scan.cxi"])
        .refused(2, &["--output"]);
    place
        .run(&["ptycho", "simulate", "a.cxi", "--frame", "0"])
        .refused(2, &["--frame is 0"]);
    place
        .run(&["ptycho", "simulate", "a.cxi", "--photons", "nan"])
        .refused(2, &["--photons"]);
    place
        .run(&["ptycho", "simulate", "a.cxi", "--pattern", "star"])
        .refused(2, &["fermat"]);
    assert_eq!(place.names(), ["scan.cxi"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::with_scan();
    std::fs::create_dir(place.path("folder")).unwrap();
    place
        .reconstruct(&["-o", "none/out.h5"])
        .refused(1, &["none/out.h5", "no folder"]);
    place.reconstruct(&["-o", "folder"]).refused(1, &["folder"]);
    for option in ["--summary", "--report", "--checkpoint"] {
        place
            .reconstruct(&["-o", "out.h5", option, "none/s"])
            .refused(1, &["none/s", "no folder"]);
    }
    place
        .run(&["ptycho", "simulate", "none/a.cxi"])
        .refused(1, &["none/a.cxi"]);
    assert_eq!(place.names(), ["folder", "scan.cxi"]);
}

#[test]
fn an_output_that_is_an_input_or_another_output() {
    let place = Place::with_scan();
    let before = std::fs::read(place.path("scan.cxi")).unwrap();
    place
        .reconstruct(&["-o", "scan.cxi"])
        .refused(2, &["scan.cxi", "another name"]);
    place
        .reconstruct(&["-o", "./a.h5", "--summary", "a.h5"])
        .refused(2, &["two outputs"]);
    assert_eq!(std::fs::read(place.path("scan.cxi")).unwrap(), before);
    assert_eq!(place.names(), ["scan.cxi"]);
}

#[test]
fn recipes_that_are_none() {
    let place = Place::with_scan();
    let with = |text: &str| -> Said {
        std::fs::write(place.path("r.toml"), text).unwrap();
        place.reconstruct(&["-o", "out.h5", "--recipe", "r.toml"])
    };
    with("engines = 3").refused(1, &["r.toml", "line 1", "expected a sequence"]);
    with("sead = 3").refused(1, &["r.toml", "sead"]);
    with("[[engines]]\nname = \"dm\"\niterations = 3\nbeta = 0.5")
        .refused(1, &["dm has no option"]);
    with(&"#".repeat(2 << 20)).refused(1, &["r.toml", "bytes"]);
    std::fs::remove_file(place.path("r.toml")).unwrap();
    #[cfg(unix)]
    place
        .reconstruct(&["-o", "out.h5", "--recipe", "/dev/zero"])
        .refused(1, &["/dev/zero", "not a regular file"]);
    place
        .reconstruct(&["-o", "out.h5", "--recipe", "r.toml"])
        .refused(1, &["r.toml", "read"]);
    assert_eq!(place.names(), ["scan.cxi"]);
}

#[test]
fn the_cuda_back_end_without_a_driver() {
    let place = Place::with_scan();
    let devices = place.run(&["devices", "--json"]);
    devices.well();
    let listing: serde_json::Value = serde_json::from_str(&devices.out).unwrap();
    if listing["reason"].is_null() {
        skipped("--backend cuda without a driver", "there is a driver here");
        return;
    }
    let arguments = [
        "ptycho",
        "reconstruct",
        "scan.cxi",
        "-o",
        "out.h5",
        "--backend",
        "cuda",
    ];
    place.run(&arguments).refused(1, &["driver"]);
    // Who names a GPU wants it; without a name the CPU takes over.
    let named = [&arguments[..5], &["--device", "3"]].concat();
    place.run(&named).refused(1, &["--device 3", "driver"]);
    assert_eq!(place.names(), ["scan.cxi"]);
}

#[test]
fn more_than_memory() {
    let place = Place::new();
    let simulate = [
        "ptycho",
        "simulate",
        "a.cxi",
        "--frame",
        "8192",
        "--positions",
        "10000000",
    ];
    place.run(&simulate).refused(1, &["GiB", "--positions"]);

    // 64 modes of double precision take 1 KiB for each pixel of a scan.
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line
        .and_then(|l| l.split_whitespace().next())
        .and_then(|n| n.parse::<usize>().ok());
    let Some(kib) = kib.filter(|kib| *kib < 256 << 20) else {
        skipped(
            "a reconstruction larger than memory",
            "memory is unknown, or too large for a test",
        );
        return;
    };
    let side = 1024;
    let frames = kib / (side * side) + 2;
    place.simulate("scan.cxi", &["--frame", "32", "--positions", "3"]);
    spoil(&place, |file| {
        let mut counts = Array3::<u8>::zeros((frames, side, side));
        counts.fill(1);
        replace(file, &format!("{DETECTOR}/data"), &counts)?;
        replace(
            file,
            &format!("{DETECTOR}/mask"),
            &Array2::<u8>::zeros((side, side)),
        )?;
        file.unlink("/simulation")?;
        file.unlink("/entry_1/instrument_1/source_1/illumination")?;
        let line = Array1::from_iter((0..3 * frames).map(|i| 1e-8 * i as f64));
        replace(
            file,
            TRANSLATION,
            &line.into_shape_with_order((frames, 3)).unwrap(),
        )
    });
    let options = [
        "-o",
        "out.h5",
        "--probe-modes",
        "64",
        "--precision",
        "f64",
        "--set",
        "probe.mode_power=0.01",
    ];
    place
        .reconstruct(&options)
        .refused(1, &["GiB of host memory", "--probe-modes"]);
    assert_eq!(place.names(), ["scan.cxi"]);
}
