//! Smoothing of an array along both axes; outside of it are zeros.

use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Smooths `values` (row, column) with a symmetric kernel, given from its middle; empty: not at
/// all.
pub(super) fn smooth<T: Real>(values: &mut Vec<Complex<T>>, shape: [usize; 2], kernel: &[f64]) {
    if kernel.is_empty() {
        return;
    }
    let [rows, columns] = shape;
    for (length, stride) in [(columns, 1), (rows, columns)] {
        let from = std::mem::take(values);
        let smoothed = |at: usize| {
            let place = at / stride % length;
            let wide = |n: usize| Complex::new(from[n].re.wide(), from[n].im.wide());
            let mut sum = wide(at) * kernel[0];
            for (k, weight) in kernel.iter().enumerate().skip(1) {
                if k <= place {
                    sum += wide(at - k * stride) * weight;
                }
                if place + k < length {
                    sum += wide(at + k * stride) * weight;
                }
            }
            Complex::new(T::of(sum.re), T::of(sum.im))
        };
        *values = (0..from.len()).into_par_iter().map(smoothed).collect();
    }
}
