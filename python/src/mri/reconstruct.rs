//! Images from k-space samples.

use crate::arrays::single;
use crate::backend::GroupRequest;
use crate::background::Worker;
use crate::errors::Failure;
use ndarray::{Array1, Array2, Array3, Array5, Ix5};
use num_complex::Complex;
use numpy::{
    IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray5, PyReadonlyArrayDyn,
    ToPyArray,
};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpstride::cuda::Kernels;
use warpstride::data::{Extent, KSpace, MriImage, Readout};
use warpstride::gpu::{CudaDevice, Device, EmulatedDevice};
use warpstride::mri::cpu::CpuEngine;
use warpstride::mri::cuda::{kernels, on_cuda_devices, on_emulated_devices};
use warpstride::mri::io::images::{self, NiftiValues};
use warpstride::mri::nufft::SpreadingKernel;
use warpstride::mri::trajectory::Path;
use warpstride::mri::{
    Coverage, Density, Engine, EstimatedMaps, MapDoubt, MapEstimation, MemorySizes, Method,
    OperatorName, Options, Plans, Problem, Recipe, ReconstructionSteps, SimulateOptions, diagnose,
    grid_of, simulate,
};
use warpstride::run::{Backend, BackendKind, MemoryEstimate, Steps};
use warpstride::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the reconstruction";

/// Cells of the NUFFT's fine grid per mode, with which the smallest tolerance is reached.
const OVERSAMPLING: f64 = 2.0;

/// What is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Asked {
    /// Slices, rows, columns; of a plane rows and columns.
    matrix: Vec<usize>,
    /// Samples of each readout.
    readouts: Vec<usize>,
    method: String,
    operator: String,
    iterations: Option<usize>,
    min_residual: Option<f64>,
    lamda: Option<f64>,
    tolerance: Option<f64>,
    density: Option<String>,
    /// The name of an estimation; ignored if maps are given.
    maps: String,
    intensity_correction: bool,
    backend: String,
    devices: Option<crate::backend::Devices>,
}

/// An argument that is none of the names.
fn unknown<T>(argument: &str, found: &str, names: &str) -> Result<T, Failure> {
    Err(Failure::Data(format!(
        "{argument} {found:?}: expected {names}"
    )))
}

impl Asked {
    /// The options, checked as far as possible without the samples.
    fn options(&self) -> Result<Options, Failure> {
        let method = match &*self.method {
            "adjoint" => Method::Adjoint,
            "cg" => Method::Cg,
            "tv" => Method::Tv,
            "wavelet" => Method::Wavelet,
            other => return unknown("method", other, "adjoint, cg, tv or wavelet"),
        };
        let operator = match &*self.operator {
            "auto" => None,
            "direct" => Some(OperatorName::Direct),
            "nufft" => Some(OperatorName::Nufft),
            "toeplitz" => Some(OperatorName::Toeplitz),
            other => return unknown("operator", other, "auto, direct, nufft or toeplitz"),
        };
        let adjoint = method == Method::Adjoint;
        let refused = |why: String| Err(Failure::Data(why));
        match self.iterations {
            Some(n) if adjoint && n != 0 => {
                return refused(format!(
                    "iterations {n}: expected 0, as method adjoint has no iterations"
                ));
            }
            Some(n) if !adjoint && !(1..=Options::MAX_ITERATIONS).contains(&n) => {
                return refused(format!(
                    "iterations {n}: expected 1 to {}",
                    Options::MAX_ITERATIONS
                ));
            }
            _ => {}
        }
        if let Some(residual) = self.min_residual {
            if !(0.0..1.0).contains(&residual) {
                return refused(format!(
                    "min_residual {residual}: expected a number from 0, below 1"
                ));
            }
            if method != Method::Cg {
                return refused(format!(
                    "min_residual: expected method cg, found {}",
                    method.name()
                ));
            }
        }
        if let Some(lamda) = self.lamda {
            if !(lamda.is_finite() && lamda >= 0.0) {
                return refused(format!("lamda {lamda}: expected a number, 0 or more"));
            }
            if adjoint && lamda > 0.0 {
                return refused(format!(
                    "lamda {lamda}: expected 0, as method adjoint has no regulariser"
                ));
            }
        }
        if let Some(tolerance) = self.tolerance
            && !(tolerance > 0.0 && tolerance < 1.0)
        {
            return refused(format!(
                "tolerance {tolerance}: expected a number above 0 and below 1"
            ));
        }
        if operator == Some(OperatorName::Toeplitz) && adjoint {
            return refused(
                "operator toeplitz: expected nufft or direct, because method adjoint has no iterations"
                    .to_owned(),
            );
        }
        if self.intensity_correction && self.maps == "none" {
            return refused("intensity_correction: expected coil maps, found none".to_owned());
        }
        Ok(Options {
            operator,
            iterations: self.iterations,
            min_residual: self.min_residual,
            lambda: self.lamda,
            tolerance: self.tolerance,
            intensity_correction: self.intensity_correction,
            ..Options::new(method)
        })
    }

    fn density(&self) -> Result<Option<Density>, Failure> {
        Ok(match self.density.as_deref() {
            None => None,
            Some("none") => Some(Density::None),
            Some("ramp") => Some(Density::Ramp),
            Some("pipe") => Some(Density::Pipe),
            Some(other) => return unknown("density", other, "none, ramp, pipe or weights"),
        })
    }

    /// How the maps are estimated; `None`: each coil has an image of its own.
    fn estimation(&self) -> Result<Option<MapEstimation>, Failure> {
        Ok(match &*self.maps {
            "none" => None,
            "auto" | "espirit" => Some(MapEstimation::Espirit),
            "low-pass" => Some(MapEstimation::LowPass),
            "walsh" => Some(MapEstimation::Walsh),
            other => {
                return unknown(
                    "maps",
                    other,
                    "auto, espirit, low-pass, walsh, none or coil maps",
                );
            }
        })
    }

    fn kspace(
        &self,
        trajectory: Array2<f64>,
        samples: Array2<Complex<f64>>,
    ) -> Result<KSpace, Failure> {
        let matrix = match self.matrix[..] {
            [rows, columns] => [1, rows, columns],
            [slices, rows, columns] => [slices, rows, columns],
            _ => {
                return Err(Failure::Data(format!(
                    "matrix: expected 2 or 3 axes, found {}",
                    self.matrix.len()
                )));
            }
        };
        let axes = self.matrix.len();
        let mut end = 0_usize;
        let readouts = self.readouts.iter().enumerate();
        let readouts = readouts.map(|(acquisition, count)| {
            let start = end;
            end = end.saturating_add(*count);
            Readout {
                samples: start..end,
                acquisition,
                interval: 0.0,
                discarded: 0,
            }
        });
        let readouts = readouts.collect();
        let extent = Extent {
            matrix,
            axes,
            field_of_view: None,
        };
        KSpace::new(extent, trajectory, samples, readouts).map_err(Failure::data)
    }
}

/// An open back end: the CPU, or one or several devices.
type Devices = Backend<Vec<CudaDevice>, Vec<EmulatedDevice>>;

fn open(
    request: &GroupRequest,
    cpu_only: Option<&str>,
    kernels: impl FnOnce() -> Kernels,
) -> Result<Devices, Failure> {
    let cuda = || -> Result<_, Failure> {
        let kernels = kernels();
        let opened = request.numbers()?.into_iter();
        let opened = opened.map(|number| CudaDevice::new(number, &kernels).map_err(Failure::from));
        Ok(Box::new(opened.collect::<Result<Vec<_>, _>>()?))
    };
    let emulator = || -> Result<_, Failure> {
        let devices = 0..request.emulated()?;
        Ok(devices.map(|_| EmulatedDevice::new()).collect())
    };
    let name = |devices: &Vec<CudaDevice>| {
        let names = devices.iter().map(|device| device.info().name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    Backend::open(request.backend(), cpu_only, cuda, emulator, name)
}

/// Checks that a run of these sizes fits; `bytes` of a real number.
fn check(
    kind: &BackendKind<Vec<CudaDevice>, Vec<EmulatedDevice>>,
    sizes: &MemorySizes,
    bytes: usize,
    host: Memory,
) -> Result<(), Failure> {
    let estimate = |devices: usize| sizes.with_devices(devices).estimate(bytes);
    match kind {
        BackendKind::Cpu => estimate(1).check_cpu(WHAT, host)?,
        BackendKind::Emulator(devices) => {
            let each = estimate(devices.len());
            let all = MemoryEstimate {
                gpu_device: each.gpu_device.saturating_mul(devices.len() as u64),
                ..each
            };
            all.check_emulator(WHAT, host)?;
        }
        BackendKind::Cuda(devices) => {
            let estimate = estimate(devices.len());
            for device in devices.iter() {
                let free = device.memory()?.0 as u64;
                estimate.check_gpu_number(WHAT, device.info().ordinal, free)?;
            }
            estimate.check_gpu_host(WHAT, host)?;
        }
    }
    Ok(())
}

/// The maps that are given, or those that are estimated, (set, coil, voxel), with what the user should know of them.
fn coil_maps(
    asked: &Asked,
    given: Option<Array5<Complex<f64>>>,
    kspace: &KSpace,
    plans: &mut Plans,
) -> Result<(Option<Array3<Complex<f64>>>, Vec<String>), Failure> {
    let voxels = grid_of(kspace).voxels();
    let shape = |sets: usize| (sets, kspace.coils(), voxels);
    if let Some(maps) = given {
        let [slices, rows, columns] = kspace.extent().matrix;
        let expected = [maps.dim().0, kspace.coils(), slices, rows, columns];
        if maps.shape() != expected || maps.dim().0 == 0 {
            return Err(Failure::Data(format!(
                "maps: expected shape {:?} (coil, slice, row, column), or several sets of them, found {:?}",
                &expected[1..],
                maps.shape()
            )));
        }
        let sets = maps.dim().0;
        let flat = maps.into_shape_with_order(shape(sets));
        return Ok((
            Some(flat.map_err(|why| Failure::Internal(why.to_string()))?),
            Vec::new(),
        ));
    }
    let Some(estimation) = asked.estimation()? else {
        return Ok((None, Vec::new()));
    };
    let EstimatedMaps { maps, doubts } = estimation.maps(kspace, plans)?;
    if maps.iter().all(|s| s.norm_sqr() == 0.0) {
        return Err(Failure::Data(format!(
            "maps {:?}: expected signal in the centre of k-space, found none; give coil maps or maps=\"none\"",
            asked.maps
        )));
    }
    let mut notes: Vec<String> = doubts
        .iter()
        .map(|doubt| match doubt {
            MapDoubt::TooFewSamples(region) => format!(
                "the coil maps are inaccurate: {:.2} % of the central {:?} cells of k-space hold a sample, and the calibration needs 90 %",
                100.0 * region.coverage,
                region.shape
            ),
            MapDoubt::TooFewCoils(coils) => format!(
                "the coil maps are those of maps=\"walsh\": {coils} coils are too few for espirit with a calibration region of this size"
            ),
        })
        .collect();
    if maps.dim().0 > 1 {
        notes.push(format!(
            "{} sets of coil maps, for an object larger than the field of view: the image is the root sum of squares of the sets' images",
            maps.dim().0
        ));
    }
    Ok((Some(maps), notes))
}

/// A computation in progress.
pub(super) struct Running {
    steps: ReconstructionSteps,
    residuals: Vec<f64>,
    recipe: Recipe,
    maps: Option<Array3<Complex<f64>>>,
    density: &'static str,
    notes: Vec<String>,
    problems: Vec<String>,
}

/// What is given as arrays.
struct Given {
    trajectory: Array2<f64>,
    samples: Array2<Complex<f64>>,
    maps: Option<Array5<Complex<f64>>>,
    weights: Option<Array1<f64>>,
}

fn prepare(asked: &Asked, given: Given, double: bool) -> Result<Running, Failure> {
    let host = Memory::available();
    let options = asked.options()?;
    let request = GroupRequest::new(&asked.backend, asked.devices.clone())?;
    request.check_single(double)?;
    let axes = asked.matrix.len().clamp(2, 3);
    let (smallest, precision) = match double {
        false => (SpreadingKernel::smallest::<f32>(OVERSAMPLING, axes), "f32"),
        true => (SpreadingKernel::smallest::<f64>(OVERSAMPLING, axes), "f64"),
    };
    if let Some(tolerance) = options.tolerance
        && tolerance < smallest
        && options.recipe().operator != OperatorName::Direct
    {
        return Err(Failure::Data(format!(
            "tolerance {tolerance}: expected at least {smallest:e} in {precision}"
        )));
    }
    let named = asked.density()?;
    if given.maps.is_none() {
        asked.estimation()?;
    }
    let kspace = asked.kspace(given.trajectory, given.samples)?;
    let (grid, recipe) = (grid_of(&kspace), options.recipe());
    let density = match (&given.weights, named) {
        (None, Some(density)) => density,
        (None, None) => Density::of(recipe.method, &kspace),
        (Some(_), _) => Density::None,
    };
    let sizes = MemorySizes::new(grid, kspace.count(), kspace.coils(), recipe.operator);
    let sizes = sizes.with_pipe(density == Density::Pipe);
    let bytes = if double { 8 } else { 4 };
    let cpu_only = double.then_some("the GPU back end computes in f32 only");
    let backend = open(&request, cpu_only, kernels)?;
    let backend = backend.checked(|kind| check(kind, &sizes, bytes, host))?;
    let coverage = Coverage::new(&kspace);
    let problems = diagnose(&kspace, &coverage);
    let mut plans = Plans::default();
    let mut problem = Problem::new(grid, kspace.trajectory().clone(), kspace.samples().clone())
        .map_err(Failure::data)?;
    let own = given.weights.is_some();
    let weights = match given.weights {
        Some(weights) => Some(weights),
        None => density.weights(&kspace, &mut plans)?,
    };
    if let Some(weights) = weights {
        problem = problem.with_weights(weights).map_err(Failure::data)?;
    }
    let (maps, mut notes) = coil_maps(asked, given.maps, &kspace, &mut plans)?;
    if density == Density::Ramp && coverage.spokes.is_none() {
        notes.push("density ramp assumes spokes, but these readouts are not spokes".to_owned());
    }
    drop(kspace);
    if let Some(maps) = &maps {
        problem = problem.with_map_sets(maps.clone()).map_err(Failure::data)?;
    }
    let chosen = backend.engine(
        || check(&BackendKind::Cpu, &sizes, bytes, host),
        |kind| -> Result<Box<dyn Engine>, Failure> {
            Ok(match (kind, double) {
                (BackendKind::Cpu, false) => {
                    Box::new(CpuEngine::<f32>::with_plans(&problem, &recipe, &mut plans)?)
                }
                (BackendKind::Cpu, true) => {
                    Box::new(CpuEngine::<f64>::with_plans(&problem, &recipe, &mut plans)?)
                }
                (BackendKind::Emulator(devices), _) => {
                    on_emulated_devices(devices, &problem, &recipe, &mut plans)?
                }
                (BackendKind::Cuda(devices), _) => {
                    on_cuda_devices(*devices, &problem, &recipe, &mut plans)?
                }
            })
        },
    )?;
    notes.splice(0..0, chosen.note);
    Ok(Running {
        steps: ReconstructionSteps::new(chosen.engine),
        residuals: Vec::new(),
        recipe,
        maps,
        density: if own { "weights" } else { density.name() },
        notes,
        problems,
    })
}

/// Image (slice, row, column), maps (set, coil, voxel), residuals, and a JSON document with the rest.
type Answer<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    String,
);

/// In the precision of the run.
fn rounded<'py, D: ndarray::Dimension>(
    py: Python<'py>,
    values: ndarray::Array<Complex<f64>, D>,
    double: bool,
) -> Bound<'py, PyAny> {
    match double {
        true => values.into_pyarray(py).into_any(),
        false => values.mapv(single).into_pyarray(py).into_any(),
    }
}

/// Samples (coil, sample) in the precision that the run has.
#[derive(FromPyObject)]
enum Samples<'py> {
    #[pyo3(transparent)]
    Single(PyReadonlyArray2<'py, Complex<f32>>),
    #[pyo3(transparent)]
    Double(PyReadonlyArray2<'py, Complex<f64>>),
}

/// A reconstruction as it runs: a thread with the engine.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct MriRun {
    worker: Worker<Running>,
    double: bool,
}

/// Iterations with their residuals, iterations of the recipe, whether the run is finished.
type Progress = (Vec<(usize, f64)>, usize, bool);

#[pymethods]
impl MriRun {
    /// Prepares the reconstruction of `samples` (coil, sample) at `k` (sample, axis), cycles/pixel, with maps (set, coil,
    /// slice, row, column) and density weights (sample) if they are given.
    #[new]
    fn new(
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        k: PyReadonlyArray2<'_, f64>,
        maps: Option<PyReadonlyArray5<'_, Complex<f64>>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        asked: Asked,
    ) -> PyResult<Self> {
        let samples: Samples<'_> = samples.extract().map_err(|_| {
            Failure::data("samples: expected an array (coil, sample) of complex numbers")
        })?;
        let wide = |v: &Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
        let (samples, double) = match samples {
            Samples::Single(samples) => (samples.as_array().map(wide), false),
            Samples::Double(samples) => (samples.as_array().to_owned(), true),
        };
        let given = Given {
            trajectory: k.as_array().to_owned(),
            samples,
            maps: maps.map(|maps| maps.as_array().to_owned()),
            weights: weights.map(|weights| weights.as_array().to_owned()),
        };
        let worker = Worker::start(py, move || prepare(&asked, given, double))?;
        Ok(Self { worker, double })
    }

    /// Does iterations for about so many seconds, at least one.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<Progress> {
        let time = Duration::try_from_secs_f64(seconds).map_err(Failure::data)?;
        self.worker.call(py, move |running, interrupt| {
            let begun = Instant::now();
            let mut entries = Vec::new();
            while !(running.steps.finished() || interrupt.requested()) {
                entries.extend(running.steps.advance()?);
                if begun.elapsed() >= time {
                    break;
                }
            }
            let found = entries.iter().map(|entry| entry.residual);
            running.residuals.extend(found);
            let entries = entries
                .iter()
                .map(|entry| (entry.iteration, entry.residual));
            let steps = &running.steps;
            Ok((entries.collect(), steps.planned(), steps.finished()))
        })
    }

    /// The present image.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Answer<'py>> {
        let (image, maps, residuals, facts) = self.worker.call(py, |running, _| {
            let steps = &mut running.steps;
            let (image, data_residual) = (steps.image()?, steps.data_residual()?);
            let setup = steps.engine().setup();
            let facts = serde_json::json!({
                "data_residual": data_residual,
                "converged": steps.engine().converged(),
                "backend": setup.backend,
                "device": setup.device,
                "precision": setup.precision,
                "density": running.density,
                "recipe": running.recipe,
                "notes": running.notes,
                "problems": running.problems,
            });
            let (maps, residuals) = (running.maps.clone(), running.residuals.clone());
            Ok((image, maps, residuals, facts.to_string()))
        })?;
        Ok((
            rounded(py, image, self.double),
            maps.map(|maps| rounded(py, maps, self.double)),
            Array1::from_vec(residuals).into_pyarray(py).into_any(),
            facts,
        ))
    }

    /// Ends the thread and frees the engine.
    fn close(&self) {
        self.worker.close();
    }
}

/// What a file says of an image beside its arrays.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Facts {
    volume: bool,
    recipe: String,
    operator: String,
    method: String,
    backend: String,
    device: String,
    precision: String,
    nifti: String,
}

/// Writes an image (slice, row, column) with its coil maps (set, coil, slice, row, column) as the command does. Returns what
/// the user should know of the file.
#[pyfunction]
pub(super) fn mri_save(
    py: Python<'_>,
    path: PathBuf,
    image: PyReadonlyArrayDyn<'_, Complex<f64>>,
    maps: Option<PyReadonlyArrayDyn<'_, Complex<f64>>>,
    residuals: PyReadonlyArray1<'_, f64>,
    facts: Facts,
) -> PyResult<Vec<String>> {
    let nifti = match &*facts.nifti {
        "magnitude" => NiftiValues::Magnitude,
        "complex" => NiftiValues::Complex,
        other => return Ok(unknown("nifti", other, "magnitude or complex")?),
    };
    let shape = |why: ndarray::ShapeError| Failure::Internal(why.to_string());
    let coil_maps = maps.map(|maps| maps.as_array().to_owned().into_dimensionality::<Ix5>());
    let image = MriImage {
        image: image
            .as_array()
            .to_owned()
            .into_dimensionality()
            .map_err(shape)?,
        volume: facts.volume,
        index: None,
        placement: None,
        field_of_view: None,
        coil_maps: coil_maps.transpose().map_err(shape)?,
        residuals: residuals.as_array().to_vec(),
        recipe: facts.recipe,
        operator: facts.operator,
        method: facts.method,
        backend: facts.backend,
        device: facts.device,
        precision: facts.precision,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: "arrays".to_owned(),
    };
    let written =
        py.detach(|| images::write_images(&path, std::slice::from_ref(&image), &[], nifti));
    Ok(written.map_err(|why| Failure::unwritten(&why))?.notes)
}

/// A simulated acquisition.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct SimulationOptions {
    trajectory: String,
    matrix: usize,
    spokes: Option<usize>,
    samples: Option<usize>,
    coils: usize,
    snr: Option<f64>,
    volume: bool,
    seed: u64,
}

/// Samples (coil, sample), k (sample, axis), samples of each readout, image (slice, row, column), maps (coil, slice, row,
/// column).
type Simulated<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Vec<usize>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

/// Simulates the samples of a phantom.
#[pyfunction]
pub(super) fn mri_simulate<'py>(
    py: Python<'py>,
    options: SimulationOptions,
) -> PyResult<Simulated<'py>> {
    let path = match &*options.trajectory {
        "radial" => Path::Radial,
        "golden" => Path::Golden,
        "spiral" => Path::Spiral,
        other => return Ok(unknown("trajectory", other, "radial, golden or spiral")?),
    };
    let options = SimulateOptions {
        path,
        matrix: options.matrix,
        spokes: options.spokes,
        samples: options.samples,
        coils: options.coils,
        snr: options.snr,
        volume: options.volume,
        seed: options.seed,
    };
    let found = py.detach(|| simulate(&options).map_err(Failure::data))?;
    let readouts = found.kspace.readouts().iter();
    Ok((
        // The samples of files are in single precision.
        found
            .kspace
            .samples()
            .map(|v| single(*v))
            .into_pyarray(py)
            .into_any(),
        found.kspace.trajectory().to_pyarray(py).into_any(),
        readouts.map(|readout| readout.samples.len()).collect(),
        found.truth.image.into_pyarray(py).into_any(),
        found.truth.coil_maps.into_pyarray(py).into_any(),
    ))
}
