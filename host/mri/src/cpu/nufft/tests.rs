//! The NUFFT compared with the exact sums, and its two types with each other.

use super::*;
use ndarray::Array2;
use std::f64::consts::TAU;

/// Numbers in −0.5 … 0.5 without a regularity that matters.
fn random_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

fn values(count: usize, seed: u64) -> Vec<Complex<f64>> {
    let mut next = random_numbers(seed);
    (0..count).map(|_| Complex::new(next(), next())).collect()
}

fn narrowed<T: Real>(values: &[Complex<f64>]) -> Vec<Complex<T>> {
    let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
    values.iter().map(narrow).collect()
}

/// exp(−2πi k n) for all n of an axis.
fn phases(k: f64, n: usize) -> Vec<Complex<f64>> {
    (0..n)
        .map(|i| Complex::cis(-TAU * (k * (i as f64 - (n / 2) as f64)).fract()))
        .collect()
}

/// The sums, voxel by voxel and sample by sample: (F image, Fᴴ samples).
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

/// Relative l² error. The norm of the exact values is taken to be at least `least`, because a
/// single sample, or a few, may cancel to anything.
fn error<T: Real>(values: &[Complex<T>], exact: &[Complex<f64>], least: f64) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for (v, e) in values.iter().zip(exact) {
        error += (Complex::new(v.re.wide(), v.im.wide()) - e).norm_sqr();
        norm += e.norm_sqr();
    }
    (error / norm).sqrt().min(error.sqrt() / least)
}

/// The expected l² norm of `sums` sums of `values` with random phases.
fn expected_norm(values: &[Complex<f64>], sums: usize) -> f64 {
    (values.iter().map(Complex::norm_sqr).sum::<f64>() * sums as f64).sqrt()
}

/// A trajectory with F and Fᴴ of some image and some samples.
struct Exact {
    name: &'static str,
    trajectory: Array2<f64>,
    image: Vec<Complex<f64>>,
    samples: Vec<Complex<f64>>,
    forward: Vec<Complex<f64>>,
    adjoint: Vec<Complex<f64>>,
}

impl Exact {
    fn new(grid: Grid, (name, trajectory): (&'static str, Array2<f64>)) -> Self {
        let (image, samples) = (values(grid.voxels(), 5), values(trajectory.nrows(), 6));
        let (forward, adjoint) = sums(grid, &trajectory, &image, &samples);
        Self {
            name,
            trajectory,
            image,
            samples,
            forward,
            adjoint,
        }
    }

    /// For random samples of many modes the error is close to the tolerance, for which the kernel
    /// is chosen; for any samples it is at most three times that, as the project requires.
    fn check<T: Real>(&self, nufft: &Nufft<T>, tolerance: f64) {
        let mut forward = vec![Complex::default(); self.samples.len()];
        nufft.forward(&narrowed(&self.image), &mut forward);
        let mut adjoint = vec![Complex::default(); self.image.len()];
        nufft.adjoint(&narrowed(&self.samples), &mut adjoint);
        let most = if self.name == "random" { 1.25 } else { 3.0 } * tolerance;
        let expected = [
            expected_norm(&self.image, forward.len()),
            expected_norm(&self.samples, adjoint.len()),
        ];
        for error in [
            error(&forward, &self.forward, expected[0]),
            error(&adjoint, &self.adjoint, expected[1]),
        ] {
            assert!(
                error <= most,
                "{}, {tolerance:e}, {:?}: {error:e}",
                self.name,
                nufft.kernel()
            );
        }
    }
}

fn random(count: usize, axes: usize) -> Array2<f64> {
    let mut next = random_numbers(17);
    Array2::from_shape_fn((count, axes), |_| next())
}

/// Trajectories of every kind, with two or three axes.
fn trajectories(axes: usize) -> Vec<(&'static str, Array2<f64>)> {
    let mut next = random_numbers(23);
    let radial = Array2::from_shape_fn((600, axes), |(i, axis)| {
        let angle = 2.4 * (i / 30) as f64;
        let tilt = 0.7 * (i / 30) as f64;
        let direction = [
            angle.cos(),
            angle.sin() * tilt.cos(),
            angle.sin() * tilt.sin(),
        ];
        let flat = [angle.cos(), angle.sin(), 0.0];
        let direction = if axes == 2 { flat } else { direction };
        ((i % 30) as f64 - 15.0) / 30.0 * direction[axis]
    });
    vec![
        ("random", random(700, axes)),
        ("radial", radial),
        (
            "clustered",
            Array2::from_shape_fn((500, axes), |_| 0.31 + 0.05 * next()),
        ),
        ("one cell", Array2::from_elem((300, axes), -0.123)),
        (
            "edges",
            Array2::from_shape_fn((64, axes), |(i, axis)| {
                [-0.5, 0.5, 0.0, 0.499_999_999][(i >> (2 * axis)) % 4]
            }),
        ),
        ("one", Array2::from_elem((1, axes), 0.377)),
    ]
}

fn check_errors<T: Real>(tolerances: &[f64]) {
    for grid in [Grid::two(24, 17), Grid::three(16, 20, 17)] {
        for trajectory in trajectories(grid.axes) {
            let exact = Exact::new(grid, trajectory);
            for tolerance in tolerances {
                for oversampling in [2.0, 1.5, 1.25] {
                    let Ok(kernel) = SpreadingKernel::new::<T>(*tolerance, oversampling, grid.axes)
                    else {
                        // 16 cells do not suffice at low oversampling.
                        assert!(oversampling < 2.0, "{tolerance}");
                        continue;
                    };
                    let nufft = Nufft::with_kernel(grid, exact.trajectory.view(), kernel);
                    exact.check::<T>(&nufft.unwrap(), *tolerance);
                }
            }
        }
    }
}

#[test]
fn axes_of_any_length_meet_the_tolerance() {
    for grid in [
        Grid::two(1, 5),
        Grid::two(37, 2),
        Grid::three(3, 1, 7),
        Grid::three(6, 10, 13),
    ] {
        for trajectory in trajectories(grid.axes) {
            let exact = Exact::new(grid, trajectory);
            for tolerance in [1e-2, 1e-4, 1e-6] {
                let nufft = Nufft::new(grid, exact.trajectory.view(), tolerance);
                exact.check::<f64>(&nufft.unwrap(), tolerance);
                let nufft = Nufft::new(grid, exact.trajectory.view(), tolerance);
                exact.check::<f32>(&nufft.unwrap(), tolerance);
            }
        }
    }
}

#[test]
fn errors_meet_the_tolerance_in_double_precision() {
    check_errors::<f64>(&[1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12]);
}

#[test]
fn errors_meet_the_tolerance_in_single_precision() {
    check_errors::<f32>(&[1e-2, 1e-3, 1e-4, 1e-5, 1e-6]);
}

/// 64², 5 000 random points, type 1, double precision: the errors that FINUFFT reaches.
#[test]
fn errors_are_those_of_finufft() {
    let grid = Grid::two(64, 64);
    let trajectory = random(5000, 2);
    let samples = values(5000, 6);
    let (_, exact) = sums(grid, &trajectory, &values(64 * 64, 5), &samples);
    for (tolerance, known) in [
        (1e-2, 7.1e-3),
        (1e-4, 1.0e-4),
        (1e-6, 1.5e-6),
        (1e-9, 7.3e-10),
        (1e-12, 8.2e-13),
    ] {
        let nufft = Nufft::<f64>::new(grid, trajectory.view(), tolerance).unwrap();
        let mut image = vec![Complex::default(); grid.voxels()];
        nufft.adjoint(&samples, &mut image);
        let error = error(&image, &exact, expected_norm(&samples, image.len()));
        // The mean over 5 000 samples and 4 096 modes equals the expected error to a few per cent.
        assert!(
            error <= 1.1 * tolerance.max(known),
            "{tolerance:e}: {error:e}"
        );
    }
}

/// ⟨Fρ, d⟩ = ⟨ρ, Fᴴd⟩ to rounding, for any tolerance.
fn adjointness<T: Real>(rounding: f64) {
    for grid in [
        Grid::two(40, 31),
        Grid::two(1, 50),
        Grid::three(9, 8, 11),
        Grid::three(1, 7, 1),
    ] {
        for (name, trajectory) in trajectories(grid.axes) {
            let nufft = Nufft::<T>::new(grid, trajectory.view(), 1e-3).unwrap();
            let image = narrowed::<T>(&values(grid.voxels(), 1));
            let samples = narrowed::<T>(&values(trajectory.nrows(), 2));
            let mut forward = vec![Complex::default(); samples.len()];
            nufft.forward(&image, &mut forward);
            let mut adjoint = vec![Complex::default(); image.len()];
            nufft.adjoint(&samples, &mut adjoint);
            let inner = |a: &[Complex<T>], b: &[Complex<T>]| -> (Complex<f64>, f64) {
                let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
                let products = || a.iter().zip(b).map(|(a, b)| wide(a).conj() * wide(b));
                (products().sum(), products().map(|p| p.norm()).sum())
            };
            let (left, scale) = inner(&samples, &forward);
            let (right, other) = inner(&adjoint, &image);
            assert!(
                (left - right).norm() <= rounding * scale.max(other),
                "{name} {:?}: {left} {right}",
                grid.shape
            );
        }
    }
}

#[test]
fn the_adjoint_is_exact_to_rounding() {
    adjointness::<f64>(1e-14);
    adjointness::<f32>(3e-6);
}

#[test]
fn any_number_of_threads_gives_identical_bits() {
    // More points than a subproblem has, many of them in one pencil.
    let mut trajectory = random(60_000, 2);
    for mut k in trajectory.rows_mut().into_iter().take(40_000) {
        k *= 0.1;
    }
    let grid = Grid::two(80, 72);
    let images = 3;
    let samples = narrowed::<f32>(&values(images * trajectory.nrows(), 3));
    let results: Vec<_> = [1, 2, 5]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let nufft = Nufft::<f32>::new(grid, trajectory.view(), 1e-4).unwrap();
                let mut image = vec![Complex::default(); images * grid.voxels()];
                nufft.adjoint(&samples, &mut image);
                let mut forward = vec![Complex::default(); samples.len()];
                nufft.forward(&image, &mut forward);
                (image, forward)
            })
        })
        .collect();
    assert!(results[0] == results[1] && results[0] == results[2]);
    assert!(results[0].0.iter().any(|v| v.norm_sqr() > 0.0));
}

#[test]
fn images_of_a_batch_are_independent() {
    let grid = Grid::two(20, 30);
    let trajectory = random(200, 2);
    let nufft = Nufft::<f64>::new(grid, trajectory.view(), 1e-6).unwrap();
    let samples = values(3 * 200, 4);
    let mut together = vec![Complex::default(); 3 * grid.voxels()];
    nufft.adjoint(&samples, &mut together);
    for (samples, together) in samples.chunks(200).zip(together.chunks(grid.voxels())) {
        let mut alone = vec![Complex::default(); grid.voxels()];
        nufft.adjoint(samples, &mut alone);
        assert!(alone == together);
    }
}

#[test]
fn invalid_arguments_are_rejected() {
    let grid = Grid::two(8, 8);
    let rejection = |grid: Grid, trajectory: Array2<f64>, tolerance: f64| {
        let Err(error) = Nufft::<f32>::new(grid, trajectory.view(), tolerance) else {
            panic!("it was accepted");
        };
        error.to_string()
    };
    assert!(rejection(grid, random(5, 2), 1e-9).contains("expected at least"));
    assert!(rejection(grid, random(5, 3), 1e-3).contains("shape"));
    assert!(
        rejection(grid, Array2::from_elem((5, 2), f64::NAN), 1e-3)
            .contains("expected finite values")
    );
    assert!(rejection(Grid::two(0, 8), random(5, 2), 1e-3).contains("at least one voxel"));
    let none = Nufft::<f32>::new(grid, random(0, 2).view(), 1e-3).unwrap();
    let mut image = vec![Complex::new(1.0, 1.0); 64];
    none.adjoint(&[], &mut image);
    assert!(image.iter().all(|v| v.norm_sqr() == 0.0));
}
