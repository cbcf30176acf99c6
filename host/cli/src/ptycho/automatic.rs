//! The automatic recipe: short reconstructions of a part of the scan that decide the recipe of the
//! run.

use super::interruption::stops_at_once;
use super::recipe_arguments::Automatic;
use super::recipe_origin::RecipeOrigin;
use super::reconstruct::ProgressOutput;
use super::trial_device::TrialDevice;
use crate::failure::Failure;
use crate::output::ProgressStream;
use serde::Serialize;
use std::io::Write;
use std::time::Instant;
use warpstride::ptycho::data::{HistoryEntry, Reconstruction, Scan};
use warpstride::ptycho::{
    AutomaticRecipe, AutomaticSearch, AutomaticTrial, EngineError, MOST_ITERATIONS, MOST_TRIALS,
    Origin, ProbeSource, Problem, Recipe, Reconstructor, TrialData, Tried, central_part,
    free_share, masked_pixels, reasons, result, work,
};
use warpstride::run::{Bar, Interrupt, Observer, Silent};
use warpstride::text::{count, significant};

/// Most pixels of the frames of a trial, if it has [`FEWEST`] frames: 128 frames of 128².
const PIXELS: usize = 1 << 21;
/// Frames of a trial, at least, if they do not have more than [`MOST_PIXELS`].
const FEWEST: usize = 48;
/// Most pixels of the frames of a trial, by which its work is bounded: 16 frames of 1024².
const MOST_PIXELS: usize = 1 << 24;

/// What the trials take from the run.
pub(super) struct AutomaticSettings<'a> {
    /// The scan of the run.
    pub(super) scan: &'a Scan,
    /// Its file.
    pub(super) name: String,
    /// The recipe from which the search starts.
    pub(super) template: &'a Recipe,
    /// What it may decide.
    pub(super) automatic: Automatic,
    pub(super) origin: &'a RecipeOrigin,
    pub(super) device: TrialDevice,
    pub(super) output: ProgressOutput,
    /// What Ctrl-C says, if not what was kept until then.
    pub(super) stopped: Option<String>,
}

/// What the trials have found.
pub(super) enum Chosen {
    /// The recipe of the run.
    Recipe(Box<Recipe>, AutomaticRecipe),
    /// They were interrupted; what was kept until then.
    Interrupted(String),
}

/// R_free and the result of a trial, or why it failed.
type TrialResult = Result<(f64, Reconstruction), String>;

/// A line of progress.
#[derive(Serialize)]
struct TrialEvent<'a> {
    event: &'static str,
    #[serde(flatten)]
    tried: &'a Tried,
}

impl AutomaticSettings<'_> {
    /// Makes the trials.
    pub(super) fn search(&self, interrupt: &Interrupt) -> Result<Chosen, Failure> {
        let begun = Instant::now();
        let mut template = self.template.clone();
        if !self.automatic.free_pixels {
            let fitted = template.detector.fits_background();
            template.free_pixels = free_share(valid_pixels(self.scan), fitted);
        }
        let part = central_part(self.scan, most_frames(self.scan, &template))?;
        let data = part.as_ref().map_or(
            TrialData {
                frames: 0,
                valid: 0,
                free: 0.0,
                mean_count: 0.0,
            },
            |part| {
                let valid = valid_pixels(part);
                TrialData {
                    frames: part.shape()[0],
                    valid,
                    free: template.free_pixels * valid as f64,
                    mean_count: part.sums().total() / valid.max(1) as f64,
                }
            },
        );
        let mut search = AutomaticSearch::new(&template, self.automatic.decided, data);
        let part = part.filter(|_| data.too_small().is_none());
        let mut results: Vec<Option<Reconstruction>> = Vec::new();
        while let Some(part) = &part
            && let Some(trial) = search.next_trial()
        {
            let start = trial.from.and_then(|number| results.get(number)?.as_ref());
            let stopped = (self.stopped.clone()).unwrap_or_else(|| in_trials(&search.sentence()));
            let Some(outcome) = self.trial(part, &trial, start, (interrupt, stopped))? else {
                return Ok(Chosen::Interrupted(search.sentence()));
            };
            let (r_free, result) = match outcome {
                Ok((r_free, result)) => (Ok(r_free), Some(result)),
                Err(why) => (Err(why), None),
            };
            let tried = search.record(&trial, r_free);
            if self.output == ProgressOutput::Json {
                tell(&tried);
            }
            results.push(result);
            for (number, result) in results.iter_mut().enumerate() {
                if !search.needs(number) {
                    *result = None;
                }
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let report = search.report(seconds);
        Ok(Chosen::Recipe(Box::new(search.recipe()), report))
    }

    /// Makes a trial; `None` if it was interrupted. Until its first iteration, which a search for a
    /// probe may precede, Ctrl-C ends the program at once with `stopped`.
    fn trial(
        &self,
        scan: &Scan,
        trial: &AutomaticTrial,
        start: Option<&Reconstruction>,
        (interrupt, stopped): (&Interrupt, String),
    ) -> Result<Option<TrialResult>, Failure> {
        if interrupt.requested() {
            return Ok(None);
        }
        let before_iterations = stops_at_once(stopped)?;
        let failed = |why: String| Ok(Some(Err(why)));
        let recipe = &trial.recipe;
        let mut prepared = recipe.clone();
        if start.is_some() {
            // That of the start takes its place, so a search for one would be wasted.
            prepared.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem = (Problem::prepare(scan, &prepared))
            .map_err(|error| self.origin.of_problem(&self.name, &error))?;
        let started = start.map(|result| problem.start_from(result, scan, &going_on(recipe)));
        let frames = match started.transpose() {
            Ok(frames) => frames.flatten(),
            Err(error) => return failed(format!("start: {error}")),
        };
        let engine = match self.device.engine(scan, &problem, recipe) {
            // With more modes than the run has at least, or with other engines, there may be too
            // little memory.
            Err(Failure::Failed(why)) if !trial.first => return failed(why),
            engine => engine?,
        };
        // What would not fit for the whole scan is not tried. GPUs take the frames of larger scans
        // in blocks.
        if engine.setup().backend == "cpu"
            && let Err(error) = self.device.fits_cpu(self.scan, &trial.run)
        {
            return failed(error.to_string());
        }
        let mut run = Reconstructor::new(engine, &problem, recipe);
        if let Some(frames) = frames {
            run.start_frames(&frames)?;
        }
        drop(before_iterations);
        let mut observer = self.observer(&trial.name);
        observer.start(run.planned(), 0);
        let mut seen = 0;
        while !run.finished() {
            if interrupt.requested() {
                observer.end();
                return Ok(None);
            }
            match run.advance() {
                Err(error @ EngineError::Sums { .. }) => {
                    observer.end();
                    return failed(error.to_string());
                }
                done => done?,
            }
            let progress = run.progress();
            (progress.history.iter().skip(seen)).for_each(|entry| observer.entry(entry));
            seen = progress.history.len();
            observer.progress(progress.total);
        }
        observer.end();
        let origin = Origin {
            source: self.name.clone(),
            recipe: recipe.to_toml().map_err(Failure::usage)?,
            trials: String::new(),
        };
        let found = result(&mut run, scan, &problem, recipe, &origin)?;
        let Some(r_free) = found.history.last().and_then(|entry| entry.r_free) else {
            return failed("R_free was not computed".to_owned());
        };
        if !r_free.is_finite() {
            return failed("the reconstruction diverged".to_owned());
        }
        Ok(Some(Ok((r_free, found))))
    }

    /// Shows the progress of a trial.
    fn observer(&self, name: &str) -> Box<dyn Observer<HistoryEntry>> {
        if self.output != ProgressOutput::Text {
            return Box::new(Silent);
        }
        let name = name.to_owned();
        Box::new(Bar::new(move |entry: &HistoryEntry| {
            let r_free = entry
                .r_free
                .map_or_else(String::new, |r| format!("  R_free {}", significant(r, 3)));
            format!("trial: {name}, {}{r_free}", entry.engine)
        }))
    }
}

/// What Ctrl-C says in the trials.
pub(super) fn in_trials(so_far: &str) -> String {
    format!(
        "stopped in the trials of the automatic recipe; nothing was written; kept so far: {so_far}"
    )
}

/// The recipe by which a trial goes on from another: with the probe of that one, whatever the
/// source of the first was.
fn going_on(recipe: &Recipe) -> Recipe {
    let mut recipe = recipe.clone();
    recipe.probe.source = ProbeSource::Auto;
    recipe
}

/// A line of JSON for a trial; the reader may close the pipe.
fn tell(tried: &Tried) {
    let event = TrialEvent {
        event: "trial",
        tried,
    };
    let mut stream = ProgressStream;
    if let Ok(text) = serde_json::to_string(&event)
        && writeln!(stream, "{text}").is_ok()
    {
        stream.flush().unwrap_or_default();
    }
}

/// Pixels of all frames that are not masked.
fn valid_pixels(scan: &Scan) -> usize {
    let [frames, rows, columns] = scan.shape();
    let (bad, of) = masked_pixels(scan);
    let valid = 1.0 - bad as f64 / of.max(1) as f64;
    (valid * (frames * rows * columns) as f64).round() as usize
}

/// What the automatic recipe would do with the scan, for `info`.
pub(super) fn planned(scan: &Scan, template: &Recipe) -> String {
    let engines: Vec<String> = (template.engines.iter())
        .map(|engine| format!("{}:{}", engine.name.as_str(), engine.iterations))
        .collect();
    let because: String = (reasons(template).into_iter())
        .map(|why| format!("; {why}"))
        .collect();
    format!(
        "reconstruct without --engine is automatic: at most {} of at most {} on {} choose the rest of {}, which ends when R_free no longer falls; the memory here is for the number of probe modes above, and a number for which it is too small is not tried{because}",
        count(MOST_TRIALS, ["trial", "trials"]),
        count(MOST_ITERATIONS, ["iteration", "iterations"]),
        count(
            scan.shape()[0].min(most_frames(scan, template)),
            ["frame", "frames"]
        ),
        engines.join(" "),
    )
}

/// Most frames of a trial.
fn most_frames(scan: &Scan, template: &Recipe) -> usize {
    let [_, rows, columns] = scan.shape();
    frames_of(rows * columns, work(template))
}

/// Most frames of a trial, if each has this number of pixels and so many times the work of one
/// wave.
fn frames_of(pixels: usize, work: usize) -> usize {
    let pixels = pixels.max(1);
    let worked = pixels.saturating_mul(work.max(1));
    FEWEST.min(MOST_PIXELS / pixels).max(PIXELS / worked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_a_trial_is_bounded() {
        let sides = [0, 32, 128, 256, 512, 1024, 2048, 8192];
        let frames = sides.map(|side| frames_of(side * side, 1));
        assert_eq!(frames, [PIXELS, 2048, 128, 48, 48, 16, 4, 0]);
        for (side, frames) in sides.into_iter().zip(frames) {
            assert!(side * side * frames <= MOST_PIXELS);
        }
        // Several waves: fewer frames, as far as there are more than the fewest.
        assert_eq!(
            sides.map(|side| frames_of(side * side, 4)),
            [PIXELS / 4, 512, 48, 48, 48, 16, 4, 0]
        );
    }
}
