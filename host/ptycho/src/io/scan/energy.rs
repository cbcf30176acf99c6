//! Energies of photons whose unit is not given.

use crate::session::quantities::LARGEST_JOULE;
use std::ops::RangeInclusive;
use warpstride_core::text::shortest;

/// One electronvolt, J (CODATA 2018, exact).
pub(super) const ELECTRONVOLT: f64 = 1.602_176_634e-19;

/// Numbers that may be in eV and in keV: photons used for diffraction have from about 20 eV (the
/// extreme ultraviolet of free-electron lasers) to 200 keV (undulators and wigglers of
/// synchrotrons). From 200 to 1000 a number of eV is one of soft X-rays, and one of keV that of
/// electrons in microscopes: of 200, 300 or 1000 kV.
const EV_OR_KEV: RangeInclusive<f64> = 20.0..=1000.0;

/// Numbers of eV that are more than photons used for diffraction have, and may be those of
/// electrons in microscopes.
const ELECTRONS: RangeInclusive<f64> = 200e3..=3e6;

/// Energy in J and the unit deduced from its magnitude: J below 10⁻⁶, keV below 20, eV above 1000.
///
/// # Errors
/// The question about a number that could be in several units.
pub(super) fn joule(energy: f64) -> Result<(f64, &'static str), String> {
    if energy < LARGEST_JOULE {
        return Ok((energy, "J"));
    }
    let number = shortest(energy);
    if EV_OR_KEV.contains(&energy) {
        return Err(format!(
            "are these photons of {number} eV (data.constants.energy = \"{number}eV\") or of {number} keV (\"{number}keV\"), or electrons of {number} kV (data.constants.voltage = \"{number}kV\")?"
        ));
    }
    if ELECTRONS.contains(&energy) {
        let kilovolts = shortest(energy / 1e3);
        return Err(format!(
            "are these electrons of {kilovolts} kV (data.constants.voltage = \"{kilovolts}kV\") or photons of {kilovolts} keV (data.constants.energy = \"{kilovolts}keV\")?"
        ));
    }
    Ok(if energy < *EV_OR_KEV.start() {
        (energy * 1e3 * ELECTRONVOLT, "keV")
    } else {
        (energy * ELECTRONVOLT, "eV")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Geometry;

    #[test]
    fn an_energy_in_any_unit_gives_the_same_wavelength() {
        let kev = 12.398_419_84;
        for energy in [kev, kev * 1e3, kev * 1e3 * ELECTRONVOLT] {
            let w = Geometry::wavelength_of_energy(joule(energy).unwrap().0);
            assert!((w - 1e-10).abs() < 1e-18, "{energy}: {w}");
        }
        for (energy, unit) in [(8.8, "keV"), (6.2, "keV"), (1.4e-15, "J"), (8800.0, "eV")] {
            assert_eq!(joule(energy).unwrap().1, unit);
        }
    }

    #[test]
    fn doubtful_numbers_are_asked_about() {
        for (energy, answer) in [
            (25.0, "\"25eV\""),
            (300.0, "data.constants.voltage = \"300kV\""),
            (520.0, "data.constants.energy = \"520eV\""),
            (300e3, "electrons of 300 kV"),
        ] {
            let question = joule(energy).unwrap_err();
            assert!(question.contains(answer), "{question}");
        }
    }
}
