//! The projection on the signal subspace, as a small Hermitian matrix at each point.

use super::super::Grid;
use num_complex::Complex;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// All indices of an array of this shape, in its order.
pub(super) fn indices(shape: [usize; 3]) -> Vec<[usize; 3]> {
    let [slices, rows, columns] = shape;
    let plane = rows * columns;
    (0..slices * plane)
        .map(|n| [n / plane, n % plane / columns, n % columns])
        .collect()
}

/// Squarings of a matrix, at most, and the share of its trace that the largest eigenvalue has left
/// to the others before the last of them. Eigenvalues that differ by two thousandths are still
/// told apart.
const SQUARINGS: usize = 12;
const OTHERS: f64 = 0.05;
/// Eigenvalues below this have no use, nor have those beside them: there is no signal.
const UNUSED: f64 = 0.35;

/// G_cd(x) = Σ_q g_cd(q) exp(2πi q·x/N), with q the differences of two cells of the kernel.
pub(super) struct KernelMatrix {
    coils: usize,
    /// Differences along slices, rows and columns: 2 × kernel − 1.
    differences: [usize; 3],
    /// g, (difference, pair), with the pairs c ≥ d of coils in the order of [`pairs`].
    coefficients: Vec<Complex<f64>>,
}

/// The pairs (c, d) with d ≤ c: the lower triangle, row by row.
fn pairs(coils: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..coils).flat_map(|c| (0..=c).map(move |d| (c, d)))
}

impl KernelMatrix {
    /// From the orthonormal rows `vectors` (vector, (coil, cell of the kernel)) that span the
    /// patches: G_cd(x) = Σ_v M_vc conj(M_vd)/cells, M_vc = Σ_p v_cp exp(2πi p·x/N).
    pub(super) fn new(vectors: &[Vec<Complex<f64>>], coils: usize, kernel: [usize; 3]) -> Self {
        let differences = kernel.map(|width| 2 * width - 1);
        let cells = indices(kernel);
        let count = cells.len();
        // (coil, cell, vector)
        let transposed: Vec<Vec<Complex<f64>>> = (0..coils * count)
            .map(|n| vectors.iter().map(|vector| vector[n]).collect())
            .collect();
        let by_pair: Vec<Vec<Complex<f64>>> = pairs(coils)
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(c, d)| {
                let mut sums = vec![Complex::default(); differences.iter().product()];
                for (p, of_c) in transposed[c * count..][..count].iter().enumerate() {
                    for (q, of_d) in transposed[d * count..][..count].iter().enumerate() {
                        let [z, y, x] =
                            [0, 1, 2].map(|a| cells[p][a] + kernel[a] - 1 - cells[q][a]);
                        let at = (z * differences[1] + y) * differences[2] + x;
                        let each = of_c.iter().zip(of_d).map(|(c, d)| c * d.conj());
                        sums[at] += each.sum::<Complex<f64>>() / count as f64;
                    }
                }
                sums
            })
            .collect();
        let coefficients = (0..differences.iter().product())
            .flat_map(|q| by_pair.iter().map(move |sums| sums[q]))
            .collect();
        Self {
            coils,
            differences,
            coefficients,
        }
    }

    /// The `most` largest eigenvalues, and their eigenvectors of length 1. The nodes (slice, row,
    /// column) divide the field of view of `grid` evenly; the first is its first voxel. The largest
    /// eigenvalue is computed at every node, the others at every `stride`-th along each axis.
    /// Eigenvalues after the first that are certainly below `least` are 0.
    pub(super) fn dominant(
        &self,
        grid: Grid,
        nodes: [usize; 3],
        (most, least): (usize, f64),
        stride: [usize; 3],
    ) -> Vec<Eigenpairs> {
        let [_, rows, columns] = nodes;
        let [z, y, x] =
            [0, 1, 2].map(|axis| waves(grid.shape[axis], nodes[axis], self.differences[axis]));
        let [dz, dy, _] = self.differences;
        let count = nodes.iter().product::<usize>();
        let mut largest = Eigenpairs::zero(count, self.coils);
        // For each line of nodes, those of the further eigenpairs.
        let further: Vec<Vec<Eigenpairs>> = (largest.vectors.par_chunks_mut(columns * self.coils))
            .zip(largest.values.par_chunks_mut(columns))
            .enumerate()
            .map(|(line, (vectors, values))| {
                let (slice, row) = (line / rows, line % rows);
                let along_row = self.at_row(&z[slice * dz..][..dz], &y[row * dy..][..dy]);
                let mut at_node = AtNode::new(self.coils);
                let waves = x.chunks_exact(self.differences[2]);
                let sampled = slice % stride[0] == 0 && row % stride[1] == 0;
                let count = if sampled {
                    columns.div_ceil(stride[2])
                } else {
                    0
                };
                let mut further: Vec<_> = (1..most)
                    .map(|_| Eigenpairs::zero(count, self.coils))
                    .collect();
                for (column, ((vector, value), waves)) in
                    (vectors.chunks_exact_mut(self.coils).zip(values))
                        .zip(waves)
                        .enumerate()
                {
                    at_node.evaluate(&along_row, waves);
                    *value = at_node.dominant(vector);
                    if !sampled || column % stride[2] != 0 {
                        continue;
                    }
                    at_node.deflate(*value, vector);
                    for pairs in &mut further {
                        if at_node.bound() < least {
                            break;
                        }
                        let (value, vector) = pairs.at(column / stride[2], self.coils);
                        *value = at_node.dominant(vector);
                        at_node.deflate(*value, vector);
                    }
                }
                further
            })
            .collect();
        let mut all = vec![largest];
        for pair in 1..most {
            let lines = || further.iter().map(|line| &line[pair - 1]);
            all.push(Eigenpairs {
                values: lines()
                    .flat_map(|line| line.values.iter().copied())
                    .collect(),
                vectors: lines()
                    .flat_map(|line| line.vectors.iter().copied())
                    .collect(),
            });
        }
        all
    }

    /// g summed over the differences along slices and rows with the waves `z` and `y` of a row of
    /// nodes: (difference along columns, pair).
    fn at_row(&self, z: &[Complex<f64>], y: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let length = self.coefficients.len() / (z.len() * y.len());
        let mut sums = vec![Complex::default(); length];
        for (n, part) in self.coefficients.chunks_exact(length).enumerate() {
            let wave = z[n / y.len()] * y[n % y.len()];
            sums.iter_mut().zip(part).for_each(|(s, g)| *s += wave * g);
        }
        sums
    }
}

/// An eigenvalue at every node, (node), and its eigenvector, (node, coil).
pub(super) struct Eigenpairs {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<Complex<f64>>,
}

impl Eigenpairs {
    fn zero(nodes: usize, coils: usize) -> Self {
        Self {
            values: vec![0.0; nodes],
            vectors: vec![Complex::default(); nodes * coils],
        }
    }

    fn at(&mut self, node: usize, coils: usize) -> (&mut f64, &mut [Complex<f64>]) {
        (
            &mut self.values[node],
            &mut self.vectors[node * coils..][..coils],
        )
    }
}

/// G at one node.
struct AtNode {
    coils: usize,
    /// c ≥ d
    lower: Vec<Complex<f64>>,
    /// (c, d)
    matrix: Vec<Complex<f64>>,
    /// The matrix before it is squared.
    given: Vec<Complex<f64>>,
}

impl AtNode {
    fn new(coils: usize) -> Self {
        Self {
            coils,
            lower: vec![Complex::default(); coils * (coils + 1) / 2],
            matrix: vec![Complex::default(); coils * coils],
            given: vec![Complex::default(); coils * (coils + 1) / 2],
        }
    }

    /// Sums g of a row, (difference, pair), with the `waves` of the node.
    fn evaluate(&mut self, row: &[Complex<f64>], waves: &[Complex<f64>]) {
        self.lower.fill(Complex::default());
        for (part, wave) in row.chunks_exact(self.lower.len()).zip(waves) {
            (self.lower.iter_mut().zip(part)).for_each(|(g, h)| *g += wave * h);
        }
    }

    /// Copies the lower triangle, divided by its trace, to the whole matrix. Returns the trace.
    fn normalise(&mut self) -> f64 {
        let trace: f64 = (0..self.coils)
            .map(|c| self.lower[c * (c + 3) / 2].re)
            .sum();
        let factor = if trace > 0.0 { 1.0 / trace } else { 0.0 };
        for ((c, d), value) in pairs(self.coils).zip(&self.lower) {
            self.matrix[c * self.coils + d] = value * factor;
            self.matrix[d * self.coils + c] = value.conj() * factor;
        }
        trace
    }

    /// The root of the sum of the squares of all eigenvalues: none is larger.
    fn bound(&self) -> f64 {
        let each = pairs(self.coils).zip(&self.lower);
        each.map(|((c, d), g)| g.norm_sqr() * if c == d { 1.0 } else { 2.0 })
            .sum::<f64>()
            .sqrt()
    }

    /// Takes an eigenvalue that was found, and its eigenvector, from the matrix.
    fn deflate(&mut self, value: f64, vector: &[Complex<f64>]) {
        for (((c, d), g), to) in pairs(self.coils).zip(&self.given).zip(&mut self.lower) {
            *to = g - vector[c] * vector[d].conj() * value;
        }
    }

    /// Returns the largest eigenvalue, and writes its eigenvector, of length 1, to `vector`: the
    /// matrix is squared until the others have vanished, and its columns are then parallel.
    ///
    /// This needs no start vector, unlike the power method, which stays long at the eigenvector
    /// beside it where the largest eigenvalues cross.
    fn dominant(&mut self, vector: &mut [Complex<f64>]) -> f64 {
        self.given.copy_from_slice(&self.lower);
        // (tr G^n)^(1/n), n = 1, 2, 4 …, falls to the largest eigenvalue.
        let mut bound = self.normalise();
        for squaring in 0..SQUARINGS {
            let rows = |c: usize| &self.matrix[c * self.coils..][..self.coils];
            for ((c, d), value) in pairs(self.coils).zip(&mut self.lower) {
                let (mut re, mut im) = (0.0, 0.0);
                for (a, b) in rows(c).iter().zip(rows(d)) {
                    re += a.re * b.re + a.im * b.im;
                    im += a.im * b.re - a.re * b.im;
                }
                *value = Complex::new(re, im);
            }
            // Of eigenvalues that add up to 1, the sum of the squares.
            let squares = self.normalise();
            bound *= squares.powf(0.5_f64.powi(squaring as i32 + 1));
            if squares > 1.0 - OTHERS || bound < UNUSED {
                break;
            }
        }
        let rows = self.matrix.chunks_exact(self.coils);
        let Some((c, row)) =
            (rows.enumerate()).max_by(|(c, a), (d, b)| a[*c].re.total_cmp(&b[*d].re))
        else {
            return 0.0;
        };
        if row[c].re > 0.0 {
            // The column M e, once more times M.
            let products = (self.matrix.chunks_exact(self.coils)).map(|other| -> Complex<f64> {
                other.iter().zip(row).map(|(m, r)| m * r.conj()).sum()
            });
            vector.iter_mut().zip(products).for_each(|(v, p)| *v = p);
            let length = vector.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|v| *v /= length);
        }
        let each = pairs(self.coils).zip(&self.given);
        each.map(|((c, d), g)| {
            (vector[c].conj() * g * vector[d]).re * if c == d { 1.0 } else { 2.0 }
        })
        .sum()
    }
}

/// exp(2πi q·x/N) of every node of an axis of N `voxels` and the differences q: (node, difference).
pub(super) fn waves(voxels: usize, nodes: usize, differences: usize) -> Vec<Complex<f64>> {
    let first = (voxels / 2) as f64 / voxels as f64;
    (0..nodes * differences)
        .map(|n| {
            let x = (n / differences) as f64 / nodes as f64 - first;
            let q = (n % differences) as f64 - (differences / 2) as f64;
            Complex::cis(TAU * q * x)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with known eigenvectors, the two largest eigenvalues close together.
    #[test]
    fn the_eigenvectors_are_found_from_the_largest() {
        for (second, most) in [(0.5, 1e-9), (0.99, 1e-8)] {
            // Columns of a unitary matrix: exp(2πi jk/3)/√3.
            let wave =
                |j: usize, k: usize| Complex::cis(TAU * (j * k) as f64 / 3.0) / 3.0_f64.sqrt();
            let values = [second, 1.0, 0.2];
            let mut node = AtNode::new(3);
            for ((c, d), to) in pairs(3).zip(&mut node.lower) {
                let each = values.iter().enumerate();
                *to = each
                    .map(|(k, value)| wave(c, k) * wave(d, k).conj() * value)
                    .sum();
            }
            for (k, expected) in [(1, 1.0), (0, second), (2, 0.2)] {
                assert!(node.bound() >= expected, "{}", node.bound());
                let mut vector = vec![Complex::default(); 3];
                let value = node.dominant(&mut vector);
                assert!((value - expected).abs() < 1e-8, "{value}");
                let along: Complex<f64> = (0..3).map(|c| wave(c, k).conj() * vector[c]).sum();
                assert!((along.norm() - 1.0).abs() < most, "{second}: {along}");
                node.deflate(value, &vector);
            }
            assert!(node.bound() < 1e-7, "{}", node.bound());
        }
    }

    #[test]
    fn a_matrix_of_zeros_leaves_the_vector() {
        let mut vector = vec![Complex::default(); 2];
        assert_eq!(AtNode::new(2).dominant(&mut vector), 0.0);
        assert_eq!(vector, [Complex::default(); 2]);
    }
}
