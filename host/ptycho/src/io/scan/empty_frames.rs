//! Frames without any counts.

use crate::EmptyFrames;
use crate::data::Scan;
use warpstride_core::text::{count, ranges, significant};
use warpstride_files::{InputFile, IoError};

/// Counts of the frame in the middle, ordered by their counts, from which on a frame without any is
/// one without beam. The probability that photon noise leaves such a frame without counts is e⁻¹⁰⁰.
const BRIGHT: f64 = 100.0;

/// The scan with the frames masked that have no counts because there was no beam, and a note on
/// them. `frames` is the dataset.
///
/// # Errors
/// The masks of single frames do not fit into memory.
pub(super) fn masked(
    input: &InputFile,
    frames: &str,
    scan: Scan,
    option: EmptyFrames,
    notes: &mut Vec<String>,
) -> Result<Scan, IoError> {
    let counts = &scan.sums().of_frames;
    let mut ordered = counts.clone();
    ordered.sort_by(f64::total_cmp);
    let middle = ordered[ordered.len() / 2];
    let mask = match option {
        EmptyFrames::Auto => middle >= BRIGHT,
        EmptyFrames::Keep => false,
        EmptyFrames::Mask => true,
    };
    let empty = |frame: &usize| counts[*frame] == 0.0 && scan.mask().valid_in(*frame) > 0;
    let empty: Vec<usize> = (0..counts.len()).filter(|_| mask).filter(empty).collect();
    if empty.is_empty() {
        return Ok(scan);
    }
    let [all, rows, columns] = scan.shape().map(|n| n as u128);
    input.allow(frames, all * rows * columns * 5)?;
    notes.push(format!(
        "{} without any counts ({}) beside frames of {} counts (median): taken for frames without beam, and masked (data.empty_frames = \"keep\" uses them)",
        count(empty.len(), ["frame", "frames"]),
        ranges(&scan.stored_frames(&empty)),
        significant(middle, 3)
    ));
    Ok(scan.with_masked_frames(&empty))
}
