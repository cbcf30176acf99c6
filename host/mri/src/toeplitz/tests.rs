//! The convolution is the double sum over differences, and its spectrum is real.

use super::*;
use std::f64::consts::TAU;

type C = Complex<f64>;

/// Points and weights.
fn points(axes: usize) -> Vec<([f64; 3], f64)> {
    (0..40)
        .map(|m| {
            let m = f64::from(m);
            let mut k = [(m * 0.377).sin(), (m * 0.771).cos(), (m * 1.13).sin()].map(|k| 0.5 * k);
            if axes == 2 {
                k[2] = 0.0;
            }
            (k, 0.3 + (m * 0.21).sin().abs())
        })
        .collect()
}

/// Q at a difference (slice, row, column).
fn at(points: &[([f64; 3], f64)], difference: [f64; 3]) -> C {
    let [z, y, x] = difference;
    let terms = points.iter();
    terms
        .map(|(k, w)| C::from_polar(*w, TAU * (k[0] * x + k[1] * y + k[2] * z)))
        .sum()
}

fn on_doubled(grid: Grid, points: &[([f64; 3], f64)]) -> Array3<C> {
    Array3::from_shape_fn(grid.doubled().shape, |(z, y, x)| {
        let [slices, rows, columns] = grid.doubled().shape.map(|n| (n / 2) as f64);
        at(
            points,
            [z as f64 - slices, y as f64 - rows, x as f64 - columns],
        )
    })
}

#[test]
fn the_spectrum_is_real_to_rounding_and_the_convolution_is_the_sum() {
    for grid in [
        Grid::two(1, 1),
        Grid::two(5, 4),
        Grid::two(1, 7),
        Grid::three(3, 4, 5),
        Grid::three(1, 2, 3),
    ] {
        let points = points(grid.axes);
        let q = on_doubled(grid, &points);
        let least = grid.shape.map(|n| 2 * n - 1);
        for padded in [padded_shape(grid), grid.doubled().shape, least] {
            let complex = transformed(grid, q.view(), padded);
            let scale = complex.iter().map(|c| c.norm()).fold(0.0, f64::max);
            let imaginary = complex.iter().map(|c| c.im.abs()).fold(0.0, f64::max);
            assert!(imaginary <= 1e-13 * scale, "{imaginary} of {scale}");

            // The kernel recovered from the spectrum: every difference that occurs, at its cyclic
            // position.
            let spectrum = spectrum(grid, q.view(), padded);
            let count = spectrum.len() as f64;
            for ((z, y, x), expected) in q.indexed_iter() {
                let voxels = grid.shape;
                let difference: [f64; 3] = std::array::from_fn(|axis| {
                    let middle = grid.doubled().shape[axis] / 2;
                    [z, y, x][axis] as f64 - middle as f64
                });
                if (0..3).any(|axis| difference[axis] <= -(voxels[axis] as f64)) {
                    continue;
                }
                let found: C = spectrum
                    .indexed_iter()
                    .map(|((p, q, r), value)| {
                        let cycles: f64 = [p, q, r]
                            .iter()
                            .zip(difference)
                            .zip(padded)
                            .map(|((p, d), n)| *p as f64 * d / n as f64)
                            .sum();
                        C::from_polar(value / count, TAU * cycles)
                    })
                    .sum();
                assert!(
                    (found - expected).norm() <= 1e-12 * scale,
                    "{found} {expected}"
                );
            }
        }
    }
}

#[test]
fn padded_grids_hold_all_differences() {
    for voxels in 1..700 {
        let [_, rows, columns] = padded_shape(Grid::two(voxels, 1));
        assert!(rows + 1 >= 2 * voxels && rows % 2 == 0 && smooth(rows));
        assert_eq!(columns, 2);
    }
    assert_eq!(padded_shape(Grid::three(128, 128, 128)), [256; 3]);
    assert_eq!(padded_shape(Grid::two(402, 256)), [1, 810, 512]);
}
