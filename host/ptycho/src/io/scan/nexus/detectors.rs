//! The choice of the detector with the diffraction patterns among several of a NeXus file.

use super::classes::heads;
use super::transformations::resolved;
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Most axes of a chain that are looked at.
const MOST_AXES: usize = 32;

/// A detector with frames.
pub(super) struct Candidate<'s> {
    pub(super) numbers: Numbers<'s>,
    pub(super) detector: String,
}

/// What speaks for a detector, the most important first: one frame for each position, a pixel size
/// or a distance, and the pixels of a frame.
type Merits = (bool, bool, usize);

impl Candidate<'_> {
    fn merits(&self, source: &Source, positions: Option<usize>) -> Merits {
        let shape = self.numbers.shape();
        let (stack, frame) = shape.split_at(shape.len() - 2);
        let product = |of: &[usize]| of.iter().fold(1_usize, |all, n| all.saturating_mul(*n));
        let geometry = [
            "x_pixel_size",
            "y_pixel_size",
            "distance",
            "detector_distance",
        ];
        let has = |name: &&str| {
            source
                .has(&format!("{}/{name}", self.detector))
                .unwrap_or(false)
        };
        (
            positions == Some(product(stack)),
            geometry.iter().any(has),
            product(frame),
        )
    }

    /// Its frames and their shape.
    fn described(&self) -> String {
        let shape: Vec<String> = self
            .numbers
            .shape()
            .iter()
            .map(ToString::to_string)
            .collect();
        format!("{} ({})", self.numbers.path(), shape.join(" x "))
    }
}

/// The detector that `chosen` names, or the one for which most speaks.
///
/// # Errors
/// None has that name, or as much speaks for another.
pub(super) fn choose<'s>(
    source: &Source,
    samples: &[String],
    mut found: Vec<Candidate<'s>>,
    chosen: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Candidate<'s>, IoError> {
    let all: Vec<String> = found.iter().map(Candidate::described).collect();
    let refuse = |expected: &str| IoError::Option {
        file: source.name().to_owned(),
        option: "data.dataset",
        reason: format!("expected {expected}, found {}", all.join(", ")),
    };
    if let Some(chosen) = chosen {
        let name = chosen.trim_end_matches('/');
        let place = found
            .iter()
            .position(|of| of.detector == name || of.numbers.path() == name);
        let place =
            place.ok_or_else(|| refuse(&format!("the frames of a detector, not {name}")))?;
        return Ok(found.swap_remove(place));
    }
    if found.len() > 1 {
        let positions = number_of_positions(source, samples)?;
        found.sort_by_key(|of| std::cmp::Reverse(of.merits(source, positions)));
        let best = found[0].merits(source, positions);
        if found[1].merits(source, positions) == best {
            return Err(refuse(&format!(
                "the name of the dataset with the diffraction patterns (--dataset {}), as several detectors have frames of this size",
                found[0].numbers.path()
            )));
        }
        notes.push(format!(
            "of the frames of several detectors, {}, those of {} are read (--dataset chooses others)",
            all.join(", "),
            found[0].detector
        ));
    }
    Ok(found.swap_remove(0))
}

/// The number of positions of the sample's stage: the most values of an axis in its chain.
fn number_of_positions(source: &Source, samples: &[String]) -> Result<Option<usize>, IoError> {
    let mut most = None;
    for sample in samples {
        for mut path in heads(source, sample)? {
            for _ in 0..MOST_AXES {
                if let Ok(Some(numbers)) = source.numbers(&path) {
                    let values = numbers.shape().iter().product::<usize>();
                    most = most.max((values > 1).then_some(values));
                }
                let Some(next) = source.attribute(&path, "depends_on").ok().flatten() else {
                    break;
                };
                if next == "." {
                    break;
                }
                let group = path
                    .rsplit_once('/')
                    .map_or("", |(group, _)| group)
                    .to_owned();
                path = resolved(&group, &next);
            }
        }
    }
    Ok(most)
}
