//! Against the sum itself.

use super::*;
use ndarray::Array2;
use std::f64::consts::TAU;

/// Numbers in −0.5 … 0.5 without any pattern that matters.
pub(super) fn scatter(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

fn values(count: usize, seed: u64) -> Vec<Complex<f64>> {
    let mut next = scatter(seed);
    (0..count).map(|_| Complex::new(next(), next())).collect()
}

fn narrowed<T: Real>(values: &[Complex<f64>]) -> Vec<Complex<T>> {
    let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
    values.iter().map(narrow).collect()
}

/// exp(−2πi k n) of all n of an axis.
fn phases(k: f64, n: usize) -> Vec<Complex<f64>> {
    (0..n)
        .map(|i| Complex::cis(-TAU * (k * (i as f64 - (n / 2) as f64)).fract()))
        .collect()
}

/// The sums, voxel by voxel and sample by sample: (F images, Fᴴ samples).
fn sums(
    grid: Grid,
    trajectory: &Array2<f64>,
    image: &[Complex<f64>],
    samples: &[Complex<f64>],
) -> (Vec<Complex<f64>>, Vec<Complex<f64>>) {
    let modes = grid.along_k();
    let mut forward = vec![Complex::default(); samples.len()];
    let mut adjoint = vec![Complex::default(); image.len()];
    for (sample, k) in trajectory.rows().into_iter().enumerate() {
        let along: [Vec<_>; 3] =
            std::array::from_fn(|a| phases(k.get(a).copied().unwrap_or(0.0), modes[a]));
        let mut voxel = 0;
        for z in &along[2] {
            for y in &along[1] {
                let yz = y * z;
                for x in &along[0] {
                    let phase = x * yz;
                    forward[sample] += image[voxel] * phase;
                    adjoint[voxel] += samples[sample] * phase.conj();
                    voxel += 1;
                }
            }
        }
    }
    (forward, adjoint)
}

fn error<T: Real>(values: &[Complex<T>], exact: &[Complex<f64>]) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for (v, e) in values.iter().zip(exact) {
        error += (Complex::new(v.re.wide(), v.im.wide()) - e).norm_sqr();
        norm += e.norm_sqr();
    }
    (error / norm).sqrt()
}

/// Errors of both ways for one trajectory.
fn errors<T: Real>(nufft: &Nufft<T>, grid: Grid, trajectory: &Array2<f64>) -> (f64, f64) {
    let count = trajectory.nrows();
    let (image, samples) = (values(grid.voxels(), 5), values(count, 6));
    let (exact_forward, exact_adjoint) = sums(grid, trajectory, &image, &samples);
    let mut forward = vec![Complex::default(); count];
    nufft.forward(&narrowed(&image), &mut forward);
    let mut adjoint = vec![Complex::default(); grid.voxels()];
    nufft.adjoint(&narrowed(&samples), &mut adjoint);
    (
        error(&forward, &exact_forward),
        error(&adjoint, &exact_adjoint),
    )
}

fn random(count: usize, axes: usize) -> Array2<f64> {
    let mut next = scatter(17);
    Array2::from_shape_fn((count, axes), |_| next())
}

#[test]
fn figures_of_a_good_library() {
    let grid = Grid::two(64, 64);
    let trajectory = random(5000, 2);
    for tolerance in [1e-2, 1e-4, 1e-6, 1e-9, 1e-12] {
        for oversampling in [2.0, 1.5, 1.25] {
            let Ok(kernel) = SpreadingKernel::new::<f64>(tolerance, oversampling, 2) else {
                continue;
            };
            let nufft = Nufft::<f64>::with_kernel(grid, trajectory.view(), kernel).unwrap();
            let (forward, adjoint) = errors(&nufft, grid, &trajectory);
            eprintln!(
                "{tolerance:e} {oversampling} w {} {forward:.2e} {adjoint:.2e}",
                kernel.width()
            );
            assert!(forward <= tolerance && adjoint <= tolerance);
        }
    }
}
