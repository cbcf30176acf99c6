//! The list of the kernels of ptychography.

use super::{
    centring_shift, copy_waves, exit_wave_build, fourier_step, layer_power, model_metrics,
    object_finish, object_update_atomic, object_update_tiled, phase_ramp_layers, probe_change,
    probe_finish, probe_update_atomic, probe_update_tiled, roll_layers, scale_layers,
};
use crate::info;
use warpstride_device::launch::{Emulated, KernelInfo};

/// Every kernel of ptychography, in the order of the source files.
pub(crate) const KERNELS: &[KernelInfo] = &[
    info::<centring_shift::PtychoCentringShift<'static, Emulated>>(),
    info::<copy_waves::PtychoCopyWaves<'static, Emulated>>(),
    info::<exit_wave_build::PtychoExitWaveBuild<'static, Emulated>>(),
    info::<fourier_step::PtychoFourierStep<'static, Emulated>>(),
    info::<layer_power::PtychoLayerPower<'static, Emulated>>(),
    info::<model_metrics::PtychoModelMetrics<'static, Emulated>>(),
    info::<object_finish::PtychoObjectFinish<'static, Emulated>>(),
    info::<object_update_atomic::PtychoObjectUpdateAtomic<'static, Emulated>>(),
    info::<object_update_tiled::PtychoObjectUpdateTiled<'static, Emulated>>(),
    info::<phase_ramp_layers::PtychoPhaseRampLayers<'static, Emulated>>(),
    info::<probe_change::PtychoProbeChange<'static, Emulated>>(),
    info::<probe_finish::PtychoProbeFinish<'static, Emulated>>(),
    info::<probe_update_atomic::PtychoProbeUpdateAtomic<'static, Emulated>>(),
    info::<probe_update_tiled::PtychoProbeUpdateTiled<'static, Emulated>>(),
    info::<roll_layers::PtychoRollLayers<'static, Emulated>>(),
    info::<scale_layers::PtychoScaleLayers<'static, Emulated>>(),
];

/// Every kernel of ptychography, in the order of the source files.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    KERNELS
}
