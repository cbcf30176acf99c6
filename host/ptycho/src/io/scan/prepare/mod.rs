//! What is done to frames after they have been read: selected, corrected for dark, flat and
//! monitor, freed from faulty pixels, turned, cut around the zero frequency, padded and binned.

mod calibration;
mod centre;
mod faults;
pub(super) mod layout;
mod pixels;
mod probe;

use super::ReadOptions;
use super::parts::Parts;
use crate::checks::diagnosis::corner::{is_at_corner, wrapped};
use crate::data::StoredPixels;
use crate::session::read_options::prepare::NO_CENTRE;
use crate::session::read_options::{Centre, CentreSetting, FrameTransform};
use layout::{Layout, misfit};
use ndarray::{Array2, Axis};
use pixels::Pixels;
use warpstride_core::text::{count, shortest, significant};
use warpstride_files::{InputFile, IoError};

/// The frames that are used of those that have been read, and how the scan went on from each.
pub(super) struct Selected {
    /// Numbers among the frames that have been read.
    pub(super) numbers: Vec<usize>,
    /// Steps along the direction of travel (row, column), m, of all frames that have been read, if
    /// some are left out.
    pub(super) travel: Option<Vec<[f64; 2]>>,
    /// Where the pixels are in the file.
    pub(super) stored: Option<StoredPixels>,
    /// What is doubtful, one sentence each.
    pub(super) doubts: Vec<String>,
}

/// Prepares frames, mask, geometry, probe and truth of `parts` as `options` say. `positions` are
/// those of the frames that have been read, in their final orientation.
///
/// # Errors
/// An option does not fit the scan, a file cannot be read, or the memory does not suffice.
pub(super) fn prepare(
    parts: &mut Parts,
    positions: &Array2<f64>,
    input: &InputFile,
    options: &ReadOptions,
) -> Result<Selected, IoError> {
    let near_field = parts.geometry.is_near_field();
    if let (Some(centre), true) = (options.centre, near_field) {
        let reason = format!("expected {NO_CENTRE}, found {centre}");
        return Err(misfit(input.name(), ("data.centre", reason)));
    }
    let numbers = numbers(parts, input, options)?;
    let mut selected = Selected {
        travel: (options.selects_frames() || !parts.window.without_position.is_empty())
            .then(|| crate::data::travel(positions)),
        numbers,
        stored: None,
        doubts: Vec::new(),
    };
    if options.selects_frames() {
        parts.notes.push(format!(
            "{} of {} are used (data.every, data.exclude)",
            selected.numbers.len(),
            count(parts.frames.1.shape()[0], ["frame", "frames"])
        ));
    }
    let mut pixels = Pixels::new(parts, selected.numbers.clone(), input, options)?;
    selected.doubts.append(&mut pixels.doubts);
    pixels.mask_faults(input, options, &mut parts.notes)?;
    let layout = laid_out(&pixels, parts, input, options)?;
    selected.stored = Some(layout.in_file(parts.window.roll));
    say(&layout, options, near_field, &mut parts.notes);
    let (frames, mask) = pixels.laid_out(&layout, input)?;
    parts.frames.1 = frames;
    let path = (parts.mask.as_ref()).map_or_else(|| parts.frames.0.clone(), |mask| mask.0.clone());
    parts.mask = mask.map(|mask| (path, mask));
    let sides = parts.geometry.pixel_size;
    let turned = match layout.orientation().swap_axes {
        true => [sides[1], sides[0]],
        false => sides,
    };
    let bin = options.bin.unwrap_or(1) as f64;
    parts.geometry.pixel_size = turned.map(|side| side * bin);
    probe::prepare(parts, &layout, options);
    if let Some(simulation) = &mut parts.simulation {
        simulation.positions = simulation.positions.select(Axis(0), &selected.numbers);
    }
    Ok(selected)
}

/// The numbers, among the frames that have been read, of those that are used.
fn numbers(parts: &Parts, input: &InputFile, options: &ReadOptions) -> Result<Vec<usize>, IoError> {
    let [all, ..] = parts.window.stored;
    let first = parts.window.frames.start;
    if let Some(beyond) = options.exclude.iter().find(|number| **number >= all) {
        let reason = format!(
            "expected numbers of frames from 0 to {}, found {beyond}",
            all - 1
        );
        return Err(misfit(input.name(), ("data.exclude", reason)));
    }
    let numbers: Vec<usize> = (parts.window.selected(options).into_iter())
        .filter(|frame| !parts.window.without_position.contains(frame))
        .map(|frame| frame - first)
        .collect();
    if numbers.is_empty() {
        let reason = "expected at least one frame that is left, found none".to_owned();
        return Err(misfit(input.name(), ("data.exclude", reason)));
    }
    Ok(numbers)
}

/// Where the pixels go; finds the zero frequency if that is asked for.
fn laid_out(
    pixels: &Pixels,
    parts: &mut Parts,
    input: &InputFile,
    options: &ReadOptions,
) -> Result<Layout, IoError> {
    let [_, rows, columns] = parts.window.stored;
    let new = |centre| {
        Layout::new([rows, columns], options, centre).map_err(|error| misfit(input.name(), error))
    };
    match options.centre {
        None | Some(Centre::Setting(CentreSetting::Shifted)) => new(None),
        Some(Centre::At(centre)) => new(Some(centre)),
        Some(Centre::Setting(CentreSetting::Auto)) => {
            input.allow(&parts.frames.0, centre::bytes([rows, columns]))?;
            let orientation = options.frame_orientation();
            let (mean, valid) = pixels.mean()?;
            let mean = layout::turned(mean.view(), orientation).to_owned();
            let valid = layout::turned(valid.view(), orientation).to_owned();
            // Half of the frames would be beyond the detector.
            if is_at_corner(&mean) {
                let reason = "expected the zero frequency within the frames, found the light around the first pixel, (0, 0), as a Fourier transform has it: --centre shifted moves it to the middle".to_owned();
                return Err(misfit(input.name(), ("data.centre", reason)));
            }
            if let Some(reason) = wrapped(&mean) {
                return Err(misfit(input.name(), ("data.centre", reason)));
            }
            let Some(found) = centre::find(&mean, &valid) else {
                let reason = "expected frames with light by which the centre can be found, found none: use [row, column]".to_owned();
                return Err(misfit(input.name(), ("data.centre", reason)));
            };
            let advice = match found.doubtful {
                true => {
                    ": a doubtful centre, look at the mean pattern (ptycho info --report) and give it as [row, column]"
                }
                false => "",
            };
            parts.notes.push(format!(
                "data.centre: the zero frequency is at row {}, column {} of the {} frames, about which the mean pattern is symmetric to {} (1 is exactly); its brightest part has its centre of mass at {}, {}{advice}",
                rounded(found.centre[0], 2),
                rounded(found.centre[1], 2),
                turned_or_stored(options),
                significant(found.likeness, 3),
                rounded(found.mass[0], 1),
                rounded(found.mass[1], 1)
            ));
            new(Some(found.centre))
        }
    }
}

fn turned_or_stored(options: &ReadOptions) -> &'static str {
    match options.transform_frames.is_empty() {
        true => "stored",
        false => "turned",
    }
}

/// Notes of what becomes of the frames.
fn say(layout: &Layout, options: &ReadOptions, near_field: bool, notes: &mut Vec<String>) {
    let by = |[rows, columns]: [usize; 2]| format!("{rows} x {columns}");
    if !options.transform_frames.is_empty() {
        let names = options.transform_frames.iter().copied();
        let names: Vec<&str> = names.map(FrameTransform::name).collect();
        notes.push(format!(
            "data.transform_frames: {}: frames are {} pixels",
            names.join(", "),
            by(layout.turned())
        ));
    }
    if let Some(Centre::At([row, column])) = options.centre {
        notes.push(format!(
            "data.centre: the zero frequency is at row {}, column {} of the {} frames",
            rounded(row, 3),
            rounded(column, 3),
            turned_or_stored(options)
        ));
    }
    let cut: Vec<String> = [
        options
            .crop
            .map(|shape| format!("data.crop keeps {}", by(shape))),
        options
            .pad
            .map(|shape| format!("data.pad extends to {}", by(shape))),
        (options.bin.filter(|bin| *bin > 1)).map(|bin| {
            let [rows, columns] = layout.left_out();
            let left_out = match [rows, columns] {
                [0, 0] => String::new(),
                _ => format!(
                    ", {} and {} that do not fill a pixel are left out",
                    count(rows, ["row", "rows"]),
                    count(columns, ["column", "columns"])
                ),
            };
            format!("data.bin adds {bin} x {bin} pixels{left_out}")
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !cut.is_empty() || layout.leaves_detector() {
        let mut text = cut.join("; ");
        if !text.is_empty() {
            text += ": ";
        }
        text += &format!("frames of {} pixels", by(layout.shape()));
        if layout.leaves_detector() {
            text += ", in which those beyond the detector are masked";
        }
        notes.push(text);
    }
    let [row, column] = layout.offset();
    if !near_field && [row, column] != [0.0; 2] {
        notes.push(format!(
            "the zero frequency is {} rows and {} columns from pixel ({}, {}), the middle of the frames: the phase of the probe has a ramp for it, and no counts are interpolated",
            rounded(row, 3),
            rounded(column, 3),
            layout.shape()[0] / 2,
            layout.shape()[1] / 2
        ));
    }
}

/// A number with so many decimals, without zeros at their end.
fn rounded(value: f64, decimals: i32) -> String {
    let scale = 10_f64.powi(decimals);
    shortest((value * scale).round() / scale)
}

#[cfg(test)]
mod tests;
