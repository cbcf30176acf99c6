//! Images from k-space samples.

use super::kspace::MriKSpace;
use super::options::Asked;
use super::running::{Progress, Running};
use super::shared::{CoilMaps, Images, Shared};
use crate::arrays::{converted, copied, single};
use crate::backend::{DevicesKind, GroupRequest, open};
use crate::background::{Worker, abandonable};
use crate::errors::Failure;
use crate::wording::all_in_python;
use ndarray::{Array1, Array2, Array5, Axis};
use num_complex::Complex;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray5};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use warpstride::mri::cpu::on_cpu;
use warpstride::mri::cuda::{kernels, on_cuda_devices, on_emulated_devices};
use warpstride::mri::data::KSpace;
use warpstride::mri::io::ExcludedCoils;
use warpstride::mri::io::ismrmrd::KSpaceFile;
use warpstride::mri::nufft::SpreadingKernel;
use warpstride::mri::{
    Coverage, Density, Engine, EstimatedMaps, FieldBasis, MapDoubt, MemorySizes, OperatorName,
    Options, Plans, Problem, ReconstructionSteps, diagnose, grid_of,
};
use warpstride::run::BackendKind;
use warpstride::system::Memory;

/// What does not fit, for messages.
pub(crate) const WHAT: &str = "the reconstruction";

/// Cells of the NUFFT's fine grid per mode, with which the smallest tolerance is reached.
const OVERSAMPLING: f64 = 2.0;

/// The maps that are given, or those that are estimated, (set, coil, voxel), with what the user
/// should know of them.
fn coil_maps(
    asked: &Asked,
    given: Option<Array5<Complex<f64>>>,
    kspace: &KSpace,
    plans: &mut Plans,
) -> Result<CoilMaps, Failure> {
    let voxels = grid_of(kspace).voxels();
    let shape = |sets: usize| (sets, kspace.coils(), voxels);
    if let Some(maps) = given {
        // Maps of all coils may be given beside coils that are excluded.
        let maps = kspace.maps_of_coils(maps);
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
            "{} sets of coil maps, perhaps for an object larger than the field of view, or for coils whose gain, sign or order changed during the scan: the image is the root sum of squares of the sets' images",
            maps.dim().0
        ));
    }
    Ok((Some(maps), notes))
}

/// Samples: arrays (sample, axis) and (coil, sample), or those of a file.
enum Given {
    Arrays(Array2<f64>, Array2<Complex<f64>>),
    File(Arc<KSpaceFile>),
}

/// Samples that have been checked, which are dropped before the iterations unless something else
/// holds them.
enum Checked {
    Own(Box<KSpace>),
    File(Arc<KSpaceFile>),
}

impl std::ops::Deref for Checked {
    type Target = KSpace;

    fn deref(&self) -> &KSpace {
        match self {
            Self::Own(kspace) => kspace,
            Self::File(file) => &file.kspace,
        }
    }
}

/// What is given beside the samples as arrays.
struct Input {
    maps: Option<Array5<Complex<f64>>>,
    weights: Option<Array1<f64>>,
    field: Option<FieldBasis>,
}

impl Input {
    /// Keeps the weights and phases of these samples alone.
    fn keep(&mut self, samples: &[usize]) {
        let known = |found: usize| samples.iter().all(|sample| *sample < found);
        if let Some(weights) = self.weights.as_mut().filter(|all| known(all.len())) {
            *weights = weights.select(Axis(0), samples);
        }
        if let Some(field) = self
            .field
            .as_mut()
            .filter(|all| known(all.coefficients.nrows()))
        {
            field.coefficients = field.coefficients.select(Axis(0), samples);
        }
    }
}

/// `basis`, unless a product of a coefficient and a map is no plausible phase.
fn plausible(basis: FieldBasis) -> Result<FieldBasis, Failure> {
    let cycles = basis.largest_phase();
    if cycles <= FieldBasis::MAX_CYCLES {
        return Ok(basis);
    }
    Err(Failure::Data(format!(
        "off_resonance and field: expected phases of at most {} cycles, found {cycles}",
        FieldBasis::MAX_CYCLES
    )))
}

/// Refuses a tolerance that this precision does not reach, for an image of so many axes.
pub(crate) fn check_tolerance(options: &Options, double: bool, axes: usize) -> Result<(), Failure> {
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
    Ok(())
}

/// Coil maps (set, coil, voxel) that are estimated from samples (coil, sample) at `k` (sample,
/// axis), cycles/pixel, and what the user should know of them.
#[pyfunction]
pub(super) fn mri_coil_maps<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray2<'_, Complex<f32>>,
    k: PyReadonlyArray2<'_, f64>,
    asked: Asked,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let wide = |v: &Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
    let samples = converted("samples", &samples.as_array(), wide)?;
    let trajectory = copied("k", &k.as_array())?;
    let (maps, notes) = abandonable(py, move || {
        let (kspace, _, left_out) = asked.sound_kspace(trajectory, samples)?;
        let operator = asked.options()?.recipe().operator;
        let sizes = MemorySizes::new(grid_of(&kspace), kspace.count(), kspace.coils(), operator);
        (sizes.estimate(size_of::<f32>())).check_gpu_host(WHAT, Memory::available())?;
        let (maps, notes) = coil_maps(&asked, None, &kspace, &mut Plans::default())?;
        Ok::<_, Failure>((maps, left_out.into_iter().chain(notes).collect::<Vec<_>>()))
    })?;
    let maps = maps.ok_or_else(|| Failure::data("maps: expected a way to estimate them"))?;
    let maps = maps.mapv(single).into_pyarray(py).into_any();
    Ok((maps, all_in_python(notes)))
}

fn prepare(
    asked: &Asked,
    (samples, mut given): (Given, Input),
    double: bool,
    shared: &mut Shared,
) -> Result<Running, Failure> {
    let host = Memory::available();
    let mut options = asked.options()?;
    if given.field.is_some() {
        if options
            .operator
            .is_some_and(|found| found != OperatorName::Direct)
        {
            return Err(Failure::Data(format!(
                "off_resonance and field: expected operator direct, found {}",
                asked.operator
            )));
        }
        options.field = true;
    }
    let request = GroupRequest::new(&asked.backend, asked.devices.clone())?;
    request.check_single(double)?;
    let axes = asked.matrix.len().clamp(2, 3);
    check_tolerance(&options, double, axes)?;
    let named = asked.density()?;
    if given.maps.is_none() {
        asked.estimation()?;
    }
    let (mut notes, mut slice) = (Vec::new(), 0);
    let kspace = match samples {
        Given::Arrays(trajectory, samples) => {
            let (kspace, kept, left_out) = asked.sound_kspace(trajectory, samples)?;
            notes.extend(left_out);
            if let Some(kept) = kept {
                given.keep(&kept);
            }
            Checked::Own(Box::new(kspace))
        }
        Given::File(file) => {
            notes.extend(file.notes.iter().cloned());
            slice = file.slice;
            match &asked.exclude_coils[..] {
                [] => Checked::File(file),
                coils => {
                    // Their numbers are those of the file, which may have had others left out.
                    let numbers = file.kspace.coil_numbers();
                    let left = |coil: &usize| numbers.iter().position(|number| number == coil);
                    let coils = coils.iter().map(|coil| {
                        left(coil).ok_or_else(|| {
                            Failure::Data(format!(
                                "exclude_coils: expected numbers among {numbers:?}, found {coil}"
                            ))
                        })
                    });
                    let coils = coils.collect::<Result<Vec<_>, Failure>>()?;
                    let excluded = ExcludedCoils::new(&coils, numbers.len(), "samples")?;
                    let (kspace, note) = excluded.remove(file.kspace.clone());
                    notes.extend(note);
                    Checked::Own(Box::new(kspace))
                }
            }
        }
    };
    let (grid, recipe) = (grid_of(&kspace), options.recipe());
    let sizes = MemorySizes::new(grid, kspace.count(), kspace.coils(), recipe.operator);
    let bytes = if double { 8 } else { 4 };
    let cpu_only = double.then_some("the GPU back end computes in f32 only");
    let with_maps = given.maps.is_some() || asked.estimation()?.is_some();
    let backend = shared.backend(|| open(&request, cpu_only, kernels))?;
    // Before anything is as large as the image.
    let backend = backend.checked(|kind| sizes.check(kind, with_maps, bytes, host))?;
    let coverage = Coverage::new(&kspace)?;
    let asked_density = given.weights.as_ref().map(|_| Density::None).or(named);
    let chosen_density = Density::choose(asked_density, recipe.method, &coverage);
    let density = chosen_density.density;
    let sizes = sizes.with_pipe(density == Density::Pipe);
    let fits = |kind: &DevicesKind| -> Result<(), Failure> {
        Ok(sizes.check(kind, with_maps, bytes, host)?)
    };
    let backend = backend.checked(fits)?;
    let mut problems = diagnose(&kspace, &coverage);
    problems.extend(chosen_density.problem);
    let mut problem = Problem::new(grid, kspace.trajectory().clone(), kspace.samples().clone())
        .map_err(Failure::data)?;
    if let Some(field) = given.field {
        problem = problem
            .with_field(plausible(field)?)
            .map_err(Failure::data)?;
    }
    let own = given.weights.is_some();
    let weights = match given.weights {
        Some(weights) => Some(weights),
        None => density.weights(&kspace, &mut shared.plans)?,
    };
    if let Some(weights) = weights {
        problem = problem.with_weights(weights).map_err(Failure::data)?;
    }
    let (maps, of_maps) = match given.maps {
        Some(maps) => coil_maps(asked, Some(maps), &kspace, &mut shared.plans)?,
        None => shared.maps(slice, [kspace.coils(), grid.voxels()], |plans| {
            coil_maps(asked, None, &kspace, plans)
        })?,
    };
    notes.extend(of_maps);
    notes.extend(chosen_density.note);
    drop(kspace);
    if let Some(maps) = &maps {
        problem = problem.with_map_sets(maps.clone()).map_err(Failure::data)?;
    }
    let plans = &mut shared.plans;
    let chosen = backend.engine(
        || fits(&BackendKind::Cpu),
        |kind| -> Result<Box<dyn Engine>, Failure> {
            Ok(match kind {
                BackendKind::Cpu => on_cpu(&problem, &recipe, plans, double)?,
                BackendKind::Emulator(devices) => {
                    on_emulated_devices(devices, &problem, &recipe, plans)?
                }
                BackendKind::Cuda(devices) => on_cuda_devices(*devices, &problem, &recipe, plans)?,
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

/// Image (slice, row, column), maps (set, coil, voxel), residuals, and a JSON document with the
/// rest.
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
    worker: Worker<Images>,
    double: bool,
}

/// What Python hands over: samples (coil, sample) at `k` (sample, axis), cycles/pixel, with maps
/// (set, coil, slice, row, column), density weights (sample) and a field, coefficients (sample,
/// function) and maps (function, voxel), if they are given; or the samples of a file.
#[derive(FromPyObject)]
struct Arrays<'py>(
    Bound<'py, PyAny>,
    Option<PyReadonlyArray2<'py, f64>>,
    Option<PyReadonlyArray5<'py, Complex<f64>>>,
    Option<PyReadonlyArray1<'py, f64>>,
    Option<(PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>)>,
);

impl Arrays<'_> {
    /// The input, and whether its samples are in double precision.
    fn input(self) -> Result<((Given, Input), bool), Failure> {
        let Self(samples, k, maps, weights, field) = self;
        let wide = |v: &Complex<f32>| Complex::new(f64::from(v.re), f64::from(v.im));
        let (given, double) = match samples.cast::<MriKSpace>() {
            Ok(kspace) => (Given::File(Arc::clone(kspace.get().file())), false),
            Err(_) => {
                let samples: Samples<'_> = samples.extract().map_err(|_| {
                    Failure::data("samples: expected an array (coil, sample) of complex numbers")
                })?;
                let k = k.ok_or_else(|| Failure::data("k: expected an array, found none"))?;
                let (samples, double) = match samples {
                    Samples::Single(samples) => {
                        (converted("samples", &samples.as_array(), wide)?, false)
                    }
                    Samples::Double(samples) => (copied("samples", &samples.as_array())?, true),
                };
                (Given::Arrays(copied("k", &k.as_array())?, samples), double)
            }
        };
        let maps = maps.map(|maps| copied("maps", &maps.as_array()));
        let weights = weights.map(|weights| copied("density", &weights.as_array()));
        let field = field.map(|(coefficients, maps)| -> Result<_, Failure> {
            Ok(FieldBasis {
                coefficients: copied("field", &coefficients.as_array())?,
                maps: copied("field", &maps.as_array())?,
            })
        });
        let input = Input {
            maps: maps.transpose()?,
            weights: weights.transpose()?,
            field: field.transpose()?,
        };
        Ok(((given, input), double))
    }
}

#[pymethods]
impl MriRun {
    /// Prepares the reconstruction of an image; `several`: of the first of several, whose coil maps
    /// are estimated once or for each.
    #[new]
    fn new(
        py: Python<'_>,
        arrays: Arrays<'_>,
        asked: Asked,
        several: Option<bool>,
    ) -> PyResult<Self> {
        let (given, double) = arrays.input()?;
        let double = asked.double.unwrap_or(double);
        let worker = Worker::start(py, move || {
            let mut images = Images::new(several);
            images.next(|shared| prepare(&asked, given, double, shared))?;
            Ok(images)
        })?;
        Ok(Self { worker, double })
    }

    /// Goes on to the next of several images, in the precision of the first.
    fn next(&self, py: Python<'_>, arrays: Arrays<'_>, asked: Asked) -> PyResult<()> {
        let (given, _) = arrays.input()?;
        let double = self.double;
        self.worker.call(py, move |images, _| {
            images.next(|shared| prepare(&asked, given, double, shared))
        })
    }

    /// Does iterations for about so many seconds, at least one; without time exactly one.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<Progress> {
        let time = Duration::try_from_secs_f64(seconds).map_err(Failure::data)?;
        self.worker.call(py, move |images, interrupt| {
            images.running()?.advance(time, interrupt)
        })
    }

    /// The present image.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Answer<'py>> {
        let (image, maps, residuals, facts) = self.worker.call(py, |images, _| {
            let running = images.running()?;
            let (image, facts) = (running.steps.image()?, running.facts()?);
            Ok((
                image,
                running.maps.clone(),
                running.residuals.clone(),
                facts,
            ))
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
