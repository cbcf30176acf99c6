//! Transforms against the sums of their definition, in both precisions. Not a unit test, for which
//! the crate would be compiled once more.

use warpstride_fft::num_complex::Complex;
use warpstride_fft::{FftPlanner, Precision};

/// Errors of a forward transform against the sum, and of the inverse after it, relative to the
/// input.
fn errors<T: Precision>(length: usize, of: fn(f64) -> T, wide: fn(T) -> f64) -> [f64; 2] {
    let values: Vec<[f64; 2]> = (0..length)
        .map(|n| [(n as f64 * 0.37).sin(), (n as f64 * 1.71).cos()])
        .collect();
    let mut line: Vec<Complex<T>> = values
        .iter()
        .map(|[re, im]| Complex::new(of(*re), of(*im)))
        .collect();
    let mut planner = FftPlanner::<T>::new();
    let difference = |line: &[Complex<T>], expected: &[[f64; 2]], scale: f64| {
        let pairs = line.iter().zip(expected);
        let part = |found: T, expected: f64| (wide(found) / scale - expected).powi(2);
        pairs
            .map(|(found, [re, im])| part(found.re, *re) + part(found.im, *im))
            .sum::<f64>()
            .sqrt()
    };
    let norm = values.iter().flatten().map(|v| v * v).sum::<f64>().sqrt();
    let sums: Vec<[f64; 2]> = (0..length)
        .map(|k| {
            let mut sum = [0.0; 2];
            for (n, [re, im]) in values.iter().enumerate() {
                let turn = (k * n % length) as f64 / length as f64;
                let (sine, cosine) = (-std::f64::consts::TAU * turn).sin_cos();
                sum[0] += re * cosine - im * sine;
                sum[1] += re * sine + im * cosine;
            }
            sum
        })
        .collect();
    planner.plan_fft_forward(length).process(&mut line);
    let forward = difference(&line, &sums, 1.0) / (norm * (length as f64).sqrt());
    planner.plan_fft_inverse(length).process(&mut line);
    [forward, difference(&line, &values, length as f64) / norm]
}

#[test]
fn transforms_are_the_sums_of_their_definition() {
    for length in [1, 2, 7, 16, 31, 60, 97, 128, 210, 211] {
        for error in errors(length, |v| v, |v: f64| v) {
            assert!(error < 1e-14, "{length}: {error}");
        }
        for error in errors(length, |v| v as f32, f64::from) {
            assert!(error < 1e-6, "{length}: {error}");
        }
    }
}
