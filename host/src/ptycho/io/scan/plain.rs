//! Reader of arbitrary HDF5 files, with the paths given in the options.

use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::window::Window;
use super::{MaskPolarity, Parts, Paths, ReadOptions, ScanFile, position_count, positions, probe};
use crate::io::IoError;
use crate::io::source::Source;
use crate::text::shortest;
use ndarray::{Array2, Axis, Ix2};
use std::path::Path;

/// Reads the datasets that `options.paths` names.
pub(super) fn read(
    source: &Source,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let Some(paths) = &options.paths else {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.format",
            reason: "expected the table data.paths with at least frames and positions beside \"hdf5\", found \"hdf5\" alone"
                .to_owned(),
        });
    };
    let mut notes = Vec::new();
    let frames = FrameStack::of_dataset(source.require("frames", &[&paths.frames])?)?;
    let shape = frames.shape();
    let window = Window::new(source.name(), shape, options)?;
    let mask = match &paths.mask {
        Some(path) => Some(source.require("mask", &[path])?),
        None => None,
    };
    let per_frame = mask.as_ref().is_some_and(|m| m.shape().len() == 3);
    let scratch = window.in_scratch(source.input(), frames.path(), per_frame, scratch)?;
    let of_frames = (shape[0], frames.scan_shape());
    let elsewhere = positions::given(source.input(), options, of_frames, &mut notes)?;
    let (positions_name, positions) = match elsewhere {
        Some(given) => given,
        None => {
            let read = coordinates(source, paths, &mut notes)?;
            if read.nrows() != shape[0] {
                let (input, found) = (source.input(), read.nrows());
                return Err(position_count(input, &paths.positions, shape[0], found));
            }
            (paths.positions.clone(), read)
        }
    };
    let geometry = resolve(
        source.input(),
        &found(source, paths)?,
        options,
        &ExpectedPaths {
            wavelength: &["the option `paths.wavelength`", "the option `paths.energy`"],
            distance: &["the option `paths.distance`"],
            pixel_size: &["the option `paths.pixel_size`"],
        },
        &mut notes,
    )?;
    let probe = match &paths.probe {
        Some(path) => Some((
            path.clone(),
            probe(&source.require("probe", &[path])?, [shape[1], shape[2]])?,
        )),
        None => None,
    };
    let mask = match mask {
        Some(m) => Some((
            m.path().to_owned(),
            window.mask(source.input(), &m, shape, |v| paths.mask_marks.is_valid(v))?,
        )),
        None => {
            notes.push("no mask is given: all pixels are treated as valid".to_owned());
            if paths.mask_marks != MaskPolarity::default() {
                notes
                    .push("data.paths.mask_marks has no effect without data.paths.mask".to_owned());
            }
            None
        }
    };
    Parts {
        frames: (
            paths.frames.clone(),
            window.frames(source.input(), &frames, scratch)?,
        ),
        mask,
        positions: (positions_name, window.select(&positions)),
        geometry,
        probe,
        simulation: None,
        centre: None,
        cutoff: None,
        notes,
    }
    .into_scan(source.input(), options)
}

/// Reads the positions (frame, (row, column)), m.
fn coordinates(
    source: &Source,
    paths: &Paths,
    notes: &mut Vec<String>,
) -> Result<Array2<f64>, IoError> {
    if paths.positions.is_empty() {
        let tried = ["the option data.paths.positions"];
        return Err(positions::missing(source.input(), &tried));
    }
    let numbers = source.require("positions", &[&paths.positions])?;
    let [row, column] = paths.position_order;
    let wrong = || {
        numbers.bad_shape(&format!(
            "shape (frame, coordinate) with coordinates {row} and {column} (option `paths.position_order`)"
        ))
    };
    match numbers.shape() {
        [_, n] if row < *n && column < *n && row != column => {
            if *n > 2 {
                notes.push(format!(
                    "{}: of {n} coordinates, {row} is the row and {column} the column (data.paths.position_order); others are not used",
                    paths.positions
                ));
            }
        }
        _ => return Err(wrong()),
    }
    if !(paths.position_unit.is_finite() && paths.position_unit > 0.0) {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.paths.position_unit",
            reason: format!(
                "expected a length > 0 in metres, found {}",
                shortest(paths.position_unit)
            ),
        });
    }
    let all = numbers
        .reals()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| wrong())?;
    Ok(all.select(Axis(1), &[row, column]) * paths.position_unit)
}

/// Reads the geometry from the datasets that are given; a path without a dataset is an error.
fn found(source: &Source, paths: &Paths) -> Result<FileGeometry, IoError> {
    let value = |what: &str, path: &Option<String>| -> Result<Option<(String, f64)>, IoError> {
        match path {
            None => Ok(None),
            Some(path) => {
                let numbers = source.require(what, &[path])?;
                Ok(Some((path.clone(), numbers.common_value()?)))
            }
        }
    };
    let pixel_size = match &paths.pixel_size {
        None => None,
        Some(path) => {
            let numbers = source.require("pixel size", &[path])?;
            Some((path.clone(), numbers.one_or_two()?))
        }
    };
    Ok(FileGeometry {
        wavelength: value("wavelength", &paths.wavelength)?,
        energy: value("energy", &paths.energy)?,
        distance: value("distance", &paths.distance)?,
        pixel_size,
        ..FileGeometry::default()
    })
}
