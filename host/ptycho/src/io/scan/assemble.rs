//! Builds the scan from what the reader of a format has found, with the options common to all
//! formats.

use super::extremes::Extremes;
use super::mask_light::MaskOption;
use super::negative::Wrong;
use super::parts::{Parts, ScanFile};
use super::{NegativeCounts, ReadOptions, bad_frames, empty_frames, no_data, prepare, roll, units};
use crate::checks::diagnosis::corner::is_at_corner;
use crate::data::{Frames, Mask, PositionUnitOrigin, Scan, ScanError, half_of};
use crate::model::probe_grid::{cut_or_padded, with_window};
use crate::session::read_options::{Centre, CentreSetting};
use ndarray::{Array3, Axis};
use warpstride_core::system::Bytes;
use warpstride_core::text::{count, ranges};
use warpstride_files::{InputFile, IoError};

/// Whether no pixel is valid.
fn hides_all(mask: &Mask) -> bool {
    match mask {
        Mask::Shared(valid) => !valid.iter().any(|valid| *valid),
        Mask::PerFrame(valid) => !valid.iter().any(|valid| *valid),
    }
}

impl Parts {
    /// Refuses a mask of the file that leaves no light; returns what is doubtful about another one.
    fn check_mask(&self, input: &InputFile, options: &ReadOptions) -> Result<Vec<String>, IoError> {
        let Some((path, mask)) = &self.mask else {
            return match options.file_mask_marks {
                None => Ok(Vec::new()),
                Some(_) => Err(IoError::Option {
                    file: input.name().to_owned(),
                    option: "data.file_mask_marks",
                    reason: "expected a mask in the file, found none (data.mask_marks, --mask-marks, is for that of --mask)".to_owned(),
                }),
            };
        };
        let option = MaskOption::of_file(options, self.mask_marks);
        if hides_all(mask) {
            return Err(option.leaves_none(input.name(), path));
        }
        match &self.mask_light {
            Some(light) if light.leaves_hardly_any() && options.file_mask_marks.is_none() => {
                Err(option.refused(input.name(), path, light))
            }
            Some(light) => Ok(option.doubt(path, light).into_iter().collect()),
            None => Ok(Vec::new()),
        }
    }

    /// Shifts frames and mask, whose zero frequency is at the first pixel, cyclically by half their
    /// size.
    fn shift_zero_frequency(&mut self) -> Result<(), IoError> {
        let [_, rows, columns] = self.window.stored;
        let by = [rows, columns].map(|side| (side / 2) as isize);
        let none = Frames::from(Array3::zeros((0, 0, 0)));
        let frames = std::mem::replace(&mut self.frames.1, none);
        self.frames.1 = frames.changed(|frame| roll::roll(frame, by))?;
        if let Some((_, mask)) = &mut self.mask {
            roll::roll_mask(mask, by);
        }
        self.window.roll = by;
        self.notes.push(format!(
            "data.centre = \"shifted\": the frames are shifted cyclically by {} and {}",
            count(by[0], ["row", "rows"]),
            count(by[1], ["column", "columns"])
        ));
        Ok(())
    }

    /// Notes a temporary file.
    fn note_scratch(&mut self, input: &InputFile) {
        if let Some(folder) = self.frames.1.scratch_folder() {
            self.notes.push(format!(
                "the counts are in a temporary file in {}, as a reconstruction with all of them in host memory needs more than {} of it",
                folder.display(),
                Bytes(u128::from(input.memory().limit()))
            ));
        }
    }

    /// Applies the options common to all formats and builds the scan.
    pub(super) fn into_scan(
        mut self,
        input: &InputFile,
        options: &ReadOptions,
    ) -> Result<ScanFile, IoError> {
        units::check_used(input.name(), options, &self.measures)?;
        if self.geometry.is_near_field() && options.coarse.is_some_and(|factor| factor > 1) {
            return Err(IoError::Option {
                file: input.name().to_owned(),
                option: "data.coarse",
                reason: "expected 1 for a near-field scan, whose object pixels do not depend on the size of the frames (data.crop leaves out pixels)".to_owned(),
            });
        }
        let mut doubts = self.check_mask(input, options)?;
        doubts.append(&mut self.window.doubts);
        if let Some(reason) = &self.unusable_probe {
            self.notes.push(format!(
                "{reason}: the illumination in the file cannot be the start probe"
            ));
        }
        if options.centre == Some(Centre::Setting(CentreSetting::Shifted)) {
            self.shift_zero_frequency()?;
        }
        let prepares = options.prepares_pixels()
            || options.selects_frames()
            || !self.window.without_position.is_empty();
        if !prepares {
            self.note_scratch(input);
        }
        let mut positions = options.transform(&self.positions.1);
        let mut dropped =
            |what: &str, why: &str| self.notes.push(format!("{what} is ignored: {why}"));
        let cut = options.crop.is_some() || options.coarse.is_some_and(|factor| factor > 1);
        if cut && !prepares {
            if let Some((path, probe)) = self.probe.take() {
                let [_, rows, columns] = self.frames.1.shape();
                let cropped = if self.geometry.is_near_field() {
                    cut_or_padded(&probe, [rows, columns])
                } else {
                    with_window(&probe, [rows, columns])
                };
                if cropped.iter().any(|v| v.norm_sqr() > 0.0) {
                    self.probe = Some((path, cropped));
                } else {
                    dropped("the start probe", "it has no light in the cropped frames");
                }
            }
            if self.simulation.take().is_some() {
                let why = if self.geometry.is_near_field() {
                    "cropped frames have smaller windows"
                } else {
                    "cropped frames have larger object pixels"
                };
                dropped("the truth", why);
            }
        }
        if options.transforms_positions() && self.simulation.take().is_some() {
            dropped("the truth", "the positions are transformed");
        }
        let mask_path = self.mask.as_ref().map(|m| m.0.clone());
        let frames = (self.frames.0.as_str(), &self.frames.1);
        let mask = self.mask.take().map(|m| m.1);
        let fitting = mask.as_ref().filter(|mask| no_data::fits(mask, frames.1));
        let extremes = Extremes::of(frames.1, fitting)?;
        let masks = (mask, &extremes);
        let clip = options.negative == NegativeCounts::Clip;
        let no_data = (&options.no_data, clip);
        let said = (&mut self.notes, &mut doubts);
        let mask = no_data::mask(input, frames, masks, no_data, said)?;
        let mut mask = match &self.cutoff {
            Some(cutoff) => cutoff.mask(input, frames, (mask, &extremes), &mut self.notes)?,
            None => mask,
        };
        if mask.as_ref().is_some_and(hides_all) {
            return Err(IoError::Value {
                file: input.name().to_owned(),
                dataset: self.frames.0,
                found: "none in the pixels that the mask leaves".to_owned(),
                expected: "counts other than those that mean no data (NaN, -1, …)".to_owned(),
            });
        }
        let mut travel = None;
        let mut stored = Some(self.window.in_file());
        let mut numbers: Vec<usize> = (0..self.frames.1.shape()[0]).collect();
        if prepares {
            self.mask = mask.map(|mask| {
                (
                    mask_path.clone().unwrap_or_else(|| self.frames.0.clone()),
                    mask,
                )
            });
            let selected = prepare::prepare(&mut self, &positions, input, options)?;
            positions = positions.select(Axis(0), &selected.numbers);
            stored = selected.stored;
            doubts.extend(selected.doubts);
            numbers.clone_from(&selected.numbers);
            let of_all = selected.travel;
            travel = of_all.map(|all| selected.numbers.iter().map(|n| all[*n]).collect());
            mask = self.mask.take().map(|mask| mask.1);
            self.note_scratch(input);
        }
        if !extremes.are_counts_below(f32::INFINITY) {
            let frames = &self.frames.1;
            let fitting = mask.as_ref().filter(|mask| no_data::fits(mask, frames));
            let wrong = Wrong::of(frames, fitting)?;
            if let Some(error) = wrong.refused(input, &self.frames.0, clip) {
                return Err(error);
            }
        }
        let without: Vec<usize> = (positions.outer_iter().zip(&numbers))
            .filter(|(position, _)| !position.iter().all(|at| at.is_finite()))
            .map(|(_, number)| number + self.window.frames.start)
            .collect();
        if !without.is_empty() && without.len() < numbers.len() {
            let file = options.positions.as_ref();
            return Err(IoError::Value {
                file: file.map_or(input.name(), |of| of.file.as_str()).to_owned(),
                dataset: self.positions.0,
                found: format!(
                    "NaN or infinite ones for {}",
                    count(without.len(), ["frame", "frames"])
                ),
                expected: format!(
                    "finite positions of all frames (--exclude {}, data.exclude, leaves out those without)",
                    ranges(&without)
                ),
            });
        }
        let probe_path = self.probe.as_ref().map(|p| p.0.clone());
        let as_io_error = |error: ScanError| {
            let dataset = match &error {
                ScanError::Scratch(error) => return IoError::from(error.clone()),
                ScanError::Dark { .. } if options.dark.is_some() => format!(
                    "{} less {} (data.dark)",
                    self.frames.0,
                    options.dark.as_deref().unwrap_or_default()
                ),
                ScanError::Empty(..) | ScanError::Count { .. } | ScanError::Dark { .. } => {
                    self.frames.0.clone()
                }
                ScanError::PositionCount { .. } | ScanError::Position { .. } => {
                    self.positions.0.clone()
                }
                ScanError::MaskShape { .. } | ScanError::AllMasked => {
                    mask_path.clone().unwrap_or_else(|| self.frames.0.clone())
                }
                ScanError::ProbeShape { .. } | ScanError::Probe => {
                    probe_path.clone().unwrap_or_else(|| self.frames.0.clone())
                }
                ScanError::Length { .. } => "the geometry".to_owned(),
            };
            IoError::Invalid {
                file: input.name().to_owned(),
                dataset,
                reason: error.to_string(),
            }
        };
        let scan = Scan::of_frames(
            self.frames.1,
            mask,
            positions,
            self.geometry.geometry,
            self.probe.map(|p| p.1),
        )
        .map_err(&as_io_error)?
        .with_voltage(self.geometry.voltage)
        .with_position_unit(position_unit(options, self.window.metres_of_position))
        .with_stored_pixels(stored)
        .with_unusable_probe(self.unusable_probe)
        .with_stored_frames(
            numbers
                .iter()
                .map(|n| n + self.window.frames.start)
                .collect(),
        );
        let shifted = options.centre == Some(Centre::Setting(CentreSetting::Shifted));
        let judged = options.centre.is_none() || shifted;
        if judged && !scan.geometry().is_near_field() && is_at_corner(&scan.mean_frame()) {
            let reason = self.window.remedy_of_corner(shifted);
            if !options.describes_only && !shifted {
                return Err(IoError::Option {
                    file: input.name().to_owned(),
                    option: "data.centre",
                    reason,
                });
            }
            doubts.push(reason);
        }
        let scan = scan.with_doubts(doubts);
        let mut scan = match self.simulation {
            Some(simulation) => scan.with_simulation(simulation),
            None => scan,
        };
        if let Some(travel) = travel {
            scan = scan.with_travel(travel);
        }
        scan = bad_frames::left_out(input, &self.frames.0, scan, options, &mut self.notes)?;
        let (path, notes) = (&self.frames.0, &mut self.notes);
        scan = bad_frames::without_dead_pixels(input, path, scan, options.hot_pixels, notes)?;
        scan = empty_frames::masked(
            input,
            &self.frames.0,
            scan,
            options.empty_frames,
            &mut self.notes,
        )?;
        if let Some(half) = options.half {
            let all = scan.shape()[0];
            // Refused for either half, so that nothing is computed for the first if there is no
            // second.
            if all < 2 {
                let chosen = options.frames.map_or_else(String::new, |[first, end]| {
                    format!(" in data.frames = [{first}, {end}]")
                });
                return Err(IoError::Value {
                    file: input.name().to_owned(),
                    dataset: self.frames.0.clone(),
                    expected: format!("at least 2 frames{chosen}, one for each half of the scan"),
                    found: all.to_string(),
                });
            }
            let frames = half_of(scan.positions(), half);
            if scan.scratch_folder().is_none() {
                // A copy of the half, beside the whole scan.
                let [_, rows, columns] = scan.shape().map(|n| n as u128);
                let both = (all + frames.len()) as u128;
                input.allow(&self.frames.0, both * rows * columns * 4)?;
            }
            self.notes.push(format!(
                "data.half = {half}: {} of {all} frames, one of each two neighbours",
                frames.len()
            ));
            scan = scan.of_some(&frames).map_err(&as_io_error)?;
        }
        Ok(ScanFile {
            scan,
            notes: self.notes,
            stored: (self.window.stored[0], self.window.raster),
        })
    }
}

/// The option that states the unit of the positions, of which one is so many metres.
fn position_unit(options: &ReadOptions, metres: Option<f64>) -> Option<PositionUnitOrigin> {
    let named = (options.paths.as_ref()).is_some_and(|paths| paths.position_unit.is_some());
    let option = match (&options.raster, &options.positions) {
        (Some(_), _) => "data.raster.step",
        (None, Some(_)) => "data.positions.unit",
        (None, None) if named => "data.paths.position_unit",
        (None, None) => "data.units.positions",
    };
    let raster = options.raster.is_some();
    (!options.without_positions && (raster || metres.is_some()))
        .then_some(PositionUnitOrigin { metres, option })
}
