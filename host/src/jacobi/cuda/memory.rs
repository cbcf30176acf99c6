//! What a device's memory has room for, and how fast it is.

use std::time::Instant;

use super::block::{Block, Shape};
use super::kernels::GpuReal;
use crate::gpu::{self, Fleet, Lane};
use crate::jacobi::{Decomposition, Problem};

/// Bytes of a device's field from which on copying it says what its memory can do.
const COPIED_BYTES: usize = 64 << 20;
/// Copies that are timed.
const COPIES: usize = 4;
/// Part of a device's free memory that fields may take.
const USABLE: f64 = 0.95;

/// Whether every device has room for three fields.
pub(super) fn three_fit<T: GpuReal, F: Fleet>(
    fleet: &F,
    problem: &Problem<T>,
    decomposition: &Decomposition,
    depth: usize,
) -> gpu::Result<bool> {
    let periodic = problem.boundary().periodic_rows();
    for device in 0..fleet.devices() {
        let shape = Shape {
            rows: decomposition.rows(device),
            depth,
            fields: 3,
            devices: fleet.devices(),
            batch: 0,
            checks: 0,
            split: false,
        };
        let buffers = 3 + usize::from(problem.source().is_some());
        let needed = buffers * shape.field_bytes::<T>(problem.nx(), periodic);
        let (free, _) = fleet.memory(device)?;
        if needed as f64 > USABLE * free as f64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes per second, read and written, that all devices copy together; `None` where the fields are
/// too small to say.
pub(super) fn copy_rate<T: GpuReal, F: Fleet>(
    fleet: &F,
    blocks: &mut [Block<F, T>],
) -> gpu::Result<Option<f64>> {
    use crate::gpu::Buffer as _;
    let bytes = |block: &Block<F, T>| block.fields[0].len() * size_of::<T::Quad>();
    if fleet.backend() != "cuda" || blocks.iter().any(|block| bytes(block) < COPIED_BYTES) {
        return Ok(None);
    }
    let mut copied = 0;
    let mut copy_all = |times: usize| -> gpu::Result<()> {
        for _ in 0..times {
            for block in &mut *blocks {
                copied += 2 * bytes(block);
                let (from, to) = super::block::two(&mut block.fields, 0, 1);
                fleet.copy(block.device, Lane::Bulk, from, to)?;
            }
        }
        fleet.drain()
    };
    copy_all(1)?;
    let start = Instant::now();
    copy_all(COPIES)?;
    let seconds = start.elapsed().as_secs_f64();
    let timed = copied / (COPIES + 1) * COPIES;
    Ok(Some(timed as f64 / seconds))
}
