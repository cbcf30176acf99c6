//! A phantom of ellipses, and an image's distance from it.

use crate::Grid;
use num_complex::Complex;

/// Amplitude, centre (x, y), semi-axes (x, y), angle in degrees: a head with two ventricles, a
/// tumour and a fissure; lengths in half the field of view.
const ELLIPSES: [[f64; 6]; 6] = [
    [1.0, 0.0, 0.0, 0.70, 0.90, 0.0],
    [-0.7, 0.0, -0.02, 0.65, 0.85, 0.0],
    [-0.2, 0.22, 0.0, 0.11, 0.31, -18.0],
    [-0.2, -0.22, 0.0, 0.16, 0.41, 18.0],
    [0.3, 0.05, 0.35, 0.20, 0.25, 0.0],
    [0.4, -0.05, -0.6, 0.05, 0.03, 0.0],
];

/// (slice, row, column); in 3-D the ellipses shrink to a point at either end of the slices.
pub(super) fn phantom(grid: Grid) -> Vec<f64> {
    let [slices, rows, columns] = grid.shape;
    let at = |n: usize, extent: usize| 2.0 * (n as f64 - (extent / 2) as f64) / extent as f64;
    let mut image = Vec::with_capacity(grid.voxels());
    for slice in 0..slices {
        let z = if grid.axes == 3 {
            at(slice, slices)
        } else {
            0.0
        };
        for row in 0..rows {
            for column in 0..columns {
                let (x, y) = (at(column, columns), at(row, rows));
                image.push(ELLIPSES.iter().map(|e| ellipse(e, x, y, z)).sum());
            }
        }
    }
    image
}

fn ellipse([amplitude, cx, cy, a, b, angle]: &[f64; 6], x: f64, y: f64, z: f64) -> f64 {
    let (sin, cos) = angle.to_radians().sin_cos();
    let (x, y) = (x - cx, y - cy);
    let (u, v) = ((x * cos + y * sin) / a, (y * cos - x * sin) / b);
    if u * u + v * v + z * z <= 1.0 {
        *amplitude
    } else {
        0.0
    }
}

/// 20 log10(max|truth|/√MSE) of `image` after the best complex scaling.
pub(super) fn psnr(image: &[Complex<f32>], truth: &[f64]) -> f64 {
    let wide = |v: &Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
    let norm: f64 = image.iter().map(|v| wide(v).norm_sqr()).sum();
    let product: Complex<f64> = image
        .iter()
        .zip(truth)
        .map(|(v, t)| wide(v).conj() * t)
        .sum();
    let scale = if norm > 0.0 { product / norm } else { product };
    let squared_errors = image
        .iter()
        .zip(truth)
        .map(|(v, t)| (wide(v) * scale - t).norm_sqr());
    let mse = squared_errors.sum::<f64>() / truth.len() as f64;
    let largest = truth
        .iter()
        .fold(0.0, |largest: f64, t| largest.max(t.abs()));
    20.0 * (largest / mse.sqrt()).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psnr_of_a_known_error() {
        let truth = [1.0, 0.0, 0.0, 0.0];
        // Orthogonal to the truth except for a scaled truth: 1 + 0.1 elsewhere, for any scale.
        let image = [2.0, 0.0, 0.2, 0.0].map(|v| Complex::new(0.0_f32, v));
        // The best scale is 2/4.04 of the conjugate: 0.04/4.04 of |truth|² remains.
        let expected = 20.0 * (1.0 / (0.04_f64 / 4.04 / 4.0).sqrt()).log10();
        assert!((psnr(&image, &truth) - expected).abs() < 1e-5);
    }

    #[test]
    fn the_head_is_bright_at_the_rim_and_dark_outside() {
        let image = phantom(Grid::two(64, 64));
        assert!(image[0].abs() < f64::EPSILON);
        let rim = image[(32 - 28) * 64 + 32];
        assert!((rim - 1.0).abs() < f64::EPSILON, "{rim}");
    }
}
