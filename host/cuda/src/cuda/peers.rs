//! Several devices that exchange data, and what is copied between them.

use std::ops::Range;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::error::{CudaError, Result};
use super::nccl_peers::NcclPeers;
use super::peer_gather::PeerGather;
use super::stream::Stream;

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
    /// Copies to other devices: to `device`, the elements `from` of this one's array. For each device in the order in which it copies them.
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

    /// An error if copies to `buffer` exceed it or change its elements `own`, or if it has not all of these.
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

/// One of several devices that exchange data.
#[derive(Debug)]
pub enum CudaPeers {
    /// Those of other threads, by direct copies.
    Threads(PeerGather),
    /// Those of other processes, by NCCL.
    Nccl(NcclPeers),
}

impl CudaPeers {
    /// Number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        match self {
            Self::Threads(peers) => peers.devices(),
            Self::Nccl(peers) => peers.devices(),
        }
    }

    /// Queues copies from the `mine` of all devices to `to`; see [`PeerGather::gather`] and [`NcclPeers::gather`].
    ///
    /// # Errors
    /// Theirs.
    pub fn gather<T: Pod>(
        &mut self,
        stream: &Stream,
        mine: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
        transfers: &Transfers,
    ) -> Result<()> {
        match self {
            Self::Threads(peers) => peers.gather(stream, mine, to, &transfers.copies),
            Self::Nccl(peers) => peers.gather(stream, mine, to, transfers),
        }
    }

    /// Gives elements `own` of `buffer` to the other devices, and queues copies to other elements of it; see [`PeerGather::share`] and [`NcclPeers::share`].
    ///
    /// # Errors
    /// Theirs.
    pub fn share<T: Pod>(
        &mut self,
        stream: &Stream,
        buffer: &mut DeviceBuffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()> {
        match self {
            Self::Threads(peers) => peers.share(stream, buffer, own, transfers),
            Self::Nccl(peers) => peers.share(stream, buffer, own, transfers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_device_sends_is_what_others_copy() {
        // Device d copies elements d.. of each device d times.
        let copies = |own: usize| -> Vec<PeerCopy> {
            let of = |device| {
                (0..own).map(move |at| PeerCopy {
                    device,
                    from: own..own + 1,
                    at,
                })
            };
            (0..3).flat_map(of).collect()
        };
        let all: Vec<Transfers> = (0..3).map(|own| Transfers::new(own, 3, copies)).collect();
        for (own, of) in all.iter().enumerate() {
            assert_eq!(of.copies, copies(own));
            for (other, of_other) in all.iter().enumerate().filter(|(other, _)| *other != own) {
                let sent: Vec<_> = (of.sends.iter())
                    .filter(|send| send.device == other)
                    .map(|send| send.from.clone())
                    .collect();
                let received: Vec<_> = (of_other.copies.iter())
                    .filter(|copy| copy.device == own)
                    .map(|copy| copy.from.clone())
                    .collect();
                assert_eq!(sent, received);
            }
        }
    }
}
