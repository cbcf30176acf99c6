//! The direct operators in the emulator against plain sums in double precision.

use std::f64::consts::TAU;

use super::{Direct, Functions, point_spread};
use crate::gpu::{EmulatedMachine, Machine};
use crate::mri::{FieldBasis, Grid, Trigonometry};
use ndarray::{Array1, Array2};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
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

/// k·x in turns, (sample, voxel).
fn phases(grid: Grid, trajectory: &Array2<f64>) -> Array2<f64> {
    let [slices, rows, columns] = grid.shape;
    let place = |n: usize, extent: usize| n as f64 - (extent / 2) as f64;
    Array2::from_shape_fn((trajectory.nrows(), grid.voxels()), |(m, n)| {
        let at = [
            place(n % columns, columns),
            place(n / columns % rows, rows),
            place(n / columns / rows, slices),
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

fn on(
    machine: &EmulatedMachine,
    values: &[Complex<f32>],
) -> <EmulatedMachine as Machine>::Buffer<Complex32> {
    let mut buffer = machine.alloc("a test", values.len()).expect("memory");
    machine.upload(&mut buffer, values).expect("an upload");
    buffer
}

fn back(
    machine: &EmulatedMachine,
    buffer: &<EmulatedMachine as Machine>::Buffer<Complex32>,
    len: usize,
) -> Vec<Complex<f32>> {
    let mut values = vec![Complex::new(0.0, 0.0); len];
    machine.download(buffer, &mut values).expect("a download");
    values
}

/// Two and three axes, one image and several, few samples (cut into parts) and many.
#[test]
fn both_ways_equal_the_definition() {
    for (grid, samples, batch) in [
        (Grid::two(9, 13), 50, 3),
        (Grid::two(12, 10), 300, 1),
        (Grid::three(3, 6, 7), 170, 2),
    ] {
        let machine = EmulatedMachine::new();
        let k = trajectory(samples, grid.axes);
        let phases = phases(grid, &k);
        for (trigonometry, most) in [
            (Trigonometry::Accurate, 5e-7),
            (Trigonometry::Hardware, 1e-6),
        ] {
            let direct =
                Direct::new(&machine, grid, &k, None, trigonometry, batch).expect("a plan");
            let data = noise(1, batch * samples);
            let mut images = on(&machine, &noise(9, batch * grid.voxels()));
            direct
                .adjoint(&machine, &on(&machine, &data), &mut images, batch)
                .expect("a launch");
            let found = back(&machine, &images, batch * grid.voxels());
            let off = error(&found, &adjoint(&phases, &data));
            assert!(off <= most, "{grid:?}: {off:.1e}");

            let values = noise(2, batch * grid.voxels());
            let mut there = on(&machine, &noise(8, batch * samples));
            direct
                .forward(&machine, &on(&machine, &values), &mut there, batch)
                .expect("a launch");
            let found = back(&machine, &there, batch * samples);
            let off = error(&found, &forward(&phases, &values));
            assert!(off <= most, "{grid:?}: {off:.1e}");
        }
    }
}

#[test]
fn the_point_spread_is_that_of_the_weights() {
    let machine = EmulatedMachine::new();
    let grid = Grid::two(5, 4);
    let k = trajectory(31, 2);
    let weights = Array1::from_iter((0..31).map(|m| f64::from(m) / 31.0));
    let q = point_spread(
        &machine,
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
    let off = error(&back(&machine, &q, grid.doubled().voxels()), &expected);
    assert!(off <= 5e-7, "{off:.1e}");
}

#[test]
fn more_images_than_planned_are_refused() {
    let machine = EmulatedMachine::new();
    let grid = Grid::two(3, 3);
    let direct = Direct::new(
        &machine,
        grid,
        &trajectory(4, 2),
        None,
        Trigonometry::Accurate,
        1,
    )
    .expect("a plan");
    let data = on(&machine, &noise(1, 8));
    let mut images = on(&machine, &noise(1, 18));
    assert!(direct.adjoint(&machine, &data, &mut images, 2).is_err());
    assert!(
        Direct::new(
            &machine,
            grid,
            &trajectory(4, 3),
            None,
            Trigonometry::Accurate,
            1
        )
        .is_err()
    );
}

/// Off-resonance of a few turns, and more functions than the kernel keeps in registers.
#[test]
fn a_field_basis_adds_its_phases() {
    for (grid, functions) in [(Grid::two(7, 9), 1), (Grid::three(2, 5, 4), 4)] {
        let machine = EmulatedMachine::new();
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
            &machine,
            grid,
            &k,
            Some(&field),
            Trigonometry::Accurate,
            batch,
        )
        .expect("a plan");
        let data = noise(1, batch * samples);
        let mut images = on(&machine, &noise(9, batch * grid.voxels()));
        direct
            .adjoint(&machine, &on(&machine, &data), &mut images, batch)
            .expect("a launch");
        let off = error(
            &back(&machine, &images, batch * grid.voxels()),
            &adjoint(&phases, &data),
        );
        assert!(off <= 5e-7, "{grid:?}: {off:.1e}");
        let values = noise(2, batch * grid.voxels());
        let mut there = on(&machine, &noise(8, batch * samples));
        direct
            .forward(&machine, &on(&machine, &values), &mut there, batch)
            .expect("a launch");
        let off = error(
            &back(&machine, &there, batch * samples),
            &forward(&phases, &values),
        );
        assert!(off <= 5e-7, "{grid:?}: {off:.1e}");
    }
}

#[test]
fn phases_without_a_fraction_are_refused() {
    let functions = Functions::new(
        Array2::from_elem((2, 1), 1e6),
        Array2::from_elem((1, 3), 1e6),
    )
    .expect("functions");
    let plan = Direct::of_functions(
        &EmulatedMachine::new(),
        &functions,
        Trigonometry::Accurate,
        1,
    );
    assert!(plan.is_err());
    assert!(Functions::new(Array2::zeros((2, 1)), Array2::zeros((2, 3))).is_err());
    assert!(Functions::new(Array2::from_elem((2, 1), f64::NAN), Array2::zeros((1, 3))).is_err());
}
