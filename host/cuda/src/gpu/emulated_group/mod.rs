//! Several emulators as a [`DeviceGroup`]. All work is done when its call returns.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use warpstride_device::launch::{Emulated, Launch, Read, Work, Write};

use super::ProfileSpan;
use super::device_group::{DeviceGroup, Link, RangedBuffer, StreamId};
use super::host_profiler::HostProfiler;
use super::{Buffer, Device, EmulatedBuffer, EmulatedDevice, GpuError, Result};
use crate::cuda::{CudaError, RowLayout};

/// A group of emulated devices, numbered from 0, each with its own memory.
#[derive(Debug)]
pub struct EmulatedDeviceGroup {
    devices: Vec<EmulatedDevice>,
    profiler: HostProfiler,
}

/// A buffer of one device of an [`EmulatedDeviceGroup`].
#[derive(Debug)]
pub struct EmulatedGroupBuffer<T> {
    memory: EmulatedBuffer<T>,
    device: usize,
}

/// An event, which is passed as soon as it is recorded.
#[derive(Debug)]
pub struct EmulatedEvent {
    device: usize,
}

/// A connection from one emulated device to another.
pub struct EmulatedPeerChannel<T> {
    from: usize,
    to: usize,
    len: usize,
    /// Memory of a channel through the host; `None` if the channel is direct.
    host: Option<Mutex<Vec<T>>>,
}

impl<T> fmt::Debug for EmulatedPeerChannel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedPeerChannel")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("len", &self.len)
            .field("direct", &self.host.is_none())
            .finish()
    }
}

impl EmulatedDeviceGroup {
    /// Creates a group of `devices` emulated devices.
    #[must_use]
    pub fn new(devices: usize) -> Self {
        Self {
            devices: (0..devices).map(|_| EmulatedDevice::new()).collect(),
            profiler: HostProfiler::default(),
        }
    }

    fn device(&self, device: usize) -> Result<&EmulatedDevice> {
        self.devices.get(device).ok_or(GpuError::NotInGroup {
            device,
            devices: self.devices.len(),
        })
    }

    /// Runs `work` and records its time if profiling was started.
    fn timed<T>(
        &self,
        device: usize,
        stream: &'static str,
        name: &'static str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let _span = self.profiler.begin((device, stream), name, None);
        work().map_err(|error| error.on(device))
    }
}

impl<T: Pod> Buffer<Emulated, T> for EmulatedGroupBuffer<T> {
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

impl<T: Pod> RangedBuffer<Emulated, T> for EmulatedGroupBuffer<T> {
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Emulated, T>> {
        let refused = self.out_of_range("read", &range);
        self.memory.read_range(range).ok_or(refused)
    }

    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Emulated, T>> {
        let refused = self.out_of_range("write", &range);
        self.memory.write_range(range).ok_or(refused)
    }
}

impl<T: Pod> EmulatedGroupBuffer<T> {
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

impl EmulatedDeviceGroup {
    pub(super) fn copy_of_rows<T: Pod + Send, U: Pod + Send>(
        &self,
        (device, stream): (usize, StreamId),
        [rows, width]: [usize; 2],
        (from, source): (&EmulatedGroupBuffer<T>, RowLayout),
        (to, target): (&mut EmulatedGroupBuffer<U>, RowLayout),
    ) -> Result<()> {
        from.expect_on(device, "the source")?;
        to.expect_on(device, "the target")?;
        let from: &[u8] = bytemuck::cast_slice(from.memory.as_slice());
        let to: &mut [u8] = bytemuck::cast_slice_mut(to.memory.as_mut_slice());
        for (layout, len) in [(source, from.len()), (target, to.len())] {
            let end = layout
                .start
                .saturating_add(rows.saturating_mul(layout.pitch));
            layout
                .extent([rows, width], len)
                .ok_or_else(|| range_error("copy rows", &(layout.start..end), len).on(device))?;
        }
        self.timed(device, stream.name(), "copy", || {
            for row in 0..rows {
                let range = |layout: RowLayout| {
                    let first = layout.start + row * layout.pitch;
                    first..first + width
                };
                to[range(target)].copy_from_slice(&from[range(source)]);
            }
            Ok(())
        })
    }
}

impl DeviceGroup for EmulatedDeviceGroup {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedGroupBuffer<T>;
    type Event = EmulatedEvent;
    type PeerChannel<T: Pod + Send> = EmulatedPeerChannel<T>;
    type Graph = std::convert::Infallible;

    fn backend(&self) -> &'static str {
        "emulator"
    }

    fn devices(&self) -> usize {
        self.devices.len()
    }

    fn ordinal(&self, device: usize) -> usize {
        device
    }

    fn device_name(&self, device: usize) -> String {
        self.devices[device].device_name()
    }

    fn memory(&self, device: usize) -> Result<(usize, usize)> {
        let memory = self.device(device)?.memory();
        memory.map_err(|error| error.on(device))
    }

    fn links(&self) -> Vec<Link> {
        let indices = 0..self.devices.len();
        let pairs = indices
            .clone()
            .flat_map(|from| indices.clone().map(move |to| (from, to)));
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
        Ok(self.device(device)?.multiprocessors() as usize)
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<EmulatedGroupBuffer<T>> {
        let memory = self.device(device)?.alloc(what, len);
        Ok(EmulatedGroupBuffer {
            memory: memory.map_err(|error| error.on(device))?,
            device,
        })
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut EmulatedGroupBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        let range = at..at.saturating_add(host.len());
        buffer.elements_mut("upload", range)?.copy_from_slice(host);
        Ok(())
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &EmulatedGroupBuffer<T>,
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
        stream: StreamId,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        let emulated = self.device(device)?;
        let name = L::INFO.entry;
        self.timed(device, stream.name(), name, || {
            emulated.launch(launch, work)
        })
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        stream: StreamId,
        from: &EmulatedGroupBuffer<T>,
        to: &mut EmulatedGroupBuffer<T>,
    ) -> Result<()> {
        from.expect_on(device, "the source")?;
        to.expect_on(device, "the target")?;
        let emulated = self.device(device)?;
        let (from, to) = (&from.memory, &mut to.memory);
        self.timed(device, stream.name(), "copy", || emulated.copy(from, to))
    }

    fn peer_channel<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<EmulatedPeerChannel<T>> {
        self.device(from)?;
        self.device(to)?;
        Ok(EmulatedPeerChannel {
            from,
            to,
            len,
            host: (!direct).then(Mutex::default),
        })
    }

    fn send<T: Pod + Send>(
        &self,
        peer_channel: &EmulatedPeerChannel<T>,
        stream: StreamId,
        from: &EmulatedGroupBuffer<T>,
        range: Range<usize>,
        to: &mut EmulatedGroupBuffer<T>,
        at: usize,
    ) -> Result<()> {
        from.expect_on(peer_channel.from, "the source")?;
        to.expect_on(peer_channel.to, "the target")?;
        if range.len() > peer_channel.len {
            let whole = 0..range.len();
            return Err(
                range_error("send through a peer channel", &whole, peer_channel.len)
                    .on(peer_channel.from),
            );
        }
        let target = at..at.saturating_add(range.len());
        let source = from.elements("send", range)?;
        let target = to.elements_mut("send", target)?;
        let Some(host) = &peer_channel.host else {
            return self.timed(peer_channel.from, stream.name(), "send", || {
                target.copy_from_slice(source);
                Ok(())
            });
        };
        let mut host = host.lock().unwrap_or_else(PoisonError::into_inner);
        self.timed(peer_channel.from, stream.name(), "send to host", || {
            host.clear();
            host.extend_from_slice(source);
            Ok(())
        })?;
        self.timed(peer_channel.to, "receive", "receive from host", || {
            target.copy_from_slice(&host);
            Ok(())
        })
    }

    fn wait_for_send<T: Pod + Send>(
        &self,
        _peer_channel: &EmulatedPeerChannel<T>,
        device: usize,
        _stream: StreamId,
    ) -> Result<()> {
        self.device(device).map(drop)
    }

    fn event(&self, device: usize) -> Result<EmulatedEvent> {
        self.device(device)?;
        Ok(EmulatedEvent { device })
    }

    fn record(&self, event: &EmulatedEvent, device: usize, _stream: StreamId) -> Result<()> {
        self.device(device)?;
        expect_on(event.device, device, "the event")
    }

    fn wait(&self, _event: &EmulatedEvent, device: usize, _stream: StreamId) -> Result<()> {
        self.device(device).map(drop)
    }

    fn synchronize(&self, device: usize, _stream: StreamId) -> Result<()> {
        self.device(device).map(drop)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.device(device).map(drop)
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

    fn replay(&self, graph: &mut std::convert::Infallible) -> Result<()> {
        match *graph {}
    }

    fn profile(&self) -> Result<()> {
        self.profiler.start();
        Ok(())
    }

    fn profile_spans(&self) -> Result<Vec<ProfileSpan>> {
        Ok(self.profiler.take())
    }
}
