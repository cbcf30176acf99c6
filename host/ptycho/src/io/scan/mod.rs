//! Scan files: reads CXI, PtyPy's `.ptyd`, DECTRIS masters, MATLAB 7.3, NeXus, EMD, plain HDF5 and
//! files of frames alone; writes CXI.

mod bad_frames;
mod cutoff;
mod cxi;
mod dectris;
mod emd;
mod empty_frames;
mod energy;
mod extremes;
mod file_state;
mod frame_file;
mod frame_stack;
mod geometry;
mod lone_frames;
mod mask_light;
mod matlab;
mod missing;
mod negative;
mod nexus;
mod no_data;
mod numbered_names;
mod pairing;
mod plain;
mod positions;
mod prepare;
mod ptyd;
mod roles;
mod several_files;
mod truth;
mod units;
mod unknown;
mod window;
mod write;

pub use crate::session::read_options::{
    Constants, Datasets, EmptyFrames, Format, MaskPolarity, NegativeCounts, NoData, NoDataSetting,
    Paths, PositionUnit, ReadOptions, Units,
};
pub(super) use matlab::is_matlab;
pub use missing::{MissingParts, missing_parts};
pub use unknown::{UnknownDataset, UnknownLayout, unknown_layout};
pub use write::{write, write_with};

use crate::checks::diagnosis::corner::is_at_corner;
use crate::data::{Frames, Mask, PositionUnitOrigin, Scan, ScanError, Simulation, half_of};
use crate::model::probe_grid::{cut_or_padded, with_window};
use crate::session::read_options::{Centre, CentreSetting};
use cutoff::Cutoff;
use extremes::Extremes;
use geometry::Resolved;
use mask_light::{MaskLight, MaskOption};
use ndarray::{Array2, Array3, Axis, Ix2, Ix3};
use negative::Wrong;
use num_complex::Complex;
use several_files::ScanFiles;
use std::path::Path;
use warpstride_core::system::{Bytes, Memory};
use warpstride_core::text::{count, ranges};
use warpstride_files::source::{Follow, Source};
use warpstride_files::{InputFile, IoError};
use window::Window;

/// A scan and the notes of its reader.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanFile {
    /// The scan.
    pub scan: Scan,
    /// Decisions of the reader that the user should know about, one sentence each.
    pub notes: Vec<String>,
    /// Number of frames of the file, and the raster (slow, fast) that they are stored as, if they
    /// are.
    pub stored: (usize, Option<[usize; 2]>),
}

/// Reads the scan in `path`, which must fit into the available memory.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read(path: &Path, options: &ReadOptions) -> Result<ScanFile, IoError> {
    read_within(path, options, Memory::available())
}

/// Like [`read`], with a given limit of memory.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read_within(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<ScanFile, IoError> {
    read_with_scratch(path, options, memory, None)
}

/// Like [`read_within`]. With a folder `scratch`, the counts of a scan that could not be
/// reconstructed within the limit are copied to a temporary file there: 2 bytes a pixel, or 4 if
/// they are no small whole numbers.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence.
pub fn read_with_scratch(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    let read = read_once(path, options, memory, scratch);
    read.map_err(|error| missing::all_missing(path, options, memory, error))
}

/// Refuses axes of the frames for a file whose layout states them.
fn no_frame_axes(file: &str, options: &ReadOptions) -> Result<(), IoError> {
    match options.frame_axes {
        None => Ok(()),
        Some(_) => Err(IoError::Option {
            file: file.to_owned(),
            option: "data.frame_axes",
            reason: "expected a MATLAB file, or data.paths beside it, found a file whose layout states the axes".to_owned(),
        }),
    }
}

/// Like [`read_with_scratch`]; an error names the first thing that is missing.
fn read_once(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    if is_frame_file(path, options) {
        no_frame_axes(&path.display().to_string(), options)?;
        return frame_file::read(path, options, memory, scratch);
    }
    let source = open_source(path, options, memory)?;
    let source = ScanFiles::open(source, path, options, memory)?;
    let Some(format) = format_of(&source, options) else {
        if let Some(frames) = lone_frames::path(&source, options) {
            let read = lone_frames::read(&source, frames, options, scratch);
            return whole(&source, read);
        }
        return Err(IoError::Format {
            file: source.name().to_owned(),
            expected: "a known layout of a scan, or a recipe whose table data.paths names the datasets (`warpstride ptycho info` prints one for this file)",
            found: format!("HDF5 with {}", source.contents()),
        });
    };
    if !matches!(format, Format::Hdf5 | Format::Matlab) {
        no_frame_axes(source.name(), options)?;
    }
    if options.dataset.is_some() && format != Format::Nexus {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.dataset",
            reason: "expected an .npz file, a NeXus file or one without a known layout, found one whose format says where the frames are".to_owned(),
        });
    }
    if options.paths.is_some() && format != Format::Hdf5 {
        return Err(IoError::Option {
            file: source.name().to_owned(),
            option: "data.format",
            reason: "expected \"hdf5\", as data.paths names the datasets, found another format"
                .to_owned(),
        });
    }
    let read = match format {
        Format::Ptyd => ptyd::read(&source, options, scratch),
        Format::Hdf5 => plain::read(&source, options, scratch),
        Format::Matlab => matlab::read(&source, options, scratch),
        Format::Nexus => nexus::read(&source, options, scratch),
        Format::Emd => emd::read(&source, options, scratch),
        Format::Dectris => dectris::read(&source, options, scratch),
        Format::Cxi | Format::Frames | Format::Auto => cxi::read(&source, options, scratch),
    };
    whole(&source, read)
}

/// What was read, unless the files have changed meanwhile; notes those that are still open for
/// writing.
fn whole(source: &ScanFiles, read: Result<ScanFile, IoError>) -> Result<ScanFile, IoError> {
    // What was read of a file that has changed means nothing, and neither do its errors.
    source.unchanged()?;
    let mut read = read?;
    read.notes.extend(source.unclosed());
    Ok(read)
}

/// Opens `path`, whose links lead as far as the options say.
fn open_source(path: &Path, options: &ReadOptions, memory: Memory) -> Result<Source, IoError> {
    let source = Source::open_with_links(path, memory, follow(options))?;
    Ok(source.permitting_sparse(options.sparse))
}

/// The links to other files that the options let a file follow.
fn follow(options: &ReadOptions) -> Follow {
    if options.follow_links {
        Follow::Anywhere
    } else {
        Follow::Inside
    }
}

/// Whether `path` is read as a file of frames alone.
fn is_frame_file(path: &Path, options: &ReadOptions) -> bool {
    let alone = options.format == Format::Auto && options.paths.is_none();
    options.format == Format::Frames || (alone && frame_file::is_one(path))
}

/// The layout of a file, as the options say or as its contents show; `None` if they show none.
fn format_of(source: &Source, options: &ReadOptions) -> Option<Format> {
    // If the file is damaged, reading it as CXI reports the error.
    let has_entry = || source.has("/entry_1").unwrap_or(true);
    match options.format {
        Format::Auto if options.paths.is_some() => Some(Format::Hdf5),
        Format::Auto if dectris::is_one(source) => Some(Format::Dectris),
        Format::Auto if nexus::is_nexus(source) => Some(Format::Nexus),
        Format::Auto if has_entry() => Some(Format::Cxi),
        Format::Auto if source.has("/chunks").unwrap_or(false) => Some(Format::Ptyd),
        Format::Auto if matlab::is_matlab(source) => Some(Format::Matlab),
        Format::Auto if emd::datacube(source).is_some() => Some(Format::Emd),
        Format::Auto => None,
        given => Some(given),
    }
}

/// Data found by the reader of a format: cut to the window, positions not yet flipped.
struct Parts {
    /// Path and counts (frame, row, column).
    frames: (String, Frames),
    mask: Option<(String, Mask)>,
    /// The pixels that the format marks in a mask, and what the mask hides.
    mask_marks: MaskPolarity,
    mask_light: Option<MaskLight>,
    /// Path and positions (frame, (row, column)), m.
    positions: (String, Array2<f64>),
    geometry: Resolved,
    /// Path and probe (mode, row, column).
    probe: Option<(String, Array3<Complex<f64>>)>,
    /// Why the illumination in the file cannot be the start probe.
    unusable_probe: Option<String>,
    simulation: Option<Simulation>,
    /// Where frames and mask are in the file.
    window: Window,
    /// From which count on a pixel has no data.
    cutoff: Option<Cutoff>,
    /// The kinds of numbers that have been read whose unit the options may state.
    measures: Vec<units::Measure>,
    notes: Vec<String>,
}

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
        self.frames.1 = frames.changed(|frame| ptyd::roll(frame, by))?;
        if let Some((_, mask)) = &mut self.mask {
            ptyd::roll_mask(mask, by);
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
    fn into_scan(mut self, input: &InputFile, options: &ReadOptions) -> Result<ScanFile, IoError> {
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

/// A probe (mode, row, column), or why the illumination in the file cannot be one.
type ProbeOrReason = Result<Array3<Complex<f64>>, String>;

/// Reads a probe (row, column) or (mode, row, column) as (mode, row, column). One whose rows and
/// columns are not those of the frames in the file is not read, as another start probe may be
/// wanted.
fn probe(
    numbers: &warpstride_files::source::Numbers<'_>,
    [rows, columns]: [usize; 2],
) -> Result<ProbeOrReason, IoError> {
    let wrong = || {
        numbers.bad_shape(&format!(
            "shape ({rows}, {columns}) or (mode, {rows}, {columns}), as for the frames"
        ))
    };
    if let [r, c] | [_, r, c] = *numbers.shape()
        && [r, c] != [rows, columns]
    {
        return Ok(Err(format!(
            "{} has {r} x {c} pixels, and the frames have {rows} x {columns}",
            numbers.path()
        )));
    }
    let probe = match numbers.shape().len() {
        2 => numbers
            .complex()?
            .into_dimensionality::<Ix2>()
            .map_err(|_| wrong())?
            .insert_axis(Axis(0)),
        3 => numbers
            .complex()?
            .into_dimensionality::<Ix3>()
            .map_err(|_| wrong())?,
        _ => return Err(wrong()),
    };
    Ok(Ok(probe))
}

#[cfg(test)]
mod cxi_tests;
#[cfg(test)]
mod inspection_tests;
#[cfg(test)]
mod layout_tests;
#[cfg(test)]
mod nexus_tests;
#[cfg(test)]
mod option_effect_tests;
#[cfg(test)]
pub(crate) mod tests;
