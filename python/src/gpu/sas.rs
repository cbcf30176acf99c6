//! Memory for intensities on a GPU.

use super::array::DeviceArray;
use super::without_kernels;
use crate::errors::Failure;
use std::sync::Arc;
use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaDevice, Device};

/// Memory for intensities (vector, point), 1/cm, on a GPU.
pub(crate) struct IntensitiesOnGpu {
    device: Arc<CudaDevice>,
    pub(crate) buffer: DeviceBuffer<f64>,
    shape: [usize; 2],
}

impl IntensitiesOnGpu {
    /// For `vectors` × `points` on the GPU of this number.
    pub(crate) fn new(ordinal: usize, [vectors, points]: [usize; 2]) -> Result<Self, Failure> {
        let device = without_kernels(ordinal)?;
        let values = vectors
            .checked_mul(points)
            .ok_or_else(|| Failure::data("values: expected intensities that memory can hold"))?;
        Ok(Self {
            buffer: device.alloc("the intensities", values)?,
            shape: [vectors, points],
            device,
        })
    }

    /// The intensities for Python.
    pub(crate) fn array(self) -> DeviceArray {
        DeviceArray::new(&self.device, self.buffer, self.shape.to_vec())
    }
}
