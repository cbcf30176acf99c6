//! A group of emulated devices that tracks pending work, and in which one call fails.

use bytemuck::Pod;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warpstride::gpu::{
    Buffer, DeviceGroup, EmulatedDeviceGroup, EmulatedEvent, EmulatedGroupBuffer,
    EmulatedPeerChannel, GpuError, Link, ProfileSpan, RangedBuffer, Result, StreamId,
};
use warpstride_device::launch::{Emulated, Launch, Read, Work, Write};

/// The calls that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Call {
    Memory,
    ResidentBlocks,
    Alloc,
    Upload,
    Download,
    Launch,
    Copy,
    PeerChannel,
    Send,
    WaitForSend,
    Event,
    Record,
    Wait,
    Synchronize,
    SynchronizeDevice,
    Drain,
    Capture,
    Profile,
    ProfileSpans,
}

impl Call {
    pub(super) const ALL: [Self; 19] = [
        Self::Memory,
        Self::ResidentBlocks,
        Self::Alloc,
        Self::Upload,
        Self::Download,
        Self::Launch,
        Self::Copy,
        Self::PeerChannel,
        Self::Send,
        Self::WaitForSend,
        Self::Event,
        Self::Record,
        Self::Wait,
        Self::Synchronize,
        Self::SynchronizeDevice,
        Self::Drain,
        Self::Capture,
        Self::Profile,
        Self::ProfileSpans,
    ];
}

/// The call that fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) call: Call,
    pub(super) device: usize,
    /// Index among the calls of this kind on the device, from 1.
    pub(super) n: usize,
    /// Whether all later calls on the device fail too, as after an illegal address.
    pub(super) lasting: bool,
}

/// Contained in the first error; later errors have another text.
pub(super) const FIRST: &str = "the injected fault";

/// The calls and the pending work of the group.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    matching_calls: usize,
    pub(super) failed: bool,
    /// Calls after the failed one.
    pub(super) after: Vec<Call>,
    /// Descriptions of violations.
    pub(super) violations: Vec<String>,
    capturing: bool,
    /// Number of operations that have not been waited for, by device and stream; `None` stands for
    /// copies from the host.
    pending: HashMap<(usize, Option<StreamId>), usize>,
}

impl CallLog {
    fn queue(&mut self, device: usize, stream: Option<StreamId>) {
        *self.pending.entry((device, stream)).or_default() += 1;
    }

    /// No work may be pending on any device, because work of one device may use another's memory.
    fn expect_idle(&mut self, device: usize, what: &str) {
        if !self.pending.is_empty() {
            let violation = format!("{what} on device {device} with {:?}", self.pending);
            self.violations.push(violation);
        }
    }
}

/// Memory of a device that must be freed only when no work is pending.
pub(super) struct TrackedBuffer<T> {
    inner: EmulatedGroupBuffer<T>,
    device: usize,
    log: Arc<Mutex<CallLog>>,
}

impl<T> Drop for TrackedBuffer<T> {
    fn drop(&mut self) {
        locked(&self.log).expect_idle(self.device, "memory freed");
    }
}

impl<T: Pod> Buffer<Emulated, T> for TrackedBuffer<T> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn read(&self) -> Read<'_, Emulated, T> {
        self.inner.read()
    }

    fn write(&mut self) -> Write<'_, Emulated, T> {
        self.inner.write()
    }
}

impl<T: Pod> RangedBuffer<Emulated, T> for TrackedBuffer<T> {
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Emulated, T>> {
        self.inner.read_range(range)
    }

    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Emulated, T>> {
        self.inner.write_range(range)
    }
}

/// A group of emulated devices in which one call fails.
pub(super) struct FaultInjectingGroup {
    inner: EmulatedDeviceGroup,
    fault: Fault,
    log: Arc<Mutex<CallLog>>,
}

impl FaultInjectingGroup {
    pub(super) fn new(devices: usize, fault: Fault) -> Self {
        Self {
            inner: EmulatedDeviceGroup::new(devices),
            fault,
            log: Arc::default(),
        }
    }

    pub(super) fn log(&self) -> MutexGuard<'_, CallLog> {
        locked(&self.log)
    }

    /// Logs a call on a device, or on all devices, and fails if it is the one to fail.
    fn call(&self, call: Call, device: Option<usize>) -> Result<()> {
        let fault = self.fault;
        let mut log = self.log();
        let on_device = device.is_none_or(|device| device == fault.device);
        let fail = |text: &'static str| {
            Err(GpuError::OnDevice {
                device: fault.device,
                error: Box::new(GpuError::HostMemory {
                    what: text,
                    needed: fault.n,
                }),
            })
        };
        if log.failed {
            log.after.push(call);
            return if on_device && fault.lasting {
                fail("a later failure")
            } else {
                Ok(())
            };
        }
        if on_device && call == fault.call {
            log.matching_calls += 1;
            if log.matching_calls == fault.n {
                log.failed = true;
                return fail(FIRST);
            }
        }
        Ok(())
    }

    /// Logs an operation and returns whether to run it now.
    fn queued(&self, device: usize, stream: Option<StreamId>) -> bool {
        let mut log = self.log();
        if !log.capturing {
            log.queue(device, stream);
        }
        !log.capturing
    }

    /// Removes the pending work for which `of` returns true.
    fn waited(&self, of: impl Fn(usize, Option<StreamId>) -> bool) {
        self.log()
            .pending
            .retain(|(device, stream), _| !of(*device, *stream));
    }
}

fn locked(log: &Mutex<CallLog>) -> MutexGuard<'_, CallLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DeviceGroup for FaultInjectingGroup {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = TrackedBuffer<T>;
    type Event = EmulatedEvent;
    /// The channel, the devices that it connects, and whether it goes through the host.
    type PeerChannel<T: Pod + Send> = (EmulatedPeerChannel<T>, [usize; 2], bool);
    type Graph = std::convert::Infallible;

    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn devices(&self) -> usize {
        self.inner.devices()
    }

    fn ordinal(&self, device: usize) -> usize {
        self.inner.ordinal(device)
    }

    fn device_name(&self, device: usize) -> String {
        self.inner.device_name(device)
    }

    fn memory(&self, device: usize) -> Result<(usize, usize)> {
        self.call(Call::Memory, Some(device))?;
        self.inner.memory(device)
    }

    fn links(&self) -> Vec<Link> {
        self.inner.links()
    }

    fn resident_blocks<L: Launch<Emulated>>(&self, device: usize, launch: &L) -> Result<usize> {
        self.call(Call::ResidentBlocks, Some(device))?;
        self.inner.resident_blocks(device, launch)
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<TrackedBuffer<T>> {
        self.call(Call::Alloc, Some(device))?;
        Ok(TrackedBuffer {
            inner: self.inner.alloc(device, what, len)?,
            device,
            log: Arc::clone(&self.log),
        })
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut TrackedBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        self.call(Call::Upload, Some(buffer.device))?;
        self.log().expect_idle(buffer.device, "an upload");
        self.inner.upload(&mut buffer.inner, at, host)
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &TrackedBuffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        self.call(Call::Download, Some(buffer.device))?;
        self.log().expect_idle(buffer.device, "a download");
        self.inner.download(&buffer.inner, at, host)
    }

    fn launch<L: Launch<Emulated> + Sync>(
        &self,
        device: usize,
        stream: StreamId,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        self.call(Call::Launch, Some(device))?;
        if !self.queued(device, Some(stream)) {
            return Ok(());
        }
        self.inner.launch(device, stream, launch, work)
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        stream: StreamId,
        from: &TrackedBuffer<T>,
        to: &mut TrackedBuffer<T>,
    ) -> Result<()> {
        self.call(Call::Copy, Some(device))?;
        if !self.queued(device, Some(stream)) {
            return Ok(());
        }
        self.inner.copy(device, stream, &from.inner, &mut to.inner)
    }

    fn peer_channel<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<Self::PeerChannel<T>> {
        self.call(Call::PeerChannel, Some(from))?;
        let peer_channel = self.inner.peer_channel(from, to, len, direct)?;
        Ok((peer_channel, [from, to], !direct))
    }

    fn send<T: Pod + Send>(
        &self,
        (peer_channel, [sender, receiver], staged): &Self::PeerChannel<T>,
        stream: StreamId,
        from: &TrackedBuffer<T>,
        range: Range<usize>,
        to: &mut TrackedBuffer<T>,
        at: usize,
    ) -> Result<()> {
        self.call(Call::Send, Some(*sender))?;
        if !self.queued(*sender, Some(stream)) {
            return Ok(());
        }
        if *staged {
            self.queued(*receiver, None);
        }
        self.inner
            .send(peer_channel, stream, &from.inner, range, &mut to.inner, at)
    }

    fn wait_for_send<T: Pod + Send>(
        &self,
        (peer_channel, ..): &Self::PeerChannel<T>,
        device: usize,
        stream: StreamId,
    ) -> Result<()> {
        self.call(Call::WaitForSend, Some(device))?;
        self.inner.wait_for_send(peer_channel, device, stream)
    }

    fn event(&self, device: usize) -> Result<EmulatedEvent> {
        self.call(Call::Event, Some(device))?;
        self.inner.event(device)
    }

    fn record(&self, event: &EmulatedEvent, device: usize, stream: StreamId) -> Result<()> {
        self.call(Call::Record, Some(device))?;
        self.inner.record(event, device, stream)
    }

    fn wait(&self, event: &EmulatedEvent, device: usize, stream: StreamId) -> Result<()> {
        self.call(Call::Wait, Some(device))?;
        self.inner.wait(event, device, stream)
    }

    fn synchronize(&self, device: usize, stream: StreamId) -> Result<()> {
        self.call(Call::Synchronize, Some(device))?;
        self.waited(|of, queue| (of, queue) == (device, Some(stream)));
        self.inner.synchronize(device, stream)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.call(Call::SynchronizeDevice, Some(device))?;
        self.waited(|of, _| of == device);
        self.inner.synchronize_device(device)
    }

    fn drain(&self) -> Result<()> {
        // All devices are waited for, even if one of them fails.
        self.waited(|_, _| true);
        self.call(Call::Drain, None)
    }

    /// Logs the calls of the work without running it; emulators do not support graphs.
    fn capture(
        &self,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<std::convert::Infallible>> {
        self.call(Call::Capture, None)?;
        self.log().capturing = true;
        let done = work();
        self.log().capturing = false;
        done.map(|()| None)
    }

    fn replay(&self, graph: &mut std::convert::Infallible) -> Result<()> {
        match *graph {}
    }

    fn profile(&self) -> Result<()> {
        self.call(Call::Profile, None)?;
        self.inner.profile()
    }

    fn profile_spans(&self) -> Result<Vec<ProfileSpan>> {
        self.call(Call::ProfileSpans, None)?;
        self.inner.profile_spans()
    }
}
