//! Waiting on the host without hanging when a device has failed.
//!
//! A stream may wait for an event of another device. If that device fails, the event may never be
//! passed, and the driver's own wait for the stream would not return. So streams are polled, and
//! with them the other devices.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::device_group::StreamId;
use super::super::{GpuError, Result};
use super::group::CudaDeviceGroup;
use super::pending_send::PendingSend;
use crate::cuda::Stream;

/// How long the work of other devices may continue after one device has failed: long enough for
/// work that was queued before, and acceptable as the delay of an error.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Time between two checks of the devices that are not waited for.
const FAILURE_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Work that the host waits for, on a device of the group.
enum PendingWork<'a> {
    /// All work in a stream of the device with this index.
    Stream(usize, &'a Stream),
    Send(Arc<PendingSend>),
}

impl PendingWork<'_> {
    fn device(&self) -> usize {
        match self {
            Self::Stream(device, _) => *device,
            Self::Send(send) => send.receiver(),
        }
    }

    fn is_done(&self) -> crate::cuda::Result<bool> {
        match self {
            Self::Stream(_, stream) => stream.is_idle(),
            Self::Send(send) => send.is_passed(),
        }
    }
}

impl CudaDeviceGroup {
    /// Waits for a stream and the graph launches before.
    pub(super) fn wait_for_stream(&self, device: usize, stream_id: StreamId) -> Result<()> {
        self.on_device(device, |member| {
            member.stream(stream_id).wait_for_replay(&self.replayed)
        })?;
        let stream = &self.member(device)?.stream(stream_id).stream;
        self.wait_for_all(vec![PendingWork::Stream(device, stream)])
    }

    /// Waits for all work of some devices.
    pub(super) fn wait_for_devices(&self, devices: std::ops::Range<usize>) -> Result<()> {
        let mut first = Ok(());
        let mut pending = Vec::new();
        for device in devices.clone() {
            let member = self.member(device)?;
            // One stream behind the last graph launch is enough to wait for it.
            let ordered = self.on_device(device, |member| {
                member
                    .stream(StreamId::Bulk)
                    .wait_for_replay(&self.replayed)
            });
            first = first.and(ordered);
            let streams = member.streams().iter();
            pending.extend(streams.map(|ordered| PendingWork::Stream(device, &ordered.stream)));
        }
        let to_these = |send: &Arc<PendingSend>| devices.contains(&send.receiver());
        let sends = self.pending_sends().into_iter().filter(to_these);
        pending.extend(sends.map(PendingWork::Send));
        first = first.and(self.wait_for_all(pending));
        for device in devices {
            // Done by now, unless the process has streams outside of the group.
            first = first.and(self.on_device(device, |member| member.context.synchronize()));
        }
        first
    }

    /// Waits for all `pending` work. After an error, the rest is abandoned if it is not done within
    /// the grace period.
    ///
    /// # Errors
    /// The first error, possibly of a device that is not waited for but that others wait for.
    fn wait_for_all(&self, mut pending: Vec<PendingWork<'_>>) -> Result<()> {
        let mut first = None;
        let mut checked = Instant::now();
        let mut end = None;
        loop {
            pending.retain(|work| match work.is_done() {
                Ok(done) => !done,
                Err(error) => {
                    first.get_or_insert_with(|| self.error_on(work.device(), error));
                    false
                }
            });
            if pending.is_empty() {
                return first.map_or(Ok(()), Err);
            }
            if first.is_none() && checked.elapsed() >= FAILURE_CHECK_INTERVAL {
                checked = Instant::now();
                first = self.failure();
            }
            if let Some(error) = first.take() {
                let now = Instant::now();
                if now >= *end.get_or_insert(now + GRACE_PERIOD) {
                    for work in &pending {
                        self.members[work.device()].context.abandon();
                    }
                    return Err(error);
                }
                first = Some(error);
            }
            std::thread::yield_now();
        }
    }

    /// The error of the first device that has failed, if any.
    fn failure(&self) -> Option<GpuError> {
        let mut devices = self.members.iter().enumerate();
        devices.find_map(|(device, member)| {
            let state = member.stream(StreamId::Bulk).stream.is_idle();
            Some(self.error_on(device, state.err()?))
        })
    }

    fn error_on(&self, device: usize, error: crate::cuda::CudaError) -> GpuError {
        GpuError::from(error).on(self.members[device].info.ordinal)
    }
}
