//! A probe in the same window with another number of pixels.

use super::roll::roll;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use warpstride_fft::Fft2;

/// The probe modes (mode, row, column) in a window of the same size in metres with so many rows and
/// columns: the far field keeps its pixels around the zero frequency, and is 0 in further ones.
/// Photons in those pixels stay the same (the transform is unitary), so the probe has fewer if
/// far-field pixels with photons are cropped.
pub(crate) fn with_window(
    probe: &Array3<Complex<f64>>,
    [rows, columns]: [usize; 2],
) -> Array3<Complex<f64>> {
    let (modes, old_rows, old_columns) = probe.dim();
    if [old_rows, old_columns] == [rows, columns] {
        return probe.clone();
    }
    let mut new = Array3::zeros((modes, rows, columns));
    for (from, mut to) in probe.axis_iter(Axis(0)).zip(new.axis_iter_mut(Axis(0))) {
        let far = transformed(&from.to_owned(), Fft2::forward);
        let kept = Array2::from_shape_fn((rows, columns), |(r, c)| {
            let row = (r + old_rows / 2).checked_sub(rows / 2);
            let column = (c + old_columns / 2).checked_sub(columns / 2);
            let inside = row
                .zip(column)
                .and_then(|(row, column)| far.get([row, column]));
            inside.copied().unwrap_or_default()
        });
        to.assign(&transformed(&kept, Fft2::inverse));
    }
    new
}

/// The probe modes (mode, row, column) in a window with so many rows and columns of the same size
/// in metres: the pixels around the middle (rows/2, columns/2), and 0 in further ones.
pub(crate) fn cut_or_padded(
    probe: &Array3<Complex<f64>>,
    [rows, columns]: [usize; 2],
) -> Array3<Complex<f64>> {
    let (modes, old_rows, old_columns) = probe.dim();
    Array3::from_shape_fn((modes, rows, columns), |(mode, r, c)| {
        let row = (r + old_rows / 2).checked_sub(rows / 2);
        let column = (c + old_columns / 2).checked_sub(columns / 2);
        let inside = row
            .zip(column)
            .and_then(|(row, column)| probe.get([mode, row, column]));
        inside.copied().unwrap_or_default()
    })
}

/// A transform of an array with its origin in the middle, at (rows/2, columns/2), before and after
/// it.
fn transformed(
    wave: &Array2<Complex<f64>>,
    transform: fn(&mut Fft2<f64>, &mut [Complex<f64>]),
) -> Array2<Complex<f64>> {
    let (rows, columns) = wave.dim();
    let mut rolled = roll(wave, rows - rows / 2, columns - columns / 2);
    let mut fft = Fft2::new(rows, columns);
    if let Some(values) = rolled.as_slice_mut() {
        transform(&mut fft, values);
    }
    roll(&rolled, rows / 2, columns / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wave with a few far-field pixels around the zero frequency, in the middle of a window.
    fn wave([rows, columns]: [usize; 2]) -> Array3<Complex<f64>> {
        Array3::from_shape_fn((2, rows, columns), |(mode, r, c)| {
            let at =
                |i: usize, n: usize| std::f64::consts::TAU * (i as f64 - (n / 2) as f64) / n as f64;
            let (y, x) = (at(r, rows), at(c, columns));
            let sum = Complex::from(2.0) + Complex::cis(2.0 * y - x) * 0.5 + Complex::cis(3.0 * x);
            sum / ((rows * columns) as f64).sqrt() * (1.0 + mode as f64)
        })
    }

    #[test]
    fn a_wave_without_high_frequencies_is_sampled_elsewhere() {
        let sizes = [[16, 12], [9, 15], [8, 8], [31, 7]];
        for old in sizes {
            for new in sizes {
                let found = with_window(&wave(old), new);
                let expected = wave(new);
                let most = (found.iter().zip(&expected))
                    .map(|(a, b)| (a - b).norm())
                    .fold(0.0, f64::max);
                assert!(most < 1e-12, "{old:?} {new:?}: {most}");
                let power = |a: &Array3<Complex<f64>>| a.iter().map(Complex::norm_sqr).sum::<f64>();
                assert!((power(&found) / power(&wave(old)) - 1.0).abs() < 1e-12);
            }
        }
    }
}
