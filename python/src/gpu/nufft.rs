//! Non-uniform Fourier transforms on a GPU or in the emulator: of arrays that lie on the GPU, and
//! of NumPy's.

use super::array::{DeviceArray, imported, released};
use super::with_kernels_of_mri;
use crate::detached::{check_process, detached};
use crate::errors::Failure;
use crate::mri::{contiguous, grid, of_eps, read, shaped, zeros};
use num_complex::Complex;
use numpy::{IntoPyArray, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use warpstride::gpu::{CudaDevice, Device, EmulatedDevice};
use warpstride::mri::cuda::Nufft;
use warpstride_device::Complex32;

/// A transform that is planned for these samples on a GPU or in the emulator, in single precision.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(crate) struct DeviceNufft {
    plan: Plan,
    shape: Vec<usize>,
    samples: usize,
    most_images: usize,
}

/// A plan, and what it is for.
enum Plan {
    Cuda(Arc<CudaDevice>, Mutex<Nufft<CudaDevice>>),
    Emulator(Mutex<(EmulatedDevice, Nufft<EmulatedDevice>)>),
}

/// The direction of a transform.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Adjoint,
}

#[pymethods]
impl DeviceNufft {
    /// `shape` and `k` as for the plan on the CPU; calls take at most `images` images. `device` is
    /// the number of a GPU; without one the emulator computes.
    #[new]
    fn new(
        py: Python<'_>,
        shape: Vec<usize>,
        k: PyReadonlyArray2<'_, f64>,
        eps: f64,
        images: usize,
        device: Option<usize>,
    ) -> PyResult<Self> {
        check_process()?;
        let grid = grid(&shape)?;
        let trajectory = k.as_array();
        let samples = trajectory.nrows();
        let plan = detached(py, || -> Result<_, Failure> {
            Ok(match device {
                Some(number) => {
                    let device = with_kernels_of_mri(number)?;
                    let plan = Nufft::new(&*device, grid, trajectory, None, eps, images);
                    let plan = plan.map_err(of_eps)?;
                    Plan::Cuda(device, Mutex::new(plan))
                }
                None => {
                    let device = EmulatedDevice::new();
                    let plan = Nufft::new(&device, grid, trajectory, None, eps, images);
                    let plan = plan.map_err(of_eps)?;
                    Plan::Emulator(Mutex::new((device, plan)))
                }
            })
        })?;
        Ok(Self {
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

    /// Samples (image, sample) of images (image, …): Σ f exp(−2πi k·x), into `out` or a new array.
    /// The stream `then` of the arrays' library waits for them; without one the host does.
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

    /// `forward` of a NumPy array of complex64, which is uploaded, and whose samples are
    /// downloaded.
    fn forward_of_host<'py>(
        &self,
        py: Python<'py>,
        images: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.transform_of_host(py, Direction::Forward, images)
    }

    /// `adjoint` of a NumPy array of complex64, which is uploaded, and whose images are downloaded.
    fn adjoint_of_host<'py>(
        &self,
        py: Python<'py>,
        samples: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.transform_of_host(py, Direction::Adjoint, samples)
    }
}

impl DeviceNufft {
    /// Shapes of what is transformed and of the result, for so many images.
    fn shapes(&self, direction: Direction, count: usize) -> (Vec<usize>, Vec<usize>) {
        let images = [&[count], &self.shape[..]].concat();
        let samples = vec![count, self.samples];
        match direction {
            Direction::Forward => (images, samples),
            Direction::Adjoint => (samples, images),
        }
    }

    fn transform(
        &self,
        py: Python<'_>,
        direction: Direction,
        from: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        then: Option<usize>,
    ) -> PyResult<Option<DeviceArray>> {
        let Plan::Cuda(device, plan) = &self.plan else {
            let why = "expected a NumPy array with backend emulator, found another";
            return Err(Failure::data(why).into());
        };
        let (input, shape) = imported::<Complex32>(device, "the array", from, false)?;
        let count = shape.first().copied().unwrap_or_default();
        let (expected, returned) = self.shapes(direction, count);
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
        detached(py, || -> Result<(), Failure> {
            let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
            queue(
                &**device,
                &mut plan,
                direction,
                (&input, &mut output),
                count,
            )
        })?;
        if then.is_none() {
            detached(py, || device.synchronize()).map_err(Failure::from)?;
        }
        released(device, input, then)?;
        if kept {
            return Ok(Some(DeviceArray::new(device, output, returned)));
        }
        released(device, output, then)?;
        Ok(None)
    }

    fn transform_of_host<'py>(
        &self,
        py: Python<'py>,
        direction: Direction,
        from: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        check_process()?;
        let (expected, _) = self.shapes(direction, 0);
        let array = read(from, expected.get(1..).unwrap_or_default())?;
        let (input, count) = (contiguous(&array)?, array.as_array().shape()[0]);
        let (_, returned) = self.shapes(direction, count);
        let mut output = zeros(&returned)?;
        detached(py, || match &self.plan {
            Plan::Cuda(device, plan) => {
                let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
                of_host(&**device, &mut plan, direction, (input, &mut output), count)
            }
            Plan::Emulator(both) => {
                let mut both = both.lock().unwrap_or_else(PoisonError::into_inner);
                let (device, plan) = &mut *both;
                of_host(&*device, plan, direction, (input, &mut output), count)
            }
        })?;
        Ok(shaped(output, &returned)?.into_pyarray(py).into_any())
    }
}

/// Queues a transform of so many images.
fn queue<M: Device>(
    device: &M,
    plan: &mut Nufft<M>,
    direction: Direction,
    (input, output): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
    count: usize,
) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    match direction {
        Direction::Forward => plan.forward(device, input, output, count)?,
        Direction::Adjoint => plan.adjoint(device, input, output, count)?,
    }
    Ok(())
}

/// A transform of so many images with copies to the device and back.
fn of_host<M: Device>(
    device: &M,
    plan: &mut Nufft<M>,
    direction: Direction,
    (input, output): (&[Complex<f32>], &mut [Complex<f32>]),
    count: usize,
) -> Result<(), Failure> {
    let mut from = device.alloc("the array", input.len())?;
    device.upload(&mut from, input)?;
    let mut to = device.alloc("the result", output.len())?;
    queue(device, plan, direction, (&from, &mut to), count)?;
    Ok(device.download(&to, output)?)
}
