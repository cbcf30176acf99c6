//! Both forms compared with the sum as it is defined; adjointness; independence of the number of
//! threads.

use super::*;
use ndarray::Array2;
use std::f64::consts::TAU;

/// Numbers in −1 … 1 without a regularity that the sums could share.
fn wave(n: usize, seed: f64) -> Vec<f64> {
    (0..n)
        .map(|i| (seed * (i as f64 + 1.0).powi(2)).sin())
        .collect()
}

fn complex<T: Real>(n: usize, seed: f64) -> Vec<Complex<T>> {
    let (re, im) = (wave(n, seed), wave(n, seed + 0.37));
    let one = |(re, im): (&f64, &f64)| Complex::new(T::of(*re), T::of(*im));
    re.iter().zip(&im).map(one).collect()
}

fn trajectory(samples: usize, axes: usize) -> Array2<f64> {
    let values = wave(samples * axes, 0.731)
        .iter()
        .map(|v| v / 2.0)
        .collect();
    Array2::from_shape_vec((samples, axes), values).unwrap()
}

fn field(grid: Grid, samples: usize, functions: usize) -> FieldBasis {
    let array = |rows, columns, seed| {
        Array2::from_shape_vec((rows, columns), wave(rows * columns, seed)).unwrap()
    };
    FieldBasis {
        coefficients: array(samples, functions, 0.19) * 30.0,
        maps: array(functions, grid.voxels(), 0.57),
    }
}

/// k·x + Σ c ψ, in cycles.
fn cycles(grid: Grid, k: &Array2<f64>, field: Option<&FieldBasis>, m: usize, n: usize) -> f64 {
    let [slices, rows, columns] = grid.shape;
    let voxel = [n % columns, n / columns % rows, n / columns / rows];
    let size = [columns, rows, slices];
    let coordinates: f64 = (0..grid.axes)
        .map(|a| k[[m, a]] * (voxel[a] as f64 - (size[a] / 2) as f64))
        .sum();
    let field: f64 = field.map_or(0.0, |field| {
        (0..field.maps.nrows())
            .map(|b| field.coefficients[[m, b]] * field.maps[[b, n]])
            .sum()
    });
    coordinates + field
}

fn naive(
    grid: Grid,
    k: &Array2<f64>,
    field: Option<&FieldBasis>,
    image: &[Complex<f64>],
) -> Vec<Complex<f64>> {
    let sample = |m: usize| {
        let term =
            |(n, v): (usize, &Complex<f64>)| v * Complex::cis(-TAU * cycles(grid, k, field, m, n));
        image.iter().enumerate().map(term).sum()
    };
    (0..k.nrows()).map(sample).collect()
}

fn difference<T: Real>(found: &[Complex<T>], expected: &[Complex<f64>]) -> f64 {
    let errors = wide(found);
    let error: f64 = errors
        .iter()
        .zip(expected)
        .map(|(f, e)| (f - e).norm_sqr())
        .sum();
    let size: f64 = expected.iter().map(Complex::norm_sqr).sum();
    (error / size).sqrt()
}

/// Even, odd and single extents; fewer and more samples than a block, rows than a band.
fn cases() -> Vec<(Grid, usize)> {
    vec![
        (Grid::two(8, 6), 40),
        (Grid::two(7, 9), 129),
        (Grid::two(1, 5), 3),
        (Grid::two(40, 1), 520),
        (Grid::two(37, 16), 1030),
        (Grid::three(4, 5, 6), 77),
        (Grid::three(1, 3, 2), 5),
    ]
}

fn agrees<T: Real>(tolerance: f64, with_field: bool) {
    for (grid, samples) in cases() {
        let k = trajectory(samples, grid.axes);
        let field = with_field.then(|| field(grid, samples, 2));
        let direct = Direct::<T>::new(grid, k.view(), field.as_ref()).unwrap();
        let batch = 3;
        let voxels = grid.voxels();
        let images = complex::<T>(batch * voxels, 0.11);
        let mut found = vec![Complex::default(); batch * samples];
        direct.forward(&images, &mut found);
        for (image, found) in images.chunks(voxels).zip(found.chunks(samples)) {
            let expected = naive(grid, &k, field.as_ref(), &wide(image));
            let error = difference(found, &expected);
            assert!(error < tolerance, "{grid:?} {samples} {error:e}");
        }
        // ⟨Fρ, d⟩ = ⟨ρ, Fᴴd⟩: the adjoint is right because the forward sum is.
        let data = complex::<T>(batch * samples, 0.23);
        let mut back = vec![Complex::default(); batch * voxels];
        direct.adjoint(&data, &mut back);
        let product = |a: &[Complex<T>], b: &[Complex<T>]| -> Complex<f64> {
            wide(a).iter().zip(wide(b)).map(|(a, b)| a.conj() * b).sum()
        };
        for image in 0..batch {
            let s = image * samples..(image + 1) * samples;
            let v = image * voxels..(image + 1) * voxels;
            let left = product(&found[s.clone()], &data[s.clone()]);
            let right = product(&images[v.clone()], &back[v]);
            let size = norm(&found[s.clone()]) * norm(&data[s]);
            assert!(
                (left - right).norm() < tolerance * size,
                "{grid:?} {samples}"
            );
        }
    }
}

fn norm<T: Real>(a: &[Complex<T>]) -> f64 {
    wide(a).iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
}

#[test]
fn both_directions_equal_the_definition() {
    agrees::<f64>(2e-14, false);
    agrees::<f32>(5e-7, false);
}

#[test]
fn both_directions_equal_the_definition_with_a_field() {
    // Phases of up to 30 cycles from the field, rounded in double precision.
    agrees::<f64>(2e-13, true);
    agrees::<f32>(5e-7, true);
}

#[test]
fn the_adjoint_of_one_sample_is_its_plane_wave() {
    // Independent of the forward sum: one sample, with the phases of the voxels.
    let grid = Grid::three(3, 4, 5);
    let k = trajectory(1, 3);
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    let mut image = vec![Complex::default(); grid.voxels()];
    direct.adjoint(&[Complex::new(0.0, 2.0)], &mut image);
    for (n, value) in image.iter().enumerate() {
        let expected = Complex::new(0.0, 2.0) * Complex::cis(TAU * cycles(grid, &k, None, 0, n));
        assert!((value - expected).norm() < 1e-14, "{n}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let grid = Grid::two(70, 33);
    let k = trajectory(1500, 2);
    let direct = Direct::<f32>::new(grid, k.view(), None).unwrap();
    let data = complex::<f32>(2 * 1500, 0.3);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut images = vec![Complex::default(); 2 * grid.voxels()];
            direct.adjoint(&data, &mut images);
            let mut samples = vec![Complex::default(); data.len()];
            direct.forward(&images, &mut samples);
            (images, samples)
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn positions_off_the_grid_agree_with_the_grid_and_reject_wrong_shapes() {
    let grid = Grid::two(6, 5);
    let k = trajectory(50, 2);
    let position = |(n, a): (usize, usize)| match a {
        0 => (n % 5) as f64 - 2.0,
        _ => (n / 5) as f64 - 3.0,
    };
    let x = Array2::from_shape_fn((30, 2), position);
    let (phi, data) = (complex::<f64>(50, 0.7), complex::<f64>(50, 0.9));
    let direct = Direct::<f64>::new(grid, k.view(), None).unwrap();
    let mut expected = vec![Complex::default(); 30];
    let mu: Vec<_> = phi.iter().zip(&data).map(|(p, d)| p.conj() * d).collect();
    direct.adjoint(&mu, &mut expected);
    let found = fhd(k.view(), x.view(), &phi, &data).unwrap();
    assert!(difference(&found, &expected) < 1e-14);
    let squares: Vec<_> = phi.iter().map(|p| Complex::from(p.norm_sqr())).collect();
    direct.adjoint(&squares, &mut expected);
    let found = point_spread(k.view(), x.view(), &phi).unwrap();
    assert!(difference(&found, &expected) < 1e-14);
    assert!(fhd(k.view(), x.view(), &phi[1..], &data).is_err());
    assert!(fhd(k.view(), x.view(), &phi, &data[1..]).is_err());
    let flat = Array2::zeros((30, 1));
    assert!(point_spread(k.view(), flat.view(), &phi).is_err());
    assert!(Direct::<f64>::new(Grid::three(1, 6, 5), k.view(), None).is_err());
    let other = field(Grid::two(2, 2), 50, 1);
    assert!(Direct::<f64>::new(grid, k.view(), Some(&other)).is_err());
}
