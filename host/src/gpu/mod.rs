//! What a pipeline of kernels needs from a machine: buffers, ordered launches, transforms, and
//! results fetched late.
//!
//! Two machines exist: [`CudaMachine`] over the fence ([`crate::cuda`]) and
//! [`EmulatedMachine`] over the emulator. A science room's `cuda/` half is written once against
//! [`Machine`] and runs on both. All work of one machine is ordered: it happens as if one after the
//! other in the order of the calls. Several devices are a [`Fleet`], whose work is ordered by marks.

mod borrowed;
mod borrowed_fleet;
mod cuda_fleet;
mod cuda_machine;
mod emulated_fleet;
mod emulated_machine;
mod fleet;

pub use cuda_fleet::{CudaFleet, CudaMark, CudaRecording, CudaRelay};
pub use cuda_machine::{CudaMachine, ptx_for};
pub use emulated_fleet::{EmulatedFleet, EmulatedMark, EmulatedRelay, PlacedBuffer};
pub use emulated_machine::{
    EmulatedBuffer, EmulatedCopy, EmulatedFetch, EmulatedFft, EmulatedMachine,
};
pub use fleet::{Fleet, Lane, Link, RangedBuffer, Stretch};

use bytemuck::Pod;
use std::ops::{DerefMut, Range};
use std::sync::Arc;
use warpstride_device::launch::{AnyLaunch, Launch, Read, Space, Work, Write};

/// What went wrong on a machine. See [`crate::cuda::CudaError`] for the driver's part.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The driver said so.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
    /// An argument does not fit its launch.
    #[error(transparent)]
    Extent(#[from] warpstride_device::launch::ExtentError),
    /// The emulator stopped the launch.
    #[error(transparent)]
    Emulator(#[from] warpstride_device::emulator::EmulatorError),
    /// Host data of another size than the buffer.
    #[error("{what}: the buffer holds {buffer} bytes, the host data {host}")]
    Size {
        /// What was copied.
        what: &'static str,
        /// Bytes in the buffer.
        buffer: usize,
        /// Bytes given.
        host: usize,
    },
    /// Not enough memory on the host.
    #[error("out of host memory: {what} needs {needed} bytes; reduce the size of the problem")]
    HostMemory {
        /// What it was for.
        what: &'static str,
        /// Bytes asked for.
        needed: usize,
    },
    /// The emulator saw a kernel write outside of a buffer.
    #[error("kernel {kernel} wrote at byte {offset} of the buffer for {buffer}, which has {bytes}")]
    Overrun {
        /// Entry name.
        kernel: &'static str,
        /// What the buffer was allocated for.
        buffer: &'static str,
        /// Bytes from its first element; negative before it.
        offset: isize,
        /// Bytes that it has.
        bytes: usize,
    },
    /// It happened on one device of several.
    #[error("GPU {device}: {error}")]
    OnDevice {
        /// The driver's number.
        device: usize,
        /// What happened.
        error: Box<GpuError>,
    },
    /// A fleet without devices.
    #[error("no devices were named")]
    NoDevices,
    /// A device named twice.
    #[error("GPU {device} is named twice; every device can be used once")]
    DeviceTwice {
        /// The driver's number.
        device: usize,
    },
    /// A place that the fleet does not have.
    #[error("the fleet has {devices} devices, numbered from 0: there is no {device}")]
    NotInFleet {
        /// The place asked for.
        device: usize,
        /// Devices.
        devices: usize,
    },
    /// A transform of nothing, of more than memory can address, or not of two or three axes.
    #[error("a transform cannot have this size: {batch} arrays of {shape:?}")]
    TransformSize {
        /// Axes of an array, the slowest first.
        shape: Vec<usize>,
        /// Arrays.
        batch: usize,
    },
}

impl GpuError {
    /// The same, saying where it happened.
    fn on(self, device: usize) -> Self {
        match self {
            named @ Self::OnDevice { .. } => named,
            error => Self::OnDevice {
                device,
                error: Box::new(error),
            },
        }
    }
}

/// Result of an operation on a machine.
pub type Result<T> = std::result::Result<T, GpuError>;

/// Memory of a machine: `len` elements of `T`, zeroed at the start.
pub trait Buffer<S: Space, T: Pod> {
    /// Elements.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// As an argument that is read.
    fn read(&self) -> Read<'_, S, T>;
    /// As an argument that is written.
    fn write(&mut self) -> Write<'_, S, T>;
}

/// Direction of a transform. Both are plain sums, without a factor: forward then inverse
/// multiplies by the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// exp(−2πi …).
    Forward,
    /// exp(+2πi …).
    Inverse,
}

/// Results on their way to the host.
pub trait Fetch<T> {
    /// Whether [`Fetch::wait`] would return at once.
    fn ready(&self) -> bool;
    /// Waits for the copy and gives the values.
    ///
    /// # Errors
    /// What went wrong in any work before the copy.
    fn wait(self) -> Result<Vec<T>>;
}

/// A copy under way, from or to host memory. Dropping it waits.
pub trait Copying<B> {
    /// Whether [`Copying::wait`] would return at once.
    fn ready(&self) -> bool;
    /// Waits for the copy and gives back what it held.
    ///
    /// # Errors
    /// What went wrong in any work before the copy's end.
    fn wait(self) -> Result<B>;
}

/// A machine for kernels: one ordered queue of launches, transforms and copies.
pub trait Machine {
    /// Its kind of memory.
    type Space: Space;
    /// Its buffers.
    type Buffer<T: Pod + Send>: Buffer<Self::Space, T>;
    /// Its batched transforms.
    type Fft;
    /// Its late results.
    type Fetch<T: Pod + Send>: Fetch<T>;
    /// Work that was recorded.
    type Recording;
    /// Host memory that it copies from and to by itself.
    type Pinned<T: Pod + Send + Sync>: DerefMut<Target = [T]> + Send + Sync + 'static;
    /// A copy from such memory.
    type Sent: Copying<()>;
    /// A copy to such memory.
    type Received<T: Pod + Send + Sync>: Copying<Self::Pinned<T>>;

    /// For summaries: `cuda` or `emulator`.
    fn backend(&self) -> &'static str;

    /// For summaries: the device's name.
    fn device_name(&self) -> String;

    /// Free and total bytes of its memory.
    ///
    /// # Errors
    /// The driver's.
    fn memory(&self) -> Result<(usize, usize)>;

    /// Compute capability times ten of the code that is loaded (80 or 90).
    fn arch(&self) -> u32;

    /// Multiprocessors.
    fn multiprocessors(&self) -> u32;

    /// `len` zeroed elements; `what` names them in errors (out of memory says how much was
    /// asked for, and for what).
    ///
    /// # Errors
    /// Out of memory.
    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<Self::Buffer<T>>;

    /// Copies host data of the same size in bytes (so that complex numbers of another crate can be
    /// given); ordered with launches; returns when `host` may be reused.
    ///
    /// # Errors
    /// Sizes differ, or the driver's.
    fn upload<T: Pod + Send, H: Pod>(&self, buffer: &mut Self::Buffer<T>, host: &[H])
    -> Result<()>;

    /// Waits for what was queued and copies a whole buffer.
    ///
    /// # Errors
    /// Sizes differ, or what went wrong in any work before.
    fn download<T: Pod + Send, H: Pod>(
        &self,
        buffer: &Self::Buffer<T>,
        host: &mut [H],
    ) -> Result<()>;

    /// Queues a copy of a (small) whole buffer to the host without waiting for it. The present
    /// values are fetched: later launches may overwrite the buffer.
    ///
    /// # Errors
    /// The driver's.
    fn fetch<T: Pod + Send>(&self, buffer: &Self::Buffer<T>) -> Result<Self::Fetch<T>>;

    /// `len` zeroed elements of host memory for [`Machine::send`] and [`Machine::receive`].
    ///
    /// # Errors
    /// Out of memory.
    fn pinned<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        len: usize,
    ) -> Result<Self::Pinned<T>>;

    /// Queues a copy of elements `range` of `from` to elements `at..` of `to` without waiting for it. Until it is done
    /// `from` can be read, and not changed.
    ///
    /// # Errors
    /// Elements that are not there, or the driver's.
    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Self::Pinned<T>>,
        range: Range<usize>,
        to: &mut Self::Buffer<T>,
        at: usize,
    ) -> Result<Self::Sent>;

    /// Queues copies of `parts` of `from`, one after the other, to the start of `to`, without waiting for them.
    ///
    /// # Errors
    /// Elements that are not there, or the driver's.
    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &Self::Buffer<T>,
        parts: &[Range<usize>],
        to: Self::Pinned<T>,
    ) -> Result<Self::Received<T>>;

    /// Queues a copy between two buffers of the same length.
    ///
    /// # Errors
    /// Sizes differ, or the driver's.
    fn copy<T: Pod + Send>(&self, from: &Self::Buffer<T>, to: &mut Self::Buffer<T>) -> Result<()>;

    /// Queues filling with zero bytes.
    ///
    /// # Errors
    /// The driver's.
    fn zero<T: Pod + Send>(&self, buffer: &mut Self::Buffer<T>) -> Result<()>;

    /// Queues a launch.
    ///
    /// # Errors
    /// An argument too short, or the driver's (with the kernel's name).
    fn launch<L: Launch<Self::Space> + Sync>(&self, launch: &L, work: Work) -> Result<()> {
        self.launch_any(launch, work)
    }

    /// The same for a kernel that is known at run time only.
    ///
    /// # Errors
    /// As [`Machine::launch`].
    fn launch_any(&self, launch: &(dyn AnyLaunch<Self::Space> + Sync), work: Work) -> Result<()>;

    /// Plans an in-place transform of `batch` arrays, complex single precision. `shape` is (row,
    /// column) or (slice, row, column).
    ///
    /// # Errors
    /// cuFFT missing or refusing (with its number and name).
    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<Self::Fft>;

    /// Queues a transform in place of the first `batch` arrays.
    ///
    /// # Errors
    /// Buffer too short, or the library's.
    fn fft(
        &self,
        plan: &Self::Fft,
        data: &mut Self::Buffer<warpstride_device::Complex32>,
        direction: Direction,
    ) -> Result<()>;

    /// Queues a transform of `from` into `to`; `from` keeps its values.
    ///
    /// # Errors
    /// A buffer too short, or the library's.
    fn fft_to(
        &self,
        plan: &Self::Fft,
        from: &Self::Buffer<warpstride_device::Complex32>,
        to: &mut Self::Buffer<warpstride_device::Complex32>,
        direction: Direction,
    ) -> Result<()>;

    /// Records what `work` queues instead of doing it, so that it can be queued again at once. `None`
    /// where the machine does not record: `work` was not called then.
    ///
    /// # Errors
    /// Those of `work`, which may not copy from or to the host, or the driver's.
    fn record(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Recording>>;

    /// Queues what was recorded. The buffers that it used must be there still.
    ///
    /// # Errors
    /// The driver's.
    fn replay(&self, recording: &mut Self::Recording) -> Result<()>;

    /// Waits for everything queued.
    ///
    /// # Errors
    /// What went wrong in it.
    fn synchronize(&self) -> Result<()>;

    /// Milliseconds that the device spends on what `work` queues, by its own clock (events).
    ///
    /// # Errors
    /// Those of `work`, or the driver's.
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32>;
}
