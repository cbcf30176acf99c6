//! The list of the kernels of Jacobi relaxation.

use super::{fixed_columns, norms, pass};
use crate::info;
use warpstride_device::launch::{Emulated, KernelInfo};

/// Every kernel of Jacobi relaxation, in the order of the source files.
pub(crate) const KERNELS: &[KernelInfo] = &[
    info::<fixed_columns::JacobiFixedColumnsF32<'static, Emulated>>(),
    info::<fixed_columns::JacobiFixedColumnsF64<'static, Emulated>>(),
    info::<norms::JacobiNorms<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T1<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T1<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T2<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T2<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T3<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T3<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T4<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T4<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T5<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T5<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T6<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T6<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T7<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T7<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF32T8<'static, Emulated>>(),
    info::<pass::JacobiPoissonF32T8<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T1<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T1<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T2<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T2<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T3<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T3<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T4<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T4<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T5<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T5<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T6<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T6<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T7<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T7<'static, Emulated>>(),
    info::<pass::JacobiLaplaceF64T8<'static, Emulated>>(),
    info::<pass::JacobiPoissonF64T8<'static, Emulated>>(),
];

/// Every kernel of Jacobi relaxation, in the order of the source files.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    KERNELS
}
