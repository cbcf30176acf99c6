//! A borrowed fleet is a fleet: several runs one after the other on the same one.

use std::ops::Range;

use bytemuck::Pod;
use warpstride_device::launch::{Launch, Work};

use super::{Fleet, Lane, Link, Result, Stretch};

impl<F: Fleet> Fleet for &F {
    type Space = F::Space;
    type Buffer<T: Pod + Send> = F::Buffer<T>;
    type Mark = F::Mark;
    type Relay<T: Pod + Send> = F::Relay<T>;
    type Recording = F::Recording;

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

    fn resident_blocks<L: Launch<F::Space>>(&self, device: usize, launch: &L) -> Result<usize> {
        (**self).resident_blocks(device, launch)
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<F::Buffer<T>> {
        (**self).alloc(device, what, len)
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut F::Buffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        (**self).upload(buffer, at, host)
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &F::Buffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        (**self).download(buffer, at, host)
    }

    fn launch<L: Launch<F::Space> + Sync>(
        &self,
        device: usize,
        lane: Lane,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        (**self).launch(device, lane, launch, work)
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        lane: Lane,
        from: &F::Buffer<T>,
        to: &mut F::Buffer<T>,
    ) -> Result<()> {
        (**self).copy(device, lane, from, to)
    }

    fn relay<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<F::Relay<T>> {
        (**self).relay(from, to, len, direct)
    }

    fn push<T: Pod + Send>(
        &self,
        relay: &F::Relay<T>,
        lane: Lane,
        from: &F::Buffer<T>,
        range: Range<usize>,
        to: &mut F::Buffer<T>,
        at: usize,
    ) -> Result<()> {
        (**self).push(relay, lane, from, range, to, at)
    }

    fn await_push<T: Pod + Send>(
        &self,
        relay: &F::Relay<T>,
        device: usize,
        lane: Lane,
    ) -> Result<()> {
        (**self).await_push(relay, device, lane)
    }

    fn mark(&self, device: usize) -> Result<F::Mark> {
        (**self).mark(device)
    }

    fn record(&self, mark: &F::Mark, device: usize, lane: Lane) -> Result<()> {
        (**self).record(mark, device, lane)
    }

    fn wait(&self, mark: &F::Mark, device: usize, lane: Lane) -> Result<()> {
        (**self).wait(mark, device, lane)
    }

    fn synchronize(&self, device: usize, lane: Lane) -> Result<()> {
        (**self).synchronize(device, lane)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        (**self).synchronize_device(device)
    }

    fn drain(&self) -> Result<()> {
        (**self).drain()
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<F::Recording>> {
        (**self).capture(work)
    }

    fn replay(&self, recording: &mut F::Recording) -> Result<()> {
        (**self).replay(recording)
    }

    fn profile(&self) -> Result<()> {
        (**self).profile()
    }

    fn stretches(&self) -> Result<Vec<Stretch>> {
        (**self).stretches()
    }
}
