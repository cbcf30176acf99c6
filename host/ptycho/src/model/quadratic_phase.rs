//! The quadratic phase between the model's probe and the physical one.

use crate::data::{Geometry, Propagation};
use ndarray::Array3;
use num_complex::Complex;

/// Times exp(sign · iπ(x² + y²)/(λz)), x and y from the middle of the window: sign −1 makes the
/// model's probe the physical one, +1 the opposite.
///
/// Fresnel's kernel exp(+iπ(x − u)²/(λz)) is exp(+iπx²/(λz)) · exp(−2πi x u/(λz)) times a phase at
/// the detector; the first factor is what the model's bare transform leaves to the probe. In the
/// near field of a cone beam the physical probe has the factor exp(+iπ(x² + y²)/(λz1)) of the
/// spherical wave besides, which the model with its effective distance leaves out; in that of a
/// parallel beam both are the same.
pub(crate) fn quadratic_phase(
    probe: &mut Array3<Complex<f64>>,
    pixel: [f64; 2],
    geometry: &Geometry,
    sign: f64,
) {
    let (_, rows, columns) = probe.dim();
    let inverse_radius = match geometry.propagation {
        Propagation::FarField => 1.0 / geometry.distance,
        Propagation::NearField {
            focus_to_sample: Some(z1),
        } => -1.0 / z1,
        Propagation::NearField {
            focus_to_sample: None,
        } => return,
    };
    let curvature = std::f64::consts::PI * inverse_radius / geometry.wavelength;
    for ((_, row, column), value) in probe.indexed_iter_mut() {
        let y = (row as f64 - (rows / 2) as f64) * pixel[0];
        let x = (column as f64 - (columns / 2) as f64) * pixel[1];
        *value *= Complex::cis(sign * curvature * (x * x + y * y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The detector's magnitudes, computed from the physical probe by Fresnel's sum, are those of
    /// the bare transform of the model's probe.
    #[test]
    fn the_physical_probe_gives_the_same_pattern_by_fresnels_sum() {
        let (rows, columns) = (6, 5);
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 2.0,
            pixel_size: [75e-6, 60e-6],
            propagation: Propagation::FarField,
        };
        let pixel = geometry.object_pixel(rows, columns);
        let model = Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
            Complex::new((r * 3 + c) as f64 % 7.0 - 2.0, (r + 2 * c) as f64 % 5.0)
        });
        let mut physical = model.clone();
        quadratic_phase(&mut physical, pixel, &geometry, -1.0);
        let mut bare: Vec<_> = model.iter().copied().collect();
        warpstride_fft::Fft2::new(rows, columns).forward(&mut bare);
        let place = |i: usize, n: usize| i as f64 - (n / 2) as f64;
        for (k, expected) in bare.iter().enumerate() {
            // Frequencies and detector pixels, zero in the middle.
            let v = place((k / columns + rows / 2) % rows, rows) * geometry.pixel_size[0];
            let u = place((k % columns + columns / 2) % columns, columns) * geometry.pixel_size[1];
            let wave: Complex<f64> = physical
                .indexed_iter()
                .map(|((_, r, c), p)| {
                    let y = place(r, rows) * pixel[0] - v;
                    let x = place(c, columns) * pixel[1] - u;
                    let scale = geometry.wavelength * geometry.distance;
                    p * Complex::cis(std::f64::consts::PI * (x * x + y * y) / scale)
                })
                .sum();
            let norm = wave.norm() / ((rows * columns) as f64).sqrt();
            assert!((norm - expected.norm()).abs() < 1e-9 * (1.0 + norm), "{k}");
        }
    }

    /// In a cone beam, the physical probe at the distance z2 gives the magnitudes that the model's
    /// probe gives at the effective distance on a detector that is smaller by the magnification,
    /// both by Fresnel's sum.
    #[test]
    fn the_physical_probe_of_a_cone_beam_gives_the_same_magnified_pattern() {
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.5,
            pixel_size: [75e-6, 60e-6],
            propagation: Propagation::NearField {
                focus_to_sample: Some(4e-3),
            },
        };
        let (rows, columns) = (5, 6);
        let pixel = geometry.object_pixel(rows, columns);
        let model = Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
            Complex::new((r * 3 + c) as f64 % 7.0 - 2.0, (r + 2 * c) as f64 % 5.0)
        });
        let mut physical = model.clone();
        quadratic_phase(&mut physical, pixel, &geometry, -1.0);
        let place = |i: usize, n: usize| i as f64 - (n / 2) as f64;
        let sum = |probe: &Array3<Complex<f64>>, distance: f64, v: f64, u: f64| -> f64 {
            let wave: Complex<f64> = probe
                .indexed_iter()
                .map(|((_, r, c), p)| {
                    let y = place(r, rows) * pixel[0] - v;
                    let x = place(c, columns) * pixel[1] - u;
                    let scale = geometry.wavelength * distance;
                    p * Complex::cis(std::f64::consts::PI * (x * x + y * y) / scale)
                })
                .sum();
            wave.norm()
        };
        for k in 0..rows * columns {
            let v = place(k / columns, rows) * geometry.pixel_size[0];
            let u = place(k % columns, columns) * geometry.pixel_size[1];
            let m = geometry.magnification();
            let found = sum(&physical, geometry.distance, v, u);
            let expected = sum(&model, geometry.effective_distance(), v / m, u / m);
            assert!((found - expected).abs() < 1e-6 * (1.0 + expected), "{k}");
        }
        let mut back = physical;
        quadratic_phase(&mut back, pixel, &geometry, 1.0);
        assert!(back.iter().zip(&model).all(|(a, b)| (a - b).norm() < 1e-12));
    }
}
