//! Reconstruction of frames in the memory of a GPU.

use super::array::{DeviceArray, imported};
use super::without_kernels;
use crate::errors::Failure;
use ndarray::Array2;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;
use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::data::{CountSums, FrameReader, Frames};
use warpstride::system::ScratchError;

/// Frames on a GPU as Python's side has prepared them: √counts, and what the host needs to know of
/// the counts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FramesOnGpu<'py> {
    /// √counts (frame, row, column), float32, the zero frequency at (0, 0); −1 where a pixel is
    /// masked.
    magnitudes: Bound<'py, PyAny>,
    device: usize,
    /// Counts of each frame, and of each pixel (row, column) over all frames.
    of_frames: PyReadonlyArray1<'py, f64>,
    of_pixels: PyReadonlyArray2<'py, f64>,
    largest: f32,
    /// Whether all counts are whole numbers.
    whole: bool,
    /// Called with the number of a frame; returns its counts (row, column), float32, in the memory
    /// of the host.
    read: Py<PyAny>,
}

/// √counts of all frames on a GPU.
pub(crate) struct Magnitudes {
    device: Arc<CudaDevice>,
    buffer: DeviceBuffer<f32>,
}

impl Magnitudes {
    /// The buffer, once the array's library has written it.
    pub(crate) fn written(self) -> Result<DeviceBuffer<f32>, Failure> {
        // The engine's stream is not ordered after the one that waits for the library.
        self.device.synchronize()?;
        Ok(self.buffer)
    }

    /// Bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffer.bytes() as u64
    }
}

/// Frames that Python's side copies to the host one by one.
#[derive(Debug)]
struct OneByOne(Py<PyAny>);

impl FrameReader for OneByOne {
    fn read(&self, number: usize, to: &mut [f32]) -> Result<(), ScratchError> {
        let copied = Python::attach(|py| -> PyResult<()> {
            let counts = self.0.call1(py, (number,))?;
            let counts: PyReadonlyArray2<'_, f32> = counts.bind(py).extract()?;
            for (to, count) in to.iter_mut().zip(counts.as_array()) {
                *to = *count;
            }
            Ok(())
        });
        copied.map_err(|why| ScratchError::unread(format!("frame {number} on the GPU: {why}")))
    }
}

impl FramesOnGpu<'_> {
    /// The number of the GPU.
    pub(crate) fn device(&self) -> usize {
        self.device
    }

    /// The frames for a scan, and their magnitudes.
    pub(crate) fn imported(self) -> PyResult<(Frames, Magnitudes)> {
        let device = without_kernels(self.device)?;
        let (buffer, shape) = imported::<f32>(&device, "frames", &self.magnitudes, false)?;
        let shape: [usize; 3] = shape.try_into().map_err(|shape| {
            Failure::Data(format!(
                "frames: expected an array (frame, row, column), found shape {shape:?}"
            ))
        })?;
        let of_frames = self.of_frames.as_array().to_vec();
        let of_pixels: Array2<f64> = self.of_pixels.as_array().to_owned();
        if of_frames.len() != shape[0] || of_pixels.dim() != (shape[1], shape[2]) {
            return Err(Failure::Internal("sums of other frames".to_owned()).into());
        }
        let sums = CountSums {
            // No frame is compared with another.
            hashes: (0..shape[0] as u64).collect(),
            of_frames,
            of_pixels,
            largest: self.largest,
            whole: self.whole,
        };
        let reader: Arc<dyn FrameReader> = Arc::new(OneByOne(self.read));
        let frames = Frames::elsewhere(shape, reader, sums);
        Ok((frames, Magnitudes { device, buffer }))
    }
}

/// Memory for an object (row, column) and a probe (mode, row, column) on a GPU.
pub(crate) struct ModelOnGpu {
    device: Arc<CudaDevice>,
    shapes: [Vec<usize>; 2],
    pub(crate) object: DeviceBuffer<warpstride_device::Complex32>,
    pub(crate) probe: DeviceBuffer<warpstride_device::Complex32>,
}

impl ModelOnGpu {
    /// For arrays of these shapes on the GPU of this number.
    pub(crate) fn new(
        ordinal: usize,
        object: [usize; 2],
        probe: [usize; 3],
    ) -> Result<Self, Failure> {
        let device = without_kernels(ordinal)?;
        Ok(Self {
            object: device.alloc("the object", object.iter().product())?,
            probe: device.alloc("the probe", probe.iter().product())?,
            shapes: [object.to_vec(), probe.to_vec()],
            device,
        })
    }

    /// Object and probe for Python.
    pub(crate) fn arrays(self) -> (DeviceArray, DeviceArray) {
        let [object, probe] = self.shapes;
        (
            DeviceArray::new(&self.device, self.object, object),
            DeviceArray::new(&self.device, self.probe, probe),
        )
    }
}
