//! Non-uniform Fourier transforms, and images from their samples.

mod kspace;
pub(crate) mod options;
pub(crate) mod reconstruct;
pub(crate) mod running;
mod save;
mod shared;
mod simulate;

use crate::detached::{check_process, detached};
use crate::errors::Failure;
use ndarray::{Array, Array2, ArrayD, IxDyn};
use num_complex::Complex;
use numpy::{Element, IntoPyArray, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use warpstride::fft::Real;
use warpstride::mri::cpu::Nufft;
use warpstride::mri::data::{Extent, KUnit, check_cycles};
use warpstride::mri::{Encoding, Grid, MriError, Plans};

/// A planned transform in one of both precisions.
enum Plan {
    Single(Nufft<f32>),
    Double(Nufft<f64>),
}

/// A transform between the modes of a grid and samples anywhere in k-space, planned for these
/// samples.
#[pyclass(frozen, module = "warpstride._warpstride")]
struct PlannedNufft {
    plan: Plan,
    shape: Vec<usize>,
    samples: usize,
}

/// The grid of an image of this shape.
pub(crate) fn grid(shape: &[usize]) -> Result<Grid, Failure> {
    let grid = match *shape {
        [rows, columns] => Grid::two(rows, columns),
        [slices, rows, columns] => Grid::three(slices, rows, columns),
        _ => {
            return Err(Failure::Data(format!(
                "the shape of an image: expected 2 or 3 axes, found {}",
                shape.len()
            )));
        }
    };
    let voxels = shape
        .iter()
        .try_fold(16_usize, |n, axis| n.checked_mul(*axis));
    if voxels.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Failure::Data(format!(
            "the shape of an image: expected one that memory can hold, found {shape:?}"
        )));
    }
    Ok(grid)
}

/// An error of planning a transform: its tolerance is the argument `eps`.
pub(crate) fn of_eps(error: MriError) -> Failure {
    let MriError::Tolerance {
        tolerance,
        precision,
        smallest,
    } = error
    else {
        return error.into();
    };
    Failure::Data(format!(
        "eps: expected a tolerance of at least {smallest:e} and less than 1 in {precision}, found {tolerance:e}"
    ))
}

#[pymethods]
impl PlannedNufft {
    /// `shape`: rows and columns, or slices, rows and columns. `k`: (sample, axis), cycles per
    /// pixel, in the order of the shape reversed (kx first, which belongs to columns).
    #[new]
    fn new(
        py: Python<'_>,
        shape: Vec<usize>,
        k: PyReadonlyArray2<'_, f64>,
        eps: f64,
        double: bool,
    ) -> PyResult<Self> {
        check_process()?;
        let grid = grid(&shape)?;
        let trajectory = k.as_array();
        let samples = trajectory.nrows();
        let plan = detached(py, || -> Result<Plan, Failure> {
            Ok(match double {
                true => Plan::Double(Nufft::new(grid, trajectory, eps).map_err(of_eps)?),
                false => Plan::Single(Nufft::new(grid, trajectory, eps).map_err(of_eps)?),
            })
        })?;
        Ok(Self {
            plan,
            shape,
            samples,
        })
    }

    /// Samples (image, sample) of images (image, …): Σ f exp(−2πi k·x).
    fn forward<'py>(
        &self,
        py: Python<'py>,
        images: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.plan {
            Plan::Single(plan) => self.forward_by(py, plan, images),
            Plan::Double(plan) => self.forward_by(py, plan, images),
        }
    }

    /// Images (image, …) of samples (image, sample): Σ c exp(+2πi k·x).
    fn adjoint<'py>(
        &self,
        py: Python<'py>,
        samples: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match &self.plan {
            Plan::Single(plan) => self.adjoint_by(py, plan, samples),
            Plan::Double(plan) => self.adjoint_by(py, plan, samples),
        }
    }
}

impl PlannedNufft {
    fn forward_by<'py, T: Real>(
        &self,
        py: Python<'py>,
        plan: &Nufft<T>,
        images: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        Complex<T>: Element,
    {
        check_process()?;
        let read = read(images, &self.shape)?;
        let (input, count) = (contiguous(&read)?, read.as_array().shape()[0]);
        let shape = [count, self.samples];
        let mut samples = zeros(&shape)?;
        detached(py, || plan.forward(input, &mut samples));
        Ok(shaped(samples, &shape)?.into_pyarray(py).into_any())
    }

    fn adjoint_by<'py, T: Real>(
        &self,
        py: Python<'py>,
        plan: &Nufft<T>,
        samples: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        Complex<T>: Element,
    {
        check_process()?;
        let read = read(samples, &[self.samples])?;
        let (input, count) = (contiguous(&read)?, read.as_array().shape()[0]);
        let shape = [&[count], &self.shape[..]].concat();
        let mut images = zeros(&shape)?;
        detached(py, || plan.adjoint(input, &mut images));
        Ok(shaped(images, &shape)?.into_pyarray(py).into_any())
    }
}

/// The trajectory `k` (sample, axis) of images of this shape in cycles/pixel, refused beyond ±0.5;
/// `unit` is its unit, cycles/pixel by default.
#[pyfunction]
fn k_in_cycles<'py>(
    py: Python<'py>,
    shape: Vec<usize>,
    k: PyReadonlyArray2<'_, f64>,
    unit: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let grid = grid(&shape)?;
    let stated = options::k_unit(unit.as_deref())?;
    let unit = stated.unwrap_or(KUnit::CYCLES_PER_PIXEL);
    let extent = Extent {
        matrix: grid.shape,
        axes: grid.axes,
        field_of_view: None,
    };
    // Arrays without elements may have strides that a copy cannot have.
    let given = k.as_array();
    let mut k = Array2::from_shape_fn(given.dim(), |at| given[at]);
    options::in_cycles(unit, &extent, &mut k)?;
    check_cycles(&k, &extent, unit).map_err(|why| Failure::Data(format!("k: {why}")))?;
    Ok(k.into_pyarray(py).into_any())
}

/// Pipe and Menon's density weights (sample) of a trajectory.
#[pyfunction]
fn density_weights<'py>(
    py: Python<'py>,
    shape: Vec<usize>,
    k: PyReadonlyArray2<'_, f64>,
    steps: usize,
) -> PyResult<Bound<'py, PyAny>> {
    check_process()?;
    let (grid, trajectory) = (grid(&shape)?, k.as_array());
    let found = detached(py, || -> Result<_, Failure> {
        Ok(Plans::default().pipe_menon(grid, trajectory, DENSITY_TOLERANCE, steps)?)
    })?;
    Ok(found.into_pyarray(py).into_any())
}

/// Tolerance of the NUFFT that computes density weights, which are only estimates.
const DENSITY_TOLERANCE: f64 = 1e-4;

/// An array whose axes after the first are `expected`.
pub(crate) fn read<'py, T: Element>(
    array: &Bound<'py, PyAny>,
    expected: &[usize],
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let array: PyReadonlyArrayDyn<'py, T> = array.extract()?;
    let shape = array.as_array().shape().to_vec();
    if shape.len() != expected.len() + 1 || shape[1..] != *expected {
        return Err(Failure::Data(format!(
            "expected arrays of shape {expected:?}, found {:?}",
            shape.get(1..).unwrap_or_default()
        ))
        .into());
    }
    Ok(array)
}

pub(crate) fn contiguous<'a, T: Element>(
    array: &'a PyReadonlyArrayDyn<'_, T>,
) -> PyResult<&'a [T]> {
    Ok(array
        .as_slice()
        .map_err(|_| Failure::data("expected a contiguous array, found a view with strides"))?)
}

/// As many zeros as an array of this shape has.
pub(crate) fn zeros<T: Real>(shape: &[usize]) -> Result<Vec<Complex<T>>, Failure> {
    let length = shape
        .iter()
        .fold(1_usize, |n, axis| n.saturating_mul(*axis));
    let mut values = Vec::new();
    values.try_reserve_exact(length).map_err(|_| {
        Failure::Memory(format!(
            "out of host memory: an array of shape {shape:?} needs {} bytes",
            length.saturating_mul(size_of::<Complex<T>>())
        ))
    })?;
    values.resize(length, Complex::new(T::zero(), T::zero()));
    Ok(values)
}

pub(crate) fn shaped<T>(values: Vec<T>, shape: &[usize]) -> Result<ArrayD<T>, Failure> {
    Array::from_shape_vec(IxDyn(shape), values).map_err(|why| Failure::Internal(why.to_string()))
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PlannedNufft>()?;
    module.add_class::<reconstruct::MriRun>()?;
    module.add_class::<kspace::MriKSpace>()?;
    module.add_function(wrap_pyfunction!(kspace::mri_read_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(density_weights, module)?)?;
    module.add_function(wrap_pyfunction!(k_in_cycles, module)?)?;
    module.add_function(wrap_pyfunction!(reconstruct::mri_coil_maps, module)?)?;
    module.add_function(wrap_pyfunction!(save::mri_save, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::mri_simulate, module)?)
}
