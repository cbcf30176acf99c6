//! A borrowed machine is a machine: several engines one after the other on the same one.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Work};

use super::{Direction, Machine, Result};

impl<M: Machine> Machine for &M {
    type Space = M::Space;
    type Buffer<T: Pod + Send> = M::Buffer<T>;
    type Fft = M::Fft;
    type Fetch<T: Pod + Send> = M::Fetch<T>;
    type Recording = M::Recording;
    type Pinned<T: Pod + Send + Sync> = M::Pinned<T>;
    type Sent = M::Sent;
    type Received<T: Pod + Send + Sync> = M::Received<T>;

    fn backend(&self) -> &'static str {
        (**self).backend()
    }

    fn device_name(&self) -> String {
        (**self).device_name()
    }

    fn memory(&self) -> Result<(usize, usize)> {
        (**self).memory()
    }

    fn arch(&self) -> u32 {
        (**self).arch()
    }

    fn multiprocessors(&self) -> u32 {
        (**self).multiprocessors()
    }

    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<M::Buffer<T>> {
        (**self).alloc(what, len)
    }

    fn upload<T: Pod + Send, H: Pod>(&self, buffer: &mut M::Buffer<T>, host: &[H]) -> Result<()> {
        (**self).upload(buffer, host)
    }

    fn download<T: Pod + Send, H: Pod>(&self, buffer: &M::Buffer<T>, host: &mut [H]) -> Result<()> {
        (**self).download(buffer, host)
    }

    fn fetch<T: Pod + Send>(&self, buffer: &M::Buffer<T>) -> Result<M::Fetch<T>> {
        (**self).fetch(buffer)
    }

    fn pinned<T: Pod + Send + Sync>(&self, what: &'static str, len: usize) -> Result<M::Pinned<T>> {
        (**self).pinned(what, len)
    }

    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<M::Pinned<T>>,
        range: Range<usize>,
        to: &mut M::Buffer<T>,
        at: usize,
    ) -> Result<M::Sent> {
        (**self).send(from, range, to, at)
    }

    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &M::Buffer<T>,
        parts: &[Range<usize>],
        to: M::Pinned<T>,
    ) -> Result<M::Received<T>> {
        (**self).receive(from, parts, to)
    }

    fn copy<T: Pod + Send>(&self, from: &M::Buffer<T>, to: &mut M::Buffer<T>) -> Result<()> {
        (**self).copy(from, to)
    }

    fn zero<T: Pod + Send>(&self, buffer: &mut M::Buffer<T>) -> Result<()> {
        (**self).zero(buffer)
    }

    fn launch_any(&self, launch: &(dyn AnyLaunch<M::Space> + Sync), work: Work) -> Result<()> {
        (**self).launch_any(launch, work)
    }

    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<M::Fft> {
        (**self).plan_fft(shape, batch)
    }

    fn fft(
        &self,
        plan: &M::Fft,
        data: &mut M::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        (**self).fft(plan, data, direction)
    }

    fn fft_to(
        &self,
        plan: &M::Fft,
        from: &M::Buffer<Complex32>,
        to: &mut M::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        (**self).fft_to(plan, from, to, direction)
    }

    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<M::Recording>> {
        (**self).record(work)
    }

    fn replay(&self, recording: &mut M::Recording) -> Result<()> {
        (**self).replay(recording)
    }

    fn synchronize(&self) -> Result<()> {
        (**self).synchronize()
    }

    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        (**self).time_ms(work)
    }
}
