//! Bad input and wrong usage are refused with one sentence and exit code 1 or 2; nothing is
//! written, and nothing panics.

use super::support::{Output, STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3, s};
use std::sync::PoisonError;

const DETECTOR: &str = "/entry_1/instrument_1/detector_1";
const TRANSLATION: &str = "/entry_1/sample_1/geometry_1/translation";

/// Applies `change` to `scan.cxi`.
fn modify(folder: &TestFolder, change: impl FnOnce(&hdf5::File) -> hdf5::Result<()>) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(folder.path("scan.cxi")).unwrap();
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

/// `reconstruct` and `info` both refuse the scan with these words, and only the scan remains.
#[track_caller]
fn refused(folder: &TestFolder, words: &[&str]) {
    let output = folder.reconstruct(&["-o", "out.h5", "--summary", "s.json"]);
    output.refused(1, words);
    assert_eq!(output.out, "");
    let info = folder.run(&["ptycho", "info", "scan.cxi"]);
    info.refused(1, words);
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn a_file_that_is_not_hdf5_is_refused() {
    let folder = TestFolder::new();
    std::fs::write(folder.path("scan.cxi"), "frames: 3\n".repeat(100)).unwrap();
    refused(&folder, &["scan.cxi", "HDF5"]);
}

#[test]
fn a_missing_and_an_empty_file_are_refused() {
    let folder = TestFolder::new();
    folder
        .reconstruct(&["-o", "out.h5"])
        .refused(1, &["scan.cxi", "cannot be read"]);
    std::fs::write(folder.path("scan.cxi"), "").unwrap();
    refused(&folder, &["scan.cxi"]);
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = TestFolder::with_scan();
    let bytes = std::fs::read(folder.path("scan.cxi")).unwrap();
    std::fs::write(folder.path("scan.cxi"), &bytes[..bytes.len() / 2]).unwrap();
    refused(&folder, &["scan.cxi", "truncated"]);
}

#[test]
fn a_missing_dataset_is_named() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        file.unlink(&format!("{DETECTOR}/data"))?;
        file.unlink("/entry_1/data_1/data")
    });
    refused(&folder, &["scan.cxi", "/entry_1/data_1/data"]);
}

#[test]
fn a_wrong_rank_is_refused() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let one = frames(file).slice(s![0, .., ..]).to_owned();
        replace(file, &format!("{DETECTOR}/data"), &one)
    });
    refused(
        &folder,
        &[
            "scan.cxi",
            "data: expected rank 3 (frame, row, column) or 4 (slow, fast, row, column), found shape 32 x 32",
        ],
    );
}

#[test]
fn different_numbers_of_frames_and_positions_are_refused() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let fewer = frames(file).slice(s![..7, .., ..]).to_owned();
        replace(file, &format!("{DETECTOR}/data"), &fewer)
    });
    refused(
        &folder,
        &[
            "scan.cxi",
            "one position for each of 7 frames, found 12; --pair first",
        ],
    );
}

#[test]
fn invalid_counts_are_refused() {
    for (value, text) in [(f32::NAN, "NaN"), (-1.0, "-1"), (f32::INFINITY, "inf")] {
        let folder = TestFolder::with_scan();
        modify(&folder, |file| {
            let mut counts = frames(file);
            counts[[3, 5, 7]] = value;
            replace(file, &format!("{DETECTOR}/data"), &counts)
        });
        refused(&folder, &["scan.cxi", "frame 3, row 5, column 7", text]);
    }
}

#[test]
fn info_reports_masked_full_scale_pixels_and_other_problems() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let mut counts = frames(file).mapv(|v| v as u32);
        counts[[3, 9, 11]] = u32::MAX;
        let mut mask = Array2::<u32>::ones((32, 32));
        // The light is in the middle.
        mask.slice_mut(s![8..24, 8..24]).fill(0);
        replace(file, &format!("{DETECTOR}/mask"), &mask)?;
        replace(file, &format!("{DETECTOR}/data"), &counts)
    });
    let output = folder.run(&["ptycho", "info", "scan.cxi"]);
    output.well();
    for words in [
        "masked 1 pixel, in 1 frame, with 2^32 - 1",
        "75.0 % of the pixels are masked",
    ] {
        assert!(output.out.contains(words), "{words}: {output:?}");
    }
}

#[test]
fn frames_without_pixels_and_zero_lengths_are_refused() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let empty = Array3::<u16>::zeros((12, 0, 32));
        replace(file, &format!("{DETECTOR}/data"), &empty)
    });
    refused(
        &folder,
        &[
            "detector_1/data: expected at least one frame of at least one pixel",
            "found shape 12 x 0 x 32",
        ],
    );
    for name in ["distance", "y_pixel_size"] {
        let folder = TestFolder::with_scan();
        let path = format!("{DETECTOR}/{name}");
        modify(&folder, |file| {
            replace(file, &path, &Array1::<f64>::zeros(1))
        });
        refused(&folder, &[&path, "expected a finite length > 0", "found 0"]);
    }
}

#[test]
fn a_fully_masked_scan_is_refused() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        replace(
            file,
            &format!("{DETECTOR}/mask"),
            &Array2::<u32>::ones((32, 32)),
        )
    });
    refused(&folder, &["scan.cxi", "mask", "at least one valid pixel"]);
}

/// The remedy for a length without a unit names the one that is plausible for its number.
#[test]
fn the_plausible_unit_is_offered_first() {
    let folder = TestFolder::with_scan();
    for (path, number, units) in [
        (format!("{DETECTOR}/distance"), 681.0, "is it in mm or m?"),
        (
            format!("{DETECTOR}/x_pixel_size"),
            75.0,
            "is it in um or m?",
        ),
    ] {
        let folder = TestFolder::with_scan();
        modify(&folder, |file| {
            replace(file, &path, &Array1::from_elem(1, number))
        });
        let first = &units["is it in ".len()..][..2];
        let remedy = format!("=\"{first}\"'");
        let words = [path.as_str(), "without a unit", units, &remedy];
        folder
            .run(&["ptycho", "info", "scan.cxi"])
            .refused(1, &words);
    }
    // Axes of NeXus.
    let stage =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../files/tests/data/nexus-stage.h5");
    for (axis, unit) in [("fine_x", "nm"), ("coarse_y", "mm")] {
        std::fs::write(folder.path("scan.cxi"), std::fs::read(&stage).unwrap()).unwrap();
        modify(&folder, |file| {
            let axis = file.dataset(&format!("/second/wafer/stage/{axis}"))?;
            axis.delete_attr("units")
        });
        let asked = format!("without a unit: is it in {unit}, ");
        let remedy = format!("--set 'data.units.positions=\"{unit}\"'");
        let info = folder.run(&["ptycho", "info", "scan.cxi"]);
        info.refused(1, &[axis, &asked, &remedy]);
    }
}

#[test]
fn positions_in_wrong_units_are_refused() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let metres: Array2<f64> = file.dataset(TRANSLATION)?.read()?;
        replace(file, TRANSLATION, &(metres * 1e6))
    });
    // Without a unit they are in another one.
    let asked = ["translation", "is it in um or m?", "data.units.positions"];
    folder.reconstruct(&["-o", "out.h5"]).refused(1, &asked);
    modify(&folder, |file| {
        let unit: hdf5::types::VarLenUnicode = "m".parse().unwrap();
        let translation = file.dataset(TRANSLATION)?;
        let attribute = translation.new_attr::<hdf5::types::VarLenUnicode>();
        attribute.create("units")?.write_scalar(&unit)
    });
    let output = folder.reconstruct(&["-o", "out.h5"]);
    let remedy = "--set 'data.units.positions=";
    output.refused(1, &["scan.cxi", "expected positions in metres", remedy]);
    // `info` still prints what it found.
    let info = folder.run(&["ptycho", "info", "scan.cxi", "--json"]);
    info.refused(1, &["expected positions in metres", remedy]);
    let found: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(
        (found["frames"].as_u64(), found["memory"].is_null()),
        (Some(12), true)
    );
    assert!(found["problems"][0].as_str().unwrap().contains("metres"));
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn counts_that_overflow_diverge_and_overwrite_nothing() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let counts = frames(file);
        let brightest = counts.iter().copied().fold(0.0, f32::max);
        let brightened = counts.mapv(|v| v / brightest * 3e38);
        replace(file, &format!("{DETECTOR}/data"), &brightened)
    });
    std::fs::write(folder.path("out.h5"), "older").unwrap();
    let output = folder.reconstruct(&["-o", "out.h5", "--engine", "dm:5", "--quiet"]);
    output.refused(1, &["diverged"]);
    assert_eq!(std::fs::read(folder.path("out.h5")).unwrap(), b"older");
    assert_eq!(folder.names(), ["out.h5", "scan.cxi"]);
}

#[test]
fn wrong_usage_is_refused() {
    let folder = TestFolder::with_scan();
    let cases: [(&[&str], &str); 20] = [
        (
            &["--engine", "dm:0"],
            "--engine dm:0: expected 1 to 10000000 iterations",
        ),
        (&["--set", "data.constants.colour=1"], "colour"),
        (
            &["--engine", "foo:3"],
            "--engine foo:3: expected dm, raar, ap",
        ),
        (&["--engine", "dm"], "NAME:ITERATIONS"),
        (&["--engine", "dm:-1"], "expected 1 to 10000000"),
        (&["--set", "dm.gamma=1"], "gamma"),
        (
            &["--set", "dm.alpha=9"],
            "--set dm.alpha=9: expected 0.001 to 2",
        ),
        (&["--probe-modes", "0"], "--probe-modes 0: expected 1 to 64"),
        (
            &["--resume", "c", "--engine", "dm:3"],
            "cannot be used with",
        ),
        (
            &["--resume", "c", "--refine-positions", "gradient"],
            "cannot be used with",
        ),
        (
            &["--resume", "c", "--fit-frame-scales"],
            "cannot be used with",
        ),
        (
            &["--refine-positions", "gradient,foo"],
            "--refine-positions foo: expected gradient",
        ),
        (
            &["--engine", "dm:3", "--refine-positions", "gradient"],
            "--refine-positions gradient: expected an engine at exact positions",
        ),
        (
            &["--engine", "dm:3", "--fit-frame-scales"],
            "--fit-frame-scales: expected an engine at exact positions",
        ),
        (
            &["--engine", "ml:3", "--set", "ml.batch=2"],
            "expected an option of ml",
        ),
        (&["--quiet", "--json-progress"], "cannot be used with"),
        (
            &["--precision", "f64", "--backend", "cuda"],
            "expected --precision f32, found f64",
        ),
        (&["--device", "0"], "expected --backend cuda, found cpu"),
        (&["--checkpoint-every", "-1"], "0 or more"),
        (&["--threads", "0"], "--threads 0"),
    ];
    for (options, text) in cases {
        let fixed = ["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"];
        let backend: &[&str] = if options.contains(&"--backend") {
            &[]
        } else {
            &["--backend", "cpu"]
        };
        folder
            .run(&[&fixed, backend, options].concat())
            .refused(2, &[text]);
    }
    folder
        .run(&["ptycho", "reconstruct", "scan.cxi"])
        .refused(2, &["--output"]);
    folder
        .run(&["ptycho", "simulate", "a.cxi", "--frame", "0"])
        .refused(2, &["--frame 0: expected 8 to 8192"]);
    folder
        .run(&["ptycho", "simulate", "a.cxi", "--photons", "nan"])
        .refused(2, &["--photons"]);
    folder
        .run(&["ptycho", "simulate", "a.cxi", "--pattern", "star"])
        .refused(2, &["fermat"]);
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused() {
    let folder = TestFolder::with_scan();
    std::fs::create_dir(folder.path("folder.h5")).unwrap();
    folder
        .reconstruct(&["-o", "none/out.h5"])
        .refused(1, &["none/out.h5", "no folder"]);
    folder
        .reconstruct(&["-o", "folder.h5"])
        .refused(1, &["-o folder.h5: cannot be written: it is a folder"]);
    for (option, name) in [
        ("--summary", "s.json"),
        ("--report", "r.html"),
        ("--checkpoint", "c"),
    ] {
        let name = format!("none/{name}");
        folder
            .reconstruct(&["-o", "out.h5", option, &name])
            .refused(1, &[&name, "no folder"]);
    }
    folder
        .run(&["ptycho", "simulate", "none/a.cxi"])
        .refused(1, &["none/a.cxi"]);
    assert_eq!(folder.names(), ["folder.h5", "scan.cxi"]);
}

#[test]
fn an_output_that_is_an_input_or_another_output_is_refused() {
    let folder = TestFolder::with_scan();
    let before = std::fs::read(folder.path("scan.cxi")).unwrap();
    folder
        .reconstruct(&["-o", "scan.cxi"])
        .refused(2, &["scan.cxi", "another name"]);
    folder
        .reconstruct(&["-o", "./a.h5", "--summary", "a.h5"])
        .refused(2, &["--summary a.h5: expected another name than -o ./a.h5"]);
    assert_eq!(std::fs::read(folder.path("scan.cxi")).unwrap(), before);
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn invalid_recipes_are_refused() {
    let folder = TestFolder::with_scan();
    let with = |text: &str| -> Output {
        std::fs::write(folder.path("r.toml"), text).unwrap();
        folder.reconstruct(&["-o", "out.h5", "--recipe", "r.toml"])
    };
    with("engines = 3").refused(1, &["r.toml: line 1: engines: expected an array, found 3"]);
    with("sead = 3").refused(
        1,
        &[
            "r.toml: line 1: expected one of the keys seed",
            "found sead",
        ],
    );
    with("[[engines]]\nname = \"dm\"\niterations = 3\nbeta = 0.5").refused(
        1,
        &["r.toml: line 4: dm.beta: expected an option of dm (beta is one of raar), found 0.5"],
    );
    with(&"#".repeat(2 << 20)).refused(1, &["r.toml", "bytes"]);
    std::fs::remove_file(folder.path("r.toml")).unwrap();
    #[cfg(unix)]
    folder
        .reconstruct(&["-o", "out.h5", "--recipe", "/dev/zero"])
        .refused(1, &["/dev/zero", "found a folder, device or pipe"]);
    folder
        .reconstruct(&["-o", "out.h5", "--recipe", "r.toml"])
        .refused(1, &["r.toml", "read"]);
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn the_cuda_back_end_without_a_driver_is_refused() {
    let folder = TestFolder::with_scan();
    let devices = folder.run(&["devices", "--json"]);
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
    folder.run(&arguments).refused(1, &["driver"]);
    // Naming a GPU requires it; only `auto` without --device falls back to the CPU.
    let named = [&arguments[..5], &["--device", "3"]].concat();
    folder.run(&named).refused(1, &["--device 3", "driver"]);
    assert_eq!(folder.names(), ["scan.cxi"]);
}

#[test]
fn scans_larger_than_memory_are_refused() {
    let folder = TestFolder::new();
    let simulate = [
        "ptycho",
        "simulate",
        "a.cxi",
        "--frame",
        "8192",
        "--positions",
        "10000000",
    ];
    folder.run(&simulate).refused(1, &["GiB", "--positions"]);

    // 64 modes in double precision take 1 KiB per pixel of the scan.
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
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "3"]);
    modify(&folder, |file| {
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
        "--engine",
        "dm:100",
        "--probe-modes",
        "64",
        "--precision",
        "f64",
        "--set",
        "probe.mode_power=0.01",
    ];
    folder
        .reconstruct(&options)
        .refused(1, &["GiB of host memory", "--probe-modes"]);
    assert_eq!(folder.names(), ["scan.cxi"]);
}

/// A file of 100 KiB can claim an object of 2 GiB, as missing chunks take no space.
#[cfg(target_os = "linux")]
#[test]
fn a_truth_that_does_not_fit_the_scan_is_refused_before_it_is_read() {
    use num_complex::Complex;
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        file.unlink("/simulation/object")?;
        file.new_dataset_builder()
            .chunk((1000, 1000))
            .deflate(1)
            .empty::<Complex<f64>>()
            .shape((12_000, 12_000))
            .create("/simulation/object")
            .map(drop)
    });
    let expected = [
        "scan.cxi: /simulation/object: expected shape (row, column) of 32 x 32",
        "found shape 12000 x 12000",
    ];
    refused(&folder, &expected);
    let (output, peak) = folder.run_watched(&["ptycho", "info", "scan.cxi"]);
    output.refused(1, &expected);
    assert!(peak < 500 << 10, "{peak} KiB");
}

#[test]
fn positions_far_from_the_origin_are_refused() {
    let folder = TestFolder::with_scan();
    modify(&folder, |file| {
        let metres: Array2<f64> = file.dataset(TRANSLATION)?.read()?;
        replace(file, TRANSLATION, &(metres + 1e9))
    });
    let words = [
        "scan.cxi",
        "expected positions near 0, in numbers at most half an object pixel of 2.000e-8 m apart",
        "found positions at 1.000e9 m, where neighbouring double-precision numbers are 1.192e-7 m",
    ];
    folder.reconstruct(&["-o", "out.h5"]).refused(1, &words);
    folder
        .run(&["ptycho", "info", "scan.cxi"])
        .refused(1, &words);
    assert_eq!(folder.names(), ["scan.cxi"]);
}
