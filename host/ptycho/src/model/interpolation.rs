//! Interpolation of a complex image on another grid, by the Lanczos kernel of three lobes along
//! each axis.

use ndarray::{Array2, s};
use num_complex::Complex;
use std::f64::consts::PI;

/// Displacements of the grids by less than this part of a pixel are 0.
const ON_PIXEL: f64 = 1e-6;
/// Half the width of the kernel, pixels of the coarser grid.
const LOBES: f64 = 3.0;

/// Interpolates `from` at the pixels of `to`, with the factors of its rows and its columns. Pixels
/// beyond `from` stay as they are. Returns whether there are others.
pub(crate) fn interpolate(
    from: &Array2<Complex<f64>>,
    [of_rows, of_columns]: [&[Weights]; 2],
    to: &mut Array2<Complex<f64>>,
) -> bool {
    let covered = |all: &[Weights]| all.iter().any(|one| !one.values.is_empty());
    if !(covered(of_rows) && covered(of_columns)) {
        return false;
    }
    // The columns that are needed, of an image that may be much wider.
    let used = of_columns.iter().filter(|one| !one.values.is_empty());
    let left = used.clone().map(|one| one.first).min().unwrap_or(0);
    let end = used
        .map(|one| one.first + one.values.len())
        .max()
        .unwrap_or(0);
    // One line of the image at a time, so that memory is small whatever the ratio of the pixels.
    let mut line = vec![Complex::default(); end - left];
    for (mut row, of_row) in to.outer_iter_mut().zip(of_rows) {
        if of_row.values.is_empty() {
            continue;
        }
        line.fill(Complex::default());
        for (weight, r) in of_row.values.iter().zip(of_row.first..) {
            let values = from.slice(s![r, left..end]);
            for (sum, value) in line.iter_mut().zip(values) {
                *sum += value * *weight;
            }
        }
        for (value, of_column) in row.iter_mut().zip(of_columns) {
            let Weights { first, values } = of_column;
            if !values.is_empty() {
                let pairs = values.iter().zip(&line[first - left..]);
                *value = pairs.map(|(weight, v)| v * *weight).sum();
            }
        }
    }
    true
}

/// Factors on neighbouring values of a line, from the value `first` on; none beyond the line.
pub(crate) struct Weights {
    first: usize,
    values: Vec<f64>,
}

impl Weights {
    /// The value at `at`, in a line of `count` values, by a kernel that is `wide` times as wide as
    /// theirs.
    pub(crate) fn new(at: f64, wide: f64, count: usize) -> Self {
        let none = Self {
            first: 0,
            values: Vec::new(),
        };
        // Half a pixel beyond the last value there is nothing to interpolate.
        if !(-0.5..count as f64 - 0.5).contains(&at) {
            return none;
        }
        if wide == 1.0 && (at - at.round()).abs() < ON_PIXEL {
            return Self {
                first: at.round() as usize,
                values: vec![1.0],
            };
        }
        let reach = LOBES * wide;
        let first = (at - reach).ceil().max(0.0) as usize;
        let last = ((at + reach).floor() as usize).min(count - 1);
        let mut values: Vec<f64> = (first..=last)
            .map(|i| lanczos((i as f64 - at) / wide))
            .collect();
        let sum: f64 = values.iter().sum();
        values.iter_mut().for_each(|weight| *weight /= sum);
        Self { first, values }
    }
}

/// sinc(x) sinc(x/3) for |x| < 3.
fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| {
        if x == 0.0 {
            1.0
        } else {
            (PI * x).sin() / (PI * x)
        }
    };
    if x.abs() < LOBES {
        sinc(x) * sinc(x / LOBES)
    } else {
        0.0
    }
}
