//! Emulators with a book of what is under way, one of whose calls fails.

use bytemuck::Pod;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warpstride::gpu::{
    Buffer, EmulatedFleet, EmulatedMark, EmulatedRelay, Fleet, GpuError, Lane, Link, PlacedBuffer,
    RangedBuffer, Result, Stretch,
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
    Relay,
    Push,
    AwaitPush,
    Mark,
    Record,
    Wait,
    Synchronize,
    SynchronizeDevice,
    Drain,
    Capture,
    Profile,
    Stretches,
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
        Self::Relay,
        Self::Push,
        Self::AwaitPush,
        Self::Mark,
        Self::Record,
        Self::Wait,
        Self::Synchronize,
        Self::SynchronizeDevice,
        Self::Drain,
        Self::Capture,
        Self::Profile,
        Self::Stretches,
    ];
}

/// Which call fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) call: Call,
    pub(super) device: usize,
    /// The first is 1.
    pub(super) n: usize,
    /// Whether everything fails on that device from then on, as after an illegal address.
    pub(super) lasting: bool,
}

/// Begins the first error; later ones have other words.
pub(super) const FIRST: &str = "the fault";

/// What happened.
#[derive(Debug, Default)]
pub(super) struct Book {
    seen: usize,
    pub(super) failed: bool,
    /// Calls after the one that failed.
    pub(super) after: Vec<Call>,
    /// What must not happen, in words.
    pub(super) wrongs: Vec<String>,
    recording: bool,
    /// Pieces of work of a device that nobody has waited for, by lane; `None`: from the host.
    under_way: HashMap<(usize, Option<Lane>), usize>,
}

impl Book {
    fn queue(&mut self, device: usize, lane: Option<Lane>) {
        *self.under_way.entry((device, lane)).or_default() += 1;
    }

    /// Work on one device may touch another's memory: none may be under way on any.
    fn expect_idle(&mut self, device: usize, what: &str) {
        if !self.under_way.is_empty() {
            let words = format!("{what} on device {device} with {:?}", self.under_way);
            self.wrongs.push(words);
        }
    }
}

/// Memory of a device, whose return is booked.
pub(super) struct Booked<T> {
    inner: PlacedBuffer<T>,
    device: usize,
    book: Arc<Mutex<Book>>,
}

impl<T> Drop for Booked<T> {
    fn drop(&mut self) {
        locked(&self.book).expect_idle(self.device, "memory given back");
    }
}

impl<T: Pod> Buffer<Emulated, T> for Booked<T> {
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

impl<T: Pod> RangedBuffer<Emulated, T> for Booked<T> {
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Emulated, T>> {
        self.inner.read_range(range)
    }

    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Emulated, T>> {
        self.inner.write_range(range)
    }
}

/// See the head of this file.
pub(super) struct BookedFleet {
    inner: EmulatedFleet,
    fault: Fault,
    book: Arc<Mutex<Book>>,
}

impl BookedFleet {
    pub(super) fn new(devices: usize, fault: Fault) -> Self {
        Self {
            inner: EmulatedFleet::new(devices),
            fault,
            book: Arc::default(),
        }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.book)
    }

    /// Notes a call on a device, or on all of them, which fails where that is its turn.
    fn call(&self, call: Call, device: Option<usize>) -> Result<()> {
        let fault = self.fault;
        let mut book = self.book();
        let here = device.is_none_or(|device| device == fault.device);
        let fails = |words: &'static str| {
            Err(GpuError::OnDevice {
                device: fault.device,
                error: Box::new(GpuError::HostMemory {
                    what: words,
                    needed: fault.n,
                }),
            })
        };
        if book.failed {
            book.after.push(call);
            return if here && fault.lasting {
                fails("a later failure")
            } else {
                Ok(())
            };
        }
        if here && call == fault.call {
            book.seen += 1;
            if book.seen == fault.n {
                book.failed = true;
                return fails(FIRST);
            }
        }
        Ok(())
    }

    /// Notes a piece of work; whether it is to be done now.
    fn queued(&self, device: usize, lane: Option<Lane>) -> bool {
        let mut book = self.book();
        if !book.recording {
            book.queue(device, lane);
        }
        !book.recording
    }

    fn waited(&self, of: impl Fn(usize, Option<Lane>) -> bool) {
        self.book()
            .under_way
            .retain(|(device, lane), _| !of(*device, *lane));
    }
}

fn locked(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet for BookedFleet {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = Booked<T>;
    type Mark = EmulatedMark;
    /// With the devices that it connects, and whether it goes through the host.
    type Relay<T: Pod + Send> = (EmulatedRelay<T>, [usize; 2], bool);
    type Recording = std::convert::Infallible;

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
    ) -> Result<Booked<T>> {
        self.call(Call::Alloc, Some(device))?;
        Ok(Booked {
            inner: self.inner.alloc(device, what, len)?,
            device,
            book: Arc::clone(&self.book),
        })
    }

    fn upload<T: Pod + Send>(&self, buffer: &mut Booked<T>, at: usize, host: &[T]) -> Result<()> {
        self.call(Call::Upload, Some(buffer.device))?;
        self.book().expect_idle(buffer.device, "an upload");
        self.inner.upload(&mut buffer.inner, at, host)
    }

    fn download<T: Pod + Send>(&self, buffer: &Booked<T>, at: usize, host: &mut [T]) -> Result<()> {
        self.call(Call::Download, Some(buffer.device))?;
        self.book().expect_idle(buffer.device, "a download");
        self.inner.download(&buffer.inner, at, host)
    }

    fn launch<L: Launch<Emulated> + Sync>(
        &self,
        device: usize,
        lane: Lane,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        self.call(Call::Launch, Some(device))?;
        if !self.queued(device, Some(lane)) {
            return Ok(());
        }
        self.inner.launch(device, lane, launch, work)
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        lane: Lane,
        from: &Booked<T>,
        to: &mut Booked<T>,
    ) -> Result<()> {
        self.call(Call::Copy, Some(device))?;
        if !self.queued(device, Some(lane)) {
            return Ok(());
        }
        self.inner.copy(device, lane, &from.inner, &mut to.inner)
    }

    fn relay<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<Self::Relay<T>> {
        self.call(Call::Relay, Some(from))?;
        let relay = self.inner.relay(from, to, len, direct)?;
        Ok((relay, [from, to], !direct))
    }

    fn push<T: Pod + Send>(
        &self,
        (relay, [sender, receiver], staged): &Self::Relay<T>,
        lane: Lane,
        from: &Booked<T>,
        range: Range<usize>,
        to: &mut Booked<T>,
        at: usize,
    ) -> Result<()> {
        self.call(Call::Push, Some(*sender))?;
        if !self.queued(*sender, Some(lane)) {
            return Ok(());
        }
        if *staged {
            self.queued(*receiver, None);
        }
        self.inner
            .push(relay, lane, &from.inner, range, &mut to.inner, at)
    }

    fn await_push<T: Pod + Send>(
        &self,
        (relay, ..): &Self::Relay<T>,
        device: usize,
        lane: Lane,
    ) -> Result<()> {
        self.call(Call::AwaitPush, Some(device))?;
        self.inner.await_push(relay, device, lane)
    }

    fn mark(&self, device: usize) -> Result<EmulatedMark> {
        self.call(Call::Mark, Some(device))?;
        self.inner.mark(device)
    }

    fn record(&self, mark: &EmulatedMark, device: usize, lane: Lane) -> Result<()> {
        self.call(Call::Record, Some(device))?;
        self.inner.record(mark, device, lane)
    }

    fn wait(&self, mark: &EmulatedMark, device: usize, lane: Lane) -> Result<()> {
        self.call(Call::Wait, Some(device))?;
        self.inner.wait(mark, device, lane)
    }

    fn synchronize(&self, device: usize, lane: Lane) -> Result<()> {
        self.call(Call::Synchronize, Some(device))?;
        self.waited(|of, queue| (of, queue) == (device, Some(lane)));
        self.inner.synchronize(device, lane)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.call(Call::SynchronizeDevice, Some(device))?;
        self.waited(|of, _| of == device);
        self.inner.synchronize_device(device)
    }

    fn drain(&self) -> Result<()> {
        // All are waited for, also where one of them fails.
        self.waited(|_, _| true);
        self.call(Call::Drain, None)
    }

    /// The work is looked through, but nothing is kept of it: emulators do not record.
    fn capture(
        &self,
        work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<std::convert::Infallible>> {
        self.call(Call::Capture, None)?;
        self.book().recording = true;
        let done = work();
        self.book().recording = false;
        done.map(|()| None)
    }

    fn replay(&self, recording: &mut std::convert::Infallible) -> Result<()> {
        match *recording {}
    }

    fn profile(&self) -> Result<()> {
        self.call(Call::Profile, None)?;
        self.inner.profile()
    }

    fn stretches(&self) -> Result<Vec<Stretch>> {
        self.call(Call::Stretches, None)?;
        self.inner.stretches()
    }
}
