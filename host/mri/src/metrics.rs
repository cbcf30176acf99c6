//! Metrics of an image relative to a reference.

use ndarray::{Array3, ArrayView2, Axis, s};
use num_complex::Complex;
use serde::Serialize;

/// Voxels along each axis of the window of SSIM.
const WINDOW: usize = 7;

/// The constants of SSIM, in units of the reference's range.
const K: [f64; 2] = [0.01, 0.03];

/// Metrics of an image relative to a reference, after multiplying it by the number that minimises
/// the difference: a complex number for [`Self::nrmse`] and [`Self::psnr`], and a real one for the
/// metrics of the moduli.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metrics {
    /// |I − I0|/|I0|, phases included: those of coil maps too, if they were estimated.
    pub nrmse: f64,
    /// The same of the moduli.
    pub magnitude_nrmse: f64,
    /// 20 log10(max|I0|/√MSE), dB, MSE = Σ|I − I0|²/voxels.
    pub psnr: f64,
    /// Structural similarity of the moduli.
    pub ssim: f64,
}

/// The complex a that minimises |a `image` − `reference`|: ⟨image, reference⟩/⟨image, image⟩; 0 for
/// a zero image.
#[must_use]
pub fn scale(image: &Array3<Complex<f64>>, reference: &Array3<Complex<f64>>) -> Complex<f64> {
    let square: f64 = image.iter().map(Complex::norm_sqr).sum();
    let product: Complex<f64> = image.iter().zip(reference).map(|(a, b)| a.conj() * b).sum();
    if square > 0.0 {
        product / square
    } else {
        Complex::default()
    }
}

/// |`image` − `reference`|/|`reference`|, without scaling; not finite if the reference is 0.
#[must_use]
pub fn nrmse(image: &Array3<Complex<f64>>, reference: &Array3<Complex<f64>>) -> f64 {
    let size: f64 = reference.iter().map(Complex::norm_sqr).sum();
    (square_error(image, reference) / size).sqrt()
}

/// 20 log10(max|I0|/√MSE) in dB, without scaling; infinite for equal images.
#[must_use]
pub fn psnr(image: &Array3<Complex<f64>>, reference: &Array3<Complex<f64>>) -> f64 {
    let mean = square_error(image, reference) / reference.len() as f64;
    20.0 * (largest(reference) / mean.sqrt()).log10()
}

fn square_error(image: &Array3<Complex<f64>>, reference: &Array3<Complex<f64>>) -> f64 {
    let each = image.iter().zip(reference);
    each.map(|(a, b)| (a - b).norm_sqr()).sum()
}

fn largest(image: &Array3<Complex<f64>>) -> f64 {
    image.iter().map(|v| v.norm()).fold(0.0, f64::max)
}

/// The structural similarity of the moduli (Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli,
/// IEEE Trans. Image Process. 13 (2004) 600), without scaling: the mean over all 7 × 7 windows
/// within a slice, and over slices, of
///
/// (2 m m0 + c1)(2 v× + c2)/((m² + m0² + c1)(v + v0 + c2))
///
/// with uniform weights, m the means, v the variances and v× the covariance (of 49 − 1), c1 = (0.01
/// R)², c2 = (0.03 R)², and R the reference's largest modulus. Smaller images have a smaller
/// window.
#[must_use]
pub fn ssim(image: &Array3<Complex<f64>>, reference: &Array3<Complex<f64>>) -> f64 {
    let range = largest(reference);
    let constants = K.map(|k| (k * range).powi(2));
    let (image, reference) = (image.mapv(|v| v.norm()), reference.mapv(|v| v.norm()));
    let slices = image.axis_iter(Axis(0)).zip(reference.axis_iter(Axis(0)));
    let (mut sum, mut count) = (0.0, 0_u64);
    for (a, b) in slices {
        let (rows, columns) = a.dim();
        let window = [rows.min(WINDOW), columns.min(WINDOW)];
        for y in 0..=rows - window[0] {
            for x in 0..=columns - window[1] {
                let part = s![y..y + window[0], x..x + window[1]];
                sum += similarity(a.slice(part), b.slice(part), constants);
                count += 1;
            }
        }
    }
    sum / count as f64
}

/// The structural similarity in one window.
fn similarity(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, [c1, c2]: [f64; 2]) -> f64 {
    let count = a.len() as f64;
    let (m, m0) = (a.sum() / count, b.sum() / count);
    let (mut v, mut v0, mut both) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        v += (a - m) * (a - m);
        v0 += (b - m0) * (b - m0);
        both += (a - m) * (b - m0);
    }
    let free = (count - 1.0).max(1.0);
    let means = (2.0 * m * m0 + c1) / (m * m + m0 * m0 + c1);
    // Two images of zeros are equal.
    if c1 == 0.0 && m == 0.0 && m0 == 0.0 {
        return 1.0;
    }
    means * (2.0 * both / free + c2) / ((v + v0) / free + c2)
}

/// All metrics, after scaling the image by [`scale`]. Both images are (slice, row, column); `None`
/// if their shapes differ.
#[must_use]
pub fn compare(image: &Array3<Complex<f64>>, reference: &Array3<Complex<f64>>) -> Option<Metrics> {
    if image.dim() != reference.dim() || image.is_empty() {
        return None;
    }
    let factor = scale(image, reference);
    let scaled = image.mapv(|v| v * factor);
    let [modulus, modulus0] =
        [image, reference].map(|image| image.mapv(|v| Complex::from(v.norm())));
    let factor = scale(&modulus, &modulus0);
    let modulus = modulus.mapv(|v| v * factor);
    Some(Metrics {
        nrmse: nrmse(&scaled, reference),
        magnitude_nrmse: nrmse(&modulus, &modulus0),
        psnr: psnr(&scaled, reference),
        ssim: ssim(&modulus, &modulus0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Array3<Complex<f64>> {
        Array3::from_shape_fn((2, 9, 11), |(z, y, x)| {
            let n = (z * 99 + y * 11 + x) as f64;
            Complex::new((0.3 * n).sin(), (0.1 * n * n).cos())
        })
    }

    #[test]
    fn a_scaled_image_equals_the_reference() {
        let reference = reference();
        let image = reference.mapv(|v| v * Complex::new(-0.2, 3.0));
        let metrics = compare(&image, &reference).unwrap();
        assert!(metrics.nrmse < 1e-14 && metrics.psnr > 280.0);
        assert!((metrics.ssim - 1.0).abs() < 1e-12);
    }

    #[test]
    fn phases_do_not_enter_the_metrics_of_the_moduli() {
        let reference = reference();
        let mut n = 0.0;
        let image = reference.mapv(|v| {
            n += 1.0;
            v * Complex::from_polar(0.3, n)
        });
        let metrics = compare(&image, &reference).unwrap();
        assert!(metrics.nrmse > 0.5);
        assert!(metrics.magnitude_nrmse < 1e-14);
        assert!((metrics.ssim - 1.0).abs() < 1e-12);
        // An error of the moduli of a tenth, orthogonal to them.
        let reference = Array3::from_elem((1, 10, 10), Complex::new(0.0, 2.0));
        let mut n = 0;
        let image = reference.mapv(|v| {
            n += 1;
            v * if n % 2 == 0 { 1.1 } else { -0.9 }
        });
        let expected = (1.0_f64 - 1.0 / 1.01).sqrt();
        let found = compare(&image, &reference).unwrap().magnitude_nrmse;
        assert!((found - expected).abs() < 1e-14, "{found}");
    }

    #[test]
    fn an_error_of_known_size_gives_the_expected_metrics() {
        // Orthogonal to the reference, so that the best scale is 1 minus the error's share of it.
        let reference = Array3::from_elem((1, 10, 10), Complex::new(2.0, 0.0));
        let mut image = reference.clone();
        for (n, v) in image.iter_mut().enumerate() {
            v.re += if n % 2 == 0 { 0.2 } else { -0.2 };
        }
        assert!((nrmse(&image, &reference) - 0.1).abs() < 1e-14);
        assert!((psnr(&image, &reference) - 20.0).abs() < 1e-10);
        // With the scale a = 1/1.01 the error is |a I − I0| = |I0| √(1 − 1/1.01).
        let expected = (1.0_f64 - 1.0 / 1.01).sqrt();
        let metrics = compare(&image, &reference).unwrap();
        assert!((metrics.nrmse - expected).abs() < 1e-14);
    }

    #[test]
    fn similarity_equals_the_formula() {
        // One window: means 2 and 2.5, variances and covariance computed by hand.
        let a = [1.0, 2.0, 3.0, 2.0];
        let b = [2.0, 2.0, 4.0, 2.0];
        let image = |values: [f64; 4]| {
            Array3::from_shape_vec((1, 2, 2), values.map(Complex::from).to_vec()).unwrap()
        };
        let (v, v0, both) = (2.0 / 3.0, 1.0, 2.0 / 3.0);
        let (c1, c2) = (0.0016, 0.0144);
        let expected =
            (2.0 * 2.0 * 2.5 + c1) * (2.0 * both + c2) / ((4.0 + 6.25 + c1) * (v + v0 + c2));
        assert!((ssim(&image(a), &image(b)) - expected).abs() < 1e-14);
        // It ignores phases, and is symmetric except for the range.
        let rotated = image(a).mapv(|v| v * Complex::cis(1.0));
        assert!((ssim(&rotated, &image(b)) - expected).abs() < 1e-14);
    }

    #[test]
    fn images_of_different_shapes_are_not_compared() {
        let other = Array3::from_elem((1, 9, 11), Complex::from(1.0));
        assert_eq!(compare(&other, &reference()), None);
    }
}
