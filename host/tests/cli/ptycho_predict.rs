//! Results stand alone: R follows from the file by the formula in docs/formats.md; `ptycho predict`.

use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use num_complex::Complex;
use std::f64::consts::TAU;
use std::path::Path;
use std::sync::PoisonError;

type C = Complex<f64>;

/// Reconstructs `scan.cxi`; the last R of the history.
fn reconstruct(folder: &TestFolder, options: &[&str]) -> f64 {
    let fixed = ["-o", "out.h5", "--engine", "dm:8", "--engine", "ap:2"];
    let files = ["--summary", "s.json", "--no-pictures", "--quiet"];
    folder
        .reconstruct(&[&fixed[..], &files, options].concat())
        .well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let history = summary["history"].as_array().unwrap();
    history.last().unwrap()["r_factor"].as_f64().unwrap()
}

/// exp(−2πi (k − N/2)(n − N/2)/N)/√N, (k, n): the zero frequency is in the middle. The phases of places do not
/// change intensities.
fn transform(count: usize) -> Array2<C> {
    let place = |n: usize| n as f64 - (count / 2) as f64;
    Array2::from_shape_fn((count, count), |(k, n)| {
        C::from_polar(
            1.0 / (count as f64).sqrt(),
            -TAU * place(k) * place(n) / count as f64,
        )
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
    let (_, rows, columns) = probe.dim();
    let (down, across) = (transform(rows), transform(columns));
    let mut all = Array3::zeros((corners.nrows(), rows, columns));
    for (corner, mut frame) in corners.rows().into_iter().zip(all.outer_iter_mut()) {
        let [top, left] = [corner[0] as usize, corner[1] as usize];
        let window = object.slice(s![top..top + rows, left..left + columns]);
        for mode in probe.outer_iter() {
            let wave: Array2<C> = &mode * &window;
            let far = down.dot(&wave).dot(&across.t());
            frame += &far.mapv(|f| f.norm_sqr());
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
    read.scan.frames().mapv(f64::from)
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
