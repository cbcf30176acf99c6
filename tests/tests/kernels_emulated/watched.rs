//! The emulator, whose launches are written down, and done or not.

use bytemuck::Pod;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use warpstride::gpu::{Direction, EmulatedBuffer, EmulatedCopy, EmulatedFetch, EmulatedFft};
use warpstride::gpu::{EmulatedMachine, Machine, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Emulated, Work};

/// See above.
pub(crate) struct Watched {
    machine: EmulatedMachine,
    idle: bool,
    launched: Arc<Mutex<Vec<&'static str>>>,
}

impl Watched {
    /// Launches do nothing.
    pub(crate) fn idle() -> Self {
        Self {
            idle: true,
            ..Self::default()
        }
    }

    /// Kernels in the order of their launches, so far and from now on.
    pub(crate) fn launched(&self) -> Arc<Mutex<Vec<&'static str>>> {
        Arc::clone(&self.launched)
    }
}

impl Default for Watched {
    /// Launches are done.
    fn default() -> Self {
        Self {
            machine: EmulatedMachine::new(),
            idle: false,
            launched: Arc::default(),
        }
    }
}

impl Machine for Watched {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedBuffer<T>;
    type Fft = EmulatedFft;
    type Fetch<T: Pod + Send> = EmulatedFetch<T>;
    type Recording = <EmulatedMachine as Machine>::Recording;
    type Pinned<T: Pod + Send + Sync> = Vec<T>;
    type Sent = EmulatedCopy<()>;
    type Received<T: Pod + Send + Sync> = EmulatedCopy<Vec<T>>;

    fn backend(&self) -> &'static str {
        self.machine.backend()
    }
    fn device_name(&self) -> String {
        self.machine.device_name()
    }
    fn memory(&self) -> Result<(usize, usize)> {
        self.machine.memory()
    }
    fn arch(&self) -> u32 {
        self.machine.arch()
    }
    fn multiprocessors(&self) -> u32 {
        self.machine.multiprocessors()
    }
    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<EmulatedBuffer<T>> {
        self.machine.alloc(what, len)
    }
    fn upload<T: Pod + Send, H: Pod>(&self, to: &mut EmulatedBuffer<T>, host: &[H]) -> Result<()> {
        self.machine.upload(to, host)
    }
    fn download<T: Pod + Send, H: Pod>(
        &self,
        from: &EmulatedBuffer<T>,
        host: &mut [H],
    ) -> Result<()> {
        self.machine.download(from, host)
    }
    fn fetch<T: Pod + Send>(&self, buffer: &EmulatedBuffer<T>) -> Result<EmulatedFetch<T>> {
        self.machine.fetch(buffer)
    }
    fn pinned<T: Pod + Send + Sync>(&self, what: &'static str, len: usize) -> Result<Vec<T>> {
        self.machine.pinned(what, len)
    }
    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Vec<T>>,
        range: Range<usize>,
        to: &mut EmulatedBuffer<T>,
        at: usize,
    ) -> Result<EmulatedCopy<()>> {
        self.machine.send(from, range, to, at)
    }
    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &EmulatedBuffer<T>,
        parts: &[Range<usize>],
        to: Vec<T>,
    ) -> Result<EmulatedCopy<Vec<T>>> {
        self.machine.receive(from, parts, to)
    }
    fn copy<T: Pod + Send>(
        &self,
        from: &EmulatedBuffer<T>,
        to: &mut EmulatedBuffer<T>,
    ) -> Result<()> {
        self.machine.copy(from, to)
    }
    fn zero<T: Pod + Send>(&self, buffer: &mut EmulatedBuffer<T>) -> Result<()> {
        self.machine.zero(buffer)
    }
    fn launch_any(&self, launch: &(dyn AnyLaunch<Emulated> + Sync), work: Work) -> Result<()> {
        self.launched.lock().unwrap().push(launch.info().entry);
        if self.idle {
            return Ok(());
        }
        self.machine.launch_any(launch, work)
    }
    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<EmulatedFft> {
        self.machine.plan_fft(shape, batch)
    }
    fn fft(
        &self,
        plan: &EmulatedFft,
        data: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.machine.fft(plan, data, direction)
    }
    fn fft_to(
        &self,
        plan: &EmulatedFft,
        from: &EmulatedBuffer<Complex32>,
        to: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.machine.fft_to(plan, from, to, direction)
    }
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Recording>> {
        self.machine.record(work)
    }

    fn replay(&self, recording: &mut Self::Recording) -> Result<()> {
        self.machine.replay(recording)
    }

    fn synchronize(&self) -> Result<()> {
        self.machine.synchronize()
    }
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        self.machine.time_ms(work)
    }
}
