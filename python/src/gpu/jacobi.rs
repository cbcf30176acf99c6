//! Relaxation of a field in the memory of a GPU.

use super::array::{DeviceArray, imported, released};
use super::element::Element;
use super::without_kernels;
use crate::errors::Failure;
use crate::jacobi::{Answer, Options, relaxed};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaDeviceGroup, Device, DeviceGroup};
use warpstride::jacobi::cuda::{GpuReal, GroupEngine, Plan, kernels};
use warpstride::jacobi::{MemorySizes, Problem};
use warpstride::run::BackendName;

/// Precision, and whether there is a source: what decides which kernels a group has.
type KernelsOf = (&'static str, bool);

/// Groups of one GPU that no call uses, with its number. They are kept because loading kernels
/// takes longer than many relaxations.
static UNUSED: Mutex<Vec<(usize, KernelsOf, CudaDeviceGroup)>> = Mutex::new(Vec::new());

fn kernels_of<T: GpuReal>(source: bool) -> KernelsOf {
    (T::NAME, source)
}

/// A group of the GPU with kernels for `T`.
fn taken<T: GpuReal>(ordinal: usize, source: bool) -> Result<CudaDeviceGroup, Failure> {
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = (ordinal, kernels_of::<T>(source));
    let found = unused.iter().position(|(o, k, _)| (*o, *k) == wanted);
    if let Some(found) = found {
        return Ok(unused.swap_remove(found).2);
    }
    drop(unused);
    Ok(CudaDeviceGroup::new(&[ordinal], &kernels::<T>(source))?)
}

/// The shape (row, column) of an array with two axes.
fn rows_and_columns(name: &str, shape: &[usize]) -> Result<[usize; 2], Failure> {
    shape.try_into().map_err(|_| {
        Failure::Data(format!(
            "{name}: expected an array (row, column), found shape {shape:?}"
        ))
    })
}

/// Refuses other places than the GPU of the arrays.
fn check_place(options: &Options, ordinal: usize) -> Result<(), Failure> {
    let place = options.place()?;
    if !matches!(place.backend(), BackendName::Auto | BackendName::Cuda) {
        return Err(Failure::data(
            "backend: expected auto or cuda for arrays on a GPU, found another",
        ));
    }
    if !place.is_default() && place.numbers()? != [ordinal] {
        let found = place.numbers()?;
        return Err(Failure::Data(format!(
            "devices: expected {ordinal}, the GPU whose memory the arrays lie in, found {found:?}"
        )));
    }
    Ok(())
}

fn solve_as<'py, T: GpuReal + Element>(
    py: Python<'py>,
    (field, source): (&Bound<'py, PyAny>, Option<&Bound<'py, PyAny>>),
    options: &Options,
    (ordinal, then): (usize, Option<usize>),
) -> PyResult<Answer<'py>> {
    let (boundary, stopping) = options.rules()?;
    check_place(options, ordinal)?;
    let device = without_kernels(ordinal)?;
    let (field, shape) = imported::<T>(&device, "field", field, false)?;
    let [ny, nx] = rows_and_columns("field", &shape)?;
    let source = match source {
        None => None,
        Some(source) => {
            let (source, found) = imported::<T>(&device, "source", source, false)?;
            if found != shape {
                return Err(Failure::Data(format!(
                    "source: expected the shape of the field, {shape:?}, found {found:?}"
                ))
                .into());
            }
            Some(source)
        }
    };
    let solved = options.observed(py, |interrupt, observer| {
        let begun = Instant::now();
        let problem = Problem::<T>::new(nx, ny, boundary).map_err(Failure::data)?;
        let mut found: DeviceBuffer<T> = device.alloc("the field", nx * ny)?;
        // The engine's streams are not ordered after the one that waits for the arrays' library.
        device.synchronize()?;
        let group = taken::<T>(ordinal, source.is_some())?;
        let sizes = MemorySizes {
            nx,
            ny,
            boundary,
            bytes: size_of::<T>(),
            restart: false,
            source: source.is_some(),
            output: false,
        };
        let (free, _) = group.memory(0)?;
        let estimate = sizes.estimate(ny - 2);
        estimate.check_gpu_number("the relaxation", ordinal, free as u64)?;
        let arrays = (&field, source.as_ref());
        let mut engine =
            GroupEngine::of_arrays(&group, &problem, arrays, stopping, Plan::default())?;
        let solved = relaxed(&mut engine, Vec::new(), (interrupt, observer), |engine| {
            engine.field_into(&mut found)
        })?;
        drop(engine);
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        unused.push((ordinal, kernels_of::<T>(source.is_some()), group));
        Ok((solved.begun_at(begun), found))
    });
    // The engine has waited for its work.
    for array in [Some(field), source].into_iter().flatten() {
        released(&device, array, then)?;
    }
    let (solved, found) = solved?;
    solved.answer(py, |()| {
        let array = DeviceArray::new(&device, found, vec![ny, nx]);
        Ok(Bound::new(py, array)?.into_any())
    })
}

/// Relaxes `field` (row, column) of another library in the memory of the GPU `ordinal`, double or
/// single precision. The library's stream is `then`, if it is known.
#[pyfunction]
pub(super) fn solve_on_gpu<'py>(
    py: Python<'py>,
    field: &Bound<'py, PyAny>,
    source: Option<&Bound<'py, PyAny>>,
    options: Options,
    double: bool,
    ordinal: usize,
    then: Option<usize>,
) -> PyResult<Answer<'py>> {
    let (arrays, place) = ((field, source), (ordinal, then));
    match double {
        true => solve_as::<f64>(py, arrays, &options, place),
        false => solve_as::<f32>(py, arrays, &options, place),
    }
}
