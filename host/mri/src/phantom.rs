//! The modified Shepp–Logan phantom, analytically in space and in k-space.
//!
//! Lengths are in half fields of view: the object lies in [−1, 1] along each axis. L. A. Shepp and
//! B. F. Logan, IEEE Trans. Nucl. Sci. 21 (1974) 21; contrasts as modified by P. A. Toft (1996).

use num_complex::Complex;
use std::f64::consts::{PI, TAU};

/// An ellipse or ellipsoid, rotated about the third axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipsoid {
    /// Its contribution to the image.
    pub amplitude: f64,
    /// Semi-axes.
    pub axes: [f64; 3],
    /// Its centre: x, y, z.
    pub centre: [f64; 3],
    /// Its rotation from x to y, rad.
    pub angle: f64,
}

/// A sum of ellipses (in a plane) or ellipsoids (in a volume).
#[derive(Debug, Clone, PartialEq)]
pub struct Phantom {
    parts: Vec<Ellipsoid>,
    dimensions: usize,
}

/// Amplitude; semi-axes along x, y, z; centre; rotation in degrees.
type Row = (f64, [f64; 3], [f64; 3], f64);

/// In the plane z = 0 the first, second and last two columns are Toft's table.
const SHEPP_LOGAN: [Row; 10] = [
    (1.0, [0.69, 0.92, 0.81], [0.0, 0.0, 0.0], 0.0),
    (-0.8, [0.6624, 0.874, 0.78], [0.0, -0.0184, 0.0], 0.0),
    (-0.2, [0.11, 0.31, 0.22], [0.22, 0.0, 0.0], -18.0),
    (-0.2, [0.16, 0.41, 0.28], [-0.22, 0.0, 0.0], 18.0),
    (0.1, [0.21, 0.25, 0.41], [0.0, 0.35, -0.15], 0.0),
    (0.1, [0.046, 0.046, 0.05], [0.0, 0.1, 0.25], 0.0),
    (0.1, [0.046, 0.046, 0.05], [0.0, -0.1, 0.25], 0.0),
    (0.1, [0.046, 0.023, 0.05], [-0.08, -0.605, 0.0], 0.0),
    (0.1, [0.023, 0.023, 0.02], [0.0, -0.606, 0.0], 0.0),
    (0.1, [0.023, 0.046, 0.02], [0.06, -0.605, 0.0], 0.0),
];

/// Below this the closed form loses digits, and a short series is more accurate.
const NEAR_ZERO: f64 = 0.5;

impl Phantom {
    /// The modified phantom in 2 or 3 dimensions. In the volume the ventricles are upright.
    #[must_use]
    pub fn shepp_logan(dimensions: usize) -> Self {
        let parts = SHEPP_LOGAN
            .map(|(amplitude, axes, centre, degrees)| Ellipsoid {
                amplitude,
                axes,
                centre,
                angle: degrees.to_radians(),
            })
            .to_vec();
        Self { parts, dimensions }
    }

    /// Its value at x, y[, z].
    #[must_use]
    pub fn value(&self, position: &[f64]) -> f64 {
        let inside = |part: &&Ellipsoid| {
            let [u, v] = part.rotated([position[0] - part.centre[0], position[1] - part.centre[1]]);
            let mut distance = (u / part.axes[0]).powi(2) + (v / part.axes[1]).powi(2);
            if self.dimensions == 3 {
                distance += ((position[2] - part.centre[2]) / part.axes[2]).powi(2);
            }
            distance <= 1.0
        };
        self.parts
            .iter()
            .filter(inside)
            .map(|part| part.amplitude)
            .sum()
    }

    /// ∫ value exp(−2πi k·r) dr; k in cycles per half field of view.
    #[must_use]
    pub fn transform(&self, k: &[f64]) -> Complex<f64> {
        self.parts
            .iter()
            .map(|part| part.transform(k, self.dimensions))
            .sum()
    }
}

impl Ellipsoid {
    /// Coordinates along its own first two axes.
    fn rotated(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sine, cosine) = self.angle.sin_cos();
        [cosine * x + sine * y, cosine * y - sine * x]
    }

    /// A a b J₁(2πρ)/ρ in a plane, A a b c (sin z − z cos z)/(2π²ρ³) with z = 2πρ in a volume,
    /// times the phase of its centre; ρ = |(a u, b v[, c w])|, with (u, v, w) the rotated k.
    fn transform(&self, k: &[f64], dimensions: usize) -> Complex<f64> {
        let [u, v] = self.rotated([k[0], k[1]]);
        let [a, b, c] = self.axes;
        let mut square = (a * u).powi(2) + (b * v).powi(2);
        let mut cycles = k[0] * self.centre[0] + k[1] * self.centre[1];
        let modulus = if dimensions == 3 {
            square += (c * k[2]).powi(2);
            cycles += k[2] * self.centre[2];
            self.amplitude * a * b * c * ball(TAU * square.sqrt())
        } else {
            self.amplitude * a * b * disc(TAU * square.sqrt())
        };
        Complex::from_polar(modulus, -TAU * (cycles - cycles.round()))
    }
}

/// 2π J₁(z)/z, π at 0.
fn disc(z: f64) -> f64 {
    if z < 1e-150 {
        return PI;
    }
    TAU * libm::j1(z) / z
}

/// 4π (sin z − z cos z)/z³, 4π/3 at 0.
fn ball(z: f64) -> f64 {
    let factor = if z < NEAR_ZERO {
        // Σ (−1)^(n+1) 2n z^(2n−2)/(2n+1)!: the eighth term is below rounding at 0.5.
        let (mut sum, mut power, mut factorial) = (0.0, 1.0, 1.0);
        for n in 1..=8 {
            let twice = 2.0 * f64::from(n);
            factorial *= twice * (twice + 1.0);
            sum += power * twice / factorial;
            power *= -z * z;
        }
        sum
    } else {
        (z.sin() - z * z.cos()) / z.powi(3)
    };
    4.0 * PI * factor
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the project's specification.
    const DC: f64 = 0.495_264_604_847_915_07;

    #[test]
    fn the_mean_is_the_sum_of_areas_and_volumes() {
        let flat = Phantom::shepp_logan(2);
        assert!((flat.transform(&[0.0, 0.0]).re / DC - 1.0).abs() < 1e-14);
        let areas: f64 = flat
            .parts
            .iter()
            .map(|p| p.amplitude * PI * p.axes[0] * p.axes[1])
            .sum();
        assert!((areas / DC - 1.0).abs() < 1e-14);
        let volume = Phantom::shepp_logan(3);
        let volumes: f64 = volume
            .parts
            .iter()
            .map(|p| p.amplitude * 4.0 / 3.0 * PI * p.axes.iter().product::<f64>())
            .sum();
        assert!((volume.transform(&[0.0; 3]).re / volumes - 1.0).abs() < 1e-14);
    }

    /// The midpoint rule applied to the image converges to the transform as it is refined.
    #[test]
    fn the_transform_is_that_of_the_image() {
        for dimensions in [2, 3] {
            let phantom = Phantom::shepp_logan(dimensions);
            let side = if dimensions == 2 { 1500 } else { 180 };
            let step = 2.0 / f64::from(side);
            let k = &[1.3, -0.7, 0.9][..dimensions];
            let mut sum = Complex::new(0.0, 0.0);
            let mut position = [0.0; 3];
            let slices = if dimensions == 2 { 1 } else { side };
            for slice in 0..slices {
                position[2] = (f64::from(slice) + 0.5) * step - 1.0;
                for row in 0..side {
                    position[1] = (f64::from(row) + 0.5) * step - 1.0;
                    for column in 0..side {
                        position[0] = (f64::from(column) + 0.5) * step - 1.0;
                        let value = phantom.value(&position[..dimensions]);
                        if value != 0.0 {
                            let cycles: f64 = k.iter().zip(position).map(|(k, r)| k * r).sum();
                            sum += Complex::from_polar(value, -TAU * cycles);
                        }
                    }
                }
            }
            sum *= step.powi(dimensions as i32);
            let exact = phantom.transform(k);
            // Half a step at the edge of the skull.
            let tolerance = if dimensions == 2 { 2e-4 } else { 3e-3 };
            assert!((sum - exact).norm() < tolerance, "{sum} {exact}");
        }
    }

    #[test]
    fn series_and_closed_form_agree() {
        let closed = |z: f64| 4.0 * PI * (z.sin() - z * z.cos()) / z.powi(3);
        for z in [0.499_999, 0.4, 0.3] {
            assert!((ball(z) / closed(z) - 1.0).abs() < 1e-13, "{z}");
        }
        assert!((ball(0.0) - 4.0 * PI / 3.0).abs() < 1e-15);
        assert!((disc(1e-9) - PI).abs() < 1e-15 && disc(0.0) == PI);
    }
}
