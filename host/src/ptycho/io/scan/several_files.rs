//! Scans whose frames are in several files, one part in each (`data.files`).
//!
//! The first file is read as any scan. The others, in the order given, have further frames at the same place of the same layout. Their
//! geometry and flat field, where they have one, must be those of the first; pixels that any mask has are masked in all frames.

use super::frame_stack::FrameStack;
use super::geometry::FileGeometry;
use super::{ReadOptions, open_source};
use crate::data::{Geometry, Mask};
use crate::io::source::{Numbers, Source};
use crate::io::{InputFile, IoError};
use crate::system::Memory;
use crate::text::{count, shortest};
use ndarray::Zip;
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
            let beam = constants.has_beam();
            let pixel = constants.pixel_size.is_some() || has_angles;
            [
                (beam, "the wavelength", wavelength),
                (beam, "the energy", of.energy.clone()),
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
        found: &Option<T>,
        read: impl Fn(&Source) -> Result<Option<T>, IoError>,
    ) -> Result<(), IoError> {
        for other in &self.others {
            if read(other)? != *found {
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

    /// The mask of all files: `first`, that of the dataset `mask`, with the pixels that those of others mask, which is noted. `read` finds
    /// that of another file.
    ///
    /// # Errors
    /// A mask of another file is one for each frame, unlike the first, or cannot be read.
    pub(super) fn with_masks(
        &self,
        mask: &Numbers<'_>,
        first: Mask,
        notes: &mut Vec<String>,
        read: impl Fn(&Source) -> Result<Option<Mask>, IoError>,
    ) -> Result<Mask, IoError> {
        let Mask::Shared(mut all) = first else {
            return Ok(first);
        };
        let before = all.iter().filter(|valid| **valid).count();
        for other in &self.others {
            match read(other)? {
                None => {}
                Some(Mask::Shared(further)) => {
                    Zip::from(&mut all)
                        .and(&further)
                        .for_each(|valid, further| *valid &= further);
                }
                Some(Mask::PerFrame(_)) => {
                    let reason = format!(
                        "expected a mask (row, column) in {}, as {} has in {}, found one for each frame",
                        other.name(),
                        mask.path(),
                        self.name()
                    );
                    return Err(refused(self.name(), reason));
                }
            }
        }
        let added = before - all.iter().filter(|valid| **valid).count();
        if added > 0 {
            notes.push(format!(
                "{} that {} in {} leaves, and the masks of other files do not, are masked in all frames",
                count(added, ["pixel", "pixels"]),
                mask.path(),
                self.name()
            ));
        }
        Ok(Mask::Shared(all))
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
mod tests {
    use super::*;
    use crate::ptycho::io::scan::frame_file::npy;
    use crate::ptycho::io::scan::layout_tests::{options, put};
    use crate::ptycho::io::scan::{read, write};
    use ndarray::{Array2, Array3, Array4, Axis, concatenate, s};

    fn counts(frames: std::ops::Range<usize>) -> Array3<u32> {
        let value = |(f, r, c): (usize, usize, usize)| ((f + frames.start) * 30 + r * 6 + c) as u32;
        Array3::from_shape_fn((frames.len(), 5, 6), value)
    }

    const GEOMETRY: &str = "constants.wavelength = 1e-10\nconstants.distance = 2.0\nconstants.pixel_size = [75e-6, 75e-6]\n";

    fn named(files: &[PathBuf], more: &str) -> ReadOptions {
        let names: Vec<String> = files.iter().map(|f| format!("{f:?}")).collect();
        options(&format!("files = [{}]\n{GEOMETRY}{more}", names.join(", ")))
    }

    #[test]
    fn names_are_ordered_by_their_numbers() {
        assert!(by_numbers("a_2.h5") < by_numbers("a_10.h5"));
        assert!(by_numbers("run 1/f10") < by_numbers("run 2/f9"));
        assert!(by_numbers("a") < by_numbers("a1"));
    }

    #[test]
    fn frames_of_several_npy_files_follow_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = [0..2, 2..7, 7..8]
            .into_iter()
            .enumerate()
            .map(|(n, range)| {
                let path = folder.path().join(format!("f{n}.npy"));
                let part = counts(range);
                std::fs::write(&path, npy(part.shape(), part.iter().copied())).unwrap();
                path
            })
            .collect();
        let raster = "raster.points = [2, 4]\nraster.step = \"1nm\"\n";
        let found = read(&files[0], &named(&files[1..], raster)).unwrap();
        assert_eq!(
            found.scan.frames().unwrap(),
            counts(0..8).mapv(|v| v as f32)
        );
        let notes = found.notes.join("\n");
        assert!(notes.contains("8 frames of 3 files"), "{notes}");
        assert!(!notes.contains("order of the numbers"), "{notes}");
        // A range over a border, and another order.
        let range = format!("frames = [1, 6]\n{raster}");
        let some = read(&files[0], &named(&files[1..], &range)).unwrap();
        assert_eq!(some.scan.frames().unwrap(), counts(1..6).mapv(|v| v as f32));
        let swapped = [files[2].clone(), files[1].clone()];
        let other = read(&files[0], &named(&swapped, raster)).unwrap();
        assert!(other.notes.join("\n").contains("order of the numbers"));
        assert_eq!(other.scan.frames().unwrap()[[2, 0, 1]], 211.0);
        // Frames of another size, a file named twice, another kind of file, a wrong number of positions.
        let wide = folder.path().join("wide.npy");
        std::fs::write(&wide, npy(&[1, 5, 7], 0..35)).unwrap();
        let text = |others: &[PathBuf], more: &str| {
            let refused = read(&files[0], &named(others, more)).unwrap_err();
            refused.to_string()
        };
        let e = text(&[files[1].clone(), wide], raster);
        assert!(
            e.contains("wide.npy") && e.contains("5 x 6") && e.contains("f0.npy"),
            "{e}"
        );
        let e = text(&files[..2], raster);
        assert!(e.contains("twice"), "{e}");
        let e = text(&[folder.path().join("a.h5")], raster);
        assert!(e.contains("a.h5"), "{e}");
        let e = text(&files[1..2], raster);
        assert!(e.contains("7 frames"), "{e}");
        let lost = [folder.path().join("none.npy")];
        assert!(text(&lost, raster).contains("none.npy"));
    }

    #[test]
    fn parts_of_a_cxi_scan_have_their_own_positions_or_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let positions = Array2::from_shape_fn((7, 2), |(f, k)| (f * (k + 1)) as f64 * 1e-8);
        let part = |name: &str, frames: std::ops::Range<usize>, of: std::ops::Range<usize>| {
            let path = folder.path().join(name);
            let scan = crate::data::Scan::new(
                counts(frames.clone()).mapv(|v| v as f32),
                None,
                positions.slice(s![frames, ..]).to_owned(),
                crate::data::Geometry {
                    wavelength: 1e-10,
                    distance: 2.0,
                    pixel_size: [75e-6; 2],
                    propagation: crate::data::Propagation::FarField,
                },
                None,
            );
            write(&path, &scan.unwrap()).unwrap();
            if of.len() == 7 {
                let file = hdf5_metno::File::open_rw(&path).unwrap();
                file.unlink("/entry_1/sample_1/geometry_1/translation")
                    .unwrap();
                let xy = concatenate![
                    Axis(1),
                    positions.slice(s![.., 1..2]),
                    positions.slice(s![.., 0..1])
                ];
                let xy = xy.as_standard_layout().into_owned();
                put(&file, "entry_1/sample_1/geometry_1/translation", &xy);
                file.close().unwrap();
            }
            path
        };
        for of in [0..3, 0..7] {
            let first = part("first.cxi", 0..3, of);
            let second = part("second.cxi", 3..7, 3..7);
            let names = [second];
            let read = read(&first, &named(&names, "")).unwrap().scan;
            assert_eq!(read.frames().unwrap(), counts(0..7).mapv(|v| v as f32));
            assert_eq!(read.positions(), positions);
        }
    }

    /// A file with a part of a scan, a distance, m, and a mask whose pixel (0, `bad`) is masked.
    fn part(folder: &Path, name: &str, distance: f64, bad: Option<usize>) -> PathBuf {
        let path = folder.join(name);
        let file = hdf5_metno::File::create(&path).unwrap();
        put(&file, "stack", &counts(0..3).mapv(|v| v as u16 + 1));
        put(&file, "distance", &ndarray::arr0(distance));
        let mask = bad.map(|bad| Array2::from_shape_fn((5, 6), |at| u8::from(at == (0, bad))));
        if let Some(mask) = mask {
            put(&file, "mask", &mask);
        }
        file.close().unwrap();
        path
    }

    #[test]
    fn parts_of_a_scan_have_one_geometry_and_all_their_masks() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name, distance, bad| part(folder.path(), name, distance, bad);
        let text = |others: &[&PathBuf], more: &str| {
            let names: Vec<String> = others.iter().map(|f| format!("{f:?}")).collect();
            options(&format!(
                "files = [{}]\nconstants.wavelength = 1e-10\nconstants.pixel_size = [75e-6, 75e-6]\n{more}raster.points = [2, 3]\nraster.step = \"1nm\"\n[paths]\nframes = \"/stack\"\npositions = \"\"\ndistance = \"/distance\"\nmask = \"/mask\"\n",
                names.join(", ")
            ))
        };
        let first = part("a.h5", 2.0, Some(1));
        let same = part("b.h5", 2.0 * (1.0 + 1e-6), Some(4));
        let found = read(&first, &text(&[&same], "")).unwrap();
        assert_eq!(found.scan.shape(), [6, 5, 6]);
        assert_eq!(found.scan.geometry().distance, 2.0);
        let valid = found.scan.mask().of_frame(0);
        let expected = Array2::from_shape_fn((5, 6), |at| at != (0, 1) && at != (0, 4));
        assert_eq!(valid, expected);
        let notes = found.notes.join("\n");
        assert!(notes.contains("1 pixel that /mask"), "{notes}");
        // Another distance is refused, unless an option states that of all.
        let other = part("c.h5", 2.1, Some(1));
        let refused = read(&first, &text(&[&other], "")).unwrap_err().to_string();
        for words in ["c.h5: /distance", "a.h5", "2.1", "data.constants"] {
            assert!(refused.contains(words), "{refused}");
        }
        let given = text(&[&other], "constants.distance = 2.05\n");
        assert_eq!(read(&first, &given).unwrap().scan.geometry().distance, 2.05);
        // A file without a mask has none to add.
        let without = part("d.h5", 2.0, None);
        let found = read(&first, &text(&[&without], "")).unwrap();
        assert_eq!(found.scan.mask().valid_in(5), 29);
    }

    #[test]
    fn rows_of_a_raster_in_several_hdf5_files_are_one_raster() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str, rows: usize, columns: usize| {
            let path = folder.path().join(name);
            let file = hdf5_metno::File::create(&path).unwrap();
            let value = |(a, b, r, c): (usize, usize, usize, usize)| (a + b + r + c) as u16 + 1;
            put(
                &file,
                "stack",
                &Array4::from_shape_fn((rows, 3, 4, columns), value),
            );
            file.close().unwrap();
            path
        };
        let (first, second) = (part("a.h5", 1, 4), part("b.h5", 2, 4));
        let step = "raster.step = \"1nm\"\n";
        let read = |second: PathBuf| super::super::read(&first, &named(&[second], step));
        let found = read(second).unwrap().scan;
        assert_eq!(found.shape(), [9, 4, 4]);
        assert_eq!(found.positions().row(8), ndarray::arr1(&[2e-9, 2e-9]));
        let e = read(part("c.h5", 1, 5)).unwrap_err().to_string();
        assert!(
            e.contains("c.h5") && e.contains("/stack") && e.contains("a.h5"),
            "{e}"
        );
    }
}
