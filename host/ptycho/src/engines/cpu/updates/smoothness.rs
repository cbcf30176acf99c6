//! The regulariser of the object, Σ h·|O_n − O_i|² over pairs of neighbouring pixels.
//!
//! A pair counts where both weights are above [`LIT`] times the largest one. h is
//! 1/√(1 + |O_n − O_i|²/δ²), which spares edges, or 1.

use crate::engines::updates::LIT;
use crate::engines::updates::Smoothness;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

fn edge_weight<T: Real>(difference: Complex<T>, edge: T) -> T {
    let one = T::of(1.0);
    if edge > T::default() {
        one / (one + difference.norm_sqr() / (edge * edge)).sqrt()
    } else {
        one
    }
}

fn threshold<T: Real>(weights: &[T]) -> T {
    weights.iter().copied().fold(T::default(), T::max) * T::of(LIT)
}

/// Adds weight · Σ_n h·(O_n − O_i), half of the negative gradient, to `numerators`; all arrays are
/// (row, column) with `width` columns.
pub(in crate::engines::cpu) fn add_gradient<T: Real>(
    object: &[Complex<T>],
    weights: &[T],
    width: usize,
    regulariser: Smoothness,
    numerators: &mut [Complex<T>],
) {
    let least = threshold(weights);
    let (weight, edge) = (T::of(regulariser.weight), T::of(regulariser.edge));
    let each_row = |(row, numerators): (usize, &mut [Complex<T>])| {
        for (column, numerator) in numerators.iter_mut().enumerate() {
            let at = row * width + column;
            if weights[at] <= least {
                continue;
            }
            let right = (column + 1 < width).then_some(at + 1);
            let below = (at + width < object.len()).then_some(at + width);
            let left = (column > 0).then(|| at - 1);
            let above = at.checked_sub(width);
            let mut sum = Complex::default();
            for n in [right, below, left, above].into_iter().flatten() {
                if weights[n] > least {
                    let difference = object[n] - object[at];
                    sum += difference.scale(edge_weight(difference, edge));
                }
            }
            *numerator += sum.scale(weight);
        }
    };
    numerators
        .par_chunks_mut(width.max(1))
        .enumerate()
        .for_each(each_row);
}

/// Σ h |ΔO_n − ΔO_i|² and −Σ h Re (ΔO_n − ΔO_i)*·(O_n − O_i) over the pairs.
pub(in crate::engines::cpu) fn sums<T: Real>(
    object: &[Complex<T>],
    direction: &[Complex<T>],
    weights: &[T],
    width: usize,
    edge: f64,
) -> [f64; 2] {
    let least = threshold(weights);
    let edge = T::of(edge);
    let rows: Vec<[f64; 2]> = (0..object.len() / width.max(1))
        .into_par_iter()
        .map(|row| {
            let mut sums = [0.0; 2];
            for at in row * width..(row + 1) * width {
                if weights[at] <= least {
                    continue;
                }
                let right = (at + 1 < (row + 1) * width).then_some(at + 1);
                let below = (at + width < object.len()).then_some(at + width);
                for n in [right, below].into_iter().flatten() {
                    if weights[n] > least {
                        let o = object[n] - object[at];
                        let d = direction[n] - direction[at];
                        let h = edge_weight(o, edge).wide();
                        sums[0] += h * d.norm_sqr().wide();
                        sums[1] -= h * (d.re * o.re + d.im * o.im).wide();
                    }
                }
            }
            sums
        })
        .collect();
    [0, 1].map(|n| rows.iter().map(|row| row[n]).sum())
}
