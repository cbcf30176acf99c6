//! The cases of ptychography's kernels, at every shape of a scan.

use super::bench::Bench;
use super::shape::shapes;
use super::{
    Size, batch_exchange, batch_steps, batch_sums, batch_waves, detector, exit_waves, fourier,
    frame_blocks, fused_batches, fused_step, layered, layers, likelihood, normalisation,
    object_sums, object_update, passes, probe, probe_update, region_merge, trials, variations,
};
use crate::gpu::{Device, Result};

pub(crate) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
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
