//! Properties of a scan that often explain a poor or meaningless reconstruction.

pub(crate) mod corner;
pub(crate) mod dead_pixels;
mod groups;
pub(crate) mod hot_pixels;
mod light;
pub(crate) mod listed;
mod middle;
mod near_field;
mod overflow;
pub(crate) mod stuck_pixels;

use crate::EngineSpec;
use crate::data::{Mask, Scan};
use crate::model::near_field::small_steps;
use crate::positions::overlap::Overlap;
use listed::listed;
use ndarray::Array2;
use rayon::prelude::*;
use warpstride_core::system::ScratchError;
use warpstride_core::text::{count, significant};

/// Linear overlap that is commonly considered necessary for ptychography.
const MIN_OVERLAP: f64 = 0.5;
/// Distance of the mean pattern's centre of mass from the frame's centre, as a fraction of the
/// frame, beyond which the zero frequency was probably stored elsewhere.
const CENTRE_TOLERANCE: f64 = 0.1;
/// Largest plausible fraction of masked pixels: detector gaps and dead pixels are fewer.
const MAX_BAD_FRACTION: f64 = 0.5;
/// Frames from which on the positions extend over this many object pixels.
const MOVING: usize = 10;
const LEAST_EXTENT: f64 = 4.0;
/// Largest plausible ratio of the sides of an object pixel: frames and detector pixels are far less
/// oblong.
const MOST_OBLONG: f64 = 20.0;
/// Fewest rows or columns that resolve a diffraction pattern.
const MIN_SIDE: usize = 8;
/// Largest plausible mean count at the border of the frames, relative to that of the whole frame: a
/// far-field pattern fades towards the border.
const MAX_BORDER: f64 = 0.5;
/// Share of the frame's width that counts as its border, on each side.
const BORDER: usize = 16;
/// Fewest pixels with the largest count, and least such count, that suggest saturation.
const SATURATED: (usize, f64) = (10, 64.0);
/// Largest counts of 8, 10, 12, and 14 bits, and those of 8 and 12 bits and one more, and how many
/// times as many pixels as with one of the counts just below have such a count of a saturated
/// detector.
const ENDS: [f64; 6] = [255.0, 256.0, 1023.0, 4095.0, 4096.0, 16383.0];
const PILED: f64 = 5.0;
/// Fewest frames that overlap enough to determine an object and a probe.
const MIN_FRAMES: usize = 5;

/// What [`diagnose`] finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// Overlap of neighbouring illuminations; `None` for a single frame.
    pub overlap: Option<Overlap>,
    /// One sentence for each doubtful property; none if the scan looks sound.
    pub problems: Vec<String>,
}

/// Looks for properties of `scan` that often explain a poor or meaningless reconstruction with
/// `engines`.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub fn diagnose(scan: &Scan, engines: &[EngineSpec]) -> Result<Diagnosis, ScratchError> {
    let [_, rows, columns] = scan.shape();
    let pixel = scan.object_pixel();
    let overlap = Overlap::estimate(scan.positions(), scan.probe(), [rows, columns], pixel);
    let mean = scan.mean_frame();
    let mut problems = Vec::new();
    problems.extend(few_overlaps(overlap.as_ref()));
    problems.extend(few_frames(scan.shape()[0]));
    problems.extend(overlap.as_ref().and_then(|o| groups::separate(scan, o)));
    problems.extend(frames(scan)?);
    problems.extend(masked(scan));
    problems.extend_from_slice(scan.doubts());
    problems.extend(counts(scan)?);
    problems.extend(overflow::wrapped(scan)?);
    problems.extend(light::no_photon_counts(scan, engines));
    problems.extend(light::more_than_counted(scan));
    problems.extend(oblong(pixel));
    let extents = [0, 1].map(|axis| extent(scan, axis));
    problems.extend(little_movement(extents, pixel, scan.shape()[0]));
    let extent = extents[0].max(extents[1]);
    problems.extend(small_steps(scan.geometry(), extent, overlap.as_ref()));
    problems.extend(near_field::aliased(scan));
    problems.extend(near_field::evanescent(scan));
    problems.extend(hot_pixels::hot(scan, &mean)?);
    if !scan.geometry().is_near_field() {
        problems.extend(light::unlimited_illumination(scan));
        problems.extend(far_field(scan, &mean));
        problems.extend(centre(&mean));
    }
    Ok(Diagnosis { overlap, problems })
}

/// Looks for doubtful properties of the frames of `scan`, whatever their positions: one sentence
/// for each.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub fn diagnose_frames(scan: &Scan) -> Result<Vec<String>, ScratchError> {
    let mean = scan.mean_frame();
    let mut problems = frames(scan)?;
    problems.extend(masked(scan));
    problems.extend_from_slice(scan.doubts());
    problems.extend(counts(scan)?);
    problems.extend(overflow::wrapped(scan)?);
    problems.extend(hot_pixels::hot(scan, &mean)?);
    if !scan.geometry().is_near_field() {
        problems.extend(centre(&mean));
    }
    Ok(problems)
}

/// Extent of the positions along an axis, m.
fn extent(scan: &Scan, axis: usize) -> f64 {
    let column = scan.positions().column(axis);
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    column.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low
}

/// The problem that many frames lie within a few object pixels.
fn little_movement(extents: [f64; 2], pixel: [f64; 2], frames: usize) -> Option<String> {
    let [rows, columns] = [0, 1].map(|axis| extents[axis] / pixel[axis]);
    let is_little = frames >= MOVING && rows.max(columns) < LEAST_EXTENT;
    is_little.then(|| {
        format!(
            "the positions of {frames} frames lie within {} x {} object pixels: expected steps of several pixels, so their unit is probably wrong (data.units.positions)",
            significant(rows, 2),
            significant(columns, 2)
        )
    })
}

/// Object pixels (row, column), m, that are far from square.
fn oblong([row, column]: [f64; 2]) -> Option<String> {
    (row.max(column) > MOST_OBLONG * row.min(column)).then(|| {
        format!(
            "object pixels are {} x {} m: expected sides that differ by less than a factor of {MOST_OBLONG}, so one of the detector's pixel sizes is probably wrong",
            significant(row, 3),
            significant(column, 3)
        )
    })
}

fn few_overlaps(overlap: Option<&Overlap>) -> Option<String> {
    match overlap {
        None => Some("the scan has a single frame, so nothing overlaps".to_owned()),
        Some(o) if o.linear < MIN_OVERLAP => Some(format!(
            "the linear overlap is {} {}'s width: expected {:.0} % or more (a small one may also mean a wrong distance, pixel size or wavelength, or a near-field scan, which needs --near-field)",
            if o.linear > 0.0 {
                format!("about {:.0} % of the", 100.0 * o.linear)
            } else {
                "0, as the step exceeds the".to_owned()
            },
            o.width_of,
            100.0 * MIN_OVERLAP
        )),
        Some(_) => None,
    }
}

fn few_frames(frames: usize) -> Option<String> {
    // A single frame has a sentence of its own.
    (2..MIN_FRAMES).contains(&frames).then(|| {
        format!("the scan has {frames} frames: expected at least {MIN_FRAMES}, as fewer do not determine an object and a probe")
    })
}

/// Frames that carry no information, or the same as others.
fn frames(scan: &Scan) -> Result<Vec<String>, ScratchError> {
    let nouns = ["frame", "frames"];
    let count = scan.shape()[0];
    let per_frame = matches!(scan.mask(), Mask::PerFrame(_));
    // The reader has said which frames it has masked.
    let known = scan.masked_frames();
    let masked: Vec<usize> = (0..count)
        .filter(|frame| per_frame && scan.mask().valid_in(*frame) == 0)
        .collect();
    let unknown: Vec<usize> = (masked.iter().copied())
        .filter(|frame| !known.contains(frame))
        .collect();
    // Counts are not negative.
    let empty = |frame: &usize| scan.sums().of_frames[*frame] == 0.0;
    let dark: Vec<usize> = (0..count)
        .filter(|frame| empty(frame) && !masked.contains(frame))
        .collect();
    let in_file = |frames: &[usize]| scan.stored_frames(frames);
    Ok([
        listed(&in_file(&unknown), nouns, "without a valid pixel"),
        listed(&in_file(&dark), nouns, "without any counts"),
        listed(
            &in_file(&repeated(scan)),
            nouns,
            "at the position of an earlier frame",
        ),
        listed(
            &in_file(&light::identical(scan)?),
            nouns,
            "with exactly the counts of an earlier frame",
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// Frames at exactly the position of an earlier frame.
fn repeated(scan: &Scan) -> Vec<usize> {
    let mut known = std::collections::HashSet::new();
    scan.positions()
        .rows()
        .into_iter()
        .enumerate()
        .filter(|(_, p)| !known.insert([p[0].to_bits(), p[1].to_bits()]))
        .map(|(frame, _)| frame)
        .collect()
}

/// Number of masked pixels, and of all pixels of the mask.
#[must_use]
pub fn masked_pixels(scan: &Scan) -> (usize, usize) {
    let [frames, rows, columns] = scan.shape();
    let bad_of = |frame: usize| rows * columns - scan.mask().valid_in(frame);
    match scan.mask() {
        Mask::Shared(_) => (bad_of(0), rows * columns),
        Mask::PerFrame(_) => ((0..frames).map(bad_of).sum(), frames * rows * columns),
    }
}

fn masked(scan: &Scan) -> Vec<String> {
    let [_, rows, columns] = scan.shape();
    let (bad, of) = masked_pixels(scan);
    let share = bad as f64 / of as f64;
    let mut problems = Vec::new();
    if share > MAX_BAD_FRACTION {
        problems.push(format!(
            "{} % of the pixels are masked as bad",
            significant(100.0 * share, 3)
        ));
    }
    if rows.min(columns) < MIN_SIDE {
        problems.push(format!(
            "frames of {rows} x {columns} pixels are too small to resolve a diffraction pattern"
        ));
    }
    problems
}

/// Values at the upper end: the largest of an integer type, or a count at which many pixels end.
fn counts(scan: &Scan) -> Result<Option<String>, ScratchError> {
    let max = scan.sums().largest;
    let near = 0.95 * max;
    let both = |(at, below): (usize, usize), count: &f32| {
        let is_below = (*count < max) & (*count >= near);
        (
            at + usize::from(*count == max),
            below + usize::from(is_below),
        )
    };
    let sum = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
    let (mut at, mut below) = (0, 0);
    scan.blocks(|_, block| {
        let each: Vec<_> = block.outer_iter().collect();
        let found = each
            .into_par_iter()
            .map(|frame| frame.iter().fold((0, 0), both));
        (at, below) = sum((at, below), found.reduce(|| (0, 0), sum));
        Ok::<(), ScratchError>(())
    })?;
    Ok(of_largest(scan, max, at, below))
}

/// The problem of `at` pixels with the largest count `max`, and `below` with almost as many.
fn of_largest(scan: &Scan, max: f32, at: usize, below: usize) -> Option<String> {
    if let Some(bits) = full_scale(f64::from(max)) {
        return Some(format!(
            "{} with 2^{bits} - 1, a value that detectors use for bad or saturated pixels, not masked",
            count(at, ["pixel", "pixels"])
        ));
    }
    if let Some(problem) = light::two_levels(at, scan, max) {
        return Some(problem);
    }
    piles_up(max, at, below).then(|| {
        let max = warpstride_core::text::shortest(f64::from(max));
        let fewer = if at > below { "fewer" } else { "far fewer with each count" };
        format!(
            "{} with the largest count, {max}, and {fewer} just below it: the detector may have been saturated (--saturation {max} masks them)",
            count(at, ["pixel", "pixels"])
        )
    })
}

/// Whether a detector looks saturated with `at` pixels that have the largest count, and `below`
/// with almost as many: counts of light thin out towards the largest one; those of a saturated
/// detector pile up at it.
pub(crate) fn piles_up(largest: f32, at: usize, below: usize) -> bool {
    let largest = f64::from(largest);
    // Of a detector that ends with all bits set, many pixels with other counts lie just below, but
    // far fewer with each of them.
    let values = (0.05 * largest).floor().max(1.0);
    let all_bits = ENDS.contains(&largest) && at as f64 > PILED * below as f64 / values;
    at >= SATURATED.0 && largest >= SATURATED.1 && (at > below || all_bits)
}

/// Number of bits if `count` is the largest integer of that many bits, rounded to f32.
fn full_scale(count: f64) -> Option<i32> {
    [15, 16, 31, 32, 63, 64]
        .into_iter()
        .find(|bits| count == f64::from((2_f64.powi(*bits) - 1.0) as f32))
}

/// Patterns that do not fade towards the border of the frames.
fn far_field(scan: &Scan, mean: &Array2<f64>) -> Option<String> {
    let [_, rows, columns] = scan.shape();
    if rows.min(columns) < MIN_SIDE {
        return None;
    }
    let [high, wide] = [rows, columns].map(|side| side.div_ceil(BORDER));
    let (mut border, mut whole) = ([0.0; 2], [0.0; 2]);
    for ((row, column), value) in mean.indexed_iter() {
        let masked = match scan.mask() {
            Mask::Shared(plane) => !plane[[row, column]],
            Mask::PerFrame(_) => false,
        };
        if masked {
            continue;
        }
        let outside = row < high || row + high >= rows || column < wide || column + wide >= columns;
        for [sum, pixels] in [Some(&mut whole), outside.then_some(&mut border)]
            .into_iter()
            .flatten()
        {
            *sum += value;
            *pixels += 1.0;
        }
    }
    let ratio = (border[0] / border[1]) / (whole[0] / whole[1]);
    (ratio > MAX_BORDER).then(|| {
        format!(
            "the frames are {} times as bright at their border as on average: expected far-field patterns, which fade towards it (a near-field scan needs --near-field)",
            significant(ratio, 2)
        )
    })
}

fn centre(mean: &Array2<f64>) -> Option<String> {
    let (rows, columns) = mean.dim();
    if let Some(sentence) = corner::wrapped(mean) {
        return Some(sentence);
    }
    let whole = mean.sum();
    let moment = |of: &dyn Fn(usize, usize) -> f64| {
        mean.indexed_iter()
            .map(|((r, c), v)| v * of(r, c))
            .sum::<f64>()
            / whole
    };
    let centre = [moment(&|r, _| r as f64), moment(&|_, c| c as f64)];
    let shape = [rows, columns];
    let off = (0..2).any(|axis| {
        let expected = (shape[axis] / 2) as f64;
        (centre[axis] - expected).abs() > CENTRE_TOLERANCE * shape[axis] as f64
    });
    off.then(|| {
        format!(
            "the centre of mass of all frames is at row {:.1}, column {:.1}: expected the zero frequency at {}, {} (--centre auto looks for it)",
            centre[0], centre[1], rows / 2, columns / 2
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EngineName;
    use crate::data::{Geometry, Propagation};
    use ndarray::{Array2, Array3, Axis};

    /// 30 frames of 32 × 32 pixels: a Gaussian in the middle with counts that vary.
    fn frames_of_light() -> Array3<f32> {
        Array3::from_shape_fn((30, 32, 32), |(f, r, c)| {
            let square = (r as f64 - 16.0).powi(2) + (c as f64 - 16.0).powi(2);
            let noise = ((f * 7 + r * 13 + c * 29) as f64 * 0.618_034).fract();
            ((900.0 + 100.0 * noise) * (-square / 40.0).exp()).floor() as f32
        })
    }

    fn problems(frames: Array3<f32>) -> Vec<String> {
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::FarField,
        };
        let count = frames.dim().0;
        let step = geometry.object_pixel(32, 32)[0] * 4.0;
        let positions = Array2::from_shape_fn((count, 2), |(frame, axis)| {
            step * [frame / 6, frame % 6][axis] as f64
        });
        let scan = Scan::new(frames, None, positions, geometry, None).unwrap();
        diagnose(&scan, &[EngineSpec::new(EngineName::Dm, 1)])
            .unwrap()
            .problems
    }

    #[test]
    fn many_pixels_at_the_largest_count_of_some_bits_are_saturated() {
        for (largest, at, below, expected) in [
            (255.0, 60, 100, true),
            (255.0, 60, 200, false),
            (4095.0, 60, 100, true),
            (4000.0, 60, 100, false),
            (4000.0, 60, 50, true),
            (255.0, 9, 0, false),
        ] {
            assert_eq!(
                piles_up(largest, at, below),
                expected,
                "{largest} {at} {below}"
            );
        }
    }

    #[test]
    fn sound_data_have_no_problems() {
        assert_eq!(problems(frames_of_light()), Vec::<String>::new());
    }

    #[test]
    fn each_doubtful_property_is_named() {
        let mut hot = frames_of_light();
        for mut frame in hot.outer_iter_mut() {
            frame[[5, 27]] = 40.0;
        }
        let mut saturated = frames_of_light();
        saturated.mapv_inplace(|v| v.min(700.0));
        let flat = Array3::from_shape_fn((30, 32, 32), |(f, r, c)| {
            ((f * (r + 1) + r * c) % 31 + 200) as f32
        });
        let mut moved = Array3::zeros((30, 32, 32));
        for ((f, r, c), v) in frames_of_light().indexed_iter() {
            moved[[f, (r + 16) % 32, c]] = *v;
        }
        let mut dark = frames_of_light();
        dark.index_axis_mut(Axis(0), 4).fill(0.0);
        for (frames, expected) in [
            (
                hot,
                "1 pixel with far more counts than the pixels around (row, column), perhaps hot ones that need a mask (--hot-pixels mask): (5, 27)",
            ),
            (
                saturated,
                "with the largest count, 700, and fewer just below it",
            ),
            (flat, "times as bright at their border as on average"),
            (dark, "1 frame without any counts: 4"),
        ] {
            let found = problems(frames);
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        }
        // The border is bright, and the reason is that rows are shifted.
        let found = problems(moved);
        let reasons = ["times as bright at their border", "first and the last row"];
        assert_eq!(found.len(), reasons.len(), "{found:?}");
        for (problem, reason) in found.iter().zip(reasons) {
            assert!(problem.contains(reason), "{found:?}");
        }
    }

    #[test]
    fn frames_are_named_by_their_numbers_in_the_file() {
        let mut dark = frames_of_light();
        dark.index_axis_mut(Axis(0), 4).fill(0.0);
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::FarField,
        };
        let positions = Array2::from_shape_fn((30, 2), |(frame, axis)| {
            1e-8 * [frame / 6, frame % 6][axis] as f64
        });
        let scan = Scan::new(dark, None, positions, geometry, None).unwrap();
        let some: Vec<usize> = (0..30).filter(|frame| *frame != 2).collect();
        let left = scan.of_some(&some).unwrap();
        assert_eq!(
            super::frames(&left).unwrap(),
            ["1 frame without any counts: 4"]
        );
    }

    #[test]
    fn impossible_pixels_and_counts_are_named() {
        assert_eq!(oblong([1e-8, 1.9e-7]), None);
        let found = oblong([7e-8, 3.9e-3]).unwrap();
        assert!(
            found.starts_with("object pixels are 7.00e-8 x 0.00390 m"),
            "{found}"
        );
        let bright = problems(frames_of_light().mapv(|count| count * 1e20));
        assert!(
            bright
                .iter()
                .any(|p| p.contains("more than a detector counts")),
            "{bright:?}"
        );
    }

    #[test]
    fn full_scale_values_of_all_integer_types_are_recognised_after_rounding_to_f32() {
        for (marker, bits) in [
            (u16::MAX as f32, 16),
            (i32::MAX as f32, 31),
            (u32::MAX as f32, 32),
            (u64::MAX as f32, 64),
        ] {
            assert_eq!(full_scale(f64::from(marker)), Some(bits));
        }
        assert_eq!(full_scale(65534.0), None);
        assert_eq!(full_scale(0.0), None);
    }
}
