//! `warpstride ptycho reconstruct`: from what was typed to a finished run.

use super::files::{Files, remove};
use super::machine::{engine, needed, word};
use super::results::Ended;
use crate::cli::args::{BackendWord, PrecisionWord, ReconstructTyped};
use crate::cli::backend::{Room, Wish};
use crate::cli::failure::Failure;
use crate::cli::output::say;
use crate::cli::paths::same;
use crate::cli::threads;
use std::path::{Path, PathBuf};
use std::time::Duration;
use warpstride::data::{HistoryEntry, PixelPositions, Scan};
use warpstride::io::{self, Memory};
use warpstride::ptycho::{
    Course, EngineSpec, Origin, Plan, Precision, ProbeSource, Problem, Recipe, Reconstructor,
    SavedRun, outcome,
};
use warpstride::report::significant;
use warpstride::run::{Bar, End, Interrupt, JsonLines, Observer, Schedule, Silent, execute};

/// More than any recipe has bytes.
const LARGEST_RECIPE: u64 = 1 << 20;

/// Who hears of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// A bar on a terminal, words at the end.
    Text,
    /// JSON lines.
    Json,
    /// Nobody.
    Quiet,
}

/// A checked reconstruction.
#[derive(Debug)]
pub(crate) struct Reconstruct {
    scan: PathBuf,
    recipe: Recipe,
    /// The resolved recipe, TOML.
    recipe_text: String,
    files: Files,
    wish: Wish,
    resume: Option<(PathBuf, Box<SavedRun>)>,
    threads: Option<usize>,
    schedule: Schedule,
    voice: Voice,
}

impl Reconstruct {
    /// Checks options, recipe and outputs; a checkpoint is read.
    pub(crate) fn from_typed(typed: ReconstructTyped) -> Result<Self, Failure> {
        let every = Duration::try_from_secs_f64(typed.checkpoint_every).map_err(|_| {
            Failure::usage(format!(
                "--checkpoint-every {}: seconds, 0 or more, are expected",
                typed.checkpoint_every
            ))
        })?;
        threads::check(typed.threads)?;
        let (recipe, recipe_text, resume) = match &typed.resume {
            None => {
                let recipe = resolve(&typed)?;
                let text = recipe.to_toml().map_err(Failure::usage)?;
                (recipe, text, None)
            }
            Some(path) => {
                let saved = SavedRun::read(path)?;
                let recipe = saved.recipe(path)?;
                (
                    recipe,
                    saved.recipe.clone(),
                    Some((path.clone(), Box::new(saved))),
                )
            }
        };
        let backend = typed.backend.unwrap_or_else(|| match &resume {
            Some((_, saved)) if saved.backend == "cuda" => BackendWord::Cuda,
            Some((_, saved)) if saved.backend == "emulator" => BackendWord::Emulator,
            Some(_) => BackendWord::Cpu,
            None => BackendWord::Auto,
        });
        let wish = Wish::new(backend, typed.device);
        wish.check(word(recipe.precision), Room::Ptycho)?;
        let checkpoint = typed
            .checkpoint
            .or_else(|| typed.resume.clone())
            .unwrap_or_else(|| Files::checkpoint_beside(&typed.output));
        let files = Files {
            checkpoint,
            pictures: (!typed.no_pictures).then(|| Files::pictures_beside(&typed.output)),
            summary: typed.summary,
            report: typed.report,
            result: typed.output,
        };
        let mut inputs = vec![typed.file.as_path()];
        inputs.extend(typed.recipe.as_deref());
        // The run goes on in its own checkpoint; any other output must leave it alone.
        let elsewhere = |path: &&Path| !same(path, &files.checkpoint);
        inputs.extend(typed.resume.as_deref().filter(elsewhere));
        files.check(&inputs)?;
        Ok(Self {
            scan: typed.file,
            recipe,
            recipe_text,
            files,
            wish,
            resume,
            threads: typed.threads,
            schedule: Schedule { every: Some(every) },
            voice: match (typed.json_progress, typed.quiet) {
                (true, _) => Voice::Json,
                (_, true) => Voice::Quiet,
                _ => Voice::Text,
            },
        })
    }

    /// Reads, computes and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        let memory = Memory::available();
        let read = io::scan::read(&self.scan, &self.recipe.data)?;
        let scan = read.scan;
        let plan = self.plan(&scan)?;
        let machine = self
            .wish
            .open(word(self.recipe.precision), Room::Ptycho)?
            .fitting(&needed(&plan), memory)?;
        let name = self.scan.display().to_string();
        let mut start = self.recipe.clone();
        if let Some((path, saved)) = &self.resume {
            saved.check_scan(path, &scan)?;
            // The saved probe takes its place: the search for a start probe would be in vain.
            start.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem =
            Problem::new(&scan, &start).map_err(|e| Failure::failed(format!("{name}: {e}")))?;
        let (engine, note) = engine(machine, &problem, &self.recipe, memory)?;
        if let Some((path, saved)) = &self.resume {
            problem.notes = vec![format!("goes on from {}", path.display())];
            if saved.backend != engine.backend() {
                problem.notes.push(format!(
                    "the saved run was on the back end {}: on {} it goes on, but not bit for bit",
                    saved.backend,
                    engine.backend()
                ));
            }
        }
        if self.voice == Voice::Text {
            let notes = note.iter().chain(&read.notes).chain(&problem.notes);
            say(&notes
                .map(|note| format!("note: {note}\n"))
                .collect::<String>())?;
        }
        let run = Reconstructor::new(engine, &problem, &self.recipe);
        let origin = Origin {
            source: name,
            recipe: self.recipe_text.clone(),
        };
        let mut course = Course::new(run, &scan, origin.clone(), &self.files.checkpoint);
        let mut resumed_from = None;
        if let Some((path, saved)) = self.resume {
            course.resume(*saved, &path)?;
            resumed_from = Some(path);
        }

        let interrupt = Interrupt::on_ctrl_c()?;
        let end = execute(
            &mut course,
            self.voice.observer().as_mut(),
            &interrupt,
            self.schedule,
        )?;
        let saved = course.saved();
        let run = course.run();
        let result = outcome(run, &scan, &problem, &self.recipe, &origin)?;
        let planned = run.planned();
        let seconds = result.history.last().map_or(0.0, |entry| entry.seconds);
        let ended = Ended {
            result,
            scan: &scan,
            seconds,
            files: &self.files,
            interrupted: end == End::Interrupted,
        };
        let words = ended.write()?;
        if self.voice == Voice::Text {
            say(&words)?;
        }
        match end {
            End::Finished => {
                if saved || resumed_from.as_ref() == Some(&self.files.checkpoint) {
                    // Its result is written: nobody needs it.
                    remove(&self.files.checkpoint)?;
                }
                Ok(())
            }
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} of {planned} iterations; the present result is in {}, --resume {} goes on",
                course.run().place().total,
                self.files.result.display(),
                self.files.checkpoint.display(),
            ))),
        }
    }

    /// Sizes; refuses positions that make no object.
    fn plan(&self, scan: &Scan) -> Result<Plan, Failure> {
        let [frames, rows, columns] = scan.shape();
        let pixel = scan.object_pixel();
        let positions = PixelPositions::new(scan.positions(), pixel, [rows, columns], 0)
            .map_err(|e| Failure::failed(format!("{}: {e}", self.scan.display())))?;
        let shape = [frames, self.recipe.probe_modes, rows, columns];
        Ok(Plan::new(
            shape,
            positions.object_shape,
            self.recipe.precision,
        ))
    }
}

impl Voice {
    fn observer(self) -> Box<dyn Observer<HistoryEntry>> {
        match self {
            Self::Text => Box::new(Bar::new(|entry: &HistoryEntry| {
                let error = significant(entry.err_fourier, 3);
                match entry.r_factor {
                    Some(r) => format!("{} {error}  R {}", entry.engine, significant(r, 3)),
                    None => format!("{} {error}", entry.engine),
                }
            })),
            Self::Json => Box::new(JsonLines::new(std::io::stdout())),
            Self::Quiet => Box::new(Silent),
        }
    }
}

/// The recipe file, then `--engine` and the other options, then `--set`.
fn resolve(typed: &ReconstructTyped) -> Result<Recipe, Failure> {
    let mut recipe = match &typed.recipe {
        None => Recipe::default(),
        Some(path) => read_recipe(path)?,
    };
    if !typed.engine.is_empty() {
        recipe.engines = typed
            .engine
            .iter()
            .map(|text| EngineSpec::parse(text))
            .collect::<Result<_, _>>()
            .map_err(Failure::usage)?;
    }
    if let Some(modes) = typed.probe_modes {
        recipe.probe_modes = modes;
    }
    if let Some(precision) = typed.precision {
        recipe.precision = match precision {
            PrecisionWord::F32 => Precision::F32,
            PrecisionWord::F64 => Precision::F64,
        };
    }
    if let Some(seed) = typed.seed {
        recipe.seed = seed;
    }
    for assignment in &typed.set {
        recipe.set(assignment).map_err(Failure::usage)?;
    }
    recipe.check().map_err(Failure::usage)?;
    Ok(recipe)
}

/// A recipe from a file, checked.
pub(super) fn read_recipe(path: &Path) -> Result<Recipe, Failure> {
    let name = path.display();
    let unread = |e| Failure::failed(format!("{name}: cannot be read: {e}"));
    let kind = std::fs::metadata(path).map_err(unread)?;
    // Devices and pipes may have no end.
    if !kind.is_file() {
        return Err(Failure::failed(format!(
            "{name}: is not a regular file: a recipe (TOML) is expected"
        )));
    }
    if kind.len() > LARGEST_RECIPE {
        return Err(Failure::failed(format!(
            "{name}: has {} bytes: a recipe (TOML) of at most {LARGEST_RECIPE} bytes is expected",
            kind.len()
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let recipe = Recipe::from_toml(&text).map_err(|e| Failure::failed(format!("{name}: {e}")))?;
    recipe
        .check()
        .map_err(|e| Failure::failed(format!("{name}: {e}")))?;
    Ok(recipe)
}
