//! What the dimensions of the arrays mean, and which parts of them make an image.

use crate::data::ImageIndex;
use crate::io::ismrmrd::{Choice, Counter, LeftOut, Selection, absent};
use warpstride_core::system::{Bytes, Memory};
use warpstride_files::IoError;
use warpstride_files::cfl::{CflFile, DIMENSIONS};

/// Names of the dimensions in BART's documentation.
const NAMES: [&str; DIMENSIONS] = [
    "READ", "PHS1", "PHS2", "COIL", "MAPS", "TE", "COEFF", "COEFF2", "ITER", "CSHIFT", "TIME",
    "TIME2", "LEVEL", "SLICE", "AVG", "BATCH",
];
/// Positions kx, ky, kz in a trajectory; 1 in samples that are not Cartesian.
const READ: usize = 0;
/// Samples of a readout.
pub(super) const PHS1: usize = 1;
/// Readouts.
const PHS2: usize = 2;
/// Coils.
pub(super) const COIL: usize = 3;
/// Slices that are images of their own.
pub(in crate::io) const SLICE: usize = 13;
/// Averages, which are joined.
const AVG: usize = 14;

/// The dimensions that tell images apart.
pub(in crate::io) const COUNTERS: [(usize, Counter); 5] = [
    (5, Counter::Contrast),
    (10, Counter::Repetition),
    (11, Counter::Phase),
    (SLICE, Counter::Slice),
    (15, Counter::Set),
];

/// The parts of the arrays that make an image: blocks of all samples, readouts and coils.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The index of each block along every dimension.
    indices: Vec<[usize; DIMENSIONS]>,
    /// Samples of a block.
    samples: usize,
}

/// Checks that the samples are not Cartesian, that the trajectory is one, and that they match.
pub(super) fn check(samples: &CflFile, trajectory: &CflFile) -> Result<(), IoError> {
    let (of_samples, of_trajectory) = (samples.dimensions(), trajectory.dimensions());
    let wrong = |file: &CflFile, expected: String| IoError::Shape {
        file: file.name().to_owned(),
        dataset: "the array".to_owned(),
        found: file.shape().to_vec(),
        expected,
    };
    if of_samples[READ] != 1 {
        return Err(wrong(
            samples,
            "samples of readouts, (1, sample, readout, coil) (Cartesian samples, with READ above 1, need no trajectory: BART's fft and pics reconstruct them)".to_owned(),
        ));
    }
    if of_trajectory[READ] != 3 || of_trajectory[COIL] != 1 {
        return Err(wrong(
            trajectory,
            "a trajectory, (3, sample, readout): kx, ky and kz of each sample".to_owned(),
        ));
    }
    for dimension in [PHS1, PHS2] {
        if of_samples[dimension] != of_trajectory[dimension] {
            return Err(wrong(
                trajectory,
                format!(
                    "{} samples of {} readouts, as in {}",
                    of_samples[PHS1],
                    of_samples[PHS2],
                    samples.name()
                ),
            ));
        }
    }
    for dimension in COIL + 1..DIMENSIONS {
        let known = dimension == AVG || COUNTERS.iter().any(|(of, _)| *of == dimension);
        let (count, positions) = (of_samples[dimension], of_trajectory[dimension]);
        if count > if known { usize::from(u16::MAX) } else { 1 } {
            let most = if known { u16::MAX } else { 1 };
            return Err(wrong(
                samples,
                format!(
                    "at most {most} along dimension {dimension} ({})",
                    NAMES[dimension]
                ),
            ));
        }
        if positions != 1 && positions != count {
            return Err(wrong(
                trajectory,
                format!(
                    "1 or {count} along dimension {dimension} ({}), as in {}",
                    NAMES[dimension],
                    samples.name()
                ),
            ));
        }
    }
    Ok(())
}

/// Most images that are listed.
const MAX_IMAGES: usize = 1 << 16;

/// The images that `select` selects, sorted.
pub(super) fn images(samples: &CflFile, select: &Selection) -> Result<Vec<ImageIndex>, IoError> {
    let mut images = vec![ImageIndex::default()];
    for (dimension, counter) in COUNTERS {
        let count = samples.dimensions()[dimension];
        let values = match select.of(counter) {
            Some(Choice::All) => 0..count,
            Some(Choice::One(value)) => usize::from(value)..usize::from(value) + 1,
            Some(Choice::Combined) | None => 0..1,
        };
        if images.len().saturating_mul(values.len()) > MAX_IMAGES {
            return Err(IoError::Shape {
                file: samples.name().to_owned(),
                dataset: "the array".to_owned(),
                found: samples.shape().to_vec(),
                expected: format!("at most {MAX_IMAGES} images (--select)"),
            });
        }
        let before = std::mem::take(&mut images);
        for value in values {
            images.extend(before.iter().map(|index| {
                let mut index = *index;
                counter.set(&mut index, u16::try_from(value).unwrap_or(u16::MAX));
                index
            }));
        }
    }
    images.sort_unstable();
    Ok(images)
}

/// Number of readouts of all images.
pub(super) fn readouts(dimensions: &[usize; DIMENSIONS]) -> usize {
    dimensions[PHS2] * dimensions[COIL + 1..].iter().product::<usize>()
}

impl Blocks {
    /// The blocks of the image that `select` chooses, whose samples fit into `memory`, and the
    /// readouts of others.
    pub(super) fn choose(
        samples: &CflFile,
        select: &Selection,
        image: Option<ImageIndex>,
        memory: Memory,
        notes: &mut Vec<String>,
    ) -> Result<(Self, Vec<LeftOut>), IoError> {
        let dimensions = samples.dimensions();
        let mut index = [0; DIMENSIONS];
        let mut left_out = Vec::new();
        let mut remaining = readouts(dimensions);
        let mut joined = vec![AVG];
        for counter in Counter::ALL {
            let Some((dimension, _)) = COUNTERS.iter().find(|(_, of)| *of == counter) else {
                continue;
            };
            let count = dimensions[*dimension];
            // The dimension has been checked to be small enough.
            let range = [0, u16::try_from(count - 1).unwrap_or(u16::MAX)];
            let Some(value) = select.value(counter, range, image, notes) else {
                joined.push(*dimension);
                continue;
            };
            if usize::from(value) >= count {
                return Err(absent(samples.name(), counter, value, range));
            }
            index[*dimension] = usize::from(value);
            let is_own = select.of(counter) == Some(Choice::All);
            if count > 1 && !is_own {
                left_out.push(LeftOut {
                    what: format!("readouts of another {counter}"),
                    acquisitions: remaining - remaining / count,
                });
            }
            remaining /= count;
        }
        joined.sort_unstable();
        let each = dimensions[PHS1] * dimensions[PHS2];
        let blocks = joined
            .iter()
            .fold(1, |n: u128, of| n * dimensions[*of] as u128);
        // Samples, their positions, one more trajectory for the check, and the index of each block.
        let sample = 16 * dimensions[COIL] as u128 + 16 * 3;
        let needed = blocks * (each as u128 * sample + size_of_val(&index) as u128);
        if needed > u128::from(memory.limit()) {
            return Err(IoError::AcquisitionsTooLarge {
                file: samples.name().to_owned(),
                dataset: "the samples".to_owned(),
                needed: Bytes(needed),
                available: Bytes(u128::from(memory.limit())),
            });
        }
        let mut indices = vec![index];
        for dimension in joined {
            let count = dimensions[dimension];
            let before = std::mem::take(&mut indices);
            for value in 0..count {
                let along = before.iter().copied().map(|mut index| {
                    index[dimension] = value;
                    index
                });
                indices.extend(along);
            }
        }
        let samples = each;
        Ok((Self { indices, samples }, left_out))
    }

    /// Samples of each block.
    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    /// The slice of the image, of which all blocks are.
    pub(super) fn slice(&self) -> u16 {
        let slice = self.indices.first().map_or(0, |index| index[SLICE]);
        // The dimension has been checked to be small enough.
        u16::try_from(slice).unwrap_or(u16::MAX)
    }

    /// Number of blocks.
    pub(super) fn count(&self) -> usize {
        self.indices.len()
    }

    /// The first element of each block in an array with these dimensions, which may be 1 where all
    /// images share it.
    pub(super) fn of(&self, dimensions: &[usize; DIMENSIONS]) -> Vec<usize> {
        let first = |index: &[usize; DIMENSIONS]| {
            let sides = dimensions.iter().zip(index);
            let (first, _) = sides.fold((0, 1), |(first, stride), (side, at)| {
                (first + stride * (*at).min(side - 1), stride * side)
            });
            first
        };
        self.indices.iter().map(first).collect()
    }
}
