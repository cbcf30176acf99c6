//! PtyPy's `.ptyd`: `/chunks/<k>/{data, indices, positions, weights}` and `/meta`.

use super::geometry::{Found, Places, resolve};
use super::window::{Window, frame_shape};
use super::{Marks, Parts, ReadOptions, ScanFile, position_count};
use crate::data::Mask;
use crate::io::IoError;
use crate::io::source::{Numbers, Source};
use ndarray::{Array2, Array3, ArrayViewMut, Axis, Dimension, Ix2, RemoveAxis, Slice, concatenate};

const CHUNKS: &str = "/chunks";
const ENERGY: &str = "/meta/energy";
const DISTANCE: &str = "/meta/distance";
const PIXEL: &str = "/meta/psize";
const CENTRE: &str = "/meta/center";
const WEIGHT: &str = "/meta/weight2d";

/// One group of frames.
struct Chunk<'s> {
    data: Numbers<'s>,
    shape: [usize; 3],
    weights: Option<Numbers<'s>>,
    /// Place of each frame in the whole scan.
    indices: Vec<u64>,
    /// (frame, (row, column)), m.
    positions: Array2<f64>,
}

/// Reads all chunks, in the order of their indices.
pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<ScanFile, IoError> {
    let mut notes = Vec::new();
    let chunks = chunks(source)?;
    let Some(first) = chunks.first() else {
        return Err(missing(source, "frames", "/chunks/0/data"));
    };
    let [_, rows, columns] = first.shape;
    let mut count = 0_usize;
    for chunk in &chunks {
        if chunk.shape[1..] != [rows, columns] {
            return Err(chunk.data.bad_shape(&format!(
                "(frame, {rows}, {columns}), as in {},",
                first.data.path()
            )));
        }
        count = count.saturating_add(chunk.shape[0]);
    }
    let window = Window::new(source.name(), [count, rows, columns], options)?;
    let common = source.numbers(WEIGHT)?.filter(|w| w.shape().len() == 2);
    let per_frame = chunks
        .iter()
        .any(|c| c.weights.as_ref().is_some_and(|w| w.shape().len() == 3));
    // Chunks are put together and then ordered, which copies them.
    let everything = Window {
        frames: 0..count,
        rows: 0..rows,
        columns: 0..columns,
    };
    source.allow(CHUNKS, 2 * everything.bytes(per_frame))?;

    let geometry = resolve(
        source,
        &found(source)?,
        options,
        &Places {
            wavelength: &[ENERGY],
            distance: &[DISTANCE],
            pixel_size: &[PIXEL],
        },
        &mut notes,
    )?;
    let offset = centre_offset(source, rows, columns, &mut notes)?;
    let mut frames = Vec::with_capacity(chunks.len());
    let mut masks = Vec::with_capacity(chunks.len());
    let mut positions = Vec::with_capacity(chunks.len());
    let mut indices = Vec::with_capacity(count);
    for chunk in &chunks {
        let all = Window {
            frames: 0..chunk.shape[0],
            ..everything.clone()
        };
        frames.push(all.counts(&chunk.data)?);
        if let Some(weights) = &chunk.weights {
            masks.push(all.mask(weights, chunk.shape, Marks::Valid)?);
        }
        positions.push(chunk.positions.view());
        indices.extend_from_slice(&chunk.indices);
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|i| indices[*i]);
    order = order[window.frames.clone()].to_vec();
    let joined = |_| missing(source, "frames of one shape", CHUNKS);
    let views: Vec<_> = frames.iter().map(|f| f.view()).collect();
    let mut counts = concatenate(Axis(0), &views)
        .map_err(joined)?
        .select(Axis(0), &order);
    roll(counts.view_mut(), offset);
    let mask = match (masks.is_empty(), common) {
        (false, _) => Some(join_masks(source, &chunks, &masks, &order)?),
        (true, Some(weight)) => {
            Some(everything.mask(&weight, [count, rows, columns], Marks::Valid)?)
        }
        (true, None) => {
            notes.push("the file has no weights: all pixels are taken as valid".to_owned());
            None
        }
    }
    .map(|mask| cut_mask(mask, offset, &window));
    let positions = concatenate(Axis(0), &positions)
        .map_err(joined)?
        .select(Axis(0), &order);
    Parts {
        frames: (
            format!("{CHUNKS}/*/data"),
            cut(&cut(&counts, 1, &window.rows), 2, &window.columns),
        ),
        mask: mask.map(|m| (format!("{CHUNKS}/*/weights"), m)),
        positions: (format!("{CHUNKS}/*/positions"), positions),
        geometry,
        probe: None,
        simulation: None,
        notes,
    }
    .into_scan(source, options)
}

fn missing(source: &Source, what: &str, tried: &str) -> IoError {
    IoError::Missing {
        file: source.name().to_owned(),
        what: what.to_owned(),
        tried: vec![tried.to_owned()],
    }
}

/// Looks at every chunk and reads the small arrays.
fn chunks(source: &Source) -> Result<Vec<Chunk<'_>>, IoError> {
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
        let shape = frame_shape(source, &data)?;
        if shape.contains(&0) {
            return Err(data.bad_shape("at least one frame of at least one pixel"));
        }
        let all = Window {
            frames: 0..shape[0],
            rows: 0..shape[1],
            columns: 0..shape[2],
        };
        source.allow(data.path(), all.bytes(false))?;
        let indices = match source.numbers(&part("indices"))? {
            Some(numbers) => {
                let all: Vec<u64> = numbers.unsigned()?.into_iter().collect();
                if all.len() != shape[0] {
                    return Err(
                        numbers.bad_shape(&format!("one index for each of {} frames", shape[0]))
                    );
                }
                all
            }
            None => (next..next.saturating_add(shape[0] as u64)).collect(),
        };
        next = next.saturating_add(shape[0] as u64);
        let numbers = source.require("positions", &[&part("positions")])?;
        let wrong = || numbers.bad_shape("(frame, 2), row and column in metres,");
        let positions = numbers
            .reals()?
            .into_dimensionality::<Ix2>()
            .map_err(|_| wrong())?;
        if positions.ncols() != 2 {
            return Err(wrong());
        }
        if positions.nrows() != shape[0] {
            let found = positions.nrows();
            return Err(position_count(source, numbers.path(), shape[0], found));
        }
        // PtyPy stores an empty array where it has no weights.
        let weights = source
            .numbers(&part("weights"))?
            .filter(|w| !w.shape().contains(&0) && w.shape().len() >= 2);
        chunks.push(Chunk {
            data,
            shape,
            weights,
            indices,
            positions,
        });
    }
    Ok(chunks)
}

fn found(source: &Source) -> Result<Found, IoError> {
    let energy = match source.numbers(ENERGY)? {
        Some(numbers) => Some((ENERGY.to_owned(), numbers.common_value()?)),
        None => None,
    };
    let distance = match source.numbers(DISTANCE)? {
        Some(numbers) => Some((DISTANCE.to_owned(), numbers.common_value()?)),
        None => None,
    };
    let pixel_size = match source.numbers(PIXEL)? {
        Some(numbers) => Some((PIXEL.to_owned(), numbers.one_or_two()?)),
        None => None,
    };
    Ok(Found {
        wavelength: None,
        energy,
        distance,
        pixel_size,
    })
}

/// How far (rows, columns) the zero frequency is to be moved, circularly, to (rows/2, columns/2).
fn centre_offset(
    source: &Source,
    rows: usize,
    columns: usize,
    notes: &mut Vec<String>,
) -> Result<[isize; 2], IoError> {
    // PtyPy also allows a word ("fftshift"), which means the place that is expected here.
    let numbers = match source.numbers(CENTRE) {
        Ok(Some(numbers)) => numbers,
        Ok(None) | Err(IoError::Type { .. }) => return Ok([0, 0]),
        Err(e) => return Err(e),
    };
    let centre = numbers.one_or_two()?;
    let mut offset = [0; 2];
    for (axis, size) in [rows, columns].into_iter().enumerate() {
        if !(0.0..=size as f64).contains(&centre[axis]) {
            return Err(numbers.bad_value(centre[axis], "a pixel of the frames"));
        }
        offset[axis] = (size / 2) as isize - centre[axis].round() as isize;
    }
    if offset != [0, 0] {
        notes.push(format!(
            "{CENTRE} is ({}, {}): the frames are moved by {} rows and {} columns, circularly",
            centre[0], centre[1], offset[0], offset[1]
        ));
    }
    Ok(offset)
}

/// Moves the last two axes by `offset`, circularly.
fn roll<T: Clone, D: Dimension>(mut array: ArrayViewMut<'_, T, D>, offset: [isize; 2]) {
    let first = array.ndim().saturating_sub(2);
    for (axis, by) in offset.into_iter().enumerate() {
        if by == 0 {
            continue;
        }
        for mut lane in array.lanes_mut(Axis(first + axis)) {
            let mut values = lane.to_vec();
            if let Ok(length) = isize::try_from(values.len())
                && length > 0
            {
                values.rotate_right(by.rem_euclid(length) as usize);
            }
            lane.iter_mut()
                .zip(values)
                .for_each(|(to, from)| *to = from);
        }
    }
}

/// The part `keep` of an axis.
fn cut<T: Clone, D: RemoveAxis>(
    array: &ndarray::Array<T, D>,
    axis: usize,
    keep: &std::ops::Range<usize>,
) -> ndarray::Array<T, D> {
    array
        .slice_axis(Axis(axis), Slice::from(keep.clone()))
        .to_owned()
}

/// One mask a frame, in order; chunks without weights count as valid.
fn join_masks(
    source: &Source,
    chunks: &[Chunk<'_>],
    masks: &[Mask],
    order: &[usize],
) -> Result<Mask, IoError> {
    let mut given = masks.iter();
    let mut planes = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let [count, rows, columns] = chunk.shape;
        planes.push(match (&chunk.weights, given.len()) {
            (None, _) | (_, 0) => Array3::from_elem((count, rows, columns), true),
            (Some(_), _) => match given.next() {
                Some(Mask::PerFrame(m)) => m.clone(),
                Some(Mask::Shared(m)) => m
                    .broadcast((count, rows, columns))
                    .map(|m| m.to_owned())
                    .ok_or_else(|| chunk.data.bad_shape("the shape of its weights"))?,
                None => Array3::from_elem((count, rows, columns), true),
            },
        });
    }
    let views: Vec<_> = planes.iter().map(|p| p.view()).collect();
    let all = concatenate(Axis(0), &views)
        .map_err(|_| missing(source, "weights of one shape", CHUNKS))?;
    Ok(Mask::PerFrame(all.select(Axis(0), order)))
}

/// Moves a mask with its frames and cuts it to the window.
fn cut_mask(mask: Mask, offset: [isize; 2], window: &Window) -> Mask {
    match mask {
        Mask::Shared(mut m) => {
            roll(m.view_mut(), offset);
            Mask::Shared(cut(&cut(&m, 0, &window.rows), 1, &window.columns))
        }
        Mask::PerFrame(mut m) => {
            roll(m.view_mut(), offset);
            Mask::PerFrame(cut(&cut(&m, 1, &window.rows), 2, &window.columns))
        }
    }
}
