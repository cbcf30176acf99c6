//! What several devices copy from each other.

use std::ops::Range;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::error::{CudaError, Result};

/// A copy from the memory of one of several devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCopy {
    /// Number of the device, from 0.
    pub device: usize,
    /// Elements of its array.
    pub from: Range<usize>,
    /// The first element of the target.
    pub at: usize,
}

impl PeerCopy {
    pub(super) fn target(&self) -> Range<usize> {
        self.at..self.at.saturating_add(self.from.len())
    }
}

/// What one of several devices copies from all of them, and what the others copy from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Copies to other devices: to `device`, the elements `from` of this one's array. For each
    /// device in the order in which it copies them.
    pub sends: Vec<PeerCopy>,
    /// Copies from all devices, this one's too.
    pub copies: Vec<PeerCopy>,
}

impl Transfers {
    /// Those of device `own` of `devices`, each of which copies what `copies` says.
    pub fn new(own: usize, devices: usize, copies: impl Fn(usize) -> Vec<PeerCopy>) -> Self {
        let mut sends = Vec::new();
        for device in (0..devices).filter(|device| *device != own) {
            let from_here = copies(device).into_iter().filter(|copy| copy.device == own);
            sends.extend(from_here.map(|copy| PeerCopy { device, ..copy }));
        }
        Self {
            sends,
            copies: copies(own),
        }
    }

    /// An error if copies to `buffer` exceed it or change its elements `own`, or if it has not all
    /// of these.
    pub(super) fn expect_apart<T: Pod>(
        &self,
        buffer: &DeviceBuffer<T>,
        own: &Range<usize>,
    ) -> Result<()> {
        buffer.expect_range("what other devices copy", own)?;
        for copy in &self.copies {
            let target = copy.target();
            buffer.expect_range("a copy from other devices", &target)?;
            if target.start < own.end && own.start < target.end {
                return Err(CudaError::Range {
                    what: "a copy over what other devices copy",
                    start: target.start,
                    end: target.end,
                    len: own.start,
                });
            }
        }
        Ok(())
    }
}
