//! Device memory of trial positions.

use warpstride_cuda::gpu::{Device, Result};

/// Device memory of trials, (frame).
pub(in crate::engines::cuda) struct TrialBuffers<M: Device> {
    pub(in crate::engines::cuda) displacements: M::Buffer<[f32; 2]>,
    pub(in crate::engines::cuda) corners: M::Buffer<[u32; 2]>,
    pub(in crate::engines::cuda) fractions: M::Buffer<[f32; 2]>,
    pub(in crate::engines::cuda) best: M::Buffer<f32>,
    pub(in crate::engines::cuda) chosen: M::Buffer<u32>,
    /// Numbers of the frames in the scan.
    pub(in crate::engines::cuda) numbers: M::Buffer<u32>,
}

impl<M: Device> TrialBuffers<M> {
    pub(in crate::engines::cuda) fn new(device: &M, frames: usize) -> Result<Self> {
        Ok(Self {
            displacements: device.alloc("the displacements", frames)?,
            corners: device.alloc("the trials' positions", frames)?,
            fractions: device.alloc("the trials' fractions", frames)?,
            best: device.alloc("the trials' best residuals", frames)?,
            chosen: device.alloc("the best trials", frames)?,
            numbers: device.alloc("the numbers of the frames", frames)?,
        })
    }
}
