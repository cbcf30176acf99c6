//! Options without effect are noted; values that cannot be meant are refused with where they stand.

use super::ptycho_doubtful::{scan, written};
use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3};
use std::sync::PoisonError;

#[test]
fn options_without_effect_are_noted() {
    let folder = scan();
    let fixed = [
        "ptycho",
        "reconstruct",
        "scan.cxi",
        "-o",
        "out.h5",
        "--backend",
        "cpu",
        "--no-pictures",
    ];
    let engines = ["--engine", "dm:3", "--engine", "raar:2"];
    let run = |options: &[&str]| {
        let output = folder.run(&[&fixed, &engines[..], options].concat());
        output.well();
        output.out
    };
    let default = run(&[]);
    assert!(!default.contains("no effect"), "{default}");
    for (assignment, expected) in [
        (
            "probe.aperture=0.3",
            "probe.aperture has no effect on this start probe",
        ),
        (
            "probe.defocus=1e-3",
            "probe.defocus has no effect on this start probe",
        ),
        ("gpu.updates=atomic", "gpu.updates has no effect on the CPU"),
        ("gpu.waves=bf16", "gpu.waves has no effect on the CPU"),
        (
            "dm.probe_from=1000",
            "dm.probe_from = 1000 is after the last iteration of dm, which is 3",
        ),
        (
            "data.constants.distance=4",
            "data.constants.distance (4.0000 m) is used; /entry_1",
        ),
    ] {
        let output = run(&["--set", assignment]);
        assert!(output.contains(&format!("note: {expected}")), "{output}");
    }
    let used = run(&[
        "--set",
        "raar.probe_from=5",
        "--set",
        "probe.source=mean-pattern",
    ]);
    assert!(
        !used.contains("no effect") && !used.contains("after the last"),
        "{used}"
    );
}

#[test]
fn values_of_a_recipe_are_refused_with_their_line() {
    let folder = scan();
    for (text, words) in [
        (
            "[data.paths]\nframes = \"/a\"\npositions = \"/b\"\nposition_unit = 0.0\n",
            &["r.toml: line 4: data.paths.position_unit", "found 0"][..],
        ),
        (
            "[data.paths]\nframes = \"\"\npositions = \"/b\"\n",
            &["line 2: data.paths.frames: expected the path of a dataset, found \"\""],
        ),
        (
            "seed = 1\n[[engines]]\nname = \"dm\"\niterations = 3\nalpha = 0.0\n",
            &["line 5: dm.alpha", "found 0"],
        ),
        (
            "[[engines]]\nname = \"dm\"\niterations = 3\nclip_object = [1, 0]\n",
            &["line 4: dm.clip_object: expected [lower, upper] with 0 <= lower <= upper <= 1e6"],
        ),
    ] {
        std::fs::write(folder.path("r.toml"), text).unwrap();
        let output = folder.run(&["ptycho", "info", "scan.cxi", "--recipe", "r.toml"]);
        output.refused(1, words);
    }
    let output = folder.run(&["ptycho", "info", "scan.cxi", "--recipe", "scan.cxi"]);
    output.refused(
        1,
        &["scan.cxi: expected a recipe (TOML, in UTF-8), found other data"],
    );
}

#[test]
fn a_truth_of_another_scan_is_ignored_and_counts_without_data_are_named() {
    let folder = scan();
    let path = folder.path("scan.cxi");
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open_rw(&path).unwrap();
        let group = file.group("/simulation").unwrap();
        group.unlink("positions").unwrap();
        let builder = group.new_dataset_builder();
        let positions = Array2::<f64>::zeros((3, 2));
        builder.with_data(&positions).create("positions").unwrap();
    }
    let info = folder.run(&["ptycho", "info", "scan.cxi"]);
    info.well();
    let note = "the truth is ignored: scan.cxi: /simulation/positions: expected shape (40, 2)";
    assert!(info.out.contains(note), "{info:?}");
    written(&folder, "raw.cxi", |frames, _| frames.fill(f64::NAN));
    let output = folder.run(&["ptycho", "info", "raw.cxi"]);
    output.refused(
        1,
        &[
            "raw.cxi: ",
            "/data: expected counts other than those that mean no data",
        ],
    );
}

/// Writes `raw.ptyd`, eight frames of 16 × 16.
fn write_ptyd(folder: &TestFolder, indices: &[f64], weights: &Array2<f64>, centre: Option<&str>) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::create(folder.path("raw.ptyd")).unwrap();
    let chunk = file
        .create_group("chunks")
        .unwrap()
        .create_group("0")
        .unwrap();
    let frames = Array3::from_shape_fn((8, 16, 16), |(f, r, c)| {
        let square = (r as f64 - 8.0).powi(2) + (c as f64 - 8.0).powi(2);
        (1000.0 * (-square / 8.0).exp()).floor() + ((f + r * c) % 3) as f64
    });
    let positions = Array2::from_shape_fn((8, 2), |(f, axis)| ((f >> axis) % 4) as f64 * 1e-7);
    let put = |name: &str| (chunk.new_dataset_builder(), name.to_owned());
    let (builder, name) = put("data");
    builder.with_data(&frames).create(&*name).unwrap();
    let (builder, name) = put("positions");
    builder.with_data(&positions).create(&*name).unwrap();
    let (builder, name) = put("weights");
    builder.with_data(weights).create(&*name).unwrap();
    let (builder, name) = put("indices");
    let indices = Array1::from_vec(indices.to_vec());
    builder.with_data(&indices).create(&*name).unwrap();
    let meta = file.create_group("meta").unwrap();
    for (name, value) in [("energy", 10.0), ("distance", 1.0), ("psize", 1e-4)] {
        let dataset = meta.new_dataset::<f64>().create(name).unwrap();
        dataset.write_scalar(&value).unwrap();
    }
    if let Some(centre) = centre {
        let text: hdf5::types::VarLenUnicode = centre.parse().unwrap();
        let dataset = meta.new_dataset::<hdf5::types::VarLenUnicode>();
        dataset
            .create("center")
            .unwrap()
            .write_scalar(&text)
            .unwrap();
    }
}

#[test]
fn weights_and_indices_of_ptyd_files_are_checked() {
    let folder = TestFolder::new();
    let indices: Vec<f64> = (0..8).map(f64::from).collect();
    let mut weights = Array2::from_elem((16, 16), 1.0);
    weights[[0, 1]] = f64::NAN;
    weights[[0, 2]] = -1.0;
    weights[[0, 3]] = 0.0;
    write_ptyd(&folder, &indices, &weights, None);
    let info = folder.run(&["ptycho", "info", "raw.ptyd", "--json"]);
    info.well();
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(
        info["bad_pixel_share"].as_f64().unwrap(),
        3.0 / 256.0,
        "{info}"
    );
    for wrong in [f64::NAN, 0.5, -1.0] {
        let mut indices = indices.clone();
        indices[3] = wrong;
        write_ptyd(&folder, &indices, &weights, None);
        let output = folder.run(&["ptycho", "info", "raw.ptyd"]);
        output.refused(1, &["/chunks/0/indices: expected whole numbers, 0 or more"]);
    }
    // The frames have their maximum in the middle, so the first pixel cannot be the centre.
    write_ptyd(&folder, &indices, &weights, Some("fft"));
    let info = ["ptycho", "info", "raw.ptyd"];
    let takes = "its centre is wrong, and --centre 8,8 is where the light is";
    (folder.run(&info)).refused(1, &["around the first pixel", takes]);
    let as_they_are = folder.run(&[&info[..], &["--centre", "8,8"]].concat());
    as_they_are.well();
    assert!(
        !as_they_are.out.contains("at their border"),
        "{as_they_are:?}"
    );
    // What the file says is a problem still, if the command says it.
    let shifted = folder.run(&[&info[..], &["--centre", "shifted"]].concat());
    shifted.well();
    let problem = "problem          --centre shifted (data.centre) moves the light of these frames";
    assert!(shifted.out.contains(problem), "{shifted:?}");
    write_ptyd(&folder, &indices, &weights, Some("fftshift"));
    let info = folder.run(&info);
    info.well();
    let border = "as bright at their border";
    assert!(!info.out.contains(border), "{info:?}");
    assert!(!info.out.contains("is \"fft\""), "{info:?}");
}
