//! Probe update P ← [c_p P + Σ conj(O) ψ] / [c_p + Σ |O|²], row by row.

use super::engine::Layout;
use crate::fft::Real;
use num_complex::Complex;
use rayon::prelude::*;

/// Updates the probe; each pixel sums over the frames in order, for any number of threads.
pub(super) fn probe_update<T: Real>(
    layout: &Layout,
    object: &[Complex<T>],
    probe: &mut [Complex<T>],
    exit: &[Complex<T>],
    weight: f64,
) {
    let [_, width] = layout.object_shape;
    let (pixels, columns, modes) = (layout.pixels(), layout.columns, layout.modes);
    let weight = T::of(weight);
    let rows: Vec<Vec<Complex<T>>> = (0..layout.rows)
        .into_par_iter()
        .map(|row| {
            let own = row * columns;
            let mut numerator = vec![Complex::<T>::default(); modes * columns];
            let mut denominator = vec![T::default(); columns];
            for (frame, corner) in layout.corners.iter().enumerate() {
                let [top, left] = corner.map(|v| v as usize);
                let o = &object[(top + row) * width + left..][..columns];
                for (sum, o) in denominator.iter_mut().zip(o) {
                    *sum += o.norm_sqr();
                }
                for mode in 0..modes {
                    let psi = &exit[(frame * modes + mode) * pixels + own..][..columns];
                    let sums = &mut numerator[mode * columns..(mode + 1) * columns];
                    for ((sum, o), psi) in sums.iter_mut().zip(o).zip(psi) {
                        *sum += o.conj() * psi;
                    }
                }
            }
            for mode in 0..modes {
                for column in 0..columns {
                    let total = denominator[column] + weight;
                    let before = probe[mode * pixels + own + column];
                    let sum = &mut numerator[mode * columns + column];
                    *sum = if total > T::default() {
                        (before.scale(weight) + *sum).unscale(total)
                    } else {
                        before
                    };
                }
            }
            numerator
        })
        .collect();
    for (row, values) in rows.iter().enumerate() {
        for mode in 0..modes {
            probe[mode * pixels + row * columns..][..columns]
                .copy_from_slice(&values[mode * columns..][..columns]);
        }
    }
}

/// Returns ‖after − before‖² and ‖before‖².
pub(super) fn change<T: Real>(before: &[Complex<T>], after: &[Complex<T>]) -> [f64; 2] {
    let moved = before
        .iter()
        .zip(after)
        .map(|(b, a)| (*a - *b).norm_sqr().wide())
        .sum();
    [moved, before.iter().map(|b| b.norm_sqr().wide()).sum()]
}
