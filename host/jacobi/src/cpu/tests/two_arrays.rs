//! The definition of the relaxation: two arrays, and ghosts copied after every sweep.

use crate::{Boundary, Problem, Real};
use ndarray::Array2;

/// The field after `sweeps` sweeps, and √Σ(new − old)² of each sweep in double precision.
pub(super) fn relaxed<T: Real>(problem: &Problem<T>, sweeps: usize) -> (Array2<T>, Vec<f64>) {
    let (ny, nx) = (problem.ny(), problem.nx());
    let mut old = Array2::from_elem((ny, nx), T::zero());
    for (y, mut row) in old.rows_mut().into_iter().enumerate() {
        problem.start_row(y, row.as_slice_mut().unwrap());
    }
    copy_ghosts(&mut old, problem.boundary());
    let mut norms = Vec::new();
    for _ in 0..sweeps {
        let mut new = old.clone();
        let mut sum = 0.0;
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let mut total = old[[y, x + 1]] + old[[y, x - 1]];
                total = total + old[[y - 1, x]];
                total = total + old[[y + 1, x]];
                if let Some(source) = problem.source() {
                    total = total + source[[y, x]];
                }
                new[[y, x]] = total * T::nearest(0.25);
                sum += (new[[y, x]] - old[[y, x]]).widened().powi(2);
            }
        }
        copy_ghosts(&mut new, problem.boundary());
        norms.push(sum.sqrt());
        old = new;
    }
    (old, norms)
}

fn copy_ghosts<T: Real>(field: &mut Array2<T>, boundary: Boundary) {
    let (ny, nx) = field.dim();
    if boundary == Boundary::Periodic {
        for y in 1..ny - 1 {
            field[[y, 0]] = field[[y, nx - 2]];
            field[[y, nx - 1]] = field[[y, 1]];
        }
    }
    let columns = match boundary {
        Boundary::Dirichlet => return,
        Boundary::Textbook => 1..nx - 1,
        Boundary::Periodic => 0..nx,
    };
    for x in columns {
        field[[0, x]] = field[[ny - 2, x]];
        field[[ny - 1, x]] = field[[1, x]];
    }
}
