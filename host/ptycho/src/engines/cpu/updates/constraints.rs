//! Supports of the probe in real and Fourier space.

use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::{Fft2, Real};

/// 1 inside and 0 outside an ellipse, centred at (rows/2, columns/2), whose axes are `fraction`
/// times the height and width; (row, column).
pub(crate) fn disc(rows: usize, columns: usize, fraction: f64) -> Vec<f32> {
    let coordinate = |i: usize, n: usize| (i as f64 - (n / 2) as f64) / (0.5 * fraction * n as f64);
    (0..rows * columns)
        .map(|i| {
            let (y, x) = (
                coordinate(i / columns, rows),
                coordinate(i % columns, columns),
            );
            f32::from(u8::from(x * x + y * y <= 1.0))
        })
        .collect()
}

/// [`disc`] with its centre at (0, 0), the position of the zero frequency.
pub(crate) fn disc_at_origin(rows: usize, columns: usize, fraction: f64) -> Vec<f32> {
    let centred = disc(rows, columns, fraction);
    (0..rows * columns)
        .map(|i| {
            let (r, c) = (i / columns, i % columns);
            centred[(r + rows / 2) % rows * columns + (c + columns / 2) % columns]
        })
        .collect()
}

/// Multiplies every mode by `support` (row, column).
pub(in crate::engines::cpu) fn real_support<T: Real>(probe: &mut [Complex<T>], support: &[f32]) {
    for mode in probe.chunks_mut(support.len()) {
        for (p, s) in mode.iter_mut().zip(support) {
            *p = p.scale(T::of(f64::from(*s)));
        }
    }
}

/// Multiplies every mode's spectrum by `support` (row, column), zero frequency at (0, 0).
pub(in crate::engines::cpu) fn fourier_support<T: Real>(
    probe: &mut [Complex<T>],
    support: &[f32],
    rows: usize,
    columns: usize,
) {
    probe.par_chunks_mut(rows * columns).for_each(|mode| {
        let mut fft = Fft2::new(rows, columns);
        fft.forward(mode);
        for (p, s) in mode.iter_mut().zip(support) {
            *p = p.scale(T::of(f64::from(*s)));
        }
        fft.inverse(mode);
    });
}
