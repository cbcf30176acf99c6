//! The interface of a device group: streams on each device, events between them, and sends from the
//! memory of one device to that of another.
//!
//! There are two implementations: [`CudaDeviceGroup`](super::CudaDeviceGroup) on the CUDA layer,
//! and [`EmulatedDeviceGroup`](super::EmulatedDeviceGroup), where all work is done when its call
//! returns. Unlike the work of a [`Device`](super::Device), streams are ordered only by events.

use super::ProfileSpan;
use std::ops::Range;

use bytemuck::Pod;
use warpstride_device::launch::{Launch, Read, Space, Work, Write};

use super::device::Buffer;
use super::error::Result;

/// A stream of a device in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamId {
    /// The legacy default stream, which cannot be captured.
    Default,
    /// A stream of normal priority, for most of the work.
    Bulk,
    /// A stream of high priority, for exchange with the previous device.
    Top,
    /// A stream of high priority, for exchange with the next device.
    Bottom,
}

impl StreamId {
    /// The name of the stream in timelines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Bulk => "bulk",
            Self::Top => "top",
            Self::Bottom => "bottom",
        }
    }
}

/// The link from one device of a group to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Index of the sender in the group.
    pub from: usize,
    /// Index of the receiver in the group.
    pub to: usize,
    /// Whether copies are direct, without host memory.
    pub direct: bool,
}

/// Several devices with the same kernels. Devices are identified by their index in the group, from
/// 0.
///
/// Errors name the device ([`GpuError::OnDevice`](super::GpuError::OnDevice)).
pub trait DeviceGroup {
    /// The memory space of the devices.
    type Space: Space;
    /// A buffer in the memory of one device.
    type Buffer<T: Pod + Send>: Buffer<Self::Space, T> + RangedBuffer<Self::Space, T>;
    /// A point in a stream that other streams can wait for.
    type Event;
    /// A connection from one device to another, for sends.
    type PeerChannel<T: Pod + Send>;
    /// A captured graph.
    type Graph;

    /// The back end, for summaries: `cuda` or `emulator`.
    fn backend(&self) -> &'static str;

    /// The number of devices.
    fn devices(&self) -> usize;

    /// The driver's ordinal of a device.
    ///
    /// # Panics
    /// The group has no such device.
    fn ordinal(&self, device: usize) -> usize;

    /// The name of a device's model.
    ///
    /// # Panics
    /// The group has no such device.
    fn device_name(&self, device: usize) -> String;

    /// Free and total bytes of a device's memory.
    ///
    /// # Errors
    /// The group has no such device, or an error of the driver.
    fn memory(&self, device: usize) -> Result<(usize, usize)>;

    /// The links of all ordered pairs of different devices.
    fn links(&self) -> Vec<Link>;

    /// The number of blocks of a launch that are resident on the whole device at once.
    ///
    /// # Errors
    /// The group has no such device, or an error of the driver, with the name of the kernel.
    fn resident_blocks<L: Launch<Self::Space>>(&self, device: usize, launch: &L) -> Result<usize>;

    /// Allocates `len` zeroed elements on a device; `what` names their purpose in errors.
    ///
    /// # Errors
    /// Memory is exhausted, or the group has no such device.
    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<Self::Buffer<T>>;

    /// Copies `host` to elements `at..` of a buffer and waits for the copy. No other work may use
    /// the buffer meanwhile.
    ///
    /// # Errors
    /// `host` exceeds the buffer, or an error of the driver.
    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut Self::Buffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()>;

    /// Copies elements `at..` of a buffer to `host` and waits for the copy. The caller must have
    /// waited for the work that writes them.
    ///
    /// # Errors
    /// `host` exceeds the buffer, or an error of the driver.
    fn download<T: Pod + Send>(
        &self,
        buffer: &Self::Buffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()>;

    /// Queues a launch.
    ///
    /// # Errors
    /// An argument is too short, or an error of the driver, with the name of the kernel.
    fn launch<L: Launch<Self::Space> + Sync>(
        &self,
        device: usize,
        stream: StreamId,
        launch: &L,
        work: Work,
    ) -> Result<()>;

    /// Queues a copy of a whole buffer to another of the same device and length.
    ///
    /// # Errors
    /// The sizes or the devices differ, or an error of the driver.
    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        stream: StreamId,
        from: &Self::Buffer<T>,
        to: &mut Self::Buffer<T>,
    ) -> Result<()>;

    /// Creates a channel for sends of at most `len` elements from one device to another or to
    /// itself. Sends are direct if `direct` is set and the devices have a direct link; otherwise
    /// they go through page-locked host memory.
    ///
    /// # Errors
    /// Memory is exhausted, or another error of the driver.
    fn peer_channel<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<Self::PeerChannel<T>>;

    /// Queues a copy of elements `range` of `from` to elements `at..` of `to`, after the work
    /// queued in `stream` of the sending device.
    ///
    /// # Errors
    /// The range exceeds a buffer or the length of the channel, a buffer belongs to another device,
    /// or an error of the driver.
    fn send<T: Pod + Send>(
        &self,
        peer_channel: &Self::PeerChannel<T>,
        stream: StreamId,
        from: &Self::Buffer<T>,
        range: Range<usize>,
        to: &mut Self::Buffer<T>,
        at: usize,
    ) -> Result<()>;

    /// Makes the work queued from now on in `stream` of `device` wait for the last send of the
    /// channel.
    ///
    /// # Errors
    /// An error of the driver.
    fn wait_for_send<T: Pod + Send>(
        &self,
        peer_channel: &Self::PeerChannel<T>,
        device: usize,
        stream: StreamId,
    ) -> Result<()>;

    /// Creates an event for a device.
    ///
    /// # Errors
    /// The group has no such device, or an error of the driver.
    fn event(&self, device: usize) -> Result<Self::Event>;

    /// Records the event after the work queued in `stream` of `device`, which must be the device of
    /// the event.
    ///
    /// # Errors
    /// The event belongs to another device, or an error of the driver.
    fn record(&self, event: &Self::Event, device: usize, stream: StreamId) -> Result<()>;

    /// Makes the work queued from now on in `stream` of `device` wait for an event of any device.
    /// An event that was never recorded counts as passed.
    ///
    /// # Errors
    /// An error of the driver.
    fn wait(&self, event: &Self::Event, device: usize, stream: StreamId) -> Result<()>;

    /// Waits on the host for all work of a stream.
    ///
    /// # Errors
    /// The error of that work.
    fn synchronize(&self, device: usize, stream: StreamId) -> Result<()>;

    /// Waits on the host for all work of a device.
    ///
    /// # Errors
    /// The error of that work.
    fn synchronize_device(&self, device: usize) -> Result<()>;

    /// Waits on the host for all work of all devices, even if one of them fails.
    ///
    /// # Errors
    /// The first error of that work.
    fn drain(&self) -> Result<()>;

    /// Captures the operations that `work` queues in the streams of all devices, except
    /// [`StreamId::Default`], instead of running them. Returns `None`, without calling `work`, if
    /// the group does not support graphs.
    ///
    /// # Errors
    /// The error of `work`, or an error of the driver.
    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Graph>>;

    /// Queues the operations of a graph after the work queued in all streams of all devices.
    ///
    /// # Errors
    /// An error of the driver.
    fn replay(&self, graph: &mut Self::Graph) -> Result<()>;

    /// Starts timing every launch, copy and send, including captured ones, by the clocks of the
    /// devices.
    ///
    /// # Errors
    /// An error of the driver.
    fn profile(&self) -> Result<()>;

    /// The times of all operations since the last call, in the order in which they were queued. The
    /// caller must have waited for all of them. If a graph is launched several times between two
    /// calls, only the times of its last launch are returned.
    ///
    /// # Errors
    /// An error of the driver.
    fn profile_spans(&self) -> Result<Vec<ProfileSpan>>;
}

/// A buffer of which ranges can be launch arguments.
pub trait RangedBuffer<S: Space, T: Pod> {
    /// A range of elements as a read-only launch argument.
    ///
    /// # Errors
    /// The range exceeds the buffer.
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, S, T>>;

    /// A range of elements as a writable launch argument.
    ///
    /// # Errors
    /// The range exceeds the buffer.
    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, S, T>>;
}
