//! `ptycho import`: a scan of another layout as CXI gives the same reconstruction.

use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Array3};
use num_complex::Complex;
use std::sync::PoisonError;

/// Writes the scan as HDF5 with names of its own: frames upside down to the reader, positions in µm in two datasets.
fn flat(folder: &TestFolder) {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let from = hdf5::File::open(folder.path("scan.cxi")).unwrap();
    let detector = from.group("/entry_1/instrument_1/detector_1").unwrap();
    let frames: Array3<u16> = detector.dataset("data").unwrap().read().unwrap();
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
    let of_raw = object("raw.h5", &["--recipe", "r.toml"], "a.h5");
    let of_imported = object("out.cxi", &[], "b.h5");
    assert_eq!(of_raw, of_imported);
}

/// A master of a DECTRIS detector, which has no positions, is described as far as it goes.
#[test]
fn info_describes_frames_without_positions() {
    let folder = TestFolder::new();
    let master =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/linked/master.h5");
    let output = folder.run(&["ptycho", "info", master.to_str().unwrap()]);
    assert_eq!(output.code, Some(1), "{output:?}");
    for text in [
        "8 of 6 x 8 pixels",
        "keV)",
        "no positions",
        "row 2.75, column 4.25",
        "--positions FILE names a table",
    ] {
        assert!(output.out.contains(text), "{text}: {output:?}");
    }
    assert!(
        output.err.contains("expected positions") && output.err.lines().count() == 1,
        "{output:?}"
    );
}
