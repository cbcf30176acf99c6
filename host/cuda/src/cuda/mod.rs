//! The CUDA layer: contexts, streams, events, memory, kernels, graphs, peer copies and cuFFT.
//!
//! All calls of the CUDA driver and its libraries are in this module, and with them all `unsafe` of
//! the host. Other modules see a device address only as a typed launch argument.
//!
//! With the feature `cust`, initialisation, devices and primary contexts come from `cust` 0.3.2, and
//! otherwise from the driver itself: `cust` cannot be built without a CUDA toolkit, unless a patch
//! replaces a crate that it depends on. The other functions are declared in [`ffi`], for two more
//! reasons: `cust_raw` types the driver's code as a Rust enum, so a code newer than the bindings
//! would be undefined behaviour, and `cust` maps many codes to `UnknownError`.
//!
//! # Why the safe functions are sound
//! * Memory is freed only when its context is idle: dropping a [`DeviceBuffer`] or a
//!   [`PinnedBuffer`] waits first, so no work outlives its memory.
//! * A copy takes the page-locked buffer by value and returns it when it is done ([`Transfer`]);
//!   leaking the transfer leaks the buffer. A copy to the device may share the buffer instead
//!   ([`SharedUpload`]): it holds an `Arc`, so the buffer can be read but not changed. The host
//!   reaches [`PinnedPieces`] only after it has waited for their copies.
//! * Each device has one [`Context`] at a time, which tracks all work on the device. If the work of
//!   another device may use its memory, freeing waits for that work too.
//! * While a [`Graph`] exists, the process frees no memory of any device, because the graph holds
//!   addresses.
//! * A stream that is being captured refuses copies with page-locked memory that the host can
//!   access, and copies between devices without peer access. The host cannot access the memory of a
//!   [`PeerChannel`], which is kept while a graph exists, as is an [`Event`] that is part of a
//!   graph.
//! * If a device fails while other work waits for it, that work is abandoned and the memory that it
//!   may use is leaked.
//! * Memory of other libraries is taken by an unsafe function whose contract says what its owner
//!   guarantees; dropping such a buffer waits as for the layer's own.
//! * Contents are [`bytemuck::Pod`]. The caller orders streams by events; a missing event gives
//!   wrong numbers but never an invalid value.

#![expect(
    unsafe_code,
    reason = "the only module of the host that calls the driver"
)]

mod buffer;
mod context;
mod contracts;
mod copy;
mod copy_rows;
mod deferred_free;
mod device;
mod error;
mod event;
pub mod ffi;
mod fft;
mod foreign;
mod graph;
mod kernels;
mod launch;
mod lock;
mod module;
mod nccl_peers;
mod partition;
mod peer;
mod peer_channel;
mod peer_gather;
mod peers;
mod pinned;
mod pinned_pieces;
#[cfg(not(feature = "cust"))]
mod primary;
#[cfg(feature = "cust")]
#[path = "primary_by_cust.rs"]
mod primary;
mod read_back;
mod registry;
mod staging;
mod stream;
mod transfers;

pub use buffer::DeviceBuffer;
pub use context::{Context, MemoryInfo};
pub use copy::{SharedUpload, Transfer};
pub use copy_rows::RowLayout;
pub use deferred_free::Owner;
pub use device::{DeviceInfo, NoDeviceReason, PeerLink, list_devices};
pub use error::{CudaError, Result};
pub use event::{Event, Timing};
pub use fft::{FftDirection, FftPlan, FftWorkspace};
pub use graph::Graph;
pub use kernels::Kernels;
pub use module::Module;
pub use nccl_peers::{NcclId, NcclPeers, find_nccl};
pub use partition::{STRIDES, WAVES, partition};
pub use peer::{copy_between, copy_range_between, enable_peer_access};
pub use peer_channel::PeerChannel;
pub use peer_gather::{PeerGather, PeerInvitation, invite_peers};
pub use peers::CudaPeers;
pub use pinned::{PinnedBuffer, PinnedKind};
pub use pinned_pieces::{CopyDirection, Exchange, PinnedPieces};
pub use read_back::{CudaReadBack, ReadBackPool};
pub use staging::Staging;
pub use stream::{Priority, Stream};
pub use transfers::{PeerCopy, Transfers};
