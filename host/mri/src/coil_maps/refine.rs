//! Vectors of coils between the nodes of a coarse grid.
//!
//! The phase of a vector is arbitrary at each node, so the nodes around a voxel are given the phase
//! of one of them before their vectors are interpolated.

use super::super::Grid;
use num_complex::Complex;
use rayon::prelude::*;

/// The nodes that a voxel is interpolated from, along one axis.
struct Stencil {
    /// The nodes, and the weights of each voxel that lies between the middle two.
    cells: Vec<Cell>,
}

struct Cell {
    nodes: Vec<usize>,
    /// The node whose phase the others get.
    main: usize,
    /// First of the voxels.
    first: usize,
    /// (voxel, node)
    weights: Vec<Vec<f64>>,
}

impl Stencil {
    /// Cubic interpolation of `voxels` from four nodes each; the field of view is periodic. With as
    /// many nodes as voxels, each voxel is a node.
    fn new(voxels: usize, nodes: usize) -> Self {
        let mut cells: Vec<Cell> = Vec::with_capacity(nodes);
        for voxel in 0..voxels {
            let main = voxel * nodes / voxels;
            let fraction = (voxel * nodes % voxels) as f64 / voxels as f64;
            if cells.last().is_none_or(|cell| cell.main != main) {
                let around = if nodes == voxels {
                    vec![main]
                } else {
                    (0..4).map(|n| (main + nodes + n - 1) % nodes).collect()
                };
                cells.push(Cell {
                    nodes: around,
                    main,
                    first: voxel,
                    weights: Vec::new(),
                });
            }
            if let Some(cell) = cells.last_mut() {
                cell.weights.push(if nodes == voxels {
                    vec![1.0]
                } else {
                    cubic(fraction).to_vec()
                });
            }
        }
        Self { cells }
    }

    /// The cell of a voxel and the voxel's weights.
    fn of(&self, voxel: usize) -> (&Cell, &[f64]) {
        let cell = self.cells.partition_point(|cell| cell.first <= voxel) - 1;
        let cell = &self.cells[cell];
        (cell, &cell.weights[voxel - cell.first])
    }
}

/// Lagrange's weights of the nodes −1, 0, 1, 2 at `f`, 0 to 1.
fn cubic(f: f64) -> [f64; 4] {
    [
        -f * (f - 1.0) * (f - 2.0) / 6.0,
        (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
        -(f + 1.0) * f * (f - 2.0) / 2.0,
        (f + 1.0) * f * (f - 1.0) / 6.0,
    ]
}

/// The vectors (voxel, coil) on `grid`, interpolated from `vectors` (node, coil), with the phase
/// that makes their product with `reference` (coil) real and positive. Their length is a function
/// `weight` of the numbers `values` (node), which are interpolated as well.
pub(super) fn refine(
    grid: Grid,
    nodes: [usize; 3],
    values: &[f64],
    vectors: &[Complex<f64>],
    reference: &[Complex<f64>],
    weight: impl Fn(f64) -> f64 + Sync,
) -> Vec<Complex<f64>> {
    let coils = reference.len();
    let [z, y, x] = [0, 1, 2].map(|axis| Stencil::new(grid.shape[axis], nodes[axis]));
    let [_, rows, columns] = grid.shape;
    let node = |z: usize, y: usize, x: usize| (z * nodes[1] + y) * nodes[2] + x;
    let vector_at = |node: usize| &vectors[node * coils..][..coils];
    let mut refined = vec![Complex::default(); grid.voxels() * coils];
    (refined.par_chunks_mut(columns * coils))
        .enumerate()
        .for_each(|(line, refined)| {
            let ((z, wz), (y, wy)) = (z.of(line / rows), y.of(line % rows));
            let around = || {
                let slices = z.nodes.iter().zip(wz);
                slices.flat_map(|(z, wz)| {
                    y.nodes.iter().zip(wy).map(move |(y, wy)| (*z, *y, wz * wy))
                })
            };
            let values: Vec<f64> = (0..nodes[2])
                .map(|x| around().map(|(z, y, w)| w * values[node(z, y, x)]).sum())
                .collect();
            let length = |cell: &Cell, weights: &[f64]| {
                let each = cell.nodes.iter().zip(weights);
                weight(each.map(|(x, w)| w * values[*x]).sum())
            };
            let lit = |cell: &&Cell| cell.weights.iter().any(|w| length(cell, w) > 0.0);
            let mut needed = vec![false; nodes[2]];
            for cell in x.cells.iter().filter(lit) {
                cell.nodes.iter().for_each(|x| needed[*x] = true);
            }
            // On the line, at the nodes along the columns.
            let mut on_line = vec![Complex::default(); nodes[2] * coils];
            for (x, sum) in on_line.chunks_exact_mut(coils).enumerate() {
                let main = vector_at(node(z.main, y.main, x));
                for (z, y, w) in around().take_while(|_| needed[x]) {
                    add_aligned(sum, vector_at(node(z, y, x)), main, w);
                }
            }
            let on_line = |x: usize| &on_line[x * coils..][..coils];
            let mut aligned = vec![Complex::default(); 4 * coils];
            for cell in x.cells.iter().filter(lit) {
                aligned.fill(Complex::default());
                for (to, x) in aligned.chunks_exact_mut(coils).zip(&cell.nodes) {
                    add_aligned(to, on_line(*x), on_line(cell.main), 1.0);
                }
                let voxels = refined[cell.first * coils..].chunks_exact_mut(coils);
                for (weights, vector) in cell.weights.iter().zip(voxels) {
                    for (from, weight) in aligned.chunks_exact(coils).zip(weights) {
                        (vector.iter_mut().zip(from)).for_each(|(v, s)| *v += s * weight);
                    }
                    normalise(vector, reference, length(cell, weights));
                }
            }
        });
    refined
}

/// Adds `vector` times `weight`, with the phase that makes its product with `main` real.
fn add_aligned(
    sum: &mut [Complex<f64>],
    vector: &[Complex<f64>],
    main: &[Complex<f64>],
    weight: f64,
) {
    let mut along = Complex::new(0.0, 0.0);
    for (v, m) in vector.iter().zip(main) {
        along.re += v.re * m.re + v.im * m.im;
        along.im += v.re * m.im - v.im * m.re;
    }
    let size = along.norm();
    let factor = if size > 0.0 {
        along * (weight / size)
    } else {
        Complex::from(weight)
    };
    for (s, v) in sum.iter_mut().zip(vector) {
        s.re += v.re * factor.re - v.im * factor.im;
        s.im += v.re * factor.im + v.im * factor.re;
    }
}

/// Gives `vector` this length and the phase of `reference`.
fn normalise(vector: &mut [Complex<f64>], reference: &[Complex<f64>], to: f64) {
    let length = vector.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    if length == 0.0 {
        return;
    }
    let along: Complex<f64> = (reference.iter().zip(&*vector))
        .map(|(r, v)| r.conj() * v)
        .sum();
    let phase = if along.norm() > 0.0 {
        along.conj() / along.norm()
    } else {
        Complex::from(1.0)
    };
    vector.iter_mut().for_each(|v| *v *= phase * (to / length));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A smooth vector of two coils on a periodic field of view, of length 1, whose first element
    /// is positive.
    fn vector(z: f64, y: f64, x: f64) -> [Complex<f64>; 2] {
        let turn = |share: f64| (std::f64::consts::TAU * share).sin();
        let angle = 0.7 + 0.4 * turn(x) + 0.2 * turn(y) * turn(z + 0.2);
        [
            Complex::from(angle.cos()),
            Complex::from_polar(angle.sin(), 0.5 * turn(x + 0.3 * turn(y))),
        ]
    }

    #[test]
    fn smooth_vectors_are_interpolated_whatever_their_phases() {
        for (grid, nodes) in [
            (Grid::two(48, 80), [1, 48, 32]),
            (Grid::two(77, 100), [1, 40, 40]),
            (Grid::three(20, 40, 40), [20, 32, 32]),
        ] {
            let at = |n: usize, shape: [usize; 3]| {
                let [_, rows, columns] = shape;
                let index = [n / columns / rows, n / columns % rows, n % columns];
                let [z, y, x] = [0, 1, 2].map(|a| index[a] as f64 / shape[a] as f64);
                vector(z, y, x)
            };
            let coarse: Vec<_> = (0..nodes.iter().product())
                .flat_map(|n| at(n, nodes).map(|v| v * Complex::cis(1.7 * n as f64)))
                .collect();
            let reference = [Complex::from(1.0), Complex::default()];
            let values = vec![0.25; coarse.len() / 2];
            let found = refine(grid, nodes, &values, &coarse, &reference, |v| 4.0 * v);
            for (n, found) in found.chunks_exact(2).enumerate() {
                let expected = at(n, grid.shape);
                for (a, b) in found.iter().zip(expected) {
                    // (2π/32)⁴ · 3/128 for each axis, times a few for the curvature.
                    assert!((a - b).norm() < 5e-4, "{grid:?} {n}: {a} {b}");
                }
            }
        }
    }
}
