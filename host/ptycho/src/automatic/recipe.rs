//! The automatic recipe: which first engine, how many probe modes, which refinements and which last
//! engine suit a scan, by R_free of short trial reconstructions of a part of it.
//!
//! Everything here is decided without an engine: [`AutomaticSearch`] says which trial is next, gets
//! its R_free, and ends with a recipe. A trial is kept if it lowers R_free by more than [`margin`],
//! which is larger than what the choice of the free pixels does; a trial of `ml` as the last
//! engine, with or without a regulariser, if it lowers R_free at all.

mod search;
mod suited;
#[cfg(test)]
mod tests;

pub(crate) use search::{AutomaticSearch, MOST_ITERATIONS, MOST_TRIALS, Trial};
pub use suited::{Decided, suit_engines, template_of, untried_engines};
pub(crate) use suited::{reasons, work};

use crate::quality::free_pixels::LEAST_SHARE;
use crate::{EngineName, EngineSpec, Recipe, StopRule};
use serde::{Deserialize, Serialize};
use warpstride_core::text::{Table, count, significant};

/// Begin of the name of the trial that makes the first object.
const FIRST_OBJECT: &str = "first object by";
/// Iterations of the first engine.
const FIRST: usize = 40;
/// Most iterations of the engine that refines.
const REFINING: usize = 100;
/// Most iterations of the last engine.
const LAST: usize = 100;
/// Most frames of a batch of the engine that refines.
const BATCH: usize = 50;
/// More than the frames of any scan: all of them are one batch.
const ALL: usize = 1_000_000;
/// Momentum of `lsqml` with all frames in one batch.
const MOMENTUM: f64 = 0.9;
/// Part of the [`margin`] that does not depend on the number of free pixels.
const MARGIN: f64 = 0.005;
/// Frames of a scan from which on trials are made.
const FEWEST_FRAMES: usize = 8;
/// Free pixels from which on trials are made.
const FEWEST_FREE: f64 = 200.0;
/// Fewest iterations of a trial.
const SHORT: usize = 20;
/// Most iterations of a trial.
const MOST_SHORT: usize = 80;
/// Pixels from which on trials have the fewest iterations: 128 frames of 128².
const LARGE: usize = 1 << 21;
/// Mean count of a pixel below which the first object is tried without the difference map too.
const DARK: f64 = 3.0;

/// The recipe from which the search starts: `dm`, then `lsqml` in batches of 50 frames, then `ml`,
/// which both end when R_free no longer falls. [`suit_engines`] leaves `dm` out where the parts of
/// the model ask for it.
#[must_use]
pub fn template() -> Recipe {
    let refining = EngineSpec {
        batch: Some(BATCH),
        ..EngineSpec::new(EngineName::Lsqml, REFINING)
    };
    let last = EngineSpec::new(EngineName::Ml, LAST);
    Recipe {
        free_pixels: LEAST_SHARE,
        stop: StopRule::Plateau,
        engines: vec![EngineSpec::new(EngineName::Dm, FIRST), refining, last],
        ..Recipe::default()
    }
}

/// By which part R_free must fall for a trial to be kept: 0.005 + √(2/n), n the number of free
/// pixels. Trials of `ml` as the last engine are kept at any fall.
///
/// The misfits of n pixels that are normally distributed have a sum of squares with a relative
/// standard deviation of √(2/n). Trials share their free pixels, so that the ratio of two R_free
/// scatters less than this.
#[must_use]
fn margin(free: f64) -> f64 {
    MARGIN + (2.0 / free.max(1.0)).sqrt()
}

/// The data of the trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrialData {
    /// Frames of the scan that the trials use.
    pub frames: usize,
    /// Pixels of these frames that are not masked.
    pub valid: usize,
    /// Free pixels of these frames, about.
    pub free: f64,
    /// Mean of the counts of their valid pixels.
    pub mean_count: f64,
}

impl TrialData {
    /// By which part R_free must fall for a trial to be kept; those of `ml` as the last engine are
    /// kept at any fall.
    #[must_use]
    pub(crate) fn margin(&self) -> f64 {
        margin(self.free)
    }

    /// Iterations of a trial, frames being so many times the [`work`]: more where they cost little,
    /// so that what converges slowly is not mistaken.
    fn iterations(&self, work: usize) -> usize {
        (SHORT * LARGE / self.valid.saturating_mul(work).max(1)).clamp(SHORT, MOST_SHORT)
    }

    /// Iterations of `lsqml` in a trial of so many; those of `ml`, which tells numbers of modes
    /// apart better as it converges faster, are the rest.
    fn of_lsqml(iterations: usize) -> usize {
        (iterations / 4).max(SHORT / 2)
    }

    /// Whether there is so little light that a difference map may harm.
    fn is_dark(&self) -> bool {
        self.mean_count < DARK
    }

    /// Why no trials are made, if so.
    #[must_use]
    pub(crate) fn too_small(&self) -> Option<String> {
        if self.frames < FEWEST_FRAMES {
            if self.frames == 0 || self.valid / self.frames > LARGE / FEWEST_FRAMES {
                return Some(format!(
                    "fewer than {FEWEST_FRAMES} frames with counts, or frames so large that so many would take too long"
                ));
            }
            let found = count(self.frames, ["frame", "frames"]);
            return Some(format!("{found} with counts, fewer than {FEWEST_FRAMES}"));
        }
        (self.free < FEWEST_FREE).then(|| {
            format!(
                "about {} free pixels, fewer than {FEWEST_FREE}",
                self.free.round()
            )
        })
    }
}

/// A trial reconstruction and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// What was tried: `2 probe modes`.
    pub name: String,
    /// Engines and iterations: `lsqml:30`.
    pub engines: String,
    /// Iterations.
    pub iterations: usize,
    /// R_free of what was kept before, with which it is compared; absent for the first trial.
    pub before: Option<f64>,
    /// R_free after the last iteration; absent if the trial failed.
    pub r_free: Option<f64>,
    /// Whether it was kept.
    pub kept: bool,
    /// Why the trial failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// What the automatic recipe tried and kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutomaticRecipe {
    /// Frames of the scan that the trials used.
    pub frames: usize,
    /// Free pixels of these frames, about.
    pub free_pixels: usize,
    /// By which part R_free must fall for a trial to be kept; those of `ml` as the last engine are
    /// kept at any fall.
    pub margin: f64,
    /// The trials, in their order.
    pub tried: Vec<Tried>,
    /// Why the engines and trials are those that they are, where the parts of the model decide it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// Why there were none, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untried: Option<String>,
    /// What was kept, in a sentence.
    pub kept: String,
    /// How long the trials took.
    pub seconds: f64,
}

impl AutomaticRecipe {
    /// The columns of [`Self::rows`].
    pub const HEADER: [&'static str; 5] = ["tried", "engines", "before", "R_free", "kept"];

    /// A row for each trial.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 5]> {
        let metric = |value: Option<f64>| value.map_or_else(String::new, |v| significant(v, 4));
        let row = |tried: &Tried| {
            let kept = match (&tried.failed, tried.kept) {
                (Some(_), _) => "failed",
                (None, true) => "yes",
                (None, false) => "no",
            };
            [
                tried.name.clone(),
                tried.engines.clone(),
                metric(tried.before),
                metric(tried.r_free),
                kept.to_owned(),
            ]
        };
        self.tried.iter().map(row).collect()
    }

    /// The trials as a table for a terminal.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new(&Self::HEADER);
        for row in self.rows() {
            table.row(row);
        }
        table
    }

    /// What was tried and kept, and which trials failed.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let because = (self.because.iter()).map(|why| format!("automatic recipe: {why}"));
        if let Some(why) = &self.untried {
            let sentence = format!(
                "automatic recipe: nothing was tried, as the scan has {why}; {}",
                self.kept
            );
            return std::iter::once(sentence).chain(because).collect();
        }
        let mut sentences = vec![format!(
            "automatic recipe: {} ({} of {}, each kept if R_free falls by more than {} %, \
             ml as the last engine if it falls at all)",
            self.kept,
            count(self.tried.len(), ["trial", "trials"]),
            count(self.frames, ["frame", "frames"]),
            significant(100.0 * self.margin, 2),
        )];
        sentences.extend(because);
        let failed = self.tried.iter().filter_map(|tried| {
            let why = tried.failed.as_ref()?;
            Some(format!(
                "automatic recipe: {} could not be tried: {why}",
                tried.name
            ))
        });
        sentences.extend(failed);
        let compared = |tried: &Tried| tried.kept && !tried.name.starts_with(FIRST_OBJECT);
        if !self.tried.is_empty() && !self.tried.iter().any(compared) {
            sentences.push(
                "automatic recipe: there was no R_free to compare with, so nothing else was tried"
                    .to_owned(),
            );
        }
        sentences
    }

    /// As JSON in one line, for a result or a checkpoint.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What [`Self::to_json`] has written; `None` for any other text.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Engines as on the command line: `dm:40 lsqml:30`.
pub(crate) fn engine_list(engines: &[EngineSpec]) -> String {
    let names: Vec<String> = (engines.iter())
        .map(|engine| format!("{}:{}", engine.name.as_str(), engine.iterations))
        .collect();
    names.join(" ")
}
