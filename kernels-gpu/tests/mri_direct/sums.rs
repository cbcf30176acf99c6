//! The definition: plain sums in double precision, over voxels n − ⌊N/2⌋.

use std::f64::consts::TAU;
use warpstride_device::{Complex32, F32x4, U32x4};

/// A complex number in double precision.
pub(crate) type Wide = (f64, f64);

/// slices, rows, columns.
pub(crate) type Shape = [usize; 3];

/// Evenly between −1 and 1, the same in every run.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        })
        .collect()
}

pub(crate) fn complex(seed: u64, len: usize) -> Vec<Complex32> {
    let numbers = noise(seed, 2 * len);
    let pairs = numbers.chunks(2);
    pairs
        .map(|v| Complex32::new(v[0] as f32, v[1] as f32))
        .collect()
}

/// k of every sample, cycles/pixel: the edges, the centre, anywhere.
pub(crate) fn trajectory(samples: usize) -> Vec<[f64; 3]> {
    let inside = noise(7, 3 * samples);
    let anywhere = inside
        .chunks(3)
        .map(|k| [k[0] / 2.0, k[1] / 2.0, k[2] / 2.0]);
    let first = [[0.5, -0.5, 0.5], [0.0; 3], [-0.5, 0.5, 0.25]];
    first.into_iter().chain(anywhere).take(samples).collect()
}

/// Fractions of a turn of half a pixel.
pub(crate) fn turns(trajectory: &[[f64; 3]]) -> Vec<U32x4> {
    let fraction = |k: f64| (k / 2.0 * 4_294_967_296.0).round() as i64 as u32;
    trajectory
        .iter()
        .map(|k| U32x4([fraction(k[0]), fraction(k[1]), fraction(k[2]), 0]))
        .collect()
}

/// Phases of a pixel along x and y.
pub(crate) fn steps(trajectory: &[[f64; 3]]) -> Vec<F32x4> {
    trajectory
        .iter()
        .map(|k| {
            let [(xs, xc), (ys, yc)] = [k[0], k[1]].map(|k| (TAU * k).sin_cos());
            F32x4([xc, xs, yc, ys].map(|v| v as f32))
        })
        .collect()
}

/// k·x in turns of every voxel.
fn phases(k: [f64; 3], shape: Shape) -> impl Iterator<Item = f64> {
    let [slices, rows, columns] = shape;
    let place = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    (0..slices).flat_map(move |z| {
        (0..rows).flat_map(move |y| {
            (0..columns).map(move |x| {
                k[0] * place(x, columns) + k[1] * place(y, rows) + k[2] * place(z, slices)
            })
        })
    })
}

/// Fᴴd, (image, voxel).
pub(crate) fn adjoint(
    values: &[Complex32],
    trajectory: &[[f64; 3]],
    shape: Shape,
    images: usize,
) -> Vec<Wide> {
    let voxels = shape.iter().product::<usize>();
    let mut out = vec![(0.0, 0.0); images * voxels];
    for (m, k) in trajectory.iter().enumerate() {
        for (n, phase) in phases(*k, shape).enumerate() {
            let (sin, cos) = (TAU * phase).sin_cos();
            for image in 0..images {
                let value = values[image * trajectory.len() + m];
                let (re, im) = (f64::from(value.re), f64::from(value.im));
                let sum = &mut out[image * voxels + n];
                *sum = (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos);
            }
        }
    }
    out
}

/// Fρ, (image, sample).
pub(crate) fn forward(
    values: &[Complex32],
    trajectory: &[[f64; 3]],
    shape: Shape,
    images: usize,
) -> Vec<Wide> {
    let voxels = shape.iter().product::<usize>();
    let mut out = vec![(0.0, 0.0); images * trajectory.len()];
    for (m, k) in trajectory.iter().enumerate() {
        for (n, phase) in phases(*k, shape).enumerate() {
            let (sin, cos) = (-TAU * phase).sin_cos();
            for image in 0..images {
                let value = values[image * voxels + n];
                let (re, im) = (f64::from(value.re), f64::from(value.im));
                let sum = &mut out[image * trajectory.len() + m];
                *sum = (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos);
            }
        }
    }
    out
}

/// ‖found − expected‖/‖expected‖; ‖found‖ where nothing is expected.
pub(crate) fn error(found: &[Complex32], expected: &[Wide]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let [mut away, mut norm] = [0.0, 0.0];
    for (f, e) in found.iter().zip(expected) {
        let (re, im) = (f64::from(f.re) - e.0, f64::from(f.im) - e.1);
        away += re * re + im * im;
        norm += e.0 * e.0 + e.1 * e.1;
    }
    let error = (away / if norm > 0.0 { norm } else { 1.0 }).sqrt();
    if error.is_nan() { f64::INFINITY } else { error }
}

/// ⟨a, b⟩ = Σ conj(a) b.
pub(crate) fn inner(a: &[Complex32], b: &[Complex32]) -> Wide {
    a.iter().zip(b).fold((0.0, 0.0), |sum, (a, b)| {
        let [ar, ai, br, bi] = [a.re, a.im, b.re, b.im].map(f64::from);
        (sum.0 + ar * br + ai * bi, sum.1 + ar * bi - ai * br)
    })
}
