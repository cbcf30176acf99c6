//! Refinement of what belongs to each frame: its position and its intensity scale.
//!
//! Steps: both halves compute, for every frame, the normal equations of one Gauss–Newton step on
//! the magnitudes, Σ w (√I − √I_model − J·x)², where x is the change of the position (row, column)
//! and of the logarithm of the frame's intensity scale, and J the derivative of √I_model: J_x = Σ_m
//! Re(conj(f_m) F[∂ψ_m/∂x])/√I_model for a position, √I_model/2 for the scale. What a far field
//! cannot see (the phase ramp that moves probe and object together) has no part in J.
//!
//! Trial and error: both halves compute Σ w (√I_model − √I)² of every frame where it is and at
//! random positions around, its own ones, and name the best. Random numbers depend on the seed, the
//! frame, the iteration and the trial only.
//!
//! Object and probe stay the same in both. [`FrameParameters`] takes the steps and the best trials.

pub(crate) use super::frame_parameters::FrameParameters;
use crate::session::recipe_error::RecipeError;
use serde::{Deserialize, Serialize};
use warpstride_core::text::shortest;

/// Sums of a frame: JᵀJ (rows², rows·columns, columns², rows·scale, columns·scale, scale²), then
/// Jᵀr (rows, columns, scale).
pub(crate) type NormalEquations = [f64; 9];

/// Factor by which the amplitude of trials falls with every iteration if there is no last one.
const DECAY: f64 = 0.97;
/// With gradient, part of a frame's residual below which a trial must be: the gradient makes the
/// small steps, and trials take frames out of wrong minima.
const CONVINCING: f32 = 0.9;
/// Fewest and most trials of a frame in an iteration; four cover the quadrants.
const TRIALS: std::ops::RangeInclusive<u32> = 4..=1000;

/// A way to refine positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionMethod {
    /// A Gauss–Newton step of each frame.
    Gradient,
    /// The affine map of the whole scan that fits the frames' displacements. Alone, it takes the
    /// steps of `Gradient` and replaces them. With another method, that one moves each frame, and
    /// frames that end up further than three standard deviations from the map are drawn in to that
    /// distance.
    Affine,
    /// The best of several random displacements of each frame.
    Annealing,
}

impl PositionMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gradient => "gradient",
            Self::Affine => "affine",
            Self::Annealing => "annealing",
        }
    }
}

/// Options of the refinement of positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PositionOptions {
    /// The methods; none: the positions stay. In an iteration, gradient and annealing move the
    /// frames in the order given here; affine then acts on what they found, wherever it stands.
    pub refine: Vec<PositionMethod>,
    /// First iteration of the run, counted from 1, after which positions are refined.
    pub start: usize,
    /// Last such iteration; 0: the last one of the run.
    pub stop: usize,
    /// Largest distance of a position from its start on each axis, object pixels.
    pub bound: f64,
    /// Largest step of an iteration on each axis, object pixels.
    pub step: f64,
    /// Only with annealing: trials of each frame in an iteration.
    pub trials: u32,
    /// Only with annealing: first iteration of the run with trials, if later than `start`.
    pub trials_start: usize,
    /// Only with annealing: largest displacement of a trial on each axis in the first iteration
    /// with trials, object pixels. It falls linearly to 0 in the iteration after `stop`, or, if
    /// `stop` is 0, by 3 % with every iteration.
    pub amplitude: f64,
}

impl Default for PositionOptions {
    fn default() -> Self {
        Self {
            refine: Vec::new(),
            start: 10,
            stop: 0,
            bound: 5.0,
            step: 1.0,
            trials: 8,
            trials_start: 0,
            amplitude: 2.0,
        }
    }
}

impl PositionOptions {
    /// Object pixels around the windows at their first positions.
    #[must_use]
    pub fn margin(&self) -> usize {
        if self.refine.is_empty() {
            0
        } else {
            self.widest_margin()
        }
    }

    /// The same for positions that may be as far as the bound.
    pub(crate) fn widest_margin(&self) -> usize {
        self.bound.ceil() as usize + 1
    }

    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), RecipeError> {
        let defaults = Self::default();
        let anneals = self.refine.contains(&PositionMethod::Annealing);
        let once = |(n, method): (usize, &PositionMethod)| !self.refine[..n].contains(method);
        let names = || {
            let names: Vec<_> = self.refine.iter().map(|method| method.name()).collect();
            names.join(", ")
        };
        let uses = "the default unless positions.refine has annealing, which uses it";
        let checks = [
            (
                self.refine.iter().enumerate().all(once),
                "refine",
                "each method at most once",
                names(),
            ),
            (
                (0.0..=100.0).contains(&self.bound),
                "bound",
                "0 to 100 (object pixels)",
                shortest(self.bound),
            ),
            (
                self.step > 0.0 && self.step <= 100.0,
                "step",
                "more than 0, at most 100 (object pixels)",
                shortest(self.step),
            ),
            (
                self.start >= 1,
                "start",
                "at least 1",
                self.start.to_string(),
            ),
            (
                self.stop == 0 || self.stop >= self.start,
                "stop",
                "0, or at least positions.start",
                self.stop.to_string(),
            ),
            (
                TRIALS.contains(&self.trials),
                "trials",
                "4 to 1000",
                self.trials.to_string(),
            ),
            (
                anneals || self.trials == defaults.trials,
                "trials",
                uses,
                self.trials.to_string(),
            ),
            (
                anneals || self.trials_start == defaults.trials_start,
                "trials_start",
                uses,
                self.trials_start.to_string(),
            ),
            (
                self.amplitude > 0.0 && self.amplitude <= 100.0,
                "amplitude",
                "more than 0, at most 100 (object pixels)",
                shortest(self.amplitude),
            ),
            (
                anneals || self.amplitude == defaults.amplitude,
                "amplitude",
                uses,
                shortest(self.amplitude),
            ),
        ];
        checks
            .into_iter()
            .try_for_each(|(ok, option, expected, found)| {
                let wrong = || RecipeError::new(format!("positions.{option}"), expected, found);
                if ok { Ok(()) } else { Err(wrong()) }
            })
    }

    /// What is refined after iteration `iteration` of the run.
    pub(crate) fn at(&self, iteration: usize, scales: bool) -> Option<Refinement> {
        let within = iteration >= self.start && (self.stop == 0 || iteration <= self.stop);
        let positions = within && !self.refine.is_empty();
        let scales = within && scales;
        (positions || scales).then(|| Refinement {
            methods: if positions {
                [0, 1, 2].map(|n| self.refine.get(n).copied())
            } else {
                [None; 3]
            },
            scales,
            bound: self.bound,
            step: self.step,
            trials: if iteration < self.trials_start {
                0
            } else {
                self.trials
            },
            amplitude: self.amplitude_at(iteration),
        })
    }

    /// Largest displacement of a trial in an iteration from `start` to `stop`.
    fn amplitude_at(&self, iteration: usize) -> f64 {
        let start = self.start.max(self.trials_start);
        let done = iteration.saturating_sub(start) as f64;
        if self.stop == 0 {
            return self.amplitude * DECAY.powf(done);
        }
        let all = (self.stop.saturating_sub(start) + 1) as f64;
        self.amplitude * (1.0 - done / all).max(0.0)
    }
}

/// What is refined, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refinement {
    /// The methods by which positions are refined, as in [`PositionOptions`].
    pub methods: [Option<PositionMethod>; 3],
    /// Whether the frames' intensity scales are refined.
    pub scales: bool,
    /// Largest distance of a position from its start on each axis, pixels.
    pub bound: f64,
    /// Largest step on each axis, pixels.
    pub step: f64,
    /// Trials of each frame.
    pub trials: u32,
    /// Largest displacement of a trial on each axis, pixels.
    pub amplitude: f64,
}

/// A part of the refinement of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stage {
    /// Normal equations; a step of positions (if the first is true; of their affine map only if the
    /// second is) and of scales, if they are refined.
    Equations([bool; 2]),
    /// Trial and error.
    Trials(Trials),
    /// Frames far from the affine map are drawn in.
    DrawIn,
}

/// Trials of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trials {
    pub(crate) seed: u64,
    pub(crate) iteration: u32,
    /// Trials of each frame.
    pub(crate) count: u32,
    /// Largest displacement on each axis, pixels.
    pub(crate) amplitude: f32,
    /// Largest distance from the start on each axis, pixels.
    pub(crate) bound: f32,
    /// Part of a frame's residual below which a trial must be.
    pub(crate) part: f32,
}

impl Refinement {
    /// The parts of the refinement after iteration `iteration`, in their order.
    pub(crate) fn stages(&self, seed: u64, iteration: usize) -> Vec<Stage> {
        let methods = || self.methods.into_iter().flatten();
        let affine = methods().any(|method| method == PositionMethod::Affine);
        let gradient = methods().any(|method| method == PositionMethod::Gradient);
        let alone = affine && methods().count() == 1;
        let mut stages: Vec<Stage> = methods()
            .filter_map(|method| match method {
                PositionMethod::Gradient => Some(Stage::Equations([true, false])),
                PositionMethod::Annealing => (self.trials > 0).then_some(Stage::Trials(Trials {
                    seed,
                    iteration: iteration as u32,
                    count: self.trials,
                    amplitude: self.amplitude as f32,
                    bound: self.bound as f32,
                    part: if gradient { CONVINCING } else { 1.0 },
                })),
                PositionMethod::Affine => alone.then_some(Stage::Equations([true, true])),
            })
            .collect();
        let solves = |stage: &Stage| matches!(stage, Stage::Equations(_));
        if self.scales && !stages.iter().any(solves) {
            stages.insert(0, Stage::Equations([false, false]));
        }
        if affine && !alone {
            stages.push(Stage::DrawIn);
        }
        stages
    }
}

#[cfg(test)]
mod tests;
