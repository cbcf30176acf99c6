//! Results stand alone: R follows from the file by the formula in docs/formats.md; `ptycho
//! predict`.

use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use num_complex::Complex;
use serde_json::Value;
use std::f64::consts::TAU;
use std::path::Path;
use std::sync::PoisonError;

type C = Complex<f64>;

/// Reconstructs `scan.cxi` with projection engines; the last R of the history.
fn reconstruct(folder: &TestFolder, options: &[&str]) -> f64 {
    let engines = ["--engine", "dm:8", "--engine", "ap:2"];
    last_r(&summary(folder, &[&engines[..], options].concat()))
}

/// Reconstructs `scan.cxi`; the summary.
fn summary(folder: &TestFolder, options: &[&str]) -> Value {
    let files = ["-o", "out.h5", "--summary", "s.json"];
    let quiet = ["--no-pictures", "--quiet"];
    folder
        .reconstruct(&[&files[..], &quiet, options].concat())
        .well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn last_r(summary: &Value) -> f64 {
    let history = summary["history"].as_array().unwrap();
    history.last().unwrap()["r_factor"].as_f64().unwrap()
}

/// exp(−2πi (k − N/2)(n − N/2)/N)/√N, (k, n): the zero frequency is in the middle. The phases of
/// places do not change intensities.
fn transform(count: usize) -> Array2<C> {
    let place = |n: usize| n as f64 - (count / 2) as f64;
    Array2::from_shape_fn((count, count), |(k, n)| {
        C::from_polar(
            1.0 / (count as f64).sqrt(),
            -TAU * place(k) * place(n) / count as f64,
        )
    })
}

/// The matrix (to, from) that shifts `count` samples by `shift`: the mean of
/// exp(2πi k (to − from − shift)/N) over the frequencies k from −N/2 on.
fn shift_matrix(count: usize, shift: f64) -> Array2<C> {
    let half = (count / 2) as i64;
    Array2::from_shape_fn((count, count), |(to, from)| {
        let distance = to as f64 - from as f64 - shift;
        let wave = |k: i64| C::cis(TAU * k as f64 * distance / count as f64);
        (-half..count as i64 - half).map(wave).sum::<C>() / count as f64
    })
}

/// Model intensities from the datasets of a result, with plain arithmetic.
fn intensities(result: &Path) -> Array3<f64> {
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open(result).unwrap();
    let read = |path: &str| file.dataset(path).unwrap();
    let wide = |v: Complex<f32>| C::new(v.re.into(), v.im.into());
    let object = read("/entry_1/image_1/data")
        .read_2d::<Complex<f32>>()
        .unwrap()
        .mapv(wide);
    let probe: ndarray::ArrayD<C> = (read("/entry_1/instrument_1/source_1/illumination")
        .read_dyn::<Complex<f32>>()
        .unwrap())
    .mapv(wide);
    let probe: Array3<C> = probe.into_dimensionality().unwrap();
    let corners = read("/entry_1/image_1/corners").read_2d::<u32>().unwrap();
    let fractions = read("/entry_1/image_1/fractions").read_2d::<f64>().unwrap();
    let scales = read("/entry_1/image_1/frame_scales")
        .read_1d::<f64>()
        .unwrap();
    let (_, rows, columns) = probe.dim();
    let (down, across) = (transform(rows), transform(columns));
    let mut all = Array3::zeros((corners.nrows(), rows, columns));
    for (number, mut frame) in all.outer_iter_mut().enumerate() {
        let [top, left] = [0, 1].map(|axis| corners[[number, axis]] as usize);
        let shift_rows = shift_matrix(rows, fractions[[number, 0]]);
        let shift_columns = shift_matrix(columns, fractions[[number, 1]]);
        let window = object.slice(s![top..top + rows, left..left + columns]);
        for mode in probe.outer_iter() {
            let shifted = shift_rows.dot(&mode).dot(&shift_columns.t());
            let wave: Array2<C> = &shifted * &window;
            let far = down.dot(&wave).dot(&across.t());
            frame += &far.mapv(|f| scales[number] * f.norm_sqr());
        }
    }
    all
}

fn r_factor(model: ArrayView2<'_, f64>, measured: ArrayView2<'_, f64>) -> f64 {
    let deviation: f64 = (model.iter().zip(&measured))
        .map(|(a, b)| (a.sqrt() - b.sqrt()).powi(2))
        .sum();
    deviation / measured.sum()
}

fn flat(frames: &Array3<f64>) -> Array2<f64> {
    let (count, rows, columns) = frames.dim();
    frames.to_shape((count, rows * columns)).unwrap().to_owned()
}

fn frames(path: &Path) -> Array3<f64> {
    let read = warpstride::ptycho::io::scan::read(path, &Default::default()).unwrap();
    read.scan.frames().unwrap().mapv(f64::from)
}

#[test]
fn r_follows_from_the_result_alone() {
    let folder = TestFolder::new();
    folder.simulate(
        "scan.cxi",
        &["--frame", "31", "--positions", "17", "--probe-modes", "2"],
    );
    for options in [&[][..], &["--probe-modes", "3"]] {
        let expected = reconstruct(&folder, options);
        let model = flat(&intensities(&folder.path("out.h5")));
        let measured = flat(&frames(&folder.path("scan.cxi")));
        let found = r_factor(model.view(), measured.view());
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }
}

#[test]
fn r_follows_from_the_shifts_and_scales_of_refined_frames() {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "20"];
    folder.simulate(
        "scan.cxi",
        &[&size[..], &["--position-error", "0.7"]].concat(),
    );
    let engine = ["--engine", "lsqml:6", "--set", "positions.start=2"];
    let refine = ["--refine-positions", "gradient", "--fit-frame-scales"];
    let summary = summary(&folder, &[&engine[..], &refine].concat());
    let expected = last_r(&summary);
    let plain = intensities(&folder.path("out.h5"));
    let measured = flat(&frames(&folder.path("scan.cxi")));
    let found = r_factor(flat(&plain).view(), measured.view());
    assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");

    let positive = |path: &str| summary.pointer(path).unwrap().as_f64().unwrap() > 0.0;
    assert!(positive("/displacements/rms_pixels") && positive("/displacements/largest"));
    assert!(positive("/frame_scales/standard_deviation"));
    let result = warpstride::ptycho::io::results::read(&folder.path("out.h5")).unwrap();
    let scan = warpstride::ptycho::io::scan::read(&folder.path("scan.cxi"), &Default::default());
    assert_eq!(result.recorded_positions, *scan.unwrap().scan.positions());
    for (frame, position) in result.positions.rows().into_iter().enumerate() {
        for axis in 0..2 {
            let pixel = f64::from(result.corners[frame][axis]) + result.fractions[frame][axis];
            let expected = result.origin[axis] + pixel * result.pixel[axis];
            let difference = (position[axis] - expected) / result.pixel[axis];
            assert!(difference.abs() < 1e-6, "frame {frame}: {difference}");
        }
    }

    let predict = ["ptycho", "predict", "out.h5", "scan.cxi", "-o", "model.cxi"];
    folder.run(&predict).well();
    let model = frames(&folder.path("model.cxi"));
    let largest = plain.iter().copied().fold(0.0, f64::max);
    let difference = (&plain - &model).mapv(f64::abs);
    assert!(difference.iter().all(|d| *d < 1e-6 * largest));
}

#[test]
fn predict_writes_the_model_intensities() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "17"]);
    for options in [
        &[][..],
        &["--set", "physical_probe=true", "--precision", "f64"],
    ] {
        let expected = reconstruct(&folder, options);
        let output = folder.run(&["ptycho", "predict", "out.h5", "scan.cxi", "-o", "model.cxi"]);
        output.well();
        let r = output
            .out
            .lines()
            .find_map(|line| line.strip_prefix("R "))
            .unwrap();
        let r: f64 = r.trim().parse().unwrap();
        assert!((r / expected - 1.0).abs() < 1e-3, "{r} {expected}");
        let (model, measured) = (
            frames(&folder.path("model.cxi")),
            frames(&folder.path("scan.cxi")),
        );
        let found = r_factor(flat(&model).view(), flat(&measured).view());
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
        if options.is_empty() {
            let plain = intensities(&folder.path("out.h5"));
            let largest = plain.iter().copied().fold(0.0, f64::max);
            let difference = (&plain - &model).mapv(f64::abs).sum_axis(Axis(0));
            assert!(difference.iter().all(|d| *d < 1e-5 * largest));
        }
        assert_eq!(folder.run(&["ptycho", "info", "model.cxi"]).code, Some(0));
    }
    let quiet = folder.run(&[
        "ptycho",
        "predict",
        "out.h5",
        "scan.cxi",
        "-o",
        "model.cxi",
        "--quiet",
    ]);
    assert_eq!((quiet.code, quiet.out.as_str()), (Some(0), ""));
}

#[test]
fn predict_refuses_other_scans_and_its_inputs_as_output() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "12"]);
    folder.simulate("other.cxi", &["--frame", "32", "--positions", "13"]);
    reconstruct(&folder, &[]);
    let before = folder.names();
    let predict = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        folder.run(&[&["ptycho", "predict"], &words[..]].concat())
    };
    predict("out.h5 other.cxi -o m.cxi").refused(
        1,
        &[
            "out.h5: expected a result of a scan of [13, 32, 32]",
            "found one of [12, 32, 32]",
        ],
    );
    predict("scan.cxi scan.cxi -o m.cxi").refused(1, &["scan.cxi: expected"]);
    predict("out.h5 scan.cxi -o scan.cxi").refused(2, &["expected another name"]);
    predict("out.h5 scan.cxi -o m.png").refused(2, &["m.png", "expected a name that ends in"]);
    assert_eq!(folder.names(), before);
}
