//! What safe code cannot write. Each example that must not compile stands below one that does and
//! differs by the line that is wrong.
//!
//! # A page-locked buffer under way belongs to its copy
//! ```no_run
//! # use warpstride::cuda::*;
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
//! It cannot be changed before the copy is done:
//! ```compile_fail,E0382
//! # use warpstride::cuda::*;
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
//! nor dropped:
//! ```compile_fail,E0382
//! # use warpstride::cuda::*;
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
//! A copy is waited for once:
//! ```compile_fail,E0382
//! # use warpstride::cuda::*;
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
//! # use warpstride::cuda::*;
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
//! # A buffer that a copy shares cannot be changed
//! ```no_run
//! # use std::sync::Arc;
//! # use warpstride::cuda::*;
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
//! # use warpstride::cuda::*;
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
//! # use warpstride::cuda::*;
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
//! # use warpstride::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! let mut buffer = DeviceBuffer::<f32>::zeroed(&context, "object", 8)?;
//! let argument = buffer.write();
//! drop(buffer);
//! assert_eq!(argument.len(), 8);
//! # Ok(())
//! # }
//! ```
//! and what one argument writes no other argument of the launch reads:
//! ```compile_fail,E0502
//! # use warpstride::cuda::*;
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
//! # Memory of the emulator is not memory of the device
//! ```no_run
//! # use warpstride::cuda::*;
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
//! # use warpstride::cuda::*;
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
//! What the device wrote is taken as it is, so types with invalid values are refused.
//! ```compile_fail,E0277
//! # use warpstride::cuda::*;
//! # fn main() -> Result<()> {
//! # let context = Context::new(0)?;
//! let flags = DeviceBuffer::<bool>::zeroed(&context, "flags", 8)?;
//! # Ok(())
//! # }
//! ```
//!
//! # A running graph is not started by two threads
//! ```compile_fail,E0596
//! # use warpstride::cuda::*;
//! fn start(graph: &Graph, stream: &Stream) -> Result<()> {
//!     graph.launch(stream)
//! }
//! ```
