//! Near fields: simulated scans are recognised and reconstructed, and what is for far fields only
//! is refused.

use super::support::{STARTING, TestFolder};
use ndarray::Array2;
use serde_json::Value;
use std::sync::PoisonError;
use warpstride::ptycho::data::{Propagation, Reconstruction, Scan};
use warpstride::ptycho::io::results;

const CONE: [&str; 3] = ["--near-field", "--focus-to-sample", "4mm"];
const QUIET: [&str; 2] = ["--no-pictures", "--quiet"];

/// A folder with `scan.cxi`, 20 frames of 31 × 31.
fn simulated(beam: &[&str]) -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "31", "--positions", "20", "--overlap", "0.8"];
    folder.simulate("scan.cxi", &[&size, beam].concat());
    folder
}

fn json(folder: &TestFolder, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.path(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn read(folder: &TestFolder, name: &str) -> Reconstruction {
    results::read(&folder.path(name)).unwrap()
}

fn run(folder: &TestFolder, output: &str, options: &[&str]) -> Reconstruction {
    folder
        .reconstruct(&[&["-o", output], &QUIET[..], options].concat())
        .well();
    read(folder, output)
}

fn scan(folder: &TestFolder, name: &str) -> Scan {
    let options = Default::default();
    warpstride::ptycho::io::scan::read(&folder.path(name), &options)
        .unwrap()
        .scan
}

/// R of frames compared with others.
fn deviation(model: &Scan, measured: &Scan) -> f64 {
    let [model, measured] = [model, measured].map(|scan| scan.frames().unwrap());
    let pairs = model.iter().zip(&measured);
    let sum: f64 = pairs
        .map(|(a, b)| f64::from(a.sqrt() - b.sqrt()).powi(2))
        .sum();
    sum / measured.iter().map(|v| f64::from(*v)).sum::<f64>()
}

#[test]
fn a_simulated_near_field_is_reconstructed_and_predicted() {
    for beam in [&["--near-field"][..], &CONE] {
        let folder = simulated(beam);
        let cone = beam.len() > 1;
        let info = folder.run(&["ptycho", "info", "scan.cxi"]);
        info.well();
        let kind = if cone {
            "cone beam with its focus 4.000 mm"
        } else {
            "parallel beam"
        };
        let words = [
            "near field",
            kind,
            "Fresnel number",
            "problems         none found",
        ];
        assert!(
            words.iter().all(|word| info.out.contains(word)),
            "{}",
            info.out
        );

        let engine = ["--engine", "lsqml:30", "--set", "lsqml.batch=5"];
        let options = [&engine[..], &["--summary", "s.json", "--report", "r.html"]].concat();
        let found = run(&folder, "out.h5", &options);
        let summary = json(&folder, "s.json");
        let r_factor = summary["r_factor"].as_f64().unwrap();
        assert!(r_factor < 1e-3, "{r_factor}");
        assert!(summary["relative_l2"].as_f64().unwrap() < 0.2, "{summary}");
        let magnification = summary["near_field"]["magnification"].as_f64().unwrap();
        assert_eq!(magnification > 2.0, cone);
        let report = std::fs::read_to_string(folder.path("r.html")).unwrap();
        assert!(report.contains(if cone {
            "near field, cone beam"
        } else {
            "near field, parallel"
        }));
        let focus_to_sample = cone.then_some(4e-3);
        assert_eq!(
            found.propagation,
            Propagation::NearField { focus_to_sample }
        );

        // The same as with the options, which the file has.
        let given = run(&folder, "given.h5", &[&engine[..], beam].concat());
        assert_eq!((&given.object, &given.probe), (&found.object, &found.probe));
        assert!(
            given.recipe.contains("near_field = true"),
            "{}",
            given.recipe
        );

        let [model, measured] = ["model.cxi", "scan.cxi"];
        let physical = [&engine[..], &["--set", "physical_probe=true"]].concat();
        let physical = run(&folder, "physical.h5", &physical);
        assert_eq!(physical.object, found.object);
        assert_eq!(physical.probe == found.probe, !cone);
        for result in ["out.h5", "physical.h5"] {
            let command = ["ptycho", "predict", result, measured, "-o", model];
            folder.run(&command).well();
            let [of_model, of_scan] = [model, measured].map(|name| scan(&folder, name));
            assert_eq!(of_model.geometry(), of_scan.geometry());
            let found = deviation(&of_model, &of_scan);
            // The last R of the history is that of the same object and probe.
            assert!((found / r_factor - 1.0).abs() < 0.01, "{found} {r_factor}");
            std::fs::remove_file(folder.path(model)).unwrap();
        }
    }
}

#[test]
fn what_is_for_far_fields_is_refused() {
    let folder = simulated(&CONE);
    for (options, words) in [
        (
            &["--focus-to-sample", "4mm"][..],
            &["--focus-to-sample 4mm: expected data.near_field = true (--near-field)"][..],
        ),
        (
            &["--near-field", "--focus-to-sample", "4 furlongs"],
            &["--focus-to-sample 4 furlongs: expected a length above 0"],
        ),
        (
            &["--near-field", "--focus-to-sample", "-4mm"],
            &["--focus-to-sample -4mm: expected a length above 0"],
        ),
        (
            &["--near-field", "--set", "data.coarse=2"],
            &["data.coarse=2: expected 1 with data.near_field"],
        ),
        (
            &["--near-field", "--coarse", "2,1"],
            &["--coarse 2,1: expected", "near_field"],
        ),
        (
            &["--set", "data.coarse=2"],
            &["data.coarse=2", "near-field scan"],
        ),
    ] {
        let options = [&["-o", "out.h5", "--engine", "lsqml:1"], options].concat();
        folder.reconstruct(&options).refused(2, words);
    }
    // Also if only the file says so.
    let centring = ["--set", "lsqml.probe_centre_tolerance=2"];
    let options = [&["-o", "out.h5", "--engine", "lsqml:1"][..], &centring].concat();
    let words = [
        "probe_centre_tolerance: expected none in the near field",
        "found 2",
    ];
    folder.reconstruct(&options).refused(1, &words);
    let near = [&options[..], &["--near-field"]].concat();
    folder
        .reconstruct(&near)
        .refused(2, &["probe_centre_tolerance", "data.near_field"]);

    let simulate = ["ptycho", "simulate", "no.cxi", "--focus-to-sample"];
    let short = [&simulate[..], &["1e-12", "--near-field"]].concat();
    folder
        .run(&short)
        .refused(2, &["--focus-to-sample 1e-12", "wavelength"]);
    let alone = [&simulate[..], &["4mm"]].concat();
    folder.run(&alone).refused(2, &["--near-field"]);
    let far = [&simulate[..], &["90km", "--near-field"]].concat();
    folder.run(&far).refused(2, &["--focus-to-sample 90km"]);
    let far = [&simulate[..], &["90000m", "--near-field"]].concat();
    folder
        .run(&far)
        .refused(2, &["--focus-to-sample 90000", "magnified"]);

    run(&folder, "near.h5", &["--engine", "rpie:2"]);
    folder.simulate("far.cxi", &["--frame", "31", "--positions", "20"]);
    let start = [
        "ptycho",
        "reconstruct",
        "far.cxi",
        "-o",
        "x.h5",
        "--start",
        "near.h5",
    ];
    folder.run(&start).refused(1, &["far-field", "near-field"]);
}

/// All eight orientations are tried, and none is a twin of another; without an illumination in the
/// file too.
#[test]
fn the_orientation_of_positions_is_found() {
    let folder = simulated(&CONE);
    let upright = scan(&folder, "scan.cxi");
    for (given, back) in [
        ("swap,flip-rows", "swap,flip-columns"),
        ("flip-rows,flip-columns", "flip-rows,flip-columns"),
    ] {
        let turned = folder.path("turned.cxi");
        let swap = given.starts_with("swap");
        let positions = upright.positions();
        let from = |axis: usize| if swap { 1 - axis } else { axis };
        let flips = [true, !swap];
        let turned_positions = Array2::from_shape_fn(positions.dim(), |(frame, axis)| {
            let value = positions[[frame, from(axis)]];
            if flips[axis] { -value } else { value }
        });
        let frames = upright.frames().unwrap().into_owned();
        for probe in [upright.probe().cloned(), None] {
            let geometry = *upright.geometry();
            let frames = frames.clone();
            let scan = Scan::new(frames, None, turned_positions.clone(), geometry, probe).unwrap();
            {
                let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
                warpstride::ptycho::io::scan::write(&turned, &scan).unwrap();
            }
            let command = ["ptycho", "reconstruct", "turned.cxi", "-o", "turned.h5"];
            let rest = [
                "--backend",
                "cpu",
                "--find-orientation",
                "--engine",
                "lsqml:1",
            ];
            let found = folder.run(&[&command[..], &rest, &["--no-pictures"]].concat());
            found.well();
            let sentence = format!("--transform-positions {back}: R_free is");
            assert!(found.out.contains(&sentence), "{}", found.out);
            assert!(!found.out.contains("twin:"), "{}", found.out);
            let result = read(&folder, "turned.h5");
            for (a, b) in result.recorded_positions.iter().zip(positions) {
                assert!((a - b).abs() < 1e-12, "{given}");
            }
        }
    }
}

/// Smaller frames have the same pixels; a run goes on with them.
#[test]
fn a_result_of_larger_frames_is_a_start() {
    let folder = simulated(&CONE);
    let first = run(
        &folder,
        "first.h5",
        &["--engine", "lsqml:20", "--set", "lsqml.batch=5"],
    );
    let crop = ["--engine", "lsqml:2", "--set", "data.crop=[28,26]"];
    let r_factor = |of: &Reconstruction| of.history[0].r_factor.unwrap();
    let without = run(&folder, "without.h5", &crop);
    let with = run(
        &folder,
        "with.h5",
        &[&crop[..], &["--start", "first.h5"]].concat(),
    );
    assert_eq!(with.pixel, first.pixel);
    assert_eq!(with.probe.dim(), (1, 28, 26));
    assert!(r_factor(&with) < 0.2 * r_factor(&without), "{with:?}");
}

/// Blocks of frames in host memory, and two devices, give the object of one device.
#[test]
fn blocks_and_devices_give_the_same_object() {
    let folder = simulated(&CONE);
    let engines = [
        "--engine",
        "dm:3",
        "--engine",
        "lsqml:2",
        "--set",
        "lsqml.batch=4",
    ];
    let on = |options: &[&str]| {
        let options = [&QUIET[..], &engines, options].concat();
        folder.reconstruct_on("emulator", &options).well();
        read(&folder, "out.h5")
    };
    let one = on(&[]);
    let blocks = on(&["--device-memory", "900K"]);
    assert_eq!((&blocks.object, &blocks.probe), (&one.object, &one.probe));
    let two = on(&["--devices", "0,1"]);
    let distance: f64 = (two.object.iter().zip(&one.object))
        .map(|(a, b)| (a - b).norm_sqr())
        .sum();
    let norm: f64 = one.object.iter().map(|v| v.norm_sqr()).sum();
    assert!((distance / norm).sqrt() < 1e-3, "{distance} {norm}");
}

/// The published scan of a Siemens star in a cone beam: R falls with the positions as they are, and
/// not with one axis inverted.
#[test]
fn a_measured_cone_beam_fits_with_the_sign_of_its_positions() {
    let scan = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/ptycho/p25-near-field.cxi"
    );
    if !std::path::Path::new(scan).exists() {
        super::support::skipped("a measured cone beam", "the file is not there");
        return;
    }
    let folder = TestFolder::new();
    let r_factor = |options: &[&str]| {
        let fixed = [
            "ptycho",
            "reconstruct",
            scan,
            "-o",
            "out.h5",
            "--backend",
            "cpu",
        ];
        let near = [
            "--near-field",
            "--focus-to-sample",
            "3.65mm",
            "--engine",
            "rpie:4",
        ];
        let fixed = [&fixed[..], &near, &QUIET, &["--summary", "s.json"], options].concat();
        folder.run(&fixed).well();
        json(&folder, "s.json")["r_factor"].as_f64().unwrap()
    };
    let part = ["--set", "data.frames=[0,60]"];
    let right = r_factor(&part);
    let wrong = r_factor(
        &[
            &part[..],
            &["--transform-positions", "flip-rows,flip-columns"],
        ]
        .concat(),
    );
    assert!(right < 0.7 * wrong, "{right} {wrong}");
}

/// Options replace what the file says of the field and of the beam.
#[test]
fn options_replace_the_field_of_the_file() {
    let folder = simulated(&CONE);
    let engine = ["--engine", "lsqml:1"];
    let far = run(
        &folder,
        "far.h5",
        &[&engine[..], &["--set", "data.near_field=false"]].concat(),
    );
    assert_eq!(far.propagation, Propagation::FarField);
    // Of a parallel beam the object pixel is the detector's, for which the positions are too near
    // to each other.
    let beam = ["--near-field", "--focus-to-sample", "inf"];
    let scan = ["ptycho", "reconstruct", "scan.cxi", "-o", "parallel.h5"];
    let parallel = folder.run(&[&scan[..], &engine, &beam].concat());
    parallel.refused(
        2,
        &[
            "--focus-to-sample inf: scan.cxi: ",
            "effective pixel of 75.00 µm",
        ],
    );
}
