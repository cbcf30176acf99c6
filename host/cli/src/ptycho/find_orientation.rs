//! `--find-orientation`: short reconstructions of a part of the scan, one for each orientation of
//! the positions.

use super::interruption::stops_at_once;
use super::recipe_origin::RecipeOrigin;
use super::trial_device::TrialDevice;
use crate::failure::Failure;
use std::ops::RangeInclusive;
use std::time::Instant;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::{
    Decision, EngineError, EngineName, EngineSpec, GpuOptions, Orientation, OrientationSearch,
    ProbeSource, Problem, ProblemError, Recipe, Reconstructor, StartOfTrials, StopRule, Trial,
    TrialR, TrialResult, absorption_correlation, central_part,
};
use warpstride::run::Interrupt;

/// Frames of a trial, and its iterations: of a first search, and of one where the first has found
/// nothing.
const EFFORTS: [[usize; 2]; 2] = [[100, 20], [200, 30]];
/// Most pixels of the frames of a trial, if it has [`FEWEST`] frames.
const PIXELS: usize = 1 << 25;
/// Frames of a trial, at least, however large they are.
const FEWEST: usize = 48;
/// Share of free pixels, at least.
const FREE_PIXELS: f64 = 0.02;
/// Wavelengths, m, at which X-rays are likely: electrons in microscopes have shorter ones, lasers
/// longer ones.
const X_RAYS: RangeInclusive<f64> = 2e-11..=5e-9;

/// What the trials take from the run.
pub(super) struct TrialSettings<'a> {
    /// The scan, at the orientation of the recipe.
    pub(super) scan: &'a Scan,
    /// Its file.
    pub(super) name: String,
    pub(super) recipe: &'a Recipe,
    pub(super) origin: &'a RecipeOrigin,
    pub(super) device: TrialDevice,
    /// What Ctrl-C says.
    pub(super) stopped: String,
}

impl TrialSettings<'_> {
    /// Tries the orientations; `None` if it was interrupted. If no class fits clearly better than
    /// the others, they are tried once more, with more frames and iterations and with a probe that
    /// is searched for.
    pub(super) fn search(
        &self,
        interrupt: &Interrupt,
    ) -> Result<Option<OrientationSearch>, Failure> {
        let begun = Instant::now();
        let mut found = None;
        for (effort, searched) in EFFORTS.into_iter().zip([false, true]) {
            let Some(search) = self.attempt(effort, searched, interrupt)? else {
                return Ok(None);
            };
            let seconds = begun.elapsed().as_secs_f64();
            let search = found.insert(OrientationSearch { seconds, ..search });
            if search.decision != Decision::Unclear {
                break;
            }
        }
        Ok(found)
    }

    /// Tries the orientations once.
    fn attempt(
        &self,
        [most, iterations]: [usize; 2],
        searched: bool,
        interrupt: &Interrupt,
    ) -> Result<Option<OrientationSearch>, Failure> {
        let Some(part) = central_part(self.scan, self.most_frames(most))? else {
            return Err(Failure::failed(format!("{}: no frames to try", self.name)));
        };
        let near_field = self.scan.geometry().is_near_field();
        let start = match (searched, near_field) {
            (true, true) => StartOfTrials::Propagated,
            (true, false) => StartOfTrials::Searched,
            (false, _) => self.start(near_field),
        };
        let recipe = self.recipe(start, iterations);
        let mut search = OrientationSearch {
            given: Orientation::of(&self.recipe.data),
            frames: part.shape()[0],
            iterations,
            start,
            near_field,
            x_rays: X_RAYS.contains(&part.geometry().wavelength),
            trials: Vec::new(),
            decision: Decision::Unclear,
            seconds: 0.0,
        };
        for class in Orientation::CLASSES {
            for orientation in [class, class.twin()] {
                let turned = search.turned(&part, orientation)?;
                let (result, own_twin) = match self.trial(&turned, &recipe, interrupt)? {
                    None => return Ok(None),
                    Some(found) => found,
                };
                search.trials.push(Trial {
                    orientation,
                    result,
                });
                if !near_field && (own_twin || start == StartOfTrials::Searched) {
                    break;
                }
            }
        }
        Ok(Some(search.decided()))
    }

    /// Frames of a trial that is to have `most` of them, unless they are large.
    pub(super) fn most_frames(&self, most: usize) -> usize {
        let [_, rows, columns] = self.scan.shape();
        most.min(FEWEST.max(PIXELS / (rows * columns)))
    }

    /// The start probe of the first search.
    pub(super) fn start(&self, near_field: bool) -> StartOfTrials {
        let probe = &self.recipe.probe;
        match (probe.source, self.scan.probe()) {
            (ProbeSource::Auto, None) if near_field => StartOfTrials::Propagated,
            (ProbeSource::MeanPattern, _) if near_field => StartOfTrials::Recipe,
            (ProbeSource::Auto, Some(_)) | (ProbeSource::File, _) => StartOfTrials::File,
            (ProbeSource::Auto, None) => StartOfTrials::Searched,
            (ProbeSource::MeanPattern, _) if probe.defocus == 0.0 => StartOfTrials::Searched,
            (
                ProbeSource::MeanPattern
                | ProbeSource::Aperture
                | ProbeSource::ZonePlate
                | ProbeSource::Gaussian
                | ProbeSource::Aberrations,
                _,
            ) => StartOfTrials::Recipe,
        }
    }

    /// The recipe of a trial.
    pub(super) fn recipe(&self, start: StartOfTrials, iterations: usize) -> Recipe {
        let of = self.recipe;
        let mut probe = of.probe.clone();
        if matches!(start, StartOfTrials::Searched | StartOfTrials::Propagated) {
            probe.source = ProbeSource::Auto;
        }
        Recipe {
            seed: of.seed,
            precision: of.precision,
            free_pixels: of.free_pixels.max(FREE_PIXELS),
            stop: StopRule::Off,
            metrics_every: iterations,
            probe,
            gpu: GpuOptions {
                // The others may depend on the order of additions.
                updates: GpuOptions::default().updates,
                ..of.gpu.clone()
            },
            data: of.data.clone(),
            engines: vec![EngineSpec::new(EngineName::Dm, iterations)],
            ..Recipe::default()
        }
    }

    /// What one orientation gives, and whether its twin would start from the same probe; `None` if
    /// it was interrupted.
    pub(super) fn trial(
        &self,
        scan: &Scan,
        recipe: &Recipe,
        interrupt: &Interrupt,
    ) -> Result<Option<(TrialResult, bool)>, Failure> {
        if interrupt.requested() {
            return Ok(None);
        }
        // The search for a probe and the compilation of kernels may take far longer than an
        // iteration.
        let before_iterations = stops_at_once(self.stopped.clone())?;
        let skipped = |why: String| Ok(Some((TrialResult::Skipped(why), false)));
        let problem = match Problem::prepare(scan, recipe) {
            Ok(problem) => problem,
            // The unit of the file suits its own orientation.
            Err(ProblemError::Positions { error, .. }) => return skipped(error.to_string()),
            Err(error @ (ProblemError::NearPositions(_) | ProblemError::TooMany { .. })) => {
                return skipped(error.to_string());
            }
            Err(error) => return Err(self.origin.of_problem(&self.name, &error)),
        };
        let own_twin = warpstride::ptycho::is_own_twin(&problem.probe);
        // Another orientation may need less memory. If none can be computed, the run says so too.
        let engine = match self.device.engine(scan, &problem, recipe) {
            Err(Failure::Failed(why)) => return skipped(why),
            engine => engine?,
        };
        let mut run = Reconstructor::new(engine, &problem, recipe);
        drop(before_iterations);
        while !run.finished() {
            if interrupt.requested() {
                return Ok(None);
            }
            match run.advance() {
                Err(error @ EngineError::Sums { .. }) => return skipped(error.to_string()),
                done => done?,
            }
        }
        let last = run.progress().history.last();
        let Some((r_factor, r_free)) = last.and_then(|h| Some((h.r_factor?, h.r_free))) else {
            return skipped("R was not computed".to_owned());
        };
        let r_free = r_free.unwrap_or(r_factor);
        if !(r_factor.is_finite() && r_free.is_finite()) {
            return skipped("the reconstruction diverged".to_owned());
        }
        let engine = run.engine();
        let (object, probe) = (engine.object()?, engine.probe()?);
        let fitted = TrialResult::Fitted(TrialR {
            r_factor,
            r_free,
            absorption: absorption_correlation(&object, &probe, &engine.frames()),
        });
        Ok(Some((fitted, own_twin)))
    }
}
