//! Reads a scan from the datasets of a file without a fixed layout whose paths are known.

use super::found_positions::FoundPositions;
use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::pairing::pair;
use super::parts::{Parts, ScanFile, probe};
use super::several_files::ScanFiles;
use super::units::{Measure, UnitReader, attribute_unit};
use super::window::Window;
use super::{MaskPolarity, Paths, ReadOptions, positions};
use crate::data::Geometry;
use crate::positions::units::typical_step;
use crate::session::read_options::Datasets;
use ndarray::{Array2, ArrayD, Axis, Ix2, stack};
use std::path::Path;
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Most coordinates of a position.
const MOST_COORDINATES: usize = 16;

/// Datasets of a file without a fixed layout.
pub(super) struct Layout<'a> {
    pub(super) paths: &'a Paths,
    /// Axes of the frames that are frame, row and column; those of masks and probes are exchanged
    /// likewise.
    pub(super) axes: [usize; 3],
}

impl Layout<'_> {
    /// The frames of a file of this layout.
    fn frames<'s>(&self, source: &'s Source) -> Result<FrameStack<'s>, IoError> {
        let numbers = source.require("frames", &[&self.paths.frames])?;
        FrameStack::of_dataset(self.ordered(numbers)?)
    }

    /// Whether columns are stored before rows.
    fn transposed(&self) -> bool {
        self.axes[1] > self.axes[2]
    }

    /// Frames, or what has one array for each of them, with their axes in order.
    fn ordered<'s>(&self, numbers: Numbers<'s>) -> Result<Numbers<'s>, IoError> {
        if self.axes == [0, 1, 2] {
            return Ok(numbers);
        }
        let rank = numbers.shape().len();
        let wrong = numbers.bad_shape(&format!(
            "rank 3, as data.frame_axes = {:?} has three axes",
            self.axes
        ));
        if rank == 3 {
            return numbers.reordered(&self.axes).ok_or(wrong);
        }
        Err(wrong)
    }

    /// A mask or a probe: its last axes are row and column.
    fn plane<'s>(&self, numbers: Numbers<'s>, frames: usize) -> Result<Numbers<'s>, IoError> {
        let shape = numbers.shape();
        let per_frame = shape.len() == 3 && frames > 1 && shape[self.axes[0]] == frames;
        if per_frame {
            return self.ordered(numbers);
        }
        let axes: &[usize] = match (shape.len(), self.transposed()) {
            (2, true) => &[1, 0],
            (3, true) => &[0, 2, 1],
            _ => return Ok(numbers),
        };
        let wrong = numbers.bad_shape("shape (row, column)");
        numbers.reordered(axes).ok_or(wrong)
    }
}

/// Reads the datasets of `layout`.
pub(super) fn read_datasets(
    source: &ScanFiles,
    layout: &Layout<'_>,
    options: &ReadOptions,
    scratch: Option<&Path>,
    mut notes: Vec<String>,
) -> Result<ScanFile, IoError> {
    let paths = layout.paths;
    let frames = source.with_others(
        layout.frames(source)?,
        |other| layout.frames(other),
        &mut notes,
    )?;
    let shape = frames.shape();
    let mut window = Window::new(source.name(), shape, options)?.with_raster(frames.scan_shape());
    let mask = match &paths.mask {
        Some(path) => Some(layout.plane(source.require("mask", &[path])?, shape[0])?),
        None => None,
    };
    let per_frame = mask.as_ref().is_some_and(|m| m.shape().len() == 3);
    let scratch = window.in_scratch(source.input(), &frames, per_frame, scratch)?;
    let of_frames = (shape[0], frames.scan_shape());
    let elsewhere = positions::given(source.input(), options, of_frames, &mut notes)?;
    let mut sets = 1;
    let numbers = match elsewhere {
        Some(_) => None,
        None => {
            let all = source.of_each(
                &frames,
                |source, frames| PositionNumbers::read(source, paths, frames),
                |found| found.numbers.nrows(),
            )?;
            sets = all.len();
            Some(PositionNumbers::joined(source, all, &mut notes)?)
        }
    };
    let mut units = UnitReader::new(source, options);
    let in_file = found(source, paths, &mut units, &mut notes)?;
    source.same_geometry(&in_file, options, |other| {
        let paths = paths_of_geometry(other, paths)?;
        let mut units = UnitReader::new(other, options);
        found(other, &paths, &mut units, &mut Vec::new())
    })?;
    let geometry = resolve(
        source.input(),
        &in_file,
        options,
        &ExpectedPaths {
            wavelength: &["the option `paths.wavelength`", "the option `paths.energy`"],
            distance: &["the option `paths.distance`"],
            pixel_size: &["the option `paths.pixel_size`"],
        },
        &mut notes,
    )?;
    let frame = [shape[1], shape[2]];
    let found = match (elsewhere, numbers) {
        (Some(given), _) => given,
        (None, Some(numbers)) => {
            let (values, metres) = numbers.in_metres(&geometry, frame, &mut units)?;
            let name = paths.positions.label().to_owned();
            FoundPositions::of_dataset(source.input(), name, values).in_units_of(metres)
        }
        (None, None) => return Err(positions::missing(source.input(), &[])),
    };
    let measures = units.read();
    units.into_notes(&mut notes);
    let stored = source.stored(&frames, sets);
    let (positions_name, positions) = pair(found, &stored, &mut window, options, &mut notes)?;
    let (probe, unusable_probe) = match &paths.probe {
        Some(path) => {
            let numbers = layout.plane(source.require("probe", &[path])?, 0)?;
            match probe(&numbers, [shape[1], shape[2]])? {
                Ok(probe) => (Some((path.clone(), probe)), None),
                Err(reason) => (None, Some(reason)),
            }
        }
        None => (None, None),
    };
    let of_file = |m: &Numbers<'_>| -> Result<_, IoError> {
        let valid = |v| options.file_mask(paths.mask_marks).is_valid(v);
        let read = window.mask(source.input(), m, shape, valid)?;
        Ok((m.path().to_owned(), read))
    };
    let mask = mask.as_ref().map(&of_file).transpose()?;
    let mask = source.with_masks(mask, &mut notes, |other| {
        let path = paths.mask.as_deref();
        match path.map(|path| other.numbers(path)).transpose()?.flatten() {
            None => Ok(None),
            Some(numbers) => of_file(&layout.plane(numbers, shape[0])?).map(Some),
        }
    })?;
    if mask.is_none() {
        notes.push("no mask is given: all pixels are treated as valid".to_owned());
        if paths.mask_marks != MaskPolarity::default() {
            return Err(IoError::Option {
                file: source.name().to_owned(),
                option: "data.paths.mask_marks",
                reason: "the option has no effect without data.paths.mask: leave it out, or name the mask".to_owned(),
            });
        }
    }
    let valid = mask.as_ref().map(|(_, mask)| mask);
    let mask_light = window.mask_light(source.input(), &frames, valid)?;
    Parts {
        frames: (
            paths.frames.clone(),
            window.frames(source.input(), &frames, (valid, scratch))?,
        ),
        mask,
        mask_marks: paths.mask_marks,
        mask_light,
        positions: (positions_name, window.select(&positions)),
        geometry,
        probe,
        unusable_probe,
        simulation: None,
        window,
        cutoff: None,
        measures,
        notes,
    }
    .into_scan(source.input(), options)
}

/// Positions in the units of the file.
struct PositionNumbers {
    /// (frame, (row, column)).
    numbers: Array2<f64>,
    /// Datasets of the rows and of the columns.
    datasets: [String; 2],
    note: Option<String>,
}

impl PositionNumbers {
    /// Reads the positions, of which there should be one for each of `frames` frames.
    fn read(source: &Source, paths: &Paths, frames: usize) -> Result<Self, IoError> {
        if paths.positions.is_empty() {
            let tried = ["the option data.paths.positions"];
            return Err(positions::missing(source.input(), &tried));
        }
        match &paths.positions {
            Datasets::One(path) => {
                let numbers = source.require("positions", &[path])?;
                let (numbers, note) = together(paths, &numbers, frames)?;
                Ok(Self {
                    numbers,
                    datasets: [path.clone(), path.clone()],
                    note,
                })
            }
            Datasets::Two(datasets) => {
                let [rows, columns] = datasets.each_ref().map(|path| {
                    let numbers = source.require("positions", &[path])?;
                    Ok::<_, IoError>(numbers.reals()?.flatten().into_owned())
                });
                let (rows, columns) = (rows?, columns?);
                let numbers = stack(Axis(1), &[rows.view(), columns.view()]).map_err(|_| {
                    let expected =
                        format!("as many positions as {} has, {}", datasets[0], rows.len());
                    source.bad_shape(&datasets[1], &[columns.len()], &expected)
                })?;
                Ok(Self {
                    numbers,
                    datasets: datasets.clone(),
                    note: None,
                })
            }
        }
    }

    /// The positions of several files, at least one, one after the other.
    fn joined(
        source: &ScanFiles,
        all: Vec<Self>,
        notes: &mut Vec<String>,
    ) -> Result<Self, IoError> {
        if let [first, _, ..] = &*all {
            for dataset in &first.datasets {
                let unit = attribute_unit(source, dataset)?;
                source.same("unit of the positions", unit.as_ref(), |other| {
                    attribute_unit(other, dataset)
                })?;
            }
        }
        let mut numbers = Array2::zeros((0, 2));
        let mut datasets = [const { String::new() }; 2];
        for of in all {
            (numbers.append(Axis(0), of.numbers.view()))
                .map_err(|_| positions::missing(source.input(), &[]))?;
            if datasets[0].is_empty() {
                notes.extend(of.note);
                datasets = of.datasets;
            }
        }
        Ok(Self {
            numbers,
            datasets,
            note: None,
        })
    }

    /// The positions (frame, (row, column)), m, and the metres of a row coordinate of 1.
    fn in_metres(
        self,
        geometry: &Geometry,
        [rows, columns]: [usize; 2],
        units: &mut UnitReader<'_>,
    ) -> Result<(Array2<f64>, f64), IoError> {
        let pixel = geometry.object_pixel(rows, columns);
        let step = typical_step(&self.numbers);
        let mut metres = self.numbers;
        let mut unit = |dataset: &str| units.of_positions(dataset, step, pixel, [rows, columns]);
        let of_rows = unit(&self.datasets[0])?;
        let of_columns = if self.datasets[0] == self.datasets[1] {
            of_rows
        } else {
            unit(&self.datasets[1])?
        };
        if pixel[0] == pixel[1] {
            let datasets = self.datasets.each_ref().map(String::as_str);
            units.compare(Measure::Positions, datasets, [of_rows[0], of_columns[1]]);
        }
        let unit = [of_rows[0], of_columns[1]];
        for (mut column, unit) in metres.columns_mut().into_iter().zip(unit) {
            column *= unit;
        }
        Ok((metres, unit[0]))
    }
}

/// Reads positions (frame, (row, column)) of one dataset: (frame, coordinate), (coordinate, frame)
/// or, of a raster, (slow, fast, coordinate), and a note on others.
fn together(
    paths: &Paths,
    numbers: &Numbers<'_>,
    frames: usize,
) -> Result<(Array2<f64>, Option<String>), IoError> {
    let [row, column] = paths.position_order;
    let wrong = || {
        numbers.bad_shape(&format!(
            "shape (frame, coordinate) with coordinates {row} and {column} (option `paths.position_order`)"
        ))
    };
    let (count, coordinates, coordinates_first) = match *numbers.shape() {
        [c, n] if n == frames && c != frames && (2..=MOST_COORDINATES).contains(&c) => (n, c, true),
        [c, n] if positions::coordinates_first((c, n), frames) => (n, c, true),
        [n, c] => (n, c, false),
        [slow, fast, c] => (slow.saturating_mul(fast), c, false),
        _ => return Err(wrong()),
    };
    if row >= coordinates || column >= coordinates || row == column {
        return Err(wrong());
    }
    let note = (coordinates > 2).then(|| format!(
        "{}: of {coordinates} coordinates, {row} is the row and {column} the column (data.paths.position_order); others are not used",
        numbers.path()
    ));
    let all: ArrayD<f64> = numbers.reals()?;
    let shape = if coordinates_first {
        [coordinates, count]
    } else {
        [count, coordinates]
    };
    let all = all.into_shape_with_order(shape).map_err(|_| wrong())?;
    let all: Array2<f64> = all.into_dimensionality::<Ix2>().map_err(|_| wrong())?;
    let all = if coordinates_first {
        all.reversed_axes()
    } else {
        all
    };
    Ok((all.select(Axis(1), &[row, column]), note))
}

/// The paths of the geometry that a further file of a scan has, which need not have all.
fn paths_of_geometry(source: &Source, paths: &Paths) -> Result<Paths, IoError> {
    let there = |path: &Option<String>| match path {
        Some(path) if source.has(path)? => Ok::<_, IoError>(Some(path.clone())),
        _ => Ok(None),
    };
    let mut pixel_size = paths.pixel_size.clone();
    for path in paths.pixel_size.iter().flat_map(Datasets::paths) {
        if !source.has(path)? {
            pixel_size = None;
        }
    }
    Ok(Paths {
        wavelength: there(&paths.wavelength)?,
        energy: there(&paths.energy)?,
        distance: there(&paths.distance)?,
        pixel_size,
        ..paths.clone()
    })
}

/// Reads the geometry from the datasets that are given; a path without a dataset is an error.
fn found(
    source: &Source,
    paths: &Paths,
    units: &mut UnitReader<'_>,
    notes: &mut Vec<String>,
) -> Result<FileGeometry, IoError> {
    let voltage = match &paths.energy {
        None => None,
        Some(path) => {
            let stored = source.require("energy", &[path])?.common_value()?;
            let stored = (path.clone(), stored);
            units.voltage_of_energy(Some(&stored), paths.wavelength.is_none(), notes)?
        }
    };
    let of_energy = paths.energy.clone().filter(|_| voltage.is_none());
    let mut value = |measure: Measure, what: &str, path: &Option<String>| {
        let Some(path) = path else {
            return Ok(None);
        };
        let value = source.require(what, &[path])?.common_value()?;
        let value = value * units.factor(measure, path, value)?;
        Ok::<_, IoError>(Some((path.clone(), value)))
    };
    let mut wavelength = value(Measure::Wavelength, "wavelength", &paths.wavelength)?;
    let mut energy = value(Measure::Energy, "energy", &of_energy)?;
    let distance = value(Measure::Distance, "distance", &paths.distance)?;
    if wavelength.is_none()
        && let Some((path, joule)) = energy.take()
    {
        let metres = Geometry::wavelength_of_energy(joule);
        notes.push(format!(
            "{path} is the energy of photons, {} keV: wavelength {metres:.6e} m",
            warpstride_core::text::significant(joule / KILOELECTRONVOLT, 6)
        ));
        wavelength = Some((path, metres));
    }
    let pixel_size = match &paths.pixel_size {
        None => None,
        Some(datasets) => {
            let found = match datasets {
                Datasets::One(path) => source.require("pixel size", &[path])?.one_or_two()?,
                Datasets::Two([rows, columns]) => [
                    source.require("pixel size", &[rows])?.common_value()?,
                    source.require("pixel size", &[columns])?.common_value()?,
                ],
            };
            let label = datasets.label();
            let last = datasets.paths().last().map_or(label, String::as_str);
            let of_rows = units.factor(Measure::PixelSize, label, found[0])?;
            let of_columns = if last == label {
                of_rows
            } else {
                units.factor(Measure::PixelSize, last, found[1])?
            };
            units.compare(Measure::PixelSize, [label, last], [of_rows, of_columns]);
            Some((
                label.to_owned(),
                [found[0] * of_rows, found[1] * of_columns],
            ))
        }
    };
    Ok(FileGeometry {
        wavelength,
        energy,
        voltage,
        distance,
        pixel_size,
        ..FileGeometry::default()
    })
}

/// 1 keV, J (CODATA 2018, exact).
const KILOELECTRONVOLT: f64 = 1.602_176_634e-16;
