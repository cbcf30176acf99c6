//! The fence: everything that talks to the CUDA driver and its libraries, and all `unsafe` of the
//! host. It knows nothing of any science, and nothing outside it handles a device address except
//! as a typed launch argument.
//!
//! Built on `cust` 0.3.2 for initialisation, devices and primary contexts. The rest is declared
//! again in [`ffi`], for two reasons: `cust_raw` types the driver's answer as a Rust enum, so that
//! a number newer than the bindings would be undefined behaviour, and `cust` folds many numbers
//! into `UnknownError`.
//!
//! # Why safe code cannot go wrong
//! * Memory is freed only when its context is idle: dropping a [`DeviceBuffer`] or a
//!   [`PinnedBuffer`] waits first, so work in flight never outlives its memory.
//! * A copy takes the page-locked buffer by value and gives it back when it is done
//!   ([`Transfer`]); leaking the transfer leaks the buffer. A copy to the device may share it instead
//!   ([`SharedUpload`]): it holds an `Arc`, so that everybody can read the buffer and nobody change it.
//! * A device has one [`Context`] at a time, so that what is known of its work is known in one
//!   place. Where the work of another device may use its memory, freeing waits for that too.
//! * While a [`Graph`] lives the process frees nothing of any device, because the graph holds
//!   addresses.
//! * A captured stream refuses copies with page-locked memory that the host can see, and copies
//!   between devices without a direct way. A [`Relay`]'s memory the host never sees, and it is kept
//!   while a graph lives; so is an [`Event`] that is part of a graph.
//! * What work may use that nobody waits for any more, because a device failed for which it waits, is
//!   leaked.
//! * Contents are [`bytemuck::Pod`], so that a race between two streams, which is the caller's to
//!   avoid by events, gives wrong numbers and never an invalid value.

#![expect(
    unsafe_code,
    reason = "the one place of the host that calls the driver"
)]

mod buffer;
mod context;
mod contracts;
mod copy;
mod device;
mod error;
mod event;
mod fetch;
pub mod ffi;
mod fft;
mod graph;
mod launch;
mod module;
mod partition;
mod peer;
mod pinned;
mod registry;
mod relay;
mod retired;
mod staging;
mod stream;

pub use buffer::DeviceBuffer;
pub use context::{Context, MemoryInfo};
pub use copy::{SharedUpload, Transfer};
pub use device::{DeviceInfo, PeerLink, WhyNone, list_devices};
pub use error::{CudaError, Result};
pub use event::{Event, Timing};
pub use fetch::{FetchPool, Fetched};
pub use fft::{FftDirection, FftPlan, FftWorkspace};
pub use graph::Graph;
pub use module::{Module, Ptx, choose_ptx};
pub use partition::{STRIDES, WAVES, partition};
pub use peer::{copy_between, copy_range_between, enable_peer_access};
pub use pinned::{PinnedBuffer, PinnedKind};
pub use relay::Relay;
pub use staging::Staging;
pub use stream::{Priority, Stream};
