//! The list of the kernels of Fourier transforms.

use super::{columns, frames, rows};
use crate::info;
use warpstride_device::launch::{Emulated, KernelInfo};

/// Every kernel of Fourier transforms, in the order of the source files.
pub(crate) const KERNELS: &[KernelInfo] = &[
    info::<columns::FftColumns64<'static, Emulated>>(),
    info::<columns::FftColumns96<'static, Emulated>>(),
    info::<columns::FftColumns128<'static, Emulated>>(),
    info::<columns::FftColumns160<'static, Emulated>>(),
    info::<columns::FftColumns192<'static, Emulated>>(),
    info::<columns::FftColumns240<'static, Emulated>>(),
    info::<columns::FftColumns256<'static, Emulated>>(),
    info::<columns::FftColumns320<'static, Emulated>>(),
    info::<columns::FftColumns384<'static, Emulated>>(),
    info::<columns::FftColumns480<'static, Emulated>>(),
    info::<columns::FftColumns512<'static, Emulated>>(),
    info::<frames::FftFrames64<'static, Emulated>>(),
    info::<frames::FftFrames64InPlace<'static, Emulated>>(),
    info::<frames::FftFrames128<'static, Emulated>>(),
    info::<frames::FftFrames128InPlace<'static, Emulated>>(),
    info::<rows::FftRows64<'static, Emulated>>(),
    info::<rows::FftRows64InPlace<'static, Emulated>>(),
    info::<rows::FftRows96<'static, Emulated>>(),
    info::<rows::FftRows96InPlace<'static, Emulated>>(),
    info::<rows::FftRows128<'static, Emulated>>(),
    info::<rows::FftRows128InPlace<'static, Emulated>>(),
    info::<rows::FftRows160<'static, Emulated>>(),
    info::<rows::FftRows160InPlace<'static, Emulated>>(),
    info::<rows::FftRows192<'static, Emulated>>(),
    info::<rows::FftRows192InPlace<'static, Emulated>>(),
    info::<rows::FftRows240<'static, Emulated>>(),
    info::<rows::FftRows240InPlace<'static, Emulated>>(),
    info::<rows::FftRows256<'static, Emulated>>(),
    info::<rows::FftRows256InPlace<'static, Emulated>>(),
    info::<rows::FftRows320<'static, Emulated>>(),
    info::<rows::FftRows320InPlace<'static, Emulated>>(),
    info::<rows::FftRows384<'static, Emulated>>(),
    info::<rows::FftRows384InPlace<'static, Emulated>>(),
    info::<rows::FftRows480<'static, Emulated>>(),
    info::<rows::FftRows480InPlace<'static, Emulated>>(),
    info::<rows::FftRows512<'static, Emulated>>(),
    info::<rows::FftRows512InPlace<'static, Emulated>>(),
];

/// Every kernel of Fourier transforms, in the order of the source files.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    KERNELS
}
