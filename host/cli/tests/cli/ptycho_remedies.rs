//! Data that are wrong in an everyday way, and good files in a form that is not expected: each
//! error names the option that reads them.

use super::ptycho_doubtful::{reconstructed, scan, written};
use super::support::{Output, STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, s};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// A file of the trials, whose folder the repository does not have.
fn trial(test: &str, name: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/ptycho");
    let path: PathBuf = folder.join(name);
    if !path.is_file() {
        skipped(test, "../shared/data/trials/ptycho is not there");
        return None;
    }
    Some(path.display().to_string())
}

fn ptycho(folder: &TestFolder, command: &str, file: &str, options: &[&str]) -> Output {
    folder.run(&[&["ptycho", command, file][..], options].concat())
}

/// Options of a short run.
const SHORT: [&str; 6] = ["--engine", "rpie:2", "--backend", "cpu", "-o", "r.h5"];

/// Asserts success, and that the output has all of these parts.
#[track_caller]
fn says(output: &Output, parts: &[&str]) {
    assert_eq!(output.code, Some(0), "{output:?}");
    for part in parts {
        let both = [&output.out, &output.err];
        assert!(
            both.iter().any(|of| of.contains(part)),
            "{part}: {output:?}"
        );
    }
}

/// A mask whose non-zero pixels are valid hides the light: the other meaning is named, for masks of
/// files and others.
#[test]
fn a_mask_of_the_other_meaning_is_recognised() {
    let folder = scan();
    written(&folder, "inverted.cxi", |_, mask| {
        mask.fill(1);
        mask.row_mut(0).fill(0);
    });
    written(&folder, "all.cxi", |_, mask| mask.fill(1));
    written(&folder, "good.cxi", |_, mask| mask.row_mut(3).fill(255));
    for file in ["inverted.cxi", "all.cxi"] {
        for command in [&["info"][..], &["reconstruct", "-o", "r.h5"]] {
            let output = ptycho(&folder, command[0], file, &command[1..]);
            output.refused(1, &[file, "mask", "--file-mask-marks valid"]);
        }
    }
    let valid = ["--file-mask-marks", "valid"];
    let info = ptycho(&folder, "info", "inverted.cxi", &valid);
    says(
        &info,
        &["bad pixels       32 (3.1", "problems         none found"],
    );
    says(
        &ptycho(&folder, "info", "good.cxi", &[]),
        &["problems         none found"],
    );
    // The other way round for a mask beside the file; its meaning is none without it.
    let marks: Vec<u8> = (0..1024).map(|n| u8::from(n / 32 != 3)).collect();
    let mask = npy("|b1", false, &[32, 32], &marks);
    std::fs::write(folder.path("mask.npy"), mask).unwrap();
    let mask = ["--mask", "mask.npy"];
    ptycho(&folder, "info", "good.cxi", &mask).refused(1, &["mask.npy", "--mask-marks valid"]);
    let with = [&mask[..], &["--mask-marks", "valid"]].concat();
    says(
        &ptycho(&folder, "info", "good.cxi", &with),
        &["problems         none found"],
    );
    let alone = ptycho(&folder, "info", "good.cxi", &["--mask-marks", "valid"]);
    alone.refused(2, &["--mask-marks valid", "data.mask"]);
    if let Some(file) = trial("a mask of the other meaning", "mask-inverted.cxi") {
        ptycho(&folder, "info", &file, &[]).refused(1, &["--file-mask-marks valid"]);
        says(
            &ptycho(&folder, "info", &file, &valid),
            &["problems         none found"],
        );
    }
}

/// Frames with the zero frequency at the first pixel are those of the file that has it in the
/// middle.
#[test]
fn frames_around_their_first_pixel_are_shifted() {
    let folder = scan();
    written(&folder, "corner.cxi", |frames, mask| {
        let (count, rows, columns) = frames.dim();
        let middle = frames.clone();
        *frames = ndarray::Array3::from_shape_fn((count, rows, columns), |(j, r, c)| {
            middle[[j, (r + rows / 2) % rows, (c + columns / 2) % columns]]
        });
        // Row 3 of the frames as they are stored is row 19 of the others.
        mask.row_mut(3).fill(1);
    });
    written(&folder, "middle.cxi", |_, mask| mask.row_mut(19).fill(1));
    for command in [&["info"][..], &["reconstruct", "-o", "r.h5"]] {
        let output = ptycho(&folder, command[0], "corner.cxi", &command[1..]);
        output.refused(1, &["first pixel", "--centre shifted", "--centre 16,16"]);
    }
    let (output, _, shifted) = reconstructed(&folder, "corner.cxi", &["--centre", "shifted"]);
    assert!(
        output
            .out
            .contains("shifted cyclically by 16 rows and 16 columns"),
        "{output:?}"
    );
    let (_, _, middle) = reconstructed(&folder, "middle.cxi", &[]);
    assert_eq!(shifted, middle);
    if let Some(file) = trial("frames around their first pixel", "corner.cxi") {
        ptycho(&folder, "info", &file, &[]).refused(1, &["--centre shifted"]);
        let info = ptycho(&folder, "info", &file, &["--centre", "shifted"]);
        says(&info, &["problems         none found"]);
    }
}

/// Dark-subtracted counts, markers and NaN are refused with the option that reads each.
#[test]
fn counts_that_are_none_name_their_option() {
    let folder = scan();
    written(&folder, "negative.cxi", |frames, _| {
        // Pixels without light, which noise makes negative.
        for (number, count) in frames.iter_mut().enumerate() {
            if *count == 0.0 && number % 3 == 0 {
                *count = -1.0 - (number % 4) as f64 / 2.0;
            }
        }
    });
    written(&folder, "marked.cxi", |frames, _| {
        frames[[2, 1, 1]] = -9999.0
    });
    written(&folder, "two.cxi", |frames, _| {
        frames[[2, 1, 1]] = -9999.0;
        frames[[3, 1, 1]] = -9999.0;
    });
    written(&folder, "nan.cxi", |frames, _| frames[[2, 1, 1]] = f64::NAN);
    let refused = |file: &str, options: &[&str], words: &[&str]| {
        ptycho(&folder, "info", file, options).refused(1, words);
        let run = [&["-o", "r.h5"][..], options].concat();
        ptycho(&folder, "reconstruct", file, &run).refused(1, words);
    };
    refused(
        "negative.cxi",
        &[],
        &["negative counts in", "-2.5 at least", "--negative clip"],
    );
    refused("two.cxi", &["--negative", "clip"], &["--no-data -9999"]);
    refused("marked.cxi", &[], &["-9999 in frame 2, row 1, column 1"]);
    refused(
        "nan.cxi",
        &[],
        &["NaN in 1 pixel of 1 frame", "--no-data nan"],
    );
    let clip = ["--negative", "clip"];
    let (output, _, clipped) = reconstructed(&folder, "negative.cxi", &clip);
    assert!(
        output
            .out
            .contains("with negative counts, -2.5 at least, set to 0"),
        "{output:?}"
    );
    let (_, _, whole) = reconstructed(&folder, "scan.cxi", &[]);
    assert_eq!(clipped, whole);
    for (file, values) in [("two.cxi", "-9999"), ("nan.cxi", "nan,-9999")] {
        let info = ptycho(&folder, "info", file, &["--no-data", values]);
        says(&info, &["which means no data (option `data.no_data`)"]);
    }
}

/// An illumination of another size is not needed where another start probe is asked for.
#[test]
fn an_illumination_of_another_size_is_ignored_if_it_is_not_needed() {
    let folder = TestFolder::new();
    let Some(file) = trial("an illumination of another size", "probe64.cxi") else {
        return;
    };
    says(
        &ptycho(&folder, "info", &file, &[]),
        &["problem", "has 64 x 64 pixels, and the frames have 48 x 48"],
    );
    let words = ["64 x 64", "48 x 48", "--set probe.source=mean-pattern"];
    ptycho(&folder, "reconstruct", &file, &SHORT).refused(1, &words);
    let other = [&SHORT[..], &["--set", "probe.source=mean-pattern"]].concat();
    says(
        &ptycho(&folder, "reconstruct", &file, &other),
        &["has 64 x 64 pixels", "cannot be the start probe"],
    );
}

/// The positions (row, column), m, and the object pixel of a scan that has been imported.
fn imported(folder: &TestFolder, file: &str, options: &[&str]) -> (ndarray::Array2<f64>, [f64; 2]) {
    let output = ptycho(
        folder,
        "import",
        file,
        &[&["-o", "imported.cxi"][..], options].concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let path = folder.path("imported.cxi");
    let read =
        warpstride::ptycho::io::scan::read(&path, &warpstride::ptycho::ReadOptions::default());
    std::fs::remove_file(&path).unwrap();
    let scan = read.unwrap().scan;
    (scan.positions().clone(), scan.object_pixel())
}

/// Axes of EMD files are those of all their coordinates.
#[test]
fn axes_are_taken_from_all_their_points() {
    let folder = TestFolder::new();
    let Some(file) = trial("axes of EMD files", "nonuni.h5") else {
        return;
    };
    let voltage = ["--voltage", "300kV"];
    says(
        &ptycho(&folder, "info", &file, &voltage),
        &["dim0: steps from 0.4 to 0.8 A: its coordinates are used as positions"],
    );
    let (positions, _) = imported(&folder, &file, &voltage);
    let rows: Vec<f64> = positions
        .column(0)
        .iter()
        .step_by(5)
        .map(|at| (at * 1e10 * 1e6).round() / 1e6)
        .collect();
    assert_eq!(rows, [0.0, 0.4, 0.8, 1.6, 2.0, 2.4]);
    let Some(file) = trial("axes of EMD files", "c2.h5") else {
        return;
    };
    let info = ptycho(&folder, "info", &file, &voltage);
    says(
        &info,
        &[
            "are rounded to 0.01",
            "the step is taken from the first to the last one",
        ],
    );
    // A pixel of 0.0116/Å in 48 of them: 1/(48 · 0.0116) Å, to the rounding of the ends.
    let (_, [row, column]) = imported(&folder, &file, &voltage);
    for pixel in [row, column] {
        let expected = 1e-10 / (48.0 * 0.0116);
        assert!((pixel / expected - 1.0).abs() < 0.02, "{pixel} {expected}");
    }
}

/// The detector with the patterns is chosen among several.
#[test]
fn the_detector_with_the_patterns_is_chosen() {
    let folder = TestFolder::new();
    let Some(file) = trial("several detectors", "two.nxs") else {
        return;
    };
    says(
        &ptycho(&folder, "info", &file, &[]),
        &[
            "frames           40 of 40 x 40 pixels",
            "/entry/instrument/a_camera/data (40 x 5 x 7)",
            "those of /entry/instrument/detector are read (--dataset chooses others)",
        ],
    );
    let camera = [
        "--dataset",
        "/entry/instrument/a_camera",
        "--distance",
        "1m",
        "--pixel-size",
        "75um",
    ];
    // The camera has counted nothing.
    ptycho(&folder, "info", &file, &camera).refused(1, &["/entry/instrument/a_camera/data"]);
    let other = ["--dataset", "/entry/instrument/none"];
    ptycho(&folder, "info", &file, &other)
        .refused(2, &["--dataset /entry/instrument/none", "a_camera"]);
}

/// Positions with decimal commas are those with points.
#[test]
fn decimal_commas_are_read() {
    let folder = TestFolder::new();
    let (Some(scan), Some(table)) = (
        trial("decimal commas", "two.nxs"),
        trial("decimal commas", "de.csv"),
    ) else {
        return;
    };
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(
        folder.path("point.csv"),
        text.replace(',', ".").replace(';', ","),
    )
    .unwrap();
    let (comma, _) = imported(&folder, &scan, &["--positions", &table]);
    let (point, _) = imported(&folder, &scan, &["--positions", "point.csv"]);
    assert_eq!(comma, point);
    assert!(comma.iter().any(|at| *at > 1e-9));
    let info = ptycho(&folder, "info", &scan, &["--positions", &table]);
    says(
        &info,
        &["de.csv: the commas in numbers such as 0,5 are read as decimal points"],
    );
}

/// A NumPy array of version 1.0.
pub(super) fn npy(element: &str, fortran: bool, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let shape: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
    let order = if fortran { "True" } else { "False" };
    let mut header = format!(
        "{{'descr': '{element}', 'fortran_order': {order}, 'shape': ({}), }}",
        shape.join(" ")
    );
    header.push_str(&" ".repeat(64 - (header.len() + 11) % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(values);
    bytes
}

/// Counts of 12 frames of 16 × 16 pixels: light in the middle, which varies.
fn counts(frame: usize, row: usize, column: usize) -> u16 {
    let square = row.abs_diff(8).pow(2) + column.abs_diff(8).pow(2);
    ((900 + 37 * (frame * 7 % 5)) as f64 * (-(square as f64) / 9.0).exp()) as u16
}

/// A file with frames alone is described with all that is missing, and the command that is given
/// runs.
#[test]
fn frames_alone_are_described_with_a_command_that_runs() {
    let folder = TestFolder::new();
    let places =
        || (0..12).flat_map(|j| (0..16).flat_map(move |r| (0..16).map(move |c| (j, r, c))));
    let in_c: Vec<u8> = places()
        .flat_map(|(j, r, c)| counts(j, r, c).to_le_bytes())
        .collect();
    let in_fortran: Vec<u8> = (0..16)
        .flat_map(|c| (0..16).flat_map(move |r| (0..12).map(move |j| (j, r, c))))
        .flat_map(|(j, r, c)| counts(j, r, c).to_le_bytes())
        .collect();
    std::fs::write(
        folder.path("c.npy"),
        npy("<u2", false, &[12, 16, 16], &in_c),
    )
    .unwrap();
    std::fs::write(
        folder.path("f.npy"),
        npy("<u2", true, &[12, 16, 16], &in_fortran),
    )
    .unwrap();
    let missing = [
        "--positions FILE",
        "--wavelength",
        "--distance",
        "--pixel-size",
    ];
    let mut commands = Vec::new();
    for file in ["c.npy", "f.npy"] {
        let info = ptycho(&folder, "info", file, &[]);
        says(
            &info,
            &[
                "12 of 16 x 16 pixels",
                "(uint16)",
                "--raster 3x4",
                "1048 at most",
            ],
        );
        assert!(
            !info.out.contains("keV") && !info.out.contains("object pixel"),
            "{info:?}"
        );
        says(&info, &missing);
        ptycho(&folder, "reconstruct", file, &["-o", "r.h5"]).refused(1, &missing);
        let line = info
            .out
            .lines()
            .find(|line| line.starts_with("command"))
            .unwrap();
        commands.push(line.split("this runs: ").nth(1).unwrap().to_owned());
    }
    let mut objects = Vec::new();
    for command in &commands {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let run = [&words[..], &["--engine", "rpie:2", "--backend", "cpu"]].concat();
        let output = folder.run(&run);
        assert_eq!(output.code, Some(0), "{command}: {output:?}");
        let result = warpstride::ptycho::io::results::read(&folder.path("result.h5")).unwrap();
        std::fs::remove_file(folder.path("result.h5")).unwrap();
        objects.push(result.object);
    }
    assert_eq!(objects[0], objects[1], "both orders are the same frames");
    // What is known already is not asked for.
    let known = ["--raster", "3x4", "--step", "1um", "--wavelength", "1.4A"];
    let info = ptycho(&folder, "info", "c.npy", &known);
    says(
        &info,
        &[
            "missing          a distance",
            "missing          a pixel size",
            "--raster 3x4 --step 1um",
        ],
    );
    assert!(!info.out.contains("missing          positions"), "{info:?}");
    // The arguments are kept as they were given.
    let given = ["--raster", "4x3", "--every", "2", "--wavelength", "1.4321A"];
    says(
        &ptycho(&folder, "info", "c.npy", &given),
        &["reconstruct c.npy --raster 4x3 --every 2 --wavelength 1.4321A -o result.h5 --step "],
    );
    // What is wrong with the frames is said, with what is missing.
    let mut wrong = in_c.clone();
    wrong[..2].copy_from_slice(&(-5_i16).to_le_bytes());
    std::fs::write(
        folder.path("n.npy"),
        npy("<i2", false, &[12, 16, 16], &wrong),
    )
    .unwrap();
    ptycho(&folder, "info", "n.npy", &[]).refused(
        1,
        &[
            "--negative clip",
            "missing as well: positions (--positions FILE",
        ],
    );
    let json = ptycho(&folder, "info", "c.npy", &["--json"]);
    says(
        &json,
        &[
            "\"missing\": [",
            "\"command\": \"warpstride ptycho reconstruct c.npy",
        ],
    );
}

/// Without memory a command ends with one sentence, under any limit of the address space.
#[cfg(target_os = "linux")]
#[test]
fn commands_without_memory_end_with_a_sentence() {
    let folder = TestFolder::with_scan();
    let program = env!("CARGO_BIN_EXE_warpstride");
    let mut refused = 0;
    for limit in [120_000, 200_000, 300_000, 400_000] {
        for arguments in [
            "ptycho info scan.cxi --host-memory 1GiB",
            "ptycho reconstruct scan.cxi --engine dm:1 --backend cpu -o r.h5 --threads 2",
            "ptycho simulate big.cxi --frame 256 --positions 400",
        ] {
            let script = format!("ulimit -v {limit}; exec {program} {arguments}");
            let mut command = std::process::Command::new("bash");
            command.args(["-c", &script]).current_dir(folder.path("."));
            let output = command.output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => {}
                // The program itself does not fit.
                Some(127) if err.contains("while loading shared libraries") => {}
                Some(1) => {
                    refused += 1;
                    let last = err.lines().last().unwrap_or_default();
                    assert!(
                        last.starts_with("warpstride: ")
                            || last.starts_with("memory allocation of"),
                        "{limit} {arguments}: {err}"
                    );
                    assert!(!err.contains("panicked"), "{limit} {arguments}: {err}");
                }
                other => panic!("{limit} {arguments}: {other:?}: {err}"),
            }
        }
    }
    assert!(refused > 0, "no limit was too small");
}

/// A scan of 32 MiB, which under some limits of the address space is read into a temporary file, or
/// read and not reconstructed: no array of counts, no mask and no engine ends with the sentence of
/// the standard library.
#[cfg(target_os = "linux")]
#[test]
fn a_larger_scan_without_memory_ends_with_a_sentence() {
    let file = "../../../shared/data/ptycho/siemens-star.cxi";
    let star = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if !star.is_file() {
        skipped(
            "a larger scan without memory",
            "../shared/data/ptycho is not there",
        );
        return;
    }
    let folder = TestFolder::new();
    let (program, star) = (env!("CARGO_BIN_EXE_warpstride"), star.display());
    let info = format!("ptycho info {star}");
    let reconstruct =
        format!("ptycho reconstruct {star} --engine lsqml:1 --backend cpu --threads 2 -o r.h5");
    let of_info = [210_000, 230_000, 250_000, 270_000, 300_000].map(|limit| (limit, &info));
    let of_run = [340_000, 360_000, 390_000].map(|limit| (limit, &reconstruct));
    let mut refused = 0;
    for (limit, arguments) in of_info.into_iter().chain(of_run) {
        let script = format!("ulimit -v {limit}; exec {program} {arguments}");
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &script]).current_dir(folder.path("."));
        let output = command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        let last = err.lines().last().unwrap_or_default();
        match output.status.code() {
            Some(0) => {}
            Some(127) if err.contains("while loading shared libraries") => {}
            Some(1) if last.starts_with("warpstride: ") => refused += 1,
            other => panic!("{limit} {arguments}: {other:?}: {err}"),
        }
    }
    assert!(refused > 0, "no limit was too small");
}

/// Light at both borders of the frames, or of one axis, is no centre that can be looked for: half
/// of each frame would be masked.
#[test]
fn a_centre_that_is_looked_for_is_not_at_the_border() {
    let folder = scan();
    let shifted = |name: &str, by: [usize; 2]| {
        written(&folder, name, |frames, _| {
            let middle = frames.clone();
            for ((frame, row, column), counts) in frames.indexed_iter_mut() {
                *counts = middle[[frame, (row + by[0]) % 32, (column + by[1]) % 32]];
            }
        });
    };
    shifted("rows.cxi", [16, 0]);
    shifted("columns.cxi", [0, 16]);
    shifted("corner.cxi", [16, 16]);
    let auto = ["--centre", "auto"];
    for (file, says) in [
        ("rows.cxi", "shifted back cyclically by half of their rows"),
        (
            "columns.cxi",
            "shifted back cyclically by half of their columns",
        ),
        ("corner.cxi", "--centre shifted moves it to the middle"),
    ] {
        ptycho(&folder, "info", file, &auto).refused(2, &[file, says]);
    }
    let shifted = ["--centre", "shifted"];
    says(
        &ptycho(&folder, "info", "corner.cxi", &shifted),
        &["problems         none found"],
    );
    let problem = "moves the light of these frames from their middle to the first pixel";
    says(&ptycho(&folder, "info", "scan.cxi", &shifted), &[problem]);
    let auto = ptycho(&folder, "info", "scan.cxi", &auto);
    says(&auto, &["problems         none found"]);
}

/// A file without a known layout: positions in another number than frames are found, and units that
/// differ are said.
#[test]
fn positions_of_plain_files_are_paired_and_their_units_compared() {
    let folder = scan();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let scan = hdf5::File::open(folder.path("scan.cxi")).unwrap();
        let frames = scan
            .dataset("/entry_1/instrument_1/detector_1/data")
            .unwrap();
        let frames: Array3<f32> = frames.read().unwrap();
        let geometry = scan.group("/entry_1/sample_1/geometry_1").unwrap();
        let places: Array2<f64> = geometry.dataset("translation").unwrap().read().unwrap();
        let detector = scan.group("/entry_1/instrument_1/detector_1").unwrap();
        let number = |name: &str| {
            detector
                .dataset(name)
                .unwrap()
                .read_scalar::<f64>()
                .unwrap()
        };
        let file = hdf5::File::create(folder.path("plain.h5")).unwrap();
        let put = |name: &str, values: &Array2<f64>, unit: &str| {
            let dataset = file
                .new_dataset_builder()
                .with_data(values)
                .create(name)
                .unwrap();
            let unit: hdf5::types::VarLenUnicode = unit.parse().unwrap();
            let attribute = dataset.new_attr::<hdf5::types::VarLenUnicode>();
            attribute
                .create("units")
                .unwrap()
                .write_scalar(&unit)
                .unwrap();
        };
        file.new_dataset_builder()
            .with_data(&frames)
            .create("frames")
            .unwrap();
        let positions = places.slice(s![..37, ..2]).mapv(|metres| 1e6 * metres);
        put("positions", &positions, "um");
        put(
            "y",
            &places.slice(s![.., 1..2]).mapv(|metres| 1e6 * metres),
            "um",
        );
        put(
            "x",
            &places.slice(s![.., ..1]).mapv(|metres| 1e9 * metres),
            "nm",
        );
        put(
            "distance",
            &Array2::from_elem((1, 1), number("distance")),
            "m",
        );
        put(
            "pixel_size",
            &Array2::from_elem((1, 1), number("x_pixel_size")),
            "m",
        );
        put("wavelength", &Array2::from_elem((1, 1), 1e-10), "m");
    }
    let recipe = |name: &str, positions: &str| {
        let text = format!(
            "[data.paths]\nframes = \"/frames\"\npositions = {positions}\nwavelength = \"/wavelength\"\ndistance = \"/distance\"\npixel_size = \"/pixel_size\"\n"
        );
        std::fs::write(folder.path(name), text).unwrap();
    };
    recipe("few.toml", "\"/positions\"");
    recipe("two.toml", "[\"/y\", \"/x\"]");
    let few = ["--recipe", "few.toml"];
    let refused = ptycho(&folder, "info", "plain.h5", &few);
    refused.refused(1, &["40 frames, found 37; --pair first"]);
    let first = ptycho(
        &folder,
        "info",
        "plain.h5",
        &[&few[..], &["--pair", "first"]].concat(),
    );
    says(&first, &["frames           37 of"]);
    let two = ptycho(&folder, "info", "plain.h5", &["--recipe", "two.toml"]);
    let note = "/y is in units of 1e-6 m and /x in units of 1e-9 m: if one of them is wrong, data.units.positions states one for both";
    says(&two, &[note]);
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open_rw(folder.path("plain.h5")).unwrap();
        file.unlink("x").unwrap();
        file.unlink("y").unwrap();
    }
    let listed = ptycho(&folder, "info", "plain.h5", &[]);
    says(
        &listed,
        &[
            "# 37 positions for 40 frames: --pair first",
            "positions = \"/positions\"",
        ],
    );
}
