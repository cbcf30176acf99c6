//! Relaxation of Laplace's and Poisson's equation.

use crate::backend::{Devices, GroupRequest};
use crate::background::{Observer, observed};
use crate::errors::Failure;
use ndarray::{Array1, Array2, ArrayView2};
use numpy::{Element, IntoPyArray, PyReadonlyArray2};
use pyo3::prelude::*;
use std::time::{Duration, Instant};
use warpstride::gpu::{CudaDeviceGroup, DeviceGroup, EmulatedDeviceGroup};
use warpstride::jacobi::cpu::CpuEngine;
use warpstride::jacobi::cuda::{GpuReal, GroupEngine, Plan, kernels};
use warpstride::jacobi::{
    Boundary, Decomposition, Engine, JacobiError, MemorySizes, Norm, Problem, Stopping,
};
use warpstride::run::{Backend, BackendKind, Interrupt};
use warpstride::system::Memory;

/// What does not fit, for messages.
const WHAT: &str = "the relaxation";

impl GroupRequest {
    fn engine<T: GpuReal>(
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
                    BackendKind::Cpu => Box::new(CpuEngine::new(problem, stopping, 0)?),
                    BackendKind::Emulator(group) => {
                        Box::new(GroupEngine::new(group, problem, stopping, Plan::default())?)
                    }
                    BackendKind::Cuda(group) => Box::new(GroupEngine::new(
                        *group,
                        problem,
                        stopping,
                        Plan::default(),
                    )?),
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
struct Solved<T> {
    field: Array2<T>,
    norms: Vec<Norm>,
    sweeps: usize,
    converged: bool,
    setup: String,
    notes: Vec<String>,
    seconds: f64,
}

fn solved<T: GpuReal>(
    (field, source): (ArrayView2<'_, T>, Option<ArrayView2<'_, T>>),
    boundary: Boundary,
    stopping: Stopping,
    place: &GroupRequest,
    (interrupt, observer): (&Interrupt, &mut Observer<(usize, f64)>),
) -> Result<Solved<T>, Failure> {
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
        .with_start(field.to_owned())
        .map_err(Failure::data)?;
    if let Some(source) = source {
        problem = problem
            .with_source(source.to_owned())
            .map_err(Failure::data)?;
    }
    let (mut engine, note) = place.engine(&problem, stopping, &sizes)?;
    drop(problem);
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
        field: engine.field()?,
        norms,
        sweeps: engine.sweeps(),
        converged,
        setup: engine.setup().to_string(),
        notes: note
            .into_iter()
            .chain(engine.execution().notes.clone())
            .collect(),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Field, sweeps with a norm, norms, sweeps, whether the tolerance was met, back end, notes, seconds.
type Answer<'py> = (
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
struct Options {
    boundary: String,
    iterations: usize,
    tolerance: f64,
    check_every: usize,
    backend: String,
    devices: Option<Devices>,
    /// Called with the sweeps since the last call and their norms; returns whether the relaxation ends.
    see: Py<PyAny>,
    /// Seconds between two calls, at least.
    every: f64,
}

fn solve_as<'py, T: GpuReal + Element>(
    py: Python<'py>,
    field: &PyReadonlyArray2<'py, T>,
    source: Option<&Bound<'py, PyAny>>,
    options: Options,
) -> PyResult<Answer<'py>> {
    let source = source.map(|source| source.extract::<PyReadonlyArray2<'py, T>>());
    let source = source.transpose().map_err(|_| {
        Failure::data("source: expected an array (row, column) of the type of the field")
    })?;
    let boundary = match &*options.boundary {
        "textbook" => Boundary::Textbook,
        "dirichlet" => Boundary::Dirichlet,
        "periodic" => Boundary::Periodic,
        other => {
            return Err(Failure::Data(format!(
                "boundary {other:?}: expected textbook, dirichlet or periodic"
            ))
            .into());
        }
    };
    if options.check_every == 0 {
        return Err(Failure::data("check_every: expected 1 or more, found 0").into());
    }
    let stopping = Stopping {
        iterations: options.iterations,
        tolerance: options.tolerance,
        check_every: options.check_every,
    };
    let place = GroupRequest::new(&options.backend, options.devices)?;
    let arrays = (field.as_array(), source.as_ref().map(|of| of.as_array()));
    let solved = observed(
        py,
        Duration::try_from_secs_f64(options.every).map_err(Failure::data)?,
        |interrupt, observer| {
            let shown = (interrupt, observer);
            solved(arrays, boundary, stopping, &place, shown)
        },
        |py, entries| options.see.call1(py, (entries,))?.bind(py).is_truthy(),
    )?;
    let sweeps = solved.norms.iter().map(|norm| norm.sweep as u64);
    let norms = solved.norms.iter().map(|norm| norm.norm);
    Ok((
        solved.field.into_pyarray(py).into_any(),
        sweeps.collect::<Array1<u64>>().into_pyarray(py).into_any(),
        norms.collect::<Array1<f64>>().into_pyarray(py).into_any(),
        solved.sweeps,
        solved.converged,
        solved.setup,
        solved.notes,
        solved.seconds,
    ))
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
        return solve_as(py, &field, source, options);
    }
    let field = field.extract::<PyReadonlyArray2<'py, f64>>();
    let field = field.map_err(|_| {
        Failure::data("field: expected an array (row, column) of float32 or float64")
    })?;
    solve_as(py, &field, source, options)
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(solve, module)?)
}
