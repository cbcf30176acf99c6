//! What a file of frames lacks: positions, wavelength, distance and pixel size, all of them at
//! once, and options that give them.

use super::ReadOptions;
use super::format::read_once;
use super::parts::ScanFile;
use crate::checks::diagnosis::corner::is_at_corner;
use crate::data::Geometry;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_core::text::shortest;
use warpstride_files::IoError;

/// Endings of the files of electron microscopes.
const OF_ELECTRONS: [&str; 3] = ["mib", "raw", "xml"];
/// Voltage of the electrons of an example, V.
const VOLTAGE: f64 = 3e5;
/// Part of the window of a frame that the step of an example is.
const STEP: f64 = 0.125;

/// One of the things that a scan needs beside its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Positions,
    Beam,
    Distance,
    PixelSize,
}

impl Part {
    /// What an error says is missing.
    fn of(error: &IoError) -> Option<Self> {
        let IoError::Missing { what, .. } = error else {
            return None;
        };
        match what.as_str() {
            "positions" | "the step of the scan" => Some(Self::Positions),
            "wavelength or energy" => Some(Self::Beam),
            "distance" => Some(Self::Distance),
            "pixel size" => Some(Self::PixelSize),
            _ => None,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Positions => "positions (--positions FILE, or --raster and --step)",
            Self::Beam => "a wavelength (--wavelength, --energy or --voltage)",
            Self::Distance => "a distance (--distance)",
            Self::PixelSize => "a pixel size (--pixel-size or --pixel-angle)",
        }
    }
}

/// What is missing to reconstruct the frames of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingParts {
    parts: Vec<Part>,
    /// The options with assumed values for what is missing, with which the frames can be described.
    pub options: ReadOptions,
    /// Options of the command with plausible values in the place of what is missing.
    pub arguments: Vec<(&'static str, String)>,
}

impl MissingParts {
    /// What is missing, each with the options that give it.
    #[must_use]
    pub fn nouns(&self) -> Vec<&'static str> {
        self.parts.iter().map(|part| part.noun()).collect()
    }

    /// Whether positions are missing.
    #[must_use]
    pub fn has_no_positions(&self) -> bool {
        self.parts.contains(&Part::Positions)
    }

    /// The error of reading the frames, with what is missing; `None` if it is nothing else than
    /// what is missing.
    #[must_use]
    pub fn with(&self, error: IoError) -> Option<IoError> {
        let of_layout = matches!(error, IoError::Format { .. });
        (!of_layout && Part::of(&error).is_none()).then(|| IoError::WrongAndIncomplete {
            error: Box::new(error),
            missing: self.nouns().join(", "),
        })
    }

    /// Whether wavelength, distance and pixel size are known, and positions alone are missing.
    #[must_use]
    pub fn has_geometry(&self) -> bool {
        self.parts == [Part::Positions]
    }
}

/// What is missing to read the scan in `path` with these options; `None` if nothing is, or if its
/// layout is not known. One frame is read.
///
/// # Errors
/// The frames cannot be read for another reason, which the error has beside what is missing.
pub fn missing_parts(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Option<MissingParts>, IoError> {
    let mut complete = ReadOptions {
        describes_only: true,
        ..options.clone()
    };
    let mut parts = Vec::new();
    let mut of_electrons = path.extension().is_some_and(|end| {
        OF_ELECTRONS
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    });
    let read = loop {
        let error = match read_once(path, &one_frame(&complete), memory, None) {
            Ok(read) => break read,
            Err(error) => error,
        };
        // A file whose layout is not known may have frames alone.
        let alone = matches!(error, IoError::Format { .. }) && !complete.has_other_positions();
        match Part::of(&error).or(alone.then_some(Part::Positions)) {
            Some(part) if !parts.contains(&part) => {
                // A format of electron microscopes names the voltage first.
                of_electrons |= error.to_string().contains("--voltage 300kV");
                fill(part, of_electrons, &mut complete);
                parts.push(part);
            }
            _ if parts.is_empty() => return Ok(None),
            // One frame may be dark, or bad.
            _ => match read_once(path, &complete, memory, None) {
                Ok(read) => break read,
                Err(error) => {
                    let missing = MissingParts {
                        parts,
                        options: complete,
                        arguments: Vec::new(),
                    };
                    return missing.with(error).map_or(Ok(None), Err);
                }
            },
        }
    };
    if parts.is_empty() {
        return Ok(None);
    }
    let arguments = arguments(options, (&parts, of_electrons), &read);
    Ok(Some(MissingParts {
        parts,
        options: complete,
        arguments,
    }))
}

/// Options that read one frame.
fn one_frame(options: &ReadOptions) -> ReadOptions {
    let first = options.frames.map_or(0, |[first, _]| first);
    ReadOptions {
        frames: Some([first, first + 1]),
        half: None,
        every: None,
        exclude: Vec::new(),
        ..options.clone()
    }
}

/// Sets an assumed value for what is missing.
fn fill(part: Part, of_electrons: bool, options: &mut ReadOptions) {
    let constants = &mut options.constants;
    match part {
        Part::Positions => options.without_positions = true,
        Part::Beam if of_electrons => {
            constants.wavelength = Some(Geometry::wavelength_of_voltage(VOLTAGE));
        }
        Part::Beam => constants.wavelength = Some(1e-10),
        Part::Distance => constants.distance = Some(1.0),
        Part::PixelSize => constants.pixel_size = Some([75e-6; 2]),
    }
}

/// The error that names all that is missing, in the place of `error`, which names the first thing.
pub(super) fn all_missing(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
    error: IoError,
) -> IoError {
    if Part::of(&error).is_none() {
        return error;
    }
    match missing_parts(path, options, memory) {
        Ok(Some(missing)) if missing.parts.len() > 1 => IoError::Incomplete {
            file: path.display().to_string(),
            missing: missing.nouns().join(", "),
            arguments: missing.arguments,
        },
        Ok(_) => error,
        Err(wrong) => wrong,
    }
}

/// Options with plausible values of what is missing; `read` is what was read with assumed values.
fn arguments(
    options: &ReadOptions,
    (parts, of_electrons): (&[Part], bool),
    read: &ScanFile,
) -> Vec<(&'static str, String)> {
    let (count, scan_shape) = read.stored;
    let of_electrons = of_electrons || (scan_shape.is_some() && !options.constants.has_beam());
    let missing = |part: Part| parts.contains(&part);
    let geometry = read.scan.geometry();
    let (mut of_wave, mut of_distance) = (geometry.wavelength, geometry.distance);
    let [rows, columns] = geometry.pixel_size;
    let mut of_pixel = rows.max(columns);
    let mut beam = Vec::new();
    if missing(Part::Beam) && of_electrons {
        of_wave = Geometry::wavelength_of_voltage(VOLTAGE);
        beam.push(("--voltage", "300kV".to_owned()));
    } else if missing(Part::Beam) {
        of_wave = 1.4e-10;
        beam.push(("--wavelength", "1.4A".to_owned()));
    }
    if missing(Part::Distance) && missing(Part::PixelSize) && of_electrons {
        (of_distance, of_pixel) = (1.0, 3e-4);
        beam.push(("--pixel-angle", "0.3mrad".to_owned()));
    } else {
        if missing(Part::Distance) {
            of_distance = 1.0;
            beam.push(("--distance", "1m".to_owned()));
        }
        if missing(Part::PixelSize) {
            of_pixel = 75e-6;
            beam.push(("--pixel-size", "75um".to_owned()));
        }
    }
    let mut all = Vec::new();
    if missing(Part::Positions) {
        // What a frame sees: λ z/p, or its pixels in a near field.
        let window = match options.is_near_field() {
            true => read.scan.shape()[1] as f64 * of_pixel,
            false => of_wave * of_distance / of_pixel,
        };
        let [slow, fast] = scan_shape.unwrap_or_else(|| raster(count));
        all.push(("--raster", format!("{slow}x{fast}")));
        all.push(("--step", short(STEP * window)));
    }
    all.extend(beam);
    let judged = options.centre.is_none() && !options.is_near_field();
    if judged && is_at_corner(&read.scan.mean_frame()) {
        all.push(("--centre", "shifted".to_owned()));
    }
    all
}

/// Rows and points in a row of a raster of so many points, as nearly square as they can be.
fn raster(count: usize) -> [usize; 2] {
    let mut slow = count.isqrt().max(1);
    while !count.is_multiple_of(slow) {
        slow -= 1;
    }
    [slow, count / slow]
}

/// A length with two digits and a unit.
fn short(metres: f64) -> String {
    let (scale, unit) = match metres.abs() {
        m if m < 1e-9 => (1e10, "A"),
        m if m < 1e-6 => (1e9, "nm"),
        m if m < 1e-3 => (1e6, "um"),
        _ => (1e3, "mm"),
    };
    let value = metres * scale;
    let rounded = format!("{value:.1e}").parse().unwrap_or(value);
    format!("{}{unit}", shortest(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rasters_have_all_frames() {
        assert_eq!(raster(60), [6, 10]);
        assert_eq!(raster(36), [6, 6]);
        assert_eq!(raster(61), [1, 61]);
        assert_eq!(short(2.07e-7), "210nm");
        assert_eq!(short(8.2e-10), "8.2A");
    }
}
