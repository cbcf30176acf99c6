//! What a computation over several devices needs: streams (lanes) on each, events (marks) between
//! them, and rows pushed from one device's memory to another's.
//!
//! Two fleets exist: [`CudaFleet`](super::CudaFleet) over the fence, and
//! [`EmulatedFleet`](super::EmulatedFleet), where every piece of work is done when its call returns.
//! Unlike on a [`Machine`](super::Machine), lanes are not ordered with each other but by marks.

use std::ops::Range;

use bytemuck::Pod;
use warpstride_device::launch::{Launch, Read, Space, Work, Write};

use super::{Buffer, Result};

/// A queue of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The driver's legacy default stream.
    Default,
    /// The bulk of the work.
    Bulk,
    /// High priority: what goes to the device above.
    Top,
    /// High priority: what goes to the device below.
    Bottom,
}

impl Lane {
    /// For timelines.
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

/// A piece of work as the device's clock saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Place of the device in the fleet.
    pub device: usize,
    /// Where it ran: the name of a lane, or `relay` for what comes from the host.
    pub lane: &'static str,
    /// Kernel, or `copy`, `push`, `push to host`, `push from host`.
    pub name: &'static str,
    /// Microseconds after [`Fleet::profile`] was called; the clocks of the devices agree to a few
    /// microseconds.
    pub start_us: f64,
    /// Microseconds, as above.
    pub end_us: f64,
}

/// How two devices of a fleet reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Place of the sender in the fleet.
    pub from: usize,
    /// Place of the receiver in the fleet.
    pub to: usize,
    /// Without the host.
    pub direct: bool,
}

/// Several devices with the same kernels. Devices are named by their place in the fleet, from 0.
///
/// Errors name the device ([`GpuError::OnDevice`](super::GpuError::OnDevice)).
pub trait Fleet {
    /// Their kind of memory.
    type Space: Space;
    /// Their buffers.
    type Buffer<T: Pod + Send>: Buffer<Self::Space, T> + RangedBuffer<Self::Space, T>;
    /// Marks in a lane.
    type Mark;
    /// The way of rows from one device to another.
    type Relay<T: Pod + Send>;
    /// Work recorded once.
    type Recording;

    /// `cuda` or `emulator`.
    fn backend(&self) -> &'static str;

    /// Devices.
    fn devices(&self) -> usize;

    /// The driver's number of a device.
    ///
    /// # Panics
    /// The fleet has no such device.
    fn ordinal(&self, device: usize) -> usize;

    /// The maker's name of a device.
    ///
    /// # Panics
    /// The fleet has no such device.
    fn device_name(&self, device: usize) -> String;

    /// Free and total bytes of a device's memory.
    ///
    /// # Errors
    /// The driver's.
    fn memory(&self, device: usize) -> Result<(usize, usize)>;

    /// Links of all ordered pairs of different devices.
    fn links(&self) -> Vec<Link>;

    /// Blocks of the kernel that the whole device holds at once.
    ///
    /// # Errors
    /// The driver's.
    fn resident_blocks<L: Launch<Self::Space>>(&self, device: usize, launch: &L) -> Result<usize>;

    /// `len` zeroed elements on a device.
    ///
    /// # Errors
    /// Out of memory: how much was needed, what for, how much is free.
    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<Self::Buffer<T>>;

    /// Copies `host` to elements `at…` of a buffer; returns when it is there. Nothing else may use
    /// the buffer meanwhile.
    ///
    /// # Errors
    /// It does not fit, or the driver's.
    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut Self::Buffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()>;

    /// Copies elements `at…` of a buffer to `host`; returns when they are there. The caller has
    /// waited for what wrote them.
    ///
    /// # Errors
    /// It does not fit, or the driver's.
    fn download<T: Pod + Send>(
        &self,
        buffer: &Self::Buffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()>;

    /// Queues a launch.
    ///
    /// # Errors
    /// An argument too short, or the driver's (with the kernel's name).
    fn launch<L: Launch<Self::Space> + Sync>(
        &self,
        device: usize,
        lane: Lane,
        launch: &L,
        work: Work,
    ) -> Result<()>;

    /// Queues a copy of a whole buffer to another of the same device and length.
    ///
    /// # Errors
    /// Sizes differ, or the driver's.
    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        lane: Lane,
        from: &Self::Buffer<T>,
        to: &mut Self::Buffer<T>,
    ) -> Result<()>;

    /// A way for `len` elements from one device to another (or to itself): direct where
    /// `direct` is asked for and the devices are linked so, else through page-locked memory.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    fn relay<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<Self::Relay<T>>;

    /// Queues a copy of elements `range` of `from` (at most the relay's length) to elements `at…`
    /// of `to`, after what is queued in `lane` of the sending device.
    ///
    /// # Errors
    /// Extents or devices do not fit, or the driver's.
    fn push<T: Pod + Send>(
        &self,
        relay: &Self::Relay<T>,
        lane: Lane,
        from: &Self::Buffer<T>,
        range: Range<usize>,
        to: &mut Self::Buffer<T>,
        at: usize,
    ) -> Result<()>;

    /// Lets what is queued from now on in `lane` of `device` wait for the relay's last push.
    ///
    /// # Errors
    /// The driver's.
    fn await_push<T: Pod + Send>(
        &self,
        relay: &Self::Relay<T>,
        device: usize,
        lane: Lane,
    ) -> Result<()>;

    /// A new mark for a device.
    ///
    /// # Errors
    /// The driver's.
    fn mark(&self, device: usize) -> Result<Self::Mark>;

    /// Sets the mark behind what is queued in `lane` of the mark's device.
    ///
    /// # Errors
    /// The driver's.
    fn record(&self, mark: &Self::Mark, device: usize, lane: Lane) -> Result<()>;

    /// Lets what is queued from now on in `lane` of `device` wait for a mark of any device. A mark
    /// that was never set is passed.
    ///
    /// # Errors
    /// The driver's.
    fn wait(&self, mark: &Self::Mark, device: usize, lane: Lane) -> Result<()>;

    /// Waits on the host for a lane.
    ///
    /// # Errors
    /// What went wrong in it.
    fn synchronize(&self, device: usize, lane: Lane) -> Result<()>;

    /// Waits on the host for everything on a device.
    ///
    /// # Errors
    /// What went wrong in it.
    fn synchronize_device(&self, device: usize) -> Result<()>;

    /// Waits on the host for everything on all devices, also where one of them fails.
    ///
    /// # Errors
    /// The first that went wrong.
    fn drain(&self) -> Result<()>;

    /// Records what `work` queues in the lanes but [`Lane::Default`] of all devices, instead of
    /// doing it. `None`: this fleet does not record (and has not called `work`).
    ///
    /// # Errors
    /// Those of `work`, or the driver's.
    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Self::Recording>>;

    /// Queues what was recorded, behind what is queued in the lanes of all devices.
    ///
    /// # Errors
    /// The driver's.
    fn replay(&self, recording: &mut Self::Recording) -> Result<()>;

    /// From now on every launch and push is timed by the devices' clocks, captured ones too.
    ///
    /// # Errors
    /// The driver's.
    fn profile(&self) -> Result<()>;

    /// What was timed since the last call, in the order of its queueing. Everything must have been
    /// waited for. A recording is to be asked for after each replay.
    ///
    /// # Errors
    /// The driver's.
    fn stretches(&self) -> Result<Vec<Stretch>>;
}

/// Parts of a buffer as launch arguments.
pub trait RangedBuffer<S: Space, T: Pod> {
    /// Some elements as an argument that is read.
    ///
    /// # Errors
    /// They are not in the buffer.
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, S, T>>;

    /// Some elements as an argument that is written.
    ///
    /// # Errors
    /// They are not in the buffer.
    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, S, T>>;
}
