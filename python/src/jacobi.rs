//! Relaxation of Laplace's and Poisson's equation.

use crate::arrays::copied;
use crate::backend::{Devices, GroupRequest};
use crate::background::{Observer, observed};
use crate::errors::Failure;
use crate::wording::all_in_python;
use ndarray::{Array1, Array2, ArrayView2};
use numpy::{Element, IntoPyArray, PyReadonlyArray2};
use pyo3::prelude::*;
use std::time::{Duration, Instant};
use warpstride::gpu::{CudaDeviceGroup, DeviceGroup, EmulatedDeviceGroup};
use warpstride::jacobi::cuda::{GpuReal, Plan, kernels};
use warpstride::jacobi::{
    Boundary, BoxedEngines, Decomposition, Engine, JacobiError, MemorySizes, Norm, Problem,
    Stopping,
};
use warpstride::run::{Backend, BackendKind, Interrupt};
use warpstride::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the relaxation";

impl GroupRequest {
    fn engine<T: BoxedEngines>(
        &self,
        problem: &Problem<T>,
        stopping: Stopping,
        sizes: &MemorySizes,
    ) -> Result<ChosenEngine<T>, Failure> {
        let name = |group: &CudaDeviceGroup| group.device_name(0);
        let cuda = || -> Result<_, Failure> {
            let group = CudaDeviceGroup::new(&self.numbers()?, &kernels::<T>(sizes.source))?;
            Ok(Box::new(group))
        };
        let emulator = || -> Result<_, Failure> { Ok(EmulatedDeviceGroup::new(self.emulated()?)) };
        let opened = Backend::open(self.backend(), None, cuda, emulator, name)?;
        let backend = opened.checked(|kind| check(kind, sizes))?;
        let chosen = backend.engine(
            || check(&BackendKind::Cpu, sizes),
            |kind| -> Result<Box<dyn Engine<T>>, Failure> {
                Ok(match kind {
                    BackendKind::Cpu => T::on_cpu(problem, stopping, 0)?,
                    BackendKind::Emulator(group) => {
                        T::on_emulator(group, problem, stopping, Plan::default())?
                    }
                    BackendKind::Cuda(group) => {
                        T::on_cuda(*group, problem, stopping, Plan::default())?
                    }
                })
            },
        )?;
        Ok((chosen.engine, chosen.note))
    }
}

/// An engine, and what `auto` chose and why.
type ChosenEngine<T> = (Box<dyn Engine<T>>, Option<String>);

/// Checks that the relaxation fits.
fn check(
    kind: &BackendKind<CudaDeviceGroup, EmulatedDeviceGroup>,
    sizes: &MemorySizes,
) -> Result<(), Failure> {
    let host = Memory::available();
    match kind {
        BackendKind::Cpu => sizes.estimate(sizes.ny).check_cpu(WHAT, host)?,
        BackendKind::Emulator(group) => {
            sizes.emulated(group.devices()).check_emulator(WHAT, host)?;
        }
        BackendKind::Cuda(group) => {
            let shared = Decomposition::new(sizes.ny, group.devices());
            let shared = shared.map_err(JacobiError::from)?;
            sizes.estimate(0).check_gpu_host(WHAT, host)?;
            for device in 0..group.devices() {
                let (free, _) = group.memory(device)?;
                let estimate = sizes.estimate(shared.rows(device).len());
                estimate.check_gpu_number(WHAT, group.ordinal(device), free as u64)?;
            }
        }
    }
    Ok(())
}

/// A relaxation that has ended.
pub(crate) struct Solved<F> {
    field: F,
    norms: Vec<Norm>,
    sweeps: usize,
    converged: bool,
    setup: String,
    notes: Vec<String>,
    seconds: f64,
}

/// Does the sweeps of an engine; `field` takes the field out of it.
pub(crate) fn relaxed<T: GpuReal, E: Engine<T> + ?Sized, F>(
    engine: &mut E,
    notes: Vec<String>,
    (interrupt, observer): (&Interrupt, &mut Observer<(usize, f64)>),
    field: impl FnOnce(&mut E) -> Result<F, JacobiError>,
) -> Result<Solved<F>, Failure> {
    let begun = Instant::now();
    if observer.waits_for_each() {
        engine.one_by_one();
    }
    let (mut norms, mut converged) = (Vec::new(), false);
    while !engine.finished() && !interrupt.requested() {
        let advance = engine.advance()?;
        converged = advance.converged;
        if let Some(Norm { sweep, norm }) = advance.norms.iter().find(|n| !n.norm.is_finite()) {
            let (sweep, norm) = (*sweep, *norm);
            return Err(JacobiError::NotFinite { sweep, norm }.into());
        }
        let seen = advance.norms.iter().map(|norm| (norm.sweep, norm.norm));
        let stopped = observer.see(seen.collect());
        norms.extend(advance.norms);
        if stopped {
            break;
        }
    }
    Ok(Solved {
        field: field(engine)?,
        norms,
        sweeps: engine.sweeps(),
        converged,
        setup: engine.setup().to_string(),
        notes: [notes, engine.execution().notes.clone()].concat(),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

fn solved<T: BoxedEngines>(
    (field, source): (ArrayView2<'_, T>, Option<ArrayView2<'_, T>>),
    boundary: Boundary,
    stopping: Stopping,
    place: &GroupRequest,
    shown: (&Interrupt, &mut Observer<(usize, f64)>),
) -> Result<Solved<Array2<T>>, Failure> {
    let begun = Instant::now();
    let (ny, nx) = field.dim();
    let mut problem = Problem::new(nx, ny, boundary).map_err(Failure::data)?;
    let sizes = MemorySizes {
        nx,
        ny,
        boundary,
        bytes: size_of::<T>(),
        restart: true,
        source: source.is_some(),
        output: true,
    };
    problem = problem
        .with_start(copied("field", &field)?)
        .map_err(Failure::data)?;
    if let Some(source) = source {
        problem = problem
            .with_source(copied("source", &source)?)
            .map_err(Failure::data)?;
    }
    let (mut engine, note) = place.engine(&problem, stopping, &sizes)?;
    let notes: Vec<String> = note.into_iter().chain(problem.notes()).collect();
    drop(problem);
    let solved = relaxed(&mut *engine, notes, shown, |engine| engine.field())?;
    // Its memory is given back within the seconds.
    drop(engine);
    Ok(solved.begun_at(begun))
}

impl<F> Solved<F> {
    /// With the seconds since `begun`.
    pub(crate) fn begun_at(self, begun: Instant) -> Self {
        Self {
            seconds: begun.elapsed().as_secs_f64(),
            ..self
        }
    }

    /// What Python gets, with the field as an array.
    pub(crate) fn answer<'py>(
        self,
        py: Python<'py>,
        array: impl FnOnce(F) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Answer<'py>> {
        let sweeps = self.norms.iter().map(|norm| norm.sweep as u64);
        let norms = self.norms.iter().map(|norm| norm.norm);
        Ok((
            array(self.field)?,
            sweeps.collect::<Array1<u64>>().into_pyarray(py).into_any(),
            norms.collect::<Array1<f64>>().into_pyarray(py).into_any(),
            self.sweeps,
            self.converged,
            self.setup,
            all_in_python(self.notes),
            self.seconds,
        ))
    }
}

/// Field, sweeps with a norm, norms, sweeps, whether the tolerance was met, back end, notes,
/// seconds.
pub(crate) type Answer<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    usize,
    bool,
    String,
    Vec<String>,
    f64,
);

/// The arguments that do not depend on the type of the field.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    boundary: String,
    iterations: usize,
    tolerance: f64,
    check_every: usize,
    backend: String,
    devices: Option<Devices>,
    /// Called with the sweeps since the last call and their norms; returns whether the relaxation
    /// ends.
    see: Py<PyAny>,
    /// Seconds between two calls, at least.
    every: f64,
}

impl Options {
    /// Boundary, and when the relaxation ends.
    pub(crate) fn rules(&self) -> Result<(Boundary, Stopping), Failure> {
        let boundary = match &*self.boundary {
            "textbook" => Boundary::Textbook,
            "dirichlet" => Boundary::Dirichlet,
            "periodic" => Boundary::Periodic,
            other => {
                return Err(Failure::Data(format!(
                    "boundary {other:?}: expected textbook, dirichlet or periodic"
                )));
            }
        };
        if self.check_every == 0 {
            return Err(Failure::data("check_every: expected 1 or more, found 0"));
        }
        let stopping = Stopping {
            iterations: self.iterations,
            tolerance: self.tolerance,
            check_every: self.check_every,
        };
        Ok((boundary, stopping))
    }

    /// Where to compute.
    pub(crate) fn place(&self) -> Result<GroupRequest, Failure> {
        GroupRequest::new(&self.backend, self.devices.clone())
    }

    /// Does `work` on a thread of its own, which shows norms.
    pub(crate) fn observed<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Interrupt, &mut Observer<(usize, f64)>) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        let every = Duration::try_from_secs_f64(self.every).map_err(Failure::data)?;
        observed(py, every, work, |py, entries| {
            self.see.call1(py, (entries,))?.bind(py).is_truthy()
        })
    }
}

fn solve_as<'py, T: BoxedEngines + Element>(
    py: Python<'py>,
    field: &PyReadonlyArray2<'py, T>,
    source: Option<&Bound<'py, PyAny>>,
    options: &Options,
) -> PyResult<Answer<'py>> {
    let source = source.map(|source| source.extract::<PyReadonlyArray2<'py, T>>());
    let source = source.transpose().map_err(|_| {
        Failure::data("source: expected an array (row, column) of the type of the field")
    })?;
    let (boundary, stopping) = options.rules()?;
    let place = options.place()?;
    let arrays = (field.as_array(), source.as_ref().map(|of| of.as_array()));
    let solved = options.observed(py, |interrupt, observer| {
        solved(arrays, boundary, stopping, &place, (interrupt, observer))
    })?;
    solved.answer(py, |field| Ok(field.into_pyarray(py).into_any()))
}

/// Relaxes `field` (row, column), float32 or float64.
#[pyfunction]
fn solve<'py>(
    py: Python<'py>,
    field: &Bound<'py, PyAny>,
    source: Option<&Bound<'py, PyAny>>,
    options: Options,
) -> PyResult<Answer<'py>> {
    if let Ok(field) = field.extract::<PyReadonlyArray2<'py, f32>>() {
        return solve_as(py, &field, source, &options);
    }
    let field = field.extract::<PyReadonlyArray2<'py, f64>>();
    let field = field.map_err(|_| {
        Failure::data("field: expected an array (row, column) of float32 or float64")
    })?;
    solve_as(py, &field, source, &options)
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(solve, module)?)
}
