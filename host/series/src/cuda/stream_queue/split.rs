//! Offsets for chunks that begin within a series: the lead is a series of its own.

use crate::cuda::resident::Points;
use std::sync::Arc;
use warpstride_cuda::gpu::{Buffer, Device, Result};

/// Offsets of series with the lead as a separate series in front.
pub(super) struct Split<M: Device> {
    pub(super) offsets: M::Buffer<u32>,
    pub(super) series: usize,
}

impl<M: Device> Split<M> {
    /// Copies them from the host, which knows them.
    pub(super) fn send(
        &mut self,
        device: &M,
        packed: &Arc<M::Pinned<u32>>,
        len: usize,
    ) -> Result<M::Sent> {
        if self.offsets.len() < len {
            self.offsets = device.alloc("offsets of series", len)?;
        }
        self.series = len - 1;
        device.send(packed, 0..len, &mut self.offsets, 0)
    }

    /// Derives them on the device after duplicates were removed.
    pub(super) fn set(&mut self, device: &M, points: &Points<M>) -> Result<()> {
        let mut offsets = vec![0_u32; points.offsets.len()];
        device.download(&points.offsets, &mut offsets)?;
        offsets.insert(1.min(offsets.len()), 1);
        self.offsets = device.alloc("offsets of series", offsets.len())?;
        self.series = points.series + 1;
        device.upload(&mut self.offsets, &offsets)
    }

    /// Swaps them with the offsets of the points.
    pub(super) fn swap(&mut self, points: &mut Points<M>) {
        std::mem::swap(&mut points.offsets, &mut self.offsets);
        std::mem::swap(&mut points.series, &mut self.series);
    }
}
