//! Singular vectors of small complex matrices.

use nalgebra::DMatrix;
use num_complex::Complex;
use rayon::prelude::*;

/// The singular values of the matrix A of these `rows`, from the largest, as many as it has rows or
/// columns, whichever are fewer; and the first right singular vectors, (vector, column): rows of Vᴴ
/// in A = U Σ Vᴴ. By the eigenvectors of A Aᴴ or AᴴA, whichever is smaller.
///
/// `count` says how many vectors, given all values and the ratio of the two sides, at most 1.
pub(super) fn right_singular(
    rows: &[Vec<Complex<f64>>],
    count: impl Fn(&[f64], f64) -> usize,
) -> (Vec<f64>, Vec<Vec<Complex<f64>>>) {
    let columns = rows.first().map_or(0, Vec::len);
    let fewer_rows = rows.len() <= columns;
    let side = rows.len().min(columns);
    let aspect = side as f64 / rows.len().max(columns).max(1) as f64;
    // Rows of A, or of its transpose: the matrix of their products is A Aᴴ, or the conjugate of
    // AᴴA.
    let transposed: Vec<Vec<Complex<f64>>>;
    let vectors = if fewer_rows {
        rows
    } else {
        transposed = (0..columns)
            .map(|column| rows.iter().map(|row| row[column]).collect())
            .collect();
        &transposed
    };
    let lower: Vec<Vec<Complex<f64>>> = (0..side)
        .into_par_iter()
        .map(|i| (0..=i).map(|j| product(&vectors[j], &vectors[i])).collect())
        .collect();
    let matrix = DMatrix::from_fn(side, side, |i, j| {
        if i >= j {
            lower[i][j]
        } else {
            lower[j][i].conj()
        }
    });
    let eigen = matrix.symmetric_eigen();
    let mut order: Vec<usize> = (0..side).collect();
    order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
    let values: Vec<f64> = (order.iter())
        .map(|n| eigen.eigenvalues[*n].max(0.0).sqrt())
        .collect();
    let positive = values.iter().take_while(|value| **value > 0.0).count();
    let taken = count(&values, aspect).min(positive);
    let vectors = order[..taken]
        .par_iter()
        .zip(&values)
        .map(|(n, value)| {
            let eigenvector = eigen.eigenvectors.column(*n);
            if !fewer_rows {
                return eigenvector.iter().copied().collect();
            }
            // uᴴA/σ
            let mut vector = vec![Complex::default(); columns];
            for (u, row) in eigenvector.iter().zip(rows) {
                let factor = u.conj() / value;
                vector
                    .iter_mut()
                    .zip(row)
                    .for_each(|(v, a)| *v += factor * a);
            }
            vector
        })
        .collect();
    (values, vectors)
}

/// Σ conj(a) b
fn product(a: &[Complex<f64>], b: &[Complex<f64>]) -> Complex<f64> {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, columns: usize) -> Vec<Vec<Complex<f64>>> {
        let value = |n: f64| Complex::new((1.3 * n).sin(), (0.7 * n * n).cos());
        (0..rows)
            .map(|i| {
                (0..columns)
                    .map(|j| value((i * columns + j) as f64))
                    .collect()
            })
            .collect()
    }

    /// A Vᴴᴴ has orthogonal columns whose lengths are the singular values, and A = (A V) Vᴴ.
    #[test]
    fn wide_and_tall_matrices_are_decomposed() {
        for (rows, columns) in [(3, 7), (7, 3), (4, 4)] {
            let a = matrix(rows, columns);
            let (values, vectors) = right_singular(&a, |values, _| values.len());
            assert!(values.is_sorted_by(|a, b| a >= b));
            assert_eq!(vectors.len(), rows.min(columns));
            let along: Vec<Vec<Complex<f64>>> = (vectors.iter())
                .map(|v| a.iter().map(|row| product(v, row)).collect())
                .collect();
            for (n, value) in values.iter().enumerate() {
                for m in 0..values.len() {
                    let one = if n == m { 1.0 } else { 0.0 };
                    let [right, left] = [&vectors, &along].map(|of| product(&of[n], &of[m]));
                    assert!((right - one).norm() < 1e-10);
                    assert!((left - one * value * value).norm() < 1e-9);
                }
            }
            for (i, row) in a.iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    let each = along.iter().zip(&vectors);
                    let sum: Complex<f64> = each.map(|(u, v)| u[i] * v[j]).sum();
                    assert!((sum - value).norm() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_matrix_of_zeros_has_no_vectors() {
        let zero = vec![vec![Complex::default(); 3]; 5];
        let (values, vectors) = right_singular(&zero, |values, _| values.len());
        assert!(vectors.is_empty());
        assert_eq!(values, [0.0; 3]);
    }
}
