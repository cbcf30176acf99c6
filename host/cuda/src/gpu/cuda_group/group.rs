//! The devices of a [`CudaDeviceGroup`] and its state.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

use super::super::device_group::{Link, StreamId};
use super::super::{GpuError, Result};
use super::event::{CaptureId, CudaEvent, NOT_CAPTURING};
use super::member::Member;
use super::pending_send::PendingSend;
use super::profiler::Profiler;
use crate::cuda::{CudaError, DeviceBuffer, Kernels, Stream, enable_peer_access};

/// CUDA devices with the same kernels, and with access to each other's memory where possible.
#[derive(Debug)]
pub struct CudaDeviceGroup {
    pub(super) members: Vec<Member>,
    pub(super) links: Vec<Link>,
    /// The current capture.
    pub(super) capture: AtomicU64,
    /// Recorded at the beginning of a capture.
    pub(super) capture_begun: CudaEvent,
    /// Recorded after the last graph launch.
    pub(super) replayed: CudaEvent,
    /// Sends that the next graph launch, or the end of the capture, must wait for.
    pending_sends: Mutex<Vec<Arc<PendingSend>>>,
    pub(super) profiler: Profiler,
}

impl CudaDeviceGroup {
    /// Creates a group of the devices with these ordinals (the driver's), loads the kernels on
    /// each, and enables peer access between all pairs where it is possible.
    ///
    /// # Errors
    /// The list is empty or names a device twice; there is no driver or no such device; a device is
    /// older than the kernels, or the driver cannot compile them.
    pub fn new(ordinals: &[usize], kernels: &Kernels) -> Result<Self> {
        let mut unique = BTreeSet::new();
        if let Some(twice) = ordinals.iter().find(|ordinal| !unique.insert(**ordinal)) {
            return Err(GpuError::DeviceTwice { device: *twice });
        }
        let members = ordinals
            .iter()
            .map(|ordinal| {
                Member::new(*ordinal, kernels).map_err(|error| match error {
                    // These errors are complete without the name of a device.
                    error @ (CudaError::Ordinal { .. }
                    | CudaError::NoDriver { .. }
                    | CudaError::NoDevice) => error.into(),
                    error => GpuError::from(error).on(*ordinal),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let first = members.first().ok_or(GpuError::NoDevices)?;
        let event = || CudaEvent::new(&first.context);
        Ok(Self {
            links: link_all(&members)?,
            capture: AtomicU64::new(NOT_CAPTURING),
            capture_begun: event()?,
            replayed: event()?,
            pending_sends: Mutex::default(),
            profiler: Profiler::default(),
            members,
        })
    }

    pub(super) fn member(&self, device: usize) -> Result<&Member> {
        self.members.get(device).ok_or(GpuError::NotInGroup {
            device,
            devices: self.members.len(),
        })
    }

    pub(super) fn current_capture(&self) -> CaptureId {
        self.capture.load(Ordering::Relaxed)
    }

    /// A stream that is about to be used: ordered after the last graph launch, and noted as used.
    pub(super) fn stream_for_work(
        &self,
        device: usize,
        stream_id: StreamId,
    ) -> Result<(&Stream, CaptureId)> {
        let member = self.member(device)?;
        let ordered = member.stream(stream_id);
        let capture = self.current_capture();
        if capture == NOT_CAPTURING {
            ordered
                .wait_for_replay(&self.replayed)
                .map_err(|error| GpuError::from(error).on(member.info.ordinal))?;
            ordered.set_used();
        } else if stream_id == StreamId::Default {
            let what = "work of the default stream";
            return Err(GpuError::from(CudaError::Captured { what }).on(member.info.ordinal));
        }
        Ok((&ordered.stream, capture))
    }

    /// Whether work of device `from` can access the memory of device `to`.
    pub(super) fn is_direct(&self, from: usize, to: usize) -> bool {
        let is = |link: &Link| link.direct && (link.from, link.to) == (from, to);
        from == to || self.links.iter().any(is)
    }

    fn lock_pending_sends(&self) -> MutexGuard<'_, Vec<Arc<PendingSend>>> {
        self.pending_sends
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a send to those that the next graph launch, or the end of the capture, must wait for.
    pub(super) fn list_send(&self, send: &Arc<PendingSend>) {
        if !send.set_listed() {
            self.lock_pending_sends().push(Arc::clone(send));
        }
    }

    pub(super) fn pending_sends(&self) -> Vec<Arc<PendingSend>> {
        self.lock_pending_sends().clone()
    }

    /// Makes `stream`, and so the next graph launch or the end of the capture, wait for all listed
    /// sends, which are then no longer listed.
    pub(super) fn wait_for_pending_sends(&self, stream: &Stream, capture: CaptureId) -> Result<()> {
        let mut all = Ok(());
        let sends = std::mem::take(&mut *self.lock_pending_sends());
        for send in sends {
            all = all.and(send.wait_after_listing(stream, capture));
        }
        Ok(all?)
    }

    /// # Errors
    /// A capture is in progress, which cannot contain the operation `what`.
    pub(super) fn expect_no_capture(&self, what: &'static str) -> Result<()> {
        if self.current_capture() == NOT_CAPTURING {
            Ok(())
        } else {
            Err(CudaError::Captured { what }.into())
        }
    }

    /// Runs `work` with a device and adds the name of the device to its errors.
    pub(super) fn on_device<T, E: Into<GpuError>>(
        &self,
        device: usize,
        work: impl FnOnce(&Member) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let member = self.member(device)?;
        work(member).map_err(|error| error.into().on(member.info.ordinal))
    }

    /// The index of the device that a buffer belongs to.
    pub(super) fn index_of<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> Result<usize> {
        let ordinal = buffer.context().ordinal();
        let is = |member: &Member| member.info.ordinal == ordinal;
        self.members.iter().position(is).ok_or_else(|| {
            let expected = self.members[0].info.ordinal;
            let what = "the buffer";
            CudaError::OtherDevice {
                what,
                expected,
                found: ordinal,
            }
            .into()
        })
    }
}

/// Gives every device access to the memory of every other device, where possible.
fn link_all(members: &[Member]) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for (from, to) in pairs(members.len()) {
        let (user, owner) = (&members[from], &members[to]);
        let direct = enable_peer_access(&user.context, &owner.context)
            .map_err(|error| GpuError::from(error).on(user.info.ordinal))?;
        links.push(Link { from, to, direct });
    }
    links.sort_unstable_by_key(|link| (link.from, link.to));
    Ok(links)
}

/// All ordered pairs of different indices in a ring, the nearest first, because the number of peers
/// of a device may be limited.
fn pairs(count: usize) -> Vec<(usize, usize)> {
    // 1, −1, 2, −2 …
    let steps = (1..count).map(|at| match at.div_ceil(2) {
        step if at % 2 == 1 => step,
        step => count - step,
    });
    steps
        .flat_map(|step| (0..count).map(move |from| (from, (from + step) % count)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_linked_once_and_neighbours_first() {
        for count in 0..10 {
            let all = pairs(count);
            let different: BTreeSet<_> = all.iter().copied().collect();
            assert_eq!(different.len(), all.len());
            assert_eq!(all.len(), count * count.saturating_sub(1));
            assert!(
                all.iter()
                    .all(|(from, to)| from != to && from.max(to) < &count)
            );
            let distance = |(from, to): &(usize, usize)| {
                let apart = from.abs_diff(*to);
                apart.min(count - apart)
            };
            assert!(all.is_sorted_by_key(distance), "{count}");
        }
    }
}
