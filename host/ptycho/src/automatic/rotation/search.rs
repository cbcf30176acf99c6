//! The search for the rotation by trial reconstructions, and what follows from it.

use super::{CentreRotation, Rotation};
use crate::{StartOfTrials, TrialResult};
use serde::Serialize;
use warpstride_core::text::{Table, count, significant};

/// Angles between the trials of a search without an estimate, degrees.
const STEP: f64 = 15.0;
/// Least and largest distance from the estimate that is searched, degrees.
const REACH: [f64; 2] = [6.0, 15.0];
/// Standard errors of the estimate that are searched.
const ERRORS: f64 = 3.0;
/// Width of the interval at which the search ends, degrees.
const RESOLUTION: f64 = 1.0;
/// Part of an interval by which golden section shortens it.
const GOLDEN: f64 = 0.618_033_988_749_894_8;
/// Angles, from the one found, at which R_free has to be larger, degrees.
const ELSEWHERE: [f64; 3] = [45.0, 90.0, 135.0];
/// R_free of the angle as a share of that elsewhere, up to which it is found: without an estimate,
/// and with one that agrees.
const FOUND: [f64; 2] = [0.97, 0.9975];
/// R_free of a rotation as a share of that of its twin, up to which the start probe decides between
/// the two: with noisy frames it is never much lower.
const TWIN: f64 = 0.996;
/// Most intervals that are searched one beside the other.
const INTERVALS: usize = 3;

/// A short reconstruction with one rotation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RotationTrial {
    /// The rotation of the positions.
    pub rotation: Rotation,
    /// What it gave.
    pub result: TrialResult,
}

/// How a rotation was distinguished from that turned by 180°.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RotationTwin {
    /// The start probe fits one of the two: R_free of the right one and of its twin.
    Resolved {
        /// R_free of the rotation.
        r_free: f64,
        /// R_free of its twin.
        twin: f64,
    },
    /// Nothing known does.
    Unresolved,
}

/// The rotation that follows from the search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RotationDecision {
    /// It fits better than others.
    Found {
        /// The rotation of the positions.
        rotation: Rotation,
        /// R_free at the best trial.
        r_free: f64,
        /// Least R_free at angles far from it.
        elsewhere: f64,
        /// How it was distinguished from its twin.
        twin: RotationTwin,
    },
    /// No rotation clearly does.
    Unclear,
}

/// The search for the rotation between scan and detector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RotationSearch {
    /// The estimate from the centres of mass, if there are enough frames for one.
    pub centres: Option<CentreRotation>,
    /// Frames of the scan that the trials used.
    pub frames: usize,
    /// Iterations of each trial.
    pub iterations: usize,
    /// Start probe.
    pub start: StartOfTrials,
    /// The trials, in their order.
    pub trials: Vec<RotationTrial>,
    /// What follows from them.
    pub decision: RotationDecision,
    /// How long they took.
    pub seconds: f64,
}

impl RotationSearch {
    /// Makes trials, until the rotation is found or it is unclear. `trial` returns what a rotation
    /// gives, or `None` if it was interrupted; then the search returns `false`. `tells_twins` says
    /// whether a rotation and its twin may differ.
    ///
    /// # Errors
    /// Those of `trial`.
    pub fn run<E>(
        &mut self,
        tells_twins: bool,
        mut trial: impl FnMut(Rotation) -> Result<Option<TrialResult>, E>,
    ) -> Result<bool, E> {
        let estimate = self.centres.filter(CentreRotation::is_clear);
        let (start, reach) = match estimate {
            Some(found) => {
                let reach = (ERRORS * found.error).clamp(REACH[0], REACH[1]);
                (Some(found.rotation), reach)
            }
            None => {
                for mirrored in [false, true] {
                    let mut degrees = -90.0 + STEP;
                    while degrees <= 90.0 {
                        if !self.attempt(Rotation::new(degrees, mirrored), &mut trial)? {
                            return Ok(false);
                        }
                        degrees += STEP;
                    }
                }
                (self.best(|_| true).map(|(rotation, _)| rotation), STEP)
            }
        };
        let Some(mut middle) = start else {
            return Ok(true);
        };
        let mut twin = RotationTwin::Unresolved;
        if tells_twins {
            for rotation in [middle, middle.twin()] {
                if !self.attempt(rotation, &mut trial)? {
                    return Ok(false);
                }
            }
            if let (Some(one), Some(other)) = (self.r_free(middle), self.r_free(middle.twin())) {
                if other < one {
                    middle = middle.twin();
                }
                let (r_free, of_twin) = (one.min(other), one.max(other));
                if r_free <= TWIN * of_twin {
                    twin = RotationTwin::Resolved {
                        r_free,
                        twin: of_twin,
                    };
                }
            }
        }
        for _ in 0..INTERVALS {
            if !self.golden(middle, reach, &mut trial)? {
                return Ok(false);
            }
            let Some((best, _)) = self.best(|rotation| is_near(rotation, middle, reach)) else {
                return Ok(true);
            };
            let away = difference(best, middle);
            if away.abs() < 0.85 * reach {
                break;
            }
            middle = Rotation::new(middle.degrees + away, middle.mirrored);
        }
        for other in ELSEWHERE {
            let rotation = Rotation::new(middle.degrees + other, middle.mirrored);
            if !self.attempt(rotation, &mut trial)? {
                return Ok(false);
            }
        }
        let Some((best, r_free)) = self.best(|rotation| is_near(rotation, middle, reach)) else {
            return Ok(true);
        };
        let far = |rotation: Rotation| {
            let turned = difference(rotation, best).abs();
            rotation.mirrored != best.mirrored || (40.0..=140.0).contains(&turned)
        };
        let Some((_, elsewhere)) = self.best(far) else {
            return Ok(true);
        };
        let share = match estimate {
            None => FOUND[0],
            Some(_) => FOUND[1],
        };
        if r_free <= share * elsewhere {
            self.decision = RotationDecision::Found {
                rotation: self.vertex(best, reach).unwrap_or(best),
                r_free,
                elsewhere,
                twin,
            };
        }
        Ok(true)
    }

    /// Shortens the interval around `middle` by golden section.
    fn golden<E>(
        &mut self,
        middle: Rotation,
        reach: f64,
        trial: &mut impl FnMut(Rotation) -> Result<Option<TrialResult>, E>,
    ) -> Result<bool, E> {
        let (mut low, mut high) = (middle.degrees - reach, middle.degrees + reach);
        let at = |degrees: f64| Rotation::new(degrees, middle.mirrored);
        let [mut first, mut second] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
        for degrees in [first, second] {
            if !self.attempt(at(degrees), trial)? {
                return Ok(false);
            }
        }
        while high - low > RESOLUTION {
            let [one, other] = [first, second].map(|v| self.r_free(at(v)).unwrap_or(f64::INFINITY));
            let next = if one <= other {
                (high, second) = (second, first);
                first = high - GOLDEN * (high - low);
                first
            } else {
                (low, first) = (first, second);
                second = low + GOLDEN * (high - low);
                second
            };
            if !self.attempt(at(next), trial)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a trial, unless it was made; `false` if it was interrupted.
    fn attempt<E>(
        &mut self,
        rotation: Rotation,
        trial: &mut impl FnMut(Rotation) -> Result<Option<TrialResult>, E>,
    ) -> Result<bool, E> {
        if self.trials.iter().any(|made| made.rotation == rotation) {
            return Ok(true);
        }
        let Some(result) = trial(rotation)? else {
            return Ok(false);
        };
        self.trials.push(RotationTrial { rotation, result });
        Ok(true)
    }

    /// R_free of the trials that could be made.
    fn fitted(&self) -> impl Iterator<Item = (Rotation, f64)> {
        self.trials.iter().filter_map(|trial| match &trial.result {
            TrialResult::Fitted(r) => Some((trial.rotation, r.r_free)),
            TrialResult::Skipped(_) => None,
        })
    }

    fn r_free(&self, rotation: Rotation) -> Option<f64> {
        let mut fitted = self.fitted();
        Some(fitted.find(|(other, _)| *other == rotation)?.1)
    }

    /// The best of some trials.
    fn best(&self, of: impl Fn(Rotation) -> bool) -> Option<(Rotation, f64)> {
        let some = self.fitted().filter(|(rotation, _)| of(*rotation));
        some.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Where the parabola that fits R_free best within `reach` of the best trial is least, if that
    /// is within the trials.
    fn vertex(&self, best: Rotation, reach: f64) -> Option<Rotation> {
        let near = self.fitted().filter(|(r, _)| is_near(*r, best, reach));
        let points: Vec<[f64; 2]> = near
            .map(|(rotation, r_free)| [difference(rotation, best) / reach, r_free])
            .collect();
        let [_, slope, curvature] = parabola(&points)?;
        let (low, high) = points.iter().fold((0.0_f64, 0.0_f64), |(low, high), p| {
            (low.min(p[0]), high.max(p[0]))
        });
        let vertex = -slope / (2.0 * curvature);
        let inside = curvature > 0.0 && (low..=high).contains(&vertex);
        inside.then(|| Rotation::new(best.degrees + vertex * reach, best.mirrored))
    }

    /// The rotation to use, if one was found.
    #[must_use]
    pub fn rotation(&self) -> Option<Rotation> {
        match self.decision {
            RotationDecision::Found { rotation, .. } => Some(rotation),
            RotationDecision::Unclear => None,
        }
    }

    /// The columns of [`Self::rows`].
    pub const HEADER: [&'static str; 3] = ["positions", "R", "R_free"];

    /// A row for each trial, in the order of the angles.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 3]> {
        let mut trials: Vec<&RotationTrial> = self.trials.iter().collect();
        trials.sort_by(|a, b| {
            let by_class = a.rotation.mirrored.cmp(&b.rotation.mirrored);
            by_class.then(a.rotation.degrees.total_cmp(&b.rotation.degrees))
        });
        let row = |trial: &&RotationTrial| {
            let [r, r_free] = match &trial.result {
                TrialResult::Fitted(r) => [r.r_factor, r.r_free].map(|v| significant(v, 5)),
                TrialResult::Skipped(_) => ["-".to_owned(), "-".to_owned()],
            };
            [trial.rotation.to_string(), r, r_free]
        };
        trials.iter().map(row).collect()
    }

    /// The table of the trials.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new(&Self::HEADER);
        for row in self.rows() {
            table.row(row);
        }
        table
    }

    /// What the search has found, and by what.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        match &self.centres {
            Some(centres) if centres.is_clear() => sentences.push(format!("rotation: {centres}")),
            Some(centres) => sentences.push(format!(
                "rotation: the centres of mass do not tell it, so all angles were tried: {centres}"
            )),
            None => sentences.push(
                "rotation: too few frames for an estimate from their centres of mass, so all angles were tried"
                    .to_owned(),
            ),
        }
        let skipped = self.trials.iter().find_map(|trial| match &trial.result {
            TrialResult::Skipped(why) => Some((trial.rotation, why)),
            TrialResult::Fitted(_) => None,
        });
        if let Some((rotation, why)) = skipped {
            sentences.push(format!("rotation {rotation} was not tried: {why}"));
        }
        let tried = format!(
            "{} of {}, {} {}",
            count(self.trials.len(), ["trial", "trials"]),
            count(self.frames, ["frame", "frames"]),
            count(self.iterations, ["iteration", "iterations"]),
            self.start
        );
        match &self.decision {
            RotationDecision::Unclear => {
                let values = match self.best(|_| true) {
                    Some((best, r_free)) => {
                        let far = |rotation: Rotation| difference(rotation, best).abs() >= 40.0;
                        let other = self.best(far).map_or_else(
                            || "nothing to compare it with".to_owned(),
                            |(other, r)| format!("{} at {other}", significant(r, 4)),
                        );
                        format!("R_free is {} at {best} and {other}", significant(r_free, 4))
                    }
                    None => "nothing could be reconstructed".to_owned(),
                };
                sentences.push(format!(
                    "the rotation is unclear: {values} ({tried}); the positions stay as they are"
                ));
            }
            RotationDecision::Found {
                rotation,
                r_free,
                elsewhere,
                twin,
            } => {
                sentences.push(format!(
                    "rotation found: --transform-positions {rotation} (before it what the recipe does to them): R_free is {} there and at least {} at other angles ({tried})",
                    significant(*r_free, 4),
                    significant(*elsewhere, 4)
                ));
                let other = rotation.twin();
                sentences.push(match twin {
                    RotationTwin::Resolved { r_free, twin } => format!(
                        "twin: {other} would give the conjugate object, turned by 180°; excluded by the start probe, with which R_free is {} there instead of {}",
                        significant(*twin, 4),
                        significant(*r_free, 4)
                    ),
                    RotationTwin::Unresolved => format!(
                        "twin: {other} would give the conjugate object, turned by 180°, and fits as well; nothing known tells the two apart"
                    ),
                });
            }
        }
        sentences
    }
}

/// The angle from `other` to `rotation`, between −180° and 180°.
fn difference(rotation: Rotation, other: Rotation) -> f64 {
    Rotation::new(rotation.degrees - other.degrees, false).degrees
}

/// Whether a rotation is within `reach` of another one of its class, with a margin for rounding.
fn is_near(rotation: Rotation, other: Rotation, reach: f64) -> bool {
    rotation.mirrored == other.mirrored && difference(rotation, other).abs() <= reach + 1e-9
}

/// The coefficients of 1, x and x² of the parabola that fits points (x, y) best, if it is unique.
fn parabola(points: &[[f64; 2]]) -> Option<[f64; 3]> {
    if points.len() < 4 {
        return None;
    }
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&[f64; 2]) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p[0]), mean(&|p| p[1]));
    let square = mean(&|p| (p[0] - x).powi(2));
    let cube = mean(&|p| (p[0] - x).powi(3));
    let fourth = mean(&|p| ((p[0] - x).powi(2) - square).powi(2));
    let first = mean(&|p| (p[0] - x) * (p[1] - y));
    let second = mean(&|p| ((p[0] - x).powi(2) - square) * (p[1] - y));
    let determinant = square * fourth - cube * cube;
    if determinant.is_nan() || determinant <= 1e-9 * square * fourth {
        return None;
    }
    let slope = (first * fourth - second * cube) / determinant;
    let curvature = (second * square - first * cube) / determinant;
    // y + slope (t − x) + curvature ((t − x)² − square).
    Some([
        y - slope * x + curvature * (x * x - square),
        slope - 2.0 * curvature * x,
        curvature,
    ])
}
