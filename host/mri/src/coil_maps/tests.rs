//! Coil maps compared with known sensitivities, and their defining properties.

use super::*;
use crate::cpu::Direct;

/// Smooth complex sensitivities of three coils around a disc.
fn sensitivity(coil: usize, x: f64, y: f64) -> Complex<f64> {
    let angle = coil as f64 * std::f64::consts::TAU / 3.0;
    let distance = (x - angle.cos()).powi(2) + (y - angle.sin()).powi(2);
    Complex::from_polar((-0.4 * distance).exp(), 0.5 * x + angle)
}

/// (coil, voxel) of the sensitivities and of the disc's coil images, and whether a voxel is well
/// inside.
fn disc(grid: Grid) -> (Array2<Complex<f64>>, Array2<Complex<f64>>, Vec<bool>) {
    let [_, rows, columns] = grid.shape;
    let at = |n: usize| {
        let x = (n % columns) as f64 / columns as f64 - 0.5;
        let y = (n / columns % rows) as f64 / rows as f64 - 0.5;
        (2.0 * x, 2.0 * y)
    };
    let radius = |n: usize| at(n).0.hypot(at(n).1);
    let maps = Array2::from_shape_fn((3, grid.voxels()), |(c, n)| {
        let (x, y) = at(n);
        sensitivity(c, x, y)
    });
    let images = Array2::from_shape_fn(maps.dim(), |(c, n)| {
        if radius(n) < 0.8 {
            maps[[c, n]]
        } else {
            Complex::default()
        }
    });
    let inside = (0..grid.voxels()).map(|n| radius(n) < 0.5).collect();
    (maps, images, inside)
}

fn spokes(grid: Grid, count: usize) -> Array2<f64> {
    let samples = grid.shape[2];
    Array2::from_shape_fn((count * samples, 2), |(m, axis)| {
        let angle = (m / samples) as f64 * std::f64::consts::PI / count as f64;
        let k = (m % samples) as f64 / samples as f64 - 0.5;
        k * [angle.cos(), angle.sin()][axis]
    })
}

#[test]
fn the_sensitivities_of_a_disc_are_found() {
    let grid = Grid::two(48, 48);
    let (truth, images, inside) = disc(grid);
    let trajectory = spokes(grid, 80);
    let direct = Direct::<f64>::new(grid, trajectory.view(), None).unwrap();
    let mut samples = Array2::zeros((3, trajectory.nrows()));
    direct.forward(images.as_slice().unwrap(), samples.as_slice_mut().unwrap());
    for method in [CoilMapMethod::LowPass, CoilMapMethod::Adaptive] {
        let maps = estimate(&direct, trajectory.view(), samples.view(), method).unwrap();
        for (n, inside) in inside.iter().enumerate() {
            let square: f64 = maps.column(n).iter().map(Complex::norm_sqr).sum();
            assert!((square - 1.0).abs() < 1e-12 || square == 0.0);
            if !inside {
                continue;
            }
            // Maps must be parallel to the truth: they have neither its length nor its phase.
            let product: Complex<f64> = truth
                .column(n)
                .iter()
                .zip(maps.column(n))
                .map(|(t, s)| t.conj() * s)
                .sum();
            let length: f64 = truth.column(n).iter().map(Complex::norm_sqr).sum();
            assert!(product.norm() > 0.99 * length.sqrt(), "{method:?} {n}");
        }
    }
}

#[test]
fn the_centre_has_the_weight_of_its_ball() {
    // n spokes with step 1/N: the cells of the other samples, |k| dk π/n each, and that of the
    // centre add up to the disc; with |k|² dk 2π/n to the ball.
    let n = 16;
    let dk = 1.0 / n as f64;
    let radius = (7.5) * dk;
    let sum = |grid: Grid| 2.0 * (1..8).map(|i| ramp(grid, f64::from(i) * dk)).sum::<f64>();
    let disc = (sum(Grid::two(n, n)) + ramp(Grid::two(n, n), 0.0)) * dk * std::f64::consts::PI;
    assert!((disc / (std::f64::consts::PI * radius * radius) - 1.0).abs() < 1e-12);
    let grid = Grid::three(n, n, n);
    let ball = (sum(grid) + ramp(grid, 0.0)) * dk * std::f64::consts::TAU;
    let volume = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    // The midpoint rule misses (1/12)dk² of each shell; the share of the centre completes the ball.
    let missing = 2.0 * 7.0 * dk.powi(3) / 12.0 * std::f64::consts::TAU;
    assert!(
        ((ball + missing) / volume - 1.0).abs() < 1e-12,
        "{}",
        ball / volume
    );
}

#[test]
fn zero_data_give_zero_maps_and_wrong_shapes_are_rejected() {
    let grid = Grid::two(8, 8);
    let trajectory = spokes(grid, 4);
    let direct = Direct::<f64>::new(grid, trajectory.view(), None).unwrap();
    let zero = Array2::zeros((2, trajectory.nrows()));
    for method in [CoilMapMethod::LowPass, CoilMapMethod::Adaptive] {
        let maps = estimate(&direct, trajectory.view(), zero.view(), method).unwrap();
        assert!(maps.iter().all(|s| *s == Complex::default()));
        let few = Array2::zeros((2, 5));
        assert!(estimate(&direct, trajectory.view(), few.view(), method).is_err());
        let flat = Array2::zeros((trajectory.nrows(), 3));
        assert!(estimate(&direct, flat.view(), zero.view(), method).is_err());
    }
}
