//! Cyclic shifts of arrays.

use ndarray::Array2;

/// Shifts `a` cyclically down by `rows` and right by `columns`.
pub(crate) fn roll<T: Clone>(a: &Array2<T>, rows: usize, columns: usize) -> Array2<T> {
    let (height, width) = a.dim();
    Array2::from_shape_fn((height, width), |(r, c)| {
        a[[
            (r + height - rows % height) % height,
            (c + width - columns % width) % width,
        ]]
        .clone()
    })
}
