//! Pairs frames and positions, also where there is not one position for each frame.

mod files;

use super::ReadOptions;
use super::found_positions::{FoundPositions, FrameNumbers};
use super::frame_stack::FrameStack;
use super::numbered_names::{FramesOfFile, NumberedFiles};
use super::window::Window;
use crate::Pair;
use ndarray::Array2;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use warpstride_core::text::{count, ranges, shortest};
use warpstride_files::{IoError, Remedy};

/// The frames of a file before any are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StoredFrames {
    /// All frames that were measured.
    All,
    /// Some are missing, as files of the series are: the number of each frame in the series, and
    /// the length of the series.
    Some { numbers: Vec<usize>, all: usize },
    /// The frames of these files, which are all that are given.
    InFiles(Vec<FramesOfFile>),
}

impl StoredFrames {
    /// The files of a stack of frames.
    pub(super) fn of_files(frames: &FrameStack<'_>) -> Self {
        Self::InFiles(frames.files())
    }

    /// These, with the files of the stack of frames if none are missing.
    pub(super) fn or_of_files(self, frames: &FrameStack<'_>) -> Self {
        match self {
            Self::All => Self::of_files(frames),
            known => known,
        }
    }

    fn files(&self) -> &[FramesOfFile] {
        match self {
            Self::InFiles(files) => files,
            Self::All | Self::Some { .. } => &[],
        }
    }

    /// The files as a series, if their names have its numbers.
    fn series(&self) -> Option<NumberedFiles> {
        NumberedFiles::of(self.files())
    }
}

/// Positions (frame, (row, column)), m, of the frames of the file, and what they are called. Frames
/// that are selected and have no position are left out: the window says which. Positions of frames
/// that are not selected may be NaN.
///
/// # Errors
/// There is not one position for each frame, and neither the options nor the numbers of frames in
/// the file say which belongs to which.
pub(super) fn pair(
    found: FoundPositions,
    stored: &StoredFrames,
    window: &mut Window,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<(String, Array2<f64>), IoError> {
    let [frames, ..] = window.stored;
    window.metres_of_position = found.metres;
    let named = files::by_names(&found, stored.files(), options.pair, notes)?;
    let rows = match (named, &found.numbers) {
        (Some(rows), _) => rows,
        (None, Some(numbers)) if numbers.doubtful && options.pair.is_none() => {
            let selected = window.selected(options).len();
            let one_each = found.len() == frames || found.len() == selected;
            if !((numbers.is_path || numbers.values.is_sorted()) && one_each) {
                return Err(doubt(&found, numbers, frames));
            }
            by_order(&found, stored, window, options, notes)?
        }
        (None, Some(numbers)) if options.pair != Some(Pair::First) => {
            by_numbers(&found, numbers, stored, window, options, notes)?
        }
        _ => by_order(&found, stored, window, options, notes)?,
    };
    let mut positions = Array2::from_elem((frames, 2), f64::NAN);
    for (row, mut to) in rows.iter().zip(positions.rows_mut()) {
        if let Some(row) = row {
            to.assign(&found.values.row(*row));
        }
    }
    let without: Vec<usize> = (window.selected(options).into_iter())
        .filter(|frame| rows.get(*frame).is_none_or(Option::is_none))
        .collect();
    if !without.is_empty() && without.len() == window.selected(options).len() {
        return Err(found.mismatch(frames, None));
    }
    if !without.is_empty() {
        notes.push(format!(
            "{} no position and {} left out: {}",
            count(without.len(), ["frame has", "frames have"]),
            if without.len() == 1 { "is" } else { "are" },
            ranges(&without)
        ));
        window.leave_out(&without);
    }
    Ok((found.name, positions))
}

/// The error of a column that may have the numbers of frames.
fn doubt(found: &FoundPositions, numbers: &FrameNumbers, frames: usize) -> IoError {
    let column = &numbers.column;
    IoError::Pairing {
        file: found.file.clone(),
        dataset: found.name.clone(),
        frames,
        found: format!(
            "{} and, in the column {column}, whole numbers that do not follow one another line by line",
            found.described()
        ),
        remedy: Some(Remedy::boxed((
            "are they the numbers of the frames? --pair by-index (data.pair) uses them, --pair first pairs in the order of the lines"
                .to_owned(),
            "--pair by-index",
        ))),
    }
}

/// The position of each frame, in the order of both.
fn by_order(
    found: &FoundPositions,
    stored: &StoredFrames,
    window: &mut Window,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<usize>>, IoError> {
    let [frames, ..] = window.stored;
    let positions = found.len();
    let series = stored.series();
    if positions == frames {
        let note = series.and_then(|series| files::note(&series, found));
        notes.extend(note.filter(|_| !options.without_positions));
        return Ok((0..frames).map(Some).collect());
    }
    let selected = window.selected(options);
    let selects = selected.len() < frames;
    if options.pair.is_none() && selects && positions == selected.len() && positions > 0 {
        let (positions_are, selected_are) = match positions {
            1 => ("position is that".to_owned(), "frame that is".to_owned()),
            _ => (
                format!("{positions} positions are those"),
                format!("{positions} frames that are"),
            ),
        };
        notes.push(format!(
            "the {positions_are} of the {selected_are} selected of {frames}, in their order (--pair first: of the first {} of the file)",
            count(positions, ["frame", "frames"])
        ));
        let mut rows = vec![None; frames];
        for (row, frame) in selected.iter().enumerate() {
            if let Some(to) = rows.get_mut(*frame) {
                *to = Some(row);
            }
        }
        return Ok(rows);
    }
    match (options.pair, stored) {
        (Some(pair), StoredFrames::InFiles(_))
            if pair != Pair::First && positions > 0 && series.is_some() =>
        {
            let of = series.map(|series| files::places(found, &series, frames, pair, notes));
            let places = of.transpose()?.unwrap_or_default();
            Ok((places.into_iter())
                .map(|place| (place < positions).then_some(place))
                .collect())
        }
        (Some(_), StoredFrames::Some { numbers, all }) => {
            notes.push(format!(
                "data.pair: {frames} of the {} of the series {}; each has the position with its number, of {positions}",
                count(*all, ["frame", "frames"]),
                if frames == 1 { "exists" } else { "exist" }
            ));
            Ok(numbers
                .iter()
                .map(|number| (*number < positions).then_some(*number))
                .collect())
        }
        (Some(Pair::First), _) if positions > 0 => {
            let of_series = series.as_ref().and_then(|series| series.count(positions));
            let gap = (series.zip(of_series)).and_then(|(series, count)| series.gap(&count));
            window.doubts.extend(gap.map(|gap| files::doubt(&gap)));
            let both = frames.min(positions);
            notes.push(format!(
                "data.pair = first: the first {both} of {} {} the first {both} of {}{}",
                count(frames, ["frame", "frames"]),
                if both == 1 { "has" } else { "have" },
                count(positions, ["position", "positions"]),
                found.of_raster()
            ));
            Ok((0..frames)
                .map(|frame| (frame < both).then_some(frame))
                .collect())
        }
        (Some(Pair::First), _) => Err(found.mismatch(frames, None)),
        (Some(_), _) => Err(IoError::Option {
            file: found.file.clone(),
            option: "data.pair",
            reason: format!(
                "expected positions with the number of the frame of each (a table with a column frame or index), or files with numbers in their names, found {positions} without for {}",
                count(frames, ["frame", "frames"])
            ),
        }),
        (None, _) => Err(found.mismatch(frames, remedy(found, stored, window.stored))),
    }
}

/// What can be done about numbers that differ.
fn remedy(
    found: &FoundPositions,
    stored: &StoredFrames,
    [frames, _, columns]: [usize; 3],
) -> Option<(String, &'static str)> {
    let positions = found.len();
    if positions == 0 {
        return None;
    }
    if let StoredFrames::Some { .. } = stored {
        let how = "--pair by-index (data.pair) uses the positions of the frames that exist";
        return Some((how.to_owned(), "--pair by-index"));
    }
    if let Some(series) = stored.series()
        && series.count(positions).is_some()
    {
        return files::remedy(&series, positions);
    }
    let both = frames.min(positions);
    if columns == positions && stored.files().len() < 2 {
        return Some((
            format!(
                "if the axes of the array are (row, column, frame), the frames have to be the first axis: numpy.moveaxis(array, -1, 0) in NumPy, or data.frame_axes = [2, 0, 1] with data.paths for HDF5; else --pair first (data.pair) uses the first {both} of each"
            ),
            "",
        ));
    }
    let mut how = format!("--pair first (data.pair) uses the first {both} of each");
    if stored.files().len() > 1 {
        how += ", if no file is missing before others";
    }
    // A detector that counts while the beam flies back.
    if let Some([slow, fast]) = found.raster
        && frames.is_multiple_of(slow)
        && frames / slow > fast
    {
        let each = frames / slow;
        how += &format!(
            ", but {frames} frames may also be {slow} rows of {each}, of which the last of each row are of the beam's flight back: --raster {slow}x{each} with --exclude {} then",
            (1..=slow)
                .map(|row| match each - fast {
                    1 => (row * each - 1).to_string(),
                    more => format!("{}-{}", row * each - more, row * each - 1),
                })
                .collect::<Vec<_>>()
                .join(",")
        );
    } else if found.raster.is_none() && positions == frames + 1 {
        how += ", if the last position is the end of the path";
    }
    Some((how, "--pair first"))
}

/// The position of each frame by numbers of frames.
fn by_numbers(
    found: &FoundPositions,
    numbers: &FrameNumbers,
    stored: &StoredFrames,
    window: &Window,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<usize>>, IoError> {
    let [frames, ..] = window.stored;
    let (all, number_of): (usize, &dyn Fn(usize) -> usize) = match stored {
        StoredFrames::All | StoredFrames::InFiles(_) => (frames, &|frame| frame),
        StoredFrames::Some { numbers, all } => (*all, &|frame| numbers[frame]),
    };
    let whole = whole_numbers(found, numbers)?;
    if let Some(series) = stored.series()
        && (whole.len() != frames || files::has_gap(&whole))
    {
        let selected = window.selected(options);
        let of =
            files::numbers_of_frames(found, numbers, (&whole, &selected), &series, options.pair)?;
        if let Some(of) = of {
            let rows: HashMap<usize, usize> = (whole.iter().enumerate())
                .map(|(row, number)| (*number, row))
                .collect();
            notes.push(format!(
                "{}: {} for {} of {}, by the numbers of frames in the column {} and in the names of the files: the first, {}, has the number {}",
                found.file,
                count(found.len(), ["position", "positions"]),
                count(frames, ["frame", "frames"]),
                count(stored.files().len(), ["file", "files"]),
                numbers.column,
                stored.files().first().map_or("", |file| file.name.as_str()),
                of.first().copied().unwrap_or_default()
            ));
            return Ok(of.iter().map(|number| rows.get(number).copied()).collect());
        }
    }
    let selected: Vec<usize> = (window.selected(options).into_iter())
        .map(number_of)
        .collect();
    let first = base(found, numbers, &whole, (all, &selected), options)?;
    let mut of_series = vec![None; all];
    let mut beyond = 0;
    for (row, number) in whole.iter().enumerate() {
        match number.checked_sub(first).and_then(|n| of_series.get_mut(n)) {
            Some(to) => *to = Some(row),
            None => beyond += 1,
        }
    }
    let sorted = whole.is_sorted();
    if first > 0 || found.len() != frames || beyond > 0 || !sorted {
        let order = match sorted {
            true => "",
            false => "; the lines are in another order than the frames",
        };
        let beyond = match beyond {
            0 => String::new(),
            more => format!(
                "; {} no frame and {} not used",
                count(more, ["position has", "positions have"]),
                if more == 1 { "is" } else { "are" }
            ),
        };
        notes.push(format!(
            "{}: {} {}, by the numbers of frames in the column {}: frames are numbered from {first}{beyond}{order}",
            found.file,
            count(found.len(), ["position for", "positions for"]),
            count(all, ["frame", "frames"]),
            numbers.column,
        ));
    }
    Ok((0..frames)
        .map(|frame| of_series.get(number_of(frame)).copied().flatten())
        .collect())
}

/// The numbers of frames as whole numbers, each once.
fn whole_numbers(found: &FoundPositions, numbers: &FrameNumbers) -> Result<Vec<usize>, IoError> {
    let wrong = |row: usize, what: String| IoError::Row {
        file: found.file.clone(),
        unit: "line",
        number: numbers.lines.get(row).copied().unwrap_or_default(),
        found: what,
        expected: format!(
            "a number of a frame in the column {}, each once (--pair first pairs in the order of the lines)",
            numbers.column
        ),
    };
    let mut seen = HashMap::new();
    let mut whole = Vec::with_capacity(numbers.values.len());
    for (row, value) in numbers.values.iter().enumerate() {
        if !(value.fract() == 0.0 && (0.0..9e15).contains(value)) {
            return Err(wrong(row, shortest(*value)));
        }
        let number = *value as usize;
        if let Some(before) = seen.insert(number, row) {
            let line = numbers.lines.get(before).copied().unwrap_or_default();
            return Err(wrong(row, format!("{number} twice, first in line {line}")));
        }
        whole.push(number);
    }
    Ok(whole)
}

/// The number of the first frame: 0 or 1, as the numbers show.
fn base(
    found: &FoundPositions,
    numbers: &FrameNumbers,
    whole: &[usize],
    (all, selected): (usize, &[usize]),
    options: &ReadOptions,
) -> Result<usize, IoError> {
    match options.pair {
        Some(Pair::ByIndexFrom0) => return Ok(0),
        Some(Pair::ByIndexFrom1) => return Ok(1),
        _ => {}
    }
    let least = whole.iter().copied().min().unwrap_or(0);
    let most = whole.iter().copied().max().unwrap_or(0);
    let fits = |range: RangeInclusive<usize>| range.contains(&least) && range.contains(&most);
    let from_0 = fits(0..=all - 1);
    let from_1 = fits(1..=all);
    let known: std::collections::HashSet<usize> = whole.iter().copied().collect();
    let covers = |first: usize| selected.iter().all(|n| known.contains(&(n + first)));
    let which = "--pair by-index-from-0 or --pair by-index-from-1";
    // Numbers that go on from an earlier scan.
    let exactly = most - least + 1 == all && whole.len() == all;
    match (from_0, from_1) {
        (false, false) if least > 1 && (exactly || options.pair.is_some()) => Ok(least),
        (true, false) => Ok(0),
        (false, true) => Ok(1),
        // The frames that are selected show it.
        (true, true) if selected.len() < all && covers(0) != covers(1) => {
            Ok(usize::from(covers(1)))
        }
        (true, true) => Err(IoError::Pairing {
            file: found.file.clone(),
            dataset: found.name.clone(),
            frames: all,
            found: format!(
                "{} with numbers from {least} to {most} in the column {}, which may count from 0 or from 1",
                found.described(),
                numbers.column
            ),
            remedy: Some(Remedy::boxed((
                format!("is the first frame 0 or 1? {which} (data.pair) says it"),
                match least {
                    1 => "--pair by-index-from-1",
                    _ => "--pair by-index-from-0",
                },
            ))),
        }),
        (false, false) if options.pair.is_some() && least == 0 => Ok(0),
        (false, false) => {
            let known = least == 0;
            let how = match (known, least <= 1) {
                (true, _) => {
                    "--pair by-index (data.pair) uses the positions of the frames that exist"
                        .to_owned()
                }
                (_, true) => {
                    format!("{which} (data.pair) uses the positions of the frames that exist")
                }
                _ => format!(
                    "--pair by-index (data.pair) takes {least} for the number of the first frame, --pair first pairs in the order of the lines"
                ),
            };
            let arguments = match (known, least <= 1) {
                (true, _) => "--pair by-index",
                (_, true) => "--pair by-index-from-1",
                _ => "--pair by-index",
            };
            Err(IoError::Pairing {
                file: found.file.clone(),
                dataset: found.name.clone(),
                frames: all,
                found: format!(
                    "{} with numbers from {least} to {most} in the column {}",
                    found.described(),
                    numbers.column
                ),
                remedy: Some(Remedy::boxed((how, arguments))),
            })
        }
    }
}

#[cfg(test)]
mod tests;
