//! Reader of the master files of DECTRIS detectors (EIGER, PILATUS4, ARINA): frames in
//! `/entry/data/data_000001`, `data_000002`, …, usually links to files beside it, and the
//! detector's numbers in `/entry/instrument` (DECTRIS, SIMPLON API reference, section on HDF5
//! files; NeXus, NXmx).

mod numbers;
mod series;

use super::cutoff::Cutoff;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::pairing::pair;
use super::parts::{Parts, ScanFile};
use super::several_files::ScanFiles;
use super::units::{Measure, UnitReader};
use super::window::Window;
use super::{MaskPolarity, ReadOptions, positions};
use crate::Centre;
use ndarray::Ix2;
use numbers::{DATA, DETECTOR, SPECIFIC, number, number_of};
use series::{Series, series};
use std::path::Path;
use warpstride_core::text::shortest;
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

const WAVELENGTH: &str = "/entry/instrument/beam/incident_wavelength";
const ENERGY: &str = "/entry/instrument/detector/detectorSpecific/photon_energy";
const DISTANCE: &str = "/entry/instrument/detector/detector_distance";
const PIXEL_ROWS: &str = "/entry/instrument/detector/y_pixel_size";
const PIXEL_COLUMNS: &str = "/entry/instrument/detector/x_pixel_size";

const MASKS: [&str; 2] = [
    "/entry/instrument/detector/detectorSpecific/pixel_mask",
    "/entry/instrument/detector/pixel_mask",
];

/// Whether the file has the structure of such a master file.
pub(super) fn is_one(source: &Source) -> bool {
    let has = |path: &str| source.has(path).unwrap_or(false);
    if !has("/entry") || !has(DATA) {
        return false;
    }
    let names = source.members(DATA).ok().flatten().unwrap_or_default();
    names.iter().any(|name| number_of(name).is_some())
}

/// Reads the frames in the order of their numbers; positions are those of the options.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let input = source.input();
    let mut notes = Vec::new();
    let Series {
        frames: first,
        largest,
        stored,
        note,
    } = series(source, options.pair)?;
    notes.extend(note);
    let frames = source.with_others(first, |other| Ok(series(other, None)?.frames), &mut notes)?;
    let shape = frames.shape();
    let cutoff = cutoff(source, largest)?;
    let factors = factors(source, shape, &mut notes)?;
    source.same("flatfield", factors.as_ref(), |other| {
        self::factors(other, shape, &mut Vec::new())
    })?;
    let (frames, cutoff) = match factors {
        Some(factors) => (
            frames.multiplied(factors, cutoff.least()),
            cutoff.of_multiplied(),
        ),
        None => (frames, cutoff),
    };
    let centred = with_centre(source, options, shape, &mut notes)?;
    let options = centred.as_ref().unwrap_or(options);
    let mut window = Window::new(source.name(), shape, options)?.with_raster(frames.scan_shape());
    let scratch = window.in_scratch(input, &frames, false, scratch)?;
    let of_frames = (shape[0], frames.scan_shape());
    let found = positions::given(input, options, of_frames, &mut notes)?
        .ok_or_else(|| positions::missing(input, &[]))?;
    let stored = stored.or_of_files(&frames);
    let (positions_path, positions) = pair(found, &stored, &mut window, options, &mut notes)?;
    let units = UnitReader::new(source, options);
    let found = geometry(source, &units, options, &mut notes)?;
    source.same_geometry(&found, options, |other| {
        let units = UnitReader::new(other, options);
        geometry(other, &units, options, &mut Vec::new())
    })?;
    let geometry = resolve(
        input,
        &found,
        options,
        &ExpectedPaths {
            wavelength: &[WAVELENGTH, ENERGY],
            distance: &[DISTANCE],
            pixel_size: &[PIXEL_ROWS, PIXEL_COLUMNS],
        },
        &mut notes,
    )?;
    // Whatever bit is set: a gap (0), dead (1), under-responding (2), over-responding (3), noisy
    // (4), and others.
    let of_file = |m: &Numbers<'_>| -> Result<_, IoError> {
        let valid = |v| options.file_mask(MaskPolarity::Bad).is_valid(v);
        let read = window.mask(source.input(), m, shape, valid)?;
        Ok((m.path().to_owned(), read))
    };
    let mask = source.first(&MASKS)?.as_ref().map(&of_file).transpose()?;
    let mask = source.with_masks(mask, &mut notes, |other| {
        other.first(&MASKS)?.as_ref().map(&of_file).transpose()
    })?;
    if mask.is_none() {
        notes.push("the file has no pixel_mask: all pixels are treated as valid".to_owned());
    }
    let valid = mask.as_ref().map(|(_, mask)| mask);
    let mask_light = window.mask_light(input, &frames, valid)?;
    let counts = window.frames(input, &frames, (valid, scratch))?;
    Parts {
        frames: (frames.path().to_owned(), counts),
        mask,
        mask_marks: MaskPolarity::Bad,
        mask_light,
        positions: (positions_path, window.select(&positions)),
        geometry,
        probe: None,
        unusable_probe: None,
        simulation: None,
        window,
        cutoff: Some(cutoff),
        measures: units.read(),
        notes,
    }
    .into_scan(input, options)
}

/// From which count on a pixel has no data: that from which the detector cannot correct its count
/// rate, at most the largest of the type.
fn cutoff(source: &Source, largest: Option<f64>) -> Result<Cutoff, IoError> {
    let found = number(source, "countrate_correction_count_cutoff")?;
    let given = found.filter(|(_, counts)| *counts > 0.0);
    Ok(match (given, largest) {
        (Some((path, counts)), largest) if largest.is_none_or(|largest| counts < largest) => {
            Cutoff::new(&path, counts)
        }
        (_, largest) => Cutoff::new(
            "the largest number of its type",
            largest.unwrap_or(f64::INFINITY),
        ),
    })
}

/// Factors (row, column) of the counts, if the detector has not applied them.
fn factors(
    source: &Source,
    [_, rows, columns]: [usize; 3],
    notes: &mut Vec<String>,
) -> Result<Option<ndarray::Array2<f32>>, IoError> {
    let paths = [
        format!("{SPECIFIC}/flatfield"),
        format!("{DETECTOR}/flatfield"),
    ];
    let Some(flatfield) = source.first(&[&paths[0], &paths[1]])? else {
        return Ok(None);
    };
    let path = flatfield.path().to_owned();
    match number(source, "flatfield_correction_applied")? {
        Some((said, 0.0)) => {
            notes.push(format!(
                "counts are multiplied by {path}, as the detector has not done it ({said} is 0)"
            ));
        }
        Some(_) => {
            notes.push(format!(
                "{path} is not used, as the detector has corrected its counts by it"
            ));
            return Ok(None);
        }
        None => {
            notes.push(format!(
                "{path} is not used: the file does not say whether the detector has corrected its counts by it (flatfield_correction_applied), and DECTRIS detectors do it by default"
            ));
            return Ok(None);
        }
    }
    if flatfield.shape() != [rows, columns] {
        return Err(flatfield.bad_shape(&format!("shape ({rows}, {columns}), as for the frames")));
    }
    let read = flatfield.part(&[0..rows, 0..columns])?;
    let read = read
        .into_dimensionality::<Ix2>()
        .map_err(|_| flatfield.bad_shape("shape (row, column)"))?;
    if let Some(factor) = read.iter().find(|of| !(of.is_finite() && **of >= 0.0)) {
        let found = shortest(f64::from(*factor));
        return Err(flatfield.bad_value(found, "finite factors of at least 0"));
    }
    Ok(Some(read))
}

/// Wavelength, distance and pixel size, in the units of their attributes, or in those that DECTRIS
/// documents, which is noted.
fn geometry(
    source: &Source,
    units: &UnitReader<'_>,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<FileGeometry, IoError> {
    let constants = &options.constants;
    let mut assumed: Vec<String> = Vec::new();
    let mut length = |path: &str, measure: Measure, unit: &'static str, replaced: bool| {
        let Some(numbers) = source.numbers(path)? else {
            return Ok::<_, IoError>(None);
        };
        let value = numbers.common_value()?;
        match units.with_default(measure, path, value, unit) {
            Ok((metres, by_default)) => {
                if by_default && !replaced {
                    let name = path.rsplit('/').next().unwrap_or(path);
                    assumed.push(format!("{name} is {} {unit}", shortest(value)));
                }
                Ok(Some((path.to_owned(), metres)))
            }
            // An option takes its place.
            Err(_) if replaced => Ok(None),
            Err(error) => Err(error),
        }
    };
    let given = constants.pixel_size.is_some();
    let rows = length(PIXEL_ROWS, Measure::PixelSize, "m", given)?;
    let columns = length(PIXEL_COLUMNS, Measure::PixelSize, "m", given)?;
    let given = constants.has_beam();
    let wavelength = length(WAVELENGTH, Measure::Wavelength, "A", given)?;
    let given = constants.distance.is_some();
    let distance = length(DISTANCE, Measure::Distance, "m", given)?;
    if !assumed.is_empty() {
        notes.push(format!(
            "without an attribute units, in the units that DECTRIS documents: {} (data.units states others)",
            assumed.join(", ")
        ));
    }
    let pixel_size = match (rows, columns) {
        (Some((path, rows)), Some((_, columns))) => Some((path, [rows, columns])),
        (Some((path, size)), None) | (None, Some((path, size))) => {
            notes.push(format!(
                "{path} is used for both directions of the detector pixel"
            ));
            Some((path, [size, size]))
        }
        (None, None) => None,
    };
    // Beside a wavelength a doubtful energy says nothing.
    let needed = wavelength.is_none() && !constants.has_beam();
    let energy = match number(source, "photon_energy")? {
        Some((path, value)) => {
            match units.converted(Measure::Energy, &path, value, &mut Vec::new()) {
                Ok(value) => Some((path, value)),
                Err(error) if needed => return Err(error),
                Err(_) => None,
            }
        }
        None => None,
    };
    Ok(FileGeometry {
        wavelength,
        energy,
        distance,
        pixel_size,
        ..FileGeometry::default()
    })
}

/// The options with the centre of the beam that the file has, if they have none and it is not the
/// middle of the frames; `None` if they stay as they are.
fn with_centre(
    source: &Source,
    options: &ReadOptions,
    [_, rows, columns]: [usize; 3],
    notes: &mut Vec<String>,
) -> Result<Option<ReadOptions>, IoError> {
    let Some([row, column]) = centre(source)? else {
        return Ok(None);
    };
    let place = format!("row {}, column {}", shortest(row), shortest(column));
    let distance = |at: f64, all: usize| (at - (all / 2) as f64).abs();
    if options.centre.is_some() || options.is_near_field() {
        return Ok(None);
    }
    let turned = !options.transform_frames.is_empty();
    let inside = row <= rows as f64 - 1.0 && column <= columns as f64 - 1.0;
    if turned || !inside {
        let why = if inside {
            "as frames are turned (data.centre is that in turned frames)"
        } else {
            "as it is outside the frames"
        };
        notes.push(format!(
            "the file has the centre of the beam at {place}, which is not used, {why}"
        ));
        return Ok(None);
    }
    if distance(row, rows) < 0.5 && distance(column, columns) < 0.5 {
        notes.push(format!(
            "the file has the centre of the beam at {place}, less than half a pixel from the middle of the frames"
        ));
        return Ok(None);
    }
    notes.push(format!(
        "the centre of the beam is that of the file, {place} (data.centre takes its place)"
    ));
    Ok(Some(ReadOptions {
        centre: Some(Centre::At([row, column])),
        ..options.clone()
    }))
}

/// The beam's centre (row, column), pixels from the centre of the first one; not where a file has
/// zeros in the place of it.
fn centre(source: &Source) -> Result<Option<[f64; 2]>, IoError> {
    let [row, column] = ["beam_center_y", "beam_center_x"].map(|name| number(source, name));
    Ok(match (row?, column?) {
        (Some((_, row)), Some((_, column))) if row > 0.0 || column > 0.0 => Some([row, column]),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
