//! The list of the kernels of small-angle scattering.

use super::launches::OF_MODELS;
use super::{finish, smear};
use crate::{concatenate, count, info};
use warpstride_device::launch::{Emulated, KernelInfo};

/// The kernels that serve all models.
const SHARED: &[KernelInfo] = &[
    info::<finish::SasFinishCurveF64<'static, Emulated>>(),
    info::<finish::SasFinishCurveF32<'static, Emulated>>(),
    info::<finish::SasFinishImageF64<'static, Emulated>>(),
    info::<finish::SasFinishImageF32<'static, Emulated>>(),
    info::<smear::SasSmear<'static, Emulated>>(),
];

const MODELS: &[KernelInfo] = &concatenate::<{ count(OF_MODELS) }>(OF_MODELS);

/// Every kernel of small-angle scattering: those that serve all models, then those of each model.
pub(crate) const KERNELS: &[KernelInfo] =
    &concatenate::<{ SHARED.len() + MODELS.len() }>(&[SHARED, MODELS]);

/// Every kernel of small-angle scattering: those that serve all models, then those of each model.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    KERNELS
}
