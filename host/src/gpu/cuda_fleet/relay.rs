//! Rows on their way from one device to another.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use super::super::fleet::Lane;
use super::super::{GpuError, Result};
use super::CudaFleet;
use super::mark::{CudaMark, NOT_RECORDING, RecordingId};
use crate::cuda::{CudaError, DeviceBuffer, Priority, Relay, Stream, copy_range_between};

/// The way of rows between two devices of a [`CudaFleet`].
#[derive(Debug)]
pub struct CudaRelay<T: Pod> {
    /// Places of sender and receiver.
    from: usize,
    to: usize,
    /// Most elements at a time.
    len: usize,
    way: Way<T>,
    arrival: Arc<Arrival>,
}

#[derive(Debug)]
enum Way<T: Pod> {
    /// In the sender's lane.
    Direct,
    /// To page-locked memory in the sender's lane, and from there in a stream of the receiver.
    Host {
        memory: Relay<T>,
        stream: Stream,
        /// The rows are on the host.
        sent: CudaMark,
    },
}

/// The end of a relay's last push.
#[derive(Debug)]
pub(super) struct Arrival {
    mark: CudaMark,
    /// The fleet has it on its list of what the next replay must wait for.
    listed: AtomicBool,
}

impl Arrival {
    /// Lets `stream` wait for it, once for each time that it was listed.
    pub(super) fn settle(
        &self,
        stream: &Stream,
        recording: RecordingId,
    ) -> crate::cuda::Result<()> {
        self.listed.store(false, Ordering::Relaxed);
        self.mark.hold(stream, recording)
    }
}

impl<T: Pod> CudaRelay<T> {
    pub(super) fn new(
        fleet: &CudaFleet,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<Self> {
        let (sender, receiver) = (fleet.member(from)?, fleet.member(to)?);
        let make = || -> crate::cuda::Result<_> {
            if direct && fleet.is_direct(from, to) {
                return Ok((Way::Direct, CudaMark::new(&sender.context)?));
            }
            let way = Way::Host {
                memory: Relay::new(&sender.context, &receiver.context, "rows under way", len)?,
                stream: Stream::new(&receiver.context, Priority::High)?,
                sent: CudaMark::new(&sender.context)?,
            };
            Ok((way, CudaMark::new(&receiver.context)?))
        };
        let (way, mark) =
            make().map_err(|error| GpuError::from(error).on(receiver.info.ordinal))?;
        Ok(Self {
            from,
            to,
            len,
            way,
            arrival: Arc::new(Arrival {
                mark,
                listed: AtomicBool::new(false),
            }),
        })
    }

    pub(super) fn push(
        &self,
        fleet: &CudaFleet,
        lane: Lane,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        let (sender, receiver) = (fleet.member(self.from)?, fleet.member(self.to)?);
        let (stream, recording) = fleet.begin(self.from, lane)?;
        let place = (self.from, sender, stream);
        let pushed = || -> Result<()> {
            self.expect(fleet, from, to, &range)?;
            // Before anything is queued, so that a refused push leaves nothing behind.
            to.expect_range("push", &(at..at.saturating_add(range.len())))?;
            from.expect_range("push", &range)?;
            match &self.way {
                Way::Direct => {
                    let names = (lane.name(), "push");
                    fleet.clock.around(place, names, recording, || {
                        Ok(copy_range_between(stream, from, range, to, at)?)
                    })?;
                    self.arrival.mark.record(stream, recording)?;
                }
                Way::Host {
                    memory,
                    stream: receiving,
                    sent,
                } => {
                    let count = range.len();
                    // The memory is free when what was taken last has arrived.
                    self.arrival.mark.hold(stream, recording)?;
                    let names = (lane.name(), "push to host");
                    fleet.clock.around(place, names, recording, || {
                        Ok(memory.take(stream, from, range)?)
                    })?;
                    sent.record(stream, recording)?;
                    sent.hold(receiving, recording)?;
                    let place = (self.to, receiver, receiving);
                    let names = ("relay", "push from host");
                    fleet.clock.around(place, names, recording, || {
                        Ok(memory.give(receiving, count, to, at)?)
                    })?;
                    self.arrival.mark.record(receiving, recording)?;
                    if !self.arrival.listed.swap(true, Ordering::Relaxed) {
                        fleet.list(&self.arrival);
                    }
                }
            }
            Ok(())
        };
        pushed().map_err(|error| error.on(sender.info.ordinal))
    }

    /// Whether the buffers are where the relay begins and ends, and the rows not too many.
    fn expect(
        &self,
        fleet: &CudaFleet,
        from: &DeviceBuffer<T>,
        to: &DeviceBuffer<T>,
        range: &Range<usize>,
    ) -> Result<()> {
        for (buffer, device, what) in [(from, self.from, "the source"), (to, self.to, "the target")]
        {
            let expected = &fleet.member(device)?.context;
            if !buffer.context().same_device(expected) {
                return Err(CudaError::OtherDevice {
                    what,
                    expected: expected.ordinal(),
                    found: buffer.context().ordinal(),
                }
                .into());
            }
        }
        if range.len() > self.len {
            return Err(CudaError::Range {
                what: "push through a relay",
                start: 0,
                end: range.len(),
                len: self.len,
            }
            .into());
        }
        Ok(())
    }

    pub(super) fn hold(&self, stream: &Stream, recording: RecordingId) -> crate::cuda::Result<()> {
        self.arrival.mark.hold(stream, recording)
    }
}

impl CudaFleet {
    /// Lets `stream`, and so the next replay or the end of the recording, wait for relays' streams.
    pub(super) fn settle_arrivals(&self, stream: &Stream, recording: RecordingId) -> Result<()> {
        let mut all = Ok(());
        for arrival in self.take_listed() {
            all = all.and(arrival.settle(stream, recording));
        }
        Ok(all?)
    }

    /// Whether nothing is being recorded.
    pub(super) fn expect_not_recording(&self, what: &'static str) -> Result<()> {
        if self.recording() == NOT_RECORDING {
            Ok(())
        } else {
            Err(CudaError::Captured { what }.into())
        }
    }
}
