//! Frames and positions in different numbers, in different units, and in files of a doubtful order:
//! nothing is wrong and silent, and the command that a refusal prints runs.

use super::support::{STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use ndarray::Array2;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// The geometry of files of frames alone.
const BEAM: [&str; 6] = [
    "--energy",
    "8.856keV",
    "--distance",
    "1m",
    "--pixel-size",
    "75um",
];

/// The inputs of trials; they are not part of the repository.
fn trials(what: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/ptycho");
    if !folder.is_dir() {
        skipped(what, "../shared/data/trials is not there");
        return None;
    }
    Some(folder)
}

/// What `info --json` says.
pub(super) fn info(folder: &TestFolder, arguments: &[&str]) -> serde_json::Value {
    let said = folder.run(&[&["ptycho", "info", "--json"][..], arguments].concat());
    said.well();
    serde_json::from_str(&said.out).unwrap()
}

/// The error of `info`, which has these words; the command that it prints is run, and what that
/// says is returned.
fn remedied(folder: &TestFolder, arguments: &[&str], words: &[&str]) -> serde_json::Value {
    let refused = folder.run(&[&["ptycho", "info", "--json"][..], arguments].concat());
    refused.refused(1, words);
    let (_, command) = refused.err.trim().rsplit_once(": warpstride ").unwrap();
    let command: Vec<&str> = command.split(' ').collect();
    let said = folder.run(&command);
    said.well();
    serde_json::from_str(&said.out).unwrap()
}

/// Checks the number of frames and the sum of all counts.
fn has(info: &serde_json::Value, frames: u64, total: f64) {
    assert_eq!(info["frames"], frames, "{info}");
    assert_eq!(info["counts"]["total"], total, "{info}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_translation_in_micrometres_is_read_and_imported_in_metres() {
    let Some(data) = trials("positions in micrometres") else {
        return;
    };
    let folder = TestFolder::new();
    let file = data.join("cxi-um-attr.cxi");
    let said = info(&folder, &[text(&file)]);
    for axis in 0..2 {
        let extent = said["extent"][axis].as_f64().unwrap();
        assert!((extent - 1.353_333_33e-6).abs() < 1e-12, "{said}");
    }
    assert_eq!(said["problems"], serde_json::json!([]));
    assert!(
        said["notes"].to_string().contains("translation is in um"),
        "{said}"
    );
    // The options replace the attribute, and are named where that makes no sense.
    let nanometres = ["--set", "data.units.positions=\"nm\""];
    let nanometres =
        folder.run(&[&["ptycho", "info", "--json", text(&file)][..], &nanometres].concat());
    nanometres.refused(2, &["data.units.positions", "likely cause"]);
    let nanometres: serde_json::Value = serde_json::from_str(&nanometres.out).unwrap();
    let extent = nanometres["extent"][0].as_f64().unwrap();
    assert!((extent - 1.353_333_33e-9).abs() < 1e-15, "{nanometres}");
    let import = ["ptycho", "import", text(&file), "-o", "out.cxi"];
    folder.run(&import).well();
    let imported = info(&folder, &["out.cxi"]);
    assert_eq!(imported["extent"], said["extent"]);
    // What info refuses, import does not write, and the option that is the cause is named.
    let absurd = ["--set", "data.units.positions=\"m\""];
    for command in [
        &["ptycho", "info", text(&file)][..],
        &["ptycho", "import", text(&file), "-o", "b.cxi"],
    ] {
        let refused = folder.run(&[command, &absurd].concat());
        refused.refused(2, &["data.units.positions", "likely cause"]);
    }
    assert!(!folder.path("b.cxi").exists());
}

#[test]
fn fewer_positions_than_frames_are_used_if_asked() {
    let Some(data) = trials("fewer positions than frames") else {
        return;
    };
    let folder = TestFolder::new();
    let file = data.join("cxi-short.cxi");
    let words = [
        "cxi-short.cxi",
        "each of 40 frames, found 37",
        "--pair first",
    ];
    has(&remedied(&folder, &[text(&file)], &words), 37, 53_245_254.0);
    // The selection comes first.
    has(
        &info(&folder, &[text(&file), "--exclude", "37-39"]),
        37,
        53_245_254.0,
    );
    let table = data.join("gaps.csv");
    let by_column = info(&folder, &[text(&file), "--positions", text(&table)]);
    has(&by_column, 37, 52_773_751.0);
    let notes = by_column["notes"].to_string();
    assert!(
        notes.contains("numbered from 0") && notes.contains("left out: 7-8,39"),
        "{notes}"
    );
    let extent = by_column["extent"][0].as_f64().unwrap();
    assert!((extent - 1.353_333_33e-6).abs() < 1e-12, "{by_column}");
}

#[test]
fn a_raster_and_other_numbers_of_frames_are_paired_if_asked() {
    let Some(data) = trials("rasters and other numbers of frames") else {
        return;
    };
    let folder = TestFolder::new();
    for (name, frames, used, total) in [
        ("extra.mib", 14, 12, 227_788.0),
        ("few.mib", 10, 10, 190_055.0),
    ] {
        let file = data.join(name);
        let raster = [text(&file), "--raster", "3x4", "--step", "0.1um"];
        let expected = format!("each of {frames} frames, found 12 (a raster of 3 x 4 points)");
        let said = remedied(&folder, &[&raster[..], &BEAM].concat(), &[name, &expected]);
        has(&said, used, total);
    }
}

#[test]
fn a_series_that_was_stopped_says_what_is_missing() {
    let Some(data) = trials("a series that was stopped") else {
        return;
    };
    let folder = TestFolder::new();
    let table: String = (0..40)
        .map(|n| format!("{},{}\n", 0.2 * f64::from(n / 7), 0.2 * f64::from(n % 7)))
        .collect();
    std::fs::write(folder.path("p.csv"), format!("y_um,x_um\n{table}")).unwrap();
    let file = data.join("dec/abort_master.h5");
    let words = [
        "abort_data_000002.h5",
        "25 of 40 frames exist and 15 are lost",
        "--pair first",
    ];
    let said = remedied(&folder, &[text(&file), "--positions", "p.csv"], &words);
    has(&said, 25, 36_704_496.0);
}

/// Writes two frames of 8 x 8 pixels with this brightness.
fn frames(folder: &TestFolder, name: &str, brightness: usize) {
    let counts = (0..2 * 8 * 8).map(|n| (brightness * (1 + n % 8)) as f32);
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 8, 8), }".to_owned();
    header.push_str(&" ".repeat(117 - header.len()));
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.bytes().chain([b'\n']));
    bytes.extend(counts.flat_map(f32::to_le_bytes));
    std::fs::write(folder.path(name), bytes).unwrap();
}

#[test]
fn files_in_the_order_of_the_shell_are_refused_with_positions() {
    let folder = TestFolder::new();
    for number in [1, 2, 10] {
        frames(&folder, &format!("im_{number}.npy"), number);
    }
    let files = ["im_1.npy", "im_10.npy", "im_2.npy"];
    let raster = ["--raster", "2x3", "--step", "1um"];
    let asked = folder.run(&[&["ptycho", "info"][..], &files, &raster, &BEAM].concat());
    let words = [
        "im_1.npy, im_10.npy, im_2.npy",
        "im_1.npy, im_2.npy, im_10.npy",
        "--order natural",
    ];
    asked.refused(1, &words);
    let brightest = |more: &[&str]| {
        // The last frames are ten times as bright as the first.
        let keep = ["--bad-frames", "keep"];
        let said = info(&folder, &[&files[..], &raster, &BEAM, &keep, more].concat());
        said["counts"]["brightest_frame"].as_u64().unwrap()
    };
    assert!([4, 5].contains(&brightest(&["--order", "natural"])));
    assert!([2, 3].contains(&brightest(&["--order", "given"])));
    assert!([2, 3].contains(&brightest(&["--order", "name"])));
}

/// Changes the translation of a simulated scan: scaled, with an attribute `units`, and in a number
/// of columns.
pub(super) fn translation(
    folder: &TestFolder,
    name: &str,
    scale: f64,
    attribute: Option<(&str, &str)>,
) {
    std::fs::copy(folder.path("scan.cxi"), folder.path(name)).unwrap();
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(folder.path(name)).unwrap();
    let group = file.group("/entry_1/sample_1/geometry_1").unwrap();
    let values: Array2<f64> = group.dataset("translation").unwrap().read().unwrap();
    group.unlink("translation").unwrap();
    let dataset = group
        .new_dataset_builder()
        .with_data(&(values * scale))
        .create("translation")
        .unwrap();
    if let Some((name, unit)) = attribute {
        let unit: hdf5::types::VarLenUnicode = unit.parse().unwrap();
        let attribute = dataset.new_attr::<hdf5::types::VarLenUnicode>();
        attribute.create(name).unwrap().write_scalar(&unit).unwrap();
    }
}

#[test]
fn every_unit_of_a_translation_is_known_or_asked_for() {
    let folder = TestFolder::with_scan();
    let extent = |arguments: &[&str]| {
        let said = info(&folder, arguments);
        said["extent"][0].as_f64().unwrap()
    };
    let expected = extent(&["scan.cxi"]);
    for (number, (scale, name, unit)) in [
        (1e6, "units", "UM"),
        (1e6, "unit", "\u{3bc}m"),
        (1e3, "units", "millimeters"),
        (1e10, "units", "\u{212b}"),
        (1.0, "units", "m"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("u{number}.cxi");
        translation(&folder, &file, scale, Some((name, unit)));
        let found = extent(&[&file]);
        assert!((found / expected - 1.0).abs() < 1e-12, "{unit}: {found}");
    }
    translation(&folder, "furlong.cxi", 1.0, Some(("units", "furlong")));
    folder
        .run(&["ptycho", "info", "furlong.cxi"])
        .refused(1, &["translation", "furlong", "data.units.positions"]);
    // Without a unit metres are documented, but not plausible.
    translation(&folder, "none.cxi", 1e6, None);
    let asked = [
        "translation",
        "without a unit",
        "data.units.positions=\"um\"",
    ];
    folder
        .run(&["ptycho", "info", "none.cxi"])
        .refused(1, &asked);
    let stated = extent(&["none.cxi", "--set", "data.units.positions=\"um\""]);
    assert!((stated / expected - 1.0).abs() < 1e-12);
}

#[test]
fn units_that_replace_nothing_are_refused() {
    let folder = TestFolder::with_scan();
    let unit = |option: &str, unit: &str| format!("data.units.{option}=\"{unit}\"");
    frames(&folder, "two.npy", 1);
    let raster = ["--raster", "1x2", "--step", "1um"];
    let alone = [&["two.npy"][..], &raster, &BEAM].concat();
    let scan = ["scan.cxi", "--raster", "3x4", "--step", "1um"];
    for (arguments, option, name) in [
        (&alone[..], unit("distance", "mm"), "data.units.distance"),
        (&alone[..], unit("positions", "um"), "data.units.positions"),
        (&scan[..], unit("positions", "um"), "data.units.positions"),
    ] {
        let set = ["--set", &option];
        let refused = folder.run(&[&["ptycho", "info"][..], arguments, &set].concat());
        refused.refused(2, &[name, "no effect"]);
    }
    let order = [
        "ptycho",
        "info",
        "scan.cxi",
        "--set",
        "data.order=\"natural\"",
    ];
    folder
        .run(&order)
        .refused(2, &["data.order", "further files"]);
}
