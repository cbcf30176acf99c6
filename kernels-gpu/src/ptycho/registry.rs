//! The list of the kernels of ptychography.

use super::{
    advance_layers, batch_advance, batch_finish, batch_step_sums, batch_sums, centring_shift,
    conjugate_direction, conjugate_products, copy_waves, direction_finish, exit_wave_build,
    fourier_step, frame_chi, gaussian_smoothing, gram, keep_better, largest, layer_power,
    likelihood_deviation, likelihood_losses, line_sums, line_waves, magnitude_deviation,
    mix_layers, model_metrics, object_direction, object_finish, object_update_atomic,
    object_update_tiled, phase_ramp_layers, pie_pass, position_equations, probe_change,
    probe_direction, probe_finish, probe_update_atomic, probe_update_tiled, roll_layers,
    scale_layers, shifted_spectra, slice_sums, smoothness, step_mean, step_sums, trial_positions,
    window_product, window_residual,
};
use crate::info;
use warpstride_device::launch::{Emulated, KernelInfo};

/// Every kernel of ptychography, in the order of the source files.
pub(crate) const KERNELS: &[KernelInfo] = &[
    info::<advance_layers::PtychoAdvanceLayers<'static, Emulated>>(),
    info::<batch_advance::PtychoBatchAdvance<'static, Emulated>>(),
    info::<batch_finish::PtychoBatchFinish<'static, Emulated>>(),
    info::<batch_step_sums::PtychoBatchStepSums<'static, Emulated>>(),
    info::<batch_sums::PtychoBatchSums<'static, Emulated>>(),
    info::<centring_shift::PtychoCentringShift<'static, Emulated>>(),
    info::<conjugate_direction::PtychoConjugateDirection<'static, Emulated>>(),
    info::<conjugate_direction::PtychoLinePoint<'static, Emulated>>(),
    info::<conjugate_products::PtychoConjugateProducts<'static, Emulated>>(),
    info::<copy_waves::PtychoCopyWaves<'static, Emulated>>(),
    info::<direction_finish::PtychoDirectionFinish<'static, Emulated>>(),
    info::<exit_wave_build::PtychoExitWaveBuild<'static, Emulated>>(),
    info::<fourier_step::PtychoFourierStep<'static, Emulated>>(),
    info::<frame_chi::PtychoFrameChi64<'static, Emulated>>(),
    info::<frame_chi::PtychoFrameChi128<'static, Emulated>>(),
    info::<keep_better::PtychoKeepBetter<'static, Emulated>>(),
    info::<gaussian_smoothing::PtychoGaussianSmoothing<'static, Emulated>>(),
    info::<gram::PtychoGram<'static, Emulated>>(),
    info::<largest::PtychoLargest<'static, Emulated>>(),
    info::<layer_power::PtychoLayerPower<'static, Emulated>>(),
    info::<likelihood_deviation::PtychoLikelihoodDeviation<'static, Emulated>>(),
    info::<likelihood_losses::PtychoLikelihoodLosses<'static, Emulated>>(),
    info::<line_sums::PtychoLineSums<'static, Emulated>>(),
    info::<line_waves::PtychoLineWaves<'static, Emulated>>(),
    info::<magnitude_deviation::PtychoMagnitudeDeviation<'static, Emulated>>(),
    info::<mix_layers::PtychoMixLayers<'static, Emulated>>(),
    info::<model_metrics::PtychoModelMetrics<'static, Emulated>>(),
    info::<object_direction::PtychoObjectDirection<'static, Emulated>>(),
    info::<object_finish::PtychoObjectFinish<'static, Emulated>>(),
    info::<object_update_atomic::PtychoObjectUpdateAtomic<'static, Emulated>>(),
    info::<object_update_tiled::PtychoObjectUpdateTiled<'static, Emulated>>(),
    info::<phase_ramp_layers::PtychoPhaseRampLayers<'static, Emulated>>(),
    info::<pie_pass::PtychoPiePass64<'static, Emulated>>(),
    info::<pie_pass::PtychoPiePass128<'static, Emulated>>(),
    info::<position_equations::PtychoPositionEquations<'static, Emulated>>(),
    info::<probe_change::PtychoProbeChange<'static, Emulated>>(),
    info::<probe_direction::PtychoProbeDirection<'static, Emulated>>(),
    info::<probe_finish::PtychoProbeFinish<'static, Emulated>>(),
    info::<probe_update_atomic::PtychoProbeUpdateAtomic<'static, Emulated>>(),
    info::<probe_update_tiled::PtychoProbeUpdateTiled<'static, Emulated>>(),
    info::<roll_layers::PtychoRollLayers<'static, Emulated>>(),
    info::<scale_layers::PtychoScaleLayers<'static, Emulated>>(),
    info::<shifted_spectra::PtychoShiftedSpectra<'static, Emulated>>(),
    info::<slice_sums::PtychoSliceSums<'static, Emulated>>(),
    info::<smoothness::PtychoSmoothness<'static, Emulated>>(),
    info::<smoothness::PtychoSmoothnessSums<'static, Emulated>>(),
    info::<smoothness::PtychoPairSums<'static, Emulated>>(),
    info::<step_mean::PtychoStepMean<'static, Emulated>>(),
    info::<step_sums::PtychoStepSums<'static, Emulated>>(),
    info::<trial_positions::PtychoTrialPositions<'static, Emulated>>(),
    info::<window_product::PtychoWindowProduct<'static, Emulated>>(),
    info::<window_residual::PtychoWindowResidual<'static, Emulated>>(),
];

/// Every kernel of ptychography, in the order of the source files.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    KERNELS
}
