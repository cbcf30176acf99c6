//! Linear least squares within bounds.

use nalgebra::{DMatrix, DVector};

/// Singular values below this share of the largest count as 0.
const SINGULAR: f64 = 1e-13;

/// The x within `bounds` (least, greatest; possibly infinite) that minimises |A x − b|², where A
/// has these `columns`: the active-set method of P. B. Stark and R. L. Parker, Comput. Stat. 10
/// (1995) 129. Columns of length 0 have the x closest to 0.
pub(super) fn bounded_least_squares(
    columns: &[Vec<f64>],
    right: &[f64],
    bounds: &[(f64, f64)],
) -> Vec<f64> {
    let count = columns.len();
    let lengths: Vec<f64> = columns
        .iter()
        .map(|column| column.iter().map(|v| v * v).sum::<f64>().sqrt())
        .map(|length| if length > 0.0 { length } else { 0.0 })
        .collect();
    let used: Vec<usize> = (0..count).filter(|k| lengths[*k] > 0.0).collect();
    let nearest = |k: usize| 0.0_f64.max(bounds[k].0).min(bounds[k].1);
    let mut x: Vec<f64> = (0..count).map(nearest).collect();
    if used.is_empty() || right.len() < used.len() {
        return x;
    }
    let matrix = DMatrix::from_fn(right.len(), used.len(), |i, j| {
        columns[used[j]][i] / lengths[used[j]]
    });
    let qr = matrix.qr();
    let right = qr.q().tr_mul(&DVector::from_column_slice(right));
    let r = qr.r();
    // From here on the unknowns are x times the length of its column.
    let limits: Vec<(f64, f64)> = used
        .iter()
        .map(|k| (bounds[*k].0 * lengths[*k], bounds[*k].1 * lengths[*k]))
        .collect();
    let mut z = DVector::from_iterator(used.len(), used.iter().map(|k| x[*k] * lengths[*k]));
    let mut free = vec![true; used.len()];
    for _ in 0..10 * used.len() {
        if let Some(stopped) = step(&r, &right, &limits, &free, &mut z) {
            free[stopped] = false;
            continue;
        }
        // Optimal for the free ones; those at a bound must be pushed against it.
        let gradient = r.tr_mul(&(&r * &z - &right));
        let tolerance = 1e-12 * right.norm();
        let released = (0..used.len())
            .filter(|j| !free[*j])
            .map(|j| {
                let inwards = if z[j] <= limits[j].0 {
                    -gradient[j]
                } else {
                    gradient[j]
                };
                (j, inwards)
            })
            .filter(|(_, inwards)| *inwards > tolerance)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match released {
            Some((j, _)) => free[j] = true,
            None => break,
        }
    }
    for (j, k) in used.iter().enumerate() {
        x[*k] = (z[j] / lengths[*k]).clamp(bounds[*k].0, bounds[*k].1);
    }
    x
}

/// Moves the `free` unknowns towards their optimum until one meets a limit, which is returned.
fn step(
    r: &DMatrix<f64>,
    right: &DVector<f64>,
    limits: &[(f64, f64)],
    free: &[bool],
    z: &mut DVector<f64>,
) -> Option<usize> {
    let chosen: Vec<usize> = (0..free.len()).filter(|j| free[*j]).collect();
    if chosen.is_empty() {
        return None;
    }
    let mut rest = right.clone();
    for j in (0..free.len()).filter(|j| !free[*j]) {
        rest -= r.column(j) * z[j];
    }
    let svd = r.select_columns(&chosen).svd(true, true);
    let largest = svd.singular_values.max();
    let optimum = svd.solve(&rest, SINGULAR * largest).ok()?;
    let mut share = 1.0;
    let mut met = None;
    for (i, j) in chosen.iter().enumerate() {
        let (low, high) = limits[*j];
        let change = optimum[i] - z[*j];
        let limit = if change < 0.0 { low } else { high };
        if (optimum[i] < low || optimum[i] > high) && change != 0.0 {
            let of_this = ((limit - z[*j]) / change).clamp(0.0, 1.0);
            if met.is_none() || of_this < share {
                share = of_this;
                met = Some((*j, limit));
            }
        }
    }
    for (i, j) in chosen.iter().enumerate() {
        z[*j] = if met.is_none() {
            optimum[i]
        } else {
            z[*j] + share * (optimum[i] - z[*j])
        };
    }
    met.map(|(j, limit)| {
        z[j] = limit;
        j
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    fn columns() -> Vec<Vec<f64>> {
        let column = |k: i32| (0..12).map(|i| (0.1 * f64::from(i)).powi(k)).collect();
        (0..4).map(column).collect()
    }

    fn chi2(x: &[f64], right: &[f64]) -> f64 {
        let columns = columns();
        let of = |i: usize| -> f64 { columns.iter().zip(x).map(|(c, x)| c[i] * x).sum() };
        (0..right.len()).map(|i| (right[i] - of(i)).powi(2)).sum()
    }

    #[test]
    fn without_bounds_it_is_the_solution() {
        let x = [3.0, -2.0, 0.5, 4.0];
        let columns = columns();
        let right: Vec<f64> = (0..12)
            .map(|i| columns.iter().zip(&x).map(|(c, x)| c[i] * x).sum())
            .collect();
        let found = bounded_least_squares(&columns, &right, &[FREE; 4]);
        for (found, x) in found.iter().zip(&x) {
            assert!((found - x).abs() < 1e-10, "{found}, {x}");
        }
    }

    /// No feasible step along one or two directions lowers the sum of squares.
    #[test]
    fn within_bounds_no_feasible_direction_is_better() {
        let right: Vec<f64> = (0..12).map(|i| f64::from(i * i % 7) - 2.0).collect();
        for bounds in [
            [(0.0, f64::INFINITY); 4],
            [(0.0, 1.0), (-1.0, 0.0), (0.2, 0.3), FREE],
            [(-0.5, 0.5), FREE, (0.0, f64::INFINITY), (-1.0, 2.0)],
            [FREE, (1.0, 2.0), FREE, (-3.0, -2.0)],
        ] {
            let x = bounded_least_squares(&columns(), &right, &bounds);
            let best = chi2(&x, &right);
            for a in 0..4 {
                for b in 0..4 {
                    for (da, db) in [
                        (1e-4, 0.0),
                        (-1e-4, 0.0),
                        (1e-4, -1e-4),
                        (1e-4, 1e-4),
                        (-1e-4, -1e-4),
                    ] {
                        let mut moved = x.clone();
                        moved[a] += da;
                        moved[b] += db;
                        let inside = moved
                            .iter()
                            .zip(&bounds)
                            .all(|(x, (low, high))| x >= low && x <= high);
                        if inside {
                            assert!(chi2(&moved, &right) >= best - 1e-12, "{bounds:?}: {x:?}");
                        }
                    }
                }
            }
            assert!(
                x.iter()
                    .zip(&bounds)
                    .all(|(x, (low, high))| x >= low && x <= high)
            );
        }
    }

    #[test]
    fn columns_without_effect_are_zero_and_equal_ones_share() {
        let mut columns = columns();
        columns[1] = vec![0.0; 12];
        columns[2] = columns[0].clone();
        let right = vec![2.0; 12];
        let x = bounded_least_squares(&columns, &right, &[FREE, FREE, FREE, (0.0, 1.0)]);
        assert!(
            (x[0] + x[2] - 2.0).abs() < 1e-10 && x[1] == 0.0 && x[3].abs() < 1e-10,
            "{x:?}"
        );
        let one = (1.0, 4.0);
        let x = bounded_least_squares(&columns, &right, &[FREE, one, FREE, FREE]);
        assert_eq!(x[1], 1.0);
    }
}
