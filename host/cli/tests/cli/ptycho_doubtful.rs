//! Scans whose reconstruction would be meaningless: pixels without data are masked, doubtful
//! properties are named on the terminal, in the summary and in the report, and other files say what
//! they contain.

use super::support::{Output, STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, Axis, s};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

const FRAMES: &str = "/entry_1/instrument_1/detector_1/data";
const MASK: &str = "/entry_1/instrument_1/detector_1/mask";

pub(super) fn scan() -> TestFolder {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "40"]);
    folder
}

/// Replaces frames and mask of `scan.cxi` (non-zero: bad), written as `name`.
pub(super) fn written(
    folder: &TestFolder,
    name: &str,
    change: impl FnOnce(&mut Array3<f64>, &mut Array2<i32>),
) {
    std::fs::copy(folder.path("scan.cxi"), folder.path(name)).unwrap();
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(folder.path(name)).unwrap();
    let mut frames: Array3<f64> = file.dataset(FRAMES).unwrap().read().unwrap();
    let (_, rows, columns) = frames.dim();
    let mut mask = Array2::zeros((rows, columns));
    change(&mut frames, &mut mask);
    for path in [FRAMES, MASK] {
        let (group, dataset) = path.rsplit_once('/').unwrap();
        let group = file.group(group).unwrap();
        if group.link_exists(dataset) {
            group.unlink(dataset).unwrap();
        }
        let builder = group.new_dataset_builder();
        if path == FRAMES {
            builder.with_data(&frames).create(dataset).unwrap();
        } else {
            builder.with_data(&mask).create(dataset).unwrap();
        }
    }
}

/// Reconstructs `name`; the output, the summary, and the object's bits.
pub(super) fn reconstructed(
    folder: &TestFolder,
    name: &str,
    options: &[&str],
) -> (Output, serde_json::Value, Array2<num_complex::Complex<f32>>) {
    let fixed = [
        "ptycho",
        "reconstruct",
        name,
        "-o",
        "out.h5",
        "--backend",
        "cpu",
        "--engine",
        "dm:30",
        "--summary",
        "s.json",
        "--report",
        "r.html",
        "--no-pictures",
    ];
    let output = folder.run(&[&fixed, options].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let result = hdf5::File::open(folder.path("out.h5")).unwrap();
    let object = result
        .dataset("/entry_1/image_1/data")
        .unwrap()
        .read()
        .unwrap();
    (output, serde_json::from_str(&summary).unwrap(), object)
}

pub(super) fn problems(summary: &serde_json::Value) -> Vec<&str> {
    let problems = summary["problems"].as_array().unwrap();
    problems.iter().map(|text| text.as_str().unwrap()).collect()
}

/// A column and seven more pixels.
fn gap() -> Vec<(usize, usize)> {
    let pixels = (0..7).map(|i| (3 * i + 2, 5 * i % 32));
    (0..32).map(|row| (row, 9)).chain(pixels).collect()
}

#[test]
fn pixels_without_data_are_masked_as_if_the_file_masked_them() {
    let folder = scan();
    written(&folder, "masked.cxi", |_, mask| {
        gap().into_iter().for_each(|at| mask[at] = 1);
    });
    let (_, masked, expected) = reconstructed(&folder, "masked.cxi", &[]);
    for (value, named) in [
        (f64::from(u32::MAX), "2^32 - 1"),
        (-1.0, "-1"),
        (f64::NAN, "NaN"),
    ] {
        written(&folder, "raw.cxi", |frames, _| {
            for mut frame in frames.outer_iter_mut() {
                gap().into_iter().for_each(|at| frame[at] = value);
            }
        });
        let (output, summary, object) = reconstructed(&folder, "raw.cxi", &[]);
        assert_eq!(object, expected, "{named}");
        assert_eq!(summary["r_factor"], masked["r_factor"]);
        let note = format!("masked 39 pixels, in 40 frames, with {named}, which means no data");
        assert!(output.out.contains(&note), "{output:?}");
        assert!(summary["notes"].to_string().contains(&note), "{summary}");
    }
}

#[test]
fn pixels_without_data_in_some_frames_are_masked_there() {
    let folder = scan();
    written(&folder, "raw.cxi", |frames, _| {
        for frame in 0..4 {
            frames[[frame, 20, 11]] = f64::from(u32::MAX);
        }
    });
    let info = folder.run(&["ptycho", "info", "raw.cxi", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    // One mask for each frame, of which four pixels are bad.
    assert_eq!(info["bad_pixels"], 4, "{info}");
    assert!((info["bad_pixel_share"].as_f64().unwrap() - 4.0 / 40_960.0).abs() < 1e-12);
    assert!(info["counts"]["max"].as_f64().unwrap() < 1e9);
}

#[test]
fn what_means_no_data_can_be_chosen() {
    let folder = scan();
    written(&folder, "raw.cxi", |frames, _| {
        for mut frame in frames.outer_iter_mut() {
            gap()
                .into_iter()
                .for_each(|at| frame[at] = f64::from(u32::MAX));
        }
    });
    let (output, summary, _) = reconstructed(&folder, "raw.cxi", &["--set", "data.no_data=off"]);
    let found = problems(&summary);
    let full_scale = "1560 pixels with 2^32 - 1, a value that detectors use for bad or saturated pixels, not masked";
    assert!(found.contains(&full_scale), "{found:?}");
    assert!(
        output.out.contains(&format!("warning: {full_scale}\n")),
        "{output:?}"
    );
    // Values of the user's own, 0 here, which only the two dark corners have.
    written(&folder, "own.cxi", |frames, _| {
        for mut frame in frames.outer_iter_mut() {
            frame[[0, 0]] = 77_777.25;
        }
    });
    let own = ["--set", "data.no_data=[77777.25]"];
    let info = folder.run(&[&["ptycho", "info", "own.cxi"][..], &own].concat());
    info.well();
    let note = "masked 1 pixel, in 40 frames, with 77777.25, which means no data";
    assert!(info.out.contains(note), "{info:?}");
    let wrong = folder.run(&["ptycho", "info", "own.cxi", "--set", "data.no_data=never"]);
    wrong.refused(
        2,
        &[
            "data.no_data=never",
            "\"auto\", \"off\" or an array of counts",
        ],
    );
}

#[test]
fn frames_without_beam_are_masked_unless_the_scan_is_faint() {
    let folder = scan();
    let dark = |name: &str, faint: bool| {
        written(&folder, name, |frames, _| {
            if faint {
                // 36 counts in the middle of each frame.
                frames.fill(0.0);
                frames.slice_mut(s![.., 13..19, 13..19]).fill(1.0);
            }
            for frame in [3, 17] {
                frames.index_axis_mut(Axis(0), frame).fill(0.0);
            }
        });
    };
    dark("dark.cxi", false);
    let note = "2 frames without any counts (3,17) beside frames of";
    let (output, summary, _) = reconstructed(&folder, "dark.cxi", &[]);
    assert!(output.out.contains(note), "{output:?}");
    // The note says it, and no problem repeats it.
    let repeated = |problem: &&str| problem.contains("valid pixel") || problem.contains("counts");
    assert!(!problems(&summary).iter().any(repeated), "{summary}");
    let keep = ["--set", "data.empty_frames=keep"];
    let (output, kept, _) = reconstructed(&folder, "dark.cxi", &keep);
    assert!(!output.out.contains(note), "{output:?}");
    // An object that is transparent everywhere else contradicts two frames without light.
    let [masked, kept] = [summary, kept].map(|of| of["r_factor"].as_f64().unwrap());
    assert!(masked < 0.5 * kept, "{masked} {kept}");
    // So few photons that a frame without any can be chance.
    dark("faint.cxi", true);
    let masked_pixels = |options: &[&str]| {
        let info = folder.run(&[&["ptycho", "info", "faint.cxi", "--json"][..], options].concat());
        info.well();
        let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
        info["bad_pixels"].as_u64().unwrap()
    };
    assert_eq!(masked_pixels(&[]), 0);
    assert_eq!(
        masked_pixels(&["--set", "data.empty_frames=mask"]),
        2 * 32 * 32
    );
    let halves = ["data.half=1", "data.half=2"];
    let of_half = |half| masked_pixels(&["--set", "data.empty_frames=mask", "--set", half]);
    // A half without such a frame has one mask for all frames.
    assert_eq!(halves.map(of_half).iter().sum::<u64>(), 2 * 32 * 32);
}

#[test]
fn a_negative_count_in_a_single_frame_is_still_refused() {
    let folder = scan();
    written(&folder, "raw.cxi", |frames, _| frames[[7, 3, 4]] = -1.0);
    let output = folder.run(&["ptycho", "reconstruct", "raw.cxi", "-o", "out.h5"]);
    output.refused(
        1,
        &["raw.cxi", FRAMES, "frame 7, row 3, column 4", "found -1"],
    );
}

#[test]
fn doubtful_data_are_named_on_the_terminal_in_the_summary_and_in_the_report() {
    let folder = scan();
    for (change, expected) in [
        (
            (|frames| {
                for mut frame in frames.outer_iter_mut() {
                    frame[[2, 29]] = 1e6;
                }
            }) as fn(&mut Array3<f64>),
            "1 pixel with far more counts than the pixels around",
        ),
        (
            |frames| {
                let max = frames.iter().copied().fold(0.0, f64::max);
                frames.mapv_inplace(|v| v.min((0.2 * max).floor()));
            },
            "the detector may have been saturated",
        ),
        (
            |frames| frames.mapv_inplace(|v| 1e4 + v.sqrt()),
            "times as bright at their border as on average",
        ),
    ] {
        written(&folder, "raw.cxi", |frames, _| change(frames));
        let (output, summary, _) = reconstructed(&folder, "raw.cxi", &[]);
        let found = problems(&summary);
        assert!(
            found.iter().any(|text| text.contains(expected)),
            "{expected}: {found:?}"
        );
        for problem in &found {
            assert!(
                output.out.contains(&format!("warning: {problem}\n")),
                "{output:?}"
            );
        }
        let report = std::fs::read_to_string(folder.path("r.html")).unwrap();
        assert!(report.contains("Doubtful data") && report.contains(expected));
        let info = folder.run(&["ptycho", "info", "raw.cxi"]);
        assert!(info.out.contains(expected), "{info:?}");
    }
    let (output, summary, _) = reconstructed(&folder, "scan.cxi", &[]);
    assert_eq!(problems(&summary), Vec::<&str>::new());
    assert!(!output.out.contains("warning"), "{output:?}");
}

#[test]
fn a_real_near_field_scan_is_warned_of_and_a_real_far_field_scan_is_not() {
    let Some(data) = std::env::var_os("WARPSTRIDE_SHARED_DATA").map(PathBuf::from) else {
        return skipped("real scans", "$WARPSTRIDE_SHARED_DATA is not set");
    };
    let [near, far] =
        ["p25-near-field.cxi", "siemens-star.cxi"].map(|name| data.join("ptycho").join(name));
    if !near.is_file() || !far.is_file() {
        return skipped("real scans", "the shared data are absent");
    }
    let folder = TestFolder::new();
    let named = |file: &Path| {
        let info = folder.run(&["ptycho", "info", file.to_str().unwrap(), "--json"]);
        info.well();
        let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
        problems(&info).join("; ")
    };
    let found = named(&near);
    assert!(
        found.contains("linear overlap is about 40 %") && found.contains("near-field scan"),
        "{found}"
    );
    assert_eq!(named(&far), "");
}

#[test]
fn the_estimate_of_info_follows_modes_and_precision() {
    let folder = scan();
    let memory = |options: &[&str]| {
        let engine = ["--engine", "dm:9"];
        let scan = ["ptycho", "info", "scan.cxi", "--json"];
        let info = folder.run(&[&scan[..], &engine, options].concat());
        info.well();
        let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
        info["memory"]["cpu_bytes"]
            .as_u64()
            .unwrap_or_else(|| panic!("{info}"))
    };
    let one = memory(&[]);
    let five = memory(&["--probe-modes", "5"]);
    let double = memory(&["--probe-modes", "5", "--precision", "f64"]);
    assert!(
        five > 2 * one && double > 3 * five / 2,
        "{one} {five} {double}"
    );
    std::fs::write(
        folder.path("r.toml"),
        "probe_modes = 5\nprecision = \"f64\"\n",
    )
    .unwrap();
    assert_eq!(memory(&["--recipe", "r.toml"]), double);
    let none = folder.run(&["ptycho", "info", "scan.cxi", "--probe-modes", "0"]);
    none.refused(2, &["--probe-modes 0", "1 to 64"]);
}

#[test]
fn a_file_without_a_recipe_says_which_datasets_it_has() {
    let folder = TestFolder::new();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::create(folder.path("raw.h5")).unwrap();
        let images = Array3::<u16>::ones((4, 16, 16));
        let detector = file
            .create_group("scan")
            .unwrap()
            .create_group("eiger")
            .unwrap();
        detector
            .new_dataset_builder()
            .with_data(&images)
            .create("images")
            .unwrap();
        file.new_dataset_builder()
            .with_data(&[1.0; 4])
            .create("x_um")
            .unwrap();
        // A cycle of groups ends.
        file.link_hard("/scan", "/scan/eiger/again").unwrap();
    }
    folder
        .run(&["ptycho", "reconstruct", "raw.h5", "-o", "out.h5"])
        .refused(
            1,
            &[
                "raw.h5",
                "data.paths",
                "ptycho info",
                "/scan/eiger/images (4 x 16 x 16)",
                "/x_um (4)",
            ],
        );
    // The list, what the datasets may be, and a recipe with what is missing in comments.
    let info = folder.run(&["ptycho", "info", "raw.h5"]);
    info.well();
    for words in [
        "4 x 16 x 16  uint16          frames",
        "frames = \"/scan/eiger/images\"",
        "# positions = ",
        "# distance = 2.0",
    ] {
        assert!(info.out.contains(words), "{words}: {}", info.out);
    }
    let json = folder.run(&["ptycho", "info", "raw.h5", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["datasets"][0]["role"], "frames");
    assert_eq!(json["complete"], false);
    std::fs::write(folder.path("r.toml"), json["recipe"].as_str().unwrap()).unwrap();
    // With the recipe, `info` describes the frames and says what is missing.
    let info = folder.run(&["ptycho", "info", "raw.h5", "--recipe", "r.toml"]);
    info.well();
    for words in [
        "frames           4 of 16 x 16",
        "missing          positions",
    ] {
        assert!(info.out.contains(words), "{words}: {}", info.out);
    }
    let run = ["ptycho", "reconstruct", "raw.h5", "--recipe", "r.toml"];
    folder
        .run(&[&run[..], &["-o", "out.h5"]].concat())
        .refused(1, &["raw.h5", "positions"]);
}

#[test]
fn a_missing_filter_is_named() {
    let folder = TestFolder::new();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        // In the oldest format headers have no checksums and filters have names.
        let options = hdf5::File::with_options()
            .with_fapl(|list| list.libver_earliest())
            .clone();
        let file = options.create(folder.path("raw.h5")).unwrap();
        let images = Array3::<u16>::from_shape_fn((4, 16, 16), |(f, r, c)| (f * r * c) as u16);
        let builder = file.new_dataset_builder().deflate(4);
        builder.with_data(&images).create("images").unwrap();
        let positions = Array2::from_shape_fn((4, 2), |(f, axis)| (f * (axis + 1)) as f64 * 1e-7);
        let builder = file.new_dataset_builder();
        builder.with_data(&positions).create("positions").unwrap();
    }
    let recipe = "[data.paths]\nframes = \"/images\"\npositions = \"/positions\"\n[data.constants]\nwavelength = 1e-10\ndistance = 1.0\npixel_size = [1e-4, 1e-4]\n";
    std::fs::write(folder.path("r.toml"), recipe).unwrap();
    let info = ["ptycho", "info", "raw.h5", "--recipe", "r.toml"];
    folder.run(&info).well();
    // The message of the filter: its number, the length of its name, flags, one value, its name.
    let mut bytes = std::fs::read(folder.path("raw.h5")).unwrap();
    let found: Vec<usize> = bytes
        .windows(16)
        .enumerate()
        .filter(|(_, w)| w[..2] == [1, 0] && w[8..] == *b"deflate\0")
        .map(|(at, _)| at)
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    bytes[found[0]..found[0] + 2].copy_from_slice(&32013_u16.to_le_bytes());
    std::fs::write(folder.path("raw.h5"), bytes).unwrap();
    let output = folder.run(&info);
    output.refused(1, &["raw.h5", "/images", "ZFP", "32013", "h5repack"]);
    assert!(!output.err.contains("damaged"), "{output:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_start_probe_of_another_shape_is_not_read() {
    let folder = scan();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open_rw(folder.path("scan.cxi")).unwrap();
        let source = file.group("/entry_1/instrument_1/source_1").unwrap();
        if source.link_exists("illumination") {
            source.unlink("illumination").unwrap();
        }
        let empty = source.new_dataset::<num_complex::Complex<f64>>();
        let shaped = empty.chunk((1000, 1000)).shape((6000, 6000));
        shaped.create("illumination").unwrap();
    }
    let (output, peak) = folder.run_watched(&["ptycho", "info", "scan.cxi"]);
    output.well();
    assert!(output.out.contains("6000 x 6000 pixels"), "{output:?}");
    assert!(peak < 200 << 10, "{peak} KiB");
}
