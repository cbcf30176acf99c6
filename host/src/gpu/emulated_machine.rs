//! The emulator as a [`Machine`]: the kernels' own source, on the CPU.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytemuck::Pod;
use rayon::prelude::*;
use rustfft::{Fft, FftPlanner, num_complex};
use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Watch, WatchedMemory};
use warpstride_device::launch::{AnyLaunch, Emulated, KernelInfo, Read, Work, Write};

use super::{Buffer, Copying, Direction, Fetch, GpuError, Machine, Result};

/// Most blocks of a launch whose grid is free: enough for blocks to meet in memory, few enough to
/// be quick.
const MAX_BLOCKS: usize = 4;

/// Most threads of a one-dimensional block: two warps, so that barriers and shared memory between
/// warps are exercised.
const MAX_BLOCK_THREADS: u32 = 64;

/// The emulator. All work is done when a call returns.
#[derive(Default)]
pub struct EmulatedMachine {
    watch: Watch,
}

impl fmt::Debug for EmulatedMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedMachine").finish_non_exhaustive()
    }
}

impl EmulatedMachine {
    /// A machine without buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Memory of the emulator, between zones that are looked at after every launch.
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

/// Results that are there already.
#[derive(Debug)]
pub struct EmulatedFetch<T> {
    values: Vec<T>,
}

impl<T> Fetch<T> for EmulatedFetch<T> {
    fn ready(&self) -> bool {
        true
    }

    fn wait(self) -> Result<Vec<T>> {
        Ok(self.values)
    }
}

/// A copy that is done already.
#[derive(Debug)]
pub struct EmulatedCopy<B>(B);

impl<B> Copying<B> for EmulatedCopy<B> {
    fn ready(&self) -> bool {
        true
    }

    fn wait(self) -> Result<B> {
        Ok(self.0)
    }
}

/// Elements of a slice, or why not.
fn elements<T>(slice: &[T], range: Range<usize>) -> Result<&[T]> {
    let (start, end, len) = (range.start, range.end, slice.len());
    let missing = crate::cuda::CudaError::Range {
        what: "copy",
        start,
        end,
        len,
    };
    slice.get(range).ok_or_else(|| missing.into())
}

/// The same of one that is changed.
fn elements_mut<T>(slice: &mut [T], range: Range<usize>) -> Result<&mut [T]> {
    elements(slice, range.clone())?;
    Ok(&mut slice[range])
}

/// A planned transform of `batch` arrays.
pub struct EmulatedFft {
    /// (row, column) or (slice, row, column).
    shape: Vec<usize>,
    batch: usize,
    /// Along each axis, forward.
    forward: Vec<Arc<dyn Fft<f32>>>,
    /// The same, inverse.
    inverse: Vec<Arc<dyn Fft<f32>>>,
}

impl fmt::Debug for EmulatedFft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedFft")
            .field("shape", &self.shape)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

impl EmulatedFft {
    /// Elements of an array.
    fn frame(&self) -> usize {
        self.shape.iter().product()
    }

    /// One array in place: the last axis is transformed and becomes the first, as often as there
    /// are axes.
    fn transform(&self, frame: &mut [num_complex::Complex<f32>], direction: Direction) {
        let along = match direction {
            Direction::Forward => &self.forward,
            Direction::Inverse => &self.inverse,
        };
        for (len, axis) in self.shape.iter().zip(along).rev() {
            axis.process(frame);
            frame.copy_from_slice(&transposed(frame, frame.len() / len, *len));
        }
    }
}

/// (row, column) to (column, row).
fn transposed<T: Copy>(array: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| array[row * columns + column]))
        .collect()
}

/// Free and total bytes as Linux states them; as much as an address can count where it does not.
fn host_memory() -> (usize, usize) {
    let stated = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = stated.lines().find_map(|line| line.strip_prefix(name))?;
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

/// Grid and block, or `None` where there is nothing to do. Only what the kernel leaves open is made
/// smaller: a block of several dimensions and a stated grid have a meaning.
fn size_of_launch(work: Work, block: [u32; 3]) -> Option<([u32; 3], [u32; 3])> {
    let small = match block {
        [x, 1, 1] => [x.min(MAX_BLOCK_THREADS), 1, 1],
        other => other,
    };
    let threads = small.iter().map(|n| *n as usize).product::<usize>().max(1);
    let (blocks, block) = match work {
        Work::Grid(grid) => return (!grid.contains(&0)).then_some((grid, block)),
        Work::Elements(elements) => (elements.div_ceil(threads), small),
        Work::Blocks(items) => (items, small),
    };
    let blocks = blocks.min(MAX_BLOCKS) as u32;
    (blocks > 0).then_some(([blocks, 1, 1], block))
}

impl Machine for EmulatedMachine {
    type Space = Emulated;
    type Buffer<T: Pod + Send> = EmulatedBuffer<T>;
    type Fft = EmulatedFft;
    type Fetch<T: Pod + Send> = EmulatedFetch<T>;
    type Recording = std::convert::Infallible;
    type Pinned<T: Pod + Send + Sync> = Vec<T>;
    type Sent = EmulatedCopy<()>;
    type Received<T: Pod + Send + Sync> = EmulatedCopy<Vec<T>>;

    fn backend(&self) -> &'static str {
        "emulator"
    }

    fn device_name(&self) -> String {
        "emulator on the CPU".to_owned()
    }

    fn memory(&self) -> Result<(usize, usize)> {
        Ok(host_memory())
    }

    /// The lowest that there are kernels for.
    fn arch(&self) -> u32 {
        80
    }

    fn multiprocessors(&self) -> u32 {
        MAX_BLOCKS as u32
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
        let bytes: &[u8] = bytemuck::cast_slice(buffer.as_slice());
        expect_size("download", bytes.len(), size_of_val(host))?;
        bytemuck::cast_slice_mut(host).copy_from_slice(bytes);
        Ok(())
    }

    fn fetch<T: Pod + Send>(&self, buffer: &EmulatedBuffer<T>) -> Result<EmulatedFetch<T>> {
        Ok(EmulatedFetch {
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
        let target = at..at.saturating_add(from.len());
        elements_mut(to.as_mut_slice(), target)?.copy_from_slice(from);
        Ok(EmulatedCopy(()))
    }

    fn receive<T: Pod + Send + Sync>(
        &self,
        from: &EmulatedBuffer<T>,
        parts: &[Range<usize>],
        mut to: Vec<T>,
    ) -> Result<EmulatedCopy<Vec<T>>> {
        let mut end = 0;
        for part in parts {
            let from = elements(from.as_slice(), part.clone())?;
            let target = end..end + from.len();
            elements_mut(&mut to, target.clone())?.copy_from_slice(from);
            end = target.end;
        }
        Ok(EmulatedCopy(to))
    }

    fn copy<T: Pod + Send>(
        &self,
        from: &EmulatedBuffer<T>,
        to: &mut EmulatedBuffer<T>,
    ) -> Result<()> {
        let element = size_of::<T>();
        expect_size("copy", to.len() * element, from.len() * element)?;
        to.as_mut_slice().copy_from_slice(from.as_slice());
        Ok(())
    }

    fn zero<T: Pod + Send>(&self, buffer: &mut EmulatedBuffer<T>) -> Result<()> {
        buffer.as_mut_slice().fill(T::zeroed());
        Ok(())
    }

    fn launch_any(&self, launch: &(dyn AnyLaunch<Emulated> + Sync), work: Work) -> Result<()> {
        launch.check_extents()?;
        let KernelInfo { entry, block, .. } = launch.info();
        let Some((grid, block)) = size_of_launch(work, block) else {
            return Ok(());
        };
        let config = LaunchConfig {
            grid,
            block,
            shared_bytes: launch.shared_bytes(block.iter().product()),
        };
        emulator::launch(launch, config)?;
        match self.watch.first_overrun() {
            None => Ok(()),
            Some(overrun) => Err(GpuError::Overrun {
                kernel: entry,
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

    /// Everything is done at once: there is nothing to record.
    fn record(
        &self,
        _work: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<std::convert::Infallible>> {
        Ok(None)
    }

    fn replay(&self, recording: &mut std::convert::Infallible) -> Result<()> {
        match *recording {}
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    /// The CPU's time.
    fn time_ms(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f32> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f32() * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use warpstride_kernels::ptycho::object_update_atomic::ObjectUpdateAtomic;

    use super::*;

    type C = num_complex::Complex<f64>;

    /// Plain sums, in double precision.
    fn naive(frame: &[Complex32], [slices, rows, columns]: [usize; 3], sign: f64) -> Vec<C> {
        let turn = |k: usize, n: usize, len: usize| {
            C::from_polar(
                1.0,
                sign * std::f64::consts::TAU * ((k * n) % len) as f64 / len as f64,
            )
        };
        let places =
            || (0..frame.len()).map(|i| (i / columns / rows, i / columns % rows, i % columns));
        places()
            .map(|(o, p, q)| {
                places()
                    .zip(frame)
                    .map(|((slice, row, column), value)| {
                        C::new(value.re.into(), value.im.into())
                            * turn(o, slice, slices)
                            * turn(p, row, rows)
                            * turn(q, column, columns)
                    })
                    .sum()
            })
            .collect()
    }

    fn noise(len: usize) -> Vec<Complex32> {
        let mut state = 0x9E37_79B9_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..len).map(|_| Complex32::new(next(), next())).collect()
    }

    #[test]
    fn transforms_are_the_plain_sums_at_odd_shapes() {
        let machine = EmulatedMachine::new();
        for (shape, batch) in [
            ([1, 1, 1], 1),
            ([1, 1, 7], 2),
            ([1, 5, 1], 3),
            ([1, 3, 5], 2),
            ([1, 7, 11], 2),
            ([1, 8, 6], 1),
            ([2, 1, 3], 2),
            ([3, 4, 5], 2),
            ([7, 2, 4], 1),
        ] {
            let frame = shape.iter().product();
            let host = noise(frame * batch);
            // One slice is planned as two axes.
            let axes = if shape[0] == 1 { &shape[1..] } else { &shape };
            let plan = machine.plan_fft(axes, batch).unwrap();
            let mut data = machine.alloc::<Complex32>("data", host.len()).unwrap();
            for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
                machine.upload(&mut data, &host).unwrap();
                machine.fft(&plan, &mut data, direction).unwrap();
                for (got, values) in data.as_slice().chunks(frame).zip(host.chunks(frame)) {
                    let expected = naive(values, shape, sign);
                    let scale = expected.iter().map(|c| c.norm()).fold(0.0, f64::max);
                    for (got, expected) in got.iter().zip(&expected) {
                        let error = (C::new(got.re.into(), got.im.into()) - expected).norm();
                        assert!(error <= 1e-6 * scale, "{shape:?}: {error} of {scale}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_transform_of_nothing_and_a_short_buffer_are_refused() {
        let machine = EmulatedMachine::new();
        assert!(machine.plan_fft(&[0, 4], 1).is_err());
        assert!(machine.plan_fft(&[usize::MAX, 4], 1).is_err());
        assert!(machine.plan_fft(&[4], 4).is_err());
        assert!(machine.plan_fft(&[2, 2, 2, 2], 1).is_err());
        let plan = machine.plan_fft(&[4, 4], 2).unwrap();
        let mut short = machine.alloc("data", 31).unwrap();
        let error = machine
            .fft(&plan, &mut short, Direction::Forward)
            .unwrap_err();
        assert!(error.to_string().contains("32"), "{error}");
    }

    #[test]
    fn copies_keep_values_and_refuse_other_sizes() {
        let machine = EmulatedMachine::new();
        let host = noise(37);
        let mut one = machine.alloc::<Complex32>("one", 37).unwrap();
        let mut other = machine.alloc::<Complex32>("other", 37).unwrap();
        machine.upload(&mut one, &host).unwrap();
        machine.copy(&one, &mut other).unwrap();
        let late = machine.fetch(&other).unwrap();
        machine.zero(&mut other).unwrap();
        assert_eq!(late.wait().unwrap(), host);
        let mut back = vec![1.0_f32; 2 * 37];
        machine.download(&other, &mut back).unwrap();
        assert!(back.iter().all(|value| *value == 0.0));

        for error in [
            machine.upload(&mut one, &host[1..]).unwrap_err(),
            machine.download(&one, &mut back[1..]).unwrap_err(),
        ] {
            assert!(
                matches!(error, GpuError::Size { buffer: 296, .. }),
                "{error}"
            );
        }
        let mut short = machine.alloc::<Complex32>("short", 36).unwrap();
        assert!(machine.copy(&one, &mut short).is_err());
        assert!(machine.alloc::<u64>("too much", usize::MAX / 4).is_err());
    }

    #[test]
    fn parts_go_out_and_come_back() {
        let machine = EmulatedMachine::new();
        let mut host = machine.pinned::<u32>("numbers", 9).unwrap();
        for (place, value) in host.iter_mut().enumerate() {
            *value = place as u32;
        }
        let host = Arc::new(host);
        let mut buffer = machine.alloc::<u32>("numbers", 7).unwrap();
        machine.send(&host, 2..7, &mut buffer, 1).unwrap();
        let back = machine.pinned::<u32>("numbers", 5).unwrap();
        let back = machine.receive(&buffer, &[4..7, 0..0, 0..2], back);
        assert_eq!(back.unwrap().wait().unwrap(), [5, 6, 0, 0, 2]);

        for (range, at) in [(7..10, 0), (0..7, 1), (0..0, 8)] {
            assert!(
                machine.send(&host, range.clone(), &mut buffer, at).is_err(),
                "{range:?} to {at}"
            );
        }
        for parts in [[6..8, 0..0], [0..3, 0..3]] {
            let back = machine.pinned::<u32>("numbers", 5).unwrap();
            assert!(machine.receive(&buffer, &parts, back).is_err());
        }
        assert!(machine.pinned::<u64>("too much", usize::MAX / 4).is_err());
    }

    #[test]
    fn only_what_a_kernel_leaves_open_is_made_smaller() {
        let size = size_of_launch;
        assert_eq!(
            size(Work::Elements(65), [256, 1, 1]),
            Some(([2, 1, 1], [64, 1, 1]))
        );
        assert_eq!(
            size(Work::Elements(9999), [32, 1, 1]),
            Some(([4, 1, 1], [32, 1, 1]))
        );
        assert_eq!(
            size(Work::Blocks(3), [16, 16, 1]),
            Some(([3, 1, 1], [16, 16, 1]))
        );
        assert_eq!(
            size(Work::Grid([9, 2, 1]), [256, 1, 1]),
            Some(([9, 2, 1], [256, 1, 1]))
        );
        assert_eq!(size(Work::Elements(0), [256, 1, 1]), None);
        assert_eq!(size(Work::Grid([0, 1, 1]), [256, 1, 1]), None);
    }

    /// An object update of one frame of 2 × 2 on an object of 4 × 4, which goes beyond it where the
    /// frame's corner does.
    fn update(machine: &EmulatedMachine, corner: [u32; 2]) -> Result<()> {
        let mut numerator = machine.alloc::<Complex32>("numerators", 16)?;
        let mut denominator = machine.alloc::<f32>("denominators", 16)?;
        let mut probe = machine.alloc::<Complex32>("probe", 4)?;
        let power = machine.alloc::<f32>("power", 4)?;
        let mut psi = machine.alloc::<Complex32>("waves", 4)?;
        let mut corners = machine.alloc::<[u32; 2]>("corners", 1)?;
        let gate = machine.alloc::<u32>("gate", 1)?;
        machine.upload(&mut probe, &[1.0_f32; 8])?;
        machine.upload(&mut psi, &[1.0_f32; 8])?;
        machine.upload(&mut corners, &corner)?;
        machine.launch(
            &ObjectUpdateAtomic {
                numerator: numerator.write(),
                denominator: denominator.write(),
                probe: probe.read(),
                power: power.read(),
                psi: psi.read(),
                corners: corners.read(),
                gate: gate.read(),
                frames: 1,
                modes: 1,
                rows: 2,
                columns: 2,
                object_rows: 4,
                object_columns: 4,
                parts: 1,
                scale: 1.0,
            },
            Work::Blocks(1),
        )
    }

    #[test]
    fn a_write_outside_of_a_buffer_names_kernel_and_buffer() {
        let machine = EmulatedMachine::new();
        update(&machine, [2, 2]).unwrap();
        // Row 4, column 3 would be element 19 of 16.
        let error = update(&machine, [3, 3]).unwrap_err();
        match &error {
            GpuError::Overrun {
                kernel: "object_update_atomic",
                buffer: "numerators",
                bytes: 128,
                ..
            } => {}
            other => panic!("{other}"),
        }
        // Those buffers are gone, and with them what was wrong.
        update(&machine, [0, 0]).unwrap();
    }
}
