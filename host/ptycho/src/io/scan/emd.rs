//! Reader of EMD files: HDF5 of electron microscopes, as py4DSTEM writes it.
//!
//! A group with the attribute `emd_group_type` has a dataset `data` of rank 4 (slow, fast, row,
//! column) and a dataset for each axis: `dim0` to `dim3`, or `dim1` to `dim4`, with the attributes
//! `name` and `units` (<https://emdatasets.com/format>; `axis.rs`). The steps of the first two axes
//! are those of the raster, and of the last two the angle or the spatial frequency of a detector
//! pixel.

mod axis;
mod calibration;

use super::found_positions::FoundPositions;
use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::pairing::{StoredFrames, pair};
use super::parts::{Parts, ScanFile};
use super::several_files::ScanFiles;
use super::units::Measure;
use super::window::Window;
use super::{MaskPolarity, ReadOptions, positions};
use crate::session::read_options::si_units;
use axis::{AxisStep, rounded};
use calibration::Calibration;
use ndarray::Array2;
use std::path::Path;
use warpstride_core::text::{Dimension, length, shortest, significant, visible};
use warpstride_files::IoError;
use warpstride_files::source::Source;

/// Attribute of a group of the format.
const TYPE: &str = "emd_group_type";

/// Names of the datasets of the four axes, of newer and of older files.
const AXES: [[&str; 4]; 2] = [
    ["dim0", "dim1", "dim2", "dim3"],
    ["dim1", "dim2", "dim3", "dim4"],
];

/// Distance from the specimen to the detector, m, where the angle of a detector pixel is known:
/// results do not depend on it.
const NOMINAL_DISTANCE: f64 = 1.0;

/// What the options have to say, as files have neither the beam nor a distance.
const EXPECTED: ExpectedPaths = ExpectedPaths {
    wavelength: &["the command line (--voltage 300kV)"],
    distance: &["the command line (--pixel-angle 0.3mrad instead)"],
    pixel_size: &["the command line (--pixel-angle 0.3mrad)"],
};

/// The largest array of rank 4 of an EMD group, as the path of the group.
pub(super) fn datacube(source: &Source) -> Option<String> {
    // The largest is the first.
    source.listing().into_iter().find_map(|of| {
        let group = of.path.strip_suffix("/data")?;
        let is_emd = of.shape.len() == 4 && source.has_attribute(group, TYPE);
        is_emd.then(|| group.to_owned())
    })
}

/// Reads the datacube of an EMD file.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let Some(group) = datacube(source) else {
        return Err(IoError::Missing {
            file: source.name().to_owned(),
            what: "a datacube".to_owned(),
            tried: vec![format!("a group with {TYPE} and data of rank 4")],
        });
    };
    let mut notes = vec![format!(
        "EMD file: {group} is read, the slow scan axis as rows"
    )];
    let frames = source.with_others(frames(source)?, frames, &mut notes)?;
    let shape = frames.shape();
    let mut window = Window::new(source.name(), shape, options)?.with_raster(frames.scan_shape());
    let scratch = window.in_scratch(source.input(), &frames, false, scratch)?;
    let (found, [slow, fast]) = in_file(source, &group, options, &mut notes)?;
    source.same_geometry(&found, options, |other| {
        let group = datacube(other).unwrap_or_default();
        Ok(in_file(other, &group, options, &mut Vec::new())?.0)
    })?;
    let geometry = resolve(source.input(), &found, options, &EXPECTED, &mut notes)?;
    let of_frames = (shape[0], frames.scan_shape());
    let elsewhere = positions::given(source.input(), options, of_frames, &mut notes)?;
    let (found, measures) = match elsewhere {
        Some(given) => (given, Vec::new()),
        None => {
            let stated = options.units.positions.as_deref();
            let steps = [slow, fast].map(|axis| axis.map(|axis| axis.in_unit(stated)));
            let unit = steps[0]
                .as_ref()
                .map(|axis| axis.unit.clone())
                .unwrap_or_default();
            let metres = si_units(Dimension::Length, &unit).unwrap_or(1.0);
            let (name, values) = raster(source, steps, &frames, &mut notes)?;
            let found = FoundPositions::of_dataset(source.input(), name, values);
            (found.in_units_of(metres), vec![Measure::Positions])
        }
    };
    let positions = pair(
        found,
        &StoredFrames::of_files(&frames),
        &mut window,
        options,
        &mut notes,
    )?;
    notes.push("the file has no mask: all pixels are treated as valid".to_owned());
    Parts {
        frames: (
            frames.path().to_owned(),
            window.frames(source.input(), &frames, (None, scratch))?,
        ),
        mask: None,
        mask_marks: MaskPolarity::default(),
        mask_light: None,
        positions: (positions.0, window.select(&positions.1)),
        geometry,
        probe: None,
        unusable_probe: None,
        simulation: None,
        window,
        cutoff: None,
        measures,
        notes,
    }
    .into_scan(source.input(), options)
}

/// The geometry that axes and calibration of the datacube `group` have, and the steps of the scan
/// (slow, fast).
fn in_file(
    source: &Source,
    group: &str,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<(FileGeometry, [Option<AxisStep>; 2]), IoError> {
    let newer = source.has(&format!("{group}/dim0")).unwrap_or(false);
    let names = AXES[usize::from(!newer)];
    let mut axes = Vec::new();
    let lengths = source.numbers(&format!("{group}/data"))?;
    let lengths = lengths.map_or_else(Vec::new, |data| data.shape().to_vec());
    for (axis, name) in names.into_iter().enumerate() {
        let length = lengths.get(axis).copied().unwrap_or(0);
        let path = format!("{group}/{name}");
        axes.push(AxisStep::read(source, path, (length, axis < 2), notes)?);
    }
    let stored = Calibration::read(source, group, notes)?;
    let [slow, fast, row, column] = [0, 1, 2, 3].map(|k| {
        let scale = match k {
            0 | 1 => stored.scan.as_ref(),
            _ => stored.detector.as_ref(),
        };
        AxisStep::or_calibrated(axes[k].take(), scale, notes)
    });
    let found = geometry(source, options, ([row, column], stored.voltage), notes)?;
    Ok((found, [slow, fast]))
}

/// The frames of the datacube of a file.
fn frames(source: &Source) -> Result<FrameStack<'_>, IoError> {
    let group = datacube(source).unwrap_or_default();
    FrameStack::of_dataset(source.require("frames", &[&format!("{group}/data")])?)
}

/// The positions of the raster with these steps (slow, fast).
fn raster(
    source: &Source,
    steps: [Option<AxisStep>; 2],
    frames: &FrameStack<'_>,
    notes: &mut Vec<String>,
) -> Result<(String, Array2<f64>), IoError> {
    let [Some(slow), Some(fast)] = steps else {
        return Err(no_step(source, "the step of the scan", "dim0 and dim1"));
    };
    let metres = |axis: &AxisStep| {
        if axis.counts_pixels() {
            return Err(no_step(source, "the step of the scan", &axis.path));
        }
        let unit = si_units(Dimension::Length, &axis.unit);
        let step = unit
            .map(|unit| unit * axis.step)
            .filter(|step| step.is_finite() && *step != 0.0);
        step.ok_or_else(|| IoError::Value {
            file: source.name().to_owned(),
            dataset: axis.path.clone(),
            found: format!("{} \"{}\"", shortest(axis.step), axis.unit),
            expected: format!(
                "a step other than 0 in a unit of length ({}; data.units.positions replaces it: --set 'data.units.positions=\"nm\"')",
                Dimension::Length.names()
            ),
        })
    };
    let [slow_step, fast_step] = [metres(&slow)?, metres(&fast)?];
    let remedy = "data.units.positions states one for both";
    note_units([&slow, &fast], [slow_step, fast_step], remedy, notes);
    let [count, ..] = frames.shape();
    let points = frames.scan_shape().map_or(count, |[_, fast]| fast).max(1);
    let step = |axis: &AxisStep, metres: f64| match axis.coordinates {
        Some(_) => format!("the coordinates of {}", axis.path),
        None => format!("steps of {}", length(metres.abs(), 4)),
    };
    let of_fast = step(&fast, fast_step);
    let of_fast = match slow.coordinates {
        None => of_fast.trim_start_matches("steps of "),
        Some(_) => &of_fast,
    };
    notes.push(format!(
        "positions are those of a raster with {} and {of_fast} (its rotation is not in the file)",
        step(&slow, slow_step)
    ));
    let along = |axis: &AxisStep, number: usize, metres: f64| match &axis.coordinates {
        // In steps, as the unit of the axis is that of its step.
        Some(coordinates) => coordinates.get(number).copied().unwrap_or(0.0) * metres,
        None => number as f64 * metres,
    };
    let positions = Array2::from_shape_fn((count, 2), |(frame, axis)| {
        if axis == 0 {
            along(&slow, frame / points, slow_step)
        } else {
            along(&fast, frame % points, fast_step)
        }
    });
    Ok((slow.path, positions))
}

/// Notes two axes in different units, of which one may be wrong. `steps` are in one unit.
fn note_units(axes: [&AxisStep; 2], steps: [f64; 2], remedy: &str, notes: &mut Vec<String>) {
    let [first, second] = [0, 1].map(|n| steps[n] / axes[n].step);
    let apart = (first - second).abs() > 1e-6 * first.abs();
    if apart && axes[0].path != axes[1].path {
        notes.push(format!(
            "{} is in {} and {} in {}: if one of them is wrong, {remedy}",
            axes[0].path,
            visible(&axes[0].unit),
            axes[1].path,
            visible(&axes[1].unit)
        ));
    }
}

fn no_step(source: &Source, what: &str, path: &str) -> IoError {
    IoError::Missing {
        file: source.name().to_owned(),
        what: what.to_owned(),
        tried: vec![
            format!("{path} (in a unit of length)"),
            "data.raster (--raster 64x64 --step 31.25A)".to_owned(),
        ],
    }
}

/// Geometry from the angle or the spatial frequency of a detector pixel, if the file has it: a
/// detector at a distance of 1 m, or at that of the options.
fn geometry(
    source: &Source,
    options: &ReadOptions,
    (axes, voltage): ([Option<AxisStep>; 2], Option<(String, f64)>),
    notes: &mut Vec<String>,
) -> Result<FileGeometry, IoError> {
    let without = FileGeometry {
        voltage,
        ..FileGeometry::default()
    };
    let [Some(row), Some(column)] = axes else {
        return Ok(without);
    };
    if row.counts_pixels() && column.counts_pixels() {
        return Ok(without);
    }
    let constants = &options.constants;
    if constants.pixel_angle.is_some() || constants.pixel_frequency.is_some() {
        return Ok(without);
    }
    let stated = constants.pixel_size.is_some();
    if let Some(axis) = [&row, &column].into_iter().find(|axis| axis.step <= 0.0)
        && !stated
    {
        return Err(IoError::Value {
            file: source.name().to_owned(),
            dataset: axis.path.clone(),
            found: format!(
                "{} {}; --pixel-angle or --pixel-size states the size of a pixel in its place, and --transform-frames turns frames whose rows or columns are stored in the inverse order",
                rounded(axis.step),
                axis.unit
            ),
            expected: "coordinates of the detector that ascend".to_owned(),
        });
    }
    let distance = options.constants.distance.unwrap_or(NOMINAL_DISTANCE);
    let mut file = FileGeometry {
        distance: Some((row.path.clone(), distance)),
        pixel_size: Some((row.path.clone(), [1.0; 2])),
        ..without
    };
    let angle = |axis: &AxisStep| {
        if let Some(radian) = si_units(Dimension::Angle, &axis.unit) {
            return Ok(axis.step * radian);
        }
        let Some(frequency) = si_units(Dimension::ReciprocalLength, &axis.unit) else {
            return Err(IoError::Value {
                file: source.name().to_owned(),
                dataset: axis.path.clone(),
                found: format!("\"{}\"", axis.unit),
                expected: format!(
                    "pixels, or a unit of angle ({}) or of reciprocal length ({}); --pixel-angle 0.3mrad takes its place",
                    Dimension::Angle.names(),
                    Dimension::ReciprocalLength.names()
                ),
            });
        };
        // The wavelength is that of the options, or of the calibration's voltage.
        let beam = resolve(source.input(), &file, options, &EXPECTED, &mut Vec::new())?;
        Ok(axis.step * frequency * beam.wavelength)
    };
    let angles = [angle(&row)?, angle(&column)?];
    let remedy = "--pixel-angle takes the place of both";
    note_units([&row, &column], angles, remedy, notes);
    notes.push(format!(
        "{}: a detector pixel of {} {} ({} mrad), at a nominal distance of {} m",
        row.path,
        rounded(row.step),
        row.unit,
        significant(angles[0] * 1e3, 4),
        shortest(distance)
    ));
    file.pixel_size = Some((row.path, angles.map(|angle| angle * distance)));
    Ok(file)
}
