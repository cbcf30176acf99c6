//! The propagation against analytic waves, its adjoint and the conservation of power.

use super::*;
use crate::model::roll::roll;

fn near(z: f64) -> NearField {
    NearField {
        wavelength: 1e-10,
        distance: z,
        pixel: [1e-6, 0.8e-6],
    }
}

fn wave(n: usize, seed: f64) -> Vec<Complex<f64>> {
    (0..n)
        .map(|i| Complex::new((i as f64 * 1.7 + seed).sin(), (i as f64 * 0.3 - seed).cos()))
        .collect()
}

fn dot(a: &[Complex<f64>], b: &[Complex<f64>]) -> Complex<f64> {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

/// Frames as the detector has them.
fn at_detector(near: &NearField, wave: &Array2<Complex<f64>>) -> Array2<Complex<f64>> {
    let (rows, columns) = wave.dim();
    let mut values = wave.clone();
    let slice = values.as_slice_mut().unwrap();
    Propagator::new([rows, columns], Some(near)).propagate_to_detector(slice, [0.0; 2]);
    roll(&values, rows / 2, columns / 2)
}

#[test]
fn the_transform_back_is_the_adjoint_and_the_inverse() {
    for [rows, columns] in [[8, 8], [7, 12], [9, 5], [1, 6]] {
        for near in [Some(near(3e-3)), Some(near(0.2)), None] {
            let mut propagator = Propagator::new([rows, columns], near.as_ref());
            let (x, y) = (wave(rows * columns, 0.4), wave(rows * columns, 1.3));
            let (mut forward, mut back) = (x.clone(), y.clone());
            propagator.propagate_to_detector(&mut forward, [0.0; 2]);
            propagator.propagate_to_specimen(&mut back);
            let (a, b) = (dot(&forward, &y), dot(&x, &back));
            assert!((a - b).norm() < 1e-12 * (1.0 + a.norm()), "{a} {b}");
            let [before, after] = [&x, &forward].map(|w| dot(w, w).re);
            assert!((after / before - 1.0).abs() < 1e-13);
            propagator.propagate_to_specimen(&mut forward);
            let most = forward.iter().zip(&x).map(|(a, b)| (a - b).norm());
            assert!(most.fold(0.0, f64::max) < 1e-13);
        }
    }
}

/// A plane wave of a frequency of the array gets the phase K and stays where it is; that along the
/// axis stays the same.
#[test]
fn a_tilted_plane_wave_keeps_its_form() {
    let ([rows, columns], near) = ([9, 14], near(0.05));
    for (down, across) in [(0_usize, 0_usize), (2, 0), (3, 5), (8, 13)] {
        let tilted = Array2::from_shape_fn((rows, columns), |(r, c)| {
            let turns = (down * r) as f64 / rows as f64 + (across * c) as f64 / columns as f64;
            Complex::cis(TAU * turns)
        });
        let signed = |k: usize, n: usize| k as f64 - if 2 * k < n { 0.0 } else { n as f64 };
        let fy = signed(down, rows) / (rows as f64 * near.pixel[0]);
        let fx = signed(across, columns) / (columns as f64 * near.pixel[1]);
        let lambda = near.wavelength;
        let cosine = (1.0 - lambda * lambda * (fx * fx + fy * fy)).sqrt();
        let phase = Complex::cis(TAU * near.distance / lambda * (cosine - 1.0));
        if (down, across) == (0, 0) {
            assert_eq!(phase, Complex::from(1.0));
        }
        let found = at_detector(&near, &tilted);
        for (found, before) in found.iter().zip(&tilted) {
            // The phase is of the order of 1e8 turns times 1e-8.
            assert!((found - before * phase).norm() < 1e-7, "{down} {across}");
        }
    }
}

/// A Gaussian beam exp(−r²/w²) has the complex radius w² + iλz/π at the distance z (paraxial; A.
/// Siegman, Lasers, chapter 16).
#[test]
fn a_gaussian_beam_spreads_as_the_paraxial_one_does() {
    for [rows, columns] in [[48, 64], [63, 49]] {
        let near = near(0.12);
        let waist = 5e-6;
        let beam = |square: Complex<f64>| {
            Array2::from_shape_fn((rows, columns), |(r, c)| {
                let y = (r as f64 - (rows / 2) as f64) * near.pixel[0];
                let x = (c as f64 - (columns / 2) as f64) * near.pixel[1];
                (-(x * x + y * y) / square).exp() * waist * waist / square
            })
        };
        let start = beam(Complex::from(waist * waist));
        let spread = near.wavelength * near.distance / std::f64::consts::PI;
        let expected = beam(Complex::new(waist * waist, spread));
        let found = at_detector(&near, &start);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).norm() < 1e-5, "{found} {expected}");
        }
    }
}

#[test]
fn the_wave_at_the_specimen_gives_the_frame_back() {
    for (rows, columns) in [(8, 10), (7, 9)] {
        let frame = Array2::from_shape_vec((rows, columns), wave(rows * columns, 0.1)).unwrap();
        let found = at_detector(&near(0.01), &near(0.01).at_specimen(&frame));
        for (a, b) in found.iter().zip(&frame) {
            assert!((a - b).norm() < 1e-13);
        }
    }
}

/// Waves of frequencies above 1/λ do not travel.
#[test]
fn evanescent_waves_are_dropped() {
    let near = NearField {
        wavelength: 1e-6,
        distance: 1e-3,
        pixel: [0.3e-6, 0.3e-6],
    };
    let transfer = near.transfer(8, 8);
    assert_eq!(transfer[[0, 0]], Complex::from(1.0));
    for ((row, column), k) in transfer.indexed_iter() {
        let [y, x] = [row, column].map(|k| k.min(8 - k) as f64 / (8.0 * 0.3));
        let expected = if y * y + x * x > 1.0 { 0.0 } else { 1.0 };
        assert!((k.norm() - expected).abs() < 1e-14, "{row} {column}");
    }
}
