//! The resolution of an instrument on a device.

use super::mirrored_buffer::MirroredBuffer;
use crate::Resolution;
use warpstride_cuda::gpu::{Device, Result as GpuResult};

/// The matrix of a resolution on the device.
pub(super) struct SmearingMatrix<M: Device> {
    pub(super) weights: MirroredBuffer<M, f64>,
    pub(super) offsets: MirroredBuffer<M, u32>,
    pub(super) first: MirroredBuffer<M, u32>,
    pub(super) weight_count: usize,
    pub(super) rows: usize,
}

impl<M: Device> SmearingMatrix<M> {
    /// The matrix of `resolution`, uploaded.
    pub(super) fn new(device: &M, resolution: &Resolution) -> GpuResult<Self> {
        let mut smear = Self {
            weights: MirroredBuffer::new(device, "resolution")?,
            offsets: MirroredBuffer::new(device, "resolution")?,
            first: MirroredBuffer::new(device, "resolution")?,
            weight_count: resolution.weights.len(),
            rows: resolution.count.len(),
        };
        let mut offsets = vec![0];
        let mut sum = 0;
        for count in &resolution.count {
            sum += count;
            offsets.push(sum);
        }
        smear.weights.set(device, &resolution.weights)?;
        smear.offsets.set(device, &offsets)?;
        smear.first.set(device, &resolution.first)?;
        Ok(smear)
    }
}
