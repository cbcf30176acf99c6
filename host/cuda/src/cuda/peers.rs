//! Several devices that exchange data, and what is copied between them.

use super::transfers::Transfers;
use std::ops::Range;

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::error::Result;
use super::nccl_peers::NcclPeers;
use super::peer_gather::PeerGather;
use super::stream::Stream;

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

    /// Queues copies from the `mine` of all devices to `to`; see [`PeerGather::gather`] and
    /// [`NcclPeers::gather`].
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

    /// Gives elements `own` of `buffer` to the other devices, and queues copies to other elements
    /// of it; see [`PeerGather::share`] and [`NcclPeers::share`].
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
    use crate::cuda::PeerCopy;

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
