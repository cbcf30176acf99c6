//! `warpstride ptycho reconstruct`: from the arguments to the finished run.

use super::backend::{MemoryRequest, engine};
use super::files::{Files, remove};
use super::recipe_origin::RecipeOrigin;
use super::results::FinishedRun;
use crate::cli::args::{BackendArg, PositionMethodArg, PrecisionArg, ReconstructArgs, StopArg};
use crate::cli::backend::request;
use crate::cli::byte_size;
use crate::cli::failure::Failure;
use crate::cli::output::{ProgressStream, note_lines, say};
use crate::cli::paths::{self, OutputFile, same};
use crate::cli::threads;
use crate::data::{HistoryEntry, PixelPositions, Scan};
use crate::ptycho::{
    EngineSpec, Origin, PositionMethod, Precision, ProbeSource, Problem, Recipe,
    ReconstructionSteps, Reconstructor, Run, SavedRun, StopRule, StreamPlan, diagnose, result,
};
use crate::run::{
    BackendRequest, Bar, End, Interrupt, JsonLines, Observer, RunRecord, Schedule, Silent,
};
use crate::system::Memory;
use crate::text::{count, shortest, significant};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Largest recipe file that is read, bytes; real recipes are far smaller.
const MAX_RECIPE_BYTES: u64 = 1 << 20;

/// How progress is reported on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressOutput {
    /// A progress bar on a terminal, and a summary at the end.
    Text,
    /// One JSON object per line.
    Json,
    /// Nothing.
    Quiet,
}

/// A checked reconstruction.
#[derive(Debug)]
pub(crate) struct Reconstruct {
    scan: PathBuf,
    /// The files that are read: the scan, the recipe, the checkpoint.
    inputs: Vec<String>,
    origin: RecipeOrigin,
    recipe: Recipe,
    /// The resolved recipe, TOML.
    recipe_text: String,
    files: Files,
    request: BackendRequest,
    /// Most device memory in bytes.
    device_memory: Option<u64>,
    resume: Option<(PathBuf, Box<SavedRun>)>,
    threads: Option<usize>,
    schedule: Schedule,
    profile_iterations: usize,
    progress_output: ProgressOutput,
}

impl Reconstruct {
    /// Checks options, recipe and outputs, and reads the checkpoint to resume from.
    pub(crate) fn from_args(args: ReconstructArgs) -> Result<Self, Failure> {
        let every = Duration::try_from_secs_f64(args.checkpoint_every).map_err(|_| {
            Failure::usage(format!(
                "--checkpoint-every {}: expected seconds, 0 or more and below 1e19",
                shortest(args.checkpoint_every)
            ))
        })?;
        if args.profile_iterations == 0 {
            let text = "--profile-iterations 0: expected 1 or more";
            return Err(Failure::usage(text));
        }
        threads::check(args.threads)?;
        let checkpoint = args.checkpoint.as_deref();
        OutputFile::given("--checkpoint", checkpoint, &[paths::CHECKPOINT])
            .as_ref()
            .map_or(Ok(()), paths::check_name)?;
        let origin = RecipeOrigin::new(&args);
        let (recipe, recipe_text, resume) = match &args.resume {
            None => {
                let recipe = resolve(&args, &origin)?;
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
        let backend = args.backend.unwrap_or_else(|| match &resume {
            Some((_, saved)) if saved.backend == "cuda" => BackendArg::Cuda,
            Some((_, saved)) if saved.backend == "emulator" => BackendArg::Emulator,
            Some(_) => BackendArg::Cpu,
            None => BackendArg::Auto,
        });
        let backend = match (args.profile.is_some(), backend, args.resume.as_deref()) {
            (true, BackendArg::Auto, _) => BackendArg::Cuda,
            (true, BackendArg::Cpu, from) => return Err(no_profile(args.backend, from)),
            _ => backend,
        };
        let double = recipe.precision == Precision::F64;
        let request = request(backend, args.device, double, false)?;
        let device_memory = byte_size::parse("--device-memory", args.device_memory.as_deref())?;
        let checkpoint = args
            .checkpoint
            .or_else(|| args.resume.clone())
            .unwrap_or_else(|| Files::checkpoint_beside(&args.output));
        let files = Files {
            checkpoint,
            pictures: (!args.no_pictures).then(|| Files::pictures_beside(&args.output)),
            summary: args.summary,
            report: args.report,
            profile: args.profile,
            result: args.output,
        };
        let mut inputs = vec![args.file.as_path()];
        inputs.extend(args.recipe.as_deref());
        // The resumed run may overwrite its own checkpoint; no other output may.
        let differs_from_output = |path: &&Path| !same(path, &files.checkpoint);
        inputs.extend(args.resume.as_deref().filter(differs_from_output));
        files.check(&inputs)?;
        files.check_checkpoint(args.resume.as_deref())?;
        let read = [Some(&args.file), args.recipe.as_ref(), args.resume.as_ref()];
        Ok(Self {
            inputs: paths::names(read.into_iter().flatten().map(PathBuf::as_path)),
            scan: args.file,
            origin,
            recipe,
            recipe_text,
            files,
            request,
            device_memory,
            resume,
            threads: args.threads,
            schedule: Schedule { every: Some(every) },
            profile_iterations: args.profile_iterations,
            progress_output: match (args.json_progress, args.quiet) {
                (true, _) => ProgressOutput::Json,
                (_, true) => ProgressOutput::Quiet,
                _ => ProgressOutput::Text,
            },
        })
    }

    /// Reads the scan, runs the reconstruction and writes the outputs.
    pub(crate) fn run(self) -> Result<(), Failure> {
        threads::start(self.threads)?;
        let begun = Instant::now();
        let memory = Memory::available();
        let file = crate::ptycho::io::scan::read(&self.scan, &self.recipe.data)
            .map_err(|error| self.origin.of_reading(error))?;
        let scan = file.scan;
        let memory_request = self.memory_request(&scan)?;
        let cpu_only = (self.recipe.precision == Precision::F64)
            .then_some("the GPU back end computes in f32 only");
        let [_, rows, columns] = scan.shape();
        let kernels = || crate::ptycho::cuda::kernels_for(&self.recipe, [rows, columns]);
        let backend = self
            .request
            .open(cpu_only, kernels)?
            .checked(|kind| memory_request.check(kind, memory))?;
        let name = self.scan.display().to_string();
        let mut start = self.recipe.clone();
        if let Some((path, saved)) = &self.resume {
            saved.check_scan(path, &scan)?;
            // The saved probe replaces the start probe, so a search for one would be wasted.
            start.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem =
            Problem::new(&scan, &start).map_err(|e| self.origin.of_problem(&name, &e))?;
        let chosen = engine(backend, &problem, &memory_request, memory)?;
        let backend = chosen.engine.setup().backend;
        if let Some((path, saved)) = &self.resume {
            problem.notes = vec![format!("resumed from {}", path.display())];
            if saved.backend != backend {
                problem.notes.push(format!(
                    "the run was saved on back end {}: resuming on {} is not bit for bit identical",
                    saved.backend, backend
                ));
            }
        }
        let without_effect = self.recipe.without_effect(backend, problem.shape());
        problem.notes.extend(without_effect);
        if let Some(plan) = chosen.engine.streaming() {
            problem.notes.push(plan.to_string());
            if StreamPlan::changes_bits(&self.recipe, [rows, columns]) {
                let note = "in blocks, ml and projections at exact positions add in another order: results differ by rounding from those without blocks";
                problem.notes.push(note.to_owned());
            }
        }
        if let (Some(_), "cpu") = (self.device_memory, backend) {
            let note = "--device-memory has no effect on the CPU".to_owned();
            problem.notes.push(note);
        }
        let notes = chosen.note.into_iter().chain(file.notes);
        let notes: Vec<String> = notes.chain(problem.notes.iter().cloned()).collect();
        let problems = diagnose(&scan, &self.recipe.engines).problems;
        if self.progress_output == ProgressOutput::Text {
            let warnings = problems.iter().map(|text| format!("warning: {text}\n"));
            say(&(note_lines(&notes) + &warnings.collect::<String>()))?;
        }
        let reconstructor = Reconstructor::new(chosen.engine, &problem, &self.recipe);
        let origin = Origin {
            source: name,
            recipe: self.recipe_text.clone(),
        };
        let mut steps =
            ReconstructionSteps::new(reconstructor, &scan, origin.clone(), &self.files.checkpoint);
        if self.files.profile.is_some() {
            steps = steps.with_profile(self.profile_iterations);
        }
        let mut resumed_from = None;
        if let Some((path, saved)) = self.resume {
            steps.resume(*saved, &path)?;
            resumed_from = Some(path);
        }

        let setup_seconds = begun.elapsed().as_secs_f64();
        let interrupt = Interrupt::on_ctrl_c()?;
        let mut run = Run::new(steps);
        let end = run.execute(
            self.progress_output.observer().as_mut(),
            &interrupt,
            self.schedule,
        )?;
        let saved = run.steps().saved();
        let profile = (self.files.profile.is_some())
            .then(|| run.steps_mut().profile().cloned())
            .transpose()?;
        let reconstructor = run.steps_mut().reconstructor();
        let result = result(reconstructor, &scan, &problem, &self.recipe, &origin)?;
        let planned = reconstructor.planned();
        let seconds = result.history.last().map_or(0.0, |entry| entry.seconds);
        let record = RunRecord::new(reconstructor.engine().setup(), seconds);
        let finished = FinishedRun {
            result,
            scan: &scan,
            record: record.after(self.inputs, setup_seconds, notes),
            problems,
            profile,
            files: &self.files,
            interrupted: end == End::Interrupted,
        };
        let summary = finished.write()?;
        if self.progress_output == ProgressOutput::Text {
            say(&summary)?;
        }
        match end {
            End::Finished => {
                if saved || resumed_from.as_ref() == Some(&self.files.checkpoint) {
                    // The result is written, so the checkpoint is no longer needed.
                    remove(&self.files.checkpoint)?;
                }
                Ok(())
            }
            End::Interrupted => Err(Failure::Interrupted(format!(
                "stopped after {} of {}; the current result is in {}; resume with --resume {}",
                run.steps_mut().reconstructor().progress().total,
                count(planned, ["iteration", "iterations"]),
                self.files.result.display(),
                self.files.checkpoint.display(),
            ))),
        }
    }

    /// What the run needs; fails if the positions do not define an object.
    fn memory_request(&self, scan: &Scan) -> Result<MemoryRequest, Failure> {
        let [frames, rows, columns] = scan.shape();
        let pixel = scan.object_pixel();
        let margin = self.recipe.positions.margin();
        let positions = PixelPositions::new(scan.positions(), pixel, [rows, columns], margin)
            .map_err(|e| Failure::failed(format!("{}: {e}", self.scan.display())))?;
        let shape = [frames, self.recipe.probe_modes, rows, columns];
        Ok(MemoryRequest {
            shape,
            object_shape: positions.object_shape,
            recipe: self.recipe.clone(),
            device_memory: self.device_memory,
        })
    }
}

impl ProgressOutput {
    fn observer(self) -> Box<dyn Observer<HistoryEntry>> {
        match self {
            Self::Text => {
                // R and R_free stay until the next iteration that has them.
                let known = RefCell::new(String::new());
                Box::new(Bar::new(move |entry: &HistoryEntry| {
                    let mut known = known.borrow_mut();
                    if let Some(r) = entry.r_factor {
                        *known = format!("  after {}: R {}", entry.iteration, significant(r, 3));
                        if let Some(r_free) = entry.r_free {
                            *known += &format!("  R_free {}", significant(r_free, 3));
                        }
                    }
                    let error = significant(entry.err_fourier, 3);
                    format!("{} {error}{known}", entry.engine)
                }))
            }
            Self::Json => Box::new(JsonLines::new(ProgressStream)),
            Self::Quiet => Box::new(Silent),
        }
    }
}

/// Why `--profile` is refused on the CPU, which was named or is that of the run that is resumed.
fn no_profile(named: Option<BackendArg>, resumed: Option<&Path>) -> Failure {
    match (named, resumed) {
        (None, Some(path)) => Failure::failed(format!(
            "--profile: expected --backend cuda or emulator, found the back end of {}, cpu",
            path.display()
        )),
        _ => Failure::usage("--profile: expected --backend cuda or emulator, found --backend cpu"),
    }
}

/// Resolves the recipe: first the recipe file, then `--engine` and the other options, then `--set`.
fn resolve(args: &ReconstructArgs, origin: &RecipeOrigin) -> Result<Recipe, Failure> {
    let mut recipe = match &args.recipe {
        None if args.engine.is_empty() => Recipe::automatic(),
        None => Recipe::default(),
        Some(path) => read_recipe(path)?,
    };
    if !args.engine.is_empty() {
        recipe.engines = engines(&args.engine)?;
    }
    if let Some(modes) = args.probe_modes {
        recipe.probe_modes = modes;
    }
    if let Some(share) = args.free_pixels {
        recipe.free_pixels = share;
    }
    if let Some(stop) = args.stop {
        recipe.stop = match stop {
            StopArg::Off => StopRule::Off,
            StopArg::Auto => StopRule::Auto,
        };
    }
    if let Some(every) = args.metrics_every {
        recipe.metrics_every = every;
    }
    if !args.refine_positions.is_empty() {
        let methods = args.refine_positions.iter().map(|given| method(*given));
        recipe.positions.refine = methods.collect();
    }
    if args.fit_frame_scales {
        recipe.fit_frame_scales = true;
    }
    if let Some(given) = args.precision {
        recipe.precision = precision(given);
    }
    if let Some(seed) = args.seed {
        recipe.seed = seed;
    }
    set(&mut recipe, &args.set)?;
    recipe.check().map_err(|error| origin.failure(&error))?;
    Ok(recipe)
}

/// The engines of `--engine`.
pub(super) fn engines(texts: &[String]) -> Result<Vec<EngineSpec>, Failure> {
    let parsed = texts.iter().map(|text| {
        EngineSpec::parse(text)
            .map_err(|e| Failure::usage(e.of_option(&format!("--engine {text}"))))
    });
    parsed.collect()
}

/// Applies `--set`.
pub(super) fn set(recipe: &mut Recipe, assignments: &[String]) -> Result<(), Failure> {
    assignments.iter().try_for_each(|assignment| {
        let refused = recipe.set(assignment);
        refused.map_err(|e| Failure::usage(e.of_option(&format!("--set {assignment}"))))
    })
}

/// The precision that an argument names.
pub(super) fn precision(given: PrecisionArg) -> Precision {
    match given {
        PrecisionArg::F32 => Precision::F32,
        PrecisionArg::F64 => Precision::F64,
    }
}

/// The method that an argument names.
fn method(given: PositionMethodArg) -> PositionMethod {
    match given {
        PositionMethodArg::Gradient => PositionMethod::Gradient,
        PositionMethodArg::Affine => PositionMethod::Affine,
        PositionMethodArg::Annealing => PositionMethod::Annealing,
    }
}

/// Reads a recipe from a file and checks it.
pub(super) fn read_recipe(path: &Path) -> Result<Recipe, Failure> {
    let name = path.display();
    let unreadable = |e| Failure::failed(format!("{name}: cannot be read: {e}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    // Reading a device or a pipe may never end.
    if !metadata.is_file() {
        return Err(Failure::failed(format!(
            "{name}: expected a recipe (TOML), found a folder, device or pipe"
        )));
    }
    if metadata.len() > MAX_RECIPE_BYTES {
        return Err(Failure::failed(format!(
            "{name}: expected a recipe (TOML) of at most {MAX_RECIPE_BYTES} bytes, found {} bytes",
            metadata.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::failed(format!(
            "{name}: expected a recipe (TOML, in UTF-8), found other data"
        ))
    })?;
    let recipe = Recipe::from_toml(&text).map_err(|e| Failure::failed(format!("{name}: {e}")))?;
    recipe
        .check()
        .map_err(|e| Failure::failed(format!("{name}: {}", e.in_text(&text))))?;
    Ok(recipe)
}
