//! The far-field geometry of a scan.

/// Planck constant times speed of light, J m (CODATA 2018, exact).
const PLANCK_TIMES_LIGHT: f64 = 6.626_070_15e-34 * 299_792_458.0;

/// Wavelength, distance and detector pixels of a scan; all finite and positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Wavelength, m.
    pub wavelength: f64,
    /// Distance from the specimen to the detector, m.
    pub distance: f64,
    /// Detector pixel (row direction, column direction), m.
    pub pixel_size: [f64; 2],
}

impl Geometry {
    /// Size of an object pixel (row, column), m, for frames of `rows` × `columns`:
    /// Δ = λ z / (n p) per axis.
    #[must_use]
    pub fn object_pixel(&self, rows: usize, columns: usize) -> [f64; 2] {
        let size = |n: usize, p: f64| self.wavelength * self.distance / (n as f64 * p);
        [
            size(rows, self.pixel_size[0]),
            size(columns, self.pixel_size[1]),
        ]
    }

    /// Photon energy, J.
    #[must_use]
    pub fn energy(&self) -> f64 {
        Self::energy_of_wavelength(self.wavelength)
    }

    /// Photon energy, J, of a wavelength in m.
    #[must_use]
    pub fn energy_of_wavelength(metres: f64) -> f64 {
        PLANCK_TIMES_LIGHT / metres
    }

    /// Wavelength, m, of a photon energy in J.
    #[must_use]
    pub fn wavelength_of_energy(joule: f64) -> f64 {
        PLANCK_TIMES_LIGHT / joule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_pixel_follows_lambda_z_over_n_p_on_each_axis() {
        let g = Geometry {
            wavelength: 1e-10,
            distance: 2.0,
            pixel_size: [50e-6, 100e-6],
        };
        let [r, c] = g.object_pixel(100, 200);
        assert!((r - 4e-8).abs() < 1e-20 && (c - 1e-8).abs() < 1e-20);
    }

    #[test]
    fn energy_and_wavelength_are_inverse() {
        // 12.398 419 84 keV Å, the usual conversion factor.
        let kev = 12.398_419_84 * 1.602_176_634e-16;
        assert!((Geometry::wavelength_of_energy(kev) - 1e-10).abs() < 1e-18);
    }
}
