//! Test specimens.

use super::constants::{BEAM, generator};
use ndarray::{Array2, ArrayViewMut2};
use num_complex::Complex;
use rand::RngExt;
use std::f64::consts::TAU;

/// Half width of soft edges, pixels.
const EDGE: f64 = 0.8;
/// Distance from an edge, pixels, from which on the hyperbolic tangent of its multiple is exactly
/// −1 in double precision.
const FADED: f64 = 22.0 * EDGE;

/// The specimen: a Siemens star of 18 spokes with rings, surrounding grains and a slowly varying
/// phase, all weakly absorbing.
pub(super) fn specimen(shape: [usize; 2], frame: usize, seed: u64) -> Array2<Complex<f64>> {
    let [rows, columns] = shape;
    let centre = [rows as f64 / 2.0, columns as f64 / 2.0];
    let lit = (rows.min(columns) as f64 - (1.0 - BEAM) * frame as f64).max(0.3 * frame as f64);
    let radius = 0.46 * lit;
    let mut random = generator(seed, u64::MAX);
    let grains: Vec<[f64; 4]> = (0..60)
        .map(|_| {
            let angle = TAU * random.random::<f64>();
            let r = radius * (1.05 + 0.5 * random.random::<f64>());
            [
                centre[0] + r * angle.sin(),
                centre[1] + r * angle.cos(),
                radius * (0.02 + 0.05 * random.random::<f64>()),
                0.3 + 0.6 * random.random::<f64>(),
            ]
        })
        .collect();
    Array2::from_shape_fn((rows, columns), |(row, column)| {
        let (y, x) = (row as f64 - centre[0], column as f64 - centre[1]);
        let (r, angle) = (y.hypot(x) / radius, y.atan2(x));
        // Edges are about a pixel wide, so that the specimen has no details beyond the detector's
        // reach.
        let soft = |distance: f64| 0.5 + 0.5 * (distance / EDGE).tanh();
        let spokes = soft((9.0 * angle).sin() * r * radius / 9.0);
        let gaps = [0.36, 0.68]
            .iter()
            .map(|g| soft((r - g).abs() * radius - 0.025 * radius));
        let star =
            spokes * gaps.product::<f64>() * soft((1.0 - r) * radius) * soft((r - 0.06) * radius);
        let grain: f64 = grains
            .iter()
            .map(|g| {
                let d = (row as f64 - g[0]).hypot(column as f64 - g[1]);
                g[3] * soft(g[2] - d)
            })
            .sum::<f64>()
            .min(1.5);
        let slow = 0.25 * (0.021 * y + 0.4).sin() * (0.017 * x - 0.2).cos();
        let thickness = star + 0.7 * grain;
        Complex::from_polar((-0.22 * thickness).exp(), 0.2 + slow - 0.9 * thickness)
    })
}

/// Writes a slice of weakly absorbing grains of different sizes to `slice` (row, column), which
/// nothing else is in.
pub(super) fn make_grains(mut slice: ArrayViewMut2<'_, Complex<f64>>, frame: usize, seed: u64) {
    let (rows, columns) = slice.dim();
    let centre = [rows as f64 / 2.0, columns as f64 / 2.0];
    let lit = (rows.min(columns) as f64 - (1.0 - BEAM) * frame as f64).max(0.3 * frame as f64);
    let radius = 0.46 * lit;
    let mut random = generator(seed, u64::MAX);
    let mut thickness = Array2::<f64>::zeros((rows, columns));
    for _ in 0..120 {
        let angle = TAU * random.random::<f64>();
        let from_centre = 1.3 * radius * random.random::<f64>().sqrt();
        let place = [
            centre[0] + from_centre * angle.sin(),
            centre[1] + from_centre * angle.cos(),
        ];
        let size = radius * (0.02 + 0.05 * random.random::<f64>());
        let height = 0.3 + 0.7 * random.random::<f64>();
        let reach = size + FADED;
        let range = |axis: usize, length: usize| {
            let first = (place[axis] - reach).floor().max(0.0) as usize;
            let end = ((place[axis] + reach).ceil() + 1.0).max(0.0) as usize;
            first.min(length)..end.min(length)
        };
        for row in range(0, rows) {
            for column in range(1, columns) {
                let distance = (row as f64 - place[0]).hypot(column as f64 - place[1]);
                thickness[[row, column]] +=
                    height * (0.5 + 0.5 * ((size - distance) / EDGE).tanh());
            }
        }
    }
    for (to, t) in slice.iter_mut().zip(thickness) {
        let t = t.min(1.5);
        *to = Complex::from_polar((-0.22 * t).exp(), -0.9 * t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond its box a grain adds exactly nothing.
    #[test]
    fn grains_are_zero_at_the_borders_of_their_boxes() {
        for beyond in [FADED, 2.0 * FADED, 1e4] {
            assert_eq!(0.5 + 0.5 * (-beyond / EDGE).tanh(), 0.0);
        }
        let mut slice = Array2::from_elem((200, 180), Complex::default());
        make_grains(slice.view_mut(), 64, 3);
        assert!(slice.iter().all(|v| v.norm() > 0.5 && v.norm() <= 1.0));
        assert!(slice.iter().any(|v| v.norm() == 1.0) && slice.iter().any(|v| v.arg() < -0.3));
    }
}
