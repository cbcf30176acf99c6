//! [`DeviceGroup`] for references, so that several runs can use the same group one after the other.

use std::ops::Range;

use bytemuck::Pod;
use warpstride_device::launch::{Launch, Work};

use super::{DeviceGroup, Link, ProfileSpan, Result, StreamId};

impl<G: DeviceGroup> DeviceGroup for &G {
    type Space = G::Space;
    type Buffer<T: Pod + Send> = G::Buffer<T>;
    type Event = G::Event;
    type PeerChannel<T: Pod + Send> = G::PeerChannel<T>;
    type Graph = G::Graph;

    fn backend(&self) -> &'static str {
        (**self).backend()
    }

    fn devices(&self) -> usize {
        (**self).devices()
    }

    fn ordinal(&self, device: usize) -> usize {
        (**self).ordinal(device)
    }

    fn device_name(&self, device: usize) -> String {
        (**self).device_name(device)
    }

    fn memory(&self, device: usize) -> Result<(usize, usize)> {
        (**self).memory(device)
    }

    fn links(&self) -> Vec<Link> {
        (**self).links()
    }

    fn resident_blocks<L: Launch<G::Space>>(&self, device: usize, launch: &L) -> Result<usize> {
        (**self).resident_blocks(device, launch)
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<G::Buffer<T>> {
        (**self).alloc(device, what, len)
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut G::Buffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        (**self).upload(buffer, at, host)
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &G::Buffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        (**self).download(buffer, at, host)
    }

    fn launch<L: Launch<G::Space> + Sync>(
        &self,
        device: usize,
        stream: StreamId,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        (**self).launch(device, stream, launch, work)
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        stream: StreamId,
        from: &G::Buffer<T>,
        to: &mut G::Buffer<T>,
    ) -> Result<()> {
        (**self).copy(device, stream, from, to)
    }

    fn peer_channel<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<G::PeerChannel<T>> {
        (**self).peer_channel(from, to, len, direct)
    }

    fn send<T: Pod + Send>(
        &self,
        peer_channel: &G::PeerChannel<T>,
        stream: StreamId,
        from: &G::Buffer<T>,
        range: Range<usize>,
        to: &mut G::Buffer<T>,
        at: usize,
    ) -> Result<()> {
        (**self).send(peer_channel, stream, from, range, to, at)
    }

    fn wait_for_send<T: Pod + Send>(
        &self,
        peer_channel: &G::PeerChannel<T>,
        device: usize,
        stream: StreamId,
    ) -> Result<()> {
        (**self).wait_for_send(peer_channel, device, stream)
    }

    fn event(&self, device: usize) -> Result<G::Event> {
        (**self).event(device)
    }

    fn record(&self, event: &G::Event, device: usize, stream: StreamId) -> Result<()> {
        (**self).record(event, device, stream)
    }

    fn wait(&self, event: &G::Event, device: usize, stream: StreamId) -> Result<()> {
        (**self).wait(event, device, stream)
    }

    fn synchronize(&self, device: usize, stream: StreamId) -> Result<()> {
        (**self).synchronize(device, stream)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        (**self).synchronize_device(device)
    }

    fn drain(&self) -> Result<()> {
        (**self).drain()
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<G::Graph>> {
        (**self).capture(work)
    }

    fn replay(&self, graph: &mut G::Graph) -> Result<()> {
        (**self).replay(graph)
    }

    fn profile(&self) -> Result<()> {
        (**self).profile()
    }

    fn profile_spans(&self) -> Result<Vec<ProfileSpan>> {
        (**self).profile_spans()
    }
}
