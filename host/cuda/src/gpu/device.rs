//! The interface of a device: buffers, ordered launches, transforms and asynchronous copies.

use std::ops::{DerefMut, Range};
use std::sync::Arc;

use bytemuck::Pod;
use warpstride_device::launch::{AnyLaunch, Launch, Read, Space, Work, Write};

use super::error::Result;
use crate::cuda::{DeviceBuffer, Transfers};

/// Memory of a device: `len` elements of `T`, initially zero.
pub trait Buffer<S: Space, T: Pod> {
    /// The number of elements.
    fn len(&self) -> usize;
    /// Whether the buffer has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The buffer as a read-only launch argument.
    fn read(&self) -> Read<'_, S, T>;
    /// The buffer as a writable launch argument.
    fn write(&mut self) -> Write<'_, S, T>;
}

/// The direction of a transform. Both directions are plain sums without a factor: a forward and an
/// inverse transform together multiply by the number of elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Exponent −2πi.
    Forward,
    /// Exponent +2πi.
    Inverse,
}

/// A pending copy of results to the host.
pub trait ReadBack<T> {
    /// Whether [`ReadBack::wait`] would return immediately.
    fn ready(&self) -> bool;
    /// Waits for the copy and returns the values.
    ///
    /// # Errors
    /// The error of the copy or of earlier work.
    fn wait(self) -> Result<Vec<T>>;
}

/// A pending copy from or to host memory. Dropping it waits for the copy.
pub trait PendingCopy<B> {
    /// Whether [`PendingCopy::wait`] would return immediately.
    fn ready(&self) -> bool;
    /// Waits for the copy and returns the memory that it owns.
    ///
    /// # Errors
    /// The error of the copy or of earlier work.
    fn wait(self) -> Result<B>;
}

/// The time of one operation, by the clock of its device.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileSpan {
    /// Index of the device in the group; 0 for a [`Device`](super::Device).
    pub device: usize,
    /// Name of the stream, or `receive` for the second half of a send through the host. The streams
    /// of a [`Device`](super::Device) are `work`, and `copies` for
    /// [`send_beside`](super::Device::send_beside).
    pub stream: &'static str,
    /// Name of the kernel, or what else was queued: `copy`, `send`, `send to host`, `upload`, …
    pub name: &'static str,
    /// Bytes of a copy or a fill, if they were noted.
    pub bytes: Option<usize>,
    /// Start in microseconds after the call of
    /// [`DeviceGroup::profile`](super::DeviceGroup::profile) or
    /// [`Device::start_profile`](super::Device::start_profile). The clocks of the devices of a
    /// group agree to a few microseconds.
    pub start_us: f64,
    /// End in microseconds, by the same clock.
    pub end_us: f64,
}

/// A device that runs kernels: one ordered queue of launches, transforms and copies.
pub trait Device: Sized {
    /// The memory space of the device.
    type Space: Space;
    /// A buffer in device memory.
    type Buffer<T: Pod + Send>: Buffer<Self::Space, T>;
    /// A plan of batched transforms.
    type Fft;
    /// A pending read-back of results.
    type ReadBack<T: Pod + Send>: ReadBack<T>;
    /// A captured graph.
    type Graph;
    /// Host memory that the device can copy from and to asynchronously.
    type Pinned<T: Pod + Send + Sync>: DerefMut<Target = [T]> + Send + Sync + 'static;
    /// A pending copy from such memory.
    type Sent: PendingCopy<()>;
    /// A pending copy to such memory.
    type Received<T: Pod + Send + Sync>: PendingCopy<Self::Pinned<T>>;
    /// A buffer whose values are being copied beside the queue. Dropping it waits for the copies.
    type Arriving<T: Pod + Send>;
    /// Pieces of host memory that buffers are exchanged with beside the queue.
    type Pieces<T: Pod + Send + Sync>: Send;
    /// A buffer that is being exchanged. Dropping it waits for the copies.
    type Exchange<T: Pod + Send>;
    /// The devices of other threads, to which there are direct copies.
    type Peers;

    /// Another queue on the same device, with the same kernels. The two queues are not ordered: the
    /// host has to wait for one queue before the other uses its results.
    ///
    /// # Errors
    /// An error of the driver.
    fn sibling(&self) -> Result<Self>;

    /// The back end, for summaries: `cuda` or `emulator`.
    fn backend(&self) -> &'static str;

    /// The name of the device, for summaries.
    fn device_name(&self) -> String;

    /// Free and total bytes of device memory.
    ///
    /// # Errors
    /// An error of the driver.
    fn memory(&self) -> Result<(usize, usize)>;

    /// The compute capability of the loaded code, times ten (80 or 90).
    fn arch(&self) -> u32;

    /// The number of multiprocessors.
    fn multiprocessors(&self) -> u32;

    /// Bytes of shared memory that a block can have.
    fn shared_memory(&self) -> usize;

    /// Allocates `len` zeroed elements; `what` names their purpose in errors.
    ///
    /// # Errors
    /// Memory is exhausted.
    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<Self::Buffer<T>>;

    /// Copies host data to a whole buffer, in order with launches. On return `host` may be changed.
    ///
    /// Only the sizes in bytes must agree, so `host` may contain, for example, complex numbers of
    /// another crate.
    ///
    /// # Errors
    /// The sizes differ, or an error of the driver.
    fn upload<T: Pod + Send, H: Pod>(&self, buffer: &mut Self::Buffer<T>, host: &[H])
    -> Result<()>;

    /// Waits for the queued work and copies a whole buffer to the host.
    ///
    /// # Errors
    /// The sizes differ, or an error of the copy or of earlier work.
    fn download<T: Pod + Send, H: Pod>(
        &self,
        buffer: &Self::Buffer<T>,
        host: &mut [H],
    ) -> Result<()>;

    /// Queues a copy of a whole, preferably small, buffer to the host without waiting for it. Later
    /// launches may overwrite the buffer without affecting the result.
    ///
    /// # Errors
    /// An error of the driver.
    fn read_back<T: Pod + Send>(&self, buffer: &Self::Buffer<T>) -> Result<Self::ReadBack<T>>;

    /// Allocates `len` zeroed elements of host memory for [`Device::send`] and [`Device::receive`].
    ///
    /// # Errors
    /// Memory is exhausted.
    fn pinned<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        len: usize,
    ) -> Result<Self::Pinned<T>>;

    /// Queues a copy of elements `range` of `from` to elements `at..` of `to` without waiting for
    /// it. Until the copy is done, `from` can be read but not changed.
    ///
    /// # Errors
    /// A range exceeds its buffer, or an error of the driver.
    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Self::Pinned<T>>,
        range: Range<usize>,
        to: &mut Self::Buffer<T>,
        at: usize,
    ) -> Result<Self::Sent>;

    /// Queues copies of the ranges `parts` of `from`, one after the other, to the start of `to`, in
    /// a queue of their own: they begin after what has been queued so far, and run at the same time
    /// as what is queued afterwards. No work can use `to` before [`Device::arrived`].
    ///
    /// # Errors
    /// A range exceeds its buffer, or an error of the driver.
    fn send_beside<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Self::Pinned<T>>,
        parts: &[Range<usize>],
        to: Self::Buffer<T>,
    ) -> Result<Self::Arriving<T>>;

    /// Makes what is queued from now on wait for the copies; the host does not wait.
    ///
    /// # Errors
    /// An error of the driver, or of earlier copies.
    fn arrived<T: Pod + Send + Sync>(&self, arriving: Self::Arriving<T>)
    -> Result<Self::Buffer<T>>;

    /// Allocates pieces of host memory of `lengths` zeroed elements for
    /// [`Device::exchange_beside`].
    ///
    /// # Errors
    /// Memory is exhausted.
    fn pieces<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        lengths: &[usize],
    ) -> Result<Self::Pieces<T>>;

    /// Waits for the copies from and to a piece and returns it.
    ///
    /// # Errors
    /// There is no such piece, or the error of a copy or of work before it.
    fn piece<'a, T: Pod + Send + Sync>(
        &self,
        pieces: &'a mut Self::Pieces<T>,
        number: usize,
    ) -> Result<&'a mut [T]>;

    /// Waits for the copies from and to a piece and takes it out, for any thread to read or change.
    /// Until [`Device::put_piece`] has put it back, there is no such piece.
    ///
    /// # Errors
    /// There is no such piece, or the error of a copy or of work before it.
    fn take_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Self::Pieces<T>,
        number: usize,
    ) -> Result<Self::Pinned<T>>;

    /// Puts back a piece that was taken.
    ///
    /// # Errors
    /// It was not taken, or `memory` has another length.
    fn put_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Self::Pieces<T>,
        number: usize,
        memory: Self::Pinned<T>,
    ) -> Result<()>;

    /// Queues a copy of the start of `buffer` to the piece `to_host`, then one of the piece
    /// `to_device` to the start of `buffer`, in a queue of its own for each direction: they begin
    /// after what has been queued so far, and run at the same time as what is queued afterwards. No
    /// work can use `buffer` before [`Device::exchanged`].
    ///
    /// # Errors
    /// There is no such piece, it is longer than the buffer, or an error of the driver; then the
    /// buffer is lost.
    fn exchange_beside<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Self::Pieces<T>,
        to_host: Option<usize>,
        to_device: Option<usize>,
        buffer: Self::Buffer<T>,
    ) -> Result<Self::Exchange<T>>;

    /// Makes what is queued from now on wait for the copies; the host does not wait.
    ///
    /// # Errors
    /// An error of the driver.
    fn exchanged<T: Pod + Send + Sync>(
        &self,
        exchange: Self::Exchange<T>,
    ) -> Result<Self::Buffer<T>>;

    /// Queues copies of the ranges `parts` of `from`, one after the other, to the start of `to`
    /// without waiting for them.
    ///
    /// # Errors
    /// A range exceeds its buffer, or an error of the driver.
    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &Self::Buffer<T>,
        parts: &[Range<usize>],
        to: Self::Pinned<T>,
    ) -> Result<Self::Received<T>>;

    /// Queues `transfers` from the `mine` of all devices to `to`; see
    /// [`CudaPeers::gather`](crate::cuda::CudaPeers::gather). Every device has a thread or a
    /// process that calls this for the same arrays in the same order. It may wait for the other
    /// threads, but not for the devices.
    ///
    /// # Errors
    /// A copy exceeds an array, another thread does not come, or an error of the driver.
    fn gather_from_peers<T: Pod + Send>(
        &self,
        peers: &mut Self::Peers,
        mine: &Self::Buffer<T>,
        to: &mut Self::Buffer<T>,
        transfers: &Transfers,
    ) -> Result<()>;

    /// Gives elements `own` of a buffer to the other devices, and queues `transfers` from theirs to
    /// other elements of it; see [`CudaPeers::share`](crate::cuda::CudaPeers::share).
    ///
    /// # Errors
    /// Those of [`Self::gather_from_peers`], or a copy would change `own`.
    fn share_with_peers<T: Pod + Send>(
        &self,
        peers: &mut Self::Peers,
        buffer: &mut Self::Buffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()>;

    /// Queues a copy between two buffers of the same length.
    ///
    /// # Errors
    /// The sizes differ, or an error of the driver.
    fn copy<T: Pod + Send>(&self, from: &Self::Buffer<T>, to: &mut Self::Buffer<T>) -> Result<()>;

    /// Queues a copy of elements `range` of a buffer to elements `at..` of memory of the same
    /// device that another library may use; returns false, without a copy, if the device is not
    /// CUDA's.
    ///
    /// # Errors
    /// A range exceeds its buffer, the devices differ, or an error of the driver.
    fn copy_to_cuda<T: Pod + Send>(
        &self,
        _from: &Self::Buffer<T>,
        _range: Range<usize>,
        _to: &mut DeviceBuffer<T>,
        _at: usize,
    ) -> Result<bool> {
        Ok(false)
    }

    /// Queues filling a buffer with zero bytes.
    ///
    /// # Errors
    /// An error of the driver.
    fn zero<T: Pod + Send>(&self, buffer: &mut Self::Buffer<T>) -> Result<()>;

    /// Queues a launch.
    ///
    /// # Errors
    /// An argument is too short, or an error of the driver, with the name of the kernel.
    fn launch<L: Launch<Self::Space> + Sync>(&self, launch: &L, work: Work) -> Result<()> {
        self.launch_any(launch, work)
    }

    /// Like [`Device::launch`], for a kernel that is selected at run time.
    ///
    /// # Errors
    /// As for [`Device::launch`].
    fn launch_any(&self, launch: &(dyn AnyLaunch<Self::Space> + Sync), work: Work) -> Result<()>;

    /// Plans a transform of `batch` arrays in complex single precision. `shape` is (row, column) or
    /// (slice, row, column).
    ///
    /// # Errors
    /// cuFFT was not found or rejects the size.
    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<Self::Fft>;

    /// Queues an in-place transform of the planned number of arrays at the start of `data`.
    ///
    /// # Errors
    /// The buffer is too short, or an error of cuFFT.
    fn fft(
        &self,
        plan: &Self::Fft,
        data: &mut Self::Buffer<warpstride_device::Complex32>,
        direction: Direction,
    ) -> Result<()>;

    /// Queues a transform of `from` into `to`; `from` keeps its values.
    ///
    /// # Errors
    /// A buffer is too short, or an error of cuFFT.
    fn fft_to(
        &self,
        plan: &Self::Fft,
        from: &Self::Buffer<warpstride_device::Complex32>,
        to: &mut Self::Buffer<warpstride_device::Complex32>,
        direction: Direction,
    ) -> Result<()>;

    /// Captures the operations that `work` queues instead of running them, so that one call can
    /// queue them again. Returns `None`, without calling `work`, if the device does not support
    /// graphs.
    ///
    /// # Errors
    /// The error of `work`, which must not copy from or to the host, or an error of the driver.
    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Graph>>;

    /// Queues the operations of a graph. The buffers that they use must still exist.
    ///
    /// # Errors
    /// An error of the driver.
    fn replay(&self, graph: &mut Self::Graph) -> Result<()>;

    /// Waits for all queued work.
    ///
    /// # Errors
    /// The error of that work.
    fn synchronize(&self) -> Result<()>;

    /// The time in milliseconds that the device takes for the operations queued by `work`, by its
    /// own clock (events).
    ///
    /// # Errors
    /// The error of `work`, or an error of the driver.
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32>;

    /// Waits for the queued work, and from now on times every launch, transform, copy and fill in
    /// the streams of the device, by its own clock. A replay of a graph is timed as a whole. Only
    /// the first [`MAX_PROFILE_SPANS`](super::MAX_PROFILE_SPANS) operations are timed.
    ///
    /// # Errors
    /// An error of the driver, or of the queued work.
    fn start_profile(&self) -> Result<()>;

    /// Ends what [`Device::start_profile`] started, waits for the timed operations and returns
    /// their times, in the order in which they were queued.
    ///
    /// # Errors
    /// An error of the driver, or of the timed operations.
    fn take_profile(&self) -> Result<Vec<ProfileSpan>>;
}
