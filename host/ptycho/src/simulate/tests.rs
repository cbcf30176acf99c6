use super::*;
use crate::data::{PixelPositions, Propagation};

fn small() -> SimulateOptions {
    SimulateOptions {
        frame: 32,
        positions: 7,
        photons: 1e5,
        ..SimulateOptions::default()
    }
}

#[test]
fn without_noise_each_frame_has_the_power_of_its_exit_waves() {
    let options = SimulateOptions {
        noise: false,
        probe_modes: 3,
        ..small()
    };
    let scan = simulate(&options).unwrap();
    let truth = scan.simulation().unwrap();
    let windows = PixelPositions::new(&truth.positions, scan.object_pixel(), [32, 32], 0).unwrap();
    for (frame, [top, left]) in scan.frames().unwrap().outer_iter().zip(&windows.corners) {
        let (top, left) = (*top as usize, *left as usize);
        let window = truth.object.slice(s![top..top + 32, left..left + 32]);
        let expected: f64 = truth
            .probe
            .outer_iter()
            .map(|p| {
                p.iter()
                    .zip(&window)
                    .map(|(p, o)| (p * o).norm_sqr())
                    .sum::<f64>()
            })
            .sum();
        let found: f64 = frame.iter().map(|v| f64::from(*v)).sum();
        assert!((found / expected - 1.0).abs() < 1e-5);
    }
    let power: f64 = truth.probe.iter().map(Complex::norm_sqr).sum();
    assert!((power / options.photons - 1.0).abs() < 1e-9);
}

/// The same model as for the far field: the frames are those of the true object and probe.
#[test]
fn near_fields_have_the_power_of_their_exit_waves_in_a_fine_enough_geometry() {
    for focus_to_sample in [None, Some(3.65e-3)] {
        let options = SimulateOptions {
            noise: false,
            propagation: Propagation::NearField { focus_to_sample },
            ..small()
        };
        let scan = simulate(&options).unwrap();
        let truth = scan.simulation().unwrap();
        let pixel = scan.object_pixel();
        let windows = PixelPositions::new(&truth.positions, pixel, [32, 32], 0).unwrap();
        let near = NearField::of(scan.geometry()).unwrap();
        assert!(near.wavelength * near.distance < 0.31 * 32.0 * pixel[0] * pixel[0]);
        for (frame, [top, left]) in scan.frames().unwrap().outer_iter().zip(&windows.corners) {
            let (top, left) = (*top as usize, *left as usize);
            let window = truth.object.slice(s![top..top + 32, left..left + 32]);
            let probe = truth.probe.index_axis(Axis(0), 0);
            let mut wave = &probe * &window;
            let power: f64 = wave.iter().map(Complex::norm_sqr).sum();
            let found: f64 = frame.iter().map(|v| f64::from(*v)).sum();
            assert!((found / power - 1.0).abs() < 1e-5);
            // The detector's pixels are where those of the specimen are.
            let values = wave.as_slice_mut().unwrap();
            Propagator::new([32, 32], Some(&near)).propagate_to_detector(values, [0.0; 2]);
            let placed = roll(&wave, 16, 16);
            for (wave, count) in placed.iter().zip(frame) {
                let error = (wave.norm_sqr() - f64::from(*count)).abs();
                assert!(error < 1e-6 * (1.0 + wave.norm_sqr()));
            }
        }
    }
}

#[test]
fn counts_have_poisson_statistics() {
    let clean = simulate(&SimulateOptions {
        noise: false,
        ..small()
    })
    .unwrap();
    let noisy = simulate(&small()).unwrap();
    // Σ (n − λ)²/λ over N pixels with λ > 5 is N to within a few √(2N).
    let (mut chi, mut count) = (0.0, 0.0);
    for (l, n) in clean
        .frames()
        .unwrap()
        .iter()
        .zip(&noisy.frames().unwrap())
        .filter(|(l, _)| **l > 5.0)
    {
        chi += f64::from((n - l).powi(2) / l);
        count += 1.0;
        assert_eq!(n.fract(), 0.0);
    }
    assert!(
        (chi / count - 1.0).abs() < 6.0 * (2.0_f64 / count).sqrt(),
        "{chi} of {count}"
    );
}

#[test]
fn the_seed_determines_the_scan_for_every_pattern() {
    for pattern in [Pattern::Fermat, Pattern::Raster, Pattern::Round] {
        let options = SimulateOptions { pattern, ..small() };
        let (a, b) = (simulate(&options).unwrap(), simulate(&options).unwrap());
        assert_eq!(a, b);
        assert_eq!(a.shape(), [7, 32, 32]);
        let other = simulate(&SimulateOptions { seed: 1, ..options }).unwrap();
        assert_ne!(a.frames(), other.frames());
    }
}

#[test]
fn recorded_positions_have_the_requested_error() {
    let options = SimulateOptions {
        positions: 400,
        frame: 16,
        position_error: 2.0,
        ..small()
    };
    let scan = simulate(&options).unwrap();
    let truth = &scan.simulation().unwrap().positions;
    let pixel = scan.object_pixel()[0];
    let square: f64 = scan
        .positions()
        .iter()
        .zip(truth)
        .map(|(a, b)| ((a - b) / pixel).powi(2))
        .sum();
    let sigma = (square / 800.0).sqrt();
    assert!((sigma - 2.0).abs() < 0.3, "{sigma}");
}

#[test]
fn the_memory_of_the_object_is_known_before_it_is_allocated() {
    for overlap in [0.0, 0.9] {
        let options = SimulateOptions {
            positions: 60,
            overlap,
            ..small()
        };
        let object = simulate(&options)
            .unwrap()
            .simulation()
            .unwrap()
            .object
            .len();
        assert_eq!(options.object_memory().unwrap(), 32 * object);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    for wrong in [
        SimulateOptions {
            frame: 0,
            ..small()
        },
        SimulateOptions {
            positions: 0,
            ..small()
        },
        SimulateOptions {
            overlap: f64::NAN,
            ..small()
        },
        SimulateOptions {
            photons: -1.0,
            ..small()
        },
        SimulateOptions {
            probe_modes: 0,
            ..small()
        },
        SimulateOptions {
            propagation: Propagation::NearField {
                focus_to_sample: Some(1e6),
            },
            ..small()
        },
    ] {
        assert!(matches!(
            simulate(&wrong),
            Err(SimulateError::Option { .. })
        ));
    }
}

/// The centre of mass (row, column) of a wave's power, and its mean square distances along both
/// axes.
fn moments(wave: &Array2<Complex<f64>>) -> [f64; 4] {
    let mut sums = [0.0; 5];
    for ((r, c), v) in wave.indexed_iter() {
        let (power, r, c) = (v.norm_sqr(), r as f64, c as f64);
        let terms = [1.0, r, c, r * r, c * c];
        sums.iter_mut()
            .zip(terms)
            .for_each(|(sum, term)| *sum += power * term);
    }
    let [power, r, c, rr, cc] = sums;
    let (r, c) = (r / power, c / power);
    [r, c, rr / power - r * r, cc / power - c * c]
}

#[test]
fn a_drifting_beam_moves_and_widens_by_its_changes() {
    let plain = moments(&beam(64, 0.0, BeamChange::default()));
    let with = |change: BeamChange| moments(&beam(64, 0.0, change));
    let moved = with(BeamChange {
        shift: [1.5, -0.75],
        ..BeamChange::default()
    });
    // A little light is cut off at the borders of the frame.
    assert!(
        (moved[0] - plain[0] - 1.5).abs() < 0.03,
        "{moved:?} {plain:?}"
    );
    assert!((moved[1] - plain[1] + 0.75).abs() < 0.03);
    let ratio = |found: [f64; 4], axis: usize| (found[2 + axis] / plain[2 + axis]).sqrt();
    let wider = with(BeamChange {
        defocus: 0.05,
        ..BeamChange::default()
    });
    for axis in 0..2 {
        assert!(
            (ratio(wider, axis) - 1.05).abs() < 0.02,
            "{wider:?} {plain:?}"
        );
    }
    let bent = with(BeamChange {
        astigmatism: 0.05,
        ..BeamChange::default()
    });
    assert!((ratio(bent, 0) - 1.05).abs() < 0.02 && (ratio(bent, 1) - 0.95).abs() < 0.02);
}

#[test]
fn frames_of_a_drifting_probe_have_its_power_and_differ() {
    let options = SimulateOptions {
        noise: false,
        probe_modes: 2,
        ..small()
    };
    let still = simulate(&options).unwrap();
    let drifting = simulate(&SimulateOptions {
        probe_drift: 0.05,
        ..options.clone()
    })
    .unwrap();
    assert_eq!(still.simulation(), drifting.simulation());
    let mut differences = 0;
    let (still, drifting) = (still.frames().unwrap(), drifting.frames().unwrap());
    for (a, b) in still.outer_iter().zip(drifting.outer_iter()) {
        let sum =
            |frame: &ndarray::ArrayView2<'_, f32>| frame.iter().map(|v| f64::from(*v)).sum::<f64>();
        // The specimen absorbs little.
        assert!((sum(&a) / sum(&b) - 1.0).abs() < 0.1);
        let change: f64 = a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())).sum();
        differences += usize::from(change > 0.01 * sum(&a));
    }
    assert!(differences >= 6, "{differences}");
    let mut wrong = options;
    wrong.probe_drift = 0.6;
    assert!(
        simulate(&wrong)
            .unwrap_err()
            .to_string()
            .contains("--probe-drift 0.6")
    );
}

/// Frames with several exit waves are computed without slices and drift.
#[test]
fn what_would_be_ignored_is_refused() {
    let thin = SimulateOptions {
        frame: 16,
        positions: 4,
        ..SimulateOptions::default()
    };
    let thick = SimulateOptions {
        slices: 2,
        ..thin.clone()
    };
    let drifting = SimulateOptions {
        probe_drift: 0.05,
        ..thin.clone()
    };
    for (options, name) in [(&thick, "--slices 2"), (&drifting, "--probe-drift 0.05")] {
        assert!(options.check().is_ok());
        let moving = SimulateOptions {
            fly_shift: [0.0, 2.0],
            fly_points: 2,
            ..options.clone()
        };
        let changing = SimulateOptions {
            object_modes: 2,
            ..options.clone()
        };
        for (wrong, other) in [(moving, "--fly-shift"), (changing, "--object-modes")] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(other), "{error}");
        }
    }
}
