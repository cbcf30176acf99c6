//! Comparison with results of other programs: sums of a few samples to the last digits, and the
//! convergence of conjugate gradients to a phantom whose samples are analytic.

use ndarray::{Array1, Array2};
use num_complex::Complex;
use std::sync::Arc;
use warpstride::mri::cpu::direct::{fhd, point_spread};
use warpstride::mri::cpu::{
    ConjugateGradients, CpuEngine, Direct, Gram, Sense, Toeplitz, norm_squared,
};
use warpstride::mri::phantom::Phantom;
use warpstride::mri::{
    Encoding, Engine, Grid, Method, OperatorName, Problem, Recipe, Trigonometry,
};
use warpstride_tests::npz::Archive;
use warpstride_tests::{shared_data, skipped};

fn close(found: Complex<f64>, expected: Complex<f64>) -> bool {
    (found - expected).norm() < 1e-9 * expected.norm()
}

#[test]
fn the_direct_sums_of_few_voxels() {
    let path = match shared_data("mri/fhd_tiny_ref.npz") {
        Ok(path) => path,
        Err(why) => return skipped("the direct sums of few voxels", &why),
    };
    let mut file = Archive::open(&path).unwrap();
    let mut matrix = |name: &str| {
        let (shape, values) = file.real(name).unwrap();
        Array2::from_shape_vec((shape[0], shape[1]), values).unwrap()
    };
    let (k, x) = (matrix("k"), matrix("x"));
    let mut series = |name: &str| file.complex(name).unwrap().1;
    let (phi, d) = (series("phi"), series("d"));
    let found = fhd(k.view(), x.view(), &phi, &d).unwrap();
    assert!(close(
        found[0],
        Complex::new(49.137_316_840_347_225, -58.593_239_068_396_58)
    ));
    assert!(close(
        found[511],
        Complex::new(-126.737_955_489_699_03, -140.458_914_424_531_98)
    ));
    let all = series("fhd");
    assert_eq!(found.len(), all.len());
    assert!(found.iter().zip(&all).all(|(f, e)| close(*f, *e)));
    let found = point_spread(k.view(), x.view(), &phi).unwrap();
    let all = series("Q");
    assert!(found.iter().zip(&all).all(|(f, e)| close(*f, *e)));
    let origin = Array2::zeros((1, 3));
    let at_origin = point_spread(k.view(), origin.view(), &phi).unwrap();
    assert!(close(at_origin[0], Complex::from(6_114.420_971_36)));
}

/// Voxels along an axis of the phantom's reference, in [−1, 1].
const N: usize = 256;

/// The phantom's samples with their weights, and the reference image, (row, column).
fn phantom() -> Option<(Problem, Vec<f64>)> {
    let path = match shared_data("mri/shepp_logan_radial_256x402_ref.npz") {
        Ok(path) => path,
        Err(why) => {
            skipped("the analytic phantom", &why);
            return None;
        }
    };
    let mut file = Archive::open(&path).unwrap();
    // Conversion from cycles per unit length to cycles per voxel.
    let voxel = 2.0 / N as f64;
    let mut axis = |name: &str| file.real(name).unwrap().1;
    let (kx, ky, weights) = (axis("kx"), axis("ky"), axis("dcf"));
    let transposed = axis("ref");
    let k = Array2::from_shape_fn((kx.len(), 2), |(m, a)| [kx[m], ky[m]][a] * voxel);
    let samples = file.complex("ksp").unwrap().1;
    let samples = Array2::from_shape_vec((1, kx.len()), samples).unwrap();
    let problem = Problem::new(Grid::two(N, N), k, samples).unwrap();
    let problem = problem.with_weights(Array1::from(weights)).unwrap();
    // The first axis of the file is x.
    let reference = (0..N * N).map(|n| transposed[n % N * N + n / N]).collect();
    Some((problem, reference))
}

/// The simulator's phantom has the transform that another program computed.
#[test]
fn the_transform_of_the_phantom() {
    let path = match shared_data("mri/shepp_logan_radial_256x402_ref.npz") {
        Ok(path) => path,
        Err(why) => return skipped("the transform of the phantom", &why),
    };
    let mut file = Archive::open(&path).unwrap();
    let mut axis = |name: &str| file.real(name).unwrap().1;
    let (kx, ky) = (axis("kx"), axis("ky"));
    let expected = file.complex("ksp").unwrap().1;
    let phantom = Phantom::shepp_logan(2);
    // The file is in single precision.
    let largest = expected.iter().fold(0.0, |a: f64, v| a.max(v.norm()));
    for ((kx, ky), expected) in kx.iter().zip(&ky).zip(&expected) {
        let found = phantom.transform(&[*kx, *ky]);
        let error = (found - expected).norm() / largest;
        assert!(
            error < 1e-7,
            "at ({kx}, {ky}): {found}, expected {expected}"
        );
    }
}

/// NRMSE and PSNR of the real part times `scale`.
fn compare(image: &[Complex<f64>], scale: f64, reference: &[f64]) -> (f64, f64) {
    let square: f64 = image
        .iter()
        .zip(reference)
        .map(|(v, r)| (v.re * scale - r).powi(2))
        .sum();
    let size: f64 = reference.iter().map(|r| r * r).sum();
    let largest = reference.iter().fold(0.0, |a: f64, r| a.max(r.abs()));
    let mean = square / reference.len() as f64;
    (
        (square / size).sqrt(),
        20.0 * (largest / mean.sqrt()).log10(),
    )
}

/// After iterations 1, 2, 3, 5, 10 and 20: the residual with the digits of an independent program
/// (NumPy: dense exponentials, matrix products, the method as published), NRMSE and PSNR in dB.
const PHANTOM: [(usize, f64, f64, f64); 6] = [
    (1, 1.010_098_067_365e-1, 0.3802, 20.73),
    (2, 4.897_040_571_070e-3, 0.2670, 23.80),
    (3, 9.081_681_539_094e-4, 0.2481, 24.44),
    (5, 1.570_969_756_256e-4, 0.2319, 25.02),
    (10, 6.538_529_790_640e-6, 0.2188, 25.53),
    (20, 5.745_361_651_427e-7, 0.2087, 25.94),
];

#[test]
fn conjugate_gradients_converge_to_the_phantom_as_published() {
    let Some((problem, reference)) = phantom() else {
        return;
    };
    // The samples are integrals, (2/N)² F ρ; the method's image lacks that factor.
    let scale = (N as f64 / 2.0).powi(2);
    let (grid, k) = (problem.grid(), problem.trajectory().view());
    let weights = problem.weights().unwrap().to_vec();
    let direct = Direct::<f64>::new(grid, k, None).unwrap();
    let weighted: Vec<_> = problem
        .samples()
        .iter()
        .zip(&weights)
        .map(|(d, w)| d * w)
        .collect();
    let mut b = vec![Complex::default(); N * N];
    direct.adjoint(&weighted, &mut b);
    let doubled = Direct::<f64>::new(grid.doubled(), k, None).unwrap();
    let toeplitz = Toeplitz::<f64>::new(grid, &doubled, Some(&weights)).unwrap();
    // One application of each form, before twenty of the faster one.
    let (mut once, mut samples) = (b.clone(), weighted);
    toeplitz.apply(&mut once);
    direct.forward(&b, &mut samples);
    samples.iter_mut().zip(&weights).for_each(|(d, w)| *d *= w);
    let mut again = vec![Complex::default(); N * N];
    direct.adjoint(&samples, &mut again);
    let difference: Vec<_> = once.iter().zip(&again).map(|(a, b)| a - b).collect();
    let difference = (norm_squared(&difference) / norm_squared(&again)).sqrt();
    assert!(difference < 1e-12, "{difference:e}");
    let mut sense = Sense::new(Gram::Toeplitz(Arc::new(toeplitz)), None);
    let mut cg = ConjugateGradients::new(b, 0.0);
    let mut done = 0;
    for (iteration, residual, nrmse, psnr) in PHANTOM {
        let mut found = 1.0;
        while done < iteration {
            found = cg.step(&mut sense);
            done += 1;
        }
        let error = (found / residual - 1.0).abs();
        assert!(error < 1e-6, "{iteration}: {found} {error:e}");
        let (n, p) = compare(cg.image(), scale, &reference);
        assert!((n - nrmse).abs() <= 5.5e-5, "{iteration}: {n}");
        assert!((p - psnr).abs() <= 5.5e-3, "{iteration}: {p}");
    }
}

#[test]
fn the_adjoint_with_a_ramp_has_the_reference_psnr() {
    let Some((problem, reference)) = phantom() else {
        return;
    };
    // The weights of the file are |k|: an integral over 402 spokes with half a cycle between
    // samples.
    let scale = 0.5 * std::f64::consts::PI / 402.0;
    let recipe = Recipe {
        operator: OperatorName::Direct,
        method: Method::Adjoint,
        iterations: 0,
        lambda: 0.0,
        tolerance: 1e-12,
        trigonometry: Trigonometry::Accurate,
        intensity_correction: false,
        min_residual: 0.0,
        min_iterations: 0,
        rounding: 0.0,
    };
    let mut engine = CpuEngine::<f64>::new(&problem, &recipe).unwrap();
    let image = engine.image().unwrap();
    let (_, psnr) = compare(image.as_slice().unwrap(), scale, &reference);
    assert!((psnr - 20.10).abs() <= 5.5e-3, "{psnr}");
}
