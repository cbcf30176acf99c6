//! The order of the trials, and what follows from their R_free.

use super::suited::{Decided, begin_earlier, first_engine, reasons, work};
use super::{AutomaticRecipe, TrialData, Tried, engine_list};
use crate::{EngineSpec, GpuOptions, PositionMethod, PositionOptions, Recipe, StopRule};
use warpstride_core::text::shortest;

/// Iteration of a trial, and of the engine that refines, after which positions and scales are
/// refined.
const REFINED_FROM: usize = 3;
/// Numbers of probe modes that are tried, as long as R_free falls.
const MODES: [usize; 4] = [2, 3, 4, 6];
/// Weights of the regulariser that are tried, as long as R_free falls.
const WEIGHTS: [f64; 5] = [0.0, 100.0, 400.0, 1600.0, 6400.0];
/// Those with a model of several waves for each probe mode, whose trials are more work.
const FEWER_WEIGHTS: [f64; 3] = [0.0, 400.0, 1600.0];
/// δ of the regulariser, if it is used.
const EDGE: f64 = 0.02;

/// Most trials of a search.
pub(crate) const MOST_TRIALS: usize = 4 + 4 + MODES.len() + WEIGHTS.len() + 1;
/// Most iterations of a trial.
pub(crate) const MOST_ITERATIONS: usize = super::FIRST + super::MOST_SHORT;

/// A trial reconstruction to make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trial {
    /// What is tried: `2 probe modes`.
    pub name: String,
    /// Its recipe.
    pub recipe: Recipe,
    /// The recipe of the run, if the trial is kept and no other follows.
    pub run: Recipe,
    /// Number of the earlier trial, from 0, whose result it starts from; `None`: the start of the
    /// run.
    pub from: Option<usize>,
    /// Whether it is one of those with which the search begins: an engine for it is needed.
    pub first: bool,
}

/// The questions, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first object by the template's first engine.
    First,
    /// The engine that refines, from the first object.
    Baseline,
    /// That engine from the beginning.
    Direct,
    /// If that is better, the baseline from there.
    DirectBaseline,
    /// Positions by the gradient; once more (true) with several modes, if it was not kept with one.
    Gradient(bool),
    Scales(bool),
    /// The next number of probe modes.
    Modes,
    /// The last engine with a weight of the regulariser.
    Last(usize),
    /// `lsqml` instead, with all frames in one batch.
    OneBatch,
    Done,
}

impl Stage {
    fn after(self) -> Self {
        match self {
            Self::First => Self::Baseline,
            Self::Baseline => Self::Direct,
            Self::Direct => Self::DirectBaseline,
            Self::DirectBaseline => Self::Gradient(false),
            Self::Gradient(again) => Self::Scales(again),
            Self::Scales(false) => Self::Modes,
            Self::Modes => Self::Gradient(true),
            Self::Scales(true) => Self::Last(0),
            Self::Last(n) if n + 1 < WEIGHTS.len() => Self::Last(n + 1),
            Self::Last(_) => Self::OneBatch,
            Self::OneBatch | Self::Done => Self::Done,
        }
    }
}

/// What has been chosen so far.
#[derive(Debug, Clone, PartialEq)]
struct Choices {
    /// Whether the first engine of the template makes the first object.
    first: bool,
    probe_modes: usize,
    refine: Vec<PositionMethod>,
    frame_scales: bool,
    /// The last engine; `None` until its trials.
    last: Option<EngineSpec>,
}

/// A search for a recipe: ask for the [next trial](Self::next_trial), make it,
/// [`record`](Self::record) its R_free, until there is no other; then take the
/// [`recipe`](Self::recipe).
#[derive(Debug, Clone)]
pub(crate) struct AutomaticSearch {
    template: Recipe,
    decided: Decided,
    data: TrialData,
    stage: Stage,
    chosen: Choices,
    /// What the trial that was asked for last would choose.
    asked: Option<Choices>,
    /// R_free of the choices.
    best: Option<f64>,
    /// The trial with the first object.
    first: Option<usize>,
    /// The trial with the choices.
    kept: Option<usize>,
    tried: Vec<Tried>,
    /// Whether there is nothing to compare with, so that the template runs.
    stopped: bool,
}

impl AutomaticSearch {
    /// A search among variations of `template`, of which the user has `decided` some; the trials
    /// have these `data`. It has two engines, the one that refines and the last one, or three, with
    /// one before them for a first object, which otherwise is made by the one that refines.
    #[must_use]
    pub(crate) fn new(template: &Recipe, decided: Decided, data: TrialData) -> Self {
        let chosen = Choices {
            first: template.engines.len() > 2,
            probe_modes: template.probe_modes,
            refine: template.positions.refine.clone(),
            frame_scales: template.fit_frame_scales,
            last: None,
        };
        Self {
            template: template.clone(),
            decided: decided.with_model(template),
            data,
            stage: Stage::First,
            chosen,
            asked: None,
            best: None,
            first: None,
            kept: None,
            tried: Vec::new(),
            stopped: false,
        }
    }

    /// The next trial; `None` if all questions are answered.
    pub(crate) fn next_trial(&mut self) -> Option<Trial> {
        while self.stage != Stage::Done {
            if let Some((name, choices)) = self.question() {
                let trial = Trial {
                    name,
                    recipe: self.trial_recipe(&choices),
                    run: self.recipe_of(&choices),
                    from: self.start(),
                    first: matches!(self.stage, Stage::First | Stage::Baseline),
                };
                self.asked = Some(choices);
                return Some(trial);
            }
            self.stage = self.stage.after();
        }
        None
    }

    /// Records the R_free of the trial that was asked for last, or why it failed. Returns the trial
    /// as it is reported.
    pub(crate) fn record(&mut self, trial: &Trial, outcome: Result<f64, String>) -> Tried {
        let choices = self.asked.take().unwrap_or_else(|| self.chosen.clone());
        let number = self.tried.len();
        let r_free = outcome.as_ref().ok().copied();
        let before = match self.stage {
            Stage::First | Stage::Baseline | Stage::DirectBaseline => None,
            _ => self.best,
        };
        let kept = self.is_kept(r_free, before);
        let tried = Tried {
            name: trial.name.clone(),
            engines: engine_list(&trial.recipe.engines),
            iterations: trial.recipe.engines.iter().map(|e| e.iterations).sum(),
            before,
            r_free,
            kept,
            failed: outcome.err(),
        };
        self.tried.push(tried.clone());
        if !kept && self.stage == Stage::First {
            // It cannot make the first object.
            self.chosen.first = false;
        }
        if kept {
            match self.stage {
                Stage::First => self.first = Some(number),
                Stage::Direct => {
                    self.first = Some(number);
                    // The first object by the other engine is not used.
                    self.tried
                        .iter_mut()
                        .take(number)
                        .for_each(|t| t.kept = false);
                }
                _ => {}
            }
            if self.stage != Stage::First {
                self.best = r_free;
                self.kept = Some(number);
            }
            self.chosen = choices;
        }
        self.stage = match self.stage {
            // As long as it helps.
            Stage::Modes if kept => Stage::Modes,
            // There is nothing to compare with.
            Stage::Baseline if !kept => {
                self.stopped = true;
                Stage::Done
            }
            Stage::Last(n) if n > 0 && !kept => Stage::OneBatch,
            stage => stage.after(),
        };
        tried
    }

    /// Whether the results of a trial may be asked for as a start.
    #[must_use]
    pub(crate) fn needs(&self, number: usize) -> bool {
        [self.first, self.kept, self.kept_before_last()].contains(&Some(number))
    }

    /// Whether a trial with `r_free` is kept instead of what has `before`.
    fn is_kept(&self, r_free: Option<f64>, before: Option<f64>) -> bool {
        let Some(found) = r_free.filter(|r| r.is_finite()) else {
            return false;
        };
        let margin = match self.stage {
            // Those of all weights have the same number of parameters.
            Stage::Last(_) => 0.0,
            _ => self.data.margin(),
        };
        before.is_none_or(|before| found < before * (1.0 - margin))
    }

    /// The question of this stage and what the trial would choose; `None` if it is not asked.
    fn question(&self) -> Option<(String, Choices)> {
        let chosen = &self.chosen;
        let several = chosen.probe_modes > self.template.probe_modes;
        let with = |change: &dyn Fn(&mut Choices)| {
            let mut choices = chosen.clone();
            change(&mut choices);
            choices
        };
        let gradient = PositionMethod::Gradient;
        match self.stage {
            Stage::First => first_engine(&self.template).map(|engine| {
                let engine = engine_list(&[engine]);
                (format!("{} {engine}", super::FIRST_OBJECT), chosen.clone())
            }),
            Stage::Baseline => {
                let modes = chosen.probe_modes;
                Some((format!("{modes} probe {}", noun(modes)), chosen.clone()))
            }
            Stage::Direct => (chosen.first && self.data.is_dark())
                .then(|| with(&|c| c.first = false))
                .map(|c| ("lsqml from the beginning".to_owned(), c)),
            Stage::DirectBaseline => {
                // Only after the trial that began with it.
                let direct = self.first.is_some() && self.first == self.kept;
                direct.then(|| ("lsqml goes on".to_owned(), chosen.clone()))
            }
            Stage::Gradient(again) => (!self.decided.positions
                && chosen.refine.is_empty()
                && (!again || several))
                .then(|| {
                    let name = "positions refined by their gradient".to_owned();
                    (name, with(&|c| c.refine = vec![gradient]))
                }),
            Stage::Scales(again) => (!self.decided.frame_scales
                && !chosen.frame_scales
                && (!again || several))
                .then(|| {
                    let name = "intensity scales of the frames".to_owned();
                    (name, with(&|c| c.frame_scales = true))
                }),
            Stage::Modes => {
                let more = MODES.into_iter().find(|n| *n > chosen.probe_modes);
                more.filter(|_| !self.decided.probe_modes)
                    .map(|n| (format!("{n} probe modes"), with(&|c| c.probe_modes = n)))
            }
            Stage::Last(n) => {
                let weight = *self.weights().get(n)?;
                let spec = self.template.engines.last()?;
                let mut spec = spec.clone();
                if n > 0 {
                    if self.decided.regulariser {
                        return None;
                    }
                    spec.regulariser = Some(weight);
                    spec.regulariser_edge = Some(EDGE);
                }
                let regularised = match n {
                    0 => String::new(),
                    _ => format!(", regulariser {}", shortest(weight)),
                };
                let name = format!("then ml{regularised}");
                Some((name, with(&|c| c.last = Some(spec.clone()))))
            }
            Stage::OneBatch => {
                let last = chosen.last.as_ref().or(self.template.engines.last())?;
                let refining = self.refining();
                let default = EngineSpec::new(refining.name, 1).momentum;
                let spec = EngineSpec {
                    iterations: last.iterations,
                    regulariser: last.regulariser,
                    regulariser_edge: last.regulariser_edge,
                    batch: Some(super::ALL),
                    momentum: match refining.momentum {
                        given if given != default => given,
                        _ => Some(super::MOMENTUM),
                    },
                    ..refining.clone()
                };
                let name = "then lsqml with all frames at once instead".to_owned();
                Some((name, with(&|c| c.last = Some(spec.clone()))))
            }
            Stage::Done => None,
        }
    }

    /// The trial that this stage starts from.
    fn start(&self) -> Option<usize> {
        match self.stage {
            Stage::First | Stage::Direct => None,
            Stage::Last(_) | Stage::OneBatch => match self.chosen.last {
                // All from what was there before the first of them.
                Some(_) => self.kept_before_last(),
                None => self.kept,
            },
            _ => self.first,
        }
    }

    /// The trial kept before the trials of the last engine.
    fn kept_before_last(&self) -> Option<usize> {
        self.tried
            .iter()
            .rposition(|tried| tried.kept && !tried.name.starts_with("then "))
    }

    /// The weights of the regulariser that are tried.
    fn weights(&self) -> &'static [f64] {
        match work(&self.template) {
            1 => &WEIGHTS,
            _ => &FEWER_WEIGHTS,
        }
    }

    /// The engine that refines.
    fn refining(&self) -> &EngineSpec {
        let engines = &self.template.engines;
        &engines[engines.len().saturating_sub(2)]
    }

    /// The recipe of the trial with `choices`.
    fn trial_recipe(&self, choices: &Choices) -> Recipe {
        let of = &self.template;
        let refining = self.refining();
        let iterations = self.data.iterations(work(of));
        let searched = iterations - TrialData::of_lsqml(iterations);
        let short = |spec: &EngineSpec, iterations: usize| EngineSpec {
            iterations,
            ..spec.clone()
        };
        let ml = short(of.engines.last().unwrap_or(refining), searched);
        let (engines, from) = match self.stage {
            Stage::First => (first_engine(of).into_iter().collect(), None),
            Stage::Direct => {
                let both = of.engines[0].iterations + iterations;
                (
                    vec![short(refining, both - searched), ml],
                    Some(both - iterations),
                )
            }
            Stage::Last(_) | Stage::OneBatch => {
                let last = choices.last.as_ref().unwrap_or(refining);
                (vec![short(last, iterations)], Some(0))
            }
            _ => (vec![short(refining, iterations - searched), ml], Some(0)),
        };
        let mut recipe = Recipe {
            stop: StopRule::Off,
            metrics_every: super::REFINING,
            physical_probe: false,
            engines,
            gpu: GpuOptions {
                // The others may depend on the order of additions.
                updates: GpuOptions::default().updates,
                ..of.gpu.clone()
            },
            ..of.clone()
        };
        recipe.probe_modes = choices.probe_modes;
        recipe.fit_frame_scales = choices.frame_scales && from.is_some();
        recipe.positions.refine = match from {
            Some(_) => choices.refine.clone(),
            None => Vec::new(),
        };
        recipe.positions.start = match self.stage {
            // Positions and scales are those found so far.
            Stage::Last(_) | Stage::OneBatch => 1,
            _ => from.unwrap_or(0) + REFINED_FROM,
        };
        recipe.positions.stop = 0;
        if self.start().is_some() {
            begin_earlier(&mut recipe, first_engine(of).map_or(0, |e| e.iterations));
        }
        recipe
    }

    /// The recipe that follows from the trials.
    #[must_use]
    pub(crate) fn recipe(&self) -> Recipe {
        self.recipe_of(&self.chosen)
    }

    fn recipe_of(&self, chosen: &Choices) -> Recipe {
        let of = &self.template;
        let mut engines = of.engines.clone();
        let had_first = engines.len() > 2;
        // As in the trials, the first object is made without refining.
        let refined_from = first_engine(of).map_or(0, |engine| engine.iterations);
        if had_first && !chosen.first {
            let iterations = engines.remove(0).iterations;
            engines[0].iterations = engines[0].iterations.saturating_add(iterations);
        }
        match &chosen.last {
            Some(spec) => {
                engines.pop();
                engines.push(spec.clone());
            }
            // None of its trials has lowered R_free.
            None if self.stage == Stage::Done && !self.stopped => drop(engines.pop()),
            None => {}
        }
        let mut recipe = Recipe {
            probe_modes: chosen.probe_modes,
            fit_frame_scales: chosen.frame_scales,
            engines,
            ..of.clone()
        };
        recipe.positions.refine.clone_from(&chosen.refine);
        let from = refined_from + REFINED_FROM;
        let default = PositionOptions::default();
        if recipe.positions.start == default.start && recipe.positions.stop == default.stop {
            recipe.positions.start = from;
        }
        recipe
    }

    /// The trials and what was kept; they took some `seconds`.
    #[must_use]
    pub(crate) fn report(&self, seconds: f64) -> AutomaticRecipe {
        AutomaticRecipe {
            frames: self.data.frames,
            free_pixels: self.data.free.round() as usize,
            margin: self.data.margin(),
            tried: self.tried.clone(),
            untried: self.data.too_small(),
            because: reasons(&self.template),
            kept: self.sentence(),
            seconds,
        }
    }

    /// What was kept.
    #[must_use]
    pub(crate) fn sentence(&self) -> String {
        let recipe = self.recipe();
        let modes = recipe.probe_modes;
        let positions = match recipe.positions.refine.as_slice() {
            [] => "positions as recorded".to_owned(),
            methods => {
                let names: Vec<&str> = methods.iter().map(|m| m.name()).collect();
                format!("positions refined ({})", names.join(", "))
            }
        };
        let scales = match recipe.fit_frame_scales {
            true => "intensity scales fitted",
            false => "no intensity scales",
        };
        let weight = recipe.engines.last().and_then(|e| e.regulariser);
        let regularised = match weight {
            Some(w) if w > 0.0 => format!(", the last with regulariser {}", shortest(w)),
            _ => String::new(),
        };
        format!(
            "{}{regularised}; {modes} probe {}, {positions}, {scales}",
            engine_list(&recipe.engines),
            noun(modes)
        )
    }
}

fn noun(modes: usize) -> &'static str {
    if modes == 1 { "mode" } else { "modes" }
}
