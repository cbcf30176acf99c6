//! Sends from one device of a group to another.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use super::super::device_group::StreamId;
use super::super::{GpuError, Result};
use super::event::{CaptureId, CudaEvent};
use super::group::CudaDeviceGroup;
use super::pending_send::PendingSend;
use crate::cuda::{CudaError, DeviceBuffer, PeerChannel, Priority, Stream, copy_range_between};

/// A connection from one device of a [`CudaDeviceGroup`] to another.
#[derive(Debug)]
pub struct CudaPeerChannel<T: Pod> {
    /// Index of the sender.
    from: usize,
    /// Index of the receiver.
    to: usize,
    /// Maximum number of elements at a time.
    len: usize,
    route: Route<T>,
    last_send: Arc<PendingSend>,
}

#[derive(Debug)]
enum Route<T: Pod> {
    /// One copy, in the sender's stream.
    Direct,
    /// To page-locked memory in the sender's stream, and from there in a stream of the receiver.
    Host {
        memory: PeerChannel<T>,
        stream: Stream,
        /// Recorded when the elements are on the host.
        sent: CudaEvent,
    },
}

impl<T: Pod> CudaPeerChannel<T> {
    pub(super) fn new(
        group: &CudaDeviceGroup,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<Self> {
        let (sender, receiver) = (group.member(from)?, group.member(to)?);
        let create = || -> crate::cuda::Result<_> {
            if direct && group.is_direct(from, to) {
                return Ok((Route::Direct, CudaEvent::new(&sender.context)?));
            }
            let route = Route::Host {
                memory: PeerChannel::new(
                    &sender.context,
                    &receiver.context,
                    "data sent between devices",
                    len,
                )?,
                stream: Stream::new(&receiver.context, Priority::High)?,
                sent: CudaEvent::new(&sender.context)?,
            };
            Ok((route, CudaEvent::new(&receiver.context)?))
        };
        let (route, event) =
            create().map_err(|error| GpuError::from(error).on(receiver.info.ordinal))?;
        Ok(Self {
            from,
            to,
            len,
            route,
            last_send: Arc::new(PendingSend::new(event, to)),
        })
    }

    pub(super) fn send(
        &self,
        group: &CudaDeviceGroup,
        stream_id: StreamId,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        let (sender, receiver) = (group.member(self.from)?, group.member(self.to)?);
        let (stream, capture) = group.stream_for_work(self.from, stream_id)?;
        let at_sender = (self.from, sender, stream);
        let send = || -> Result<()> {
            self.expect_buffers(group, from, to, &range)?;
            // Checked before anything is queued, so that a refused send queues nothing.
            to.expect_range("send", &(at..at.saturating_add(range.len())))?;
            from.expect_range("send", &range)?;
            match &self.route {
                Route::Direct => {
                    let names = (stream_id.name(), "send");
                    group.profiler.time(at_sender, names, capture, || {
                        Ok(copy_range_between(stream, from, range, to, at)?)
                    })?;
                    self.last_send.event.record(stream, capture)?;
                }
                Route::Host {
                    memory,
                    stream: receiving,
                    sent,
                } => {
                    let count = range.len();
                    // The memory may be overwritten when the previous send has arrived.
                    self.last_send.event.wait_in(stream, capture)?;
                    let names = (stream_id.name(), "send to host");
                    group.profiler.time(at_sender, names, capture, || {
                        Ok(memory.send(stream, from, range)?)
                    })?;
                    sent.record(stream, capture)?;
                    sent.wait_in(receiving, capture)?;
                    let at_receiver = (self.to, receiver, receiving);
                    let names = ("receive", "receive from host");
                    group.profiler.time(at_receiver, names, capture, || {
                        Ok(memory.receive(receiving, count, to, at)?)
                    })?;
                    self.last_send.event.record(receiving, capture)?;
                    group.list_send(&self.last_send);
                }
            }
            Ok(())
        };
        send().map_err(|error| error.on(sender.info.ordinal))
    }

    /// # Errors
    /// A buffer belongs to another device, or the range exceeds the length of the channel.
    fn expect_buffers(
        &self,
        group: &CudaDeviceGroup,
        from: &DeviceBuffer<T>,
        to: &DeviceBuffer<T>,
        range: &Range<usize>,
    ) -> Result<()> {
        for (buffer, device, what) in [(from, self.from, "the source"), (to, self.to, "the target")]
        {
            let expected = &group.member(device)?.context;
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
                what: "send through a peer channel",
                start: 0,
                end: range.len(),
                len: self.len,
            }
            .into());
        }
        Ok(())
    }

    /// Makes the work queued from now on in `stream` wait for the last send.
    pub(super) fn wait_in(&self, stream: &Stream, capture: CaptureId) -> crate::cuda::Result<()> {
        self.last_send.event.wait_in(stream, capture)
    }
}
