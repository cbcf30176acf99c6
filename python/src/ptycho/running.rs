//! A reconstruction in progress: its problem, and its engines on the back end that was chosen.

use super::group::Group;
use crate::backend::{DevicesKind, GroupRequest, open};
use crate::errors::Failure;
use crate::gpu::Magnitudes;
use std::path::PathBuf;
use std::sync::Arc;
use warpstride::gpu::CudaDevice;
use warpstride::ptycho::cpu::on_cpu;
use warpstride::ptycho::cuda::{
    GroupMember, kernels_for, on_cuda, on_cuda_with_magnitudes, on_emulator,
};
use warpstride::ptycho::data::{HistoryEntry, PixelPositions, Reconstruction, Scan};
use warpstride::ptycho::io::scan::used_faults;
use warpstride::ptycho::{
    AutomaticRecipe, Chosen, Decided, Engine, MemoryRequest, Origin, Precision, ProbeSource,
    Problem, ProblemError, Ranks, Recipe, Reconstructor, SavedRun, StartObject, StreamPlan,
    TrialHost, UpdateVersion, choose_recipe, detector_problems, diagnose, free_memory,
    memory_estimate,
};
use warpstride::run::{BackendKind, EngineChoice, Interrupt};
use warpstride::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the reconstruction";

/// What the devices share.
pub(super) struct Shared {
    pub(super) scan: Arc<Scan>,
    pub(super) problem: Arc<Problem>,
    pub(super) recipe: Arc<Recipe>,
    pub(super) origin: Origin,
}

/// A computation in progress.
pub(super) struct Running {
    pub(super) group: Group,
    pub(super) shared: Arc<Shared>,
    pub(super) notes: Vec<String>,
    /// Doubtful properties of the scan, which are not looked for in frames on a GPU.
    pub(super) problems: Vec<String>,
}

/// From where a run goes on, or begins.
#[derive(Default)]
pub(super) struct Begin {
    /// The state of a checkpoint, and its file.
    pub(super) saved: Option<(PathBuf, SavedRun)>,
    /// An earlier result.
    pub(super) result: Option<Reconstruction>,
    /// Object (row, column), and its pixel (row, column), m, if it is another.
    pub(super) object: Option<StartObject>,
    /// √counts on the GPU that computes.
    pub(super) magnitudes: Option<Magnitudes>,
}

/// What is reconstructed.
pub(super) struct Input {
    pub(super) scan: Arc<Scan>,
    /// The scan's file, or what takes its place.
    pub(super) source: String,
    /// Whether the scan was given as arrays, which are used as they are.
    pub(super) of_arrays: bool,
    pub(super) recipe: Recipe,
    /// How trials have chosen the recipe, if they have.
    pub(super) trials: Option<AutomaticRecipe>,
}

impl Input {
    /// Chooses the recipe by trials, which start from it.
    pub(super) fn choose(
        &mut self,
        decided: Decided,
        request: &GroupRequest,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let host = Trials {
            request: request.one(),
            host: with_counts(Memory::available(), &self.scan),
        };
        let scan = (&*self.scan, &*self.source);
        match choose_recipe(&host, scan, (&self.recipe, decided), interrupt)? {
            Chosen::Recipe(recipe, trials) => {
                recipe.check().map_err(Failure::data)?;
                (self.recipe, self.trials) = (*recipe, Some(trials));
                Ok(())
            }
            // The signal is raised in the place of this.
            Chosen::Interrupted(kept) => Err(Failure::Data(format!("interrupted: {kept}"))),
        }
    }
}

/// Trials on one device.
struct Trials {
    request: GroupRequest,
    /// The host's memory, with that of the counts.
    host: Memory,
}

impl TrialHost for Trials {
    type Error = Failure;

    fn engine(
        &self,
        scan: &Scan,
        problem: &Problem,
        recipe: &Recipe,
    ) -> Result<Box<dyn Engine>, Failure> {
        match engine_of(&self.request, (scan, problem, recipe), self.host, None)?.engine {
            Engines::One(engine) => Ok(engine),
            Engines::Several(_) => Err(Failure::Internal("trials on several devices".to_owned())),
        }
    }

    fn fits_cpu(&self, scan: &Scan, recipe: &Recipe) -> Result<(), Failure> {
        let [_, rows, columns] = scan.shape();
        let positions = PixelPositions::new(
            scan.positions(),
            scan.object_pixel(),
            [rows, columns],
            recipe.margin(),
        );
        let positions = positions.map_err(Failure::data)?;
        let needed = needed(scan, recipe.probe_modes, positions.object_shape, recipe);
        Ok(needed.check(&BackendKind::Cpu, self.host, &Ranks::alone())?)
    }

    fn why_without(&self, error: Failure) -> Result<String, Failure> {
        match error {
            Failure::Memory(why) => Ok(why),
            other => Err(other),
        }
    }

    fn refused(&self, error: &ProblemError) -> Failure {
        Failure::data(error)
    }
}

/// An engine, or what several are made of in their threads.
enum Engines {
    One(Box<dyn Engine>),
    Several(Vec<GroupMember>),
}

/// The memory that a run needs.
fn needed(scan: &Scan, modes: usize, object_shape: [usize; 2], recipe: &Recipe) -> MemoryRequest {
    let [frames, rows, columns] = scan.shape();
    let mut recipe = recipe.clone();
    recipe.data.near_field = Some(scan.geometry().is_near_field());
    MemoryRequest {
        shape: [frames, modes, rows, columns],
        object_shape,
        recipe,
        device_memory: None,
        exchanged: 0,
        in_scratch: None,
    }
}

/// The host's memory, with that of the counts, which the estimates contain.
fn with_counts(host: Memory, scan: &Scan) -> Memory {
    let counts = scan
        .shape()
        .iter()
        .fold(4, |bytes: u64, n| bytes.saturating_mul(*n as u64));
    Memory::limited(host.limit().saturating_add(counts))
}

/// The engine of a back end, or the devices of several.
fn engines(
    kind: DevicesKind,
    problem: &Problem,
    needed: &MemoryRequest,
    host: Memory,
    ready: Option<Magnitudes>,
) -> Result<Engines, Failure> {
    let version = UpdateVersion::choose(
        needed.recipe.gpu.updates,
        problem.shape(),
        needed.object_shape,
    );
    let stream = |own: &MemoryRequest, free: u64, host| -> Result<Option<StreamPlan>, Failure> {
        Ok(match own.stream(free, None, host)? {
            Some(_) => own.stream(free, problem.magnitudes.codes(), host)?,
            None => None,
        })
    };
    Ok(match (kind, needed.recipe.precision) {
        (BackendKind::Cpu, precision) => {
            Engines::One(on_cpu(problem, precision, Ranks::alone()).map_err(Failure::data)?)
        }
        (BackendKind::Emulator(mut devices), _) => {
            let own = needed.of_device(devices.len());
            let host = (needed.beside_emulated(host), devices.len());
            let plan = stream(&own, u64::MAX, host)?;
            match (devices.len(), devices.pop()) {
                (1, Some(device)) => Engines::One(on_emulator(device, problem, version, plan)?),
                (_, last) => {
                    devices.extend(last);
                    Engines::Several(GroupMember::emulated(devices, version, plan))
                }
            }
        }
        (BackendKind::Cuda(mut devices), _) => {
            let own = needed.of_device(devices.len());
            let host = (host, devices.len());
            match (devices.len(), devices.pop()) {
                (1, Some(device)) => Engines::One(match ready {
                    None => {
                        let plan = stream(&own, free_memory(&device)?, host)?;
                        on_cuda(device, problem, version, plan)?
                    }
                    Some(ready) => {
                        on_cuda_with_magnitudes(device, problem, version, ready.written()?)?
                    }
                }),
                (_, last) => {
                    devices.extend(last);
                    let planned = devices.into_iter().map(|device| {
                        let plan = stream(&own, free_memory(&device)?, host)?;
                        Ok((device, plan))
                    });
                    let planned = planned.collect::<Result<_, Failure>>()?;
                    let members = GroupMember::of_gpus(planned, version);
                    Engines::Several(
                        members.map_err(|why| Failure::Device(format!("devices: {why}")))?,
                    )
                }
            }
        }
    })
}

/// Makes the engine, or prepares those of several devices, on the back end that is asked for.
fn engine_of(
    request: &GroupRequest,
    (scan, problem, recipe): (&Scan, &Problem, &Recipe),
    host: Memory,
    mut ready: Option<Magnitudes>,
) -> Result<EngineChoice<Engines>, Failure> {
    let double = recipe.precision == Precision::F64;
    let cpu_only = double.then_some("the GPU back end computes in f32 only");
    let [frames, modes, rows, columns] = problem.shape();
    let backend = open(request, cpu_only, || kernels_for(recipe, [rows, columns]))?;
    check_division(backend.kind(), frames)?;
    let alone = Ranks::alone();
    let needed = needed(scan, modes, problem.positions.object_shape, recipe);
    let backend = backend.checked(|kind| match (kind, &ready) {
        (BackendKind::Cuda(devices), Some(ready)) => check_beside(devices, &needed, ready),
        _ => Ok(needed.check(kind, host, &alone)?),
    })?;
    let check_cpu = || Ok(needed.check(&BackendKind::Cpu, host, &alone)?);
    backend.engine(check_cpu, |kind| {
        engines(kind, problem, &needed, host, ready.take())
    })
}

/// Checks that a run fits on the GPU whose memory holds its √counts.
fn check_beside(
    devices: &[CudaDevice],
    needed: &MemoryRequest,
    ready: &Magnitudes,
) -> Result<(), Failure> {
    let estimate = memory_estimate(needed.shape, needed.object_shape, &needed.recipe);
    for device in devices {
        let free = free_memory(device)?.saturating_add(ready.bytes());
        estimate.check_gpu_device(WHAT, free)?;
    }
    Ok(())
}

/// Refuses more devices than frames.
fn check_division(kind: &DevicesKind, frames: usize) -> Result<(), Failure> {
    let devices = match kind {
        BackendKind::Cpu => 1,
        BackendKind::Cuda(devices) => devices.len(),
        BackendKind::Emulator(devices) => devices.len(),
    };
    if devices > frames {
        return Err(Failure::Data(format!(
            "devices: expected at most {frames}, the number of frames, found {devices}"
        )));
    }
    Ok(())
}

impl Running {
    pub(super) fn new(input: Input, request: &GroupRequest, begin: Begin) -> Result<Self, Failure> {
        let Input {
            scan,
            source,
            of_arrays,
            recipe,
            trials,
        } = input;
        let host = with_counts(Memory::available(), &scan);
        if let Some((path, saved)) = &begin.saved {
            let checked = saved.check_scan(path, &scan);
            checked.map_err(|why| Failure::of_file(path, &why))?;
        }
        let mut searched = recipe.clone();
        if (begin.saved.is_some() || begin.result.is_some())
            && searched.probe.source == ProbeSource::Auto
        {
            // That of the earlier run takes the place of any other.
            searched.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem = Problem::prepare(&scan, &searched).map_err(Failure::data)?;
        let frame_start = match &begin.result {
            None => None,
            Some(result) => {
                let started = problem.start_from(result, &scan, &recipe);
                started.map_err(|why| Failure::Data(format!("start: {why}")))?
            }
        };
        if let Some(object) = &begin.object {
            problem.take_start_object(object).map_err(|why| {
                // An array has no pixel size beside it.
                let text = why.to_string();
                let text = text.split("; with its pixel size").next().unwrap_or(&text);
                Failure::Data(format!("start_object: {text}"))
            })?;
        }
        let of_run = (&*scan, &problem, &recipe);
        let chosen = engine_of(request, of_run, host, begin.magnitudes)?;
        let mut notes: Vec<String> = chosen.note.into_iter().collect();
        notes.extend(trials.iter().flat_map(AutomaticRecipe::sentences));
        notes.extend(problem.notes.iter().cloned());
        let origin = Origin {
            source,
            recipe: recipe.to_toml().map_err(Failure::data)?,
            trials: trials.map_or_else(String::new, |trials| trials.to_json()),
        };
        let shared = Arc::new(Shared {
            scan,
            problem: Arc::new(problem),
            recipe: Arc::new(recipe),
            origin,
        });
        let (problem, recipe) = (&shared.problem, &shared.recipe);
        let mut group = match chosen.engine {
            Engines::One(engine) => Group::one(Reconstructor::new(engine, problem, recipe)),
            Engines::Several(members) => Group::several(members, problem, recipe)?,
        };
        let engine = group.first().engine();
        notes.extend(recipe.without_effect(engine.setup().backend, problem.shape()));
        notes.extend(engine.streaming().map(|plan| plan.to_string()));
        if group.len() > 1 {
            notes.push(format!("divided among {} devices", group.len()));
        }
        if let Some(start) = frame_start {
            group.all(move |run| run.start_frames(&start))?;
        }
        if let Some((_, saved)) = begin.saved {
            group.all(move |run| run.resume(saved.progress.clone(), &saved.state))?;
        }
        let mut problems = Vec::new();
        if !shared.scan.is_elsewhere() {
            let (scan, recipe) = (&shared.scan, &shared.recipe);
            if of_arrays {
                problems.extend(used_faults(scan)?);
            }
            problems.extend(diagnose(scan, &recipe.engines)?.problems);
            problems.extend(detector_problems(scan, &recipe.detector));
        }
        Ok(Self {
            group,
            shared,
            notes,
            problems,
        })
    }

    /// The entry of the last iteration.
    pub(super) fn last(&mut self) -> Option<HistoryEntry> {
        let progress = self.group.first().progress();
        progress
            .incomplete
            .as_ref()
            .or(progress.history.last())
            .cloned()
    }
}
