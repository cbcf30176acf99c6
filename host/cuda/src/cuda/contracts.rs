//! Misuse that does not compile. Each rejected example follows one that compiles and differs from
//! it by the offending line.
//!
//! # A page-locked buffer belongs to its copy until the copy is done
//! ```no_run
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let pinned = PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "frames", 8)?;
//! let copy = stream.upload(pinned, &mut device, 0)?;
//! let mut pinned = copy.wait()?;
//! pinned[0] = 1.0;
//! # Ok(())
//! # }
//! ```
//! The buffer cannot be changed before the copy is done:
//! ```compile_fail,E0382
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let mut pinned = PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "frames", 8)?;
//! let copy = stream.upload(pinned, &mut device, 0)?;
//! pinned[0] = 1.0;
//! # Ok(())
//! # }
//! ```
//! and it cannot be dropped:
//! ```compile_fail,E0382
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let pinned = PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "frames", 8)?;
//! let copy = stream.upload(pinned, &mut device, 0)?;
//! drop(pinned);
//! # Ok(())
//! # }
//! ```
//! A copy can be waited for only once:
//! ```compile_fail,E0382
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let pinned = PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "frames", 8)?;
//! let copy = stream.upload(pinned, &mut device, 0)?;
//! let first = copy.wait()?;
//! let second = copy.wait()?;
//! # Ok(())
//! # }
//! ```
//! Ordinary memory, which its owner may free at any time, cannot be copied asynchronously:
//! ```compile_fail,E0308
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let copy = stream.upload(vec![0.0_f32; 8], &mut device, 0)?;
//! let mut pinned = copy.wait()?;
//! # Ok(())
//! # }
//! ```
//!
//! # A buffer shared with a copy cannot be changed
//! ```no_run
//! # use std::sync::Arc;
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let shared = Arc::new(PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "frames", 8)?);
//! let copy = stream.upload_shared(&shared, 0..8, &mut device, 0)?;
//! assert_eq!(shared[0], 0.0);
//! # Ok(())
//! # }
//! ```
//! ```compile_fail,E0594
//! # use std::sync::Arc;
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! # let stream = Stream::new(&context, Priority::Normal)?;
//! let mut device = DeviceBuffer::<f32>::zeroed(&context, "frames", 8)?;
//! let mut shared = Arc::new(PinnedBuffer::<f32>::zeroed(&context, PinnedKind::Plain, "frames", 8)?);
//! let copy = stream.upload_shared(&shared, 0..8, &mut device, 0)?;
//! shared[0] = 1.0;
//! # Ok(())
//! # }
//! ```
//!
//! # An argument does not outlive its buffer
//! ```no_run
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! let mut buffer = DeviceBuffer::<f32>::zeroed(&context, "object", 8)?;
//! let argument = buffer.write();
//! assert_eq!(argument.len(), 8);
//! drop(buffer);
//! # Ok(())
//! # }
//! ```
//! ```compile_fail,E0505
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! let mut buffer = DeviceBuffer::<f32>::zeroed(&context, "object", 8)?;
//! let argument = buffer.write();
//! drop(buffer);
//! assert_eq!(argument.len(), 8);
//! # Ok(())
//! # }
//! ```
//! and no other argument of a launch can read what one argument writes:
//! ```compile_fail,E0502
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! let mut buffer = DeviceBuffer::<f32>::zeroed(&context, "object", 8)?;
//! let written = buffer.write();
//! let read = buffer.read();
//! assert_eq!(written.len(), read.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Memory of the emulator is not accepted by a device
//! ```no_run
//! # use warpstride_cuda::cuda::*;
//! # use warpstride_device::launch::{Cuda, Read};
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! fn reads(argument: Read<'_, Cuda, f32>) {}
//! let device = DeviceBuffer::<f32>::zeroed(&context, "object", 8)?;
//! reads(device.read());
//! # Ok(())
//! # }
//! ```
//! ```compile_fail,E0308
//! # use warpstride_cuda::cuda::*;
//! # use warpstride_device::emulator::Memory;
//! # use warpstride_device::launch::{Cuda, Read};
//! # fn main() -> Result<()> {
//! fn reads(argument: Read<'_, Cuda, f32>) {}
//! let memory = Memory::<f32>::try_zeroed(8).unwrap();
//! reads(memory.read());
//! # Ok(())
//! # }
//! ```
//!
//! # Elements are plain bytes
//! The bytes that the device wrote are used as they are, so types with invalid values are rejected.
//! ```compile_fail,E0277
//! # use warpstride_cuda::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! let flags = DeviceBuffer::<bool>::zeroed(&context, "flags", 8)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Two threads cannot launch one graph at once
//! ```compile_fail,E0596
//! # use warpstride_cuda::cuda::*;
//! fn start(graph: &Graph, stream: &Stream) -> Result<()> {
//!     graph.launch(stream)
//! }
//! ```
