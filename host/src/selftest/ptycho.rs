//! The cases of ptychography's kernels, at every shape of a scan.

use super::bench::Bench;
use super::shape::shapes;
use super::{Size, exit_waves, fourier, layers, object_update, probe, probe_update};
use crate::gpu::{Device, Result};

pub(crate) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for shape in shapes(size) {
        layers::cases(bench, shape)?;
        exit_waves::cases(bench, shape)?;
        fourier::cases(bench, shape)?;
        object_update::cases(bench, shape)?;
        probe_update::cases(bench, shape)?;
        probe::cases(bench, shape)?;
    }
    Ok(())
}
