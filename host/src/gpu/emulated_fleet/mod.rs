//! Several emulators as a [`Fleet`]. All work is done when a call returns, in the order of the calls.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytemuck::Pod;
use warpstride_device::launch::{Emulated, Launch, Read, Work, Write};

use super::fleet::{Fleet, Lane, Link, RangedBuffer, Stretch};
use super::{Buffer, EmulatedBuffer, EmulatedMachine, GpuError, Machine, Result};
use crate::cuda::CudaError;

/// Emulators that are called devices 0, 1, …, each with memory of its own.
#[derive(Debug)]
pub struct EmulatedFleet {
    machines: Vec<EmulatedMachine>,
    profile: Mutex<Option<Profile>>,
}

/// Times by the host's clock.
#[derive(Debug)]
struct Profile {
    origin: Instant,
    stretches: Vec<Stretch>,
}

/// A buffer of one of the emulators.
#[derive(Debug)]
pub struct PlacedBuffer<T> {
    memory: EmulatedBuffer<T>,
    device: usize,
}

/// A mark, which is passed as soon as it is set.
#[derive(Debug)]
pub struct EmulatedMark {
    device: usize,
}

/// The way of rows between two emulators.
pub struct EmulatedRelay<T> {
    from: usize,
    to: usize,
    len: usize,
    /// `None`: they go without a stop.
    host: Option<Mutex<Vec<T>>>,
}

impl<T> fmt::Debug for EmulatedRelay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedRelay")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("len", &self.len)
            .field("direct", &self.host.is_none())
            .finish()
    }
}

impl EmulatedFleet {
    /// A fleet of that many emulators.
    #[must_use]
    pub fn new(devices: usize) -> Self {
        Self {
            machines: (0..devices).map(|_| EmulatedMachine::new()).collect(),
            profile: Mutex::default(),
        }
    }

    fn machine(&self, device: usize) -> Result<&EmulatedMachine> {
        self.machines.get(device).ok_or(GpuError::NotInFleet {
            device,
            devices: self.machines.len(),
        })
    }

    /// Does `work`, with its time if that is asked for.
    fn timed<T>(
        &self,
        device: usize,
        lane: &'static str,
        name: &'static str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let start = Instant::now();
        let done = work().map_err(|error| error.on(device))?;
        let end = Instant::now();
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = &mut *profile {
            let us = |time: Instant| 1e6 * (time - profile.origin).as_secs_f64();
            let (start_us, end_us) = (us(start), us(end));
            profile.stretches.push(Stretch {
                device,
                lane,
                name,
                start_us,
                end_us,
            });
        }
        Ok(done)
    }
}

impl<T: Pod> Buffer<Emulated, T> for PlacedBuffer<T> {
    fn len(&self) -> usize {
        self.memory.len()
    }

    fn read(&self) -> Read<'_, Emulated, T> {
        self.memory.read()
    }

    fn write(&mut self) -> Write<'_, Emulated, T> {
        self.memory.write()
    }
}

impl<T: Pod> RangedBuffer<Emulated, T> for PlacedBuffer<T> {
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Emulated, T>> {
        let refused = self.out_of_range("read", &range);
        self.memory.read_range(range).ok_or(refused)
    }

    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Emulated, T>> {
        let refused = self.out_of_range("write", &range);
        self.memory.write_range(range).ok_or(refused)
    }
}

impl<T: Pod> PlacedBuffer<T> {
    fn out_of_range(&self, what: &'static str, range: &Range<usize>) -> GpuError {
        range_error(what, range, self.memory.len()).on(self.device)
    }

    fn elements(&self, what: &'static str, range: Range<usize>) -> Result<&[T]> {
        let refused = self.out_of_range(what, &range);
        self.memory.as_slice().get(range).ok_or(refused)
    }

    fn elements_mut(&mut self, what: &'static str, range: Range<usize>) -> Result<&mut [T]> {
        let refused = self.out_of_range(what, &range);
        self.memory.as_mut_slice().get_mut(range).ok_or(refused)
    }

    fn expect_on(&self, device: usize, what: &'static str) -> Result<()> {
        expect_on(self.device, device, what)
    }
}

fn expect_on(found: usize, expected: usize, what: &'static str) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let error = CudaError::OtherDevice {
        what,
        expected,
        found,
    };
    Err(GpuError::from(error).on(expected))
}

fn range_error(what: &'static str, range: &Range<usize>, len: usize) -> GpuError {
    GpuError::from(CudaError::Range {
        what,
        start: range.start,
        end: range.end,
        len,
    })
}

impl Fleet for EmulatedFleet {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = PlacedBuffer<T>;
    type Mark = EmulatedMark;
    type Relay<T: Pod + Send> = EmulatedRelay<T>;
    type Recording = std::convert::Infallible;

    fn backend(&self) -> &'static str {
        "emulator"
    }

    fn devices(&self) -> usize {
        self.machines.len()
    }

    fn ordinal(&self, device: usize) -> usize {
        device
    }

    fn device_name(&self, device: usize) -> String {
        self.machines[device].device_name()
    }

    fn memory(&self, device: usize) -> Result<(usize, usize)> {
        let memory = self.machine(device)?.memory();
        memory.map_err(|error| error.on(device))
    }

    fn links(&self) -> Vec<Link> {
        let places = 0..self.machines.len();
        let pairs = places
            .clone()
            .flat_map(|from| places.clone().map(move |to| (from, to)));
        pairs
            .filter(|(from, to)| from != to)
            .map(|(from, to)| Link {
                from,
                to,
                direct: true,
            })
            .collect()
    }

    fn resident_blocks<L: Launch<Emulated>>(&self, device: usize, _launch: &L) -> Result<usize> {
        Ok(self.machine(device)?.multiprocessors() as usize)
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<PlacedBuffer<T>> {
        let memory = self.machine(device)?.alloc(what, len);
        Ok(PlacedBuffer {
            memory: memory.map_err(|error| error.on(device))?,
            device,
        })
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut PlacedBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        let range = at..at.saturating_add(host.len());
        buffer.elements_mut("upload", range)?.copy_from_slice(host);
        Ok(())
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &PlacedBuffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        let range = at..at.saturating_add(host.len());
        host.copy_from_slice(buffer.elements("download", range)?);
        Ok(())
    }

    fn launch<L: Launch<Emulated> + Sync>(
        &self,
        device: usize,
        lane: Lane,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        let machine = self.machine(device)?;
        let name = L::INFO.entry;
        self.timed(device, lane.name(), name, || machine.launch(launch, work))
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        lane: Lane,
        from: &PlacedBuffer<T>,
        to: &mut PlacedBuffer<T>,
    ) -> Result<()> {
        from.expect_on(device, "the source")?;
        to.expect_on(device, "the target")?;
        let machine = self.machine(device)?;
        let (from, to) = (&from.memory, &mut to.memory);
        self.timed(device, lane.name(), "copy", || machine.copy(from, to))
    }

    fn relay<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<EmulatedRelay<T>> {
        self.machine(from)?;
        self.machine(to)?;
        Ok(EmulatedRelay {
            from,
            to,
            len,
            host: (!direct).then(Mutex::default),
        })
    }

    fn push<T: Pod + Send>(
        &self,
        relay: &EmulatedRelay<T>,
        lane: Lane,
        from: &PlacedBuffer<T>,
        range: Range<usize>,
        to: &mut PlacedBuffer<T>,
        at: usize,
    ) -> Result<()> {
        from.expect_on(relay.from, "the source")?;
        to.expect_on(relay.to, "the target")?;
        if range.len() > relay.len {
            let whole = 0..range.len();
            return Err(range_error("push through a relay", &whole, relay.len).on(relay.from));
        }
        let target = at..at.saturating_add(range.len());
        let source = from.elements("push", range)?;
        let target = to.elements_mut("push", target)?;
        let Some(host) = &relay.host else {
            return self.timed(relay.from, lane.name(), "push", || {
                target.copy_from_slice(source);
                Ok(())
            });
        };
        let mut host = host.lock().unwrap_or_else(PoisonError::into_inner);
        self.timed(relay.from, lane.name(), "push to host", || {
            host.clear();
            host.extend_from_slice(source);
            Ok(())
        })?;
        self.timed(relay.to, "relay", "push from host", || {
            target.copy_from_slice(&host);
            Ok(())
        })
    }

    fn await_push<T: Pod + Send>(
        &self,
        _relay: &EmulatedRelay<T>,
        device: usize,
        _lane: Lane,
    ) -> Result<()> {
        self.machine(device).map(drop)
    }

    fn mark(&self, device: usize) -> Result<EmulatedMark> {
        self.machine(device)?;
        Ok(EmulatedMark { device })
    }

    fn record(&self, mark: &EmulatedMark, device: usize, _lane: Lane) -> Result<()> {
        self.machine(device)?;
        expect_on(mark.device, device, "the event")
    }

    fn wait(&self, _mark: &EmulatedMark, device: usize, _lane: Lane) -> Result<()> {
        self.machine(device).map(drop)
    }

    fn synchronize(&self, device: usize, _lane: Lane) -> Result<()> {
        self.machine(device).map(drop)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.machine(device).map(drop)
    }

    fn drain(&self) -> Result<()> {
        Ok(())
    }

    fn capture(
        &self,
        _work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<std::convert::Infallible>> {
        Ok(None)
    }

    fn replay(&self, recording: &mut std::convert::Infallible) -> Result<()> {
        match *recording {}
    }

    fn profile(&self) -> Result<()> {
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        *profile = Some(Profile {
            origin: Instant::now(),
            stretches: Vec::new(),
        });
        Ok(())
    }

    fn stretches(&self) -> Result<Vec<Stretch>> {
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        let known = profile.as_mut();
        Ok(known.map_or_else(Vec::new, |known| std::mem::take(&mut known.stretches)))
    }
}
