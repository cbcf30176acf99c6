//! Positions that are not in the file of the frames (`data.positions`, `data.raster`).

mod table;

use super::ReadOptions;
use super::found_positions::FoundPositions;
use super::units::attribute_unit;
use crate::positions::units::{likely_units, typical_step};
use crate::session::quantities::one_of;
use crate::session::read_options::si_units;
use crate::{PositionFile, Raster};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Ix1, Ix2, stack};
use table::{Coordinates, Table};
use warpstride_core::text::{Dimension, shortest};
use warpstride_files::source::{Follow, Numbers, Source};
use warpstride_files::{InputFile, IoError, npy};
use warpstride_formats::FrameFile;
use warpstride_formats::numpy::{NumpyFile, npz_arrays};

/// What the positions are called where they are not those of a dataset.
const RASTER: &str = "data.raster";
/// What they are called if there are none.
const NONE: &str = "the positions";

/// How the paths of datasets of a CXI file begin.
const CXI: &str = "/entry_1/";

/// Whether a dataset with so many columns is a translation of the sample (x, y, z), or in a CXI
/// file (x, y), as CXI and `NXcxi_ptycho` have it.
fn is_translation(dataset: &str, columns: usize) -> bool {
    let named = dataset.ends_with("/translation");
    named && (columns == 3 || (columns == 2 && dataset.starts_with(CXI)))
}

/// The positions of the options, for `frames` frames that are stored as the raster `scan_shape`, if
/// they are; `None` if the options have none.
///
/// # Errors
/// The file of the positions cannot be read.
pub(super) fn given(
    input: &InputFile,
    options: &ReadOptions,
    (frames, scan_shape): (usize, Option<[usize; 2]>),
    notes: &mut Vec<String>,
) -> Result<Option<FoundPositions>, IoError> {
    if options.without_positions {
        input.allow(NONE, 16 * frames as u128)?;
        let apart = Array2::from_shape_fn((frames, 2), |(frame, axis)| match axis {
            0 => frame as f64,
            _ => 0.0,
        });
        return Ok(Some(FoundPositions::of_dataset(
            input,
            NONE.to_owned(),
            apart,
        )));
    }
    if let Some(raster) = &options.raster {
        return of_raster(input, raster, (frames, scan_shape), notes).map(Some);
    }
    let Some(file) = &options.positions else {
        return Ok(None);
    };
    let reader = Reader {
        file,
        unit: file.unit.as_ref().or(options.units.positions.as_ref()),
        follow: options.follow(),
        input: InputFile::new(file.path().0, input.memory()),
        frames,
    };
    reader.read(notes).map(Some)
}

/// The error for a scan without positions.
pub(super) fn missing(input: &InputFile, tried: &[&str]) -> IoError {
    let mut tried: Vec<String> = tried.iter().map(|t| (*t).to_owned()).collect();
    tried.push("the option data.positions (--positions FILE)".to_owned());
    tried.push("data.raster (such as --raster 64x64 --step 31.25A)".to_owned());
    IoError::Missing {
        file: input.name().to_owned(),
        what: "positions".to_owned(),
        tried,
    }
}

fn of_raster(
    input: &InputFile,
    raster: &Raster,
    (frames, scan_shape): (usize, Option<[usize; 2]>),
    notes: &mut Vec<String>,
) -> Result<FoundPositions, IoError> {
    let refuse = |reason: String| IoError::Option {
        file: input.name().to_owned(),
        option: "data.raster.points",
        reason,
    };
    let Some([slow, fast]) = raster.points.or(scan_shape) else {
        return Err(refuse(format!(
            "expected the points of the raster, [slow, fast], as the frames ({frames}) are stored without one, found none; --raster 64x64 states rows and points in a row"
        )));
    };
    let points = slow.saturating_mul(fast);
    if let (Some(given), Some(stored)) = (raster.points, scan_shape)
        && given != stored
    {
        notes.push(format!(
            "the file has a raster of {} x {} points; data.raster.points ({slow} x {fast}) is used",
            stored[0], stored[1]
        ));
    }
    input.allow(RASTER, 16 * points as u128)?;
    let [slow_step, fast_step] = raster.step.both();
    notes.push(format!(
        "positions: a raster of {slow} x {fast} points, {} m from row to row and {} m along a row, turned by {}°{}",
        shortest(slow_step),
        shortest(fast_step),
        shortest(raster.rotation.0),
        if raster.snake {
            ", every second row backwards"
        } else {
            ""
        }
    ));
    let positions = raster.positions([slow, fast]);
    Ok(FoundPositions {
        raster: Some([slow, fast]),
        ..FoundPositions::of_dataset(input, RASTER.to_owned(), positions)
    })
}

/// Most coordinates that are stored before the positions.
const MOST_COORDINATES: usize = 3;

/// Whether an array of positions of `frames` frames is (coordinate, position) and not (position,
/// coordinate).
pub(super) fn coordinates_first((rows, columns): (usize, usize), frames: usize) -> bool {
    let few = (2..=MOST_COORDINATES).contains(&rows);
    few && rows != frames && columns > MOST_COORDINATES
}

/// Whether a coordinate is not the same for all frames, but for rounding.
fn varies(of: ArrayView1<'_, f64>) -> bool {
    let finite = of.iter().copied().filter(|at| at.is_finite());
    let (least, most) = finite.fold((f64::MAX, f64::MIN), |(least, most), at| {
        (at.min(least), at.max(most))
    });
    most - least > 1e-9 * most.abs().max(least.abs())
}

/// The note on a third coordinate of `all` (frame, (x, y, z)) whose extent is not small beside that
/// of the others.
pub(super) fn note_of_height(dataset: &str, all: ArrayView2<'_, f64>) -> Option<String> {
    let extent = |axis: usize| {
        let finite = || {
            all.column(axis)
                .into_iter()
                .copied()
                .filter(|at| at.is_finite())
        };
        (
            finite().fold(f64::MAX, f64::min),
            finite().fold(f64::MIN, f64::max),
        )
    };
    let size = |axis: usize| extent(axis).1 - extent(axis).0;
    if all.ncols() < 3 || size(2) <= HEIGHT * size(0).max(size(1)) {
        return None;
    }
    let (least, most) = extent(2);
    Some(format!(
        "{dataset}: z, which is not used, varies from {} to {} beside x and y: if it is not the coordinate along the beam, --positions FILE:{dataset} with --position-columns says which two are",
        shortest(least),
        shortest(most)
    ))
}

/// Largest extent along the beam, as part of that across it, that is that of a stage's errors or a
/// tilted sample.
const HEIGHT: f64 = 0.1;

/// A translation (frame, (x, y, z)) or, exchanged, (coordinate, frame) of `frames` frames, as it is
/// stored.
pub(super) fn translation(numbers: &Numbers<'_>, frames: usize) -> Result<Array2<f64>, IoError> {
    let wrong = || numbers.bad_shape("shape (frame, 3) with x, y and z in metres");
    let exchanged = match *numbers.shape() {
        [_, 2 | 3] => false,
        [rows, columns] if coordinates_first((rows, columns), frames) => true,
        _ => return Err(wrong()),
    };
    let all = (numbers.reals()?)
        .into_dimensionality::<Ix2>()
        .map_err(|_| wrong())?;
    Ok(if exchanged { all.reversed_axes() } else { all })
}

/// Reads a file of positions.
struct Reader<'a> {
    file: &'a PositionFile,
    /// The unit that the options state.
    unit: Option<&'a String>,
    /// The file of the positions.
    input: InputFile,
    follow: Follow,
    /// Number of frames of the scan.
    frames: usize,
}

impl<'a> Reader<'a> {
    fn refuse(&self, option: &'static str, reason: String) -> IoError {
        IoError::Option {
            file: self.input.name().to_owned(),
            option,
            reason,
        }
    }

    /// The unit that attributes of a dataset state, of which several matter only if the options
    /// state none.
    fn attribute(&self, source: &Source, dataset: &str) -> Result<Option<String>, IoError> {
        match (attribute_unit(source, dataset), self.unit) {
            (Err(IoError::Value { .. }), Some(_)) => Ok(None),
            (found, _) => found,
        }
    }

    /// The positions, m.
    fn read(&self, notes: &mut Vec<String>) -> Result<FoundPositions, IoError> {
        let (path, dataset) = self.file.path();
        let ending = path.extension().map(|e| e.to_ascii_lowercase());
        if ending.as_ref().is_some_and(|e| e == "npz") {
            let found = self.of_npz(dataset)?;
            return self.in_metres(found, notes);
        }
        let is_npy = ending.is_some_and(|e| e == "npy");
        let separate = self.file.columns.as_ref();
        let separate = separate.is_some_and(|names| names.iter().all(|n| n.starts_with('/')));
        let is_hdf5 = dataset.is_some() || separate || warpstride_files::source::is_hdf5(path);
        let found = match (is_npy, is_hdf5) {
            (true, _) => self.of_npy()?,
            (_, true) => self.of_hdf5(dataset, notes)?,
            _ => self.of_table(notes)?,
        };
        self.in_metres(found, notes)
    }

    /// The positions, m, of coordinates in the unit of the options or of the file.
    fn in_metres(
        &self,
        found: Coordinates,
        notes: &mut Vec<String>,
    ) -> Result<FoundPositions, IoError> {
        let unit = match (self.unit, &found.unit) {
            (Some(given), _) => given.clone(),
            (None, Some(unit)) => unit.clone(),
            (None, None) => {
                let units = likely_units(typical_step(&found.values));
                return Err(self.refuse(
                    "data.positions.unit",
                    format!(
                        "{} and {} have no unit: are they in {}? Give data.positions.unit (--position-unit {})",
                        found.names[0],
                        found.names[1],
                        one_of(&units),
                        units.first().copied().unwrap_or("m")
                    ),
                ));
            }
        };
        let Some(metres) = si_units(Dimension::Length, &unit) else {
            return Err(self.refuse(
                "data.positions.unit",
                format!(
                    "expected a unit of length ({}), found {unit}",
                    Dimension::Length.names()
                ),
            ));
        };
        let other = found.unit.as_ref().filter(|stated| **stated != unit);
        let although =
            other.map(|stated| format!(" (as the options say), although the file says {stated}"));
        notes.push(format!(
            "positions: {}, row = {}, column = {}, in {unit}{}",
            self.input.name(),
            found.names[0],
            found.names[1],
            although.unwrap_or_default()
        ));
        // 20 µm are 20/10⁶, which is the nearest number, unlike 20 · 10⁻⁶.
        let in_one_metre = (1.0 / metres).round();
        Ok(FoundPositions {
            name: "positions".to_owned(),
            file: self.input.name().to_owned(),
            values: found.values / in_one_metre,
            numbers: found.frames,
            texts: found.texts,
            metres: Some(metres),
            raster: None,
        })
    }

    /// Two of several coordinates (frame, coordinate), chosen by numbers.
    fn chosen(
        &self,
        values: ArrayView2<'_, f64>,
        unit: Option<String>,
        wrong: impl Fn(&str) -> IoError,
    ) -> Result<Coordinates, IoError> {
        let given = (self.file.columns.clone()).unwrap_or_else(|| ["0".to_owned(), "1".to_owned()]);
        let values = match coordinates_first(values.dim(), self.frames) {
            true => values.reversed_axes(),
            false => values,
        };
        let mut numbers = [0; 2];
        for (number, name) in numbers.iter_mut().zip(&given) {
            *number = name.parse().map_err(|_| {
                self.refuse(
                    "data.positions.columns",
                    format!("expected numbers of coordinates, from 0, found {name}"),
                )
            })?;
        }
        if numbers.iter().any(|n| *n >= values.ncols()) {
            return Err(wrong(&format!(
                "shape (frame, coordinate) with coordinates {} and {} (option data.positions.columns)",
                numbers[0], numbers[1]
            )));
        }
        Ok(Coordinates {
            values: values.select(Axis(1), &numbers),
            names: given.map(|n| format!("coordinate {n}")),
            unit,
            frames: None,
            texts: Vec::new(),
        })
    }

    /// Refuses an array without names that has more than two coordinates if the options do not say
    /// which two.
    fn ask(&self, (rows, columns): (usize, usize)) -> Result<(), IoError> {
        let coordinates = match coordinates_first((rows, columns), self.frames) {
            true => rows,
            false => columns,
        };
        if coordinates <= 2 || self.file.columns.is_some() {
            return Ok(());
        }
        Err(self.refuse(
            "data.positions.columns",
            format!(
                "which of {coordinates} columns have the row and the column coordinate? Expected two, or --position-columns ROW,COLUMN with their numbers from 0"
            ),
        ))
    }

    fn of_npy(&self) -> Result<Coordinates, IoError> {
        let (path, _) = self.file.path();
        let values: Array2<f64> = npy::read_within(path, self.input.memory())?;
        let found = values.shape().to_vec();
        self.ask(values.dim())?;
        self.chosen(values.view(), None, |expected| IoError::Shape {
            file: self.input.name().to_owned(),
            dataset: "the array".to_owned(),
            found: found.clone(),
            expected: expected.to_owned(),
        })
    }

    /// The array `name` of an `.npz` file, or its only one with two axes.
    fn of_npz(&self, name: Option<&str>) -> Result<Coordinates, IoError> {
        let (path, _) = self.file.path();
        let arrays = npz_arrays(path)?;
        let two: Vec<&str> = (arrays.iter())
            .filter(|(_, header)| header.shape.len() == 2)
            .map(|(array, _)| array.as_str())
            .collect();
        let name = match (name, two.as_slice()) {
            (Some(name), _) => name.trim_start_matches('/'),
            (None, &[only]) => only,
            (None, _) => {
                return Err(self.refuse(
                    "data.positions.file",
                    format!(
                        "expected the name of an array (frame, coordinate) behind that of the file, such as {}:/positions, found {}",
                        self.input.name(),
                        arrays
                            .iter()
                            .map(|(array, header)| format!("{array} {:?}", header.shape))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                ));
            }
        };
        let file = NumpyFile::open_array_or_one(path, name)?;
        let [stack, rows, columns] = file.shape();
        let wrong = |expected: &str| IoError::Shape {
            file: self.input.name().to_owned(),
            dataset: name.to_owned(),
            found: vec![stack, rows, columns],
            expected: expected.to_owned(),
        };
        if stack != 1 {
            return Err(wrong("rank 2 (frame, coordinate)"));
        }
        self.ask((rows, columns))?;
        self.input.allow(name, 8 * rows as u128 * columns as u128)?;
        let mut values = Array2::zeros((rows, columns));
        file.read_f64(0..1, values.as_slice_mut().unwrap_or_default())?;
        self.chosen(values.view(), None, wrong)
    }

    fn of_hdf5(
        &self,
        dataset: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Coordinates, IoError> {
        let (path, _) = self.file.path();
        let source = Source::open_with_links(path, self.input.memory(), self.follow)?;
        let read = self.of_source(&source, dataset, notes);
        source.unchanged()?;
        notes.extend(source.unclosed());
        read
    }

    fn of_source(
        &self,
        source: &Source,
        dataset: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Coordinates, IoError> {
        let Some(dataset) = dataset else {
            let names = self.file.columns.clone();
            let names = names.filter(|names| names.iter().all(|n| n.starts_with('/')));
            let Some(names) = names else {
                return Err(self.refuse(
                    "data.positions.file",
                    format!(
                        "expected a dataset of positions behind the name of an HDF5 file, such as {}:/positions, found HDF5 with {}",
                        self.input.name(),
                        source.contents()
                    ),
                ));
            };
            let mut columns: Vec<Array1<f64>> = Vec::new();
            let mut units = Vec::new();
            for name in &names {
                let numbers = source.require("positions", &[name])?;
                let wrong = || numbers.bad_shape("shape (frame), one coordinate of each frame");
                let values = numbers.reals()?;
                // A column of a matrix, as some programs write it.
                let flat = match values.shape() {
                    [_] => values,
                    [1, _] | [_, 1] => values.flatten().into_owned().into_dyn(),
                    _ => return Err(wrong()),
                };
                columns.push(flat.into_dimensionality::<Ix1>().map_err(|_| wrong())?);
                units.push(self.attribute(source, name)?);
            }
            let lengths: Vec<usize> = columns.iter().map(Array1::len).collect();
            let views: Vec<_> = columns.iter().map(|column| column.view()).collect();
            let values = stack(Axis(1), &views).map_err(|_| {
                source.bad_shape(
                    &names[1],
                    &lengths[1..],
                    "as many positions as in the other dataset",
                )
            })?;
            if units[0] != units[1] && self.unit.is_none() {
                return Err(self.refuse(
                    "data.positions.unit",
                    format!(
                        "expected one unit of {} and {}, found {} and {}",
                        names[0],
                        names[1],
                        units[0].as_deref().unwrap_or("none"),
                        units[1].as_deref().unwrap_or("none")
                    ),
                ));
            }
            let unit = units.swap_remove(0);
            return Ok(Coordinates {
                values,
                names,
                unit,
                frames: None,
                texts: Vec::new(),
            });
        };
        let numbers = source.require("positions", &[dataset])?;
        let values = numbers.reals()?;
        let wrong = |expected: &str| numbers.bad_shape(expected);
        let values = values
            .into_dimensionality::<Ix2>()
            .map_err(|_| wrong("shape (frame, coordinate)"))?;
        let unit = self.attribute(source, dataset)?;
        if self.file.columns.is_none() && is_translation(dataset, values.ncols()) {
            notes.extend(note_of_height(dataset, values.view()));
            notes.push(format!(
                "{dataset} is a translation as CXI has it, of x, y and z: row = y, column = x (data.positions.columns states others: --position-columns 0,1)"
            ));
            // Those of CXI are in metres.
            let in_cxi = dataset.starts_with(CXI).then(|| "m".to_owned());
            return Ok(Coordinates {
                values: values.select(Axis(1), &[1, 0]),
                names: ["y", "x"].map(str::to_owned),
                unit: unit.or(in_cxi),
                frames: None,
                texts: Vec::new(),
            });
        }
        self.third(dataset, &values, notes)?;
        self.chosen(values.view(), unit, wrong)
    }

    /// Notes a third coordinate that is the same for all frames, as that along the beam is.
    ///
    /// # Errors
    /// It varies, or one of the first two does not, so that it is not known which are those of the
    /// sample's plane.
    fn third(
        &self,
        dataset: &str,
        values: &Array2<f64>,
        notes: &mut Vec<String>,
    ) -> Result<(), IoError> {
        let axis = match coordinates_first(values.dim(), self.frames) {
            true => Axis(0),
            false => Axis(1),
        };
        if values.len_of(axis) <= 2 || self.file.columns.is_some() {
            return Ok(());
        }
        let varies: Vec<bool> = values.axis_iter(axis).map(|of| varies(of)).collect();
        if !(varies[0] && varies[1]) || varies[2..].contains(&true) {
            return self.ask(values.dim());
        }
        notes.push(format!(
            "{dataset}: of {} coordinates, 0 is the row and 1 the column; the others are the same for all frames and not used (--position-columns states others)",
            varies.len()
        ));
        Ok(())
    }

    fn of_table(&self, notes: &mut Vec<String>) -> Result<Coordinates, IoError> {
        let (path, _) = self.file.path();
        let table = Table::read(path, &self.input, notes)?;
        table.coordinates(self.file.columns.as_ref(), self.frames, notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_beside_the_plane_is_noted() {
        let all = |height: f64| {
            Array2::from_shape_fn((9, 3), |(n, axis)| match axis {
                0 => (n / 3) as f64,
                1 => (n % 3) as f64,
                _ => height * n as f64,
            })
        };
        for (height, noted) in [(0.0, false), (0.01, false), (0.1, true), (1.0, true)] {
            let note = note_of_height("/t", all(height).view());
            assert_eq!(note.is_some(), noted, "{height}: {note:?}");
        }
        assert!(varies(all(1.0).column(2)) && !varies(all(0.0).column(2)));
        assert!(!varies(Array1::from_elem(3, f64::NAN).view()));
    }
}
