//! Images from k-space samples that lie on a GPU.

use super::array::{DeviceArray, imported};
use super::with_kernels_of_mri;
use crate::background::Worker;
use crate::detached::detached;
use crate::errors::Failure;
use crate::mri::options::Asked;
use crate::mri::reconstruct::{WHAT, check_tolerance};
use crate::mri::running::{Progress, Running};
use ndarray::{Array1, Array2};
use num_complex::Complex;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::mri::cuda::{DeviceArrays, GpuEngine};
use warpstride::mri::{
    Coverage, Density, MemorySizes, Plans, Problem, Recipe, ReconstructionSteps, diagnose, grid_of,
};
use warpstride::system::Memory;
use warpstride_device::Complex32;

/// A reconstruction as it runs, of samples on a GPU: a thread with the engine.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(crate) struct DeviceMriRun {
    worker: Worker<Running<GpuEngine<CudaDevice>>>,
    device: Arc<CudaDevice>,
    /// Slices, rows, columns; of a plane rows and columns.
    matrix: Vec<usize>,
}

/// What is given as arrays.
struct Given {
    trajectory: Array2<f64>,
    weights: Option<Array1<f64>>,
    /// (coil, sample).
    samples: DeviceBuffer<Complex32>,
    coils: usize,
    /// (set, coil, voxel).
    maps: Option<DeviceBuffer<Complex32>>,
}

#[pymethods]
impl DeviceMriRun {
    /// Prepares the reconstruction of `samples` (coil, sample), an array on the GPU of this number,
    /// at `k` (sample, axis), cycles/pixel, with `maps` (set, coil, …) on the same GPU and density
    /// weights (sample) if they are given. The image of `adjoint` is the sum over coils itself, and
    /// an intensity correction is not computed: maps may be divided by their intensities
    /// beforehand.
    #[new]
    fn new(
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        k: PyReadonlyArray2<'_, f64>,
        maps: Option<&Bound<'_, PyAny>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        asked: Asked,
        device: usize,
    ) -> PyResult<Self> {
        let (device, queue) = detached(py, || -> Result<_, Failure> {
            let device = with_kernels_of_mri(device)?;
            let queue = device.sibling()?;
            Ok((device, queue))
        })?;
        let (samples, shape) = imported(&queue, "samples", samples, false)?;
        let maps = maps.map(|maps| imported(&queue, "maps", maps, false));
        let given = Given {
            trajectory: k.as_array().to_owned(),
            weights: weights.map(|weights| weights.as_array().to_owned()),
            samples,
            coils: shape.first().copied().unwrap_or_default(),
            maps: maps.transpose()?.map(|(maps, _)| maps),
        };
        let matrix = asked.matrix.clone();
        let worker = Worker::start(py, move || prepare(queue, &asked, given))?;
        Ok(Self {
            worker,
            device,
            matrix,
        })
    }

    /// Does iterations for about so many seconds, at least one.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<Progress> {
        let time = Duration::try_from_secs_f64(seconds).map_err(Failure::data)?;
        self.worker.call(py, move |running, interrupt| {
            running.advance(time, interrupt)
        })
    }

    /// The present image on the GPU, (image, …) with one image for each set of maps or else each
    /// coil, the residuals, and a JSON document with the rest.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<(DeviceArray, Bound<'py, PyAny>, String)> {
        let (image, residuals, facts) = self.worker.call(py, |running, _| {
            let image = running.steps.engine_mut().image_on_device()?;
            Ok((image, running.residuals.clone(), running.facts()?))
        })?;
        let voxels: usize = self.matrix.iter().product();
        let shape = [&[image.len() / voxels.max(1)], &self.matrix[..]].concat();
        Ok((
            DeviceArray::new(&self.device, image, shape),
            Array1::from_vec(residuals).into_pyarray(py).into_any(),
            facts,
        ))
    }

    /// Ends the thread and frees the engine.
    fn close(&self) {
        self.worker.close();
    }
}

fn prepare(
    device: CudaDevice,
    asked: &Asked,
    given: Given,
) -> Result<Running<GpuEngine<CudaDevice>>, Failure> {
    let host = Memory::available();
    let options = asked.options()?;
    check_tolerance(&options, false, asked.matrix.len().clamp(2, 3))?;
    let named = asked.density()?;
    // What follows from the trajectory alone, with a coil of ones in the place of the samples.
    let ones = Array2::from_elem((1, given.trajectory.nrows()), Complex::new(1.0, 0.0));
    let kspace = asked.kspace(given.trajectory, ones)?;
    let (grid, recipe) = (grid_of(&kspace), options.recipe());
    let own = given.weights.is_some();
    // The host has no samples and no maps. Before anything is as large as the image:
    let least = MemorySizes::new(grid, kspace.count(), 1, recipe.operator);
    (least.estimate(size_of::<f32>())).check_gpu_host(WHAT, host)?;
    let coverage = Coverage::new(&kspace)?;
    let asked_density = if own { Some(Density::None) } else { named };
    let chosen_density = Density::choose(asked_density, recipe.method, &coverage);
    let density = chosen_density.density;
    let sizes = |coils: usize| {
        let sizes = MemorySizes::new(grid, kspace.count(), coils, recipe.operator);
        sizes
            .with_pipe(density == Density::Pipe)
            .estimate(size_of::<f32>())
    };
    let free = device.memory()?.0 as u64;
    sizes(given.coils).check_gpu_number(WHAT, device.info().ordinal, free)?;
    sizes(1).check_gpu_host(WHAT, host)?;
    let mut problems = diagnose(&kspace, &coverage);
    problems.extend(chosen_density.problem);
    let mut plans = Plans::default();
    let trajectory = kspace.trajectory().clone();
    let mut problem =
        Problem::without_samples(grid, trajectory, given.coils).map_err(Failure::data)?;
    let weights = match given.weights {
        Some(weights) => Some(weights),
        None => density.weights(&kspace, &mut plans)?,
    };
    if let Some(weights) = weights {
        problem = problem.with_weights(weights).map_err(Failure::data)?;
    }
    let notes = chosen_density.note.into_iter().collect();
    drop(kspace);
    let arrays = DeviceArrays {
        samples: &given.samples,
        maps: given.maps.as_ref(),
    };
    // Of maps that are divided beforehand.
    let of_engine = Recipe {
        intensity_correction: false,
        ..recipe.clone()
    };
    let engine = GpuEngine::of_device_arrays(device, &problem, &of_engine, &arrays, &mut plans)?;
    if engine.signal_squared() == 0.0 {
        problems.insert(0, "every sample is 0".to_owned());
    }
    Ok(Running {
        steps: ReconstructionSteps::new(Box::new(engine)),
        residuals: Vec::new(),
        recipe,
        maps: None,
        density: if own { "weights" } else { density.name() },
        notes,
        problems,
    })
}
