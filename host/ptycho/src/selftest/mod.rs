//! The cases of ptychography's kernels, at every shape of a scan.

mod batch_exchange;
mod batch_steps;
mod batch_sums;
mod batch_waves;
mod detector;
mod engines;
mod exit_waves;
mod fourier;
mod frame_blocks;
mod fused_batches;
mod fused_step;
mod layered;
mod layers;
mod likelihood;
mod normalisation;
mod object_sums;
mod object_update;
mod passes;
mod probe;
mod probe_update;
mod region_merge;
mod shape;
mod trials;
mod variations;
mod waves;

pub use engines::EngineCaseError;
pub use engines::cases as engine_cases;

use shape::shapes;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_selftest::bench::Bench;
use warpstride_selftest::bench::Size;

/// The cases of its kernels.
///
/// # Errors
/// An error of the device.
pub fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for shape in shapes(size) {
        batch_exchange::cases(bench, shape)?;
        batch_steps::cases(bench, shape)?;
        normalisation::cases(bench, shape)?;
        layered::cases(bench, shape)?;
        layers::cases(bench, shape)?;
        likelihood::cases(bench, shape)?;
        exit_waves::cases(bench, shape)?;
        fourier::cases(bench, shape)?;
        object_sums::cases(bench, shape)?;
        object_update::cases(bench, shape)?;
        probe_update::cases(bench, shape)?;
        probe::cases(bench, shape)?;
        batch_waves::cases(bench, shape)?;
        batch_sums::cases(bench, shape)?;
        region_merge::cases(bench, shape)?;
        trials::cases(bench, shape)?;
        frame_blocks::cases(bench, shape)?;
        variations::cases(bench, shape)?;
        detector::cases(bench, shape)?;
    }
    fused_batches::cases(bench, size)?;
    fused_step::cases(bench, size)?;
    passes::cases(bench, size)
}
