//! Frames that are no measurements of the specimen in the beam, and pixels that never count.

use crate::checks::diagnosis::dead_pixels::dark;
use crate::checks::diagnosis::hot_pixels::valid_somewhere;
use crate::checks::diagnosis::listed::{STUCK, listed_pixels};
use crate::checks::diagnosis::stuck_pixels::stuck;
use crate::data::Scan;
use crate::{BadFrameSetting, BadFrames, EmptyFrames, HotPixelSetting, HotPixels, ReadOptions};
use warpstride_core::system::ScratchError;
use warpstride_core::text::{count, ranges, significant};
use warpstride_files::{InputFile, IoError};

/// Share of the counts in the middle above which frames are not said to have no beam, but not its
/// pattern.
const BRIGHT: f64 = 0.1;

/// The scan without the frames that are certainly bad, and notes on them and on doubtful ones.
/// `frames` is the dataset.
///
/// # Errors
/// Bad or doubtful frames are refused, only bad ones are left, or a copy of the others does not fit
/// into memory.
pub(super) fn left_out(
    input: &InputFile,
    frames: &str,
    scan: Scan,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Scan, IoError> {
    let mut found = BadFrames::find(&scan)?;
    if options.empty_frames == EmptyFrames::Keep {
        let counts = &scan.sums().of_frames;
        found.without_beam.retain(|frame| counts[*frame] > 0.0);
    }
    let refuses = options.bad_frames == BadFrameSetting::Error;
    let mut sentences = sentences(&scan, &found);
    if refuses && options.empty_frames != EmptyFrames::Keep {
        sentences.extend(without_counts(&scan));
    }
    let certain = found.certain();
    if sentences.is_empty() {
        return Ok(scan);
    }
    if refuses {
        let all: Vec<String> = sentences.into_iter().map(|(text, _)| text).collect();
        return Err(IoError::Value {
            file: input.name().to_owned(),
            dataset: frames.to_owned(),
            expected: "frames of the specimen in the beam (data.bad_frames)".to_owned(),
            found: format!(
                "{}; --exclude with these numbers leaves them out",
                all.join(", and ")
            ),
        });
    }
    let masks = options.bad_frames == BadFrameSetting::Mask && certain.len() < scan.shape()[0];
    notes.extend(sentences.into_iter().map(|(text, certain)| {
        let done = match (certain, masks) {
            (true, true) => "left out (data.bad_frames = \"keep\" uses them)",
            (true, false) => "used as they are (data.bad_frames = \"mask\" leaves them out)",
            (false, _) => "doubtful, but used: look at them, --exclude leaves them out",
        };
        format!("{text}: {done}")
    }));
    if !masks || certain.is_empty() {
        return Ok(scan);
    }
    let [all, rows, columns] = scan.shape();
    let used: Vec<usize> = (0..all)
        .filter(|n| certain.binary_search(n).is_err())
        .collect();
    if scan.scratch_folder().is_none() {
        let both = (all + used.len()) as u128;
        input.allow(frames, both * (rows * columns) as u128 * 4)?;
    }
    scan.of_some(&used).map_err(|error| IoError::Invalid {
        file: input.name().to_owned(),
        dataset: frames.to_owned(),
        reason: error.to_string(),
    })
}

/// Frames and pixels of a scan that is used as it is, but which a file's scan would be used without:
/// one sentence each. Frames without any counts are not among them.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub fn used_faults(scan: &Scan) -> Result<Vec<String>, ScratchError> {
    let mut found = BadFrames::find(scan)?;
    let counts = &scan.sums().of_frames;
    found.without_beam.retain(|frame| counts[*frame] > 0.0);
    let frames = sentences(scan, &found).into_iter().map(|(text, certain)| {
        let doubtful = if certain { "" } else { "doubtful, but " };
        format!("{text}: {doubtful}used; leave them out, or mask them")
    });
    let [number, rows, columns] = scan.shape();
    let mean = scan.mean_frame();
    let photons = &mean / scan.counts_of_photon()?;
    let dark = dark(&photons, &valid_somewhere(scan), number);
    let never = dark.what();
    let pixels = [(dark.dead, never), (stuck(scan, &mean)?, STUCK)];
    let pixels = (pixels.iter()).filter_map(|(pixels, what)| {
        let listed = listed_pixels(pixels, *what, [rows, columns], &|place| place)?;
        Some(format!("{listed}, unlike those around: used; mask them"))
    });
    Ok(frames.chain(pixels).collect())
}

/// A sentence on each kind of bad frames, and whether they are certainly bad.
fn sentences(scan: &Scan, found: &BadFrames) -> Vec<(String, bool)> {
    let light = &scan.sums().of_frames;
    let certain = found.certain();
    let stays = |frame: &usize| certain.binary_search(frame).is_err();
    let used = (0..light.len()).filter(stays);
    let mut ordered: Vec<f64> = used.map(|frame| light[frame]).collect();
    ordered.sort_by(f64::total_cmp);
    let middle = ordered.get(ordered.len() / 2).copied().unwrap_or(0.0);
    let of = |frames: &[usize]| {
        let ends = (frames.iter()).fold([f64::INFINITY, 0.0_f64], |[low, high], frame| {
            [low.min(light[*frame]), high.max(light[*frame])]
        });
        let [low, high] = ends.map(|counts| significant(counts, 3));
        let range = if low == high {
            low
        } else {
            format!("{low} to {high}")
        };
        format!(
            "with {range} {} beside {} (median)",
            if range == "1" { "count" } else { "counts" },
            significant(middle, 3)
        )
    };
    // Frames with a lot of light, such as a bright background.
    let is_bright = |frame: &usize| light[*frame] > BRIGHT * middle;
    let without = match found.without_beam.iter().any(is_bright) {
        true => "without the beam's pattern",
        false => "without beam",
    };
    let kinds = [
        (&found.without_beam, without, true),
        (
            &found.too_bright,
            "far brighter than all frames around, as no specimen makes them",
            true,
        ),
        (
            &found.darker,
            "darker than all frames around at once",
            false,
        ),
        (
            &found.brighter,
            "brighter than all frames around at once",
            false,
        ),
        (
            &found.unlike,
            "with a pattern unlike that of the frames around",
            false,
        ),
        (
            &found.incomplete,
            "with hardly any counts in a part of the detector in which the other frames have them",
            false,
        ),
        (
            &found.bright_lines,
            "with whole rows or columns far brighter than those beside them, which other frames do not have",
            false,
        ),
        (
            &found.shifted,
            "with patterns a whole number of pixels from those of the other frames, as after a slip of the readout",
            false,
        ),
        (
            &found.brighter_level,
            "several times as bright as the others at once, as if exposures or gains differed, though either may be the wrong ones",
            false,
        ),
        (
            &found.undecided,
            "far brighter than the others, and no pattern shows which of them have the beam, so that no frame is judged",
            false,
        ),
    ];
    (kinds.into_iter())
        .filter(|(frames, ..)| !frames.is_empty())
        .map(|(frames, what, certain)| {
            let text = format!(
                "{} ({}) {what}, {}",
                count(frames.len(), ["frame", "frames"]),
                ranges(&scan.stored_frames(frames)),
                of(frames)
            );
            (text, certain)
        })
        .collect()
}

/// A sentence on frames without any counts that are not masked.
fn without_counts(scan: &Scan) -> Option<(String, bool)> {
    let counts = &scan.sums().of_frames;
    let dark = |frame: &usize| counts[*frame] == 0.0 && scan.mask().valid_in(*frame) > 0;
    let dark: Vec<usize> = (0..counts.len()).filter(dark).collect();
    let text = || {
        let number = count(dark.len(), ["frame", "frames"]);
        format!(
            "{number} ({}) without any counts",
            ranges(&scan.stored_frames(&dark))
        )
    };
    (!dark.is_empty()).then(|| (text(), true))
}

/// The scan with the pixels masked that never count within the light, or always the same, and notes
/// on them. `frames` is the dataset.
///
/// # Errors
/// No other pixels are left, or a temporary file cannot be read.
pub(super) fn without_dead_pixels(
    input: &InputFile,
    frames: &str,
    mut scan: Scan,
    option: HotPixels,
    notes: &mut Vec<String>,
) -> Result<Scan, IoError> {
    let [number, rows, columns] = scan.shape();
    let mean = scan.mean_frame();
    let photon = scan.counts_of_photon()?;
    let photons = &mean / photon;
    let stuck = stuck(&scan, &mean)?;
    // The light of a stuck pixel says nothing of those around.
    let mut valid = valid_somewhere(&scan);
    valid.zip_mut_with(&stuck, |valid, stuck| *valid &= !stuck);
    let dark = dark(&photons, &valid, number);
    let never = dark.what();
    for (pixels, what, note) in [
        (dark.dead, never, dead_note as fn(&str, HotPixels) -> _),
        (dark.doubtful, never, doubtful_note),
        (stuck, STUCK, dead_note),
    ] {
        let stored = scan.stored_pixels();
        let in_file = |place| stored.and_then(|stored| stored.of(place)).unwrap_or(place);
        let Some(listed) = listed_pixels(&pixels, what, [rows, columns], &in_file) else {
            continue;
        };
        let Some((note, masks)) = note(&listed, option) else {
            continue;
        };
        notes.push(note);
        if masks {
            scan = (scan.with_masked_pixels(&pixels)).map_err(|error| IoError::Invalid {
                file: input.name().to_owned(),
                dataset: frames.to_owned(),
                reason: error.to_string(),
            })?;
        }
    }
    Ok(scan)
}

/// The note on such pixels, and whether they are masked.
pub(super) fn dead_note(listed: &str, option: HotPixels) -> Option<(String, bool)> {
    let masks = option != HotPixels::Setting(HotPixelSetting::Keep);
    let done = match masks {
        true => "masked (data.hot_pixels = \"keep\" uses them)",
        false => "used as they are (data.hot_pixels = \"report\" masks them)",
    };
    Some((format!("{listed}, unlike those around: {done}"), masks))
}

/// The note on pixels that may be dead, and whether they are masked; none if the option says that
/// they are used.
pub(super) fn doubtful_note(listed: &str, option: HotPixels) -> Option<(String, bool)> {
    let masks = option == HotPixels::Setting(HotPixelSetting::Mask);
    let done = match (masks, option) {
        (true, _) => "masked (data.hot_pixels = \"report\" uses them)",
        (false, HotPixels::Setting(HotPixelSetting::Keep)) => return None,
        (false, _) => {
            "used as they are, as in the shadow of a central stop or between the parts of the illumination; if a beamstop or a gap of the detector hides light there, data.hot_pixels = \"mask\" masks them"
        }
    };
    let text = format!("{listed} symmetrically in the middle of the light: {done}");
    Some((text, masks))
}
