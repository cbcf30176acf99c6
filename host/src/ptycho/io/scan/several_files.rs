//! Scans whose frames are in several files, one part in each (`data.files`).
//!
//! The first file is read as any scan. The others, in the order given, have further frames at the same place of the same layout. Their
//! geometry and flat field, where they have one, must be those of the first; pixels that any mask has are masked in all frames.

use super::frame_stack::FrameStack;
use super::geometry::FileGeometry;
use super::{ReadOptions, open_source};
use crate::data::{Geometry, Mask};
use crate::io::source::Source;
use crate::io::{InputFile, IoError};
use crate::system::Memory;
use crate::text::{count, shortest};
use ndarray::{Array2, Zip};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The option that names the other files.
const OPTION: &str = "data.files";
/// Most HDF5 files of a scan: each stays open, and systems allow 1024 open files by default.
const MOST_HDF5: usize = 400;
/// Largest relative difference of lengths of one geometry in several files: a distance that is measured at each.
const SAME: f64 = 1e-4;
/// Most files that a note names.
const MOST_NAMED: usize = 4;

/// The HDF5 files of a scan: the first, to which this dereferences, and those with further frames.
pub(super) struct ScanFiles {
    first: Source,
    others: Vec<Source>,
}

impl Deref for ScanFiles {
    type Target = Source;

    fn deref(&self) -> &Source {
        &self.first
    }
}

impl ScanFiles {
    /// Opens the files that the options name beside `first`.
    ///
    /// # Errors
    /// A file cannot be opened, is no HDF5, or is named twice.
    pub(super) fn open(
        first: Source,
        path: &Path,
        options: &ReadOptions,
        memory: Memory,
    ) -> Result<Self, IoError> {
        let names = &options.files;
        if names.len() >= MOST_HDF5 {
            return Err(refused(
                first.name(),
                format!(
                    "expected at most {MOST_HDF5} HDF5 files, as each stays open, found {}",
                    names.len() + 1
                ),
            ));
        }
        differ(path, names)?;
        let others = names
            .iter()
            .map(|name| open_source(Path::new(name), options, memory))
            .collect::<Result<_, _>>()?;
        Ok(Self { first, others })
    }

    /// The frames of all files, of which `first` are those of the first, and `frames` finds those of another.
    ///
    /// # Errors
    /// A file has no frames at this place, or frames of another size.
    pub(super) fn with_others<'s>(
        &'s self,
        first: FrameStack<'s>,
        frames: impl Fn(&'s Source) -> Result<FrameStack<'s>, IoError>,
        notes: &mut Vec<String>,
    ) -> Result<FrameStack<'s>, IoError> {
        let mut stacks = vec![first];
        for other in &self.others {
            stacks.push(frames(other)?);
        }
        let others = self.others.iter().map(Source::name);
        joined(stacks, self.name(), others, notes)
    }

    /// What is read of each frame: of the first file for all frames, or else of each file for its own. `read` gets a file and the
    /// number of frames for which it has to have something.
    ///
    /// # Errors
    /// As `read`, for the first file that has neither.
    pub(super) fn of_each<T>(
        &self,
        frames: &FrameStack<'_>,
        mut read: impl FnMut(&Source, usize) -> Result<T, IoError>,
    ) -> Result<Vec<T>, IoError> {
        let counts = frames.counts_of_parts();
        match read(&self.first, frames.shape()[0]) {
            Ok(found) => Ok(vec![found]),
            Err(error) if self.others.is_empty() => Err(error),
            Err(_) => std::iter::once(&self.first)
                .chain(&self.others)
                .zip(counts)
                .map(|(source, count)| read(source, count))
                .collect(),
        }
    }

    /// Refuses files whose geometry differs from that of the first, which has `found`; `read` finds that of another. What a file does
    /// not have, or an option states for all, is not compared.
    ///
    /// # Errors
    /// A value differs, or cannot be read.
    pub(super) fn same_geometry(
        &self,
        found: &FileGeometry,
        options: &ReadOptions,
        read: impl Fn(&Source) -> Result<FileGeometry, IoError>,
    ) -> Result<(), IoError> {
        let values = |of: &FileGeometry| {
            let constants = &options.constants;
            let has_angles = constants.pixel_angle.is_some() || constants.pixel_frequency.is_some();
            let [rows, columns] = [0, 1].map(|axis| {
                of.pixel_size
                    .as_ref()
                    .map(|(path, p)| (path.clone(), p[axis]))
            });
            let in_metres = |found: &Option<(String, f64)>, wavelength: fn(f64) -> f64| {
                (found.as_ref()).map(|(path, value)| (path.clone(), wavelength(*value)))
            };
            let wavelength = (of.wavelength.clone())
                .or_else(|| in_metres(&of.voltage, Geometry::wavelength_of_voltage));
            // Beside a wavelength an energy is not used.
            let energy = (of.energy.clone()).filter(|_| wavelength.is_none());
            let beam = constants.has_beam();
            let pixel = constants.pixel_size.is_some() || has_angles;
            [
                (beam, "the wavelength", wavelength),
                (beam, "the energy", energy),
                (
                    constants.distance.is_some(),
                    "the distance",
                    of.distance.clone(),
                ),
                (pixel, "the detector pixel (rows)", rows),
                (pixel, "the detector pixel (columns)", columns),
                (
                    options.focus_to_sample.is_some(),
                    "the distance from the focus",
                    of.focus_to_sample.clone(),
                ),
            ]
        };
        let first = values(found);
        for other in &self.others {
            for ((given, what, first), (_, _, of)) in first.iter().zip(values(&read(other)?)) {
                let (false, Some((first_path, expected)), Some((path, value))) = (given, first, of)
                else {
                    continue;
                };
                if (value - expected).abs() > SAME * expected.abs() {
                    return Err(IoError::Value {
                        file: other.name().to_owned(),
                        dataset: path,
                        found: shortest(value),
                        expected: format!(
                            "{what} of {} ({first_path}), {}, as the files are parts of one scan (an option of data.constants states it for all)",
                            self.name(),
                            shortest(*expected)
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// Refuses files in which `what` is another than in the first, which has `found`; `read` finds that of another.
    ///
    /// # Errors
    /// One differs, or cannot be read.
    pub(super) fn same<T: PartialEq>(
        &self,
        what: &str,
        found: Option<&T>,
        read: impl Fn(&Source) -> Result<Option<T>, IoError>,
    ) -> Result<(), IoError> {
        for other in &self.others {
            if read(other)?.as_ref() != found {
                let reason = format!(
                    "expected the {what} of {} in all files, as one is applied to all frames, found another in {}",
                    self.name(),
                    other.name()
                );
                return Err(refused(self.name(), reason));
            }
        }
        Ok(())
    }

    /// The mask of all files, and its path: `first` with the pixels that those of others mask, which is noted. `read` finds that of
    /// another file.
    ///
    /// # Errors
    /// A mask of another file is one for each frame, unlike the first, or cannot be read.
    pub(super) fn with_masks(
        &self,
        first: Option<(String, Mask)>,
        notes: &mut Vec<String>,
        read: impl Fn(&Source) -> Result<Option<(String, Mask)>, IoError>,
    ) -> Result<Option<(String, Mask)>, IoError> {
        let (mut path, mut all) = match first {
            Some((path, Mask::Shared(valid))) => (path, Some(valid)),
            Some(each) => return Ok(Some(each)),
            None => (String::new(), None),
        };
        let valid = |mask: &Array2<bool>| mask.iter().filter(|valid| **valid).count();
        let mut added = 0;
        for other in &self.others {
            match read(other)? {
                None => {}
                Some((found, Mask::Shared(further))) => {
                    if all.is_none() {
                        path = found;
                    }
                    let mut both = further.clone();
                    let before = match &all {
                        None => further.len(),
                        Some(all) => {
                            Zip::from(&mut both)
                                .and(all)
                                .for_each(|valid, other| *valid &= other);
                            valid(all)
                        }
                    };
                    added += before - valid(&both);
                    all = Some(both);
                }
                Some((found, Mask::PerFrame(_))) => {
                    let reason = format!(
                        "expected a mask (row, column) in {}, as one is that of all frames, found one for each frame at {found}",
                        other.name()
                    );
                    return Err(refused(self.name(), reason));
                }
            }
        }
        if added > 0 {
            notes.push(format!(
                "masks of further files have {} that the mask of {} does not have: masked in all frames",
                count(added, ["pixel", "pixels"]),
                self.name()
            ));
        }
        Ok(all.map(|all| (path, Mask::Shared(all))))
    }

    /// Refuses other files, for a layout of which one file has all frames.
    ///
    /// # Errors
    /// There are others.
    pub(super) fn alone(&self, layout: &str) -> Result<(), IoError> {
        match self.others.as_slice() {
            [] => Ok(()),
            [other, ..] => Err(refused(
                self.name(),
                format!(
                    "expected one file of the layout {layout}, which has all frames, found {} beside it",
                    other.name()
                ),
            )),
        }
    }

    /// Checks that nothing has been written to the files since they were opened.
    ///
    /// # Errors
    /// A file has changed.
    pub(super) fn unchanged(&self) -> Result<(), IoError> {
        self.first.unchanged()?;
        self.others.iter().try_for_each(Source::unchanged)
    }

    /// One sentence for each file that a program has open for writing.
    pub(super) fn unclosed(&self) -> Vec<String> {
        let sources = std::iter::once(&self.first).chain(&self.others);
        sources.flat_map(Source::unclosed).collect()
    }
}

/// The frames of files that are no HDF5: `first`, those of the file `path`, and those of the files that the options name. `is_one` says
/// whether a name is that of such a file.
///
/// # Errors
/// A file cannot be read, is another kind of file, or has frames of another size.
pub(super) fn with_frame_files<'s>(
    (input, path): (&InputFile, &Path),
    first: FrameStack<'s>,
    options: &ReadOptions,
    is_one: fn(&Path) -> bool,
    notes: &mut Vec<String>,
) -> Result<FrameStack<'s>, IoError> {
    differ(path, &options.files)?;
    let mut stacks = vec![first];
    for name in &options.files {
        if !is_one(Path::new(name)) {
            return Err(refused(
                input.name(),
                format!("expected files of frames alone beside it, found {name}"),
            ));
        }
        stacks.push(FrameStack::of_closed_file(Path::new(name))?);
    }
    let others = options.files.iter().map(String::as_str);
    joined(stacks, input.name(), others, notes)
}

/// Joins the stacks of files with these names, and notes what is where.
fn joined<'s, 'n>(
    stacks: Vec<FrameStack<'s>>,
    first: &'n str,
    others: impl Iterator<Item = &'n str>,
    notes: &mut Vec<String>,
) -> Result<FrameStack<'s>, IoError> {
    let all = FrameStack::joined(stacks, first)?;
    let names: Vec<&str> = std::iter::once(first).chain(others).collect();
    if names.len() < 2 {
        return Ok(all);
    }
    let counts = all.counts_of_parts();
    let of = |number: usize| {
        let (name, frames) = (names.get(number)?, counts.get(number)?);
        Some(format!("{name} ({frames})"))
    };
    let last = names.len() - 1;
    let mut listed: Vec<String> = (0..last.min(MOST_NAMED - 1)).filter_map(of).collect();
    if last >= MOST_NAMED {
        listed.push("…".to_owned());
    }
    listed.extend(of(last));
    notes.push(format!(
        "{} frames of {}, one after the other: {}",
        all.shape()[0],
        count(names.len(), ["file", "files"]),
        listed.join(", ")
    ));
    if !names.is_sorted_by(|a, b| by_numbers(a) <= by_numbers(b)) {
        notes.push(
            "the files are not in the order of the numbers in their names; frames are read in the order in which the files are given"
                .to_owned(),
        );
    }
    Ok(all)
}

/// Refuses a file that is named twice.
fn differ(first: &Path, others: &[String]) -> Result<(), IoError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut seen: Vec<PathBuf> = vec![real(first)];
    seen.extend(others.iter().map(|name| real(Path::new(name))));
    seen.sort();
    match seen.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(refused(
            &first.display().to_string(),
            format!(
                "expected different files, found {} twice",
                pair[0].display()
            ),
        )),
    }
}

fn refused(file: &str, reason: String) -> IoError {
    IoError::Option {
        file: file.to_owned(),
        option: OPTION,
        reason,
    }
}

/// A name as texts and numbers, so that 2 comes before 10.
fn by_numbers(name: &str) -> Vec<(String, u128)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (before, after) = rest.split_at(text);
        let digits = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        let number = match number {
            "" => 0,
            digits => digits.parse().unwrap_or(u128::MAX),
        };
        parts.push((before.to_owned(), number));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests;
