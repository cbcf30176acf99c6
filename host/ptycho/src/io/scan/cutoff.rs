//! Counts that are too large to be true: a detector says from which on it misses photons.

use super::extremes::Extremes;
use super::no_data::{fits, of_each};
use crate::data::{Frames, Mask};
use ndarray::{Array2, Array3};
use rayon::prelude::*;
use warpstride_core::system::ScratchError;
use warpstride_core::text::{count, shortest};
use warpstride_files::{InputFile, IoError};

/// The least count that is masked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cutoff {
    path: String,
    least: f64,
    /// Whether such counts are infinite in the frames.
    marked: bool,
}

impl Cutoff {
    /// `path` names what says that counts from `least` on are too large.
    pub(super) fn new(path: &str, least: f64) -> Self {
        Self {
            path: path.to_owned(),
            least,
            marked: false,
        }
    }

    /// The same, in frames in which the counts that are masked are infinite, as the others have
    /// been multiplied.
    pub(super) fn of_multiplied(self) -> Self {
        Self {
            marked: true,
            ..self
        }
    }

    /// The least count that is masked.
    pub(super) fn least(&self) -> f32 {
        self.least as f32
    }

    /// Adds the pixels with such counts to the mask of `frames` (path and counts), of each frame
    /// that has them. Says so in `notes`. `extremes` are those of the counts that are not masked,
    /// or of more of them.
    ///
    /// # Errors
    /// One mask for each frame does not fit into memory, or the temporary file of the counts cannot
    /// be read.
    pub(super) fn mask(
        &self,
        input: &InputFile,
        (path, frames): (&str, &Frames),
        (mask, extremes): (Option<Mask>, &Extremes),
        notes: &mut Vec<String>,
    ) -> Result<Option<Mask>, IoError> {
        let [all, rows, columns] = frames.shape();
        let least = if self.marked {
            f32::INFINITY
        } else {
            self.least()
        };
        // A mask of another shape is refused with the scan.
        if mask.as_ref().is_some_and(|mask| !fits(mask, frames)) || extremes.none_from(least) {
            return Ok(mask);
        }
        let masked = |frame: usize, row: usize, column: usize| match &mask {
            None => false,
            Some(Mask::Shared(plane)) => !plane[[row, column]],
            Some(Mask::PerFrame(each)) => !each[[frame, row, column]],
        };
        let mut frames_with = 0;
        let mut over = Array2::<usize>::zeros((rows, columns));
        frames.blocks(|first, block| {
            let each: Vec<_> = block.outer_iter().zip(first..).collect();
            let some = each.into_par_iter().filter(|(counts, frame)| {
                let valid = mask.as_ref().map(|mask| mask.of_frame(*frame));
                !Extremes::of_frame(*counts, valid).none_from(least)
            });
            for (counts, frame) in some.collect::<Vec<_>>() {
                let mut any = false;
                for ((row, column), value) in counts.indexed_iter() {
                    if *value >= least && !masked(frame, row, column) {
                        over[[row, column]] += 1;
                        any = true;
                    }
                }
                frames_with += usize::from(any);
            }
            Ok::<(), ScratchError>(())
        })?;
        if frames_with == 0 {
            return Ok(mask);
        }
        notes.push(format!(
            "{path}: masked {}, in {}, with counts from {} on, which the detector cannot measure ({})",
            count(over.iter().filter(|n| **n > 0).count(), ["pixel", "pixels"]),
            count(frames_with, ["frame", "frames"]),
            shortest(self.least),
            self.path
        ));
        // Pixels that are too large in every frame fit into one mask for all.
        let shared = over.iter().all(|n| *n == 0 || *n == all);
        if shared && !matches!(mask, Some(Mask::PerFrame(_))) {
            let mut plane = match mask {
                Some(Mask::Shared(plane)) => plane,
                _ => Array2::from_elem((rows, columns), true),
            };
            plane.zip_mut_with(&over, |valid, n| *valid &= *n == 0);
            return Ok(Some(Mask::Shared(plane)));
        }
        let bytes = if frames.in_memory().is_some() { 5 } else { 1 };
        input.allow(path, bytes * (all * rows * columns) as u128)?;
        let mut each = match mask {
            Some(Mask::PerFrame(each)) => each,
            Some(Mask::Shared(plane)) => of_each(&plane, all),
            None => Array3::from_elem((all, rows, columns), true),
        };
        frames.blocks(|first, block| {
            let valid = each.outer_iter_mut().skip(first);
            let both: Vec<_> = valid.zip(block.outer_iter()).collect();
            both.into_par_iter().for_each(|(mut valid, frame)| {
                valid.zip_mut_with(&frame, |valid, value| *valid &= *value < least);
            });
            Ok::<(), ScratchError>(())
        })?;
        Ok(Some(Mask::PerFrame(each)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_core::system::Memory;

    #[test]
    fn too_large_counts_are_masked_where_they_are() {
        let input = InputFile::new(std::path::Path::new("x"), Memory::available());
        let mask = |frames: &Array3<f32>, mask: Option<Mask>| {
            let mut notes = Vec::new();
            let frames = frames.clone().into();
            let extremes = Extremes::of(&frames, mask.as_ref()).unwrap();
            let cutoff = Cutoff::new("/cutoff", 100.0);
            let found = cutoff.mask(&input, ("/data", &frames), (mask, &extremes), &mut notes);
            (found.unwrap(), notes.concat())
        };
        let mut counts = Array3::from_elem((3, 2, 2), 99.0_f32);
        let (found, notes) = mask(&counts, None);
        assert!(found.is_none() && notes.is_empty());
        counts[[1, 0, 1]] = 100.0;
        let (found, notes) = mask(&counts, None);
        let mut expected = Array3::from_elem((3, 2, 2), true);
        expected[[1, 0, 1]] = false;
        assert_eq!(found, Some(Mask::PerFrame(expected.clone())));
        assert!(
            notes.contains("1 pixel, in 1 frame, with counts from 100 on"),
            "{notes}"
        );
        // Those that are masked already need no mask for each frame.
        let mut plane = Array2::from_elem((2, 2), true);
        plane[[0, 1]] = false;
        let hidden = Some(Mask::Shared(plane.clone()));
        assert_eq!(mask(&counts, hidden.clone()), (hidden, String::new()));
        // A pixel of all frames.
        counts
            .index_axis_mut(ndarray::Axis(1), 0)
            .column_mut(1)
            .fill(200.0);
        assert_eq!(mask(&counts, None).0, Some(Mask::Shared(plane)));
    }
}
