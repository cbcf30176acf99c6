//! A reconstruction as it runs: a thread with the engine.

use super::result::{PtychoResult, probe_array};
use crate::arrays::{counts, single};
use crate::backend::request;
use crate::background::Worker;
use crate::errors::Failure;
use crate::gpu::{DeviceArray, FramesOnGpu, Magnitudes, ModelOnGpu};
use ndarray::{Array2, Array3, Ix2, Ix3};
use num_complex::Complex;
use numpy::{IntoPyArray, PyReadonlyArray2, PyReadonlyArray3, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpstride::data::{Frames, Geometry, HistoryEntry, Mask, Propagation, Reconstruction, Scan};
use warpstride::gpu::GpuError;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::{kernels_for, on_cuda, on_cuda_with_magnitudes, on_emulator};
use warpstride::ptycho::{
    Engine, Origin, Precision, ProbeSource, Problem, Recipe, Reconstructor, SavedRun, StartObject,
    StreamPlan, UpdateVersion, fingerprint, memory_estimate, result,
};
use warpstride::run::{BackendKind, BackendRequest, OutOfMemory};
use warpstride::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the reconstruction";

/// Bytes of free device memory that blocks of counts leave free besides a fiftieth.
const RESERVE: u64 = 256 << 20;

/// The recipe of a JSON document: the tables and options of a recipe file.
fn recipe(json: &str) -> Result<Recipe, Failure> {
    let value: toml::Value = serde_json::from_str(json).map_err(Failure::data)?;
    let text = toml::to_string(&value).map_err(Failure::data)?;
    let recipe =
        Recipe::from_toml(&text).map_err(|why| Failure::data(unnumbered(&why.to_string())))?;
    recipe.check().map_err(Failure::data)?;
    if recipe.data != warpstride::ptycho::ReadOptions::default() {
        return Err(Failure::data(
            "recipe: expected no table data, which says how files are read, as the frames are given as an array",
        ));
    }
    if recipe.start.path().is_some() || recipe.start.object_file().is_some() {
        return Err(Failure::data(
            "recipe: expected no files in the table start, found one",
        ));
    }
    Ok(recipe)
}

/// The sentence without the line of a document that the user has not written.
fn unnumbered(text: &str) -> &str {
    match text.split_once(": ") {
        Some((line, rest)) if line.starts_with("line ") => rest,
        _ => text,
    }
}

/// The recipe of a JSON document with all options, TOML.
#[pyfunction]
pub(super) fn resolved_recipe(json: &str) -> PyResult<String> {
    Ok(recipe(json)?.to_toml().map_err(Failure::data)?)
}

/// A computation in progress.
pub(super) struct Running {
    reconstructor: Reconstructor,
    scan: Scan,
    problem: Problem,
    recipe: Recipe,
    origin: Origin,
    notes: Vec<String>,
}

/// Free device memory, bytes, as far as a run may take it.
fn usable(free: u64) -> u64 {
    (free - free / 50).saturating_sub(RESERVE)
}

/// From where a run goes on, or begins.
#[derive(Default)]
struct Begin {
    /// The state of a checkpoint, and its file.
    saved: Option<(PathBuf, SavedRun)>,
    /// An earlier result.
    result: Option<Reconstruction>,
    /// Object (row, column), and its pixel (row, column), m, if it is another.
    object: Option<StartObject>,
    /// √counts on a GPU.
    magnitudes: Option<Magnitudes>,
}

impl Running {
    fn new(
        scan: Scan,
        recipe: Recipe,
        request: BackendRequest,
        mut begin: Begin,
    ) -> Result<Self, Failure> {
        let host = Memory::available();
        let double = recipe.precision == Precision::F64;
        let cpu_only = double.then_some("the GPU back end computes in f32 only");
        let [frames, rows, columns] = scan.shape();
        let backend = request.open(cpu_only, || kernels_for(&recipe, [rows, columns]))?;
        if let Some((path, saved)) = &begin.saved {
            saved.check_scan(path, &scan).map_err(Failure::data)?;
        }
        let mut searched = recipe.clone();
        if (begin.saved.is_some() || begin.result.is_some())
            && searched.probe.source == ProbeSource::Auto
        {
            // That of the earlier run takes the place of any other.
            searched.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem = Problem::new(&scan, &searched).map_err(Failure::data)?;
        let refused = |why: &dyn std::fmt::Display| Failure::Data(format!("start: {why}"));
        let frame_start = match &begin.result {
            None => None,
            Some(result) => {
                (problem.start_from(result, &scan, &recipe)).map_err(|why| refused(&why))?
            }
        };
        if let Some(object) = &begin.object {
            problem
                .take_start_object(object)
                .map_err(|why| refused(&why))?;
        }
        let (shape, object) = (problem.shape(), problem.positions.object_shape);
        let estimate = memory_estimate([frames, shape[1], rows, columns], object, &recipe);
        let version = UpdateVersion::choose(recipe.gpu.updates, shape, object);
        let stream = |free: u64| -> Result<Option<StreamPlan>, OutOfMemory> {
            let choose = |codes, limit| StreamPlan::choose(shape, object, &recipe, codes, limit);
            match choose(None, free)? {
                None => Ok(None),
                Some(_) => choose(problem.magnitudes.codes(), usable(free)),
            }
        };
        let chosen = backend.engine(
            || Ok(estimate.check_cpu(WHAT, host)?),
            |kind| -> Result<Box<dyn Engine>, Failure> {
                Ok(match (kind, double) {
                    (BackendKind::Cpu, true) => {
                        estimate.check_cpu(WHAT, host)?;
                        Box::new(CpuEngine::<f64>::new(&problem))
                    }
                    (BackendKind::Cpu, false) => {
                        estimate.check_cpu(WHAT, host)?;
                        Box::new(CpuEngine::<f32>::new(&problem))
                    }
                    (BackendKind::Emulator(device), _) => {
                        estimate.check_emulator(WHAT, host)?;
                        on_emulator(device, &problem, version, None)?
                    }
                    (BackendKind::Cuda(device), _) => {
                        let memory = device.context().memory().map_err(GpuError::from)?;
                        let free = memory.free as u64;
                        match begin.magnitudes.take() {
                            None => on_cuda(*device, &problem, version, stream(free)?)?,
                            Some(ready) => {
                                estimate
                                    .check_gpu_device(WHAT, free.saturating_add(ready.bytes()))?;
                                let ready = ready.written()?;
                                on_cuda_with_magnitudes(*device, &problem, version, ready)?
                            }
                        }
                    }
                })
            },
        )?;
        let engine = chosen.engine;
        let backend = engine.setup().backend;
        let mut notes: Vec<String> = chosen.note.into_iter().collect();
        notes.extend(problem.notes.iter().cloned());
        notes.extend(recipe.without_effect(backend, shape));
        notes.extend(engine.streaming().map(|plan| plan.to_string()));
        let origin = Origin {
            source: "arrays".to_owned(),
            recipe: recipe.to_toml().map_err(Failure::data)?,
            trials: String::new(),
        };
        let mut reconstructor = Reconstructor::new(engine, &problem, &recipe);
        if let Some(start) = &frame_start {
            reconstructor.start_frames(start)?;
        }
        if let Some((_, saved)) = &begin.saved {
            reconstructor.resume(saved.progress.clone(), &saved.state)?;
        }
        Ok(Self {
            reconstructor,
            scan,
            problem,
            recipe,
            origin,
            notes,
        })
    }

    /// The entry of the last iteration.
    fn last(&self) -> Option<HistoryEntry> {
        let progress = self.reconstructor.progress();
        progress
            .incomplete
            .as_ref()
            .or(progress.history.last())
            .cloned()
    }
}

/// A mask (row, column) or (frame, row, column), `true` where pixels are valid.
fn mask(mask: &PyReadonlyArrayDyn<'_, bool>) -> Result<Mask, Failure> {
    let array = mask.as_array();
    if let Ok(shared) = array.clone().into_dimensionality::<Ix2>() {
        return Ok(Mask::Shared(shared.to_owned()));
    }
    let each = array.clone().into_dimensionality::<Ix3>().map_err(|_| {
        Failure::Data(format!(
            "mask: expected an array (row, column) or (frame, row, column), found shape {:?}",
            array.shape()
        ))
    })?;
    Ok(Mask::PerFrame(each.to_owned()))
}

/// The present state: finished iterations, all of the recipe, whether the run is finished.
type Progress = (usize, usize, bool);

/// Iteration, engine, Fourier error, exit-wave change, photon error, R, `R_free`, seconds.
type Entry = (
    usize,
    String,
    f64,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    f64,
);

pub(super) fn entry(of: HistoryEntry) -> Entry {
    (
        of.iteration,
        of.engine,
        of.err_fourier,
        of.err_exit,
        of.err_phot,
        of.r_factor,
        of.r_free,
        of.seconds,
    )
}

/// A reconstruction of arrays.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct PtychoRun {
    worker: Worker<Running>,
    double: bool,
    /// The number of the GPU, if one was asked for or has the frames.
    device: Option<usize>,
    setup: String,
    notes: Vec<String>,
}

/// Where waves go, and where the run begins.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Options<'py> {
    /// Wavelength, distance, pixel (rows, columns), m.
    geometry: (f64, f64, [f64; 2]),
    near_field: bool,
    /// From the focus of a cone beam to the specimen, m.
    focus_to_sample: Option<f64>,
    start: Option<PyRef<'py, PtychoResult>>,
    start_object: Option<PyReadonlyArray2<'py, Complex<f64>>>,
    /// A checkpoint, whose recipe is used.
    resume: Option<PathBuf>,
    recipe: String,
    backend: String,
    device: Option<usize>,
    /// Frames on a GPU, in the place of `frames`.
    on_gpu: Option<FramesOnGpu<'py>>,
}

/// How waves travel to the detector.
pub(super) fn propagation(
    near_field: bool,
    focus_to_sample: Option<f64>,
) -> Result<Propagation, Failure> {
    match (near_field, focus_to_sample) {
        (false, Some(_)) => Err(Failure::data(
            "focus_to_sample: expected near_field=True beside it",
        )),
        (true, Some(found)) if !(found.is_finite() && found > 0.0) => Err(Failure::Data(format!(
            "focus_to_sample: expected a length above 0, found {found}"
        ))),
        (true, focus_to_sample) => Ok(Propagation::NearField { focus_to_sample }),
        (false, None) => Ok(Propagation::FarField),
    }
}

impl Options<'_> {
    fn geometry(&self) -> Result<Geometry, Failure> {
        let (wavelength, distance, pixel_size) = self.geometry;
        let propagation = propagation(self.near_field, self.focus_to_sample)?;
        Ok(Geometry {
            wavelength,
            distance,
            pixel_size,
            propagation,
        })
    }
}

/// The request for the GPU of this number, in whose memory the frames lie.
fn on_the_gpu(
    options: &Options<'_>,
    ordinal: usize,
    double: bool,
) -> Result<BackendRequest, Failure> {
    if !matches!(&*options.backend, "auto" | "cuda") {
        return Err(Failure::Data(format!(
            "backend {:?}: expected auto or cuda for frames on a GPU",
            options.backend
        )));
    }
    if let Some(found) = options.device.filter(|found| *found != ordinal) {
        return Err(Failure::Data(format!(
            "device: expected {ordinal}, the GPU whose memory the frames lie in, found {found}"
        )));
    }
    request("cuda", Some(ordinal), double, false)
}

#[pymethods]
impl PtychoRun {
    /// Prepares the reconstruction.
    #[new]
    fn new(
        py: Python<'_>,
        frames: &Bound<'_, PyAny>,
        positions: PyReadonlyArray2<'_, f64>,
        mask: Option<PyReadonlyArrayDyn<'_, bool>>,
        probe: Option<PyReadonlyArray3<'_, Complex<f64>>>,
        options: Options<'_>,
    ) -> PyResult<Self> {
        let saved = match &options.resume {
            None => None,
            Some(path) => {
                let read = py.detach(|| SavedRun::read(path)).map_err(Failure::data)?;
                Some((path.clone(), read))
            }
        };
        let recipe = match &saved {
            None => self::recipe(&options.recipe)?,
            Some((_, saved)) => Recipe::from_toml(&saved.recipe).map_err(Failure::data)?,
        };
        let double = recipe.precision == Precision::F64;
        let request = match &options.on_gpu {
            None => request(&options.backend, options.device, double, false)?,
            Some(on_gpu) => on_the_gpu(&options, on_gpu.device(), double)?,
        };
        let device = options.on_gpu.as_ref().map(FramesOnGpu::device);
        let device = device.or(options.device);
        let geometry = options.geometry()?;
        let (frames, magnitudes) = match options.on_gpu {
            None => (Frames::from(counts(frames)?), None),
            Some(on_gpu) => {
                let (frames, magnitudes) = on_gpu.imported()?;
                (frames, Some(magnitudes))
            }
        };
        let positions: Array2<f64> = positions.as_array().to_owned();
        let mask = mask.as_ref().map(self::mask).transpose()?;
        let probe: Option<Array3<Complex<f64>>> = probe.map(|probe| probe.as_array().to_owned());
        let begin = Begin {
            saved,
            result: options.start.as_ref().map(|start| start.inner().clone()),
            object: (options.start_object.as_ref()).map(|object| StartObject {
                values: object.as_array().to_owned(),
                pixel: None,
                origin: None,
            }),
            magnitudes,
        };
        let worker = Worker::start(py, move || {
            let scan =
                Scan::of_frames(frames, mask, positions, geometry, probe).map_err(Failure::data)?;
            Running::new(scan, recipe, request, begin)
        })?;
        let (setup, notes) = worker.call(py, |running, _| {
            let setup = running.reconstructor.engine().setup().to_string();
            Ok((setup, std::mem::take(&mut running.notes)))
        })?;
        Ok(Self {
            worker,
            double,
            device,
            setup,
            notes,
        })
    }

    /// Writes the state of the run, from which it can be resumed.
    fn checkpoint(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.worker.call(py, move |running, _| {
            running.reconstructor.flush()?;
            let error = running.last().map_or(0.0, |entry| entry.err_fourier);
            if !error.is_finite() {
                return Err(Failure::Data(format!(
                    "err_fourier: expected a finite number, found {error}: the reconstruction has diverged"
                )));
            }
            let state = running.reconstructor.engine().save()?;
            let saved = SavedRun {
                source: running.origin.source.clone(),
                backend: running.reconstructor.engine().setup().backend.to_owned(),
                fingerprint: fingerprint(&running.scan).map_err(Failure::data)?,
                recipe: running.origin.recipe.clone(),
                trials: String::new(),
                progress: running.reconstructor.progress().clone(),
                state,
            };
            saved.write(&path).map_err(|why| Failure::File(why.to_string()))
        })
    }

    /// Back end, device and precision.
    #[getter]
    fn setup(&self) -> &str {
        &self.setup
    }

    /// What was decided, and what has no effect.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Does an iteration, waits for it and returns its metrics; `None` once the run is finished.
    fn step(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        self.worker.call(py, |running, _| {
            if running.reconstructor.finished() {
                return Ok(None);
            }
            running.reconstructor.advance()?;
            running.reconstructor.flush()?;
            Ok(running.last().map(entry))
        })
    }

    /// Does iterations for about so many seconds, at least one, and returns the progress.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<Progress> {
        let time = Duration::try_from_secs_f64(seconds).map_err(Failure::data)?;
        self.worker.call(py, move |running, interrupt| {
            let begun = Instant::now();
            let run = &mut running.reconstructor;
            while !run.finished() && !interrupt.requested() {
                run.advance()?;
                if begun.elapsed() >= time {
                    break;
                }
            }
            Ok((run.progress().total, run.planned(), run.finished()))
        })
    }

    /// Finished iterations, all of the recipe, whether the run is finished.
    fn progress(&self, py: Python<'_>) -> PyResult<Progress> {
        self.worker.call(py, |running, _| {
            let run = &running.reconstructor;
            Ok((run.progress().total, run.planned(), run.finished()))
        })
    }

    /// The object (row, column) after the last iteration.
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = (self.worker).call(py, |running, _| {
            Ok(running.reconstructor.engine().object()?)
        })?;
        Ok(match self.double {
            true => object.into_pyarray(py).into_any(),
            false => object.mapv(single).into_pyarray(py).into_any(),
        })
    }

    /// The probe (mode, row, column) after the last iteration.
    fn probe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let probe = (self.worker).call(py, |running, _| {
            Ok(running.reconstructor.engine().probe()?)
        })?;
        Ok(probe_array(py, probe, self.double))
    }

    /// Copies of the object (row, column) and the probe (mode, row, column) after the last iteration in the memory of the GPU
    /// that computes; `None` on other back ends.
    fn on_gpu(&self, py: Python<'_>) -> PyResult<Option<(DeviceArray, DeviceArray)>> {
        let ordinal = self.device.unwrap_or(0);
        let copied = self.worker.call(py, move |running, _| {
            let shape = running.problem.positions.object_shape;
            let [_, modes, rows, columns] = running.problem.shape();
            let engine = running.reconstructor.engine();
            if engine.setup().backend != "cuda" {
                return Ok(None);
            }
            let mut model = ModelOnGpu::new(ordinal, shape, [modes, rows, columns])?;
            let copied = engine.copy_model_to(&mut model.object, &mut model.probe)?;
            Ok(copied.then_some(model))
        })?;
        Ok(copied.map(ModelOnGpu::arrays))
    }

    /// The present result, with orthogonal modes.
    fn result(&self, py: Python<'_>) -> PyResult<PtychoResult> {
        let found = self.worker.call(py, |running, _| {
            let Running {
                reconstructor,
                scan,
                problem,
                recipe,
                origin,
                ..
            } = running;
            Ok(result(reconstructor, scan, problem, recipe, origin)?)
        })?;
        Ok(PtychoResult::new(found))
    }

    /// Ends the thread and frees the engine.
    fn close(&self) {
        self.worker.close();
    }
}
