//! Results files in a CXI-like layout, which other ptychography programs can open.
//!
//! `docs/formats.md` lists datasets, shapes and units.

use crate::data::{Geometry, HistoryEntry, Propagation, Reconstruction};
use crate::io::nexus_attributes;
use crate::io::provenance::{self, Process};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Axis, Ix1, Ix2, Ix3, arr1};
use std::path::Path;
use std::str::FromStr;
use warpstride_core::system::Memory;
use warpstride_files::IoError;
use warpstride_files::output;
use warpstride_files::source::{Numbers, Source};

mod model_parts;
mod other_programs;
mod values;

pub use other_programs::{OtherResult, OtherResultError};
use values::{DETECTOR, IMAGE, SOURCE, TRANSLATION, at, complex, finite, shaped};

/// Shifts that fractions of a pixel can be, with their rounding.
const FRACTIONS: std::ops::RangeInclusive<f64> = -0.500_001..=0.500_001;
/// Factors that frame scales can be; the program limits them to 4, before ramps are removed.
const SCALES: std::ops::RangeInclusive<f64> = 1e-3..=1e3;
const TRANSLATION_RECORDED: &str = "/entry_1/sample_1/geometry_1/translation_recorded";

/// Writes `result` to `path` atomically. Object, probe and fluence are stored in single precision
/// unless `result.double_precision` is set.
///
/// # Errors
/// Returns [`IoError::Write`] if the file cannot be written.
pub fn write(path: &Path, result: &Reconstruction) -> Result<(), IoError> {
    write_with(path, result, (&[], &Process::default()))
}

/// Like [`write()`], with the runs that have made the scan, the first one first, and the files and
/// notes of the run that has made the result, in groups of the class NXprocess.
///
/// # Errors
/// As [`write()`].
pub fn write_with(
    path: &Path,
    result: &Reconstruction,
    (earlier, own): (&[Process], &Process),
) -> Result<(), IoError> {
    output::write(path, |file| {
        output::number(file, "cxi_version", 160_i64)?;
        output::number(file, "number_of_entries", 1_i64)?;
        let double = result.double_precision;
        let image = file.create_group(IMAGE)?;
        complex(&image, "data", &result.object, double)?;
        let [rows, columns] = result.pixel;
        output::number(&image, "y_pixel_size", rows)?;
        output::number(&image, "x_pixel_size", columns)?;
        output::array(&image, "origin", &arr1(&result.origin))?;
        output::text(&image, "data_space", "real")?;
        output::text(&image, "data_type", "transmission")?;
        if double {
            output::array(&image, "fluence", &result.fluence)?;
        } else {
            output::array(&image, "fluence", &result.fluence.mapv(|v| v as f32))?;
        }
        let corners = Array2::from_shape_fn((result.corners.len(), 2), |(j, axis)| {
            result.corners[j][axis]
        });
        output::array(&image, "corners", &corners)?;
        let fractions = Array2::from_shape_fn((result.fractions.len(), 2), |(j, axis)| {
            result.fractions[j][axis]
        });
        output::array(&image, "fractions", &fractions)?;
        output::array(&image, "frame_scales", &arr1(&result.frame_scales))?;
        let group = image.create_group("process_1")?;
        process(&group, result)?;
        provenance::annotate(&group, earlier.len() + 1, own)?;
        history(&image.create_group("history")?, &result.history)?;

        let source = file.create_group(SOURCE)?;
        complex(&source, "illumination", &result.probe, double)?;
        output::array(
            &source,
            "mode_power",
            &Array1::from_vec(result.mode_power.clone()),
        )?;
        output::number(&source, "wavelength", result.wavelength)?;
        match result.voltage {
            Some(volts) => output::number(&source, "voltage", volts)?,
            None => {
                let energy = Geometry::energy_of_wavelength(result.wavelength);
                output::number(&source, "energy", energy)?;
            }
        }
        if let Propagation::NearField {
            focus_to_sample: Some(z1),
        } = result.propagation
        {
            output::number(&source, "focus_to_sample", z1)?;
        }
        let detector = file.create_group(DETECTOR)?;
        output::number(&detector, "distance", result.distance)?;
        if result.propagation != Propagation::FarField {
            output::number(&detector, "near_field", 1_u8)?;
        }
        model_parts::write(file, result)?;
        output::array(file, TRANSLATION, &translation(&result.positions))?;
        let recorded = translation(&result.recorded_positions);
        output::array(file, TRANSLATION_RECORDED, &recorded)?;
        file.create_group("/entry_1/data_1")?
            .link_soft(&format!("{IMAGE}/data"), "data")?;
        nexus_attributes::of_result(file, result)?;
        provenance::write(file, earlier)
    })
}

/// Positions (frame, (row, column)) as a translation (frame, (x, y, z)).
fn translation(positions: &Array2<f64>) -> Array2<f64> {
    let mut translation = Array2::zeros((positions.nrows(), 3));
    translation.column_mut(0).assign(&positions.column(1));
    translation.column_mut(1).assign(&positions.column(0));
    translation
}

fn process(group: &hdf5::Group, result: &Reconstruction) -> hdf5::Result<()> {
    for (name, value) in [
        ("program", "warpstride"),
        ("version", &result.version),
        ("backend", &result.backend),
        ("device", &result.device),
        ("plan", &result.plan),
        ("trials", &result.trials),
        ("source_file", &result.source),
        ("recipe", &result.recipe),
    ] {
        output::text(group, name, value)?;
    }
    Ok(())
}

fn history(group: &hdf5::Group, entries: &[HistoryEntry]) -> hdf5::Result<()> {
    let column = |name: &str, of: &dyn Fn(&HistoryEntry) -> f64| {
        output::array(
            group,
            name,
            &entries.iter().map(of).collect::<Array1<f64>>(),
        )
    };
    column("err_fourier", &|e| e.err_fourier)?;
    column("err_exit", &|e| e.err_exit.unwrap_or(f64::NAN))?;
    column("err_phot", &|e| e.err_phot.unwrap_or(f64::NAN))?;
    column("r_factor", &|e| e.r_factor.unwrap_or(f64::NAN))?;
    if entries.iter().any(|e| e.r_free.is_some()) {
        column("r_free", &|e| e.r_free.unwrap_or(f64::NAN))?;
    }
    column("seconds", &|e| e.seconds)?;
    let iterations: Array1<u64> = entries.iter().map(|e| e.iteration as u64).collect();
    output::array(group, "iteration", &iterations)?;
    let engines = entries
        .iter()
        .map(|e| hdf5::types::VarLenUnicode::from_str(&e.engine))
        .collect::<Result<Array1<_>, _>>()
        .map_err(|e| hdf5::Error::from(format!("an engine's name is not valid text: {e:?}")))?;
    output::array(group, "engine", &engines)
}

/// Reads the results in `path`, which must fit into the available memory. The file may be one of
/// PtyPy (`.ptyr`), or a product of Ptychodus, in which pty-chi's results are saved.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read(path: &Path) -> Result<Reconstruction, IoError> {
    read_within(path, Memory::available())
}

/// Like [`read`], with a given memory limit.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read_within(path: &Path, memory: Memory) -> Result<Reconstruction, IoError> {
    let source = Source::open(path, memory)?;
    if let Some(found) = other_programs::read(&source)? {
        return Ok(found);
    }
    let object = at(&source, "object", &format!("{IMAGE}/data"))?;
    let probe = at(&source, "probe", &format!("{SOURCE}/illumination"))?;
    if probe.shape().first() == Some(&0) {
        return Err(probe.bad_shape("at least one mode (mode, row, column)"));
    }
    let translation = at(&source, "positions", TRANSLATION)?;
    let [count, 3] = translation.shape() else {
        return Err(translation.bad_shape("shape (frame, 3) with x, y and z in metres"));
    };
    let count = *count;
    let positions = read_positions(&translation, "shape (frame, 3)")?;
    let recorded_positions = read_recorded(&source, &positions)?;
    let corners = at(&source, "window corners", &format!("{IMAGE}/corners"))?;
    if corners.shape() != [count, 2] {
        return Err(corners.bad_shape(&format!("shape ({count}, 2), one corner per position")));
    }
    let corner = |v: f64| {
        let index = v as u32;
        if f64::from(index) == v {
            Ok(index)
        } else {
            Err(corners.bad_value(v, "a whole number from 0 to below 2^32"))
        }
    };
    let corners = shaped::<Ix2>(&corners, "shape (frame, 2)")?
        .rows()
        .into_iter()
        .map(|c| Ok([corner(c[0])?, corner(c[1])?]))
        .collect::<Result<_, IoError>>()?;
    let fractions = read_fractions(&source, count)?;
    let frame_scales = read_scales(&source, count)?;
    let fluence = at(&source, "fluence", &format!("{IMAGE}/fluence"))?;
    let number = |name: &str, path: String| at(&source, name, &path)?.common_value();
    let pixel = |axis: char| -> Result<f64, IoError> {
        let size = at(&source, "pixel size", &format!("{IMAGE}/{axis}_pixel_size"))?;
        match size.common_value()? {
            value if value.is_finite() && value > 0.0 => Ok(value),
            wrong => Err(size.bad_value(wrong, "a finite size above 0, in metres")),
        }
    };
    let power = at(&source, "mode power", &format!("{SOURCE}/mode_power"))?;
    let text = |name: &str| -> Result<String, IoError> {
        let path = format!("{IMAGE}/process_1/{name}");
        source
            .text(&path)?
            .ok_or_else(|| source.missing(name, &path))
    };
    let double_precision = object.is_double();
    let object = finite(&object)?
        .into_dimensionality::<Ix2>()
        .map_err(|_| object.bad_shape("shape (row, column)"))?;
    Ok(Reconstruction {
        double_precision,
        parts: model_parts::read(&source, count, object.dim().into())?,
        object,
        probe: finite(&probe)?
            .into_dimensionality::<Ix3>()
            .map_err(|_| probe.bad_shape("shape (mode, row, column)"))?,
        mode_power: shaped::<Ix1>(&power, "shape (mode)")?.to_vec(),
        pixel: [pixel('y')?, pixel('x')?],
        positions,
        recorded_positions,
        corners,
        fractions,
        frame_scales,
        origin: at(&source, "origin", &format!("{IMAGE}/origin"))?.one_or_two()?,
        fluence: shaped::<Ix2>(&fluence, "shape (row, column)")?,
        history: read_history(&source)?,
        recipe: text("recipe")?,
        backend: text("backend")?,
        device: text("device")?,
        // Earlier versions had none.
        plan: source
            .text(&format!("{IMAGE}/process_1/plan"))?
            .unwrap_or_default(),
        trials: source
            .text(&format!("{IMAGE}/process_1/trials"))?
            .unwrap_or_default(),
        version: text("version")?,
        source: text("source_file")?,
        wavelength: number("wavelength", format!("{SOURCE}/wavelength"))?,
        voltage: read_voltage(&source)?,
        distance: number("distance", format!("{DETECTOR}/distance"))?,
        propagation: read_propagation(&source)?,
    })
}

/// The voltage of electrons, V; a result of photons has none.
fn read_voltage(source: &Source) -> Result<Option<f64>, IoError> {
    let found = source.first(&[&format!("{SOURCE}/voltage")])?;
    found.map(|volts| volts.common_value()).transpose()
}

/// How waves travelled to the detector; results of earlier versions are of the far field.
fn read_propagation(source: &Source) -> Result<Propagation, IoError> {
    let near = source.first(&[&format!("{DETECTOR}/near_field")])?;
    if near
        .map(|n| n.common_value())
        .transpose()?
        .is_none_or(|v| v == 0.0)
    {
        return Ok(Propagation::FarField);
    }
    let focus = source.first(&[&format!("{SOURCE}/focus_to_sample")])?;
    let Some(focus) = focus else {
        return Ok(Propagation::NearField {
            focus_to_sample: None,
        });
    };
    match focus.common_value()? {
        z1 if z1.is_finite() && z1 > 0.0 => Ok(Propagation::NearField {
            focus_to_sample: Some(z1),
        }),
        wrong => Err(focus.bad_value(wrong, "a finite length above 0, in metres")),
    }
}

/// The recorded positions; results of earlier versions have one set of positions.
fn read_recorded(source: &Source, positions: &Array2<f64>) -> Result<Array2<f64>, IoError> {
    let Some(translation) = source.first(&[TRANSLATION_RECORDED])? else {
        return Ok(positions.clone());
    };
    let expected = format!("shape ({}, 3), as for the positions", positions.nrows());
    if translation.shape() != [positions.nrows(), 3] {
        return Err(translation.bad_shape(&expected));
    }
    read_positions(&translation, &expected)
}

/// Positions (frame, (row, column)), m.
fn read_positions(translation: &Numbers<'_>, expected: &str) -> Result<Array2<f64>, IoError> {
    let values = shaped::<Ix2>(translation, expected)?;
    match values.iter().find(|v| !v.is_finite()) {
        Some(wrong) => Err(translation.bad_value(wrong, "finite positions in metres")),
        None => Ok(values.select(Axis(1), &[1, 0])),
    }
}

/// The shifts of the probe; results of earlier versions have whole pixels.
fn read_fractions(source: &Source, count: usize) -> Result<Vec<[f64; 2]>, IoError> {
    let Some(numbers) = source.first(&[&format!("{IMAGE}/fractions")])? else {
        return Ok(vec![[0.0; 2]; count]);
    };
    let expected = format!("shape ({count}, 2), one shift per position");
    if numbers.shape() != [count, 2] {
        return Err(numbers.bad_shape(&expected));
    }
    let fractions = shaped::<Ix2>(&numbers, &expected)?;
    // A position is rounded to the nearest pixel.
    if let Some(wrong) = fractions.iter().find(|v| !FRACTIONS.contains(*v)) {
        return Err(numbers.bad_value(wrong, "shifts of -0.5 to 0.5 pixels"));
    }
    Ok(fractions.rows().into_iter().map(|f| [f[0], f[1]]).collect())
}

/// The factors on the model intensities; results of earlier versions have none.
fn read_scales(source: &Source, count: usize) -> Result<Vec<f64>, IoError> {
    let Some(numbers) = source.first(&[&format!("{IMAGE}/frame_scales")])? else {
        return Ok(vec![1.0; count]);
    };
    let expected = format!("shape ({count}), one factor per position");
    if numbers.shape() != [count] {
        return Err(numbers.bad_shape(&expected));
    }
    let scales = shaped::<Ix1>(&numbers, &expected)?;
    if let Some(wrong) = scales.iter().find(|v| !SCALES.contains(*v)) {
        return Err(numbers.bad_value(wrong, "factors from 0.001 to 1000"));
    }
    Ok(scales.to_vec())
}

fn read_history(source: &Source) -> Result<Vec<HistoryEntry>, IoError> {
    let path = |name: &str| format!("{IMAGE}/history/{name}");
    let iterations = at(source, "history", &path("iteration"))?;
    let [count] = *iterations.shape() else {
        return Err(iterations.bad_shape("shape (iteration)"));
    };
    let column = |name: &str| -> Result<Array1<f64>, IoError> {
        let numbers = at(source, "history", &path(name))?;
        let expected = format!("shape ({count}), as for the iterations");
        let values = shaped::<Ix1>(&numbers, &expected)?;
        if values.len() == count {
            Ok(values)
        } else {
            Err(numbers.bad_shape(&expected))
        }
    };
    let (fourier, exit) = (column("err_fourier")?, column("err_exit")?);
    let (photon, r_factor) = (column("err_phot")?, column("r_factor")?);
    let r_free = if source.has(&path("r_free"))? {
        Some(column("r_free")?)
    } else {
        None
    };
    let seconds = column("seconds")?;
    let engines = source.texts(&path("engine"), count)?;
    let computed = |v: f64| (!v.is_nan()).then_some(v);
    iterations
        .unsigned()?
        .iter()
        .zip(engines)
        .enumerate()
        .map(|(i, (iteration, engine))| {
            Ok(HistoryEntry {
                iteration: usize::try_from(*iteration)
                    .map_err(|_| iterations.bad_value(iteration, "an iteration number"))?,
                engine,
                err_fourier: fourier[i],
                err_exit: computed(exit[i]),
                err_phot: computed(photon[i]),
                r_factor: computed(r_factor[i]),
                r_free: r_free.as_ref().and_then(|values| computed(values[i])),
                seconds: seconds[i],
            })
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
