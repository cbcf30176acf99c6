//! Runs with a given start object, and start probes from the optics.

use super::support::TestFolder;
use ndarray::Array2;
use num_complex::Complex;
use serde_json::Value;
use warpstride::io::npy;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

fn read(folder: &TestFolder, name: &str) -> Reconstruction {
    results::read(&folder.path(name)).unwrap()
}

/// Bits of object and probe.
fn bits(of: &Reconstruction) -> Vec<[u64; 2]> {
    let values = of.object.iter().chain(&of.probe);
    values.map(|v| [v.re.to_bits(), v.im.to_bits()]).collect()
}

fn first_r(of: &Reconstruction) -> f64 {
    of.history[0].r_factor.unwrap()
}

/// Reconstructs to a file without pictures, with all metrics.
fn run(folder: &TestFolder, output: &str, options: &[&str]) -> Reconstruction {
    let fixed = ["-o", output, "--no-pictures", "--quiet"];
    let all = ["--metrics-every", "1"];
    folder
        .reconstruct(&[&fixed[..], &all, options].concat())
        .well();
    read(folder, output)
}

fn write(folder: &TestFolder, name: &str, values: &Array2<Complex<f64>>) {
    let view = values.view().into_dyn();
    npy::complex::write(&folder.path(name), view, true).unwrap();
}

/// An object from a `.npy` array, a result, and a dataset of it start the same run, which begins
/// better than without.
#[test]
fn a_given_object_is_the_start() {
    let folder = TestFolder::new();
    let sizes = ["--frame", "48", "--positions", "60", "--overlap", "0.8"];
    folder.simulate("scan.cxi", &sizes);
    let probe = ["--set", "probe.source=file"];
    let first = run(
        &folder,
        "first.h5",
        &["--engine", "dm:40", "--engine", "ap:5"],
    );
    write(&folder, "object.npy", &first.object);
    for engine in ["ap:1", "lsqml:1", "ml:1"] {
        let start = |object: &str| {
            let options = ["--engine", engine, "--start-object", object];
            run(&folder, "out.h5", &[&options[..], &probe].concat())
        };
        let without = run(
            &folder,
            "out.h5",
            &[&["--engine", engine], &probe[..]].concat(),
        );
        let with = start("object.npy");
        assert!(
            first_r(&with) < 0.6 * first_r(&without),
            "{engine}: {} {}",
            first_r(&with),
            first_r(&without)
        );
        for other in ["first.h5", "first.h5:/entry_1/data_1/data"] {
            assert!(bits(&start(other)) == bits(&with), "{engine} {other}");
        }
    }
    let on_device = [
        "--engine",
        "dm:1",
        "--start-object",
        "object.npy",
        "--quiet",
    ];
    let fixed = ["--no-pictures", "--metrics-every", "1"];
    let options = [&on_device[..], &probe, &fixed].concat();
    folder.reconstruct_on("emulator", &options).well();
    let found = first_r(&read(&folder, "out.h5"));
    let expected = run(&folder, "cpu.h5", &[&on_device[..4], &probe].concat());
    assert!(
        (found / first_r(&expected) - 1.0).abs() < 0.02,
        "{found} {expected:?}"
    );
    // Every second pixel, with its size, is interpolated.
    let coarse = Array2::from_shape_fn(
        (
            first.object.nrows().div_ceil(2),
            first.object.ncols().div_ceil(2),
        ),
        |(r, c)| first.object[[2 * r, 2 * c]],
    );
    write(&folder, "coarse.npy", &coarse);
    let pixel = format!(
        "start.object_pixel=[{:e}, {:e}]",
        2.0 * first.pixel[0],
        2.0 * first.pixel[1]
    );
    let options = [
        "-o",
        "out.h5",
        "--engine",
        "ap:1",
        "--start-object",
        "coarse.npy",
        "--set",
        &pixel,
    ];
    let out = folder.reconstruct(&options);
    out.well();
    assert!(
        out.out.contains("note: start: the given object of"),
        "{}",
        out.out
    );
    assert!(out.out.contains("interpolated to"), "{}", out.out);
    // The recipe's pixel takes the place of that in the file.
    let options = [
        "-o",
        "out.h5",
        "--engine",
        "ap:1",
        "--start-object",
        "first.h5",
    ];
    let own = folder.reconstruct(&options);
    own.well();
    assert!(own.out.contains("as it is"), "{}", own.out);
    let pixel = format!("start.object_pixel=[{0:e}, {0:e}]", 1.5 * first.pixel[0]);
    let other = folder.reconstruct(&[&options[..], &["--set", &pixel]].concat());
    other.well();
    let size = warpstride::text::length(1.5 * first.pixel[0], 4);
    let expected = format!("of {size} x {size}, interpolated to");
    assert!(other.out.contains(&expected), "{}", other.out);
}

/// Only the first, coarsest reconstruction starts with the object, however it is set; a model of
/// the probe that fits the whole frames does not have to fit the cropped ones.
#[test]
fn coarse_reconstructions_start_with_an_object_and_a_model() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "64", "--positions", "30"]);
    let first = run(&folder, "first.h5", &["--engine", "dm:2"]);
    write(&folder, "object.npy", &first.object);
    let pixel = first.pixel;
    let table = format!(
        "start={{object=\"object.npy\", object_pixel=[{:e}, {:e}]}}",
        pixel[0], pixel[1]
    );
    let options = [
        "--engine",
        "dm:2",
        "--coarse",
        "2,1",
        "--set",
        &table,
        "--set",
        "probe.source=zone-plate",
        "--set",
        "probe.diameter=50e-6",
        "--set",
        "probe.outermost_zone=47.6e-9",
    ];
    let fine = run(&folder, "out.h5", &options);
    assert!(fine.recipe.contains("out-coarse2.h5") && !fine.recipe.contains("object.npy"));
    let coarse = read(&folder, "out-coarse2.h5");
    assert!(coarse.recipe.contains("object.npy"), "{}", coarse.recipe);
    assert_eq!(coarse.probe.dim(), (1, 32, 32));
}

#[cfg(unix)]
#[test]
fn a_run_that_was_stopped_does_not_need_its_object() {
    let folder = TestFolder::with_scan();
    let first = run(&folder, "first.h5", &["--engine", "dm:5"]);
    write(&folder, "object.npy", &first.object);
    let options = ["--engine", "dm:300", "--start-object", "object.npy"];
    let whole = run(&folder, "whole.h5", &options);
    let mut command = folder.command();
    command
        .args([
            "ptycho",
            "reconstruct",
            "scan.cxi",
            "-o",
            "out.h5",
            "--backend",
            "cpu",
        ])
        .args(options)
        .args(["--json-progress", "--metrics-every", "1"]);
    let stopped = folder.interrupt_at(&mut command, "\"iteration\":110,");
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    std::fs::remove_file(folder.path("object.npy")).unwrap();
    let resume = ["-o", "out.h5", "--resume", "out.checkpoint", "--quiet"];
    folder.reconstruct(&resume).well();
    assert!(bits(&read(&folder, "out.h5")) == bits(&whole));
}

#[test]
fn objects_that_do_not_fit_are_refused() {
    let folder = TestFolder::with_scan();
    write(
        &folder,
        "small.npy",
        &Array2::from_elem((5, 6), Complex::from(1.0)),
    );
    npy::write(&folder.path("real.npy"), Array2::<f64>::ones((5, 6)).view()).unwrap();
    let refused = |options: &[&str], code: i32, words: &[&str]| {
        // With engines, so that there are no trials before the object is read.
        let fixed = ["-o", "out.h5", "--quiet", "--engine", "dm:1"];
        let output = folder.reconstruct(&[&fixed[..], options].concat());
        output.refused(code, words);
    };
    let shape = [
        "small.npy: start.object: expected",
        "found 5 x 6; with its pixel size",
    ];
    refused(&["--start-object", "small.npy"], 1, &shape);
    // `ptycho info` prints the expected shape.
    let info = folder.run(&["ptycho", "info", "scan.cxi", "--json"]);
    let info: Value = serde_json::from_str(&info.out).unwrap();
    let side = |axis: usize| info["object_shape"][axis].to_string();
    let expected = format!("expected {} x {} pixels", side(0), side(1));
    refused(&["--start-object", "small.npy"], 1, &[&expected]);
    refused(
        &["--start-object", "real.npy"],
        1,
        &["real.npy: the array: expected complex"],
    );
    refused(
        &["--start-object", "none.npy"],
        1,
        &["none.npy: cannot be read"],
    );
    refused(
        &["--start-object", "scan.cxi"],
        1,
        &["a complex image at /entry_1/image_1/data"],
    );
    refused(
        &["--start-object", "small.npy", "--find-orientation"],
        2,
        &[
            "--find-orientation: expected a run without",
            "start.object = small.npy",
        ],
    );
    refused(
        &["--start-object", "small.npy", "--start", "a.h5"],
        2,
        &["--start"],
    );
    refused(
        &["--start-object", ""],
        2,
        &["--start-object : expected the name of a file"],
    );
    let halves = ["ptycho", "resolution", "scan.cxi", "-o", "out.h5"];
    let object = ["--set", "start.object=small.npy"];
    folder
        .run(&[&halves[..], &object].concat())
        .refused(2, &["start.object: expected none", "small.npy"]);
}

/// Models of the probe start a run; the report and the summary have the focus. The simulated
/// specimen is upstream of the focus by 0.36/0.42 · n Δ²/λ, where a beam of 0.42 of the detector is
/// 0.36 of the window wide.
#[test]
fn probes_from_the_optics_start_a_run_and_the_focus_is_reported() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "64", "--positions", "30"]);
    let distance = -0.36 / 0.42 * 64.0 * 20e-9_f64.powi(2) / 1.239_841_984e-10;
    let defocus = format!("probe.defocus={distance:e}");
    // Zones of 20 nm/0.42.
    let zone_plate = [
        "probe.source=zone-plate",
        "probe.diameter=50e-6",
        "probe.outermost_zone=47.6e-9",
        &defocus,
    ];
    let gaussian = [
        "probe.source=gaussian",
        "probe.waist_radius=50e-9",
        &defocus,
    ];
    let rectangle = [
        "probe.source=aperture",
        "probe.aperture=0.42",
        "probe.shape=rectangle",
        &defocus,
    ];
    for model in [&zone_plate[..], &gaussian, &rectangle] {
        let set = model.iter().flat_map(|option| ["--set", option]);
        let fixed = [
            "-o",
            "out.h5",
            "--engine",
            "dm:30",
            "--summary",
            "s.json",
            "--report",
            "r.html",
        ];
        let options: Vec<&str> = fixed.into_iter().chain(set).collect();
        let output = folder.reconstruct(&options);
        output.well();
        let label = model[0].trim_start_matches("probe.source=");
        assert!(
            output.out.contains("note: start probe: a"),
            "{label}: {}",
            output.out
        );
        assert!(
            output.out.contains("upstream of it;"),
            "{label}: {}",
            output.out
        );
        let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let found = summary["probe_focus"]["distance"].as_f64().unwrap();
        assert!(
            (found / distance - 1.0).abs() < 0.15,
            "{label}: {found} {distance}"
        );
        let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
        for text in [
            "<h3>Focus</h3>",
            "Specimen, from the focus",
            "Size along the beam",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
    let refused = ["-o", "out.h5", "--set", "probe.source=gaussian"];
    folder
        .reconstruct(&refused)
        .refused(2, &["probe.waist_radius: expected the 1/e^2 radius"]);
    let small = [&refused[..], &["--set", "probe.waist_radius=1e-9"]].concat();
    let words = ["--set probe.waist_radius=1e-9: scan.cxi: expected at least the object pixel"];
    folder.reconstruct(&small).refused(2, &words);
}
