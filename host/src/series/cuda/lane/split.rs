//! Where a chunk begins in the midst of a series: its first point as a series of its own.

use crate::gpu::{Buffer, Machine, Result};
use crate::series::cuda::resident::Points;
use std::sync::Arc;

/// Offsets of series with the lead as a series of its own, before the others.
pub(super) struct Split<M: Machine> {
    pub(super) offsets: M::Buffer<u32>,
    pub(super) series: usize,
}

impl<M: Machine> Split<M> {
    /// From the host, which knows them.
    pub(super) fn send(
        &mut self,
        machine: &M,
        packed: &Arc<M::Pinned<u32>>,
        len: usize,
    ) -> Result<M::Sent> {
        if self.offsets.len() < len {
            self.offsets = machine.alloc("offsets of series", len)?;
        }
        self.series = len - 1;
        machine.send(packed, 0..len, &mut self.offsets, 0)
    }

    /// From the device, after duplicates were left out.
    pub(super) fn set(&mut self, machine: &M, points: &Points<M>) -> Result<()> {
        let mut offsets = vec![0_u32; points.offsets.len()];
        machine.download(&points.offsets, &mut offsets)?;
        offsets.insert(1.min(offsets.len()), 1);
        self.offsets = machine.alloc("offsets of series", offsets.len())?;
        self.series = points.series + 1;
        machine.upload(&mut self.offsets, &offsets)
    }

    /// Exchanges them with the points' own.
    pub(super) fn swap(&mut self, points: &mut Points<M>) {
        std::mem::swap(&mut points.offsets, &mut self.offsets);
        std::mem::swap(&mut points.series, &mut self.series);
    }
}
