//! A CUDA device as a [`Machine`].

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Cuda, Read, Work, Write};

use super::{Buffer, Copying, Direction, Fetch, GpuError, Machine, Result};
use crate::cuda::{
    Context, DeviceBuffer, DeviceInfo, Event, FetchPool, Fetched, FftDirection, FftPlan,
    FftWorkspace, Graph, Module, PinnedBuffer, PinnedKind, Priority, Ptx, SharedUpload, Staging,
    Stream, Timing, Transfer, choose_ptx,
};

/// A device with the kernels loaded, one stream for everything, and what copies and transforms need.
#[derive(Debug)]
pub struct CudaMachine {
    info: DeviceInfo,
    context: Arc<Context>,
    stream: Arc<Stream>,
    module: Arc<Module>,
    transforms: Arc<FftWorkspace>,
    fetches: Arc<FetchPool>,
    staging: Mutex<Staging>,
    clock: (Event, Event),
}

impl CudaMachine {
    /// The device of that number (from 0), with the kernels that suit it.
    ///
    /// # Errors
    /// Why not: no driver, no device, no device of that number, a device older than the kernels, or
    /// kernels newer than the driver.
    pub fn new(device_ordinal: usize) -> Result<Self> {
        Self::with_kernels(device_ordinal, &BUILT_IN)
    }

    /// The same with only those kernels whose names `keep` agrees to, which takes less time to start
    /// the first time that a machine does.
    ///
    /// # Errors
    /// As [`CudaMachine::new`].
    pub fn keeping(device_ordinal: usize, keep: impl Fn(&str) -> bool) -> Result<Self> {
        let texts = BUILT_IN.map(|ptx| (ptx.arch, ptx.keeping(&keep)));
        let kept = texts
            .each_ref()
            .map(|(arch, text)| Ptx { arch: *arch, text });
        Self::with_kernels(device_ordinal, &kept)
    }

    /// The same with other kernels than those built in.
    ///
    /// # Errors
    /// As [`CudaMachine::new`], and the compiler's words about the kernels.
    pub fn with_kernels(device_ordinal: usize, kernels: &[Ptx<'_>]) -> Result<Self> {
        let context = Context::new(device_ordinal)?;
        let info = DeviceInfo::of(device_ordinal)?;
        let ptx = choose_ptx(kernels, info.compute_capability)?;
        let module = Arc::new(Module::load(&context, ptx)?);
        Self::with_module(context, info, module)
    }

    /// Another queue on the same device, with the same kernels. Its work is not ordered with this one's: what one
    /// queue has written another may use when the host has waited for it.
    ///
    /// # Errors
    /// The driver's.
    pub fn sibling(&self) -> Result<Self> {
        let context = Arc::clone(&self.context);
        Self::with_module(context, self.info.clone(), Arc::clone(&self.module))
    }

    fn with_module(context: Arc<Context>, info: DeviceInfo, module: Arc<Module>) -> Result<Self> {
        let stream = Arc::new(Stream::new(&context, Priority::Normal)?);
        Ok(Self {
            module,
            transforms: FftWorkspace::new(&stream)?,
            fetches: FetchPool::new(&context),
            staging: Mutex::new(Staging::new(&context)),
            clock: (
                Event::new(&context, Timing::On)?,
                Event::new(&context, Timing::On)?,
            ),
            info,
            stream,
            context,
        })
    }

    /// The stream that everything goes through.
    #[must_use]
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The device's context, for buffers, streams and events of one's own.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The loaded kernels, for launches on streams of one's own.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// What the device is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Records what `work` queues instead of doing it; see [`Graph::capture`].
    ///
    /// # Errors
    /// Those of `work`, a copy with the host within it, or the driver's.
    pub fn capture(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        Graph::capture(&self.stream, work)
    }
}

impl From<Direction> for FftDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Forward,
            Direction::Inverse => Self::Inverse,
        }
    }
}

/// The kernels built by `cargo xtask build-ptx`.
pub(super) const BUILT_IN: [Ptx<'static>; 2] = [
    Ptx {
        arch: 80,
        text: include_str!("../../../kernels-gpu/ptx/warpstride_sm80.ptx"),
    },
    Ptx {
        arch: 90,
        text: include_str!("../../../kernels-gpu/ptx/warpstride_sm90.ptx"),
    },
];

/// Architecture (times ten) of the kernels that a device of that compute capability (times ten)
/// would get.
///
/// # Errors
/// The device is older than all of them.
pub fn ptx_for(compute_capability: u32) -> Result<u32> {
    Ok(choose_ptx(&BUILT_IN, compute_capability)?.arch)
}

impl<T: Pod> Buffer<Cuda, T> for DeviceBuffer<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn read(&self) -> Read<'_, Cuda, T> {
        self.read()
    }

    fn write(&mut self) -> Write<'_, Cuda, T> {
        self.write()
    }
}

impl<T: Pod> Fetch<T> for Fetched<T> {
    fn ready(&self) -> bool {
        self.ready()
    }

    fn wait(self) -> Result<Vec<T>> {
        Ok(self.wait()?)
    }
}

impl Copying<()> for SharedUpload {
    fn ready(&self) -> bool {
        self.ready()
    }

    fn wait(self) -> Result<()> {
        Ok(self.wait()?)
    }
}

impl<T: Pod> Copying<PinnedBuffer<T>> for Transfer<T> {
    fn ready(&self) -> bool {
        self.ready()
    }

    fn wait(self) -> Result<PinnedBuffer<T>> {
        Ok(self.wait()?)
    }
}

fn expect_size(what: &'static str, buffer: usize, host: usize) -> Result<()> {
    if buffer == host {
        Ok(())
    } else {
        Err(GpuError::Size { what, buffer, host })
    }
}

impl Machine for CudaMachine {
    type Space = Cuda;
    type Buffer<T: Pod + Send> = DeviceBuffer<T>;
    type Fft = FftPlan;
    type Fetch<T: Pod + Send> = Fetched<T>;
    type Recording = Graph;
    type Pinned<T: Pod + Send + Sync> = PinnedBuffer<T>;
    type Sent = SharedUpload;
    type Received<T: Pod + Send + Sync> = Transfer<T>;

    fn backend(&self) -> &'static str {
        "cuda"
    }

    fn device_name(&self) -> String {
        self.info.name.clone()
    }

    fn memory(&self) -> Result<(usize, usize)> {
        let memory = self.context.memory()?;
        Ok((memory.free, memory.total))
    }

    fn arch(&self) -> u32 {
        self.module.arch()
    }

    fn multiprocessors(&self) -> u32 {
        self.info.multiprocessors
    }

    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<DeviceBuffer<T>> {
        Ok(DeviceBuffer::zeroed(&self.context, what, len)?)
    }

    fn upload<T: Pod + Send, H: Pod>(
        &self,
        buffer: &mut DeviceBuffer<T>,
        host: &[H],
    ) -> Result<()> {
        expect_size("upload", buffer.bytes(), size_of_val(host))?;
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(staging.upload(&self.stream, bytemuck::cast_slice(host), buffer)?)
    }

    fn download<T: Pod + Send, H: Pod>(
        &self,
        buffer: &DeviceBuffer<T>,
        host: &mut [H],
    ) -> Result<()> {
        expect_size("download", buffer.bytes(), size_of_val(host))?;
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(staging.download(&self.stream, buffer, bytemuck::cast_slice_mut(host))?)
    }

    fn fetch<T: Pod + Send>(&self, buffer: &DeviceBuffer<T>) -> Result<Fetched<T>> {
        Ok(self.fetches.fetch(&self.stream, buffer)?)
    }

    fn pinned<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        len: usize,
    ) -> Result<PinnedBuffer<T>> {
        let plain = PinnedKind::Plain;
        Ok(PinnedBuffer::zeroed(&self.context, plain, what, len)?)
    }

    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<PinnedBuffer<T>>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<SharedUpload> {
        Ok(self.stream.upload_shared(from, range, to, at)?)
    }

    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &DeviceBuffer<T>,
        parts: &[Range<usize>],
        to: PinnedBuffer<T>,
    ) -> Result<Transfer<T>> {
        Ok(self.stream.download_parts(from, parts, to)?)
    }

    fn copy<T: Pod + Send>(&self, from: &DeviceBuffer<T>, to: &mut DeviceBuffer<T>) -> Result<()> {
        expect_size("copy", to.bytes(), from.bytes())?;
        Ok(self.stream.copy(from, to)?)
    }

    fn zero<T: Pod + Send>(&self, buffer: &mut DeviceBuffer<T>) -> Result<()> {
        Ok(self.stream.zero(buffer)?)
    }

    fn launch_any(&self, launch: &(dyn AnyLaunch<Cuda> + Sync), work: Work) -> Result<()> {
        self.module.launch(&self.stream, launch, work)
    }

    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<FftPlan> {
        Ok(self.transforms.plan(shape, batch)?)
    }

    fn fft(
        &self,
        plan: &FftPlan,
        data: &mut DeviceBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        Ok(plan.execute(data, direction.into())?)
    }

    fn fft_to(
        &self,
        plan: &FftPlan,
        from: &DeviceBuffer<Complex32>,
        to: &mut DeviceBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        Ok(plan.execute_to(from, to, direction.into())?)
    }

    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Graph>> {
        self.capture(work).map(Some)
    }

    fn replay(&self, recording: &mut Graph) -> Result<()> {
        Ok(recording.launch(&self.stream)?)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        let (start, end) = &self.clock;
        start.record(&self.stream)?;
        work()?;
        end.record(&self.stream)?;
        end.synchronize()?;
        Ok(end.elapsed_ms(start)?)
    }
}
