//! CUDA devices, device groups and an emulator for kernels written in Rust.
//!
//! * [`cuda`] is the CUDA layer: contexts, streams, events, page-locked memory, modules, graphs,
//!   peer copies and cuFFT. The driver is found at run time, so programs build and start without a
//!   CUDA toolkit and without a driver.
//! * [`gpu`] has the interfaces [`gpu::Device`] and [`gpu::DeviceGroup`], each implemented with
//!   CUDA and with the emulator.
//!
//! A kernel is an `unsafe fn` with the attribute [`kernel`](warpstride_device::kernel). The same
//! source is compiled to PTX for a GPU and runs in the emulator, which needs no GPU:
//!
//! ```
//! # #![allow(unsafe_op_in_unsafe_fn, reason = "a kernel")]
//! use warpstride_cuda::gpu::{Buffer, Device, EmulatedDevice};
//! use warpstride_device::launch::Work;
//! use warpstride_device::prelude::*;
//!
//! /// Multiplies every element of `data` by `factor`.
//! #[kernel(block = 256)]
//! pub unsafe fn scale(#[len(count)] data: *mut f32, count: u32, factor: f32) {
//!     for i in thread::grid_stride(count as usize) {
//!         *data.add(i) *= factor;
//!     }
//! }
//!
//! # fn main() -> warpstride_cuda::gpu::Result<()> {
//! let device = EmulatedDevice::new(); // or CudaDevice::new(0, &Kernels::new(80, ptx))
//! let mut data = device.alloc::<f32>("data", 1000)?;
//! device.upload(&mut data, &[1.5_f32; 1000])?;
//! let launch = Scale { data: data.write(), count: 1000, factor: 2.0 };
//! device.launch(&launch, Work::Elements(1000))?;
//! let mut result = [0.0_f32; 1000];
//! device.download(&data, &mut result)?;
//! assert_eq!(result, [3.0; 1000]);
//! # Ok(())
//! # }
//! ```
//!
//! The crate contains no application code. `docs/your-own-kernels.md` describes a program that
//! consists of this crate and its own kernels.

pub mod cuda;
pub mod gpu;
