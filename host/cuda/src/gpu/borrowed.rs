//! [`Device`] for references, so that several engines can use the same device one after the other.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Work};

use super::{Device, Direction, ProfileSpan, Result};
use crate::cuda::{DeviceBuffer, Transfers};

impl<D: Device> Device for &D {
    type Space = D::Space;
    type Buffer<T: Pod + Send> = D::Buffer<T>;
    type Fft = D::Fft;
    type ReadBack<T: Pod + Send> = D::ReadBack<T>;
    type Graph = D::Graph;
    type Pinned<T: Pod + Send + Sync> = D::Pinned<T>;
    type Sent = D::Sent;
    type Received<T: Pod + Send + Sync> = D::Received<T>;
    type Arriving<T: Pod + Send> = D::Arriving<T>;
    type Pieces<T: Pod + Send + Sync> = D::Pieces<T>;
    type Exchange<T: Pod + Send> = D::Exchange<T>;
    type Peers = D::Peers;

    fn sibling(&self) -> Result<Self> {
        Ok(*self)
    }

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

    fn shared_memory(&self) -> usize {
        (**self).shared_memory()
    }

    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<D::Buffer<T>> {
        (**self).alloc(what, len)
    }

    fn upload<T: Pod + Send, H: Pod>(&self, buffer: &mut D::Buffer<T>, host: &[H]) -> Result<()> {
        (**self).upload(buffer, host)
    }

    fn download<T: Pod + Send, H: Pod>(&self, buffer: &D::Buffer<T>, host: &mut [H]) -> Result<()> {
        (**self).download(buffer, host)
    }

    fn read_back<T: Pod + Send>(&self, buffer: &D::Buffer<T>) -> Result<D::ReadBack<T>> {
        (**self).read_back(buffer)
    }

    fn pinned<T: Pod + Send + Sync>(&self, what: &'static str, len: usize) -> Result<D::Pinned<T>> {
        (**self).pinned(what, len)
    }

    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<D::Pinned<T>>,
        range: Range<usize>,
        to: &mut D::Buffer<T>,
        at: usize,
    ) -> Result<D::Sent> {
        (**self).send(from, range, to, at)
    }

    fn send_beside<T: Pod + Send + Sync>(
        &self,
        from: &Arc<D::Pinned<T>>,
        parts: &[Range<usize>],
        to: D::Buffer<T>,
    ) -> Result<D::Arriving<T>> {
        (**self).send_beside(from, parts, to)
    }

    fn arrived<T: Pod + Send + Sync>(&self, arriving: D::Arriving<T>) -> Result<D::Buffer<T>> {
        (**self).arrived(arriving)
    }

    fn pieces<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        lengths: &[usize],
    ) -> Result<D::Pieces<T>> {
        (**self).pieces(what, lengths)
    }

    fn piece<'a, T: Pod + Send + Sync>(
        &self,
        pieces: &'a mut D::Pieces<T>,
        number: usize,
    ) -> Result<&'a mut [T]> {
        (**self).piece(pieces, number)
    }

    fn take_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut D::Pieces<T>,
        number: usize,
    ) -> Result<D::Pinned<T>> {
        (**self).take_piece(pieces, number)
    }

    fn put_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut D::Pieces<T>,
        number: usize,
        memory: D::Pinned<T>,
    ) -> Result<()> {
        (**self).put_piece(pieces, number, memory)
    }

    fn exchange_beside<T: Pod + Send + Sync>(
        &self,
        pieces: &mut D::Pieces<T>,
        to_host: Option<usize>,
        to_device: Option<usize>,
        buffer: D::Buffer<T>,
    ) -> Result<D::Exchange<T>> {
        (**self).exchange_beside(pieces, to_host, to_device, buffer)
    }

    fn exchanged<T: Pod + Send + Sync>(&self, exchange: D::Exchange<T>) -> Result<D::Buffer<T>> {
        (**self).exchanged(exchange)
    }

    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &D::Buffer<T>,
        parts: &[Range<usize>],
        to: D::Pinned<T>,
    ) -> Result<D::Received<T>> {
        (**self).receive(from, parts, to)
    }

    fn gather_from_peers<T: Pod + Send>(
        &self,
        peers: &mut D::Peers,
        mine: &D::Buffer<T>,
        to: &mut D::Buffer<T>,
        transfers: &Transfers,
    ) -> Result<()> {
        (**self).gather_from_peers(peers, mine, to, transfers)
    }

    fn share_with_peers<T: Pod + Send>(
        &self,
        peers: &mut D::Peers,
        buffer: &mut D::Buffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()> {
        (**self).share_with_peers(peers, buffer, own, transfers)
    }

    fn copy<T: Pod + Send>(&self, from: &D::Buffer<T>, to: &mut D::Buffer<T>) -> Result<()> {
        (**self).copy(from, to)
    }

    fn copy_to_cuda<T: Pod + Send>(
        &self,
        from: &D::Buffer<T>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<bool> {
        (**self).copy_to_cuda(from, range, to, at)
    }

    fn zero<T: Pod + Send>(&self, buffer: &mut D::Buffer<T>) -> Result<()> {
        (**self).zero(buffer)
    }

    fn launch_any(&self, launch: &(dyn AnyLaunch<D::Space> + Sync), work: Work) -> Result<()> {
        (**self).launch_any(launch, work)
    }

    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<D::Fft> {
        (**self).plan_fft(shape, batch)
    }

    fn fft(
        &self,
        plan: &D::Fft,
        data: &mut D::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        (**self).fft(plan, data, direction)
    }

    fn fft_to(
        &self,
        plan: &D::Fft,
        from: &D::Buffer<Complex32>,
        to: &mut D::Buffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        (**self).fft_to(plan, from, to, direction)
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<D::Graph>> {
        (**self).capture(work)
    }

    fn replay(&self, graph: &mut D::Graph) -> Result<()> {
        (**self).replay(graph)
    }

    fn synchronize(&self) -> Result<()> {
        (**self).synchronize()
    }

    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        (**self).time_ms(work)
    }

    fn start_profile(&self) -> Result<()> {
        (**self).start_profile()
    }

    fn take_profile(&self) -> Result<Vec<ProfileSpan>> {
        (**self).take_profile()
    }
}
