//! Scans whose frames are in several files, one part in each (`data.files`).
//!
//! The first file is read as any scan. The others, in the order given, have further frames at the
//! same place of the same layout. Their geometry and flat field, where they have one, must be those
//! of the first; pixels that any mask has are masked in all frames.

use super::ReadOptions;
use super::frame_stack::FrameStack;
use super::geometry::FileGeometry;
use super::numbered_names::{by_numbers, has_descending_numbers, is_natural};
use super::pairing::StoredFrames;
use crate::FileOrder;
use crate::data::{Geometry, Mask};
use ndarray::{Array2, Zip};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use warpstride_core::system::Memory;
use warpstride_core::text::{count, shortest};
use warpstride_files::source::{Follow, Source};
use warpstride_files::{InputFile, IoError};

/// The option that names the other files.
const OPTION: &str = "data.files";
/// Most HDF5 files of a scan: each stays open, and systems allow 1024 open files by default.
const MOST_HDF5: usize = 400;
/// Largest relative difference of lengths of one geometry in several files: a distance that is
/// measured at each.
const SAME: f64 = 1e-4;
/// Most files that a note names.
const MOST_NAMED: usize = 4;

/// The HDF5 files of a scan: the first, to which this dereferences, and those with further frames.
pub(super) struct ScanFiles {
    first: Source,
    others: Vec<Source>,
    order: Order,
}

impl ReadOptions {
    /// The links to other files that a file may follow.
    pub(super) fn follow(&self) -> Follow {
        if self.follow_links {
            Follow::Anywhere
        } else {
            Follow::Inside
        }
    }
}

/// Opens `path`, whose links lead as far as the options say.
pub(super) fn open_source(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Source, IoError> {
    let source = Source::open_with_links(path, memory, options.follow())?;
    Ok(source.permitting_sparse(options.sparse))
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
        let order = Order::of(options);
        Ok(Self {
            first,
            others,
            order,
        })
    }

    /// The frames of all files, of which `first` are those of the first, and `frames` finds those
    /// of another.
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
        joined(stacks, &self.names(), self.order, notes)
    }

    /// The names of all files, as given.
    fn names(&self) -> Vec<&str> {
        let others = self.others.iter().map(Source::name);
        std::iter::once(self.name()).chain(others).collect()
    }

    /// The positions of the frames: those of the first file if it has one for each frame of all
    /// files, or else those of each file for its own frames. `read` gets a file and the number of
    /// frames whose positions it should have, and `len` says how many it has found. If neither is
    /// so, and the first file has more than its own frames need, its positions are taken for all.
    ///
    /// # Errors
    /// As `read`; a file of several has not one for each of its frames; or the first file has all,
    /// and the order of the files is in doubt.
    pub(super) fn of_each<T>(
        &self,
        frames: &FrameStack<'_>,
        mut read: impl FnMut(&Source, usize) -> Result<T, IoError>,
        len: impl Fn(&T) -> usize,
    ) -> Result<Vec<T>, IoError> {
        let [all, ..] = frames.shape();
        let whole = read(&self.first, all);
        if self.others.is_empty() {
            return Ok(vec![whole?]);
        }
        if let Ok(found) = &whole
            && len(found) == all
        {
            self.order.check(&self.names())?;
            return Ok(vec![whole?]);
        }
        let each = self.of_own(frames, read, &len);
        match (each, whole) {
            (Err(IoError::Pairing { .. }), Ok(whole)) if len(&whole) > self.own_frames(frames) => {
                self.order.check(&self.names())?;
                Ok(vec![whole])
            }
            (each, _) => each,
        }
    }

    /// The number of frames of the first file.
    fn own_frames(&self, frames: &FrameStack<'_>) -> usize {
        let order = self.order.of_files(&self.names()).into_iter();
        let mut counts = order.zip(frames.counts_of_parts());
        counts
            .find(|(number, _)| *number == 0)
            .map_or(0, |(_, count)| count)
    }

    /// The positions of each file for its own frames.
    fn of_own<T>(
        &self,
        frames: &FrameStack<'_>,
        mut read: impl FnMut(&Source, usize) -> Result<T, IoError>,
        len: impl Fn(&T) -> usize,
    ) -> Result<Vec<T>, IoError> {
        let sources: Vec<&Source> = std::iter::once(&self.first).chain(&self.others).collect();
        let mut each = Vec::new();
        for (number, count) in
            (self.order.of_files(&self.names()).into_iter()).zip(frames.counts_of_parts())
        {
            let source = sources[number];
            let found = read(source, count)?;
            if len(&found) != count {
                return Err(IoError::Pairing {
                    file: source.name().to_owned(),
                    dataset: "the positions".to_owned(),
                    frames: count,
                    found: len(&found).to_string(),
                    remedy: None,
                });
            }
            each.push(found);
        }
        Ok(each)
    }

    /// How frames with `sets` of positions are stored: those of several files have one set, or each
    /// its own.
    pub(super) fn stored(&self, frames: &FrameStack<'_>, sets: usize) -> StoredFrames {
        match sets {
            0 | 1 => StoredFrames::of_files(frames),
            _ => StoredFrames::All,
        }
    }

    /// Refuses files whose geometry differs from that of the first, which has `found`; `read` finds
    /// that of another. What a file does not have, or an option states for all, is not compared.
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

    /// Refuses files in which `what` is another than in the first, which has `found`; `read` finds
    /// that of another.
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

    /// The mask of all files, and its path: `first` with the pixels that those of others mask,
    /// which is noted. `read` finds that of another file.
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

/// The frames of files that are no HDF5: `first`, those of the file `path`, and those of the files
/// that the options name. `is_one` says whether a name is that of such a file.
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
    let order = Order::of(options);
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
    let names: Vec<&str> = std::iter::once(input.name()).chain(others).collect();
    joined(stacks, &names, order, notes)
}

/// The order in which files are read.
#[derive(Debug, Clone, Copy)]
struct Order {
    given: Option<FileOrder>,
    /// Whether one set of positions, which is elsewhere, is that of all files.
    one_set: bool,
}

impl Order {
    fn of(options: &ReadOptions) -> Self {
        Self {
            given: options.order,
            one_set: options.has_other_positions() && !options.without_positions,
        }
    }

    /// The numbers of the files with these names in the order in which they are read.
    fn of_files(self, names: &[&str]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..names.len()).collect();
        match self.given {
            Some(FileOrder::Natural) => order.sort_by_key(|n| by_numbers(names[*n])),
            Some(FileOrder::Name) => order.sort_by_key(|n| names[*n]),
            Some(FileOrder::Given) | None => {}
        }
        order
    }

    /// Refuses files whose order is in doubt, for one set of positions.
    ///
    /// # Errors
    /// They are not in the order of the numbers in their names, and no option states the order.
    fn check(self, names: &[&str]) -> Result<(), IoError> {
        if self.given.is_some() || !has_descending_numbers(names) {
            return Ok(());
        }
        let natural = Self {
            given: Some(FileOrder::Natural),
            ..self
        };
        let sorted: Vec<&str> = (natural.of_files(names).into_iter())
            .map(|number| names[number])
            .collect();
        Err(IoError::Option {
            file: names.first().copied().unwrap_or_default().to_owned(),
            option: "data.order",
            reason: format!(
                "in which order do the files belong to the positions? They are given as {}, which is not the order of the numbers in their names, {}: --order natural reads them by these numbers, --order given as they are given (data.order)",
                begin(names),
                begin(&sorted)
            ),
        })
    }
}

/// The names of the first files, with their folders if these differ.
fn begin(names: &[&str]) -> String {
    let folder = |name: &str| name.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let of_one = names
        .windows(2)
        .all(|pair| folder(pair[0]) == folder(pair[1]));
    let file = |name: &&str| match of_one {
        true => name.rsplit('/').next().unwrap_or(name).to_owned(),
        false => (*name).to_owned(),
    };
    let shown: Vec<String> = names.iter().take(MOST_NAMED).map(file).collect();
    let more = if names.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

/// Joins the stacks of files with these names, and notes what is where.
fn joined<'s>(
    stacks: Vec<FrameStack<'s>>,
    names: &[&str],
    order: Order,
    notes: &mut Vec<String>,
) -> Result<FrameStack<'s>, IoError> {
    if order.one_set {
        order.check(names)?;
    }
    let sorted = order.of_files(names);
    let mut stacks: Vec<Option<FrameStack<'s>>> = stacks.into_iter().map(Some).collect();
    let stacks: Vec<FrameStack<'s>> = (sorted.iter())
        .filter_map(|number| stacks.get_mut(*number)?.take())
        .collect();
    let names: Vec<&str> = sorted.iter().map(|number| names[*number]).collect();
    let all = FrameStack::joined(stacks, names.first().copied().unwrap_or_default())?;
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
        "{} of {}, one after the other: {}",
        count(all.shape()[0], ["frame", "frames"]),
        count(names.len(), ["file", "files"]),
        listed.join(", ")
    ));
    if order.given.is_none() && !is_natural(&names) {
        notes.push(
            "the files are not in the order of their names; frames are read in the order in which the files are given (--order natural: by name)"
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

#[cfg(test)]
mod tests;
