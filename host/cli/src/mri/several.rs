//! Several images of one scan in one run: slices, contrasts, phases, repetitions and sets.

use super::reconstruct::{Made, Reconstruct};
use super::shared::Shared;
use crate::failure::Failure;
use crate::output::say;
use std::fmt::Write as _;
use std::path::Path;
use warpstride::mri::MriSummary;
use warpstride::mri::data::{ImageIndex, MriImage};
use warpstride::mri::io::images;
use warpstride::run::End;
use warpstride::text::count;

/// Why a run has not computed all images.
enum Stop {
    /// Ctrl-C.
    Interrupted(String),
    /// An image could not be computed.
    Failed(Failure),
}

/// Computes the images one after the other and writes those that are there at the end, also if a
/// later one cannot be computed.
pub(super) fn run(of: &Reconstruct, planned: &[ImageIndex]) -> Result<(), Failure> {
    let pictures = of.files().check_pictures(planned, of.inputs())?;
    let mut made: Vec<Made> = Vec::new();
    let mut shared = Shared::of_several();
    let mut stop = None;
    for (number, index) in (1..).zip(planned) {
        let place = format!("image {number} of {}", planned.len());
        match of.make(Some((*index, planned)), number, &mut shared) {
            Ok(Some(one)) if made.first().is_some_and(|first| !one.is_as_large_as(first)) => {
                let failure = Failure::failed(format!(
                    "{}: expected images of one size, found others (--select reads them one at a time)",
                    one.image.source
                ));
                stop = Some(Stop::Failed(named(failure, *index, planned)));
                break;
            }
            Ok(Some(one)) => {
                let end = one.end;
                let iterations = one.summary.iterations;
                made.push(one);
                if end == End::Interrupted {
                    let text = format!("stopped in {place} after {}", of_iterations(iterations));
                    stop = Some(Stop::Interrupted(text));
                    break;
                }
            }
            Ok(None) => {
                stop = Some(Stop::Interrupted(format!("stopped before {place}")));
                break;
            }
            Err(failure) if made.is_empty() => return Err(named(failure, *index, planned)),
            Err(failure) => {
                stop = Some(Stop::Failed(named(failure, *index, planned)));
                break;
            }
        }
    }
    let done = made.len();
    let mut images: Vec<MriImage> = Vec::with_capacity(done);
    let mut parts = Vec::with_capacity(done);
    for (one, index) in made.into_iter().zip(planned) {
        images.push(one.image);
        parts.push((*index, one.summary));
    }
    let Some(mut summary) = MriSummary::of_images(parts) else {
        return Err(Failure::Interrupted(
            "stopped before the first image".to_owned(),
        ));
    };
    let text = of
        .files()
        .write_images(&images, planned, &pictures, &mut summary)?;
    if of.prints() {
        say(&text)?;
    }
    // Images of several positions are in several NIfTI files, which are written first.
    let files = summary.record.outputs.iter();
    let nifti: Vec<&str> = files
        .map(String::as_str)
        .filter(|name| images::is_nifti(Path::new(name)).is_some())
        .collect();
    let place = match nifti.is_empty() {
        true => of.files().image.display().to_string(),
        false => nifti.join(", "),
    };
    let there = format!(
        "{} of {} {} in {place}",
        done,
        count(planned.len(), ["image", "images"]),
        if done == 1 { "is" } else { "are" },
    );
    match stop {
        None => Ok(()),
        Some(Stop::Interrupted(text)) => Err(Failure::Interrupted(format!("{text}; {there}"))),
        Some(Stop::Failed(failure)) => Err(Failure::failed(format!("{failure}; {there}"))),
    }
}

fn of_iterations(iterations: usize) -> String {
    count(iterations, ["iteration", "iterations"])
}

/// The failure with the name of its image.
fn named(failure: Failure, index: ImageIndex, planned: &[ImageIndex]) -> Failure {
    match failure {
        Failure::Failed(mut text) => {
            // Writing into a string cannot fail.
            let _ = write!(text, " ({})", index.name(planned));
            Failure::Failed(text)
        }
        other => other,
    }
}
