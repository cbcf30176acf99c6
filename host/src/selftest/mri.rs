//! The cases of the kernels of magnetic resonance imaging.

mod direct;
mod methods;
mod nufft;

use super::bench::Bench;
use super::bench::Size;
use crate::gpu::{Device, Result};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    direct::cases(bench, size)?;
    methods::cases(bench, size)?;
    nufft::cases(bench, size)
}
