//! Reader of CXI files, version 1.x
//! (<https://raw.githubusercontent.com/cxidb/CXI/master/cxi_file_format.pdf>).

use super::found_positions::FoundPositions;
use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::pairing::pair;
use super::parts::{Parts, ScanFile, probe};
use super::several_files::ScanFiles;
use super::units::{Measure, UnitReader, attribute_unit};
use super::window::Window;
use super::{MaskPolarity, ReadOptions, positions, truth};
use ndarray::Array2;
use std::path::Path;
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

// Paths of actual datasets come before those that are usually links to them.
const FRAMES: [&str; 2] = [
    "/entry_1/instrument_1/detector_1/data",
    "/entry_1/data_1/data",
];
const MASK: [&str; 2] = [
    "/entry_1/instrument_1/detector_1/mask",
    "/entry_1/data_1/mask",
];
const TRANSLATION: [&str; 4] = [
    "/entry_1/sample_1/geometry_1/translation",
    "/entry_1/data_1/translation",
    "/entry_1/instrument_1/detector_1/translation",
    "/entry_1/sample_1/geometry/translation",
];
const PROBE: [&str; 4] = [
    "/entry_1/instrument_1/source_1/illumination",
    "/entry_1/instrument_1/detector_1/illumination",
    "/entry_1/instrument_1/source_1/probe",
    "/entry_1/instrument_1/detector_1/probe",
];
const WAVELENGTH: &str = "/entry_1/instrument_1/source_1/wavelength";
const ENERGY: &str = "/entry_1/instrument_1/source_1/energy";
const VOLTAGE: &str = "/entry_1/instrument_1/source_1/voltage";
const DISTANCE: &str = "/entry_1/instrument_1/detector_1/distance";
const PIXEL_ROWS: &str = "/entry_1/instrument_1/detector_1/y_pixel_size";
const PIXEL_COLUMNS: &str = "/entry_1/instrument_1/detector_1/x_pixel_size";
const NEAR_FIELD: &str = "/entry_1/instrument_1/detector_1/near_field";
const FOCUS_TO_SAMPLE: &str = "/entry_1/instrument_1/source_1/focus_to_sample";
const BASIS: &str = "/entry_1/instrument_1/detector_1/basis_vectors";

/// Reads the first entry of a CXI file.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let mut notes = Vec::new();
    let frames = source.with_others(frames(source)?, frames, &mut notes)?;
    let shape = frames.shape();
    let mut window = Window::new(source.name(), shape, options)?.with_raster(frames.scan_shape());
    let mask = source.first(&MASK)?;
    let per_frame = mask.as_ref().is_some_and(|m| m.shape().len() == 3);
    let scratch = window.in_scratch(source.input(), &frames, per_frame, scratch)?;

    let of_frames = (shape[0], frames.scan_shape());
    let elsewhere = positions::given(source.input(), options, of_frames, &mut notes)?;
    let mut sets = 1;
    let in_file = match &elsewhere {
        Some(_) => None,
        None => {
            let read = |source: &Source, frames| translations(source, frames, &mut notes);
            let all = source.of_each(&frames, read, |(_, found)| found.nrows())?;
            let missing = || positions::missing(source.input(), &TRANSLATION);
            sets = all.len();
            let mut all = all.into_iter();
            let (path, mut values) = all.next().ok_or_else(missing)?;
            if sets > 1 && options.units.positions.is_none() {
                let unit = attribute_unit(source, &path)?;
                source.same("unit of the positions", unit.as_ref(), |other| {
                    attribute_unit(other, &path)
                })?;
            }
            for (_, part) in all {
                (values.append(ndarray::Axis(0), part.view())).map_err(|_| missing())?;
            }
            Some((path, values))
        }
    };
    let units = UnitReader::new(source, options);
    let geometry_in_file = found(source, &units, options, &mut notes)?;
    source.same_geometry(&geometry_in_file, options, |other| {
        let units = UnitReader::new(other, options);
        found(other, &units, options, &mut Vec::new())
    })?;
    let geometry = resolve(
        source.input(),
        &geometry_in_file,
        options,
        &ExpectedPaths {
            wavelength: &[WAVELENGTH, VOLTAGE, ENERGY],
            distance: &[DISTANCE],
            pixel_size: &[PIXEL_ROWS, BASIS],
        },
        &mut notes,
    )?;
    let frame = [shape[1], shape[2]];
    let pixel = geometry.object_pixel(shape[1], shape[2]);
    let found = match (elsewhere, in_file) {
        (Some(given), _) => given,
        (None, None) => return Err(positions::missing(source.input(), &TRANSLATION)),
        (None, Some((path, values))) => {
            let (values, metres) =
                units.positions_in_metres(&path, values, pixel, frame, &mut notes)?;
            FoundPositions::of_dataset(source.input(), path, values).in_units_of(metres)
        }
    };
    let stored = source.stored(&frames, sets);
    let (positions_name, positions) = pair(found, &stored, &mut window, options, &mut notes)?;
    let (probe, unusable_probe) = match source.first(&PROBE)? {
        Some(numbers) => match probe(&numbers, [shape[1], shape[2]])? {
            Ok(probe) => (Some((numbers.path().to_owned(), probe)), None),
            Err(reason) => (None, Some(reason)),
        },
        None => (None, None),
    };
    let scan = truth::ScanGrid {
        positions: options.transform(&positions),
        frame,
        pixel,
    };
    let simulation = truth::read(source, &window, &scan, &mut notes)?;
    let of_file = |m: &Numbers<'_>| -> Result<_, IoError> {
        let valid = |v| options.file_mask(MaskPolarity::Bad).is_valid(v);
        let read = window.mask(source.input(), m, shape, valid)?;
        Ok((m.path().to_owned(), read))
    };
    let mask = mask.as_ref().map(&of_file).transpose()?;
    let mask = source.with_masks(mask, &mut notes, |other| {
        other.first(&MASK)?.as_ref().map(&of_file).transpose()
    })?;
    if mask.is_none() {
        notes.push("the file has no mask: all pixels are treated as valid".to_owned());
    }
    let valid = mask.as_ref().map(|(_, mask)| mask);
    let mask_light = window.mask_light(source.input(), &frames, valid)?;
    Parts {
        frames: (
            frames.path().to_owned(),
            window.frames(source.input(), &frames, (valid, scratch))?,
        ),
        mask,
        mask_marks: MaskPolarity::Bad,
        mask_light,
        positions: (positions_name, window.select(&positions)),
        geometry,
        probe,
        unusable_probe,
        simulation,
        window,
        cutoff: None,
        measures: units.read(),
        notes,
    }
    .into_scan(source.input(), options)
}

/// The frames of a file.
fn frames(source: &Source) -> Result<FrameStack<'_>, IoError> {
    FrameStack::of_dataset(source.require("frames", &FRAMES)?)
}

/// Positions (position, (row, column)) = (y, x) from the translation (position, (x, y, z)), as they
/// are stored, and its path; for `frames` frames the axes may be exchanged.
fn translations(
    source: &Source,
    frames: usize,
    notes: &mut Vec<String>,
) -> Result<(String, Array2<f64>), IoError> {
    let translation = source
        .first(&TRANSLATION)?
        .ok_or_else(|| positions::missing(source.input(), &TRANSLATION))?;
    let all = positions::translation(&translation, frames)?;
    notes.extend(positions::note_of_height(translation.path(), all.view()));
    let read = all.select(ndarray::Axis(1), &[1, 0]);
    Ok((translation.path().to_owned(), read))
}

/// Reads the geometry in the file; datasets that exist must be readable.
fn found(
    source: &Source,
    units: &UnitReader<'_>,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<FileGeometry, IoError> {
    let value = |path: &str| -> Result<Option<(String, f64)>, IoError> {
        match source.numbers(path)? {
            Some(numbers) => Ok(Some((path.to_owned(), numbers.common_value()?))),
            None => Ok(None),
        }
    };
    // Doubts about a value that an option replaces do not matter.
    let constants = &options.constants;
    let replaced = [
        (constants.pixel_size.is_some(), Measure::PixelSize),
        (constants.distance.is_some(), Measure::Distance),
        (options.focus_to_sample.is_some(), Measure::Focus),
        (constants.has_beam(), Measure::Wavelength),
    ];
    let mut length = |path: &str, measure: Measure| -> Result<Option<(String, f64)>, IoError> {
        let Some((path, value)) = value(path)? else {
            return Ok(None);
        };
        match units.converted(measure, &path, value, &mut *notes) {
            Ok(metres) => Ok(Some((path, metres))),
            Err(_) if replaced.contains(&(true, measure)) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let sizes = (
        length(PIXEL_ROWS, Measure::PixelSize)?,
        length(PIXEL_COLUMNS, Measure::PixelSize)?,
    );
    let wavelength = length(WAVELENGTH, Measure::Wavelength)?;
    let distance = length(DISTANCE, Measure::Distance)?;
    let focus_to_sample = length(FOCUS_TO_SAMPLE, Measure::Focus)?;
    // Beside a wavelength a doubtful energy or voltage says nothing.
    let needed = wavelength.is_none() && !constants.has_beam();
    let stored = value(ENERGY)?;
    let voltage = match value(VOLTAGE)? {
        Some((path, value)) => match units.voltage(&path, value) {
            Ok(volts) => Some((path, volts)),
            Err(error) if needed => return Err(error),
            Err(_) => None,
        },
        None => units.voltage_of_energy(stored.as_ref(), needed, notes)?,
    };
    let of_energy = (voltage.as_ref()).is_some_and(|(path, _)| path == ENERGY);
    let energy = match stored.filter(|_| !of_energy) {
        Some((path, value)) => match units.converted(Measure::Energy, &path, value, notes) {
            Ok(value) => Some((path, value)),
            Err(error) if needed => return Err(error),
            Err(_) => None,
        },
        None => None,
    };
    let basis = basis(source)?;
    if let Some([row, column]) = basis {
        // Only the two detector axes matter; the third component is along the beam.
        let along_y = row[1].abs() >= row[0].abs() && column[0].abs() >= column[1].abs();
        if !along_y {
            notes.push(format!(
                "according to {BASIS} the detector's rows run along x; positions are still read as row = +y, column = +x (option `swap_axes` exchanges them)"
            ));
        } else if row[1] * column[0] < 0.0 {
            notes.push(format!(
                "{BASIS} mirrors one detector axis; positions are still read as row = +y, column = +x (options `flip_rows` and `flip_columns` invert them)"
            ));
        }
    }
    let pixel_size = match (sizes, basis) {
        ((Some((path, y)), Some((_, x))), _) => Some((path, [y, x])),
        ((Some((path, p)), None) | (None, Some((path, p))), _) => {
            notes.push(format!(
                "{path} is used for both directions of the detector pixel"
            ));
            Some((path, [p, p]))
        }
        ((None, None), Some([row, column])) => {
            notes.push(format!("the pixel size is taken from {BASIS}"));
            let length = |v: [f64; 3]| v.iter().map(|c| c * c).sum::<f64>().sqrt();
            Some((BASIS.to_owned(), [length(row), length(column)]))
        }
        ((None, None), None) => None,
    };
    Ok(FileGeometry {
        wavelength,
        energy,
        voltage,
        distance,
        pixel_size,
        near_field: value(NEAR_FIELD)?
            .filter(|(_, value)| *value != 0.0)
            .map(|(path, _)| path),
        focus_to_sample,
    })
}

/// Vectors (x, y, z), m, from one detector pixel to the next row and to the next column. Files
/// store them as columns, (3, 2), or, as the specification says, as rows, (2, 3).
fn basis(source: &Source) -> Result<Option<[[f64; 3]; 2]>, IoError> {
    let Some(numbers) = source.numbers(BASIS)? else {
        return Ok(None);
    };
    let by_columns = match numbers.shape() {
        [3, 2] => true,
        [2, 3] => false,
        _ => return Err(numbers.bad_shape("shape (3, 2) or (2, 3), in metres")),
    };
    let all = numbers.reals()?;
    let at = |vector: usize, component: usize| {
        if by_columns {
            all[[component, vector]]
        } else {
            all[[vector, component]]
        }
    };
    Ok(Some([0, 1].map(|v| [at(v, 0), at(v, 1), at(v, 2)])))
}
