//! Counts that mean that a pixel has no data.
//!
//! Detectors and their software write the largest value of the data type, or −1 and −2, on gaps
//! between modules and on bad pixels. Such a value taken for a count outweighs the whole pattern.

use super::extremes::Extremes;
use super::{NoData, NoDataSetting};
use crate::data::{Frames, Mask};
use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, s};
use rayon::prelude::*;
use warpstride_core::system::ScratchError;
use warpstride_core::text::{count, shortest};
use warpstride_files::{InputFile, IoError};

/// The least value, apart from negative ones and NaN, that `"auto"` may mask.
const LEAST: f32 = 32767.0;

/// Values that may mean no data, as rounded to f32.
const CANDIDATES: [Candidate; 10] = [
    Candidate::new(f32::NAN, "NaN", Rule::ManyFrames),
    Candidate::new(-1.0, "-1", Rule::AloneInManyFrames),
    Candidate::new(-2.0, "-2", Rule::AloneInManyFrames),
    Candidate::new(18_446_744_073_709_551_615.0, "2^64 - 1", Rule::Always),
    Candidate::new(9_223_372_036_854_775_807.0, "2^63 - 1", Rule::Always),
    Candidate::new(4_294_967_295.0, "2^32 - 1", Rule::Always),
    Candidate::new(2_147_483_647.0, "2^31 - 1", Rule::Always),
    Candidate::new(65535.0, "2^16 - 1", Rule::LargestInManyFrames),
    // Of pixels that are bad or saturated, beside the gaps with 65535.
    Candidate::new(65534.0, "2^16 - 2", Rule::BesideLargerOrLargest),
    Candidate::new(LEAST, "2^15 - 1", Rule::LargestInManyFrames),
];

/// Largest share of pixels that may be without data in some frames and not in others.
const VARYING: f64 = 0.05;

/// When a value means no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Wherever it is found: no detector counts as many photons in a pixel.
    Always,
    /// If many frames have it.
    ManyFrames,
    /// If many frames have it and there are no other negative numbers.
    AloneInManyFrames,
    /// If many frames have it and no count is larger.
    LargestInManyFrames,
    /// If many frames have it or the value before it means no data, and no count is larger.
    BesideLargerOrLargest,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    value: f32,
    name: &'static str,
    rule: Rule,
}

impl Candidate {
    const fn new(value: f32, name: &'static str, rule: Rule) -> Self {
        Self { value, name, rule }
    }
}

/// A value that is masked.
struct Marker {
    value: f32,
    name: String,
}

impl Marker {
    fn is(&self, count: f32) -> bool {
        count == self.value || (count.is_nan() && self.value.is_nan())
    }
}

/// Whether detectors and their software write this value where there are no data.
pub(super) fn is_marker(count: f32) -> bool {
    CANDIDATES.iter().any(|of| of.value == count)
}

/// Adds the pixels without data to the mask of `frames`: path and counts (frame, row, column). A
/// pixel that has none in at least half of the frames is masked in all of them. Says so in `notes`.
/// `extremes` are those of the counts that are not masked.
///
/// # Errors
/// Returns [`IoError`] if one mask for each frame, where that is needed, does not fit into memory.
pub(super) fn mask(
    input: &InputFile,
    frames: (&str, &Frames),
    (mask, extremes): (Option<Mask>, &Extremes),
    (no_data, clip): (&NoData, bool),
    (notes, doubts): (&mut Vec<String>, &mut Vec<String>),
) -> Result<Option<Mask>, IoError> {
    let (path, frames) = frames;
    if mask.as_ref().is_some_and(|mask| !fits(mask, frames)) {
        // Refused with the scan.
        return Ok(mask);
    }
    let markers = match no_data {
        NoData::Setting(NoDataSetting::Off) => return Ok(mask),
        NoData::Setting(NoDataSetting::Auto) if extremes.are_counts_below(LEAST) => {
            return Ok(mask);
        }
        NoData::Setting(NoDataSetting::Auto) => {
            let mut found = found(frames, mask.as_ref())?;
            found.retain(|marker| !(clip && marker.value < 0.0));
            found
        }
        NoData::Values(values) => values.iter().map(|value| named(*value)).collect(),
    };
    if markers.is_empty() {
        return Ok(mask);
    }
    let Some(without) = frames_without(&markers, (path, frames), mask.as_ref(), notes)? else {
        return Ok(mask);
    };
    let [count, rows, columns] = frames.shape();
    let negative = markers.iter().all(|marker| marker.value < 0.0);
    if negative && matches!(no_data, NoData::Setting(_)) {
        doubts.extend(pedestal(path, &without, count));
    }
    let always = without.mapv(|n| 2 * n >= count);
    let shared = !matches!(mask, Some(Mask::PerFrame(_)))
        && without.iter().all(|n| *n == 0 || 2 * n >= count);
    if shared {
        let mut plane = match mask {
            Some(Mask::Shared(plane)) => plane,
            _ => Array2::from_elem((rows, columns), true),
        };
        plane.zip_mut_with(&always, |valid, without| *valid &= !without);
        return Ok(Some(Mask::Shared(plane)));
    }
    // One byte for each pixel's mask, and counts in f32 unless they are in a temporary file.
    let bytes = if frames.in_memory().is_some() { 5 } else { 1 };
    input.allow(path, bytes * (count * rows * columns) as u128)?;
    let mut each = match mask {
        Some(Mask::PerFrame(each)) => each,
        Some(Mask::Shared(plane)) => of_each(&plane, count),
        None => Array3::from_elem((count, rows, columns), true),
    };
    frames.blocks(|first, block| {
        let valid = each.outer_iter_mut().skip(first);
        let both: Vec<_> = valid.zip(block.outer_iter()).collect();
        both.into_par_iter().for_each(|(mut valid, frame)| {
            valid.zip_mut_with(&always, |valid, without| *valid &= !without);
            valid.zip_mut_with(&frame, |valid, count| {
                *valid &= !markers.iter().any(|marker| marker.is(*count));
            });
        });
        Ok::<(), ScratchError>(())
    })?;
    Ok(Some(Mask::PerFrame(each)))
}

/// The doubt that -1 and -2 mean no data, if many pixels have them in some frames (number in
/// `without`) and counts in others.
fn pedestal(path: &str, without: &Array2<usize>, frames: usize) -> Option<String> {
    let varying = (without.iter())
        .filter(|n| (1..frames).contains(*n))
        .count();
    (varying as f64 > VARYING * without.len() as f64).then(|| {
        format!(
            "{path}: {} {} masked in some frames and not in others, as negative counts are taken for pixels without data: if they are counts from which a pedestal has been subtracted, --no-data off --negative clip sets them to 0",
            count(varying, ["pixel", "pixels"]),
            if varying == 1 { "is" } else { "are" }
        )
    })
}

/// Whether the mask has the shape of the frames.
pub(super) fn fits(mask: &Mask, frames: &Frames) -> bool {
    let [count, rows, columns] = frames.shape();
    match mask {
        Mask::Shared(plane) => plane.dim() == (rows, columns),
        Mask::PerFrame(each) => each.dim() == (count, rows, columns),
    }
}

fn valid(mask: Option<&Mask>, [frame, row, column]: [usize; 3]) -> bool {
    match mask {
        None => true,
        Some(Mask::Shared(plane)) => plane[[row, column]],
        Some(Mask::PerFrame(each)) => each[[frame, row, column]],
    }
}

fn named(value: f64) -> Marker {
    Marker {
        value: value as f32,
        name: shortest(value),
    }
}

/// A mask (row, column) for each of `count` frames.
pub(super) fn of_each(plane: &Array2<bool>, count: usize) -> Array3<bool> {
    let (rows, columns) = plane.dim();
    let all = plane.broadcast((count, rows, columns));
    all.map_or_else(
        || Array3::from_elem((count, rows, columns), true),
        |all| all.to_owned(),
    )
}

/// The candidates that a frame has, and its other values.
type HasAndLargest = ([bool; CANDIDATES.len()], Others);

/// Values that are not among the candidates.
#[derive(Debug, Clone, Copy, Default)]
struct Others {
    /// The largest, at least 0.
    largest: f32,
    /// Whether one is negative, so that −1 and −2 are noise around zero.
    negative: bool,
}

fn candidates_of(
    counts: ArrayView2<'_, f32>,
    valid: Option<ArrayView2<'_, bool>>,
) -> HasAndLargest {
    let mut has = [false; CANDIDATES.len()];
    let mut others = Others::default();
    if Extremes::of_frame(counts, valid).are_counts_below(LEAST) {
        return (has, others);
    }
    for (place, count) in counts.indexed_iter() {
        if (0.0..LEAST).contains(count) || valid.as_ref().is_some_and(|valid| !valid[place]) {
            continue;
        }
        match CANDIDATES
            .iter()
            .position(|of| *count == of.value || (count.is_nan() && of.value.is_nan()))
        {
            Some(candidate) => has[candidate] = true,
            None => {
                others.largest = others.largest.max(*count);
                others.negative |= *count < 0.0;
            }
        }
    }
    (has, others)
}

/// The candidates that mean no data in these frames.
fn found(frames: &Frames, mask: Option<&Mask>) -> Result<Vec<Marker>, ScratchError> {
    let [count, ..] = frames.shape();
    let many = (count / 20).max(2).min(count);
    let mut frames_with = [0_usize; CANDIDATES.len()];
    let mut all_others = Others::default();
    frames.blocks(|first, block| {
        let each: Vec<_> = block.outer_iter().collect();
        let found = each.into_par_iter().enumerate().map(|(number, counts)| {
            candidates_of(counts, mask.map(|mask| mask.of_frame(first + number)))
        });
        for (has, others) in found.collect::<Vec<HasAndLargest>>() {
            all_others.largest = all_others.largest.max(others.largest);
            all_others.negative |= others.negative;
            for (frames, has) in frames_with.iter_mut().zip(has) {
                *frames += usize::from(has);
            }
        }
        Ok::<(), ScratchError>(())
    })?;
    let Others {
        mut largest,
        negative,
    } = all_others;
    let mut markers: Vec<Marker> = Vec::new();
    for (candidate, frames) in CANDIDATES.iter().zip(frames_with) {
        let is_marker = match candidate.rule {
            Rule::Always => frames > 0,
            Rule::ManyFrames => frames >= many,
            Rule::AloneInManyFrames => frames >= many && !negative,
            Rule::LargestInManyFrames => frames >= many && largest < candidate.value,
            Rule::BesideLargerOrLargest => {
                let beside = markers.last().is_some_and(|marker| marker.value == 65535.0);
                frames >= if beside { 1 } else { many } && largest < candidate.value
            }
        };
        if is_marker {
            markers.push(Marker {
                value: candidate.value,
                name: candidate.name.to_owned(),
            });
        } else if frames > 0 {
            largest = largest.max(candidate.value);
        }
    }
    Ok(markers)
}

/// Whether a row has one of the markers.
fn counts_have(counts: ArrayView1<'_, f32>, markers: &[Marker]) -> bool {
    markers.iter().any(|marker| {
        // No branches, so that several are compared at once.
        let nan = marker.value.is_nan();
        let is = |count: &f32| (*count == marker.value) | (nan & count.is_nan());
        counts.iter().fold(false, |has, count| has | is(count))
    })
}

/// In how many frames each pixel (row, column) that is not masked has one of the markers; `None` if
/// no pixel has. Adds a note for each marker.
fn frames_without(
    markers: &[Marker],
    (path, frames): (&str, &Frames),
    mask: Option<&Mask>,
    notes: &mut Vec<String>,
) -> Result<Option<Array2<usize>>, ScratchError> {
    let [count_of_frames, rows, columns] = frames.shape();
    let mut without = Array2::zeros((rows, columns));
    // Of each pixel, whether it has the markers.
    let mut pixels = Array3::from_elem((rows, columns, markers.len()), false);
    let mut has = Array2::from_elem((count_of_frames, markers.len()), false);
    frames.blocks(|first, block| {
        let of_rows = without.rows_mut().into_iter().zip(pixels.outer_iter_mut());
        let of_rows: Vec<_> = of_rows.enumerate().collect();
        let found = of_rows
            .into_par_iter()
            .map(|(row, (mut without, mut pixels))| {
                let mut has = Array2::from_elem((block.dim().0, markers.len()), false);
                for (frame, mut has) in has.outer_iter_mut().enumerate() {
                    let counts = block.slice(s![frame, row, ..]);
                    if !counts_have(counts, markers) {
                        continue;
                    }
                    for (column, count) in counts.iter().enumerate() {
                        if let Some(marker) = markers.iter().position(|marker| marker.is(*count))
                            && valid(mask, [first + frame, row, column])
                        {
                            without[column] += 1;
                            pixels[[column, marker]] = true;
                            has[marker] = true;
                        }
                    }
                }
                has
            });
        let end = first + block.dim().0;
        for of_row in found.collect::<Vec<Array2<bool>>>() {
            let mut has = has.slice_mut(s![first..end, ..]);
            has.zip_mut_with(&of_row, |has, of_row| *has |= of_row);
        }
        Ok::<(), ScratchError>(())
    })?;
    let frames_with: Vec<usize> = (has.columns().into_iter())
        .map(|of| of.iter().filter(|has| **has).count())
        .collect();
    let pixels = pixels.axis_iter(Axis(2));
    for ((marker, pixels), frames) in markers.iter().zip(pixels).zip(&frames_with) {
        if *frames > 0 {
            let affected = pixels.iter().filter(|has| **has).count();
            notes.push(format!(
                "{path}: masked {}, in {}, with {}, which means no data (option `data.no_data`)",
                count(affected, ["pixel", "pixels"]),
                count(*frames, ["frame", "frames"]),
                marker.name,
            ));
        }
    }
    let any = frames_with.iter().any(|frames| *frames > 0);
    Ok(any.then_some(without))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 frames of 2 × 3 pixels with small counts.
    fn frames() -> Array3<f32> {
        Array3::from_shape_fn((40, 2, 3), |(f, r, c)| ((f + r + c) % 5) as f32)
    }

    fn markers(frames: &Array3<f32>) -> Vec<String> {
        let markers = found(&frames.clone().into(), None).unwrap();
        markers.into_iter().map(|m| m.name).collect()
    }

    #[test]
    fn negative_counts_are_clipped_or_doubtful() {
        use warpstride_core::system::Memory;
        // Gaps have no data in any frame, and a pedestal leaves some frames their counts.
        for (few, doubtful) in [(40, 0), (30, 1)] {
            let mut of = frames();
            for frame in 0..few {
                of[[frame, 1, 1]] = -1.0;
            }
            let of = Frames::from(of);
            let input = InputFile::new(std::path::Path::new("a.cxi"), Memory::available());
            let extremes = Extremes::of(&of, None).unwrap();
            for (clip, doubts_expected) in [(false, doubtful), (true, 0)] {
                let (mut notes, mut doubts) = (Vec::new(), Vec::new());
                let no_data = NoData::Setting(NoDataSetting::Auto);
                let masked = mask(
                    &input,
                    ("/d", &of),
                    (None, &extremes),
                    (&no_data, clip),
                    (&mut notes, &mut doubts),
                )
                .unwrap();
                assert_eq!((masked.is_none(), notes.is_empty()), (clip, clip));
                assert_eq!(doubts.len(), doubts_expected, "{doubts:?}");
            }
        }
    }

    #[test]
    fn values_of_many_frames_and_impossible_counts_are_markers() {
        let mut of = frames();
        assert!(markers(&of).is_empty());
        of[[3, 0, 0]] = u32::MAX as f32;
        assert_eq!(markers(&of), ["2^32 - 1"]);
        of[[3, 1, 0]] = -1.0;
        assert_eq!(markers(&of), ["2^32 - 1"], "-1 in one of 40 frames");
        of[[4, 1, 0]] = -1.0;
        assert_eq!(markers(&of), ["-1", "2^32 - 1"]);
        let mut of = frames();
        for frame in 0..8 {
            of[[frame, 1, 1]] = 65535.0;
            of[[frame, 1, 2]] = f32::NAN;
        }
        assert_eq!(markers(&of), ["NaN", "2^16 - 1"]);
        of[[9, 0, 0]] = 65536.0;
        assert_eq!(markers(&of), ["NaN"], "65535 is not the largest count");
        // Bad pixels beside gaps, in one frame or alone in many.
        let mut of = frames();
        for frame in 0..40 {
            of[[frame, 1, 1]] = 65535.0;
        }
        of[[7, 0, 1]] = 65534.0;
        assert_eq!(markers(&of), ["2^16 - 1", "2^16 - 2"]);
        of.slice_mut(s![.., 1, 1]).fill(1.0);
        assert!(markers(&of).is_empty(), "a count of one frame");
        of.slice_mut(s![.., 1, 1]).fill(65534.0);
        assert_eq!(markers(&of), ["2^16 - 2"]);
        // Beside other negative numbers, as dark-subtracted data have them, -1 is one of them.
        let mut of = frames();
        for frame in 0..40 {
            of[[frame, 1, 1]] = -1.0;
        }
        assert_eq!(markers(&of), ["-1"]);
        of[[9, 0, 1]] = -3.0;
        assert!(markers(&of).is_empty());
        let mut of = frames();
        of.fill(65535.0);
        of[[0, 0, 0]] = 1.0;
        let hidden = Mask::Shared(Array2::from_elem((2, 3), false));
        let found = found(&of.into(), Some(&hidden)).unwrap();
        assert!(found.is_empty(), "already masked");
    }
}
