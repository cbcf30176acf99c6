//! ESPIRiT on samples of known maps.

use super::super::super::cpu::Direct;
use super::super::super::{Encoding, SimulateOptions, simulate};
use super::*;
use crate::trajectory::Path;
use ndarray::Axis;

/// √Σ|ρ|²(1 − |⟨S, S'⟩|²)/√Σ|ρ|²: the share of the image that the maps cannot describe, whatever
/// their phases.
fn error(maps: &Array3<Complex<f64>>, truth: &Array2<Complex<f64>>, image: &[Complex<f64>]) -> f64 {
    assert_eq!(maps.dim().0, 1, "sets");
    let maps = maps.index_axis(Axis(0), 0);
    let (mut wrong, mut all) = (0.0, 0.0);
    for (n, value) in image.iter().enumerate() {
        let (found, known) = (maps.column(n), truth.column(n));
        let length: f64 = known.iter().map(Complex::norm_sqr).sum();
        let along: Complex<f64> = found.iter().zip(known).map(|(a, b)| a.conj() * b).sum();
        wrong += value.norm_sqr() * (1.0 - along.norm_sqr() / length).max(0.0);
        all += value.norm_sqr();
    }
    (wrong / all).sqrt()
}

/// Maps, true maps and image of a simulation.
fn simulated(options: &SimulateOptions) -> (Espirit, Array2<Complex<f64>>, Vec<Complex<f64>>) {
    let made = simulate(options).unwrap();
    let grid = crate::grid_of(&made.kspace);
    let (trajectory, samples) = (made.kspace.trajectory(), made.kspace.samples());
    let found = espirit(grid, trajectory.view(), samples.view()).unwrap();
    let truth = made.truth.coil_maps;
    let truth = truth
        .into_shape_with_order((options.coils, grid.voxels()))
        .unwrap();
    (found, truth, made.truth.image.into_iter().collect())
}

#[test]
fn the_maps_of_a_phantom_are_found_from_every_trajectory() {
    for (path, matrix, volume, spokes, snr, most) in [
        (Path::Radial, 48, false, None, None, 0.004),
        (Path::Golden, 80, false, Some(55), None, 0.006),
        (Path::Golden, 80, false, Some(55), Some(30.0), 0.03),
        (Path::Spiral, 64, false, None, None, 0.02),
        (Path::Radial, 16, true, None, None, 0.03),
    ] {
        let options = SimulateOptions {
            path,
            matrix,
            volume,
            spokes,
            snr,
            coils: if volume { 4 } else { 8 },
            ..SimulateOptions::default()
        };
        let (found, truth, image) = simulated(&options);
        assert!(found.region.sufficient(), "{:?}", found.region);
        let error = error(&found.maps, &truth, &image);
        assert!(error < most, "{path:?} {snr:?}: {error}");
        let maps = found.maps.index_axis(Axis(0), 0);
        for (column, value) in maps.columns().into_iter().zip(&image) {
            let square: f64 = column.iter().map(Complex::norm_sqr).sum();
            let allowed = square == 0.0 || (0.09..1.0 + 1e-12).contains(&square);
            assert!(allowed, "{square}");
            // All of the object has maps of length 1.
            assert!(
                value.norm() < 0.05 || square > 1.0 - 1e-12,
                "{value} {square}"
            );
        }
    }
}

/// One coil: its image is the image.
#[test]
fn a_single_coil_has_a_map_of_ones() {
    let options = SimulateOptions {
        matrix: 16,
        coils: 1,
        ..SimulateOptions::default()
    };
    let (found, _, _) = simulated(&options);
    assert!(found.maps.iter().all(|s| *s == Complex::from(1.0)));
}

/// The signal of few coils fills much of the space of the patches.
#[test]
fn few_coils_are_enough() {
    for (coils, most) in [(2, 0.02), (3, 0.01)] {
        let options = SimulateOptions {
            matrix: 48,
            coils,
            ..SimulateOptions::default()
        };
        let (found, truth, image) = simulated(&options);
        let error = error(&found.maps, &truth, &image);
        assert!(error < most, "{coils}: {error}");
    }
}

/// More coils than combinations that are calibrated.
#[test]
fn many_coils_are_combined() {
    let options = SimulateOptions {
        matrix: 32,
        coils: 40,
        ..SimulateOptions::default()
    };
    let (found, truth, image) = simulated(&options);
    let error = error(&found.maps, &truth, &image);
    assert!(error < 0.01, "{error}");
}

#[test]
fn samples_without_signal_in_the_centre_have_no_maps() {
    let grid = Grid::two(16, 16);
    let zero = |trajectory: &Array2<f64>| {
        let samples = Array2::zeros((2, trajectory.nrows()));
        let found = espirit(grid, trajectory.view(), samples.view()).unwrap();
        assert!(found.maps.iter().all(|s| *s == Complex::default()));
    };
    zero(&Array2::from_shape_fn((64, 2), |(n, axis)| {
        (n * (axis + 1)) as f64 / 128.0 - 0.4
    }));
    let grid = Grid::two(64, 64);
    let far = Array2::from_elem((4, 2), 0.45);
    let samples = Array2::from_elem((2, 4), Complex::from(1.0));
    assert!(espirit(grid, far.slice(ndarray::s![1.., ..]), samples.view()).is_err());
    assert!(espirit(grid, Array2::zeros((4, 3)).view(), samples.view()).is_err());
    let found = espirit(grid, far.view(), samples.view()).unwrap();
    assert!(found.maps.iter().all(|s| *s == Complex::default()));
}

/// All lines of a field of view that is smaller than the object: where its ends fall on one
/// another, two sets of maps describe the coils, and elsewhere one.
#[test]
fn an_object_larger_than_the_field_of_view_needs_two_sets() {
    let (side, rows, coils) = (64, 48, 8);
    let options = SimulateOptions {
        matrix: side,
        coils,
        ..SimulateOptions::default()
    };
    let truth = simulate(&options).unwrap().truth;
    let grid = Grid::two(rows, side);
    // Voxel n of a smaller field is the sum of voxels n + 8 and, if it is near an end, n + 56 or n
    // − 40.
    let mut images = Array2::<Complex<f64>>::zeros((coils, grid.voxels()));
    let mut folded = vec![0; grid.voxels()];
    for row in 0..side {
        for column in 0..side {
            let value = truth.image[(0, row, column)];
            let to = (row + 40) % rows * side + column;
            folded[to] += usize::from(value.norm() > 0.05);
            for coil in 0..coils {
                images[(coil, to)] += truth.coil_maps[(coil, 0, row, column)] * value;
            }
        }
    }
    let cells = Array2::from_shape_fn((grid.voxels(), 2), |(n, axis)| {
        [
            (n % side) as f64 / side as f64 - 0.5,
            (n / side) as f64 / rows as f64 - 0.5,
        ][axis]
    });
    let direct = Direct::<f64>::new(grid, cells.view(), None).unwrap();
    let mut samples = Array2::zeros((coils, cells.nrows()));
    direct.forward(images.as_slice().unwrap(), samples.as_slice_mut().unwrap());
    let maps = espirit(grid, cells.view(), samples.view()).unwrap().maps;
    assert_eq!(maps.dim(), (2, coils, grid.voxels()));
    // What the first set leaves of the coils' images, and what both leave.
    let left = |sets: usize| {
        let (mut left, mut all) = (0.0, 0.0);
        for n in 0..grid.voxels() {
            let mut rest = images.column(n).to_owned();
            all += rest.iter().map(Complex::norm_sqr).sum::<f64>();
            for set in maps.outer_iter().take(sets) {
                let s = set.column(n);
                let along: Complex<f64> = s.iter().zip(&rest).map(|(s, y)| s.conj() * y).sum();
                rest.zip_mut_with(&s, |y, s| *y -= along * s);
            }
            left += rest.iter().map(Complex::norm_sqr).sum::<f64>();
        }
        (left / all).sqrt()
    };
    let (one, two) = (left(1), left(2));
    assert!(one > 0.1 && two < 0.01, "{one} {two}");
    for (n, count) in folded.iter().enumerate() {
        let square = |set: usize| -> f64 {
            maps.slice(ndarray::s![set, .., n])
                .iter()
                .map(Complex::norm_sqr)
                .sum()
        };
        assert!(
            *count == 0 || square(0) > 0.99,
            "{n} {count}: {}",
            square(0)
        );
    }
    // The second set is used where ends overlap, in 8 rows at either end, and little elsewhere.
    let used = |rows: std::ops::Range<usize>| {
        let part = maps.slice(ndarray::s![1, .., rows.start * side..rows.end * side]);
        let columns = part.columns().into_iter();
        let used = columns.filter(|s| s.iter().any(|s| s.norm() > 0.0)).count();
        used as f64 / (rows.len() * side) as f64
    };
    let (ends, middle) = (used(0..8).min(used(40..48)), used(16..32));
    assert!(ends > 0.5 && middle < 0.2, "{ends} {middle}");
}

/// A point: its k-space has the same modulus everywhere, and any two patches are parallel.
#[test]
fn the_map_at_a_point_is_that_of_the_point() {
    let grid = Grid::two(24, 24);
    let cells = Array2::from_shape_fn((24 * 24, 2), |(n, axis)| {
        [n % 24, n / 24][axis] as f64 / 24.0 - 0.5
    });
    let direct = Direct::<f64>::new(grid, cells.view(), None).unwrap();
    let at = 24 * 9 + 15;
    let weights = [
        Complex::new(0.6, 0.0),
        Complex::new(0.0, 0.48),
        Complex::new(-0.64, 0.0),
    ];
    let mut images = vec![Complex::default(); 3 * grid.voxels()];
    for (coil, weight) in weights.iter().enumerate() {
        images[coil * grid.voxels() + at] = *weight;
    }
    let mut samples = Array2::zeros((3, cells.nrows()));
    direct.forward(&images, samples.as_slice_mut().unwrap());
    let maps = espirit(grid, cells.view(), samples.view()).unwrap().maps;
    assert_eq!(maps.dim().0, 1);
    let maps = maps.index_axis(Axis(0), 0);
    let along: Complex<f64> = (maps.column(at).iter().zip(weights))
        .map(|(a, b)| a.conj() * b)
        .sum();
    assert!((along.norm() - 1.0).abs() < 1e-9, "{along}");
}
