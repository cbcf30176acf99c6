//! Exchange between the devices of several processes, on one or several hosts, through NCCL.
//!
//! Each process has one device. What it sends and what it receives is queued in its stream; the
//! processes need not meet.

use std::ffi::{CStr, c_int};
use std::fmt;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::ffi::nccl::{Comm, Nccl, UniqueId, nccl};
use super::stream::Stream;
use super::transfers::{PeerCopy, Transfers};

/// `ncclUint8`
const BYTES: c_int = 1;

/// The identifier of a group of devices, which one process makes and gives to the others.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct NcclId([u8; 128]);

impl fmt::Debug for NcclId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NcclId").finish_non_exhaustive()
    }
}

impl NcclId {
    /// A new identifier.
    ///
    /// # Errors
    /// NCCL was not found, or an error of NCCL.
    pub fn new() -> Result<Self> {
        let nccl = nccl()?;
        let mut id = UniqueId { internal: [0; 128] };
        // SAFETY: the address is of a live variable.
        let code = unsafe { (nccl.get_unique_id)(&raw mut id) };
        checked(nccl, code, "ncclGetUniqueId")?;
        Ok(Self(id.internal.map(|byte| byte as u8)))
    }
}

/// Whether NCCL can be loaded.
///
/// # Errors
/// Why it cannot.
pub fn find_nccl() -> Result<()> {
    nccl().map(|_| ())
}

/// An error for a code of NCCL that is not 0.
fn checked(nccl: &Nccl, code: u32, call: &'static str) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the function takes any code and returns a constant string.
    let name = unsafe {
        let text = (nccl.get_error_string)(code);
        if text.is_null() {
            "no description"
        } else {
            CStr::from_ptr::<'static>(text)
                .to_str()
                .unwrap_or("no description")
        }
    };
    Err(CudaError::Library {
        library: "NCCL",
        call,
        code,
        name,
        detail: None,
    })
}

/// A device in a group of devices of NCCL.
///
/// When it is dropped, NCCL keeps its memory for the communicator until the process ends: to
/// destroy one waits for the other devices, which would never end if one of them has failed.
pub struct NcclPeers {
    nccl: &'static Nccl,
    communicator: Comm,
    context: Arc<Context>,
    own: usize,
    devices: usize,
}

// SAFETY: NCCL allows any thread to use a communicator, one at a time, which `&mut self` ensures.
unsafe impl Send for NcclPeers {}

impl fmt::Debug for NcclPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {} of {} of NCCL", self.own, self.devices)
    }
}

impl NcclPeers {
    /// Joins the device of `context` to the group `id` as number `own` of `devices`; waits until
    /// all have joined.
    ///
    /// # Errors
    /// NCCL was not found, there are more devices than it can number, or an error of NCCL: two
    /// processes have the same device, or it finds no way between them.
    pub fn join(context: &Arc<Context>, id: NcclId, own: usize, devices: usize) -> Result<Self> {
        let nccl = nccl()?;
        let number = |value: usize| {
            c_int::try_from(value).map_err(|_| CudaError::Range {
                what: "devices of NCCL",
                start: 0,
                end: value,
                len: c_int::MAX as usize,
            })
        };
        let (rank, size) = (number(own)?, number(devices)?);
        let id = UniqueId {
            internal: id.0.map(|byte| byte as _),
        };
        context.enter()?;
        let mut communicator = null_mut();
        // SAFETY: the address is of a live variable, and the device's context is current.
        let code = unsafe { (nccl.comm_init_rank)(&raw mut communicator, size, id, rank) };
        checked(nccl, code, "ncclCommInitRank")?;
        Ok(Self {
            nccl,
            communicator,
            context: Arc::clone(context),
            own,
            devices,
        })
    }

    /// Number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// Queues what `transfers` says: sends of elements of `mine`, and copies to `to`. Every device
    /// calls this for the same array.
    ///
    /// # Errors
    /// A range exceeds an array, the buffers belong to another device than the stream, or the
    /// stream is being captured; an error of NCCL or of the driver.
    pub fn gather<T: Pod>(
        &mut self,
        stream: &Stream,
        mine: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
        transfers: &Transfers,
    ) -> Result<()> {
        stream.context().expect_same(mine.context(), "the source")?;
        stream.context().expect_same(to.context(), "the target")?;
        for send in &transfers.sends {
            mine.expect_range("what another device receives", &send.from)?;
        }
        for copy in &transfers.copies {
            to.expect_range("a copy from other devices", &copy.target())?;
            if copy.device == self.own {
                mine.expect_range("a copy from the same device", &copy.from)?;
            }
        }
        self.exchange(stream, (mine.raw(), to.raw()), size_of::<T>(), transfers)
    }

    /// Queues what `transfers` says, with sends and copies that count from element `own.start` of
    /// `buffer`; copies go to other elements of it.
    ///
    /// # Errors
    /// Those of [`Self::gather`], or a copy would change `own`.
    pub fn share<T: Pod>(
        &mut self,
        stream: &Stream,
        buffer: &mut DeviceBuffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()> {
        stream
            .context()
            .expect_same(buffer.context(), "the array")?;
        transfers.expect_apart(buffer, &own)?;
        for send in &transfers.sends {
            let end = own.start.saturating_add(send.from.end);
            if end > own.end {
                return Err(CudaError::Range {
                    what: "what another device receives",
                    start: own.start,
                    end,
                    len: own.end,
                });
            }
        }
        let element = size_of::<T>();
        let mine = buffer.raw() + (own.start * element) as driver::DevicePtr;
        let others = transfers
            .copies
            .iter()
            .filter(|copy| copy.device != self.own);
        let transfers = Transfers {
            sends: transfers.sends.clone(),
            copies: others.cloned().collect(),
        };
        self.exchange(stream, (mine, buffer.raw()), element, &transfers)
    }

    /// Queues transfers from elements of one array, which have been checked to be in it, to another
    /// one.
    fn exchange(
        &mut self,
        stream: &Stream,
        (mine, to): (driver::DevicePtr, driver::DevicePtr),
        element: usize,
        transfers: &Transfers,
    ) -> Result<()> {
        stream
            .context()
            .expect_same(&self.context, "the group of devices")?;
        // A graph would be replayed without the others.
        drop(stream.refuse_capture("a copy between devices")?);
        self.context.enter()?;
        let address =
            |base: driver::DevicePtr, at: usize| base + (at * element) as driver::DevicePtr;
        for copy in transfers
            .copies
            .iter()
            .filter(|copy| copy.device == self.own)
        {
            let (source, target) = (address(mine, copy.from.start), address(to, copy.at));
            let bytes = copy.from.len() * element;
            if bytes > 0 {
                // SAFETY: both ranges have been checked by the callers, and the stream orders the
                // copy with what frees the memory.
                let answer =
                    unsafe { driver::cuMemcpyDtoDAsync_v2(target, source, bytes, stream.raw()) };
                check(answer, "cuMemcpyDtoDAsync")?;
            }
        }
        self.queue(
            stream,
            &|send: &PeerCopy| address(mine, send.from.start),
            &|copy| address(to, copy.at),
            element,
            transfers,
        )
    }

    /// Queues the sends and receives of `transfers` as one group; `source` and `target` are their
    /// addresses.
    fn queue(
        &self,
        stream: &Stream,
        source: &dyn Fn(&PeerCopy) -> driver::DevicePtr,
        target: &dyn Fn(&PeerCopy) -> driver::DevicePtr,
        element: usize,
        transfers: &Transfers,
    ) -> Result<()> {
        let nccl = self.nccl;
        let peer = |device: usize| {
            // Fewer than `devices`, which is a `c_int`.
            (device < self.devices && device != self.own).then_some(device as c_int)
        };
        // SAFETY: the function has no arguments.
        checked(nccl, unsafe { (nccl.group_start)() }, "ncclGroupStart")?;
        let mut done = Ok(());
        for send in &transfers.sends {
            let Some(peer) = peer(send.device).filter(|_| !send.from.is_empty()) else {
                continue;
            };
            // SAFETY: the range is within a live array of this device; the stream orders the work
            // with what frees or changes it.
            let code = unsafe {
                (nccl.send)(
                    source(send) as *const _,
                    send.from.len() * element,
                    BYTES,
                    peer,
                    self.communicator,
                    stream.raw().cast(),
                )
            };
            done = done.and(checked(nccl, code, "ncclSend"));
        }
        for copy in &transfers.copies {
            let Some(peer) = peer(copy.device).filter(|_| !copy.from.is_empty()) else {
                continue;
            };
            // SAFETY: as above; the target is borrowed mutably by the caller.
            let code = unsafe {
                (nccl.recv)(
                    target(copy) as *mut _,
                    copy.from.len() * element,
                    BYTES,
                    peer,
                    self.communicator,
                    stream.raw().cast(),
                )
            };
            done = done.and(checked(nccl, code, "ncclRecv"));
        }
        // SAFETY: ends the group that began above, also after an error.
        let ended = checked(nccl, unsafe { (nccl.group_end)() }, "ncclGroupEnd");
        done.and(ended)
    }
}
