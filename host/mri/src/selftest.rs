//! The cases of the kernels of magnetic resonance imaging.

mod direct;
mod methods;
mod nufft;

use warpstride_cuda::gpu::{Device, Result};
use warpstride_selftest::bench::Bench;
use warpstride_selftest::bench::Size;

/// The cases of its kernels.
///
/// # Errors
/// An error of the device.
pub fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    direct::cases(bench, size)?;
    methods::cases(bench, size)?;
    nufft::cases(bench, size)
}
