//! `ptycho import`: a scan of another layout as CXI gives the same reconstruction.

use super::support::{STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3};
use num_complex::Complex;
use std::sync::PoisonError;

/// Writes the scan as HDF5 with names of its own: frames upside down to the reader, positions in µm
/// in two datasets.
fn flat(folder: &TestFolder) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let from = hdf5::File::open(folder.path("scan.cxi")).unwrap();
    let detector = from.group("/entry_1/instrument_1/detector_1").unwrap();
    let frames: Array3<u32> = detector.dataset("data").unwrap().read().unwrap();
    let number = |path: &str| from.dataset(path).unwrap().read_scalar::<f64>().unwrap();
    let translation: Array2<f64> = (from.dataset("/entry_1/sample_1/geometry_1/translation"))
        .and_then(|of| of.read())
        .unwrap();
    let file = hdf5::File::create(folder.path("raw.h5")).unwrap();
    let put = |name: &str, values: Array1<f64>| {
        file.new_dataset_builder()
            .with_data(&values)
            .create(name)
            .unwrap();
    };
    file.new_dataset_builder()
        .with_data(&frames)
        .create("images")
        .unwrap();
    put("x_um", translation.column(0).mapv(|v| v * 1e6));
    put("y_um", translation.column(1).mapv(|v| v * 1e6));
    let beam = "/entry_1/instrument_1/source_1/wavelength";
    put("wavelength_nm", Array1::from_elem(1, number(beam) * 1e9));
    let detector = "/entry_1/instrument_1/detector_1";
    put(
        "distance_mm",
        Array1::from_elem(1, number(&format!("{detector}/distance")) * 1e3),
    );
    put(
        "pixel_size",
        Array1::from_elem(1, number(&format!("{detector}/x_pixel_size"))),
    );
}

#[test]
fn an_imported_scan_gives_the_same_reconstruction() {
    let folder = TestFolder::with_scan();
    flat(&folder);
    let info = folder.run(&["ptycho", "info", "raw.h5", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(info["complete"], true, "{info}");
    let recipe = info["recipe"].as_str().unwrap();
    assert!(recipe.lines().count() <= 10, "{recipe}");
    std::fs::write(folder.path("r.toml"), recipe).unwrap();
    // Inputs stay, and so does the layout.
    let import = ["ptycho", "import", "raw.h5", "--recipe", "r.toml", "-o"];
    let to = |name: &'static str| folder.run(&[&import[..], &[name]].concat());
    to("raw.h5").refused(2, &["-o raw.h5", "expected another name than the input"]);
    to("out.npy").refused(2, &["-o out.npy"]);
    folder
        .run(&["ptycho", "import", "raw.h5", "-o", "out.cxi"])
        .refused(1, &["raw.h5", "ptycho info"]);
    let imported = to("out.cxi");
    imported.well();
    for words in [
        "note: units that the names of datasets state: ",
        "/x_um in um",
        "written",
    ] {
        assert!(imported.out.contains(words), "{words}: {}", imported.out);
    }
    let object = |scan: &str, options: &[&str], out: &str| -> Array2<Complex<f32>> {
        let run = [
            "ptycho",
            "reconstruct",
            scan,
            "-o",
            out,
            "--engine",
            "rpie:2",
            "--backend",
            "cpu",
            "--quiet",
        ];
        folder.run(&[&run[..], options].concat()).well();
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open(folder.path(out)).unwrap();
        file.dataset("/entry_1/image_1/data")
            .unwrap()
            .read()
            .unwrap()
    };
    // A part of a scan is one of its own then.
    let frames = |name: &str| {
        let info = folder.run(&["ptycho", "info", name, "--json"]);
        let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
        info["frames"].as_u64().unwrap()
    };
    let whole = frames("out.cxi");
    for (selection, expected) in [
        (["--every", "2"], whole.div_ceil(2)),
        (["--exclude", "0,3"], whole - 2),
        (["--set", "data.half=2"], whole / 2),
    ] {
        let import = ["ptycho", "import", "out.cxi", "-o", "part.cxi"];
        folder.run(&[&import[..], &selection].concat()).well();
        assert_eq!(frames("part.cxi"), expected, "{selection:?}");
    }
    let of_raw = object("raw.h5", &["--recipe", "r.toml"], "a.h5");
    let of_imported = object("out.cxi", &[], "b.h5");
    assert_eq!(of_raw, of_imported);
    // The written file says from what and how it was made, and so do a result of it and a file that
    // is made of it.
    let printed = folder.run(&["ptycho", "info", "out.cxi"]);
    for words in [
        "made by",
        "from raw.h5 (",
        "r.toml",
        "its note",
        "/x_um in um",
    ] {
        assert!(printed.out.contains(words), "{words}: {}", printed.out);
    }
    folder
        .run(&[
            "ptycho",
            "import",
            "out.cxi",
            "-o",
            "again.cxi",
            "--bin",
            "2",
            "--quiet",
        ])
        .well();
    let info = folder.run(&["ptycho", "info", "again.cxi", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    let made = info["processes"].as_array().unwrap();
    let names: Vec<&str> = made
        .iter()
        .map(|of| of["sources"][0]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["raw.h5", "out.cxi"]);
    let recipe = made[1]["recipe"].as_str().unwrap();
    assert!(
        recipe.contains("[data]") && recipe.contains("bin = 2"),
        "{recipe}"
    );
    assert_eq!(made[1]["scan_sha256"].as_str().unwrap().len(), 64);
    let notes = made[1]["notes"].to_string();
    assert!(notes.contains("bin"), "{notes}");
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let result = hdf5::File::open(folder.path("b.h5")).unwrap();
    let first = result.group("/entry_1/process_1").unwrap();
    let own = result.group("/entry_1/image_1/process_1").unwrap();
    let number = |group: &hdf5::Group| -> u64 {
        let index = group.dataset("sequence_index").unwrap();
        index.read_scalar().unwrap()
    };
    assert_eq!([number(&first), number(&own)], [1, 2]);
    for group in [first, own] {
        let class = group.attr("NX_class").unwrap();
        let class: hdf5::types::VarLenUnicode = class.read_scalar().unwrap();
        assert_eq!(class.as_str(), "NXprocess");
        assert!(group.dataset("notes/data").is_ok() && group.dataset("sources/data").is_ok());
    }
}

/// Frames in two files, which a shell's pattern names, give the scan of one file.
#[test]
fn frames_of_several_files_are_one_scan() {
    let folder = TestFolder::with_scan();
    flat(&folder);
    let held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let whole = hdf5::File::open(folder.path("raw.h5")).unwrap();
    let frames: Array3<u32> = whole.dataset("images").unwrap().read().unwrap();
    let column = |name: &str| whole.dataset(name).unwrap().read_1d::<f64>().unwrap();
    let (x, y) = (column("x_um"), column("y_um"));
    let [wavelength, distance, pixel] =
        ["wavelength_nm", "distance_mm", "pixel_size"].map(|name| column(name)[0]);
    let border = frames.dim().0 / 3;
    for (name, part) in [("f_1.h5", 0..border), ("f_2.h5", border..frames.dim().0)] {
        let file = hdf5::File::create(folder.path(name)).unwrap();
        let part = frames.slice(ndarray::s![part, .., ..]);
        let part = part.as_standard_layout().into_owned();
        let builder = file.new_dataset_builder();
        builder.with_data(&part).create("entry/data").unwrap();
    }
    drop(whole);
    drop(held);
    let rows = x.iter().zip(&y).map(|(x, y)| format!("{x},{y}\n"));
    let table = format!("x_um,y_um\n{}", rows.collect::<String>());
    std::fs::write(folder.path("p.csv"), table).unwrap();
    let [wavelength, distance, pixel] = [
        format!("{wavelength}nm"),
        format!("{distance}mm"),
        format!("{pixel}m"),
    ];
    let geometry = [
        "--positions",
        "p.csv",
        "--wavelength",
        &wavelength,
        "--distance",
        &distance,
        "--pixel-size",
        &pixel,
    ];
    let run = |before: &[&str], after: &[&str]| {
        folder.run(&[&["ptycho"][..], before, &geometry[..], after].concat())
    };
    let info = run(&["info", "f_1.h5", "f_2.h5", "--json"], &[]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(info["frames"], frames.dim().0, "{info}");
    let imported = run(&["import", "f_1.h5", "f_2.h5", "-o", "s.cxi"], &[]);
    imported.well();
    assert!(
        imported
            .out
            .contains("of 2 files, one after the other: f_1.h5 ("),
        "{}",
        imported.out
    );
    let read = |name: &str| {
        warpstride::ptycho::io::scan::read(&folder.path(name), &Default::default())
            .unwrap()
            .scan
    };
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(
        read("s.cxi").frames().unwrap(),
        read("scan.cxi").frames().unwrap()
    );
    drop(_held);
    let rest = [
        "--engine",
        "rpie:1",
        "--backend",
        "cpu",
        "--quiet",
        "-o",
        "r.h5",
    ];
    run(&["reconstruct", "f_1.h5", "f_2.h5"], &rest).well();
    let recipe = warpstride::ptycho::io::results::read(&folder.path("r.h5"))
        .unwrap()
        .recipe;
    assert!(recipe.contains("files = [\"f_2.h5\"]"), "{recipe}");
    // The input is no output, and the file that is missing or different is named.
    run(&["import", "f_1.h5", "f_2.h5", "-o", "f_2.h5"], &[]).refused(2, &["f_2.h5"]);
    run(&["info", "f_1.h5", "f_3.h5"], &[]).refused(1, &["f_3.h5"]);
    run(&["info", "f_2.h5", "f_2.h5"], &[]).refused(2, &["f_2.h5", "twice"]);
}

/// A master of a DECTRIS detector, which has no positions, is described as far as it goes.
#[test]
fn info_describes_frames_without_positions() {
    let folder = TestFolder::new();
    let master = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../files/tests/data/linked/master.h5");
    let output = folder.run(&["ptycho", "info", master.to_str().unwrap()]);
    output.well();
    for text in [
        "8 of 6 x 8 pixels",
        "keV)",
        "no positions",
        "row 2.75, column 4.25",
        "missing          positions (--positions FILE, or --raster and --step)",
        "-o result.h5 --raster 2x4 --step",
    ] {
        assert!(output.out.contains(text), "{text}: {output:?}");
    }
}

/// What the reader did to a scan, such as masking an empty frame, is in the written file and makes
/// it no other scan.
#[test]
fn scans_that_the_reader_changed_are_imported() {
    let folder = TestFolder::new();
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for name in ["bright-empty.cxi", "probe64.cxi"] {
        let path = data.join("trials/ptycho").join(name);
        if !path.exists() {
            skipped(name, "../shared/data/trials is not there");
            continue;
        }
        let path = path.display().to_string();
        let out = folder.run(&["ptycho", "import", &path, "-o", name]);
        out.well();
        assert!(out.out.contains("written"), "{name}: {out:?}");
        folder.run(&["ptycho", "info", name]).well();
    }
}
