//! What numbers of scans and recipes measure, the units in which they are written, and the values
//! that occur: the one table from which follows what a number without a unit means, and where it
//! has to be asked.

use std::ops::RangeInclusive;
use warpstride_core::text::{Dimension, shortest};

/// One electronvolt, J (CODATA 2018, exact).
const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// Numbers above this are no metres of any instrument, even if no other unit is plausible either.
const LARGEST_METRES: f64 = 100.0;

/// What a number of a scan or a recipe measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Coordinates of positions, whose plausible units follow from their steps.
    Positions,
    /// Wavelength of photons or electrons.
    Wavelength,
    /// Energy of photons.
    Energy,
    /// Distance from the specimen to the detector.
    Distance,
    /// Pixel of the detector.
    PixelSize,
    /// Distance from the focus of a cone beam to the specimen.
    Focus,
    /// Defocus and aberrations of a lens.
    Optics,
    /// Distance between slices, and path of an exposure.
    Path,
    /// Step of a raster.
    Step,
}

impl Measure {
    /// The dimension of its units.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Energy => Dimension::Energy,
            _ => Dimension::Length,
        }
    }

    /// Units in which such numbers are written.
    pub fn units(self) -> &'static [&'static str] {
        match self {
            Self::Positions | Self::Optics => &["m", "mm", "um", "nm"],
            Self::Wavelength => &["m", "nm", "A", "pm"],
            Self::Energy => &["J", "eV", "keV"],
            Self::Distance => &["m", "mm"],
            Self::PixelSize | Self::Focus => &["m", "mm", "um"],
            Self::Path => &["m", "um", "nm"],
            Self::Step => &["um", "nm", "A"],
        }
    }

    /// Values, in SI units, that occur.
    fn usual(self) -> RangeInclusive<f64> {
        match self {
            // From 300 kV electrons to visible light.
            Self::Wavelength => 1e-12..=1e-6,
            // From extreme ultraviolet to 400 keV.
            Self::Energy => 90.0 * ELECTRONVOLT..=4e5 * ELECTRONVOLT,
            Self::Distance => 0.02..=30.0,
            Self::PixelSize => 1e-6..=9.99e-4,
            Self::Focus => 0.0..=1.0,
            Self::Optics => 0.0..=0.2,
            Self::Path => 0.0..=0.01,
            Self::Step => 0.0..=9.99e-5,
            // Compared with the object pixel instead.
            Self::Positions => 0.0..=f64::INFINITY,
        }
    }

    /// Units in which `number` is a value that occurs.
    pub fn plausible(self, number: f64) -> Vec<&'static str> {
        let (number, usual) = (number.abs(), self.usual());
        let fits = |unit: &&&str| {
            let si = self.dimension().unit(unit).map(|unit| unit * number);
            si.is_some_and(|si| usual.contains(&si))
        };
        self.units().iter().filter(fits).copied().collect()
    }

    /// The units of which one has to be stated for a length without a unit where metres are
    /// documented; none if it is in metres, as no other unit is plausible.
    pub fn doubt(self, number: f64) -> Vec<&'static str> {
        let small = *self.usual().start() == 0.0;
        if number == 0.0 || !number.is_finite() || (small && self.usual().contains(&number.abs())) {
            return Vec::new();
        }
        let fits = self.plausible(number);
        match &*fits {
            // Every number is a value that occurs in a unit that is small enough.
            _ if small => {}
            [] if number.abs() > LARGEST_METRES => {}
            [] | ["m"] => return Vec::new(),
            ["m", ..] => return fits,
            others => return [others, &["m"]].concat(),
        }
        // The first one is that of the remedy.
        let others = self.units().iter().filter(|unit| !fits.contains(unit));
        fits.iter().chain(others).copied().collect()
    }

    /// The question about a length without a unit where metres are documented, if it is in doubt:
    /// `are these 75m or 75um?`.
    pub fn question(self, number: f64) -> Option<String> {
        let units = self.doubt(number);
        let number = shortest(number);
        let written: Vec<String> = (units.iter())
            .map(|unit| format!("{number}{unit}"))
            .collect();
        (!written.is_empty()).then(|| format!("are these {}?", one_of(&written)))
    }
}

/// `a, b or c`
pub(crate) fn one_of<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match &*texts {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_metres_unless_another_unit_is_plausible() {
        for (measure, metres, doubtful) in [
            (
                Measure::Distance,
                &[0.7, 2.0, 19.9, 0.005, 1e-5][..],
                &[681.0, 25.0, 75.0, 2000.0, 1e9][..],
            ),
            (
                Measure::PixelSize,
                &[75e-6, 1e-6, 5e-9, 9e-4],
                &[75.0, 0.055, 5.0, 1e3],
            ),
            (
                Measure::Wavelength,
                &[1.4e-10, 1.9687e-12, 8.7e-13, 6.33e-7, 1e-4],
                &[1.4, 0.14, 632.8, 1e3],
            ),
            (Measure::Optics, &[0.0, -13.5e-6, 0.01], &[-13.5, 0.4, 1.2]),
            (Measure::Focus, &[0.00365, 0.5], &[3.65]),
            (Measure::Path, &[2e-5, 0.0], &[20.0, 1.5]),
        ] {
            for number in metres {
                assert_eq!(measure.question(*number), None, "{measure:?} {number}");
            }
            for number in doubtful {
                let question = measure.question(*number);
                let number = shortest(*number);
                let asked = question.is_some_and(|text| {
                    text.contains(&format!("{number}m")) && text.ends_with('?')
                });
                assert!(asked, "{measure:?} {number}");
            }
        }
        assert_eq!(
            Measure::Distance.question(681.0).unwrap(),
            "are these 681mm or 681m?"
        );
        // The remedy is the unit that fits best.
        let first = [
            (Measure::Focus, 3.65, "mm"),
            (Measure::PixelSize, 75.0, "um"),
            (Measure::Path, 20.0, "um"),
            (Measure::Optics, 1.2, "mm"),
            (Measure::Distance, 25.0, "m"),
        ];
        for (measure, number, unit) in first {
            assert_eq!(measure.doubt(number)[0], unit, "{measure:?}");
        }
        let question = Measure::Wavelength.question(1.4).unwrap();
        assert_eq!(question, "are these 1.4nm, 1.4A, 1.4pm or 1.4m?");
    }
}
