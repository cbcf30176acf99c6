//! A fleet that does nothing but notice who touches what, and in which order.
//!
//! As CUDA's: lanes know of each other by marks, pushes and the host only. A wait refers to the last
//! setting of the mark that was queued before it, and passes a mark that was never set.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::Location;

use bytemuck::Pod;
use warpstride_device::launch::{Emulated, Launch, Work as LaunchWork};

use super::order::{Access, HOST, Line, MarkId, Order, Race, Step, Touch, Work};
use super::touched::touched;
use crate::gpu::{Buffer, EmulatedFleet, Fleet, Lane, Link, PlacedBuffer, Result, Stretch};

const LANES: [Lane; 4] = [Lane::Default, Lane::Bulk, Lane::Top, Lane::Bottom];

/// A call that orders something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) what: String,
    /// Line of its file.
    pub(super) at: u32,
}

/// How a fleet behaves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Behaviour {
    pub(super) devices: usize,
    /// No room for a third field.
    pub(super) tight: bool,
    /// Checks before the one that ends the run.
    pub(super) converges_after: Option<usize>,
    /// The ordering call that is left out, counted from the first after the blocks are filled.
    pub(super) without: Option<usize>,
}

pub(super) struct RaceFleet {
    memory: EmulatedFleet,
    behaviour: Behaviour,
    order: RefCell<Order>,
    /// What is being recorded.
    recording: RefCell<Option<Vec<Step>>>,
    marks: Cell<MarkId>,
    /// The lane that set a mark last.
    setters: RefCell<BTreeMap<MarkId, Lane>>,
    /// The sender of the relay that was made last, and whether it leads down: all that lead up are
    /// made first, in the order of their senders.
    last_relay: Cell<Option<(usize, bool)>>,
    /// Receivers of the relays through the host, in the order of their lines.
    receivers: RefCell<Vec<usize>>,
    /// The ordering calls since the first relay was made; until then the blocks are filled.
    calls: RefCell<Option<Vec<Call>>>,
    checks: Cell<usize>,
}

/// What a lane waits for.
pub(super) struct RaceMark(MarkId);

pub(super) struct RaceRelay<T> {
    from: usize,
    leads_down: bool,
    arrived: MarkId,
    host: Option<Staging<T>>,
}

/// The way through the host.
struct Staging<T> {
    memory: RefCell<PlacedBuffer<T>>,
    line: Line,
    sent: MarkId,
}

impl RaceFleet {
    pub(super) fn new(behaviour: Behaviour) -> Self {
        Self {
            memory: EmulatedFleet::new(behaviour.devices),
            behaviour,
            order: RefCell::default(),
            recording: RefCell::default(),
            marks: Cell::new(0),
            setters: RefCell::default(),
            last_relay: Cell::new(None),
            receivers: RefCell::default(),
            calls: RefCell::default(),
            checks: Cell::new(0),
        }
    }

    /// Where launches on its memory are done.
    pub(super) fn emulated(&self) -> &EmulatedFleet {
        &self.memory
    }

    pub(super) fn races(&self) -> Vec<Race> {
        self.order.borrow().races().to_vec()
    }

    /// The ordering calls since the blocks were filled.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone().unwrap_or_default()
    }

    fn line(device: usize, lane: Lane) -> Line {
        let place = LANES.iter().position(|other| *other == lane);
        1 + LANES.len() * device + place.expect("one of the lanes")
    }

    fn relay_line(&self, relay: usize) -> Line {
        1 + LANES.len() * self.behaviour.devices + relay
    }

    fn lines_of(&self, device: usize) -> Vec<Line> {
        let receivers = self.receivers.borrow();
        let relays = (0..receivers.len()).filter(|relay| receivers[*relay] == device);
        LANES
            .into_iter()
            .map(|lane| Self::line(device, lane))
            .chain(relays.map(|relay| self.relay_line(relay)))
            .collect()
    }

    fn queue(&self, step: Step) {
        match &mut *self.recording.borrow_mut() {
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

    fn new_mark(&self) -> MarkId {
        self.marks.replace(self.marks.get() + 1)
    }

    /// Whether an ordering call takes place.
    #[track_caller]
    fn takes_place(&self, what: impl FnOnce() -> String) -> bool {
        let mut calls = self.calls.borrow_mut();
        let Some(calls) = &mut *calls else {
            return true;
        };
        calls.push(Call {
            what: what(),
            at: Location::caller().line(),
        });
        self.behaviour.without != Some(calls.len() - 1)
    }

    fn expect_not_recording(&self) {
        assert!(self.recording.borrow().is_none(), "refused in a recording");
    }
}

fn bytes<T: Pod>(buffer: &PlacedBuffer<T>, range: Range<usize>) -> Range<usize> {
    assert!(range.start <= range.end && range.end <= buffer.len());
    let start = buffer.read().as_ptr().addr();
    start + range.start * size_of::<T>()..start + range.end * size_of::<T>()
}

fn reads<T: Pod>(buffer: &PlacedBuffer<T>, range: Range<usize>) -> Touch {
    Touch {
        bytes: bytes(buffer, range),
        access: Access::Read,
    }
}

fn writes<T: Pod>(buffer: &PlacedBuffer<T>, range: Range<usize>) -> Touch {
    Touch {
        access: Access::Write,
        ..reads(buffer, range)
    }
}

impl Fleet for RaceFleet {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = PlacedBuffer<T>;
    type Mark = RaceMark;
    type Relay<T: Pod + Send> = RaceRelay<T>;
    type Recording = Vec<Step>;

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
        format!("nothing {device}")
    }

    fn memory(&self, _device: usize) -> Result<(usize, usize)> {
        let free = if self.behaviour.tight { 1 } else { 1 << 40 };
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
    ) -> Result<PlacedBuffer<T>> {
        self.expect_not_recording();
        let buffer = self.memory.alloc::<T>(device, what, len)?;
        let address = buffer.read().as_ptr().addr();
        let mut order = self.order.borrow_mut();
        order.allocated(address, (len, size_of::<T>()), device, what);
        Ok(buffer)
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut PlacedBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        self.expect_not_recording();
        self.touch(HOST, "upload", vec![writes(buffer, at..at + host.len())]);
        Ok(())
    }

    /// The norms: so large that the run goes on, until the one that is to end it.
    fn download<T: Pod + Send>(
        &self,
        buffer: &PlacedBuffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        self.expect_not_recording();
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
        lane: Lane,
        launch: &L,
        _work: LaunchWork,
    ) -> Result<()> {
        launch.check()?;
        let sums_of = |address| self.order.borrow().start_of(address);
        let (sweep, touched) = touched(launch, sums_of);
        let work = Work {
            line: Self::line(device, lane),
            name: L::INFO.entry,
            sweep,
        };
        self.queue(Step::Touch(work, touched));
        Ok(())
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        lane: Lane,
        from: &PlacedBuffer<T>,
        to: &mut PlacedBuffer<T>,
    ) -> Result<()> {
        let touched = vec![reads(from, 0..from.len()), writes(to, 0..to.len())];
        self.touch(Self::line(device, lane), "copy", touched);
        Ok(())
    }

    fn relay<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<RaceRelay<T>> {
        self.calls.borrow_mut().get_or_insert_default();
        let last = self.last_relay.get();
        let leads_down = last.is_some_and(|(sender, down)| down || from <= sender);
        self.last_relay.set(Some((from, leads_down)));
        let host = if direct {
            None
        } else {
            let memory = RefCell::new(self.alloc(from, "rows under way", len)?);
            let mut receivers = self.receivers.borrow_mut();
            receivers.push(to);
            Some(Staging {
                memory,
                line: self.relay_line(receivers.len() - 1),
                sent: self.new_mark(),
            })
        };
        Ok(RaceRelay {
            from,
            leads_down,
            arrived: self.new_mark(),
            host,
        })
    }

    fn push<T: Pod + Send>(
        &self,
        relay: &RaceRelay<T>,
        lane: Lane,
        from: &PlacedBuffer<T>,
        range: Range<usize>,
        to: &mut PlacedBuffer<T>,
        at: usize,
    ) -> Result<()> {
        let line = Self::line(relay.from, lane);
        let count = range.len();
        let (source, target) = (reads(from, range), writes(to, at..at + count));
        let Some(host) = &relay.host else {
            self.touch(line, "push", vec![source, target]);
            self.queue(Step::Record(relay.arrived, line));
            return Ok(());
        };
        let memory = host.memory.borrow();
        self.queue(Step::Wait(relay.arrived, line));
        let taken = vec![source, writes(&memory, 0..count)];
        self.touch(line, "push to host", taken);
        self.queue(Step::Record(host.sent, line));
        self.queue(Step::Wait(host.sent, host.line));
        let given = vec![reads(&memory, 0..count), target];
        self.touch(host.line, "push from host", given);
        self.queue(Step::Record(relay.arrived, host.line));
        Ok(())
    }

    #[track_caller]
    fn await_push<T: Pod + Send>(
        &self,
        relay: &RaceRelay<T>,
        device: usize,
        lane: Lane,
    ) -> Result<()> {
        let what = || {
            let side = if relay.leads_down { "above" } else { "below" };
            format!("{} awaits the push from {side}", lane.name())
        };
        if self.takes_place(what) {
            self.queue(Step::Wait(relay.arrived, Self::line(device, lane)));
        }
        Ok(())
    }

    fn mark(&self, _device: usize) -> Result<RaceMark> {
        Ok(RaceMark(self.new_mark()))
    }

    #[track_caller]
    fn record(&self, mark: &RaceMark, device: usize, lane: Lane) -> Result<()> {
        self.setters.borrow_mut().insert(mark.0, lane);
        if self.takes_place(|| format!("{} is marked", lane.name())) {
            self.queue(Step::Record(mark.0, Self::line(device, lane)));
        }
        Ok(())
    }

    #[track_caller]
    fn wait(&self, mark: &RaceMark, device: usize, lane: Lane) -> Result<()> {
        let what = || {
            let setters = self.setters.borrow();
            let setter = setters.get(&mark.0).map_or("nothing", |lane| lane.name());
            format!("{} waits for {setter}", lane.name())
        };
        if self.takes_place(what) {
            self.queue(Step::Wait(mark.0, Self::line(device, lane)));
        }
        Ok(())
    }

    #[track_caller]
    fn synchronize(&self, device: usize, lane: Lane) -> Result<()> {
        self.expect_not_recording();
        if self.takes_place(|| format!("the host waits for {}", lane.name())) {
            let line = Self::line(device, lane);
            self.order.borrow_mut().host_waits([line].into_iter());
        }
        Ok(())
    }

    #[track_caller]
    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.expect_not_recording();
        if self.takes_place(|| "the host waits for a device".to_owned()) {
            let lines = self.lines_of(device).into_iter();
            self.order.borrow_mut().host_waits(lines);
        }
        Ok(())
    }

    #[track_caller]
    fn drain(&self) -> Result<()> {
        self.expect_not_recording();
        if self.takes_place(|| "the host waits for all".to_owned()) {
            let lines = (0..self.behaviour.devices).flat_map(|device| self.lines_of(device));
            self.order.borrow_mut().host_waits(lines);
        }
        Ok(())
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Vec<Step>>> {
        self.expect_not_recording();
        *self.recording.borrow_mut() = Some(Vec::new());
        let done = work();
        let steps = self.recording.borrow_mut().take();
        done.map(|()| steps)
    }

    fn replay(&self, recording: &mut Vec<Step>) -> Result<()> {
        self.expect_not_recording();
        self.order.borrow_mut().replay(recording);
        Ok(())
    }

    fn profile(&self) -> Result<()> {
        Ok(())
    }

    fn stretches(&self) -> Result<Vec<Stretch>> {
        Ok(Vec::new())
    }
}
