use super::*;
use crate::EngineSpec;
use crate::data::{Geometry, Propagation};
use ndarray::{Array2, Array3};
use std::f64::consts::PI;

/// A scan of nine frames of so many rows and columns in one window of 320 nm × 400 nm.
pub(super) fn scan(rows: usize, columns: usize) -> Scan {
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 1.0,
        // λz/p is the window.
        pixel_size: [1e-10 / 320e-9, 1e-10 / 400e-9],
        propagation: Propagation::FarField,
    };
    let positions = Array2::from_shape_fn((9, 2), |(frame, axis)| {
        [frame / 3, frame % 3][axis] as f64 * 60e-9
    });
    let counts = Array3::from_elem((9, rows, columns), 10.0);
    Scan::new(counts, None, positions, geometry, None).unwrap()
}

pub(super) fn recipe(bound: f64) -> Recipe {
    let mut recipe = Recipe {
        engines: vec![EngineSpec::parse("lsqml:2").unwrap()],
        ..Recipe::default()
    };
    recipe.probe.source = ProbeSource::MeanPattern;
    recipe.start.result = Some("earlier.h5".to_owned());
    recipe.positions.bound = bound;
    recipe
}

pub(super) fn problem(scan: &Scan, recipe: &Recipe) -> Problem {
    Problem::prepare(scan, recipe).unwrap()
}

/// The specimen at a place, m: no detail below 80 nm.
fn specimen(y: f64, x: f64) -> Complex<f64> {
    let wave = |length: f64, at: f64| (2.0 * PI * at / length).sin();
    Complex::from_polar(
        0.8 + 0.1 * wave(90e-9, y),
        0.4 * wave(120e-9, x) * wave(150e-9, y),
    )
}

/// A probe with a narrow far field at a place from the middle of its window, m.
fn illumination(y: f64, x: f64) -> Complex<f64> {
    let far = |y: f64, x: f64| Complex::cis(2.0 * PI * (y / 320e-9 - 2.0 * x / 400e-9));
    Complex::from(3.0) + far(y, x) + far(-2.0 * y, x) * 0.5
}

/// The result of a scan of frames of so many rows and columns.
pub(super) fn result(rows: usize, columns: usize) -> Reconstruction {
    let scan = scan(rows, columns);
    let problem = problem(&scan, &recipe(3.0));
    let place = |i: usize, axis: usize, sizes: [usize; 2]| {
        problem.positions.origin[axis] + (i as f64 - (sizes[axis] / 2) as f64) * problem.pixel[axis]
    };
    let sizes = [rows, columns];
    let object = Array2::from_shape_fn(problem.object.dim(), |(r, c)| {
        specimen(place(r, 0, sizes), place(c, 1, sizes))
    });
    let scale = 1.0 / ((rows * columns) as f64).sqrt();
    let probe = Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
        let from_middle =
            |i: usize, axis: usize| (i as f64 - (sizes[axis] / 2) as f64) * problem.pixel[axis];
        illumination(from_middle(r, 0), from_middle(c, 1)) * scale * 30.0
    });
    Reconstruction {
        fluence: Array2::ones(object.dim()),
        object,
        probe,
        mode_power: vec![1.0],
        pixel: problem.pixel,
        positions: scan.positions().clone(),
        recorded_positions: scan.positions().clone(),
        corners: problem.positions.corners.clone(),
        fractions: problem.positions.fractions.clone(),
        frame_scales: vec![1.0; 9],
        origin: problem.positions.origin,
        history: Vec::new(),
        recipe: String::new(),
        backend: "cpu".to_owned(),
        device: String::new(),
        plan: String::new(),
        trials: String::new(),
        version: String::new(),
        source: String::new(),
        wavelength: 1e-10,
        voltage: None,
        distance: 1.0,
        propagation: Propagation::FarField,
        double_precision: true,
        parts: crate::data::ModelParts::default(),
    }
}

fn started(result: &Reconstruction, rows: usize, columns: usize) -> Problem {
    let (scan, mut recipe) = (scan(rows, columns), recipe(3.0));
    let mut problem = problem(&scan, &recipe);
    recipe.probe.source = ProbeSource::Auto;
    assert_eq!(problem.start_from(result, &scan, &recipe).unwrap(), None);
    problem
}

#[test]
fn a_result_of_the_same_scan_is_taken_as_it_is() {
    let earlier = result(32, 40);
    let problem = started(&earlier, 32, 40);
    assert_eq!(problem.object, earlier.object);
    assert_eq!(problem.probe, earlier.probe);
}

#[test]
fn on_another_grid_object_and_probe_are_at_the_same_places() {
    for [from, to] in [
        [[32, 40], [64, 80]],
        [[32, 40], [48, 40]],
        [[64, 80], [32, 40]],
        [[32, 40], [33, 41]],
        [[33, 41], [64, 50]],
    ] {
        let (earlier, expected) = (result(from[0], from[1]), result(to[0], to[1]));
        let found = started(&earlier, to[0], to[1]);
        let (rows, columns) = found.object.dim();
        let mut most: f64 = 0.0;
        for ((r, c), value) in found.object.indexed_iter() {
            // At the border the kernel has values on one side only, and finer grids have pixels
            // beyond.
            if (8..rows - 8).contains(&r) && (8..columns - 8).contains(&c) {
                most = most.max((value - expected.object[[r, c]]).norm());
            }
        }
        assert!(most < 0.02, "{from:?} {to:?}: {most}");
        let probe = (found.probe.iter().zip(&expected.probe))
            .map(|(a, b)| (a - b).norm())
            .fold(0.0, f64::max);
        assert!(probe < 1e-9, "{from:?} {to:?}: {probe}");
    }
}

#[test]
fn positions_and_scales_of_the_same_frames_are_taken_within_the_bound() {
    let mut earlier = result(32, 40);
    earlier.positions[[4, 1]] += 2.5 * earlier.pixel[1];
    earlier.positions[[5, 0]] -= 7.0 * earlier.pixel[0];
    earlier.frame_scales[6] = 1.2;
    let (scan, recipe) = (scan(64, 80), recipe(3.0));
    let mut problem = problem(&scan, &recipe);
    let start = problem
        .start_from(&earlier, &scan, &recipe)
        .unwrap()
        .unwrap();
    let moved = |frame: usize, axis: usize| {
        let at = &problem.positions;
        start.positions[frame][axis]
            - f64::from(at.corners[frame][axis])
            - at.fractions[frame][axis]
    };
    // 2.5 pixels are five of half the size, of which three are within the bound.
    assert!((moved(4, 1) - 3.0).abs() < 1e-9 && (moved(5, 0) + 3.0).abs() < 1e-9);
    assert!(moved(4, 0).abs() < 1e-9 && start.scales[6] == 1.2);
    // Other frames: the scan's positions stay.
    earlier.recorded_positions[[0, 0]] += 1e-9;
    assert_eq!(problem.start_from(&earlier, &scan, &recipe).unwrap(), None);
}

#[test]
fn results_that_do_not_fit_are_refused() {
    let earlier = result(32, 40);
    let (scan, recipe) = (scan(32, 40), recipe(3.0));
    let refused = |result: &Reconstruction| {
        let mut problem = problem(&scan, &recipe);
        problem.start_from(result, &scan, &recipe).unwrap_err()
    };
    let mut other = earlier.clone();
    other.pixel[1] *= 1.01;
    assert!(matches!(refused(&other), EarlierResultError::Window { .. }));
    other = earlier.clone();
    other.origin[0] += 1e-5;
    assert_eq!(refused(&other), EarlierResultError::Elsewhere);
    other = earlier.clone();
    other.object[[3, 4]].re = f64::NAN;
    assert_eq!(refused(&other), EarlierResultError::NotFinite);
    other = earlier;
    other.probe.fill(Complex::default());
    assert_eq!(refused(&other), EarlierResultError::NotFinite);
}

#[test]
fn results_of_the_other_field_are_refused() {
    let near = Propagation::NearField {
        focus_to_sample: None,
    };
    for (of_scan, of_result) in [(near, Propagation::FarField), (Propagation::FarField, near)] {
        let far = scan(32, 40);
        let geometry = Geometry {
            propagation: of_scan,
            ..*far.geometry()
        };
        let counts = far.frames().unwrap().to_owned();
        let probe = far.probe().cloned();
        let scan = Scan::new(counts, None, far.positions().clone(), geometry, probe).unwrap();
        let recipe = recipe(3.0);
        let mut problem = problem(&far, &recipe);
        let earlier = Reconstruction {
            propagation: of_result,
            ..result(32, 40)
        };
        let error = problem.start_from(&earlier, &scan, &recipe).unwrap_err();
        let expected = of_scan == near;
        assert_eq!(error, EarlierResultError::Field { expected });
    }
}
