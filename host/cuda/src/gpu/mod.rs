//! Devices and device groups: the interface that a pipeline of kernels is written against.
//!
//! There are two implementations of [`Device`]: [`CudaDevice`] on the CUDA layer ([`crate::cuda`])
//! and [`EmulatedDevice`] on the emulator. A pipeline is written once, generic over [`Device`], and
//! runs on both. All work of one device is ordered: it happens as if each call ran to completion
//! before the next. Several devices form a [`DeviceGroup`], whose streams are ordered only by
//! events.

mod borrowed;
mod borrowed_group;
mod copy_rows;
mod cuda_device;
mod cuda_fft;
mod cuda_group;
mod device;
mod device_group;
mod emulated_device;
mod emulated_group;
mod error;
mod fft_choice;
mod growable_buffer;
mod host_profiler;
mod kernel_fft;
mod profile;

pub use copy_rows::RowCopies;
pub use cuda_device::{CudaArriving, CudaDevice};
pub use cuda_fft::{CudaFft, OwnFft};
pub use cuda_group::{CudaDeviceGroup, CudaEvent, CudaGroupGraph, CudaPeerChannel};
pub use device::{Buffer, Device, Direction, PendingCopy, ProfileSpan, ReadBack};
pub use device_group::{DeviceGroup, Link, RangedBuffer, StreamId};
pub use emulated_device::{
    EmulatedBuffer, EmulatedCopy, EmulatedDevice, EmulatedFft, EmulatedReadBack,
};
pub use emulated_group::{
    EmulatedDeviceGroup, EmulatedEvent, EmulatedGroupBuffer, EmulatedPeerChannel,
};
pub use error::{GpuError, Result};
pub use fft_choice::{FasterThanCuFft, FftChoice, faster_than_cufft};
pub use growable_buffer::GrowableBuffer;
pub use kernel_fft::{FftPasses, KernelFft};
pub use profile::MAX_PROFILE_SPANS;
