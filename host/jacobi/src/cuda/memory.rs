//! Capacity and bandwidth of device memory.

use std::time::Instant;

use super::block::{Block, Shape};
use super::kernels::GpuReal;
use crate::{Decomposition, Problem};
use warpstride_cuda::gpu::{self, DeviceGroup, StreamId};

/// Minimum bytes of a device's field for a meaningful measurement of the memory bandwidth.
const MIN_COPIED_BYTES: usize = 64 << 20;
/// Number of timed copies.
const COPIES: usize = 4;
/// Fraction of a device's free memory that fields may occupy.
const USABLE_FRACTION: f64 = 0.95;

/// Whether three fields fit in the memory of every device.
pub(super) fn three_fields_fit<T: GpuReal, G: DeviceGroup>(
    group: &G,
    (problem, source): (&Problem<T>, bool),
    decomposition: &Decomposition,
    depth: usize,
) -> gpu::Result<bool> {
    let periodic = problem.boundary().periodic_rows();
    for device in 0..group.devices() {
        let shape = Shape {
            rows: decomposition.rows(device),
            depth,
            fields: 3,
            source,
            devices: group.devices(),
            batch: 0,
            checks: 0,
            split: false,
        };
        let buffers = 3 + usize::from(source);
        let needed = buffers * shape.field_bytes::<T>(problem.nx(), periodic);
        let (free, _) = group.memory(device)?;
        if needed as f64 > USABLE_FRACTION * free as f64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes per second, read and written, that all devices together copy; `None` if the fields are too
/// small for a measurement.
pub(super) fn copy_rate<T: GpuReal, G: DeviceGroup>(
    group: &G,
    blocks: &mut [Block<G, T>],
) -> gpu::Result<Option<f64>> {
    use warpstride_cuda::gpu::Buffer as _;
    let bytes = |block: &Block<G, T>| block.fields[0].len() * size_of::<T::Quad>();
    if group.backend() != "cuda" || blocks.iter().any(|block| bytes(block) < MIN_COPIED_BYTES) {
        return Ok(None);
    }
    let mut copied = 0;
    let mut copy_all = |times: usize| -> gpu::Result<()> {
        for _ in 0..times {
            for block in &mut *blocks {
                copied += 2 * bytes(block);
                let (from, to) = super::block::two(&mut block.fields, 0, 1);
                group.copy(block.device, StreamId::Bulk, from, to)?;
            }
        }
        group.drain()
    };
    copy_all(1)?;
    let start = Instant::now();
    copy_all(COPIES)?;
    let seconds = start.elapsed().as_secs_f64();
    let timed = copied / (COPIES + 1) * COPIES;
    Ok(Some(timed as f64 / seconds))
}
