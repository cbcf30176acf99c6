//! A reconstruction as it runs: a thread with the engine.

use super::recipe::{automatic, propagation, recipe};
use super::result::{Entry, PtychoResult, complex_array, entry};
use super::running::{Begin, Input, Running};
use super::scan::PtychoScan;
use crate::arrays::{copied, counts, single};
use crate::backend::{Devices, GroupRequest};
use crate::background::Worker;
use crate::detached::detached;
use crate::errors::Failure;
use crate::gpu::{DeviceArray, FramesOnGpu, ModelOnGpu};
use crate::wording::all_in_python;
use ndarray::{Array2, Array3, Ix2, Ix3};
use num_complex::Complex;
use numpy::{IntoPyArray, PyReadonlyArray2, PyReadonlyArray3, PyReadonlyArrayDyn};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpstride::ptycho::data::{Frames, Geometry, Mask, Scan};
use warpstride::ptycho::{
    Precision, Recipe, SavedRun, ScaleSpread, StartObject, fingerprint, result,
};
use warpstride::run::Interrupt;

/// A mask (row, column) or (frame, row, column), `true` where pixels are valid.
fn mask(mask: &PyReadonlyArrayDyn<'_, bool>) -> Result<Mask, Failure> {
    let array = mask.as_array();
    if let Ok(shared) = array.clone().into_dimensionality::<Ix2>() {
        return Ok(Mask::Shared(copied("mask", &shared)?));
    }
    let each = array.clone().into_dimensionality::<Ix3>().map_err(|_| {
        Failure::Data(format!(
            "mask: expected an array (row, column) or (frame, row, column), found shape {:?}",
            array.shape()
        ))
    })?;
    Ok(Mask::PerFrame(copied("mask", &each)?))
}

/// The present state: finished iterations, all of the recipe, whether the run is finished.
type Progress = (usize, usize, bool);

/// A reconstruction of arrays, or of a scan from a file.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct PtychoRun {
    worker: Worker<Running>,
    double: bool,
    /// The number of the GPU that computes, or of the first of several.
    device: usize,
    setup: String,
    notes: Vec<String>,
    problems: Vec<String>,
}

/// Warns of each sentence where Python called the package.
fn warn(py: Python<'_>, sentences: &[String]) -> PyResult<()> {
    sentences.iter().try_for_each(|text| {
        let text = CString::new(text.as_str())?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 3)
    })
}

/// Where waves go, and where the run begins.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Options<'py> {
    /// Wavelength, distance, pixel (rows, columns), m, of arrays.
    geometry: Option<(f64, f64, [f64; 2])>,
    near_field: bool,
    /// From the focus of a cone beam to the specimen, m.
    focus_to_sample: Option<f64>,
    start: Option<PyRef<'py, PtychoResult>>,
    start_object: Option<PyReadonlyArray2<'py, Complex<f64>>>,
    /// A checkpoint, whose recipe is used.
    resume: Option<PathBuf>,
    recipe: String,
    /// Whether trials choose the engines and what else the recipe does not name.
    automatic: bool,
    backend: String,
    device: Option<usize>,
    devices: Option<Devices>,
    /// Frames on a GPU, in the place of `frames`.
    on_gpu: Option<FramesOnGpu<'py>>,
}

impl Options<'_> {
    fn geometry(&self) -> Result<Geometry, Failure> {
        let Some((wavelength, distance, pixel_size)) = self.geometry else {
            return Err(Failure::data(
                "expected the geometry of the frames, found none",
            ));
        };
        let propagation = propagation(self.near_field, self.focus_to_sample)?;
        Ok(Geometry {
            wavelength,
            distance,
            pixel_size,
            propagation,
        })
    }
}

/// A scan that is given as arrays.
struct Arrays {
    frames: Frames,
    mask: Option<Mask>,
    positions: Array2<f64>,
    geometry: Geometry,
    probe: Option<Array3<Complex<f64>>>,
}

impl Arrays {
    fn into_scan(self) -> Result<Arc<Scan>, Failure> {
        let Self {
            frames,
            mask,
            positions,
            geometry,
            probe,
        } = self;
        let scan = Scan::of_frames(frames, mask, positions, geometry, probe);
        Ok(Arc::new(scan.map_err(Failure::data)?))
    }
}

/// The request for the GPU of this number, in whose memory the frames lie.
fn on_the_gpu(options: &Options<'_>, ordinal: usize) -> Result<GroupRequest, Failure> {
    if !matches!(&*options.backend, "auto" | "cuda") {
        return Err(Failure::Data(format!(
            "backend {:?}: expected auto or cuda for frames on a GPU",
            options.backend
        )));
    }
    if options.devices.is_some() {
        return Err(Failure::data(
            "devices: expected none beside frames on a GPU, which computes",
        ));
    }
    if let Some(found) = options.device.filter(|found| *found != ordinal) {
        return Err(Failure::Data(format!(
            "device: expected {ordinal}, the GPU whose memory the frames lie in, found {found}"
        )));
    }
    GroupRequest::with_device("cuda", Some(ordinal), None)
}

#[pymethods]
impl PtychoRun {
    /// Prepares the reconstruction.
    #[new]
    fn new(
        py: Python<'_>,
        frames: &Bound<'_, PyAny>,
        positions: Option<PyReadonlyArray2<'_, f64>>,
        mask: Option<PyReadonlyArrayDyn<'_, bool>>,
        probe: Option<PyReadonlyArray3<'_, Complex<f64>>>,
        options: Options<'_>,
    ) -> PyResult<Self> {
        let saved = match &options.resume {
            None => None,
            Some(path) => {
                let read = detached(py, || SavedRun::read(path));
                let read = read.map_err(|why| Failure::of_file(path, &why))?;
                Some((path.clone(), read))
            }
        };
        let scan = frames.cast::<PtychoScan>().ok().map(Bound::get);
        let read = scan.map(PtychoScan::options);
        let (recipe, decided) = match &saved {
            None if options.automatic => {
                let (recipe, decided) = automatic(&options.recipe, read)?;
                (recipe, Some(decided))
            }
            None => (recipe(&options.recipe, read)?, None),
            Some((_, saved)) => {
                let recipe = Recipe::from_toml(&saved.recipe).map_err(Failure::data)?;
                (recipe, None)
            }
        };
        let double = recipe.precision == Precision::F64;
        let request = match &options.on_gpu {
            None => {
                let devices = options.devices.clone();
                GroupRequest::with_device(&options.backend, options.device, devices)?
            }
            Some(on_gpu) => on_the_gpu(&options, on_gpu.device())?,
        };
        request.check(options.device, double)?;
        let device = request.first();
        let mut magnitudes = None;
        let (source, given) = match scan {
            Some(scan) => (scan.source().to_owned(), Ok(Arc::clone(scan.scan()))),
            None => {
                let Some(positions) = positions else {
                    return Err(Failure::data("positions: expected an array, found none").into());
                };
                let positions: Array2<f64> = copied("positions", &positions.as_array())?;
                let mask = mask.as_ref().map(self::mask).transpose()?;
                let probe = probe.map(|probe| copied("probe", &probe.as_array()));
                let probe = probe.transpose()?;
                let geometry = options.geometry()?;
                let frames = match options.on_gpu {
                    None => Frames::from(counts(frames)?),
                    Some(on_gpu) => {
                        let (frames, ready) = on_gpu.imported()?;
                        magnitudes = Some(ready);
                        frames
                    }
                };
                let arrays = Arrays {
                    frames,
                    mask,
                    positions,
                    geometry,
                    probe,
                };
                ("arrays".to_owned(), Err(arrays))
            }
        };
        let object = options.start_object.as_ref();
        let object = object.map(|object| copied("start_object", &object.as_array()));
        let object = object.transpose()?;
        let begin = Begin {
            saved,
            result: options.start.as_ref().map(|start| start.inner().clone()),
            object: object.map(|values| StartObject {
                values,
                pixel: None,
                origin: None,
            }),
            magnitudes,
        };
        let of_arrays = given.is_err();
        let interrupt = Interrupt::new();
        let requested = interrupt.clone();
        let worker = Worker::start(py, move || {
            let scan = given.or_else(Arrays::into_scan)?;
            let mut input = Input {
                scan,
                source,
                of_arrays,
                recipe,
                trials: None,
            };
            if let Some(decided) = decided {
                input.choose(decided, &request, &requested)?;
            }
            Running::new(input, &request, begin)
        });
        // Trials whose caller no longer waits end.
        let worker = worker.inspect_err(|_| interrupt.request())?;
        let (setup, notes, problems) = worker.call(py, |running, _| {
            let setup = running.group.first().engine().setup().to_string();
            let notes = std::mem::take(&mut running.notes);
            Ok((setup, notes, std::mem::take(&mut running.problems)))
        })?;
        let problems = all_in_python(problems);
        warn(py, &problems)?;
        Ok(Self {
            problems,
            worker,
            double,
            device,
            setup,
            notes: all_in_python(notes),
        })
    }

    /// Writes the state of the run, from which it can be resumed.
    fn checkpoint(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.worker.call(py, move |running, _| {
            running.group.all(|run| run.flush())?;
            let error = running.last().map_or(0.0, |entry| entry.err_fourier);
            if !error.is_finite() {
                return Err(Failure::Data(format!(
                    "err_fourier: expected a finite number, found {error}: the reconstruction has diverged"
                )));
            }
            let state = running.group.all(|run| run.engine().save())?;
            let (run, of) = (running.group.first(), &running.shared);
            let saved = SavedRun {
                source: of.origin.source.clone(),
                backend: run.engine().setup().backend.to_owned(),
                fingerprint: fingerprint(&of.scan).map_err(Failure::data)?,
                recipe: of.origin.recipe.clone(),
                trials: of.origin.trials.clone(),
                progress: run.progress().clone(),
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

    /// Doubtful properties of the scan.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// Does an iteration, waits for it and returns its metrics; `None` once the run is finished.
    fn step(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        self.worker.call(py, |running, _| {
            if running.group.first().finished() {
                return Ok(None);
            }
            running.group.all(|run| {
                run.advance()?;
                run.flush()
            })?;
            Ok(running.last().map(entry))
        })
    }

    /// Does iterations for about so many seconds, at least one, and returns the progress.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<Progress> {
        let time = Duration::try_from_secs_f64(seconds).map_err(Failure::data)?;
        self.worker.call(py, move |running, interrupt| {
            let begun = Instant::now();
            let group = &mut running.group;
            while !group.first().finished() && !interrupt.requested() {
                group.all(|run| run.advance())?;
                if begun.elapsed() >= time {
                    break;
                }
            }
            let run = group.first();
            Ok((run.progress().total, run.planned(), run.finished()))
        })
    }

    /// Finished iterations, all of the recipe, whether the run is finished.
    fn progress(&self, py: Python<'_>) -> PyResult<Progress> {
        self.worker.call(py, |running, _| {
            let run = running.group.first();
            Ok((run.progress().total, run.planned(), run.finished()))
        })
    }

    /// The object (row, column) after the last iteration.
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = (self.worker).call(py, |running, _| {
            running.group.all(|run| run.engine().object())
        })?;
        Ok(match self.double {
            true => object.into_pyarray(py).into_any(),
            false => object.mapv(single).into_pyarray(py).into_any(),
        })
    }

    /// The probe (mode, row, column) after the last iteration.
    fn probe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let probe = (self.worker).call(py, |running, _| {
            running.group.all(|run| run.engine().probe())
        })?;
        Ok(complex_array(py, probe, self.double))
    }

    /// The layers of the object, modes or slices (layer, row, column), after the last iteration.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let layers = (self.worker).call(py, |running, _| {
            running.group.all(|run| run.engine().object_layers())
        })?;
        Ok(complex_array(py, layers, self.double))
    }

    /// Copies of the object (row, column) and the probe (mode, row, column) after the last
    /// iteration in the memory of the GPU that computes; `None` on other back ends.
    fn on_gpu(&self, py: Python<'_>) -> PyResult<Option<(DeviceArray, DeviceArray)>> {
        let ordinal = self.device;
        let copied = self.worker.call(py, move |running, _| {
            let several = running.group.len() > 1;
            let problem = Arc::clone(&running.shared.problem);
            let engine = running.group.first().engine();
            if several || engine.setup().backend != "cuda" {
                return Ok(None);
            }
            let [_, modes, rows, columns] = problem.shape();
            let shape = problem.positions.object_shape;
            let mut model = ModelOnGpu::new(ordinal, shape, [modes, rows, columns])?;
            let copied = engine.copy_model_to(&mut model.object, &mut model.probe)?;
            Ok(copied.then_some(model))
        })?;
        Ok(copied.map(ModelOnGpu::arrays))
    }

    /// The present result, with orthogonal modes. Warns of fitted scales of frames that ended at a
    /// limit.
    fn result(&self, py: Python<'_>) -> PyResult<PtychoResult> {
        let (found, problem) = self.worker.call(py, |running, _| {
            let of = Arc::clone(&running.shared);
            let found = (running.group)
                .all(move |run| result(run, &of.scan, &of.problem, &of.recipe, &of.origin))?;
            let scales = ScaleSpread::new(&found.frame_scales);
            let scales = scales.map(|scales| scales.of_frames(&running.shared.scan));
            Ok((found, scales.and_then(|scales| scales.problem())))
        })?;
        warn(py, &all_in_python(problem))?;
        Ok(PtychoResult::new(found))
    }

    /// Ends the thread and frees the engine.
    fn close(&self) {
        self.worker.close();
    }
}
