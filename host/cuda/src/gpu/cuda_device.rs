//! A CUDA device as a [`Device`].

mod profiler;
mod transforms;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::Pod;
use warpstride_device::Complex32;
use warpstride_device::launch::{AnyLaunch, Cuda, Read, Work, Write};

use super::cuda_fft::FftModules;
use super::profile::{COPIES, EXCHANGE_TO_DEVICE, EXCHANGE_TO_HOST, WORK, bytes_of};
use super::{
    Buffer, CudaFft, Device, Direction, GpuError, PendingCopy, ProfileSpan, ReadBack, Result,
};
use crate::cuda::{
    Context, CopyDirection, CudaPeers, CudaReadBack, DeviceBuffer, DeviceInfo, Event, Exchange,
    FftDirection, FftWorkspace, Graph, Kernels, Module, PinnedBuffer, PinnedKind, PinnedPieces,
    Priority, ReadBackPool, SharedUpload, Staging, Stream, Timing, Transfer, Transfers,
    copy_range_between,
};
use profiler::Profiler;

/// A CUDA device with its kernels loaded, one stream for all work, and one for copies beside it.
#[derive(Debug)]
pub struct CudaDevice {
    info: DeviceInfo,
    context: Arc<Context>,
    stream: Arc<Stream>,
    module: Arc<Module>,
    transforms: Arc<FftWorkspace>,
    fft_modules: Arc<FftModules>,
    read_backs: Arc<ReadBackPool>,
    staging: Mutex<Staging>,
    /// The stream of copies beside the work, once there are any.
    copies: OnceLock<Stream>,
    /// Such copies that the work waits for, and perhaps still runs before; the oldest first.
    sent: Mutex<VecDeque<SharedUpload>>,
    clock: (Event, Event),
    profiler: Profiler,
}

/// A buffer to which page-locked memory is being copied in the stream beside the work.
#[derive(Debug)]
pub struct CudaArriving<T: Pod> {
    // Dropped first, so that the copy is waited for before the buffer is freed.
    copy: SharedUpload,
    buffer: DeviceBuffer<T>,
}

impl CudaDevice {
    /// Opens the device with this ordinal (from 0) and loads the kernels.
    ///
    /// # Errors
    /// There is no driver or no such device, the device is older than the kernels, or the driver
    /// cannot compile them.
    pub fn new(device_ordinal: usize, kernels: &Kernels) -> Result<Self> {
        let context = Context::new(device_ordinal)?;
        let info = DeviceInfo::of(device_ordinal)?;
        let module = Arc::new(Module::load(&context, kernels)?);
        let fft_modules = Arc::new(FftModules::new(&context));
        Self::with_modules(context, info, module, fft_modules)
    }

    /// Another queue on the same device, with the same kernels. The two queues are not ordered: the
    /// host has to wait for one queue before the other uses its results.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn sibling(&self) -> Result<Self> {
        let context = Arc::clone(&self.context);
        let (module, fft_modules) = (Arc::clone(&self.module), Arc::clone(&self.fft_modules));
        Self::with_modules(context, self.info.clone(), module, fft_modules)
    }

    fn with_modules(
        context: Arc<Context>,
        info: DeviceInfo,
        module: Arc<Module>,
        fft_modules: Arc<FftModules>,
    ) -> Result<Self> {
        let stream = Arc::new(Stream::new(&context, Priority::Normal)?);
        Ok(Self {
            module,
            transforms: FftWorkspace::new(&stream)?,
            fft_modules,
            read_backs: ReadBackPool::new(&context),
            staging: Mutex::new(Staging::new(&context)),
            copies: OnceLock::new(),
            sent: Mutex::default(),
            clock: (
                Event::new(&context, Timing::On)?,
                Event::new(&context, Timing::On)?,
            ),
            profiler: Profiler::default(),
            info,
            stream,
            context,
        })
    }

    /// The stream of all work.
    #[must_use]
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The context of the device, to create further buffers, streams and events.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The loaded kernels, to launch them in other streams.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The properties of the device.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The stream of copies beside the work.
    fn copies(&self) -> Result<&Stream> {
        if let Some(stream) = self.copies.get() {
            return Ok(stream);
        }
        let stream = Stream::new(&self.context, Priority::Normal)?;
        Ok(self.copies.get_or_init(|| stream))
    }

    /// Calls `work`, which queues an operation in the stream of all work, and times it if the device
    /// is profiled.
    fn profiled_work<R>(
        &self,
        name: &'static str,
        bytes: Option<usize>,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let stream = (WORK, &*self.stream);
        self.profiler.time(stream, name, bytes, work)
    }

    /// Captures the operations that `work` queues instead of running them; see [`Graph::capture`].
    ///
    /// # Errors
    /// The error of `work`, which must not copy from or to the host, or an error of the driver.
    pub fn capture_graph(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let _paused = self.profiler.pause();
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

impl<T: Pod> ReadBack<T> for CudaReadBack<T> {
    fn ready(&self) -> bool {
        self.ready()
    }

    fn wait(self) -> Result<Vec<T>> {
        Ok(self.wait()?)
    }
}

impl PendingCopy<()> for SharedUpload {
    fn ready(&self) -> bool {
        self.ready()
    }

    fn wait(self) -> Result<()> {
        Ok(self.wait()?)
    }
}

impl<T: Pod> PendingCopy<PinnedBuffer<T>> for Transfer<T> {
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

impl Device for CudaDevice {
    type Space = Cuda;
    type Buffer<T: Pod + Send> = DeviceBuffer<T>;
    type Fft = CudaFft;
    type ReadBack<T: Pod + Send> = CudaReadBack<T>;
    type Graph = Graph;
    type Pinned<T: Pod + Send + Sync> = PinnedBuffer<T>;
    type Sent = SharedUpload;
    type Received<T: Pod + Send + Sync> = Transfer<T>;
    type Arriving<T: Pod + Send> = CudaArriving<T>;
    type Pieces<T: Pod + Send + Sync> = PinnedPieces<T>;
    type Exchange<T: Pod + Send> = Exchange<T>;
    type Peers = CudaPeers;

    fn sibling(&self) -> Result<Self> {
        Self::sibling(self)
    }

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

    fn shared_memory(&self) -> usize {
        self.info.shared_per_block_bytes
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
        self.profiled_work("upload", Some(size_of_val(host)), || {
            Ok(staging.upload(&self.stream, bytemuck::cast_slice(host), buffer)?)
        })
    }

    fn download<T: Pod + Send, H: Pod>(
        &self,
        buffer: &DeviceBuffer<T>,
        host: &mut [H],
    ) -> Result<()> {
        expect_size("download", buffer.bytes(), size_of_val(host))?;
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        self.profiled_work("download", Some(buffer.bytes()), || {
            Ok(staging.download(&self.stream, buffer, bytemuck::cast_slice_mut(host))?)
        })
    }

    fn read_back<T: Pod + Send>(&self, buffer: &DeviceBuffer<T>) -> Result<CudaReadBack<T>> {
        self.profiled_work("read back", Some(buffer.bytes()), || {
            Ok(self.read_backs.read_back(&self.stream, buffer)?)
        })
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
        let bytes = bytes_of::<T>(std::slice::from_ref(&range));
        self.profiled_work("send", bytes, || {
            Ok(self.stream.upload_shared(from, range, to, at)?)
        })
    }

    fn send_beside<T: Pod + Send + Sync>(
        &self,
        from: &Arc<PinnedBuffer<T>>,
        parts: &[Range<usize>],
        mut to: DeviceBuffer<T>,
    ) -> Result<CudaArriving<T>> {
        drop(self.stream.refuse_capture("a copy from host memory")?);
        let copies = self.copies()?;
        let queued = Event::new(&self.context, Timing::Off)?;
        queued.record(&self.stream)?;
        copies.wait_event(&queued)?;
        let copy = self
            .profiler
            .time((COPIES, copies), "send", bytes_of::<T>(parts), || {
                Ok(copies.upload_parts(from, parts, &mut to)?)
            })?;
        Ok(CudaArriving { copy, buffer: to })
    }

    fn arrived<T: Pod + Send + Sync>(&self, arriving: CudaArriving<T>) -> Result<DeviceBuffer<T>> {
        let CudaArriving { copy, buffer } = arriving;
        copy.before(&self.stream)?;
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.front().is_some_and(SharedUpload::ready) {
            if let Some(done) = sent.pop_front() {
                done.wait()?;
            }
        }
        sent.push_back(copy);
        Ok(buffer)
    }

    fn pieces<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        lengths: &[usize],
    ) -> Result<PinnedPieces<T>> {
        Ok(PinnedPieces::zeroed(&self.context, what, lengths)?)
    }

    fn piece<'a, T: Pod + Send + Sync>(
        &self,
        pieces: &'a mut PinnedPieces<T>,
        number: usize,
    ) -> Result<&'a mut [T]> {
        Ok(pieces.piece(number)?)
    }

    fn take_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut PinnedPieces<T>,
        number: usize,
    ) -> Result<PinnedBuffer<T>> {
        Ok(pieces.take(number)?)
    }

    fn put_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut PinnedPieces<T>,
        number: usize,
        memory: PinnedBuffer<T>,
    ) -> Result<()> {
        Ok(pieces.put(number, memory)?)
    }

    fn exchange_beside<T: Pod + Send + Sync>(
        &self,
        pieces: &mut PinnedPieces<T>,
        to_host: Option<usize>,
        to_device: Option<usize>,
        buffer: DeviceBuffer<T>,
    ) -> Result<Exchange<T>> {
        let mut exchange = Exchange::new(&self.stream, buffer)?;
        let copies = [
            (to_host, CopyDirection::ToHost),
            (to_device, CopyDirection::ToDevice),
        ];
        for (number, direction) in copies {
            let Some(number) = number else {
                continue;
            };
            pieces.wait(direction, number, &exchange)?;
            let stream = Arc::clone(pieces.stream(direction));
            let (row, name) = match direction {
                CopyDirection::ToHost => (EXCHANGE_TO_HOST, "receive"),
                CopyDirection::ToDevice => (EXCHANGE_TO_DEVICE, "send"),
            };
            let bytes = pieces.bytes(number);
            self.profiler.time((row, &stream), name, bytes, || {
                Ok(pieces.copy(direction, number, &mut exchange)?)
            })?;
        }
        Ok(exchange)
    }

    fn exchanged<T: Pod + Send + Sync>(&self, exchange: Exchange<T>) -> Result<DeviceBuffer<T>> {
        Ok(exchange.before(&self.stream)?)
    }

    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &DeviceBuffer<T>,
        parts: &[Range<usize>],
        to: PinnedBuffer<T>,
    ) -> Result<Transfer<T>> {
        self.profiled_work("receive", bytes_of::<T>(parts), || {
            Ok(self.stream.download_parts(from, parts, to)?)
        })
    }

    fn gather_from_peers<T: Pod + Send>(
        &self,
        peers: &mut CudaPeers,
        mine: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
        transfers: &Transfers,
    ) -> Result<()> {
        self.profiled_work("gather from peers", Some(to.bytes()), || {
            Ok(peers.gather(&self.stream, mine, to, transfers)?)
        })
    }

    fn share_with_peers<T: Pod + Send>(
        &self,
        peers: &mut CudaPeers,
        buffer: &mut DeviceBuffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()> {
        self.profiled_work("share with peers", Some(buffer.bytes()), || {
            Ok(peers.share(&self.stream, buffer, own, transfers)?)
        })
    }

    fn copy<T: Pod + Send>(&self, from: &DeviceBuffer<T>, to: &mut DeviceBuffer<T>) -> Result<()> {
        expect_size("copy", to.bytes(), from.bytes())?;
        self.profiled_work("copy", Some(from.bytes()), || {
            Ok(self.stream.copy(from, to)?)
        })
    }

    fn copy_to_cuda<T: Pod + Send>(
        &self,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<bool> {
        let bytes = bytes_of::<T>(std::slice::from_ref(&range));
        self.profiled_work("copy", bytes, || {
            copy_range_between(&self.stream, from, range, to, at)?;
            Ok(true)
        })
    }

    fn zero<T: Pod + Send>(&self, buffer: &mut DeviceBuffer<T>) -> Result<()> {
        self.profiled_work("fill", Some(buffer.bytes()), || {
            Ok(self.stream.zero(buffer)?)
        })
    }

    fn launch_any(&self, launch: &(dyn AnyLaunch<Cuda> + Sync), work: Work) -> Result<()> {
        self.profiled_work(launch.info().entry, None, || {
            self.module.launch(&self.stream, launch, work)
        })
    }

    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<CudaFft> {
        self.plan_chosen_fft(shape, batch)
    }

    fn fft(
        &self,
        plan: &CudaFft,
        data: &mut DeviceBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.queue_fft(plan, None, data, direction)
    }

    fn fft_to(
        &self,
        plan: &CudaFft,
        from: &DeviceBuffer<Complex32>,
        to: &mut DeviceBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        self.queue_fft(plan, Some(from), to, direction)
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Graph>> {
        self.capture_graph(work).map(Some)
    }

    fn replay(&self, graph: &mut Graph) -> Result<()> {
        self.profiled_work("graph", None, || Ok(graph.launch(&self.stream)?))
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

    fn start_profile(&self) -> Result<()> {
        self.profiler.start(&self.stream)
    }

    fn take_profile(&self) -> Result<Vec<ProfileSpan>> {
        self.profiler.take()
    }
}
