//! The trials of the automatic recipe: short reconstructions of a part of the scan that decide the
//! recipe of the run.

use super::central_part::central_part;
use super::recipe::{
    AutomaticRecipe, AutomaticSearch, Decided, MOST_ITERATIONS, MOST_TRIALS, Trial, TrialData,
    Tried, reasons, work,
};
use crate::checks::diagnosis::masked_pixels;
use crate::data::{HistoryEntry, Reconstruction, Scan};
use crate::{
    Engine, EngineError, Origin, ProbeSource, Problem, ProblemError, Recipe, Reconstructor,
    free_share, result,
};
use std::any::Any;
use std::time::Instant;
use warpstride_core::run::{Interrupt, Observer, Silent};
use warpstride_core::system::ScratchError;
use warpstride_core::text::count;

/// Most pixels of the frames of a trial, if it has [`FEWEST`] frames: 128 frames of 128².
const PIXELS: usize = 1 << 21;
/// Frames of a trial, at least, if they do not have more than [`MOST_PIXELS`].
const FEWEST: usize = 48;
/// Most pixels of the frames of a trial, by which its work is bounded: 16 frames of 1024².
const MOST_PIXELS: usize = 1 << 24;

/// Where trials are computed, and who sees them.
pub trait TrialHost {
    /// What ends the search.
    type Error: From<EngineError> + From<ScratchError>;

    /// An engine on the back end of the run, on one device.
    ///
    /// # Errors
    /// There is none, or too little memory.
    fn engine(
        &self,
        scan: &Scan,
        problem: &Problem,
        recipe: &Recipe,
    ) -> Result<Box<dyn Engine>, Self::Error>;

    /// Whether the CPU has the memory for a run of `recipe` on `scan`.
    ///
    /// # Errors
    /// It has not.
    fn fits_cpu(&self, scan: &Scan, recipe: &Recipe) -> Result<(), Self::Error>;

    /// Why a trial fails for which there is no engine, such as one with more probe modes than fit
    /// into memory.
    ///
    /// # Errors
    /// The search cannot go on.
    fn why_without(&self, error: Self::Error) -> Result<String, Self::Error>;

    /// The error of a recipe and a scan that are no problem.
    fn refused(&self, error: &ProblemError) -> Self::Error;

    /// Called before what may take long and cannot be interrupted, with what was kept so far; the
    /// value is dropped after it.
    ///
    /// # Errors
    /// Signals cannot be handled.
    fn preparing(&self, _kept: &str) -> Result<Box<dyn Any>, Self::Error> {
        Ok(Box::new(()))
    }

    /// Shows the progress of the trial with this name.
    fn observer(&self, _name: &str) -> Box<dyn Observer<HistoryEntry>> {
        Box::new(Silent)
    }

    /// Called after each trial.
    fn tried(&self, _trial: &Tried) {}
}

/// What trials have found.
#[derive(Debug)]
pub enum Chosen {
    /// The recipe of the run, and how it was found.
    Recipe(Box<Recipe>, AutomaticRecipe),
    /// They were interrupted; what was kept until then.
    Interrupted(String),
}

/// R_free and the result of a trial, or why it failed.
type TrialResult = Result<(f64, Reconstruction), String>;

/// Chooses the recipe of a run on `scan`, whose file is `source`, by trials. They start from the
/// recipe `from`, of which the user has `decided` some parts.
///
/// # Errors
/// A trial cannot be made: see [`TrialHost`].
pub fn choose_recipe<H: TrialHost>(
    host: &H,
    (scan, source): (&Scan, &str),
    (from, decided): (&Recipe, Decided),
    interrupt: &Interrupt,
) -> Result<Chosen, H::Error> {
    let begun = Instant::now();
    let mut template = from.clone();
    if !decided.free_pixels {
        let fitted = template.detector.fits_background();
        template.free_pixels = free_share(valid_pixels(scan), fitted);
    }
    let part = central_part(scan, most_frames(scan, &template))?;
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
    let mut search = AutomaticSearch::new(&template, decided, data);
    let part = part.filter(|_| data.too_small().is_none());
    let mut results: Vec<Option<Reconstruction>> = Vec::new();
    while let Some(part) = &part
        && let Some(trial) = search.next_trial()
    {
        if interrupt.requested() {
            return Ok(Chosen::Interrupted(search.sentence()));
        }
        let start = trial.from.and_then(|number| results.get(number)?.as_ref());
        let preparing = host.preparing(&search.sentence())?;
        let of_trial = OfTrial {
            part,
            whole: scan,
            source,
            trial: &trial,
            start,
        };
        let Some(outcome) = of_trial.run(host, interrupt, preparing)? else {
            return Ok(Chosen::Interrupted(search.sentence()));
        };
        let (r_free, result) = match outcome {
            Ok((r_free, result)) => (Ok(r_free), Some(result)),
            Err(why) => (Err(why), None),
        };
        host.tried(&search.record(&trial, r_free));
        results.push(result);
        for (number, result) in results.iter_mut().enumerate() {
            if !search.needs(number) {
                *result = None;
            }
        }
    }
    let report = search.report(begun.elapsed().as_secs_f64());
    Ok(Chosen::Recipe(Box::new(search.recipe()), report))
}

/// A trial, and what it reconstructs.
struct OfTrial<'a> {
    /// The part of the scan.
    part: &'a Scan,
    /// The scan of the run.
    whole: &'a Scan,
    source: &'a str,
    trial: &'a Trial,
    /// The result from which it goes on.
    start: Option<&'a Reconstruction>,
}

impl OfTrial<'_> {
    /// Makes the trial; `None` if it was interrupted.
    fn run<H: TrialHost>(
        &self,
        host: &H,
        interrupt: &Interrupt,
        preparing: Box<dyn Any>,
    ) -> Result<Option<TrialResult>, H::Error> {
        let failed = |why: String| Ok(Some(Err(why)));
        let (scan, recipe) = (self.part, &self.trial.recipe);
        let mut prepared = recipe.clone();
        if self.start.is_some() {
            // That of the start takes its place, so a search for one would be wasted.
            prepared.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem =
            Problem::prepare(scan, &prepared).map_err(|error| host.refused(&error))?;
        let start = self.start;
        let started = start.map(|result| problem.start_from(result, scan, &going_on(recipe)));
        let frames = match started.transpose() {
            Ok(frames) => frames.flatten(),
            Err(error) => return failed(format!("start: {error}")),
        };
        let engine = match host.engine(scan, &problem, recipe) {
            // With more modes than the run has at least, or with other engines, there may be too
            // little memory.
            Err(error) if !self.trial.first => return failed(host.why_without(error)?),
            engine => engine?,
        };
        // What would not fit for the whole scan is not tried. GPUs take the frames of larger scans
        // in blocks.
        if engine.setup().backend == "cpu"
            && let Err(error) = host.fits_cpu(self.whole, &self.trial.run)
        {
            return failed(host.why_without(error)?);
        }
        let mut run = Reconstructor::new(engine, &problem, recipe);
        if let Some(frames) = frames {
            run.start_frames(&frames)?;
        }
        drop(preparing);
        let mut observer = host.observer(&self.trial.name);
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
        let text = match recipe.to_toml() {
            Ok(text) => text,
            Err(error) => return failed(error.to_string()),
        };
        let origin = Origin {
            source: self.source.to_owned(),
            recipe: text,
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
}

/// The recipe by which a trial goes on from another: with the probe of that one, whatever the
/// source of the first was.
fn going_on(recipe: &Recipe) -> Recipe {
    let mut recipe = recipe.clone();
    recipe.probe.source = ProbeSource::Auto;
    recipe
}

/// Pixels of all frames that are not masked.
fn valid_pixels(scan: &Scan) -> usize {
    let [frames, rows, columns] = scan.shape();
    let (bad, of) = masked_pixels(scan);
    let valid = 1.0 - bad as f64 / of.max(1) as f64;
    (valid * (frames * rows * columns) as f64).round() as usize
}

/// What trials that start from `template` would do with the scan: one sentence.
#[must_use]
pub fn planned_trials(scan: &Scan, template: &Recipe) -> String {
    let engines: Vec<String> = (template.engines.iter())
        .map(|engine| format!("{}:{}", engine.name.as_str(), engine.iterations))
        .collect();
    let because: String = (reasons(template).into_iter())
        .map(|why| format!("; {why}"))
        .collect();
    format!(
        "at most {} of at most {} on {} choose the rest of {}, which ends when R_free no longer falls; the memory here is for the number of probe modes above, and a number for which it is too small is not tried{because}",
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
