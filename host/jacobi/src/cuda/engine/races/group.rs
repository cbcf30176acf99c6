//! A device group that runs nothing and only records which operation accesses which memory, and in
//! which order.
//!
//! The ordering rules are those of CUDA: streams are ordered only by events, sends and the host. A
//! wait refers to the last record of the event that was queued before it; an event that was never
//! recorded counts as passed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::Location;

use bytemuck::Pod;
use warpstride_device::launch::{Emulated, Launch, Work as LaunchWork};

use super::order::{Access, EventId, HOST, Line, Order, Race, Step, Touch, Work};
use super::touched::touched;
use warpstride_cuda::gpu::{
    Buffer, DeviceGroup, EmulatedDeviceGroup, EmulatedGroupBuffer, Link, ProfileSpan, Result,
    StreamId,
};

const STREAMS: [StreamId; 4] = [
    StreamId::Default,
    StreamId::Bulk,
    StreamId::Top,
    StreamId::Bottom,
];

/// A call that orders operations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) what: String,
    /// Line number of the call.
    pub(super) at: u32,
}

/// The behaviour of the group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Behaviour {
    pub(super) devices: usize,
    /// Whether there is memory for only two fields.
    pub(super) two_fields: bool,
    /// Number of checks before the one that ends the run.
    pub(super) converges_after: Option<usize>,
    /// Index of the ordering call to omit, relative to the first one after the blocks are filled.
    pub(super) omitted_call: Option<usize>,
}

pub(super) struct RaceGroup {
    memory: EmulatedDeviceGroup,
    behaviour: Behaviour,
    order: RefCell<Order>,
    /// The steps of the current capture.
    capture: RefCell<Option<Vec<Step>>>,
    events: Cell<EventId>,
    /// The stream that recorded each event last.
    recorders: RefCell<BTreeMap<EventId, StreamId>>,
    /// The sender of the last peer channel that was created, and whether the channel leads down:
    /// all channels that lead up are created first, in the order of their senders.
    last_channel: Cell<Option<(usize, bool)>>,
    /// Receivers of the channels through the host, in the order of their time lines.
    receivers: RefCell<Vec<usize>>,
    /// The ordering calls since the first peer channel was created; before that, the blocks are
    /// filled.
    calls: RefCell<Option<Vec<Call>>>,
    checks: Cell<usize>,
}

/// An event, identified by its number.
pub(super) struct RaceEvent(EventId);

pub(super) struct RaceChannel<T> {
    from: usize,
    leads_down: bool,
    arrived: EventId,
    host: Option<Staging<T>>,
}

/// The host memory of a peer channel, and the stream that copies from it.
struct Staging<T> {
    memory: RefCell<EmulatedGroupBuffer<T>>,
    line: Line,
    sent: EventId,
}

impl RaceGroup {
    pub(super) fn new(behaviour: Behaviour) -> Self {
        Self {
            memory: EmulatedDeviceGroup::new(behaviour.devices),
            behaviour,
            order: RefCell::default(),
            capture: RefCell::default(),
            events: Cell::new(0),
            recorders: RefCell::default(),
            last_channel: Cell::new(None),
            receivers: RefCell::default(),
            calls: RefCell::default(),
            checks: Cell::new(0),
        }
    }

    /// An emulated group that can run launches on the memory of this group.
    pub(super) fn emulated(&self) -> &EmulatedDeviceGroup {
        &self.memory
    }

    pub(super) fn races(&self) -> Vec<Race> {
        self.order.borrow().races().to_vec()
    }

    /// The ordering calls since the blocks were filled.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone().unwrap_or_default()
    }

    fn line(device: usize, stream: StreamId) -> Line {
        let index = STREAMS.iter().position(|other| *other == stream);
        1 + STREAMS.len() * device + index.expect("a known stream")
    }

    fn channel_line(&self, peer_channel: usize) -> Line {
        1 + STREAMS.len() * self.behaviour.devices + peer_channel
    }

    fn lines_of(&self, device: usize) -> Vec<Line> {
        let receivers = self.receivers.borrow();
        let peer_channels =
            (0..receivers.len()).filter(|peer_channel| receivers[*peer_channel] == device);
        STREAMS
            .into_iter()
            .map(|stream| Self::line(device, stream))
            .chain(peer_channels.map(|peer_channel| self.channel_line(peer_channel)))
            .collect()
    }

    fn queue(&self, step: Step) {
        match &mut *self.capture.borrow_mut() {
            Some(steps) => steps.push(step),
            None => self.order.borrow_mut().queue(&step),
        }
    }

    fn touch(&self, line: Line, name: &'static str, touched: Vec<Touch>) {
        let work = Work {
            line,
            name,
            sweep: None,
        };
        self.queue(Step::Touch(work, touched));
    }

    fn new_event(&self) -> EventId {
        self.events.replace(self.events.get() + 1)
    }

    /// Records an ordering call, and returns whether it has an effect.
    #[track_caller]
    fn is_effective(&self, what: impl FnOnce() -> String) -> bool {
        let mut calls = self.calls.borrow_mut();
        let Some(calls) = &mut *calls else {
            return true;
        };
        calls.push(Call {
            what: what(),
            at: Location::caller().line(),
        });
        self.behaviour.omitted_call != Some(calls.len() - 1)
    }

    fn expect_no_capture(&self) {
        assert!(
            self.capture.borrow().is_none(),
            "not allowed during a capture"
        );
    }
}

fn bytes<T: Pod>(buffer: &EmulatedGroupBuffer<T>, range: Range<usize>) -> Range<usize> {
    assert!(range.start <= range.end && range.end <= buffer.len());
    let start = buffer.read().as_ptr().addr();
    start + range.start * size_of::<T>()..start + range.end * size_of::<T>()
}

fn reads<T: Pod>(buffer: &EmulatedGroupBuffer<T>, range: Range<usize>) -> Touch {
    Touch {
        bytes: bytes(buffer, range),
        access: Access::Read,
    }
}

fn writes<T: Pod>(buffer: &EmulatedGroupBuffer<T>, range: Range<usize>) -> Touch {
    Touch {
        access: Access::Write,
        ..reads(buffer, range)
    }
}

impl DeviceGroup for RaceGroup {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedGroupBuffer<T>;
    type Event = RaceEvent;
    type PeerChannel<T: Pod + Send> = RaceChannel<T>;
    type Graph = Vec<Step>;

    fn backend(&self) -> &'static str {
        "none"
    }

    fn devices(&self) -> usize {
        self.behaviour.devices
    }

    fn ordinal(&self, device: usize) -> usize {
        device
    }

    fn device_name(&self, device: usize) -> String {
        format!("recorder {device}")
    }

    fn memory(&self, _device: usize) -> Result<(usize, usize)> {
        let free = if self.behaviour.two_fields {
            1
        } else {
            1 << 40
        };
        Ok((free, 1 << 40))
    }

    fn links(&self) -> Vec<Link> {
        self.memory.links()
    }

    fn resident_blocks<L: Launch<Emulated>>(&self, _device: usize, _launch: &L) -> Result<usize> {
        Ok(1)
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<EmulatedGroupBuffer<T>> {
        self.expect_no_capture();
        let buffer = self.memory.alloc::<T>(device, what, len)?;
        let address = buffer.read().as_ptr().addr();
        let mut order = self.order.borrow_mut();
        order.allocated(address, (len, size_of::<T>()), device, what);
        Ok(buffer)
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut EmulatedGroupBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        self.expect_no_capture();
        self.touch(HOST, "upload", vec![writes(buffer, at..at + host.len())]);
        Ok(())
    }

    /// Returns norms that are too large for convergence, until the check that ends the run.
    fn download<T: Pod + Send>(
        &self,
        buffer: &EmulatedGroupBuffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        self.expect_no_capture();
        let touched = reads(buffer, at..at + host.len());
        let device = self.order.borrow().device_of(touched.bytes.start);
        self.touch(HOST, "download", vec![touched]);
        let norms: &mut [f64] = bytemuck::cast_slice_mut(host);
        for (check, norm) in (self.checks.get()..).zip(&mut *norms) {
            let ends = self.behaviour.converges_after;
            *norm = if ends.is_some_and(|ends| check >= ends) {
                f64::MIN_POSITIVE
            } else {
                1.0
            };
        }
        if device == Some(self.behaviour.devices - 1) {
            self.checks.set(self.checks.get() + norms.len());
        }
        Ok(())
    }

    fn launch<L: Launch<Emulated> + Sync>(
        &self,
        device: usize,
        stream: StreamId,
        launch: &L,
        _work: LaunchWork,
    ) -> Result<()> {
        launch.check()?;
        let sums_of = |address| self.order.borrow().start_of(address);
        let (sweep, touched) = touched(launch, sums_of);
        let work = Work {
            line: Self::line(device, stream),
            name: L::INFO.entry,
            sweep,
        };
        self.queue(Step::Touch(work, touched));
        Ok(())
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        stream: StreamId,
        from: &EmulatedGroupBuffer<T>,
        to: &mut EmulatedGroupBuffer<T>,
    ) -> Result<()> {
        let touched = vec![reads(from, 0..from.len()), writes(to, 0..to.len())];
        self.touch(Self::line(device, stream), "copy", touched);
        Ok(())
    }

    fn peer_channel<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<RaceChannel<T>> {
        self.calls.borrow_mut().get_or_insert_default();
        let last = self.last_channel.get();
        let leads_down = last.is_some_and(|(sender, down)| down || from <= sender);
        self.last_channel.set(Some((from, leads_down)));
        let host = if direct {
            None
        } else {
            let memory = RefCell::new(self.alloc(from, "data sent between devices", len)?);
            let mut receivers = self.receivers.borrow_mut();
            receivers.push(to);
            Some(Staging {
                memory,
                line: self.channel_line(receivers.len() - 1),
                sent: self.new_event(),
            })
        };
        Ok(RaceChannel {
            from,
            leads_down,
            arrived: self.new_event(),
            host,
        })
    }

    fn send<T: Pod + Send>(
        &self,
        peer_channel: &RaceChannel<T>,
        stream: StreamId,
        from: &EmulatedGroupBuffer<T>,
        range: Range<usize>,
        to: &mut EmulatedGroupBuffer<T>,
        at: usize,
    ) -> Result<()> {
        let line = Self::line(peer_channel.from, stream);
        let count = range.len();
        let (source, target) = (reads(from, range), writes(to, at..at + count));
        let Some(host) = &peer_channel.host else {
            self.touch(line, "send", vec![source, target]);
            self.queue(Step::Record(peer_channel.arrived, line));
            return Ok(());
        };
        let memory = host.memory.borrow();
        self.queue(Step::Wait(peer_channel.arrived, line));
        let sent = vec![source, writes(&memory, 0..count)];
        self.touch(line, "send to host", sent);
        self.queue(Step::Record(host.sent, line));
        self.queue(Step::Wait(host.sent, host.line));
        let received = vec![reads(&memory, 0..count), target];
        self.touch(host.line, "receive from host", received);
        self.queue(Step::Record(peer_channel.arrived, host.line));
        Ok(())
    }

    #[track_caller]
    fn wait_for_send<T: Pod + Send>(
        &self,
        peer_channel: &RaceChannel<T>,
        device: usize,
        stream: StreamId,
    ) -> Result<()> {
        let what = || {
            let side = if peer_channel.leads_down {
                "above"
            } else {
                "below"
            };
            format!("{} waits for the send from {side}", stream.name())
        };
        if self.is_effective(what) {
            self.queue(Step::Wait(peer_channel.arrived, Self::line(device, stream)));
        }
        Ok(())
    }

    fn event(&self, _device: usize) -> Result<RaceEvent> {
        Ok(RaceEvent(self.new_event()))
    }

    #[track_caller]
    fn record(&self, event: &RaceEvent, device: usize, stream: StreamId) -> Result<()> {
        self.recorders.borrow_mut().insert(event.0, stream);
        if self.is_effective(|| format!("an event is recorded in {}", stream.name())) {
            self.queue(Step::Record(event.0, Self::line(device, stream)));
        }
        Ok(())
    }

    #[track_caller]
    fn wait(&self, event: &RaceEvent, device: usize, stream: StreamId) -> Result<()> {
        let what = || {
            let recorders = self.recorders.borrow();
            let recorder = recorders
                .get(&event.0)
                .map_or("nothing", |stream| stream.name());
            format!("{} waits for {recorder}", stream.name())
        };
        if self.is_effective(what) {
            self.queue(Step::Wait(event.0, Self::line(device, stream)));
        }
        Ok(())
    }

    #[track_caller]
    fn synchronize(&self, device: usize, stream: StreamId) -> Result<()> {
        self.expect_no_capture();
        if self.is_effective(|| format!("the host waits for {}", stream.name())) {
            let line = Self::line(device, stream);
            self.order.borrow_mut().host_waits([line].into_iter());
        }
        Ok(())
    }

    #[track_caller]
    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.expect_no_capture();
        if self.is_effective(|| "the host waits for a device".to_owned()) {
            let lines = self.lines_of(device).into_iter();
            self.order.borrow_mut().host_waits(lines);
        }
        Ok(())
    }

    #[track_caller]
    fn drain(&self) -> Result<()> {
        self.expect_no_capture();
        if self.is_effective(|| "the host waits for all".to_owned()) {
            let lines = (0..self.behaviour.devices).flat_map(|device| self.lines_of(device));
            self.order.borrow_mut().host_waits(lines);
        }
        Ok(())
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Vec<Step>>> {
        self.expect_no_capture();
        *self.capture.borrow_mut() = Some(Vec::new());
        let done = work();
        let steps = self.capture.borrow_mut().take();
        done.map(|()| steps)
    }

    fn replay(&self, steps: &mut Vec<Step>) -> Result<()> {
        self.expect_no_capture();
        self.order.borrow_mut().replay(steps);
        Ok(())
    }

    fn profile(&self) -> Result<()> {
        Ok(())
    }

    fn profile_spans(&self) -> Result<Vec<ProfileSpan>> {
        Ok(Vec::new())
    }
}
