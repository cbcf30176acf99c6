//! The list of all kernels.

#![cfg(not(target_arch = "nvptx64"))]

use warpstride_device::launch::{Emulated, KernelInfo, Launch};

use crate::{jacobi, mri, ptycho};

const fn info<L: Launch<Emulated>>() -> KernelInfo {
    L::INFO
}

/// Every kernel of the crate, in the order of the source tree. `tests/registry.rs` compares it with
/// the built PTX.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    const KERNELS: &[KernelInfo] = &[
        info::<jacobi::fixed_columns::JacobiFixedColumnsF32<'static, Emulated>>(),
        info::<jacobi::fixed_columns::JacobiFixedColumnsF64<'static, Emulated>>(),
        info::<jacobi::norms::JacobiNorms<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T1<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T1<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T2<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T2<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T3<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T3<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T4<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T4<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T5<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T5<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T6<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T6<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T7<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T7<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF32T8<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF32T8<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T1<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T1<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T2<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T2<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T3<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T3<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T4<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T4<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T5<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T5<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T6<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T6<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T7<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T7<'static, Emulated>>(),
        info::<jacobi::pass::JacobiLaplaceF64T8<'static, Emulated>>(),
        info::<jacobi::pass::JacobiPoissonF64T8<'static, Emulated>>(),
        info::<mri::cg_curvature::MriCgCurvature<'static, Emulated>>(),
        info::<mri::cg_direction::MriCgDirection<'static, Emulated>>(),
        info::<mri::cg_step::MriCgStep<'static, Emulated>>(),
        info::<mri::coil_combine::MriCoilCombine<'static, Emulated>>(),
        info::<mri::coil_images::MriCoilImages<'static, Emulated>>(),
        info::<mri::weigh_samples::MriWeighSamples<'static, Emulated>>(),
        info::<mri::direct_adjoint::MriDirectAdjoint<'static, Emulated>>(),
        info::<mri::direct_forward::MriDirectForward<'static, Emulated>>(),
        info::<mri::direct_gather::MriDirectGather<'static, Emulated>>(),
        info::<mri::direct_sum_parts::MriDirectSumParts<'static, Emulated>>(),
        info::<ptycho::centring_shift::CentringShift<'static, Emulated>>(),
        info::<ptycho::copy_waves::CopyWaves<'static, Emulated>>(),
        info::<ptycho::exit_wave_build::ExitWaveBuild<'static, Emulated>>(),
        info::<ptycho::fourier_step::FourierStep<'static, Emulated>>(),
        info::<ptycho::layer_power::LayerPower<'static, Emulated>>(),
        info::<ptycho::model_metrics::ModelMetrics<'static, Emulated>>(),
        info::<ptycho::object_finish::ObjectFinish<'static, Emulated>>(),
        info::<ptycho::object_update_atomic::ObjectUpdateAtomic<'static, Emulated>>(),
        info::<ptycho::object_update_tiled::ObjectUpdateTiled<'static, Emulated>>(),
        info::<ptycho::phase_ramp_layers::PhaseRampLayers<'static, Emulated>>(),
        info::<ptycho::probe_change::ProbeChange<'static, Emulated>>(),
        info::<ptycho::probe_finish::ProbeFinish<'static, Emulated>>(),
        info::<ptycho::probe_update_atomic::ProbeUpdateAtomic<'static, Emulated>>(),
        info::<ptycho::probe_update_tiled::ProbeUpdateTiled<'static, Emulated>>(),
        info::<ptycho::roll_layers::RollLayers<'static, Emulated>>(),
        info::<ptycho::scale_layers::ScaleLayers<'static, Emulated>>(),
    ];
    KERNELS
}
