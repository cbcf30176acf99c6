//! Reader of PtyPy's `.ptyd`: `/chunks/<k>/{data, indices, positions, weights}` and `/meta`.

use super::energy::ELECTRONVOLT;
use super::frame_stack::FrameStack;
use super::geometry::{ExpectedPaths, FileGeometry, resolve};
use super::mask_light::MaskLight;
use super::pairing::{StoredFrames, pair};
use super::parts::{Parts, ScanFile};
use super::roll::{roll, roll_mask};
use super::several_files::ScanFiles;
use super::units::{Measure, UnitReader, attribute_unit};
use super::window::Window;
use super::{MaskPolarity, ReadOptions, positions};
use crate::Pair;
use crate::data::{FrameWriter, Mask, each_frame};
use ndarray::{Array2, Array3, Axis, Ix2, s};
use std::path::Path;
use warpstride_core::text::{count, shortest};
use warpstride_files::source::{Numbers, Source};
use warpstride_files::{IoError, Remedy};

const CHUNKS: &str = "/chunks";
const ENERGY: &str = "/meta/energy";
const DISTANCE: &str = "/meta/distance";
const PIXEL: &str = "/meta/psize";
const CENTRE: &str = "/meta/center";
const WEIGHT: &str = "/meta/weight2d";

/// One chunk of frames.
struct Chunk<'s> {
    name: String,
    data: FrameStack<'s>,
    shape: [usize; 3],
    weights: Option<Numbers<'s>>,
    /// Index of each frame in the whole scan.
    indices: Vec<u64>,
    /// (frame, (row, column)), as stored; those of the last frames may be missing.
    positions: Array2<f64>,
}

/// Reads all chunks, in the order of their indices.
pub(super) fn read(
    source: &ScanFiles,
    options: &ReadOptions,
    scratch: Option<&Path>,
) -> Result<ScanFile, IoError> {
    source.alone("of PtyPy")?;
    let mut notes = Vec::new();
    let chunks = chunks(source, options)?;
    let Some(first) = chunks.first() else {
        return Err(missing(source, "frames", "/chunks/0/data"));
    };
    let [_, rows, columns] = first.shape;
    let mut count = 0_usize;
    for chunk in &chunks {
        if chunk.shape[1..] != [rows, columns] {
            return Err(source.bad_shape(
                chunk.data.path(),
                &chunk.shape,
                &format!(
                    "shape (frame, {rows}, {columns}), as in {}",
                    first.data.path()
                ),
            ));
        }
        count = count.saturating_add(chunk.shape[0]);
    }
    let mut window = Window::new(source.name(), [count, rows, columns], options)?;
    let common = source.numbers(WEIGHT)?.filter(|w| w.shape().len() == 2);
    let weighted = chunks.iter().any(|c| c.weights.is_some());
    let everything = Window {
        frames: 0..count,
        rows: 0..rows,
        columns: 0..columns,
        ..window.clone()
    };
    let scratch = window.of_path_in_scratch(source.input(), CHUNKS, weighted, scratch)?;
    if !options.sparse {
        FrameStack::check_all_stored(chunks.iter().map(|chunk| &chunk.data))?;
    }

    let units = UnitReader::new(source, options);
    let geometry = resolve(
        source.input(),
        &found(source, &units, options, &mut notes)?,
        options,
        &ExpectedPaths {
            wavelength: &[ENERGY],
            distance: &[DISTANCE],
            pixel_size: &[PIXEL],
        },
        &mut notes,
    )?;
    let offset = if geometry.is_near_field() || options.centre.is_some() {
        // Pixels of near fields are where they are; another centre is given or looked for.
        [0, 0]
    } else {
        centre_offset(source, rows, columns, &mut notes)?
    };
    window.roll = offset;
    let order = order(&chunks, &mut notes);
    let targets = target_indices(&chunks, &order, &window);
    let shape = window.shape();
    let mut frames = match scratch {
        Some(folder) => FrameWriter::in_scratch(folder, shape)?,
        None => FrameWriter::in_memory(shape),
    };
    // All pixels of chunks without weights are valid.
    let mut valid = weighted.then(|| Array3::from_elem(shape, true));
    let plane = s![window.rows.clone(), window.columns.clone()];
    // Parts of chunks are read one after the other and their frames moved to their final indices.
    for (chunk, targets) in chunks.iter().zip(&targets) {
        let all = Window {
            frames: 0..chunk.shape[0],
            ..everything.clone()
        };
        for part in all.parts(source.input()) {
            let targets = &targets[part.frames.clone()];
            if targets.iter().all(Option::is_none) {
                continue;
            }
            let to_from = || {
                let to = targets.iter().enumerate();
                to.filter_map(|(from, to)| Some(((*to)?, from)))
            };
            let mut counts = part.counts(&chunk.data)?;
            roll(counts.view_mut(), offset);
            for (to, from) in to_from() {
                let frame = counts.index_axis(Axis(0), from);
                frames.put_frame(to, frame.slice(&plane))?;
            }
            drop(counts);
            if let (Some(weights), Some(valid)) = (&chunk.weights, &mut valid) {
                let mut mask = part.mask(source.input(), weights, chunk.shape, weighs(options))?;
                roll_mask(&mut mask, offset);
                for (to, from) in to_from() {
                    let mut valid = valid.index_axis_mut(Axis(0), to);
                    valid.assign(&mask.of_frame(from).slice(&plane));
                }
            }
        }
    }
    let elsewhere = positions::given(source.input(), options, (count, None), &mut notes)?;
    let (positions_name, positions) = match elsewhere {
        Some(given) => pair(given, &StoredFrames::All, &mut window, options, &mut notes)?,
        None => {
            let mut stored = Array2::from_elem((count, 2), f64::NAN);
            let mut without = Vec::new();
            for (to, (_, chunk, frame)) in order.iter().enumerate() {
                let read = &chunks[*chunk].positions;
                match *frame < read.nrows() {
                    true => stored.row_mut(to).assign(&read.row(*frame)),
                    false => without.push(to),
                }
            }
            let others = chunks
                .iter()
                .filter(|of| of.positions.nrows() != of.shape[0]);
            let others = others.count();
            if others > 0 {
                notes.push(format!(
                    "data.pair = first: {} other numbers of frames and positions, of which the first are paired; {} left out",
                    warpstride_core::text::count(others, ["chunk has", "chunks have"]),
                    warpstride_core::text::count(without.len(), ["frame without a position is", "frames without a position are"])
                ));
                window.leave_out(&without);
            }
            let pixel = geometry.object_pixel(rows, columns);
            let path = format!("{CHUNKS}/{}/positions", first.name);
            let with: Vec<usize> = (0..count).filter(|n| !without.contains(n)).collect();
            let read = stored.select(Axis(0), &with);
            let (read, metres) =
                units.positions_in_metres(&path, read, pixel, [rows, columns], &mut notes)?;
            window.metres_of_position = Some(metres);
            for (to, from) in with.iter().zip(read.outer_iter()) {
                stored.row_mut(*to).assign(&from);
            }
            (format!("{CHUNKS}/*/positions"), stored)
        }
    };
    let mask = match (valid, common) {
        (Some(valid), _) => Some(Mask::PerFrame(valid)),
        (None, Some(weight)) => {
            let mut mask = everything.mask(
                source.input(),
                &weight,
                [count, rows, columns],
                weighs(options),
            )?;
            roll_mask(&mut mask, offset);
            Some(match mask {
                Mask::Shared(m) => Mask::Shared(m.slice(&plane).to_owned()),
                other @ Mask::PerFrame(_) => other,
            })
        }
        (None, None) => {
            notes.push("the file has no weights: all pixels are treated as valid".to_owned());
            None
        }
    };
    let frames = frames.finish();
    let mask_light = mask
        .as_ref()
        .map(|mask| MaskLight::of_frames(&frames, mask))
        .transpose()?;
    Parts {
        frames: (format!("{CHUNKS}/*/data"), frames),
        mask: mask.map(|m| (format!("{CHUNKS}/*/weights"), m)),
        mask_marks: MaskPolarity::Valid,
        mask_light,
        positions: (positions_name, window.select(&positions)),
        geometry,
        probe: None,
        unusable_probe: None,
        simulation: None,
        window,
        cutoff: None,
        measures: units.read(),
        notes,
    }
    .into_scan(source.input(), options)
}

/// Whether a pixel of a weight is valid; one whose weight is negative or NaN is not.
fn weighs(options: &ReadOptions) -> impl Fn(f32) -> bool {
    let marks = options.file_mask(MaskPolarity::Valid);
    move |weight| weight >= 0.0 && marks.is_valid(weight)
}

/// A frame: its index in the scan, the number of its chunk, and its number in it.
type FrameLocation = (u64, usize, usize);

/// The frames of all chunks in the order of the stored indices.
fn order(chunks: &[Chunk<'_>], notes: &mut Vec<String>) -> Vec<FrameLocation> {
    let mut order: Vec<FrameLocation> = Vec::new();
    for (k, chunk) in chunks.iter().enumerate() {
        order.extend(chunk.indices.iter().enumerate().map(|(i, n)| (*n, k, i)));
    }
    order.sort_unstable();
    let duplicates = order.windows(2).filter(|w| w[0].0 == w[1].0).count();
    if duplicates > 0 {
        notes.push(format!(
            "{CHUNKS}/*/indices: {} the index of another frame; these keep the order of the file",
            count(duplicates, ["frame has", "frames have"])
        ));
    }
    order
}

/// For each frame of each chunk its index in the result; `None` outside the window.
fn target_indices(
    chunks: &[Chunk<'_>],
    order: &[FrameLocation],
    window: &Window,
) -> Vec<Vec<Option<usize>>> {
    let mut targets: Vec<Vec<Option<usize>>> =
        chunks.iter().map(|c| vec![None; c.shape[0]]).collect();
    for (to, (_, chunk, frame)) in order[window.frames.clone()].iter().enumerate() {
        targets[*chunk][*frame] = Some(to);
    }
    targets
}

fn missing(source: &Source, what: &str, tried: &str) -> IoError {
    IoError::Missing {
        file: source.name().to_owned(),
        what: what.to_owned(),
        tried: vec![tried.to_owned()],
    }
}

/// Inspects every chunk and reads its small arrays.
fn chunks<'s>(source: &'s Source, options: &ReadOptions) -> Result<Vec<Chunk<'s>>, IoError> {
    let names = source
        .members(CHUNKS)?
        .ok_or_else(|| missing(source, "chunks", CHUNKS))?;
    let mut chunks = Vec::with_capacity(names.len());
    let mut next = 0_u64;
    for name in names {
        let part = |what: &str| format!("{CHUNKS}/{name}/{what}");
        let Some(data) = source.numbers(&part("data"))? else {
            continue;
        };
        let data = FrameStack::of_dataset(data)?;
        let shape = data.shape();
        // Lists of frames, and a frame as it was read, without masked pixels, and in a file.
        let frame = shape[1] as u128 * shape[2] as u128;
        let lists = 64 * shape[0] as u128;
        source.allow(data.path(), frame.saturating_mul(12).saturating_add(lists))?;
        let indices = match source.numbers(&part("indices"))? {
            Some(numbers) => {
                // As integers they would be rounded.
                let whole = |v: &f64| *v >= 0.0 && v.fract() == 0.0;
                if let Some(wrong) = numbers.reals()?.iter().find(|v| !whole(v)) {
                    return Err(numbers.bad_value(shortest(*wrong), "whole numbers, 0 or more"));
                }
                let all: Vec<u64> = numbers.unsigned()?.into_iter().collect();
                if all.len() != shape[0] {
                    return Err(
                        numbers.bad_shape(&format!("one index for {}", each_frame(shape[0])))
                    );
                }
                all
            }
            None => (next..next.saturating_add(shape[0] as u64)).collect(),
        };
        next = next.saturating_add(shape[0] as u64);
        let numbers = source.require("positions", &[&part("positions")])?;
        let wrong = || {
            numbers.bad_shape(
                "shape (frame, 2) with row and column in metres (--positions takes others, with --position-columns)",
            )
        };
        let positions = numbers
            .reals()?
            .into_dimensionality::<Ix2>()
            .map_err(|_| wrong())?;
        let exchanged = positions::coordinates_first(positions.dim(), shape[0]);
        let positions = if exchanged {
            positions.reversed_axes()
        } else {
            positions
        };
        if positions.ncols() != 2 {
            return Err(wrong());
        }
        let found = positions.nrows();
        let other = options.has_other_positions() || options.pair == Some(Pair::First);
        if found != shape[0] && !other {
            let both = found.min(shape[0]);
            let how = format!("--pair first (data.pair) uses the first {both} of each in a chunk");
            return Err(IoError::Pairing {
                file: source.name().to_owned(),
                dataset: numbers.path().to_owned(),
                frames: shape[0],
                found: found.to_string(),
                remedy: (both > 0).then(|| Remedy::boxed((how, "--pair first"))),
            });
        }
        // PtyPy stores an empty array if it has no weights.
        let weights = source
            .numbers(&part("weights"))?
            .filter(|w| !w.shape().contains(&0) && w.shape().len() >= 2);
        chunks.push(Chunk {
            name,
            data,
            shape,
            weights,
            indices,
            positions,
        });
    }
    Ok(chunks)
}

/// Energies that PtyPy, which has them in keV, may mean by a number that in other files could be
/// one of eV.
const KEV: std::ops::Range<f64> = 20.0..100.0;

fn found(
    source: &Source,
    units: &UnitReader<'_>,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<FileGeometry, IoError> {
    let constants = &options.constants;
    let stored = match source.numbers(ENERGY)? {
        Some(numbers) => Some((ENERGY.to_owned(), numbers.common_value()?)),
        None => None,
    };
    let voltage = units.voltage_of_energy(stored.as_ref(), true, notes)?;
    let energy = match stored.filter(|_| voltage.is_none()) {
        Some((_, value)) => {
            let unstated =
                options.units.energy.is_none() && attribute_unit(source, ENERGY)?.is_none();
            let known = unstated && KEV.contains(&value);
            if known {
                notes.push(format!(
                    "{ENERGY} is {value}, interpreted as keV, PtyPy's unit"
                ));
            }
            let value = if known {
                value * 1e3 * ELECTRONVOLT
            } else {
                match units.converted(Measure::Energy, ENERGY, value, notes) {
                    Ok(value) => value,
                    // It is replaced.
                    Err(_) if constants.has_beam() => value,
                    Err(error) => return Err(error),
                }
            };
            Some((ENERGY.to_owned(), value))
        }
        None => None,
    };
    let distance = match source.numbers(DISTANCE)? {
        Some(numbers) => {
            let value = numbers.common_value()?;
            match units.converted(Measure::Distance, DISTANCE, value, notes) {
                Ok(metres) => Some((DISTANCE.to_owned(), metres)),
                // It is replaced.
                Err(_) if constants.distance.is_some() => None,
                Err(error) => return Err(error),
            }
        }
        None => None,
    };
    let pixel_size = match source.numbers(PIXEL)? {
        Some(numbers) => {
            let [rows, columns] = numbers.one_or_two()?;
            let mut side = |value| units.converted(Measure::PixelSize, PIXEL, value, &mut *notes);
            let sides = side(rows).and_then(|of_rows| match rows == columns {
                true => Ok([of_rows; 2]),
                false => Ok([of_rows, side(columns)?]),
            });
            match sides {
                Ok(sides) => Some((PIXEL.to_owned(), sides)),
                Err(_) if constants.pixel_size.is_some() => None,
                Err(error) => return Err(error),
            }
        }
        None => None,
    };
    Ok(FileGeometry {
        wavelength: None,
        energy,
        voltage,
        distance,
        pixel_size,
        ..FileGeometry::default()
    })
}

/// Cyclic shift (rows, columns) that moves the zero frequency to (rows/2, columns/2).
fn centre_offset(
    source: &Source,
    rows: usize,
    columns: usize,
    notes: &mut Vec<String>,
) -> Result<[isize; 2], IoError> {
    // PtyPy also allows strings: "fftshift" means the centre expected here, "fft" the first pixel.
    let numbers = match source.numbers(CENTRE) {
        Ok(Some(numbers)) => numbers,
        Ok(None) => return Ok([0, 0]),
        Err(IoError::Type { .. }) => return named_centre(source, rows, columns, notes),
        Err(e) => return Err(e),
    };
    let centre = numbers.one_or_two()?;
    let mut offset = [0; 2];
    for (axis, size) in [rows, columns].into_iter().enumerate() {
        if !(0.0..=size as f64).contains(&centre[axis]) {
            return Err(numbers.bad_value(centre[axis], "a pixel within the frames"));
        }
        offset[axis] = (size / 2) as isize - centre[axis].round() as isize;
    }
    if offset != [0, 0] {
        notes.push(format!(
            "{CENTRE} is ({}, {}): the frames are shifted cyclically by {} and {}",
            centre[0],
            centre[1],
            count(offset[0], ["row", "rows"]),
            count(offset[1], ["column", "columns"])
        ));
    }
    Ok(offset)
}

/// The shift for a centre that is given by a name.
fn named_centre(
    source: &Source,
    rows: usize,
    columns: usize,
    notes: &mut Vec<String>,
) -> Result<[isize; 2], IoError> {
    let name = source.label(CENTRE)?.unwrap_or_default();
    match name.as_str() {
        "fft" => {
            notes.push(format!(
                "{CENTRE} is \"fft\": the frames are shifted cyclically by half their size"
            ));
            return Ok([rows, columns].map(|side| (side / 2) as isize));
        }
        "fftshift" | "" => {}
        other => notes.push(format!(
            "{CENTRE} is \"{other}\": the zero frequency is taken to be at {}, {}",
            rows / 2,
            columns / 2
        )),
    }
    Ok([0, 0])
}
