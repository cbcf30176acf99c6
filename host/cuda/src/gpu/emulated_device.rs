//! The emulator as a [`Device`]: it runs the source of the kernels on the CPU.

mod fft;
#[cfg(test)]
mod tests;

pub use fft::EmulatedFft;

use std::convert::Infallible;
use std::fmt;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytemuck::Pod;
use rayon::prelude::*;
use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Watch, WatchedMemory};
use warpstride_device::launch::{AnyLaunch, Emulated, KernelInfo, Read, Work, Write};
use warpstride_fft::{FftPlanner, num_complex};

use crate::cuda::Transfers;

use super::host_profiler::{HostProfiler, RunningSpan};
use super::profile::{
    COPIES, EXCHANGE_TO_DEVICE, EXCHANGE_TO_HOST, WORK, bytes_of, transform_name,
};
use super::{Buffer, Device, Direction, GpuError, PendingCopy, ProfileSpan, ReadBack, Result};

/// Maximum number of blocks of a launch without a fixed grid: enough that blocks share memory, few
/// enough to be fast.
const MAX_BLOCKS: usize = 4;

/// Maximum number of threads of a one-dimensional block: two warps, so that barriers and shared
/// memory between warps are exercised.
const MAX_BLOCK_THREADS: u32 = 64;

/// Bytes of shared memory of a block with compute capability 9.0 (CUDA programming guide).
const SHARED_MEMORY: usize = 227 * 1024;

/// The emulator as a device. All work is done when a call returns.
pub struct EmulatedDevice {
    watch: Watch,
    shared_memory: usize,
    multiprocessors: u32,
    profiler: HostProfiler,
}

impl fmt::Debug for EmulatedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedDevice").finish_non_exhaustive()
    }
}

impl Default for EmulatedDevice {
    fn default() -> Self {
        Self::with_shared_memory(SHARED_MEMORY)
    }
}

impl EmulatedDevice {
    /// Creates an emulated device with as much shared memory as one of compute capability 9.0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an emulated device whose blocks can have `bytes` of shared memory; engines then
    /// choose the kernels that a device with so little would run. With less than compute capability
    /// 9.0 has, it is one of 8.0.
    #[must_use]
    pub fn with_shared_memory(bytes: usize) -> Self {
        Self {
            watch: Watch::default(),
            shared_memory: bytes,
            multiprocessors: MAX_BLOCKS as u32,
            profiler: HostProfiler::default(),
        }
    }

    /// The same as if the device had `count` multiprocessors; engines then choose what a device of
    /// that size would do. The blocks of a launch stay as they are.
    #[must_use]
    pub fn with_multiprocessors(self, count: u32) -> Self {
        Self {
            multiprocessors: count,
            ..self
        }
    }

    /// Times what is done until the returned value is dropped, as an operation in `stream`, if the
    /// device is profiled.
    fn profiled(
        &self,
        stream: &'static str,
        name: &'static str,
        bytes: Option<usize>,
    ) -> Option<RunningSpan<'_>> {
        self.profiler.begin((0, stream), name, bytes)
    }
}

/// Memory of the emulator, surrounded by guard zones that are checked after every launch.
pub type EmulatedBuffer<T> = WatchedMemory<T>;

impl<T: Pod> Buffer<Emulated, T> for WatchedMemory<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn read(&self) -> Read<'_, Emulated, T> {
        self.read()
    }

    fn write(&mut self) -> Write<'_, Emulated, T> {
        self.write()
    }
}

/// Results that are already available.
#[derive(Debug)]
pub struct EmulatedReadBack<T> {
    values: Vec<T>,
}

impl<T> ReadBack<T> for EmulatedReadBack<T> {
    fn ready(&self) -> bool {
        true
    }

    fn wait(self) -> Result<Vec<T>> {
        Ok(self.values)
    }
}

/// A copy that is already done.
#[derive(Debug)]
pub struct EmulatedCopy<B>(B);

impl<B> PendingCopy<B> for EmulatedCopy<B> {
    fn ready(&self) -> bool {
        true
    }

    fn wait(self) -> Result<B> {
        Ok(self.0)
    }
}

/// # Errors
/// The range exceeds the slice.
fn elements<T>(slice: &[T], range: Range<usize>) -> Result<&[T]> {
    let (start, end, len) = (range.start, range.end, slice.len());
    let range_error = crate::cuda::CudaError::Range {
        what: "copy",
        start,
        end,
        len,
    };
    slice.get(range).ok_or_else(|| range_error.into())
}

/// Like [`elements`], but mutable.
fn elements_mut<T>(slice: &mut [T], range: Range<usize>) -> Result<&mut [T]> {
    elements(slice, range.clone())?;
    Ok(&mut slice[range])
}

/// Free and total bytes of host memory from `/proc/meminfo`, or the largest possible size if it
/// cannot be read.
fn host_memory() -> (usize, usize) {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: usize = line.split_whitespace().next()?.parse().ok()?;
        kib.checked_mul(1024)
    };
    let unknown = isize::MAX as usize;
    (
        bytes("MemAvailable:").unwrap_or(unknown),
        bytes("MemTotal:").unwrap_or(unknown),
    )
}

fn expect_size(what: &'static str, buffer: usize, host: usize) -> Result<()> {
    if buffer == host {
        Ok(())
    } else {
        Err(GpuError::Size { what, buffer, host })
    }
}

/// The grid and the block, or `None` if there is nothing to do. Reduces only sizes that the kernel
/// does not fix: an exact block, a block of several dimensions and a given grid stay as they are.
/// The grid is a multiple of the cluster.
fn size_of_launch(work: Work, info: &KernelInfo) -> Option<([u32; 3], [u32; 3])> {
    let block = info.block;
    let small = match block {
        [x, 1, 1] if !info.exact_block => [x.min(MAX_BLOCK_THREADS), 1, 1],
        other => other,
    };
    let threads = small.iter().map(|n| *n as usize).product::<usize>().max(1);
    let (blocks, block) = match work {
        Work::Grid(grid) => return (!grid.contains(&0)).then_some((grid, block)),
        Work::Elements(elements) => (elements.div_ceil(threads), small),
        Work::Blocks(items) | Work::Turns(items) => (items, small),
        Work::Clusters(items) => (items.saturating_mul(info.cluster as usize), small),
    };
    let blocks = (blocks.min(MAX_BLOCKS) as u32).next_multiple_of(info.cluster.max(1));
    (blocks > 0).then_some(([blocks, 1, 1], block))
}

impl Device for EmulatedDevice {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedBuffer<T>;
    type Fft = EmulatedFft;
    type ReadBack<T: Pod + Send> = EmulatedReadBack<T>;
    type Graph = std::convert::Infallible;
    type Pinned<T: Pod + Send + Sync> = Vec<T>;
    type Sent = EmulatedCopy<()>;
    type Received<T: Pod + Send + Sync> = EmulatedCopy<Vec<T>>;
    type Arriving<T: Pod + Send> = EmulatedBuffer<T>;
    type Pieces<T: Pod + Send + Sync> = Vec<Vec<T>>;
    type Exchange<T: Pod + Send> = EmulatedBuffer<T>;
    type Peers = Infallible;

    fn sibling(&self) -> Result<Self> {
        Ok(Self::with_shared_memory(self.shared_memory).with_multiprocessors(self.multiprocessors))
    }

    fn backend(&self) -> &'static str {
        "emulator"
    }

    fn device_name(&self) -> String {
        "emulator on the CPU".to_owned()
    }

    fn memory(&self) -> Result<(usize, usize)> {
        Ok(host_memory())
    }

    /// That of compute capability 9.0, or of 8.0 with less shared memory.
    fn arch(&self) -> u32 {
        if self.shared_memory < SHARED_MEMORY {
            80
        } else {
            90
        }
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    fn shared_memory(&self) -> usize {
        self.shared_memory
    }

    fn alloc<T: Pod + Send>(&self, what: &'static str, len: usize) -> Result<EmulatedBuffer<T>> {
        self.watch
            .alloc(what, len)
            .ok_or_else(|| GpuError::HostMemory {
                what,
                needed: len.saturating_mul(size_of::<T>()),
            })
    }

    fn upload<T: Pod + Send, H: Pod>(
        &self,
        buffer: &mut EmulatedBuffer<T>,
        host: &[H],
    ) -> Result<()> {
        let _span = self.profiled(WORK, "upload", Some(size_of_val(host)));
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer.as_mut_slice());
        expect_size("upload", bytes.len(), size_of_val(host))?;
        bytes.copy_from_slice(bytemuck::cast_slice(host));
        Ok(())
    }

    fn download<T: Pod + Send, H: Pod>(
        &self,
        buffer: &EmulatedBuffer<T>,
        host: &mut [H],
    ) -> Result<()> {
        let _span = self.profiled(WORK, "download", Some(size_of_val(host)));
        let bytes: &[u8] = bytemuck::cast_slice(buffer.as_slice());
        expect_size("download", bytes.len(), size_of_val(host))?;
        bytemuck::cast_slice_mut(host).copy_from_slice(bytes);
        Ok(())
    }

    fn read_back<T: Pod + Send>(&self, buffer: &EmulatedBuffer<T>) -> Result<EmulatedReadBack<T>> {
        let bytes = size_of_val(buffer.as_slice());
        let _span = self.profiled(WORK, "read back", Some(bytes));
        Ok(EmulatedReadBack {
            values: buffer.as_slice().to_vec(),
        })
    }

    fn pinned<T: Pod + Send + Sync>(&self, what: &'static str, len: usize) -> Result<Vec<T>> {
        let needed = len.saturating_mul(size_of::<T>());
        let mut memory = Vec::new();
        memory
            .try_reserve_exact(len)
            .map_err(|_| GpuError::HostMemory { what, needed })?;
        memory.resize(len, T::zeroed());
        Ok(memory)
    }

    fn send<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Vec<T>>,
        range: Range<usize>,
        to: &mut EmulatedBuffer<T>,
        at: usize,
    ) -> Result<EmulatedCopy<()>> {
        let from = elements(from, range)?;
        let _span = self.profiled(WORK, "send", Some(size_of_val(from)));
        let target = at..at.saturating_add(from.len());
        elements_mut(to.as_mut_slice(), target)?.copy_from_slice(from);
        Ok(EmulatedCopy(()))
    }

    fn send_beside<T: Pod + Send + Sync>(
        &self,
        from: &Arc<Vec<T>>,
        parts: &[Range<usize>],
        mut to: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        let _span = self.profiled(COPIES, "send", bytes_of::<T>(parts));
        let mut end = 0;
        for part in parts {
            let from = elements(from, part.clone())?;
            let target = end..end + from.len();
            elements_mut(to.as_mut_slice(), target.clone())?.copy_from_slice(from);
            end = target.end;
        }
        Ok(to)
    }

    fn arrived<T: Pod + Send + Sync>(
        &self,
        arriving: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        Ok(arriving)
    }

    fn pieces<T: Pod + Send + Sync>(
        &self,
        what: &'static str,
        lengths: &[usize],
    ) -> Result<Vec<Vec<T>>> {
        lengths.iter().map(|len| self.pinned(what, *len)).collect()
    }

    fn piece<'a, T: Pod + Send + Sync>(
        &self,
        pieces: &'a mut Vec<Vec<T>>,
        number: usize,
    ) -> Result<&'a mut [T]> {
        Ok(elements_mut(pieces, number..number.saturating_add(1))?[0].as_mut_slice())
    }

    fn take_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Vec<Vec<T>>,
        number: usize,
    ) -> Result<Vec<T>> {
        let piece = elements_mut(pieces, number..number.saturating_add(1))?;
        Ok(take(&mut piece[0]))
    }

    fn put_piece<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Vec<Vec<T>>,
        number: usize,
        memory: Vec<T>,
    ) -> Result<()> {
        elements_mut(pieces, number..number.saturating_add(1))?[0] = memory;
        Ok(())
    }

    fn exchange_beside<T: Pod + Send + Sync>(
        &self,
        pieces: &mut Vec<Vec<T>>,
        to_host: Option<usize>,
        to_device: Option<usize>,
        mut buffer: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        if let Some(number) = to_host {
            let piece = self.piece(pieces, number)?;
            let bytes = size_of_val::<[T]>(piece);
            let _span = self.profiled(EXCHANGE_TO_HOST, "receive", Some(bytes));
            piece.copy_from_slice(elements(buffer.as_slice(), 0..piece.len())?);
        }
        if let Some(number) = to_device {
            let piece = self.piece(pieces, number)?;
            let bytes = size_of_val::<[T]>(piece);
            let _span = self.profiled(EXCHANGE_TO_DEVICE, "send", Some(bytes));
            elements_mut(buffer.as_mut_slice(), 0..piece.len())?.copy_from_slice(piece);
        }
        Ok(buffer)
    }

    fn exchanged<T: Pod + Send + Sync>(
        &self,
        exchange: EmulatedBuffer<T>,
    ) -> Result<EmulatedBuffer<T>> {
        Ok(exchange)
    }

    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &EmulatedBuffer<T>,
        parts: &[Range<usize>],
        mut to: Vec<T>,
    ) -> Result<EmulatedCopy<Vec<T>>> {
        let _span = self.profiled(WORK, "receive", bytes_of::<T>(parts));
        let mut end = 0;
        for part in parts {
            let from = elements(from.as_slice(), part.clone())?;
            let target = end..end + from.len();
            elements_mut(&mut to, target.clone())?.copy_from_slice(from);
            end = target.end;
        }
        Ok(EmulatedCopy(to))
    }

    fn gather_from_peers<T: Pod + Send>(
        &self,
        peers: &mut Infallible,
        _mine: &EmulatedBuffer<T>,
        _to: &mut EmulatedBuffer<T>,
        _transfers: &Transfers,
    ) -> Result<()> {
        match *peers {}
    }

    fn share_with_peers<T: Pod + Send>(
        &self,
        peers: &mut Infallible,
        _buffer: &mut EmulatedBuffer<T>,
        _own: Range<usize>,
        _transfers: &Transfers,
    ) -> Result<()> {
        match *peers {}
    }

    fn copy<T: Pod + Send>(
        &self,
        from: &EmulatedBuffer<T>,
        to: &mut EmulatedBuffer<T>,
    ) -> Result<()> {
        let element = size_of::<T>();
        expect_size("copy", to.len() * element, from.len() * element)?;
        let _span = self.profiled(WORK, "copy", Some(from.len() * element));
        to.as_mut_slice().copy_from_slice(from.as_slice());
        Ok(())
    }

    fn zero<T: Pod + Send>(&self, buffer: &mut EmulatedBuffer<T>) -> Result<()> {
        let bytes = size_of_val(buffer.as_slice());
        let _span = self.profiled(WORK, "fill", Some(bytes));
        buffer.as_mut_slice().fill(T::zeroed());
        Ok(())
    }

    fn launch_any(&self, launch: &(dyn AnyLaunch<Emulated> + Sync), work: Work) -> Result<()> {
        launch.check_extents()?;
        let info = launch.info();
        let Some((grid, block)) = size_of_launch(work, &info) else {
            return Ok(());
        };
        let config = LaunchConfig {
            grid,
            block,
            shared_bytes: launch.shared_bytes(block.iter().product()),
        };
        let span = self.profiled(WORK, info.entry, None);
        emulator::launch(launch, config)?;
        drop(span);
        match self.watch.first_overrun() {
            None => Ok(()),
            Some(overrun) => Err(GpuError::Overrun {
                kernel: info.entry,
                buffer: overrun.buffer,
                offset: overrun.offset,
                bytes: overrun.bytes,
            }),
        }
    }

    fn plan_fft(&self, shape: &[usize], batch: usize) -> Result<EmulatedFft> {
        let mut axes = shape.iter();
        let elements = axes.try_fold(batch, |product, n| product.checked_mul(*n));
        if elements.is_none_or(|n| n == 0) || !matches!(shape.len(), 2 | 3) {
            return Err(GpuError::TransformSize {
                shape: shape.to_vec(),
                batch,
            });
        }
        let mut planner = FftPlanner::new();
        let axes = || shape.iter();
        Ok(EmulatedFft {
            shape: shape.to_vec(),
            batch,
            forward: axes().map(|len| planner.plan_fft_forward(*len)).collect(),
            inverse: axes().map(|len| planner.plan_fft_inverse(*len)).collect(),
        })
    }

    fn fft(
        &self,
        plan: &EmulatedFft,
        data: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        let frame = plan.frame();
        let needed = frame * plan.batch;
        let len = data.len();
        let Some(frames) = data.as_mut_slice().get_mut(..needed) else {
            return Err(crate::cuda::CudaError::Range {
                what: "transform",
                start: 0,
                end: needed,
                len,
            }
            .into());
        };
        let _span = self.profiled(WORK, transform_name(direction), None);
        let frames: &mut [num_complex::Complex<f32>] = bytemuck::cast_slice_mut(frames);
        frames
            .par_chunks_exact_mut(frame)
            .for_each(|frame| plan.transform(frame, direction));
        Ok(())
    }

    fn fft_to(
        &self,
        plan: &EmulatedFft,
        from: &EmulatedBuffer<Complex32>,
        to: &mut EmulatedBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        let elements = plan.frame() * plan.batch;
        let source = from.as_slice().get(..elements);
        let (from_len, to_len) = (from.len(), to.len());
        let (Some(source), Some(target)) = (source, to.as_mut_slice().get_mut(..elements)) else {
            return Err(crate::cuda::CudaError::Range {
                what: "transform",
                start: 0,
                end: elements,
                len: from_len.min(to_len),
            }
            .into());
        };
        target.copy_from_slice(source);
        self.fft(plan, to, direction)
    }

    /// Graphs are not supported, because all work runs immediately.
    fn capture(
        &self,
        _work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<std::convert::Infallible>> {
        Ok(None)
    }

    fn replay(&self, graph: &mut std::convert::Infallible) -> Result<()> {
        match *graph {}
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    /// The time on the CPU.
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f32() * 1e3)
    }

    /// By the clock of the host.
    fn start_profile(&self) -> Result<()> {
        self.profiler.start();
        Ok(())
    }

    fn take_profile(&self) -> Result<Vec<ProfileSpan>> {
        Ok(self.profiler.stop())
    }
}
