//! The direct operators in the emulator compared with plain sums in double precision.

use std::f64::consts::TAU;

use super::{Direct, Functions, point_spread};
use crate::{FieldBasis, Grid, Trigonometry};
use ndarray::{Array1, Array2};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use warpstride_cuda::gpu::{Device, EmulatedDevice};
use warpstride_device::Complex32;

type Wide = Complex<f64>;

fn noise(seed: u64, len: usize) -> Vec<Complex<f32>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut number = || 2.0 * random.random::<f32>() - 1.0;
    (0..len).map(|_| Complex::new(number(), number())).collect()
}

fn trajectory(samples: usize, axes: usize) -> Array2<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    Array2::from_shape_fn((samples, axes), |_| random.random::<f64>() - 0.5)
}

/// k·x in cycles, (sample, voxel).
fn phases(grid: Grid, trajectory: &Array2<f64>) -> Array2<f64> {
    let [slices, rows, columns] = grid.shape;
    let position = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    Array2::from_shape_fn((trajectory.nrows(), grid.voxels()), |(m, n)| {
        let at = [
            position(n % columns, columns),
            position(n / columns % rows, rows),
            position(n / columns / rows, slices),
        ];
        let k = trajectory.row(m);
        k.iter().zip(at).map(|(k, x)| k * x).sum()
    })
}

fn wide(value: Complex<f32>) -> Wide {
    Wide::new(value.re.into(), value.im.into())
}

fn adjoint(phases: &Array2<f64>, values: &[Complex<f32>]) -> Vec<Wide> {
    let (samples, voxels) = phases.dim();
    let images = values.chunks(samples);
    images
        .flat_map(|data| {
            (0..voxels).map(|n| {
                let terms = data.iter().enumerate();
                terms
                    .map(|(m, d)| wide(*d) * Wide::cis(TAU * phases[[m, n]]))
                    .sum()
            })
        })
        .collect()
}

fn forward(phases: &Array2<f64>, values: &[Complex<f32>]) -> Vec<Wide> {
    let (samples, voxels) = phases.dim();
    let images = values.chunks(voxels);
    images
        .flat_map(|image| {
            (0..samples).map(|m| {
                let terms = image.iter().enumerate();
                terms
                    .map(|(n, rho)| wide(*rho) * Wide::cis(-TAU * phases[[m, n]]))
                    .sum()
            })
        })
        .collect()
}

fn error(found: &[Complex<f32>], expected: &[Wide]) -> f64 {
    let away: f64 = found
        .iter()
        .zip(expected)
        .map(|(f, e)| (wide(*f) - e).norm_sqr())
        .sum();
    let norm: f64 = expected.iter().map(Wide::norm_sqr).sum();
    (away / norm).sqrt()
}

fn upload(
    device: &EmulatedDevice,
    values: &[Complex<f32>],
) -> <EmulatedDevice as Device>::Buffer<Complex32> {
    let mut buffer = device.alloc("a test", values.len()).expect("memory");
    device.upload(&mut buffer, values).expect("an upload");
    buffer
}

fn download(
    device: &EmulatedDevice,
    buffer: &<EmulatedDevice as Device>::Buffer<Complex32>,
    len: usize,
) -> Vec<Complex<f32>> {
    let mut values = vec![Complex::new(0.0, 0.0); len];
    device.download(buffer, &mut values).expect("a download");
    values
}

/// Two and three axes, one image and several, few samples (split into parts) and many.
#[test]
fn both_directions_equal_the_definition() {
    for (grid, samples, batch) in [
        (Grid::two(9, 13), 50, 3),
        (Grid::two(12, 10), 300, 1),
        (Grid::three(3, 6, 7), 170, 2),
    ] {
        let device = EmulatedDevice::new();
        let k = trajectory(samples, grid.axes);
        let phases = phases(grid, &k);
        for (trigonometry, most) in [
            (Trigonometry::Accurate, 5e-7),
            (Trigonometry::Hardware, 1e-6),
        ] {
            let direct = Direct::new(&device, grid, &k, None, trigonometry, batch).expect("a plan");
            let data = noise(1, batch * samples);
            let mut images = upload(&device, &noise(9, batch * grid.voxels()));
            direct
                .adjoint(&device, &upload(&device, &data), &mut images, batch)
                .expect("a launch");
            let found = download(&device, &images, batch * grid.voxels());
            let difference = error(&found, &adjoint(&phases, &data));
            assert!(difference <= most, "{grid:?}: {difference:.1e}");

            let values = noise(2, batch * grid.voxels());
            let mut transformed = upload(&device, &noise(8, batch * samples));
            direct
                .forward(&device, &upload(&device, &values), &mut transformed, batch)
                .expect("a launch");
            let found = download(&device, &transformed, batch * samples);
            let difference = error(&found, &forward(&phases, &values));
            assert!(difference <= most, "{grid:?}: {difference:.1e}");
        }
    }
}

#[test]
fn the_point_spread_is_that_of_the_weights() {
    let device = EmulatedDevice::new();
    let grid = Grid::two(5, 4);
    let k = trajectory(31, 2);
    let weights = Array1::from_iter((0..31).map(|m| f64::from(m) / 31.0));
    let q = point_spread(
        &device,
        grid,
        &k,
        Some(weights.view()),
        Trigonometry::Accurate,
    )
    .expect("Q");
    let values: Vec<_> = weights
        .iter()
        .map(|w| Complex::new(*w as f32, 0.0))
        .collect();
    let expected = adjoint(&phases(grid.doubled(), &k), &values);
    let difference = error(&download(&device, &q, grid.doubled().voxels()), &expected);
    assert!(difference <= 5e-7, "{difference:.1e}");
}

#[test]
fn more_images_than_planned_are_rejected() {
    let device = EmulatedDevice::new();
    let grid = Grid::two(3, 3);
    let direct = Direct::new(
        &device,
        grid,
        &trajectory(4, 2),
        None,
        Trigonometry::Accurate,
        1,
    )
    .expect("a plan");
    let data = upload(&device, &noise(1, 8));
    let mut images = upload(&device, &noise(1, 18));
    assert!(direct.adjoint(&device, &data, &mut images, 2).is_err());
    assert!(
        Direct::new(
            &device,
            grid,
            &trajectory(4, 3),
            None,
            Trigonometry::Accurate,
            1
        )
        .is_err()
    );
}

/// Off-resonance of a few cycles, and more functions than the kernel holds in registers.
#[test]
fn a_field_basis_adds_its_phases() {
    for (grid, functions) in [(Grid::two(7, 9), 1), (Grid::three(2, 5, 4), 4)] {
        let device = EmulatedDevice::new();
        let (samples, batch) = (70, 5);
        let k = trajectory(samples, grid.axes);
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let mut number = |most: f64| most * (2.0 * random.random::<f64>() - 1.0);
        let field = FieldBasis {
            coefficients: Array2::from_shape_fn((samples, functions), |_| number(0.1)),
            maps: Array2::from_shape_fn((functions, grid.voxels()), |_| number(150.0)),
        };
        let phases = phases(grid, &k) + field.coefficients.dot(&field.maps);
        let direct = Direct::new(
            &device,
            grid,
            &k,
            Some(&field),
            Trigonometry::Accurate,
            batch,
        )
        .expect("a plan");
        let data = noise(1, batch * samples);
        let mut images = upload(&device, &noise(9, batch * grid.voxels()));
        direct
            .adjoint(&device, &upload(&device, &data), &mut images, batch)
            .expect("a launch");
        let difference = error(
            &download(&device, &images, batch * grid.voxels()),
            &adjoint(&phases, &data),
        );
        assert!(difference <= 5e-7, "{grid:?}: {difference:.1e}");
        let values = noise(2, batch * grid.voxels());
        let mut transformed = upload(&device, &noise(8, batch * samples));
        direct
            .forward(&device, &upload(&device, &values), &mut transformed, batch)
            .expect("a launch");
        let difference = error(
            &download(&device, &transformed, batch * samples),
            &forward(&phases, &values),
        );
        assert!(difference <= 5e-7, "{grid:?}: {difference:.1e}");
    }
}

#[test]
fn phases_without_an_accurate_fraction_are_rejected() {
    let functions = Functions::new(
        Array2::from_elem((2, 1), 1e6),
        Array2::from_elem((1, 3), 1e6),
    )
    .expect("functions");
    let plan = Direct::of_functions(
        &EmulatedDevice::new(),
        &functions,
        Trigonometry::Accurate,
        1,
    );
    assert!(plan.is_err());
    assert!(Functions::new(Array2::zeros((2, 1)), Array2::zeros((2, 3))).is_err());
    assert!(Functions::new(Array2::from_elem((2, 1), f64::NAN), Array2::zeros((1, 3))).is_err());
}
