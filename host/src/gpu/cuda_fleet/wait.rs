//! Waiting on the host without being held up for ever by a device that failed.
//!
//! A lane may wait for a mark of another device. When that one fails the mark is perhaps never
//! passed, and the driver's own wait for the lane would not return. So lanes are asked again and
//! again, and the other devices beside them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::fleet::Lane;
use super::super::{GpuError, Result};
use super::CudaFleet;
use super::relay::Arrival;
use crate::cuda::Stream;

/// How long the work of other devices may go on after one has failed: sweeps that were queued
/// before end within it, and nobody minds waiting so long for an error.
const GRACE: Duration = Duration::from_secs(10);

/// Time between two looks at the devices that are not waited for.
const LOOK_AROUND: Duration = Duration::from_millis(1);

/// Something that the host waits for, on a device of the fleet.
pub(super) enum Awaited<'a> {
    Lane(usize, &'a Stream),
    Arrival(Arc<Arrival>),
}

impl Awaited<'_> {
    fn device(&self) -> usize {
        match self {
            Self::Lane(device, _) => *device,
            Self::Arrival(arrival) => arrival.receiver(),
        }
    }

    fn is_done(&self) -> crate::cuda::Result<bool> {
        match self {
            Self::Lane(_, stream) => stream.is_idle(),
            Self::Arrival(arrival) => arrival.is_passed(),
        }
    }
}

impl CudaFleet {
    /// Waits for a lane and the replays before.
    pub(super) fn await_lane(&self, device: usize, lane: Lane) -> Result<()> {
        self.at(device, |member| member.queue(lane).follow(&self.replayed))?;
        let stream = &self.member(device)?.queue(lane).stream;
        self.await_all(vec![Awaited::Lane(device, stream)])
    }

    /// Waits for everything on some devices.
    pub(super) fn await_devices(&self, devices: std::ops::Range<usize>) -> Result<()> {
        let mut first = Ok(());
        let mut awaited = Vec::new();
        for device in devices.clone() {
            let member = self.member(device)?;
            // One lane behind the last replay is enough to wait for it.
            let followed = self.at(device, |member| {
                member.queue(Lane::Bulk).follow(&self.replayed)
            });
            first = first.and(followed);
            let lanes = member.queues().iter();
            awaited.extend(lanes.map(|queue| Awaited::Lane(device, &queue.stream)));
        }
        let here = |arrival: &Arc<Arrival>| devices.contains(&arrival.receiver());
        let arrivals = self.listed().into_iter().filter(here);
        awaited.extend(arrivals.map(Awaited::Arrival));
        first = first.and(self.await_all(awaited));
        for device in devices {
            // Done by now, unless somebody has streams beside the fleet's.
            first = first.and(self.at(device, |member| member.context.synchronize()));
        }
        first
    }

    /// Waits for all of it, and after an error a while for the rest, which is then given up.
    ///
    /// # Errors
    /// The first that went wrong, also on a device that is not waited for if that is why the others
    /// do not end.
    fn await_all(&self, mut awaited: Vec<Awaited<'_>>) -> Result<()> {
        let mut first = None;
        let mut looked = Instant::now();
        let mut end = None;
        loop {
            awaited.retain(|one| match one.is_done() {
                Ok(done) => !done,
                Err(error) => {
                    first.get_or_insert_with(|| self.error_on(one.device(), error));
                    false
                }
            });
            if awaited.is_empty() {
                return first.map_or(Ok(()), Err);
            }
            if first.is_none() && looked.elapsed() >= LOOK_AROUND {
                looked = Instant::now();
                first = self.failure();
            }
            if let Some(error) = first.take() {
                let now = Instant::now();
                if now >= *end.get_or_insert(now + GRACE) {
                    for one in &awaited {
                        self.members[one.device()].context.give_up();
                    }
                    return Err(error);
                }
                first = Some(error);
            }
            std::thread::yield_now();
        }
    }

    /// The error of a device that has failed.
    fn failure(&self) -> Option<GpuError> {
        let mut devices = self.members.iter().enumerate();
        devices.find_map(|(device, member)| {
            let state = member.queue(Lane::Bulk).stream.is_idle();
            Some(self.error_on(device, state.err()?))
        })
    }

    fn error_on(&self, device: usize, error: crate::cuda::CudaError) -> GpuError {
        GpuError::from(error).on(self.members[device].info.ordinal)
    }
}
