//! `warpstride ptycho reconstruct`: from the arguments to the finished run.

mod divided_note;
mod opening;
mod progress_output;

use super::backend::{Engines, end_processes, engines as engines_of};
use super::device_group::on_all;
use super::files::{Files, remove};
use super::position_arguments::more_files;
use super::recipe_arguments::resolve_or_automatic;
use super::recipe_origin::RecipeOrigin;
use super::results::FinishedRun;
use crate::args::{BackendArg, BackendArgs, DevicesArgs, ReconstructArgs};
use crate::byte_size;
use crate::devices_request::DevicesRequest;
use crate::failure::Failure;
use crate::output::{note_lines, say};
use crate::paths::{self, OutputFile, same};
use crate::processes::common;
use crate::threads;
use divided_note::{Exchange, divided_note};
use opening::{Opened, ReadScan};
pub(super) use progress_output::ProgressOutput;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpstride::ptycho::cuda::failed_alone;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::io::provenance;
use warpstride::ptycho::{
    AutomaticRecipe, Decided, Engine, EngineError, FrameStart, OrientationSearch, Origin,
    Precision, Problem, Ranks, Recipe, ReconstructionSteps, Reconstructor, RotationSearch, Run,
    RunError, SavedRun, StreamPlan, detector_problems, diagnose, result,
};
use warpstride::run::{End, Interrupt, RunRecord, Schedule};
use warpstride::system::Memory;
use warpstride::text::{count, shortest};

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
    request: DevicesRequest,
    /// Most device memory in bytes.
    device_memory: Option<u64>,
    /// Most host memory in bytes.
    host_memory: Option<u64>,
    /// Folder of a temporary file for counts.
    scratch: Option<PathBuf>,
    resume: Option<(PathBuf, Box<SavedRun>)>,
    threads: Option<usize>,
    schedule: Schedule,
    profile_iterations: usize,
    progress_output: ProgressOutput,
    find_orientation: bool,
    /// What the search for the orientation has found.
    orientation: Option<OrientationSearch>,
    find_rotation: bool,
    /// What Ctrl-C before the first iteration says, in the place of the usual sentence.
    stopped: Option<String>,
    /// What the search for the rotation has found.
    rotation: Option<RotationSearch>,
    /// What is decided before trials, if the recipe is the automatic one.
    automatic: Option<Decided>,
    /// Why there are no trials, if that has to be said.
    recipe_note: Option<String>,
    /// What they have found, JSON; empty without them.
    trials: String,
    /// The scan, if it has been read.
    read: Option<ReadScan>,
}

/// Why processes cannot compute together.
const DIFFERENT: &str = "the processes of MPI: expected the same scan, recipe, checkpoint, back end and model of processor or GPU for all of them, found different ones";

/// What the iterations start from.
struct Prepared {
    scan: Scan,
    problem: Problem,
    engines: Engines,
    /// Doubtful properties of the scan.
    problems: Vec<String>,
    notes: Vec<String>,
    frame_start: Option<FrameStart>,
}

/// What the ranks of a run share.
struct Shared {
    scan: Scan,
    problem: Problem,
    problems: Vec<String>,
    notes: Vec<String>,
    frame_start: Option<FrameStart>,
    interrupt: Interrupt,
    begun: Instant,
    /// Whether the ranks are processes.
    processes: bool,
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
        let compute = args.compute;
        threads::check(compute.threads)?;
        let checkpoint = args.checkpoint.as_deref();
        OutputFile::given("--checkpoint", checkpoint, &[paths::CHECKPOINT])
            .as_ref()
            .map_or(Ok(()), paths::check_name)?;
        let origin = RecipeOrigin::new(&args.recipe, args.resume.as_deref());
        let (mut automatic, mut recipe_note) = (None, None);
        let (recipe, recipe_text, resume) = match &args.resume {
            None => {
                let resolved = resolve_or_automatic(&args.recipe, &origin)?;
                let recipe = resolved.recipe;
                (automatic, recipe_note) = (resolved.automatic, resolved.note);
                let text = recipe.to_toml().map_err(Failure::usage)?;
                (recipe, text, None)
            }
            Some(path) => {
                let saved = SavedRun::read(path)?;
                let recipe = saved.recipe(path)?;
                let given = more_files(&args.recipe.scan.positions)?;
                if !given.is_empty() && given != recipe.data.files {
                    return Err(Failure::usage(format!(
                        "--resume {}: expected the further files of the checkpoint (data.files), or none, found {} instead of {}",
                        path.display(),
                        given.join(" "),
                        if recipe.data.files.is_empty() {
                            "none".to_owned()
                        } else {
                            recipe.data.files.join(" ")
                        }
                    )));
                }
                (
                    recipe,
                    saved.recipe.clone(),
                    Some((path.clone(), Box::new(saved))),
                )
            }
        };
        let start = &recipe.start;
        let finding = args.find_orientation || args.find_rotation;
        let flag = match args.find_rotation {
            true => "--find-rotation",
            false => "--find-orientation",
        };
        for (option, given) in [("result", &start.result), ("object", &start.object)] {
            if let (true, Some(given)) = (finding, given) {
                return Err(Failure::usage(format!(
                    "{flag}: expected a run without an earlier result or a start object, which would have another orientation, found start.{option} = {given}"
                )));
            }
        }
        if finding && recipe.slices.are_on() {
            return Err(Failure::usage(format!(
                "{flag}: expected a thin specimen (slices.count = 1), found {} slices; find the orientation without them first",
                recipe.slices.count
            )));
        }
        let backend = compute.backend.unwrap_or_else(|| match &resume {
            Some((_, saved)) if saved.backend == "cuda" => BackendArg::Cuda,
            Some((_, saved)) if saved.backend == "emulator" => BackendArg::Emulator,
            Some(_) => BackendArg::Cpu,
            None => BackendArg::Auto,
        });
        let backend = match (args.profile.is_some(), backend, args.resume.as_deref()) {
            (true, BackendArg::Auto, _) => BackendArg::Cuda,
            (true, BackendArg::Cpu, from) => return Err(no_profile(compute.backend, from)),
            _ => backend,
        };
        let double = recipe.precision == Precision::F64;
        let devices = DevicesArgs {
            backend: BackendArgs {
                backend,
                device: compute.device,
                threads: compute.threads,
            },
            devices: compute.devices,
        };
        let request = DevicesRequest::from_args(&devices, double, false)?;
        let device_memory = byte_size::parse("--device-memory", compute.device_memory.as_deref())?;
        let host_memory = byte_size::parse("--host-memory", compute.host_memory.as_deref())?;
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
        inputs.extend(args.recipe.recipe.as_deref());
        let others = recipe.data.other_files();
        inputs.extend(others.iter().map(PathBuf::as_path));
        let start = recipe.start.path();
        inputs.extend(start.filter(|_| resume.is_none()));
        // The resumed run may overwrite its own checkpoint; no other output may.
        let differs_from_output = |path: &&Path| !same(path, &files.checkpoint);
        inputs.extend(args.resume.as_deref().filter(differs_from_output));
        files.check(&inputs)?;
        files.check_checkpoint(args.resume.as_deref())?;
        // A resumed run does not read its start again.
        let started = recipe.start.path().map(Path::to_owned);
        let started = started.filter(|_| resume.is_none());
        let read = [
            args.recipe.recipe.as_deref(),
            started.as_deref(),
            args.resume.as_deref(),
        ];
        let more = others.iter().map(PathBuf::as_path);
        let read = std::iter::once(args.file.as_path())
            .chain(more)
            .chain(read.into_iter().flatten());
        let trials = resume.as_ref().map(|(_, saved)| saved.trials.clone());
        Ok(Self {
            automatic,
            recipe_note,
            trials: trials.unwrap_or_default(),
            inputs: paths::names(read),
            scan: args.file,
            origin,
            recipe,
            recipe_text,
            files,
            request,
            device_memory,
            host_memory,
            scratch: compute.scratch,
            resume,
            threads: compute.threads,
            schedule: Schedule { every: Some(every) },
            profile_iterations: args.profile_iterations,
            progress_output: match (args.json_progress, args.quiet) {
                (true, _) => ProgressOutput::Json,
                (_, true) => ProgressOutput::Quiet,
                _ => ProgressOutput::Text,
            },
            find_orientation: args.find_orientation,
            orientation: None,
            find_rotation: args.find_rotation,
            stopped: None,
            rotation: None,
            read: None,
        })
    }

    /// Whether a background of the detector is fitted.
    pub(super) fn fits_background(&self) -> bool {
        self.recipe.detector.fits_background()
    }

    /// The run with notes on its recipe: why it is not the automatic one, which larger pixels are
    /// left out.
    pub(super) fn with_recipe_note(mut self, note: Option<&str>) -> Self {
        self.recipe_note = note.map(str::to_owned).or(self.recipe_note);
        self
    }

    /// The run whose errors in `option` name this argument.
    pub(super) fn with_argument(mut self, option: &str, argument: String) -> Self {
        self.origin.name(option, argument);
        self
    }

    /// The resolved recipe, TOML.
    pub(super) fn recipe_text(&self) -> &str {
        &self.recipe_text
    }

    /// Reads the scan, runs the reconstruction and writes the outputs. With several ranks, each of
    /// them runs it, and the first one writes.
    pub(crate) fn run(mut self, ranks: &Ranks) -> Result<(), Failure> {
        let begun = Instant::now();
        threads::start(self.threads)?;
        let trying = self.find_orientation || self.find_rotation || self.automatic.is_some();
        let interrupt = trying.then(Interrupt::on_ctrl_c).transpose()?;
        let mut read = self.read.take();
        if let (true, Some(interrupt)) = (self.find_orientation, &interrupt) {
            read = self.orient(interrupt, ranks)?;
        }
        if let (true, Some(interrupt)) = (self.find_rotation, &interrupt) {
            read = self.rotate(interrupt, ranks)?;
        }
        if let (Some(automatic), Some(interrupt)) = (self.automatic, &interrupt) {
            read = Some(self.choose(read, (automatic, interrupt), ranks)?);
        }
        let opened = common(ranks, self.open(read, ranks))?;
        let prepared = common(ranks, self.prepare(opened, ranks))?;
        let progress = self
            .resume
            .as_ref()
            .map_or(0, |(_, saved)| saved.progress.total);
        let computed = format!(
            "{} {progress} {}",
            prepared.engines.computed_by(),
            self.recipe_text
        );
        let mut digest = prepared.problem.digest(&computed);
        if self.recipe.start.path().is_some() && self.resume.is_none() {
            // Each rank has read the file of the start, which may be another one there.
            digest.extend(prepared.problem.start_digest());
            digest.extend(format!("{:?}", prepared.frame_start).bytes());
        }
        if !ranks.agree(&digest)? {
            return Err(Failure::failed(DIFFERENT));
        }
        let Prepared {
            scan,
            problem,
            engines,
            problems,
            notes,
            frame_start,
        } = prepared;
        let shared = Shared {
            scan,
            problem,
            problems,
            notes,
            frame_start,
            interrupt: interrupt.map_or_else(Interrupt::on_ctrl_c, Ok)?,
            begun,
            processes: ranks.size() > 1,
        };
        match engines {
            Engines::One(engine, _) => self.compute(engine, &shared, ranks),
            Engines::Several(members) => on_all(members, |member, ranks| {
                let engine = member.engine(&shared.problem, ranks);
                let engine = engine.map_err(|error| failure(error.into(), (ranks, false)))?;
                self.compute(engine, &shared, ranks)
            }),
        }
    }

    /// Makes the engine. All ranks have opened what they need, and call the same collective
    /// operations.
    fn prepare(&self, opened: Opened, ranks: &Ranks) -> Result<Prepared, Failure> {
        let _part = self.before_iterations()?;
        let Opened {
            scan,
            scan_notes,
            mut problem,
            backend,
            memory_request,
            memory,
            frame_start,
        } = opened;
        if !ranks.agree(backend.kind().name().to_string().as_bytes())? {
            return Err(Failure::failed(DIFFERENT));
        }
        let [_, rows, columns] = scan.shape();
        let chosen = engines_of(backend, &problem, &memory_request, memory, ranks)?;
        let backend = chosen.engine.backend();
        if let Some((path, saved)) = &self.resume {
            problem.notes = vec![format!("resumed from {}", path.display())];
            if saved.backend != backend {
                problem.notes.push(format!(
                    "the run was saved on back end {}: resuming on {} is not bit for bit identical",
                    saved.backend, backend
                ));
            }
        }
        // With the field of the scan.
        let recipe = &memory_request.recipe;
        problem
            .notes
            .extend(recipe.without_effect(backend, problem.shape()));
        if let Some(plan) = chosen.engine.streaming() {
            problem.notes.push(plan.to_string());
            if StreamPlan::changes_bits(recipe, [rows, columns]) {
                let note = "in blocks, ml and projections at exact positions add in another order: results differ by rounding from those without blocks";
                problem.notes.push(note.to_owned());
            }
        }
        if let (Some(_), "cpu") = (self.device_memory, backend) {
            let note = "--device-memory has no effect on the CPU".to_owned();
            problem.notes.push(note);
        }
        if let (Some(_), "cpu") = (&self.scratch, backend) {
            let note =
                "--scratch has no effect on the CPU, which has all counts in memory".to_owned();
            problem.notes.push(note);
        }
        let several = [
            (ranks.size(), "processes of MPI"),
            (chosen.engine.devices(), "devices"),
        ];
        if self.files.profile.is_some() && several.iter().any(|(count, _)| *count > 1) {
            return Err(Failure::usage("--profile: expected one GPU, found several"));
        }
        let streams = ranks.any(chosen.engine.any_streams())?;
        let through_hosts = chosen.engine.through_hosts();
        let copies = through_hosts.is_none();
        let exchange = Exchange {
            copies,
            direct: copies && ranks.local_size() == ranks.size(),
        };
        for of in several.into_iter().filter(|(count, _)| *count > 1) {
            let note = divided_note(of, (backend, exchange), (&problem, streams), &self.recipe);
            problem.notes.push(note);
        }
        if let Some(why) = through_hosts {
            problem.notes.push(format!(
                "GPUs exchange sums through the memory of their hosts, which is slow: {why}"
            ));
        }
        let rotated = (self.rotation.iter()).flat_map(RotationSearch::sentences);
        let oriented = (self.orientation.iter()).flat_map(OrientationSearch::sentences);
        let oriented = oriented.chain(rotated);
        let tried = AutomaticRecipe::from_json(&self.trials);
        let tried = tried.iter().flat_map(AutomaticRecipe::sentences);
        let tried = tried.filter(|_| self.resume.is_none());
        let searched = oriented.chain(self.recipe_note.clone()).chain(tried);
        let notes = chosen.note.into_iter().chain(searched).chain(scan_notes);
        let notes: Vec<String> = notes.chain(problem.notes.iter().cloned()).collect();
        let diagnosis = diagnose(&scan, &self.recipe.engines).map_err(Failure::failed)?;
        let mut problems = diagnosis.problems;
        problems.extend(detector_problems(&scan, &self.recipe.detector));
        Ok(Prepared {
            scan,
            problem,
            engines: chosen.engine,
            problems,
            notes,
            frame_start,
        })
    }

    /// Runs the iterations of a rank; the first one writes the outputs.
    fn compute(
        &self,
        engine: Box<dyn Engine>,
        shared: &Shared,
        ranks: &Ranks,
    ) -> Result<(), Failure> {
        let Shared {
            scan,
            problem,
            problems,
            notes,
            frame_start,
            interrupt,
            begun,
            processes,
        } = shared;
        // Only the first rank prints and writes.
        let progress_output = match ranks.is_first() {
            true => self.progress_output,
            false => ProgressOutput::Quiet,
        };
        let own = |error: RunError| failure(error, (ranks, *processes));
        if progress_output == ProgressOutput::Text {
            let warnings = problems.iter().map(|text| format!("warning: {text}\n"));
            say(&(note_lines(notes) + &warnings.collect::<String>()))?;
        }
        let reconstructor = Reconstructor::new(engine, problem, &self.recipe);
        let origin = Origin {
            source: self.scan.display().to_string(),
            recipe: self.recipe_text.clone(),
            trials: self.trials.clone(),
        };
        let mut steps =
            ReconstructionSteps::new(reconstructor, scan, origin.clone(), &self.files.checkpoint);
        if self.files.profile.is_some() {
            steps = steps.with_profile(self.profile_iterations);
        }
        let mut resumed_from = None;
        if let Some((path, saved)) = &self.resume {
            steps.resume(saved, path).map_err(own)?;
            resumed_from = Some(path);
        } else if let Some(start) = frame_start {
            let started = steps.reconstructor().start_frames(start);
            started.map_err(|error| own(error.into()))?;
        }

        let setup_seconds = begun.elapsed().as_secs_f64();
        let mut run = Run::new(steps);
        let mut observer = progress_output.observer();
        let end = run.execute(observer.as_mut(), interrupt, self.schedule);
        let end = end.map_err(own)?;
        let saved = run.steps().saved();
        let own = |error: EngineError| own(error.into());
        let profile = (self.files.profile.is_some())
            .then(|| run.steps_mut().profile().cloned())
            .transpose()
            .map_err(own)?;
        let reconstructor = run.steps_mut().reconstructor();
        let result = result(reconstructor, scan, problem, &self.recipe, &origin).map_err(own)?;
        if !ranks.is_first() {
            return Ok(());
        }
        let planned = reconstructor.planned();
        let seconds = result.history.last().map_or(0.0, |entry| entry.seconds);
        let record = RunRecord::new(reconstructor.engine().setup(), seconds);
        let finished = FinishedRun {
            result,
            scan,
            record: record.after(self.inputs.clone(), setup_seconds, notes.clone()),
            problems: problems.clone(),
            orientation: self.orientation.clone(),
            rotation: self.rotation.clone(),
            processes: provenance::processes(&self.scan, Memory::available()),
            profile,
            files: &self.files,
            // It is printed, and of reconstructions with larger pixels it is of no interest.
            focus: progress_output == ProgressOutput::Text
                && self.recipe.data.coarse.is_none_or(|factor| factor <= 1),
            interrupted: end == End::Interrupted,
        };
        let summary = finished.write()?;
        if progress_output == ProgressOutput::Text {
            say(&summary)?;
        }
        match end {
            End::Finished => {
                if saved || resumed_from == Some(&self.files.checkpoint) {
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
}

/// The failure of a rank: its own, or one that all ranks have.
fn failure(error: RunError, (ranks, processes): (&Ranks, bool)) -> Failure {
    if ranks.size() > 1 && failed_alone(&error) {
        let text = error.to_string();
        // At once, as what a process has queued on its GPU may wait for others, and they for this
        // one.
        if processes {
            end_processes(ranks, &text);
        }
        Failure::OfRank(text)
    } else {
        Failure::failed(error)
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
