//! Frames in which lines or rectangles of the detector have no counts, or whole lines have far too
//! many, beside pixels that count.
//!
//! Light ends abruptly there on both sides, and in other frames it does not. The zeros of a wave
//! are no straight lines of many pixels at once, and the light beside them falls towards them.

use crate::data::{Scan, in_photons};
use ndarray::{Array2, ArrayView2, Axis, s};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use warpstride_core::system::ScratchError;

/// Fewest pixels of a line, or of a side of a rectangle.
const LONG: usize = 8;
/// Fewest counts of a pixel of a frame that the mean of all predicts, so that it is looked at;
/// fewest counts of all pixels.
const EXPECTED: f64 = 0.5;
const COMPLETE: f64 = 50.0;
/// Largest part of the predicted counts of what is missing.
const STRAY: f64 = 0.002;
/// Least logarithm of the chance, to the power of −1, that all pixels are empty if as many are as
/// beside them: a count of an integrating detector is no photon.
const UNLIKELY: f64 = 20.0;
/// Least part of the predicted counts beside it.
const LIT: f64 = 0.3;
/// Least part of a rectangle that lacks counts.
const FILLED: f64 = 0.8;
/// Part of the predicted counts below which a part is dim in another frame, and how many frames
/// lack all for one in which it is dim.
const DIM: f64 = 0.1;
const TIMES: usize = 2;
/// Most rectangles that are compared with other frames, those of most frames.
const MOST: usize = 256;
/// A hot line has so many times the counts of those beside it, in this share of its pixels, and
/// does not fade: the pixel that a tenth of the others are below has so large a part of the median.
/// Fewest counts of a pixel.
const HOT: f32 = 5.0;
const OF_LINE: f64 = 0.75;
const EVEN: f32 = 0.4;
const HOT_COUNTS: f32 = 5.0;

/// Rows from the first on and before the second, and columns.
type Part = [usize; 4];

/// Frames with lines of these kinds.
#[derive(Default)]
pub(super) struct Faulty {
    pub(super) missing: Vec<usize>,
    pub(super) hot: Vec<usize>,
}

/// Finds them.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(super) fn find(scan: &Scan, photon: f64) -> Result<Faulty, ScratchError> {
    let of_frames = &scan.sums().of_frames;
    let total = scan.sums().total().max(1e-300);
    let mean_of = |frame: usize| of_frames[frame] / total;
    let all = &(&scan.sums().of_pixels / photon);
    let looks_for_missing = !scan.geometry().is_near_field();
    let mut parts: BTreeMap<Part, Vec<usize>> = BTreeMap::new();
    let mut hot: BTreeMap<(bool, usize), Vec<usize>> = BTreeMap::new();
    scan.blocks(|first, block| {
        let each: Vec<_> = block.outer_iter().zip(first..).collect();
        let found = each.into_par_iter().map(|(counts, frame)| {
            let valid = scan.mask().of_frame(frame);
            let counts = in_photons(counts, photon);
            let counts = counts.view();
            let missing = match looks_for_missing {
                true => missing(counts, valid, all, mean_of(frame)),
                false => Vec::new(),
            };
            (frame, missing, hot_lines(counts, valid))
        });
        for (frame, missing, lines) in found.collect::<Vec<_>>() {
            for part in missing {
                parts.entry(part).or_default().push(frame);
            }
            for line in lines {
                hot.entry(line).or_default().push(frame);
            }
        }
        Ok::<(), ScratchError>(())
    })?;
    let mut parts: Vec<(Part, Vec<usize>)> = parts.into_iter().collect();
    parts.sort_by_key(|(_, frames)| std::cmp::Reverse(frames.len()));
    parts.truncate(MOST);
    let mut dim = vec![0_usize; parts.len()];
    if !parts.is_empty() {
        scan.blocks(|first, block| {
            for (counts, frame) in block.outer_iter().zip(first..) {
                let valid = scan.mask().of_frame(frame);
                let counts = in_photons(counts, photon);
                for ((part, frames), dim) in parts.iter_mut().zip(&mut dim) {
                    let [here, predicted] = sums(counts.view(), valid, all, mean_of(frame), *part);
                    if predicted < COMPLETE || frames.contains(&frame) {
                        continue;
                    }
                    // Beside what else is dark, a part that is missing has another outline.
                    if here <= STRAY * predicted {
                        frames.push(frame);
                    } else {
                        *dim += usize::from(here < DIM * predicted);
                    }
                }
            }
            Ok::<(), ScratchError>(())
        })?;
    }
    let is_missing = |((_, frames), dim): &(&(Part, Vec<usize>), &usize)| {
        **dim * TIMES <= frames.len() && 2 * frames.len() <= of_frames.len().max(2)
    };
    let missing = parts.iter().zip(&dim).filter(is_missing);
    let missing = missing.flat_map(|((_, frames), _)| frames.iter().copied());
    // Lines that are hot in all frames are named as hot pixels.
    let hot = hot.into_values().filter(|f| f.len() < of_frames.len());
    let mut faulty = Faulty {
        missing: missing.collect(),
        hot: hot.flatten().collect(),
    };
    for list in [&mut faulty.missing, &mut faulty.hot] {
        list.sort_unstable();
        list.dedup();
    }
    Ok(faulty)
}

/// Counts of the valid pixels of a part, and those that the sums over all frames predict.
fn sums(
    counts: ArrayView2<'_, f32>,
    valid: ArrayView2<'_, bool>,
    all: &Array2<f64>,
    share: f64,
    [top, bottom, first, last]: Part,
) -> [f64; 2] {
    let part = s![top..bottom, first..last];
    let pixels = counts.slice_move(part).into_iter();
    let pixels = pixels.zip(valid.slice_move(part)).zip(all.slice(part));
    let pixels = pixels.filter(|((_, valid), _)| **valid);
    pixels.fold([0.0; 2], |[here, predicted], ((count, _), all)| {
        [here + f64::from(*count), predicted + share * all]
    })
}

/// Rectangles and lines without counts between lit pixels.
fn missing(
    counts: ArrayView2<'_, f32>,
    valid: ArrayView2<'_, bool>,
    all: &Array2<f64>,
    share: f64,
) -> Vec<Part> {
    let mut found = Vec::new();
    let runs = runs(counts, valid, all, share);
    for (transposed, runs) in [false, true].into_iter().zip(&runs) {
        for (part, pixels) in rectangles(runs) {
            let part = match (transposed, part) {
                (false, part) => part,
                (true, [top, bottom, first, last]) => [first, last, top, bottom],
            };
            let [top, bottom, first, last] = part;
            let area = ((bottom - top) * (last - first)) as f64;
            let sums = |part| sums(counts, valid, all, share, part);
            let [here, predicted] = sums(part);
            if predicted < COMPLETE || (pixels as f64) < FILLED * area {
                continue;
            }
            let sides = sides(part, counts.dim(), transposed);
            let beside = sides.map(|side| side.map_or([0.0, 1.0], sums));
            let is_lit = beside.iter().all(|[here, there]| *here > LIT * there);
            let width = match transposed {
                false => last - first,
                true => bottom - top,
            };
            let least = beside[0][0].min(beside[1][0]) * area / width as f64;
            let predicted = predicted.min(least);
            let empty =
                sides.map(|side| side.map_or([0, 0], |side| empty_pixels(counts, valid, side)));
            let [none, all] = [0, 1].map(|n| (empty[0][n] + empty[1][n] + 1 + n) as f64);
            if is_lit
                && here <= STRAY * predicted
                && predicted >= COMPLETE
                && area * (all / none).ln() >= UNLIKELY
                && !found.contains(&part)
            {
                found.push(part);
            }
        }
    }
    found
}

/// Number of valid pixels of a part without counts, and of all.
fn empty_pixels(
    counts: ArrayView2<'_, f32>,
    valid: ArrayView2<'_, bool>,
    [top, bottom, first, last]: Part,
) -> [usize; 2] {
    let part = s![top..bottom, first..last];
    let pixels = counts.slice_move(part).into_iter();
    let pixels = pixels.zip(valid.slice_move(part));
    let counts = pixels.filter(|(_, valid)| **valid).map(|(count, _)| *count);
    counts.fold([0, 0], |[none, all], count| {
        [none + usize::from(count == 0.0), all + 1]
    })
}

/// The lines beside a part: above and below or, `transposed`, left and right.
fn sides(
    [top, bottom, first, last]: Part,
    (rows, columns): (usize, usize),
    transposed: bool,
) -> [Option<Part>; 2] {
    match transposed {
        false => [
            top.checked_sub(1).map(|row| [row, top, first, last]),
            (bottom < rows).then_some([bottom, bottom + 1, first, last]),
        ],
        true => [
            first
                .checked_sub(1)
                .map(|column| [top, bottom, column, first]),
            (last < columns).then_some([top, bottom, last, last + 1]),
        ],
    }
}

/// A line, and the places of pixels in it without counts.
struct Run {
    line: usize,
    places: Range<usize>,
}

/// Runs of at least [`LONG`] pixels along rows, and along columns, that have no counts where some
/// are expected; in the order of their lines.
fn runs(
    counts: ArrayView2<'_, f32>,
    valid: ArrayView2<'_, bool>,
    all: &Array2<f64>,
    share: f64,
) -> [Vec<Run>; 2] {
    let [mut along_rows, mut along_columns] = [Vec::new(), Vec::new()];
    let end = |runs: &mut Vec<Run>, line: usize, first: &mut usize, place: usize| {
        if place - *first >= LONG {
            let places = *first..place;
            runs.push(Run { line, places });
        }
        *first = place + 1;
    };
    let mut tops = vec![0; counts.ncols()];
    let rows = counts.rows().into_iter().zip(valid.rows()).zip(all.rows());
    for (row, ((counts, valid), all)) in rows.enumerate() {
        let mut first = 0;
        let pixels = counts.iter().zip(valid).zip(all).zip(&mut tops);
        for (column, (((counts, valid), all), top)) in pixels.enumerate() {
            let predicted = all * share;
            if f64::from(*counts) > STRAY * predicted || predicted < EXPECTED || !valid {
                end(&mut along_rows, row, &mut first, column);
                end(&mut along_columns, column, top, row);
            }
        }
        end(&mut along_rows, row, &mut first, counts.len());
    }
    for (column, top) in tops.iter_mut().enumerate() {
        end(&mut along_columns, column, top, counts.nrows());
    }
    along_columns.sort_by_key(|run| run.line);
    [along_rows, along_columns]
}

/// The rectangles (lines, places) around connected runs, which are in the order of their lines, and
/// the number of pixels of these.
fn rectangles(runs: &[Run]) -> Vec<(Part, usize)> {
    let mut found: Vec<(Part, usize)> = Vec::new();
    // The group of each run.
    let mut groups: Vec<usize> = Vec::with_capacity(runs.len());
    let mut above = 0;
    for (n, Run { line, places }) in runs.iter().enumerate() {
        while runs[above].line + 1 < *line {
            above += 1;
        }
        let own = found.len();
        found.push(([*line, line + 1, places.start, places.end], places.len()));
        groups.push(own);
        for other in above..n {
            let beside = &runs[other].places;
            let touches = beside.start < places.end && places.start < beside.end;
            let group = groups[other];
            if runs[other].line == *line || !touches || groups[n] == group {
                continue;
            }
            let (part, pixels) = std::mem::take(&mut found[group]);
            let (all, number) = &mut found[groups[n]];
            *all = [
                all[0].min(part[0]),
                all[1].max(part[1]),
                all[2].min(part[2]),
                all[3].max(part[3]),
            ];
            *number += pixels;
            let joined = groups[n];
            // Only runs of this line and of the one before can meet others.
            for label in groups[above..].iter_mut().filter(|label| **label == group) {
                *label = joined;
            }
        }
    }
    found.retain(|(_, pixels)| *pixels > 0);
    found
}

/// Rows (`false`) and columns (`true`) that are far brighter, evenly, than those beside them.
fn hot_lines(counts: ArrayView2<'_, f32>, valid: ArrayView2<'_, bool>) -> Vec<(bool, usize)> {
    let mut found = Vec::new();
    for (transposed, counts, valid) in [(false, counts, valid), (true, counts.t(), valid.t())] {
        let sums = counts.sum_axis(Axis(1));
        for row in 0..counts.nrows() {
            let beside = [row.wrapping_sub(1), row + 1].map(|row| sums.get(row));
            let brightest = beside.into_iter().flatten().copied().fold(0.0, f32::max);
            // Most of a line that is hot in the pattern's dark is its own.
            let least = HOT_COUNTS * counts.ncols() as f32 * OF_LINE as f32;
            if sums[row] > brightest.max(least) && is_hot(counts, valid, row) {
                found.push((transposed, row));
            }
        }
    }
    found
}

fn is_hot(counts: ArrayView2<'_, f32>, valid: ArrayView2<'_, bool>, row: usize) -> bool {
    let mut line: Vec<f32> = Vec::with_capacity(counts.ncols());
    let mut far = 0;
    for column in 0..counts.ncols() {
        if !valid[[row, column]] {
            continue;
        }
        let here = counts[[row, column]];
        let beside = [row.wrapping_sub(1), row + 1].map(|row| counts.get([row, column]));
        let brightest = beside.into_iter().flatten().copied().fold(0.0, f32::max);
        far += usize::from(here > HOT * brightest && here >= HOT_COUNTS);
        line.push(here);
    }
    line.sort_by(f32::total_cmp);
    line.len() >= LONG
        && far as f64 >= OF_LINE * line.len() as f64
        && line[line.len() / 10] >= EVEN * line[line.len() / 2]
}
