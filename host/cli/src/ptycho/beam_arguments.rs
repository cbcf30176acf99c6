//! `--voltage`, `--energy`, `--wavelength`, `--distance`, `--pixel-size` and `--pixel-angle`;
//! `--semi-angle`, `--defocus`, `--c3` and `--astigmatism`.

use crate::args::{BeamArgs, OpticsArgs};
use crate::failure::Failure;
use warpstride::ptycho::quantities::{Kind, Measure};
use warpstride::ptycho::{Constants, ProbeSource, ProbeStart};

/// The value of an argument.
fn read<T>(
    name: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    parse(text).map_err(|expected| Failure::usage(format!("--{name} {text}: expected {expected}")))
}

/// Sets the options that were given, and removes those of which they take the place.
pub(super) fn beam(args: &BeamArgs, constants: &mut Constants) -> Result<(), Failure> {
    if args.voltage.is_some() || args.energy.is_some() || args.wavelength.is_some() {
        constants.voltage = None;
        constants.energy = None;
        constants.wavelength = None;
    }
    if let Some(text) = &args.voltage {
        constants.voltage = Some(read("voltage", text, |text| Kind::Voltage.read(text))?);
    }
    if let Some(text) = &args.energy {
        constants.energy = Some(read("energy", text, |text| Kind::Energy.read(text))?);
    }
    if let Some(text) = &args.wavelength {
        let wavelength = read("wavelength", text, |text| {
            Kind::Length(Measure::Wavelength).read(text)
        })?;
        constants.wavelength = Some(wavelength);
    }
    if let Some(text) = &args.distance {
        constants.distance = Some(read("distance", text, |text| {
            Kind::Length(Measure::Distance).read(text)
        })?);
    }
    if args.pixel_size.is_some() || args.pixel_angle.is_some() {
        constants.pixel_size = None;
        constants.pixel_angle = None;
        constants.pixel_frequency = None;
    }
    if let Some(text) = &args.pixel_size {
        constants.pixel_size = Some(read("pixel-size", text, |text| {
            Kind::Length(Measure::PixelSize).read_pair(text)
        })?);
    }
    if let Some(text) = &args.pixel_angle {
        if is_frequency(text) {
            let frequencies = read("pixel-angle", text, |text| Kind::Frequency.read_pair(text))?;
            constants.pixel_frequency = Some(frequencies);
        } else {
            let angles = read("pixel-angle", text, |text| {
                let read = Kind::AngleWithUnit.read_pair(text);
                read.map_err(|expected| {
                    format!("{expected}; or a spatial frequency, such as 0.02/A")
                })
            })?;
            constants.pixel_angle = Some(angles);
        }
    }
    Ok(())
}

/// Whether the pixel is given by a spatial frequency.
fn is_frequency(text: &str) -> bool {
    text.contains('/') || text.contains('^')
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn beam_origins(args: &BeamArgs) -> Vec<(String, String)> {
    let angle = match &args.pixel_angle {
        Some(text) if is_frequency(text) => "pixel_frequency",
        _ => "pixel_angle",
    };
    let table = [
        ("voltage", "voltage", &args.voltage),
        ("energy", "energy", &args.energy),
        ("wavelength", "wavelength", &args.wavelength),
        ("distance", "distance", &args.distance),
        ("pixel_size", "pixel-size", &args.pixel_size),
        (angle, "pixel-angle", &args.pixel_angle),
    ];
    let given = table.into_iter().filter_map(|(option, name, text)| {
        let argument = format!("--{name} {}", text.as_ref()?);
        Some((format!("data.constants.{option}"), argument))
    });
    given.collect()
}

/// Sets the options that were given.
pub(super) fn optics(args: &OpticsArgs, probe: &mut ProbeStart) -> Result<(), Failure> {
    let length =
        |name: &str, text: &str| read(name, text, |text| Kind::Length(Measure::Optics).read(text));
    if let Some(text) = &args.semi_angle {
        probe.source = ProbeSource::Aberrations;
        probe.semi_angle = Some(read("semi-angle", text, |text| Kind::Angle.read(text))?);
    }
    if let Some(text) = &args.defocus {
        probe.defocus = length("defocus", text)?;
    }
    if let Some(text) = &args.c3 {
        probe.c3 = length("c3", text)?;
    }
    if let Some(text) = &args.astigmatism {
        let refused = || {
            Failure::usage(format!(
                "--astigmatism {text}: expected a length and an angle, such as 20nm,30deg"
            ))
        };
        let (size, angle) = text.split_once(',').ok_or_else(refused)?;
        let asked =
            |expected: String| Failure::usage(format!("--astigmatism {text}: expected {expected}"));
        probe.astigmatism = Kind::Length(Measure::Optics).read(size).map_err(asked)?;
        probe.astigmatism_angle = Kind::AngleWithUnit.read(angle).map_err(asked)?;
    }
    Ok(())
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn optics_origins(args: &OpticsArgs) -> Vec<(String, String)> {
    let table = [
        ("source", "semi-angle", &args.semi_angle),
        ("semi_angle", "semi-angle", &args.semi_angle),
        ("defocus", "defocus", &args.defocus),
        ("c3", "c3", &args.c3),
        ("astigmatism", "astigmatism", &args.astigmatism),
        ("astigmatism_angle", "astigmatism", &args.astigmatism),
    ];
    let given = table.into_iter().filter_map(|(option, name, text)| {
        let argument = format!("--{name} {}", text.as_ref()?);
        Some((format!("probe.{option}"), argument))
    });
    given.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn arguments_take_the_place_of_options() {
        let mut constants = Constants {
            wavelength: Some(1e-10),
            pixel_size: Some([75e-6; 2]),
            ..Constants::default()
        };
        let args = BeamArgs {
            voltage: text("300kV"),
            pixel_angle: text("0.02/A"),
            ..BeamArgs::default()
        };
        beam(&args, &mut constants).unwrap();
        let expected = Constants {
            voltage: Some(3e5),
            pixel_frequency: Some([2e8; 2]),
            ..Constants::default()
        };
        assert_eq!(constants, expected);
        let origins = beam_origins(&args);
        let last = ("data.constants.pixel_frequency", "--pixel-angle 0.02/A");
        assert_eq!(origins[1], (last.0.to_owned(), last.1.to_owned()));
        for (args, words) in [
            (
                BeamArgs {
                    voltage: text("300"),
                    ..BeamArgs::default()
                },
                "--voltage 300: expected a voltage with a unit, such as 300kV; are these 300kV or 300V?",
            ),
            (
                BeamArgs {
                    pixel_angle: text("0.3"),
                    ..BeamArgs::default()
                },
                "or a spatial frequency, such as 0.02/A",
            ),
            (
                BeamArgs {
                    pixel_size: text("75"),
                    ..BeamArgs::default()
                },
                "--pixel-size 75: expected a length in metres or with a unit, such as 75um; are these 75um or 75m?",
            ),
            (
                BeamArgs {
                    energy: text("8.8kev"),
                    ..BeamArgs::default()
                },
                "--energy 8.8kev: expected an energy with a unit, such as 8.8keV, found the unit kev",
            ),
        ] {
            let error = beam(&args, &mut constants).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_semi_angle_chooses_the_probe() {
        let mut probe = ProbeStart::default();
        let args = OpticsArgs {
            semi_angle: text("1.03mrad"),
            defocus: text("-13.5um"),
            c3: text("2.7mm"),
            astigmatism: text("20nm,30deg"),
        };
        optics(&args, &mut probe).unwrap();
        assert_eq!(probe.source, ProbeSource::Aberrations);
        assert_eq!((probe.semi_angle, probe.defocus), (Some(1.03e-3), -13.5e-6));
        assert!((probe.astigmatism_angle.to_degrees() - 30.0).abs() < 1e-12);
        let alone = OpticsArgs {
            astigmatism: text("20nm"),
            ..OpticsArgs::default()
        };
        let error = optics(&alone, &mut probe).unwrap_err().to_string();
        assert!(error.contains("such as 20nm,30deg"), "{error}");
    }
}
