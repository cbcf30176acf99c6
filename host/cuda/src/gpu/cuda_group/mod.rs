//! CUDA devices as a [`DeviceGroup`].
//!
//! A group is used by one thread at a time. The streams themselves are ordered with graph launches:
//! a stream that was not used since the last launch costs the next launch nothing, and vice versa.

mod event;
mod graph;
mod group;
mod member;
mod peer_channel;
mod pending_send;
mod profiler;
mod wait;

use std::ops::Range;
use std::sync::PoisonError;

use bytemuck::Pod;
use warpstride_device::launch::{Cuda, Launch, Read, Work, Write};

use super::ProfileSpan;
use super::device_group::{DeviceGroup, Link, RangedBuffer, StreamId};
use super::{GpuError, Result};
use crate::cuda::{CudaError, DeviceBuffer, RowLayout};

pub use event::CudaEvent;
pub use graph::CudaGroupGraph;
pub use group::CudaDeviceGroup;
pub use peer_channel::CudaPeerChannel;

impl<T: Pod> RangedBuffer<Cuda, T> for DeviceBuffer<T> {
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Cuda, T>> {
        let ordinal = self.context().ordinal();
        Self::read_range(self, range).map_err(|error| GpuError::from(error).on(ordinal))
    }

    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Cuda, T>> {
        let ordinal = self.context().ordinal();
        Self::write_range(self, range).map_err(|error| GpuError::from(error).on(ordinal))
    }
}

impl CudaDeviceGroup {
    pub(super) fn queue_copy_of_rows<T: Pod + Send, U: Pod + Send>(
        &self,
        (device, stream_id): (usize, StreamId),
        size: [usize; 2],
        from: (&DeviceBuffer<T>, RowLayout),
        to: (&mut DeviceBuffer<U>, RowLayout),
    ) -> Result<()> {
        let (stream, capture) = self.stream_for_work(device, stream_id)?;
        self.on_device(device, |member| {
            let names = (stream_id.name(), "copy");
            self.profiler
                .time((device, member, stream), names, capture, || {
                    Ok(stream.copy_rows(size, from, to)?)
                })
        })
    }
}

impl DeviceGroup for CudaDeviceGroup {
    type Space = Cuda;
    type Buffer<T: Pod + Send> = DeviceBuffer<T>;
    type Event = CudaEvent;
    type PeerChannel<T: Pod + Send> = CudaPeerChannel<T>;
    type Graph = CudaGroupGraph;

    fn backend(&self) -> &'static str {
        "cuda"
    }

    fn devices(&self) -> usize {
        self.members.len()
    }

    fn ordinal(&self, device: usize) -> usize {
        self.members[device].info.ordinal
    }

    fn device_name(&self, device: usize) -> String {
        self.members[device].info.name.clone()
    }

    fn memory(&self, device: usize) -> Result<(usize, usize)> {
        let memory = self.on_device(device, |member| member.context.memory())?;
        Ok((memory.free, memory.total))
    }

    fn links(&self) -> Vec<Link> {
        self.links.clone()
    }

    fn resident_blocks<L: Launch<Cuda>>(&self, device: usize, launch: &L) -> Result<usize> {
        self.on_device(device, |member| {
            let blocks = member.module.resident_blocks(launch)?;
            Ok::<_, CudaError>(blocks as usize * member.module.multiprocessors() as usize)
        })
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<DeviceBuffer<T>> {
        self.expect_no_capture("an allocation")?;
        self.on_device(device, |member| {
            DeviceBuffer::zeroed(&member.context, what, len)
        })
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut DeviceBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        let device = self.index_of(buffer)?;
        self.on_device(device, |member| -> Result<()> {
            self.expect_no_capture("a copy from host memory")?;
            buffer.expect_range("upload", &(at..at.saturating_add(host.len())))?;
            let mut copies = member.copies.lock().unwrap_or_else(PoisonError::into_inner);
            let (stream, staging) = &mut *copies;
            staging.upload_at(
                stream,
                bytemuck::cast_slice(host),
                buffer,
                at * size_of::<T>(),
            )?;
            Ok(stream.synchronize()?)
        })
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &DeviceBuffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        let device = self.index_of(buffer)?;
        self.on_device(device, |member| -> Result<()> {
            self.expect_no_capture("a copy to host memory")?;
            buffer.expect_range("download", &(at..at.saturating_add(host.len())))?;
            let mut copies = member.copies.lock().unwrap_or_else(PoisonError::into_inner);
            let (stream, staging) = &mut *copies;
            let bytes = bytemuck::cast_slice_mut(host);
            Ok(staging.download_at(stream, buffer, at * size_of::<T>(), bytes)?)
        })
    }

    fn launch<L: Launch<Cuda> + Sync>(
        &self,
        device: usize,
        stream_id: StreamId,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        let (stream, capture) = self.stream_for_work(device, stream_id)?;
        self.on_device(device, |member| {
            let names = (stream_id.name(), L::INFO.entry);
            self.profiler
                .time((device, member, stream), names, capture, || {
                    member.module.launch(stream, launch, work)
                })
        })
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        stream_id: StreamId,
        from: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        let (stream, capture) = self.stream_for_work(device, stream_id)?;
        self.on_device(device, |member| {
            let names = (stream_id.name(), "copy");
            self.profiler
                .time((device, member, stream), names, capture, || {
                    Ok(stream.copy(from, to)?)
                })
        })
    }

    fn peer_channel<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<CudaPeerChannel<T>> {
        self.expect_no_capture("an allocation")?;
        CudaPeerChannel::new(self, from, to, len, direct)
    }

    fn send<T: Pod + Send>(
        &self,
        peer_channel: &CudaPeerChannel<T>,
        stream_id: StreamId,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        peer_channel.send(self, stream_id, from, range, to, at)
    }

    fn wait_for_send<T: Pod + Send>(
        &self,
        peer_channel: &CudaPeerChannel<T>,
        device: usize,
        stream_id: StreamId,
    ) -> Result<()> {
        let (stream, capture) = self.stream_for_work(device, stream_id)?;
        self.on_device(device, |_| peer_channel.wait_in(stream, capture))
    }

    fn event(&self, device: usize) -> Result<CudaEvent> {
        self.on_device(device, |member| CudaEvent::new(&member.context))
    }

    fn record(&self, event: &CudaEvent, device: usize, stream_id: StreamId) -> Result<()> {
        let (stream, capture) = self.stream_for_work(device, stream_id)?;
        self.on_device(device, |_| event.record(stream, capture))
    }

    fn wait(&self, event: &CudaEvent, device: usize, stream_id: StreamId) -> Result<()> {
        let (stream, capture) = self.stream_for_work(device, stream_id)?;
        self.on_device(device, |_| event.wait_in(stream, capture))
    }

    fn synchronize(&self, device: usize, stream_id: StreamId) -> Result<()> {
        self.expect_no_capture("waiting on the host")?;
        self.wait_for_stream(device, stream_id)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.expect_no_capture("waiting on the host")?;
        self.member(device)?;
        self.wait_for_devices(device..device + 1)
    }

    fn drain(&self) -> Result<()> {
        self.expect_no_capture("waiting on the host")?;
        self.wait_for_devices(0..self.members.len())
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<CudaGroupGraph>> {
        self.capture_all(work).map(Some)
    }

    fn replay(&self, graph: &mut CudaGroupGraph) -> Result<()> {
        let ordinal = self.members[0].info.ordinal;
        self.replay_all(graph).map_err(|error| error.on(ordinal))
    }

    fn profile(&self) -> Result<()> {
        self.drain()?;
        self.profiler.start(&self.members, |member| {
            &member.stream(StreamId::Bulk).stream
        })
    }

    fn profile_spans(&self) -> Result<Vec<ProfileSpan>> {
        self.profiler.profile_spans(&self.members)
    }
}
