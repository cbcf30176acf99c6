//! Non-uniform Fourier transforms of arrays on a GPU.

use super::array::{DeviceArray, imported, released};
use super::with_kernels_of_mri;
use crate::errors::Failure;
use crate::mri::grid;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::mri::cuda::Nufft;
use warpstride_device::Complex32;

/// A transform that is planned for these samples on a GPU, in single precision.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(crate) struct DeviceNufft {
    device: Arc<CudaDevice>,
    plan: Mutex<Nufft<CudaDevice>>,
    shape: Vec<usize>,
    samples: usize,
    most_images: usize,
}

/// The direction of a transform.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Adjoint,
}

#[pymethods]
impl DeviceNufft {
    /// `shape` and `k` as for the plan on the CPU; calls take at most `images` images.
    #[new]
    fn new(
        py: Python<'_>,
        shape: Vec<usize>,
        k: PyReadonlyArray2<'_, f64>,
        eps: f64,
        images: usize,
        device: usize,
    ) -> PyResult<Self> {
        let grid = grid(&shape)?;
        let trajectory = k.as_array();
        let samples = trajectory.nrows();
        let (device, plan) = py.detach(|| -> Result<_, Failure> {
            let device = with_kernels_of_mri(device)?;
            let plan = Nufft::new(&*device, grid, trajectory, None, eps, images)?;
            Ok((device, Mutex::new(plan)))
        })?;
        Ok(Self {
            device,
            plan,
            shape,
            samples,
            most_images: images,
        })
    }

    /// The most images of a call.
    #[getter]
    fn images(&self) -> usize {
        self.most_images
    }

    /// Samples (image, sample) of images (image, …): Σ f exp(−2πi k·x), into `out` or a new array. The stream `then` of the
    /// arrays' library waits for them; without one the host does.
    fn forward(
        &self,
        py: Python<'_>,
        images: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        then: Option<usize>,
    ) -> PyResult<Option<DeviceArray>> {
        self.transform(py, Direction::Forward, images, out, then)
    }

    /// Images (image, …) of samples (image, sample): Σ c exp(+2πi k·x).
    fn adjoint(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        then: Option<usize>,
    ) -> PyResult<Option<DeviceArray>> {
        self.transform(py, Direction::Adjoint, samples, out, then)
    }
}

impl DeviceNufft {
    fn transform(
        &self,
        py: Python<'_>,
        direction: Direction,
        from: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        then: Option<usize>,
    ) -> PyResult<Option<DeviceArray>> {
        let device = &self.device;
        let of_images = |count: usize| [&[count], &self.shape[..]].concat();
        let of_samples = |count: usize| vec![count, self.samples];
        let (input, shape) = imported::<Complex32>(device, "the array", from, false)?;
        let count = shape.first().copied().unwrap_or_default();
        let (expected, returned) = match direction {
            Direction::Forward => (of_images(count), of_samples(count)),
            Direction::Adjoint => (of_samples(count), of_images(count)),
        };
        if shape != expected {
            return Err(Failure::Data(format!(
                "expected an array of shape {expected:?}, found {shape:?}"
            ))
            .into());
        }
        let given = out
            .map(|out| imported::<Complex32>(device, "out", out, true))
            .transpose()?;
        let (mut output, kept) = match given {
            Some((_, found)) if found != returned => {
                return Err(Failure::Data(format!(
                    "out: expected an array of shape {returned:?}, found {found:?}"
                ))
                .into());
            }
            Some((buffer, _)) => (buffer, false),
            None => (
                device
                    .alloc("the result", returned.iter().product())
                    .map_err(Failure::from)?,
                true,
            ),
        };
        py.detach(|| self.queue(direction, &input, &mut output, count))?;
        if then.is_none() {
            py.detach(|| device.synchronize()).map_err(Failure::from)?;
        }
        released(device, input, then)?;
        if kept {
            return Ok(Some(DeviceArray::new(device, output, returned)));
        }
        released(device, output, then)?;
        Ok(None)
    }

    fn queue(
        &self,
        direction: Direction,
        input: &DeviceBuffer<Complex32>,
        output: &mut DeviceBuffer<Complex32>,
        count: usize,
    ) -> Result<(), Failure> {
        if count == 0 {
            return Ok(());
        }
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        match direction {
            Direction::Forward => plan.forward(&self.device, input, output, count)?,
            Direction::Adjoint => plan.adjoint(&self.device, input, output, count)?,
        }
        Ok(())
    }
}
