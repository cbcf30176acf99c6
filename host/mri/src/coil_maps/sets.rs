//! How many sets of maps the data need.
//!
//! Eigenvalues alone do not tell: without noise the second is close to 1 wherever the kernel sees
//! two parts of the object, also in empty voxels between them. So the question is how much of the
//! signal a further set explains.

use super::super::Grid;
use super::kernel_matrix::{Eigenpairs, waves};
use num_complex::Complex;
use rayon::prelude::*;
use std::f64::consts::PI;

/// A further set is needed if it explains this share of the signal's energy. Simulated phantoms
/// within their field of view of 32² to 128² voxels: at most 0.0044; phantoms 23 to 60 % longer:
/// 0.011 to 0.04.
const NEEDED: f64 = 0.008;
/// Narrowest region from which more than one set is made, cells. With a smaller one, and in
/// volumes, whose regions are smaller, the sensitivities change within the resolution of the
/// region, and a second set explains up to 0.016 of the energy of phantoms within their field of
/// view.
const NARROWEST: usize = 20;

/// The number of sets, from 1, that explain k-space `cells` (coil, cell) of a region of this
/// `shape`, given the eigenpairs after the largest at `nodes`. Eigenvalues of at least `full`
/// count.
pub(super) fn needed(
    cells: &[Vec<Complex<f64>>],
    shape: [usize; 3],
    (grid, nodes): (Grid, [usize; 3]),
    further: &[Eigenpairs],
    full: f64,
) -> usize {
    let several = |pairs: &Eigenpairs| pairs.values.iter().any(|v| *v >= full);
    let wide = grid.axes == 2 && shape[1..].iter().all(|cells| *cells >= NARROWEST);
    if !wide || !further.iter().any(several) {
        return 1;
    }
    let images: Vec<Vec<Complex<f64>>> = (cells.par_iter())
        .map(|cells| low_resolution(cells, shape, grid, nodes))
        .collect();
    let energy: f64 = images.iter().flatten().map(Complex::norm_sqr).sum();
    let explains = |pairs: &Eigenpairs| -> f64 {
        let vectors = pairs.vectors.chunks_exact(images.len());
        let nodes = vectors.zip(&pairs.values).enumerate();
        nodes
            .filter(|(_, (_, value))| **value >= full)
            .map(|(node, (vector, _))| {
                let each = vector.iter().zip(&images);
                let along: Complex<f64> = each.map(|(v, image)| v.conj() * image[node]).sum();
                along.norm_sqr()
            })
            .sum()
    };
    1 + further
        .iter()
        .take_while(|pairs| explains(pairs) > NEEDED * energy)
        .count()
}

/// The image of the `cells` of a region of k-space at the nodes, up to a phase at each node. A Hann
/// window along each axis keeps the signal of a point near it.
fn low_resolution(
    cells: &[Complex<f64>],
    shape: [usize; 3],
    grid: Grid,
    nodes: [usize; 3],
) -> Vec<Complex<f64>> {
    let mut values = cells.to_vec();
    // From the last axis to the first: each is transformed, and comes first then.
    for axis in [2, 1, 0] {
        let (length, count) = (shape[axis], nodes[axis]);
        let waves = waves(grid.shape[axis], count, length);
        let window: Vec<f64> = (0..length)
            .map(|n| {
                if length == 1 {
                    1.0
                } else {
                    (PI * (n as f64 + 0.5) / length as f64).sin().powi(2)
                }
            })
            .collect();
        let lines: Vec<&[Complex<f64>]> = values.chunks_exact(length).collect();
        let (lines, window) = (&lines, &window);
        values = (waves.chunks_exact(length))
            .flat_map(|waves| {
                lines.iter().map(move |line| -> Complex<f64> {
                    let each = line.iter().zip(waves).zip(window);
                    each.map(|((value, wave), window)| value * wave * *window)
                        .sum()
                })
            })
            .collect();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The k-space of a point: its image is largest at the node of the point.
    #[test]
    fn a_point_is_where_it_was() {
        let (grid, nodes, shape) = (Grid::three(6, 10, 12), [6, 10, 12], [3, 5, 6]);
        let point = [4.0 - 3.0, 2.0 - 5.0, 9.0 - 6.0];
        let cells: Vec<_> = (0..90)
            .map(|n| {
                let cell = [n / 30, n / 6 % 5, n % 6].map(|n| n as f64);
                let turns: f64 = (0..3)
                    .map(|a| cell[a] * point[a] / grid.shape[a] as f64)
                    .sum();
                Complex::cis(-2.0 * PI * turns)
            })
            .collect();
        let image = low_resolution(&cells, shape, grid, nodes);
        let largest = (0..image.len()).max_by(|a, b| image[*a].norm().total_cmp(&image[*b].norm()));
        assert_eq!(largest, Some((4 * 10 + 2) * 12 + 9));
    }
}
