//! A device that records its launches, and runs them in the emulator or does nothing.

use bytemuck::Pod;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use warpstride::cuda::Transfers;
use warpstride::gpu::{Device, EmulatedDevice, ProfileSpan, Result};
use warpstride::gpu::{Direction, EmulatedBuffer, EmulatedCopy, EmulatedFft, EmulatedReadBack};
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Emulated, Work};

/// An emulated device that records its launches.
pub(crate) struct RecordingDevice {
    device: EmulatedDevice,
    idle: bool,
    launched: Arc<Mutex<Vec<&'static str>>>,
}

impl RecordingDevice {
    /// A device whose launches do nothing.
    pub(crate) fn idle() -> Self {
        Self {
            idle: true,
            ..Self::default()
        }
    }

    /// Names of the kernels in the order of their launches, including later ones.
    pub(crate) fn launched(&self) -> Arc<Mutex<Vec<&'static str>>> {
        Arc::clone(&self.launched)
    }
}

impl Default for RecordingDevice {
    /// A device that runs its launches in the emulator.
    fn default() -> Self {
        Self {
            device: EmulatedDevice::new(),
            idle: false,
            launched: Arc::default(),
        }
    }
}

impl Device for RecordingDevice {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedBuffer<T>;
    type Fft = EmulatedFft;
    type ReadBack<T: Pod + Send> = EmulatedReadBack<T>;
    type Graph = <EmulatedDevice as Device>::Graph;
    type Pinned<T: Pod + Send + Sync> = Vec<T>;
    type Sent = EmulatedCopy<()>;
    type Received<T: Pod + Send + Sync> = EmulatedCopy<Vec<T>>;
    type Arriving<T: Pod + Send> = EmulatedBuffer<T>;
    type Pieces<T: Pod + Send + Sync> = Vec<Vec<T>>;
    type Exchange<T: Pod + Send> = EmulatedBuffer<T>;
    type Peers = <EmulatedDevice as Device>::Peers;

    fn sibling(&self) -> Result<Self> {
        Ok(Self {
            device: self.device.sibling()?,
            idle: self.idle,
            launched: self.launched(),
        })
    }
    fn backend(&self) -> &'static str {
        self.device.backend()
    }
    fn device_name(&self) -> String {
        self.device.device_name()
    }
    fn memory(&self) -> Result<(usize, usize)> {
        self.device.memory()
    }
    fn arch(&self) -> u32 {
        self.device.arch()
    }
    fn multiprocessors(&self) -> u32 {
        self.device.multiprocessors()
    }
    fn shared_memory(&self) -> usize {
        self.device.shared_memory()
    }
    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<EmulatedBuffer<T>> {
        self.device.alloc(what, len)
    }
    fn upload<T: Pod + Send, H: Pod>(&self, to: &mut EmulatedBuffer<T>, host: &[H]) -> Result<()> {
        self.device.upload(to, host)
    }
    fn download<T: Pod + Send, H: Pod>(
        &self,
        from: &EmulatedBuffer<T>,
        host: &mut [H],
    ) -> Result<()> {
        self.device.download(from, host)
    }
    fn read_back<T: Pod + Send>(&self, buffer: &EmulatedBuffer<T>) -> Result<EmulatedReadBack<T>> {
        self.device.read_back(buffer)
    }
    fn pinned<T: Pod + Send + Sync>(&self, what: &'static str, len: usize) -> Result<Vec<T>> {
        self.device.pinned(what, len)
    }
    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Vec<T>>,
        range: Range<usize>,
        to: &mut EmulatedBuffer<T>,
        at: usize,
    ) -> Result<EmulatedCopy<()>> {
        self.device.send(from, range, to, at)
    }
    fn send_beside<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Vec<T>>,
        parts: &[Range<usize>],
        to: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        self.device.send_beside(from, parts, to)
    }
    fn arrived<T: Pod + Send + Sync>(
        &self,
        arriving: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        self.device.arrived(arriving)
    }
    fn pieces<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        lengths: &[usize],
    ) -> Result<Vec<Vec<T>>> {
        self.device.pieces(what, lengths)
    }
    fn piece<'a, T: Pod + Send + Sync>(
        &self,
        pieces: &'a mut Vec<Vec<T>>,
        number: usize,
    ) -> Result<&'a mut [T]> {
        self.device.piece(pieces, number)
    }
    fn take_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Vec<Vec<T>>,
        number: usize,
    ) -> Result<Vec<T>> {
        self.device.take_piece(pieces, number)
    }
    fn put_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Vec<Vec<T>>,
        number: usize,
        memory: Vec<T>,
    ) -> Result<()> {
        self.device.put_piece(pieces, number, memory)
    }
    fn exchange_beside<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Vec<Vec<T>>,
        to_host: Option<usize>,
        to_device: Option<usize>,
        buffer: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        self.device
            .exchange_beside(pieces, to_host, to_device, buffer)
    }
    fn exchanged<T: Pod + Send + Sync>(
        &self,
        exchange: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        self.device.exchanged(exchange)
    }
    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &EmulatedBuffer<T>,
        parts: &[Range<usize>],
        to: Vec<T>,
    ) -> Result<EmulatedCopy<Vec<T>>> {
        self.device.receive(from, parts, to)
    }
    fn gather_from_peers<T: Pod + Send>(
        &self,
        peers: &mut Self::Peers,
        mine: &EmulatedBuffer<T>,
        to: &mut EmulatedBuffer<T>,
        transfers: &Transfers,
    ) -> Result<()> {
        self.device.gather_from_peers(peers, mine, to, transfers)
    }
    fn share_with_peers<T: Pod + Send>(
        &self,
        peers: &mut Self::Peers,
        buffer: &mut EmulatedBuffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()> {
        self.device.share_with_peers(peers, buffer, own, transfers)
    }
    fn copy<T: Pod + Send>(
        &self,
        from: &EmulatedBuffer<T>,
        to: &mut EmulatedBuffer<T>,
    ) -> Result<()> {
        self.device.copy(from, to)
    }
    fn zero<T: Pod + Send>(&self, buffer: &mut EmulatedBuffer<T>) -> Result<()> {
        self.device.zero(buffer)
    }
    fn launch_any(&self, launch: &(dyn AnyLaunch<Emulated> + Sync), work: Work) -> Result<()> {
        self.launched.lock().unwrap().push(launch.info().entry);
        if self.idle {
            return Ok(());
        }
        self.device.launch_any(launch, work)
    }
    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<EmulatedFft> {
        self.device.plan_fft(shape, batch)
    }
    fn fft(
        &self,
        plan: &EmulatedFft,
        data: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.device.fft(plan, data, direction)
    }
    fn fft_to(
        &self,
        plan: &EmulatedFft,
        from: &EmulatedBuffer<Complex32>,
        to: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.device.fft_to(plan, from, to, direction)
    }
    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Graph>> {
        self.device.capture(work)
    }

    fn replay(&self, graph: &mut Self::Graph) -> Result<()> {
        self.device.replay(graph)
    }

    fn synchronize(&self) -> Result<()> {
        self.device.synchronize()
    }
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        self.device.time_ms(work)
    }
    fn start_profile(&self) -> Result<()> {
        self.device.start_profile()
    }
    fn take_profile(&self) -> Result<Vec<ProfileSpan>> {
        self.device.take_profile()
    }
}
