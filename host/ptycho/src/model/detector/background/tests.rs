//! Sums of simulated counts whose light is known.

use super::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1, Poisson};
use rand_pcg::Pcg64Mcg;

const SHAPE: [usize; 2] = [24, 20];
const FRAMES: usize = 60;

/// Sums of frames with the light `light(pixel, frame)`, of which the model has `1 + error` times as
/// much, and the background `truth`; the model's is `model`.
fn sums(
    light: impl Fn(usize, f64) -> f64,
    truth: impl Fn(usize) -> f64,
    model: &[f64],
    error: f64,
) -> Vec<[f64; TERMS]> {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let floor = 0.01;
    (model.iter().enumerate())
        .map(|(pixel, b)| {
            let mut sums = [0.0; TERMS];
            for frame in 0..FRAMES {
                let speckle: f64 = Exp1.sample(&mut random);
                let arriving = light(pixel, speckle);
                let counts = Poisson::new(arriving + truth(pixel)).unwrap();
                let counts: f64 = counts.sample(&mut random);
                let s = arriving * (1.0 + error);
                // Every seventh is free.
                let (from, terms) = if frame % 7 == 3 {
                    (SEEN, free_terms(counts, s + b, *b).to_vec())
                } else {
                    (0, seen_terms(counts, s + b, *b, floor).to_vec())
                };
                sums[from..]
                    .iter_mut()
                    .zip(terms)
                    .for_each(|(sum, v)| *sum += v);
            }
            sums
        })
        .collect()
}

fn pixels() -> usize {
    SHAPE[0] * SHAPE[1]
}

/// Light that falls off from the zero frequency, which is at (0, 0), with a beam that does not vary
/// in its middle.
fn beam(pixel: usize, speckle: f64) -> f64 {
    let away = |i: usize, n: usize| i.min(n - i) as f64;
    let [row, column] = [pixel / SHAPE[1], pixel % SHAPE[1]];
    let q = away(row, SHAPE[0]).hypot(away(column, SHAPE[1]));
    if q < 3.0 {
        5000.0
    } else {
        300.0 * speckle * (-q).exp()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_constant_background_is_found_whatever_it_starts_from() {
    for fit in [BackgroundFit::Uniform, BackgroundFit::Pixels] {
        for start in [0.01, 1.0, 9.0] {
            let mut background = vec![start; pixels()];
            for _ in 0..4 {
                let sums = sums(beam, |_| 2.0, &background, 0.0);
                background = updated(fit, SHAPE, &background, &sums);
            }
            let found = mean(&background);
            assert!((found / 2.0 - 1.0).abs() < 0.03, "{fit:?} {start}: {found}");
        }
    }
}

/// The model has 2 % too little light everywhere, 100 photons in the beam: they are not background.
#[test]
fn light_that_does_not_vary_is_not_taken_for_background() {
    let mut background = vec![1.0; pixels()];
    for _ in 0..10 {
        let sums = sums(beam, |_| 2.0, &background, -0.02);
        background = updated(BackgroundFit::Pixels, SHAPE, &background, &sums);
    }
    assert!(
        (mean(&background) / 2.0 - 1.0).abs() < 0.03,
        "{}",
        mean(&background)
    );
    assert!(background.iter().all(|b| (0.5..4.0).contains(b)));
}

#[test]
fn gradients_and_hot_pixels_are_found() {
    // Columns of the detector from 1 to 5 photons.
    let slope = |pixel: usize| {
        let column = (pixel % SHAPE[1] + SHAPE[1] / 2) % SHAPE[1];
        1.0 + 4.0 * column as f64 / (SHAPE[1] - 1) as f64
    };
    let hot = |pixel: usize| if pixel % 97 == 50 { 40.0 } else { slope(pixel) };
    let mut background = vec![3.0; pixels()];
    for _ in 0..6 {
        let sums = sums(beam, hot, &background, 0.0);
        background = updated(BackgroundFit::Pixels, SHAPE, &background, &sums);
    }
    for (pixel, found) in background.iter().enumerate() {
        // Where the beam does not vary, nothing is determined.
        if beam(pixel, 1.0) < 50.0 {
            let tolerance = if hot(pixel) > 30.0 { 4.0 } else { 1.6 };
            assert!(
                (found - hot(pixel)).abs() < tolerance,
                "{pixel}: {found} {}",
                hot(pixel)
            );
        }
    }
}

#[test]
fn pixels_that_are_never_valid_have_the_mean_and_nothing_is_nan() {
    let model = vec![1.0; pixels()];
    let mut of_pixels = sums(beam, |_| 2.0, &model, 0.0);
    of_pixels[300] = [0.0; TERMS];
    let found = updated(BackgroundFit::Pixels, SHAPE, &model, &of_pixels);
    assert!((found[300] - 2.0).abs() < 0.2, "{}", found[300]);
    for fit in [BackgroundFit::Uniform, BackgroundFit::Pixels] {
        let none = vec![[0.0; TERMS]; pixels()];
        assert_eq!(updated(fit, SHAPE, &model, &none), model);
    }
}

/// The derivative of the likelihood, by differences.
#[test]
fn the_sums_are_the_derivative_of_the_likelihood() {
    let (light, counts, floor) = ([0.3, 2.0, 7.0, 0.0], [1.0, 0.0, 9.0, 3.0], 0.02);
    let loss = |b: f64| -> f64 {
        let pairs = light.iter().zip(counts);
        pairs
            .map(|(s, n)| s + b - (n + floor) * (s + b + floor).ln())
            .sum()
    };
    for b in [0.0, 0.5, 2.0] {
        let slope: f64 = (light.iter().zip(counts))
            .map(|(s, n)| -(n - s - b) / (s + b + floor))
            .sum();
        let h = 1e-4;
        let difference = (loss(b - 2.0 * h) - 8.0 * loss(b - h) + 8.0 * loss(b + h)
            - loss(b + 2.0 * h))
            / (12.0 * h);
        assert!((difference / slope - 1.0).abs() < 1e-6, "{b}");
    }
}
