//! Trial reconstructions of the orientations, and what follows from them.

use super::Orientation;
use crate::data::{Scan, ScanError};
use serde::Serialize;
use std::fmt;
use warpstride_core::text::{Table, count, significant};

/// R_free of the best class, or in the near field of the best orientation, as a share of that of
/// the second best, up to which it is found.
const CLASS: f64 = 0.6;
/// R_free of an orientation, as a share of that of its twin, up to which the start probe decides
/// between the two.
const TWIN: f64 = 0.6;
/// Correlation of phase and absorption from which its sign decides between an orientation and its
/// twin.
const ABSORPTION: f64 = 0.15;

/// The start probe of the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartOfTrials {
    /// The illumination in the file: a known probe, whose twin is another.
    File,
    /// A probe that the recipe describes with its defocus.
    Recipe,
    /// The mean pattern with a defocus found by trial, of either sign.
    Searched,
    /// The mean pattern of near fields, propagated back to the specimen.
    Propagated,
}

/// R of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrialR {
    /// R after the last iteration.
    pub r_factor: f64,
    /// R of the free pixels.
    pub r_free: f64,
    /// Correlation of the phase's steps with those of log|O|; absent if the object has neither.
    pub absorption: Option<f64>,
}

/// What a trial found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult {
    /// How well the frames are fitted.
    Fitted(TrialR),
    /// Why the orientation was not tried.
    Skipped(String),
}

/// A short reconstruction with one orientation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// The orientation.
    pub orientation: Orientation,
    /// What it gave.
    pub result: TrialResult,
}

impl Trial {
    /// R, if the orientation was tried.
    #[must_use]
    pub fn fitted(&self) -> Option<&TrialR> {
        match &self.result {
            TrialResult::Fitted(r) => Some(r),
            TrialResult::Skipped(_) => None,
        }
    }
}

/// Why one of two twins is the right one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The start probe fits one of the two: R_free of the right one and of its twin.
    Probe {
        /// R_free of the orientation.
        r_free: f64,
        /// R_free of its twin.
        twin: f64,
    },
    /// Intensities of near fields, which differ between all orientations: R_free of the right one
    /// and of its twin.
    NearField {
        /// R_free of the orientation.
        r_free: f64,
        /// R_free of its twin.
        twin: f64,
    },
    /// X-rays: the phase is negative where the specimen absorbs; the correlation with log|O|.
    Absorption(f64),
}

/// How an orientation was distinguished from its twin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TwinDecision {
    /// Something that is known decides.
    Resolved(Evidence),
    /// Nothing does.
    Unresolved,
}

/// The orientation that follows from the trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// One class fits clearly better than the others.
    Found {
        /// The orientation to use.
        orientation: Orientation,
        /// The other one of its class.
        twin: Orientation,
        /// How the two were distinguished.
        by: TwinDecision,
    },
    /// No class does, or there was nothing to compare with.
    Unclear,
}

/// The trials of a search for the orientation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OrientationSearch {
    /// The orientation before the search.
    pub given: Orientation,
    /// Frames of the scan that the trials used.
    pub frames: usize,
    /// Iterations of each trial.
    pub iterations: usize,
    /// Start probe.
    pub start: StartOfTrials,
    /// Whether frames are near fields, in which no two orientations are twins.
    pub near_field: bool,
    /// Whether the phase can tell twins apart: with X-rays.
    pub x_rays: bool,
    /// The trials: one of a class if its twin would start from its own twin, else both, as always
    /// in the near field.
    pub trials: Vec<Trial>,
    /// What follows from them.
    pub decision: Decision,
    /// How long they took.
    pub seconds: f64,
}

impl OrientationSearch {
    /// Draws the conclusions from the trials; `decision` is replaced.
    #[must_use]
    pub fn decided(mut self) -> Self {
        self.decision = self.decide();
        self
    }

    /// `part` of the scan, which has the orientation before the search, brought to `orientation`,
    /// with the start probe of the trials.
    ///
    /// # Errors
    /// None for a part of a valid scan, whose counts are in memory.
    pub fn turned(&self, part: &Scan, orientation: Orientation) -> Result<Scan, ScanError> {
        let change = orientation.after(self.given.inverse());
        let frames = part.frames()?.into_owned();
        let unknown = [StartOfTrials::Searched, StartOfTrials::Propagated];
        let known = !unknown.contains(&self.start);
        let probe = part.probe().filter(|_| known).cloned();
        let positions = change.applied_to(part.positions());
        let mask = Some(part.mask().clone());
        Scan::new(frames, mask, positions, *part.geometry(), probe)
    }

    /// The orientation to use.
    #[must_use]
    pub fn orientation(&self) -> Orientation {
        match self.decision {
            Decision::Found { orientation, .. } => orientation,
            Decision::Unclear => self.given,
        }
    }

    /// The trial of an orientation.
    fn of(&self, orientation: Orientation) -> Option<&TrialR> {
        let trial = self.trials.iter().find(|t| t.orientation == orientation);
        trial.and_then(Trial::fitted)
    }

    /// The better trial of the class.
    fn best_of(&self, class: Orientation) -> Option<(Orientation, &TrialR)> {
        let both = [class, class.twin()];
        let fitted = both.into_iter().filter_map(|o| Some((o, self.of(o)?)));
        fitted.min_by(|a, b| a.1.r_free.total_cmp(&b.1.r_free))
    }

    /// The classes that were tried, the best first.
    ///
    /// In the near field, the orientations.
    fn ranked(&self) -> Vec<(Orientation, &TrialR)> {
        let classes = Orientation::CLASSES.into_iter();
        let mut ranked: Vec<_> = if self.near_field {
            let fitted = |trial: &'_ Trial| Some(trial.orientation).zip(self.of(trial.orientation));
            self.trials.iter().filter_map(fitted).collect()
        } else {
            classes.filter_map(|class| self.best_of(class)).collect()
        };
        ranked.sort_by(|a, b| a.1.r_free.total_cmp(&b.1.r_free));
        ranked
    }

    fn decide(&self) -> Decision {
        let ranked = self.ranked();
        let [(best, r), (_, second), ..] = ranked.as_slice() else {
            return Decision::Unclear;
        };
        if r.r_free.is_nan() || r.r_free > CLASS * second.r_free {
            return Decision::Unclear;
        }
        let found = |orientation: Orientation, by: TwinDecision| Decision::Found {
            orientation,
            twin: orientation.twin(),
            by,
        };
        if self.near_field {
            let twin = self.of(best.twin()).map_or(f64::NAN, |other| other.r_free);
            let evidence = Evidence::NearField {
                r_free: r.r_free,
                twin,
            };
            return found(*best, TwinDecision::Resolved(evidence));
        }
        if let Some(other) = self.of(best.twin())
            && r.r_free <= TWIN * other.r_free
        {
            let evidence = Evidence::Probe {
                r_free: r.r_free,
                twin: other.r_free,
            };
            return found(*best, TwinDecision::Resolved(evidence));
        }
        let absorption = r
            .absorption
            .filter(|c| self.x_rays && c.abs() >= ABSORPTION);
        if let Some(correlation) = absorption {
            let right = if correlation > 0.0 {
                *best
            } else {
                best.twin()
            };
            let evidence = Evidence::Absorption(correlation.abs());
            return found(right, TwinDecision::Resolved(evidence));
        }
        // Nothing decides: the orientation before the search, or the one with fewer changes.
        let members = [self.given]
            .into_iter()
            .chain(Orientation::CLASSES)
            .find(|o| o.same_class(*best));
        found(members.unwrap_or(*best), TwinDecision::Unresolved)
    }

    /// The table of the classes.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new(&Self::HEADER);
        for row in self.rows() {
            table.row(row);
        }
        table
    }

    /// The columns of [`Self::rows`].
    pub const HEADER: [&'static str; 7] =
        ["class", "positions", "R", "R_free", "twin", "R", "R_free"];

    /// A row for each class, with its orientations: the one with fewer changes, and its twin.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 7]> {
        let cells = |orientation: Orientation| {
            let trial = self.trials.iter().find(|t| t.orientation == orientation);
            match trial.map(|t| &t.result) {
                Some(TrialResult::Fitted(r)) => [r.r_factor, r.r_free].map(|v| significant(v, 4)),
                Some(TrialResult::Skipped(_)) => ["-".to_owned(), "-".to_owned()],
                None => [String::new(), String::new()],
            }
        };
        let row = |class: Orientation| {
            let twin = class.twin();
            let ([r, r_free], [twin_r, twin_r_free]) = (cells(class), cells(twin));
            [
                class.class().to_owned(),
                class.to_string(),
                r,
                r_free,
                twin.to_string(),
                twin_r,
                twin_r_free,
            ]
        };
        Orientation::CLASSES.map(row).to_vec()
    }

    /// One sentence on the class, and one on the twin; before them those on orientations that were
    /// not tried.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let skipped = self.trials.iter().filter_map(|trial| match &trial.result {
            TrialResult::Skipped(why) => Some(format!(
                "orientation {} was not tried: {why}",
                trial.orientation
            )),
            TrialResult::Fitted(_) => None,
        });
        let mut sentences: Vec<String> = skipped.collect();
        let tried = format!(
            "{}, {} {}",
            count(self.frames, ["frame", "frames"]),
            count(self.iterations, ["iteration", "iterations"]),
            self.start
        );
        let ranked = self.ranked();
        match &self.decision {
            Decision::Unclear => {
                let values = match ranked.as_slice() {
                    [(best, r), (next, other), ..] => format!(
                        "R_free is {} for {best} and {} for {next}",
                        significant(r.r_free, 3),
                        significant(other.r_free, 3)
                    ),
                    _ => "fewer than two classes could be reconstructed".to_owned(),
                };
                sentences.push(format!(
                    "the orientation cannot be told: {values} ({tried}); the positions stay as they are (--transform-positions {})",
                    self.given
                ));
            }
            Decision::Found {
                orientation,
                twin,
                by,
            } => {
                let values: Vec<String> = (ranked.iter().take(2))
                    .map(|(_, r)| significant(r.r_free, 3))
                    .collect();
                sentences.push(format!(
                    "orientation: {}, --transform-positions {orientation}: R_free is {}, and at least {} in other {} ({tried})",
                    orientation.class(),
                    values[0],
                    values[1],
                    if self.near_field {
                        "orientations"
                    } else {
                        "classes"
                    }
                ));
                if self.near_field {
                    return sentences;
                }
                let contradicted = match (by, self.of(*orientation).and_then(|r| r.absorption)) {
                    (TwinDecision::Resolved(Evidence::Probe { .. }), Some(correlation))
                        if self.x_rays && correlation <= -ABSORPTION =>
                    {
                        "; but its phase is positive where the specimen absorbs, which for X-rays speaks for the twin"
                    }
                    _ => "",
                };
                sentences.push(match by {
                    TwinDecision::Resolved(evidence) => format!(
                        "twin: --transform-positions {twin} would give the conjugate object, turned by 180°, and the same intensities; {evidence}{contradicted}"
                    ),
                    TwinDecision::Unresolved => format!(
                        "twin: --transform-positions {twin} would give the conjugate object, turned by 180°, and the same intensities; nothing known tells the two apart, so {orientation} is kept"
                    ),
                });
            }
        }
        sentences
    }
}

/// The start probe, in a sentence.
impl fmt::Display for StartOfTrials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "from the illumination in the file",
            Self::Recipe => "from the start probe of the recipe",
            Self::Searched => "from the mean pattern with a defocus found by trial",
            Self::Propagated => "from the mean pattern, propagated back to the specimen",
        })
    }
}

/// Why the twin is excluded.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe { r_free, twin } => write!(
                f,
                "excluded by the start probe, with which R_free is {} there instead of {}",
                significant(*twin, 3),
                significant(*r_free, 3)
            ),
            Self::NearField { r_free, twin } => write!(
                f,
                "excluded by the near field, with which R_free is {} there instead of {}",
                significant(*twin, 3),
                significant(*r_free, 3)
            ),
            Self::Absorption(correlation) => write!(
                f,
                "excluded by the phase, which for X-rays is negative where the specimen absorbs (correlation {})",
                significant(*correlation, 2)
            ),
        }
    }
}
