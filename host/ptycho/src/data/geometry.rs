//! The geometry of a scan.

/// Planck constant times speed of light, J m (CODATA 2018, exact).
const PLANCK_TIMES_LIGHT: f64 = 6.626_070_15e-34 * 299_792_458.0;

/// Elementary charge, C (CODATA 2018, exact).
const ELEMENTARY_CHARGE: f64 = 1.602_176_634e-19;

/// Rest energy of an electron, J: its mass of 9.109 383 7015 · 10⁻³¹ kg (CODATA 2018) times the
/// square of the speed of light.
const REST_ENERGY: f64 = 9.109_383_701_5e-31 * 299_792_458.0 * 299_792_458.0;

/// How waves travel from the specimen to the detector.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Propagation {
    /// To the far field, by a Fourier transform.
    #[default]
    FarField,
    /// To the near field, by Fresnel propagation.
    NearField {
        /// Distance z1 from the focus of a cone beam to the specimen, m; `None` for a parallel
        /// beam.
        focus_to_sample: Option<f64>,
    },
}

/// Wavelength, distance and detector pixels of a scan; all finite and positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Wavelength, m.
    pub wavelength: f64,
    /// Distance from the specimen to the detector, m.
    pub distance: f64,
    /// Detector pixel (row direction, column direction), m.
    pub pixel_size: [f64; 2],
    /// How waves travel to the detector.
    pub propagation: Propagation,
}

impl Geometry {
    /// Whether waves travel to the near field.
    #[must_use]
    pub fn is_near_field(&self) -> bool {
        matches!(self.propagation, Propagation::NearField { .. })
    }

    /// Distance from the focus of a cone beam in the near field to the specimen, m.
    #[must_use]
    pub fn focus_to_sample(&self) -> Option<f64> {
        match self.propagation {
            Propagation::FarField => None,
            Propagation::NearField { focus_to_sample } => focus_to_sample,
        }
    }

    /// Geometric magnification M = (z1 + z2)/z1 of a cone beam in the near field, z1 from the focus
    /// to the specimen and z2 from there to the detector; otherwise 1.
    #[must_use]
    pub fn magnification(&self) -> f64 {
        self.focus_to_sample()
            .map_or(1.0, |z1| (z1 + self.distance) / z1)
    }

    /// Distance, m, over which a parallel beam propagates like this one, z1 z2/(z1 + z2) for a cone
    /// beam in the near field (Fresnel scaling theorem: D. Paganin, Coherent X-Ray Optics, Oxford
    /// 2006, appendix B); otherwise the distance itself.
    #[must_use]
    pub fn effective_distance(&self) -> f64 {
        self.distance / self.magnification()
    }

    /// Fresnel number Δ²/(λz) of an object pixel Δ (row, column) at the effective distance z in the
    /// near field, which has no meaning in the far field.
    #[must_use]
    pub fn fresnel_number(&self, rows: usize, columns: usize) -> [f64; 2] {
        let area = self.wavelength * self.effective_distance();
        self.object_pixel(rows, columns)
            .map(|pixel| pixel * pixel / area)
    }

    /// Size of an object pixel (row, column), m, for frames of `rows` × `columns`: Δ = λ z/(n p)
    /// per axis in the far field, and Δ = p/M in the near field, M from [`Self::magnification`].
    #[must_use]
    pub fn object_pixel(&self, rows: usize, columns: usize) -> [f64; 2] {
        if self.is_near_field() {
            return self.pixel_size.map(|p| p / self.magnification());
        }
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

    /// De Broglie wavelength, m, of electrons that a voltage U in V has accelerated from rest: λ =
    /// hc/√(eU (2 m c² + eU)) (E. J. Kirkland, Advanced Computing in Electron Microscopy, 2nd ed.,
    /// Springer 2010, chapter 2).
    #[must_use]
    pub fn wavelength_of_voltage(volts: f64) -> f64 {
        let energy = ELEMENTARY_CHARGE * volts;
        PLANCK_TIMES_LIGHT / (energy * (2.0 * REST_ENERGY + energy)).sqrt()
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
            propagation: Propagation::FarField,
        };
        let [r, c] = g.object_pixel(100, 200);
        assert!((r - 4e-8).abs() < 1e-20 && (c - 1e-8).abs() < 1e-20);
    }

    /// The published values of the scan `p25-near-field.cxi` (Zenodo 10.5281/zenodo.17899482):
    /// magnification 307.8, object pixel 0.1787 µm, effective distance 3.638 mm, where 1.12 m is
    /// the distance from the specimen to the detector.
    #[test]
    fn a_cone_beam_has_the_published_magnification() {
        let mut g = Geometry {
            wavelength: 97.95e-12,
            distance: 1.12,
            pixel_size: [55e-6; 2],
            propagation: Propagation::NearField {
                focus_to_sample: Some(3.65e-3),
            },
        };
        assert!((g.magnification() - 307.8).abs() < 0.05);
        assert!((g.object_pixel(100, 90)[1] - 0.1787e-6).abs() < 5e-11);
        assert!((g.effective_distance() - 3.638e-3).abs() < 5e-7);
        g.propagation = Propagation::NearField {
            focus_to_sample: None,
        };
        assert_eq!(
            (g.object_pixel(9, 7), g.effective_distance()),
            ([55e-6; 2], 1.12)
        );
    }

    /// Published values (Kirkland, table 2.1): 1.9687, 2.5079 and 4.1757 pm.
    #[test]
    fn electrons_have_the_published_wavelengths() {
        for (kilovolts, picometres) in [(300.0, 1.9687), (200.0, 2.5079), (80.0, 4.1757)] {
            let found = 1e12 * Geometry::wavelength_of_voltage(1e3 * kilovolts);
            assert!((found - picometres).abs() < 6e-5, "{kilovolts}: {found}");
        }
    }

    #[test]
    fn energy_and_wavelength_are_inverse() {
        // 12.398 419 84 keV Å, the usual conversion factor.
        let kev = 12.398_419_84 * 1.602_176_634e-16;
        assert!((Geometry::wavelength_of_energy(kev) - 1e-10).abs() < 1e-18);
    }
}
