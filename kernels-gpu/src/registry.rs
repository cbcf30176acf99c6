//! The list of all kernels.

#![cfg(not(target_arch = "nvptx64"))]

use warpstride_device::launch::{Emulated, KernelInfo, Launch};

use crate::sas::launches::OF_MODELS;
use crate::{jacobi, mri, ptycho, sas, series};

const fn info<L: Launch<Emulated>>() -> KernelInfo {
    L::INFO
}

/// Those that are named one by one, in the order of the source tree.
const NAMED: &[KernelInfo] = &[
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
    info::<mri::direct_adjoint::MriDirectAdjoint<'static, Emulated>>(),
    info::<mri::direct_forward::MriDirectForward<'static, Emulated>>(),
    info::<mri::direct_gather::MriDirectGather<'static, Emulated>>(),
    info::<mri::direct_ladder_global::MriLadderGather<'static, Emulated>>(),
    info::<mri::direct_ladder_global::MriLadderMu<'static, Emulated>>(),
    info::<mri::direct_ladder_global::MriLadderRegisters<'static, Emulated>>(),
    info::<mri::direct_ladder_global::MriLadderScatter<'static, Emulated>>(),
    info::<mri::direct_ladder_global::MriLadderSplit<'static, Emulated>>(),
    info::<mri::direct_ladder_rows::MriLadderCoils<'static, Emulated>>(),
    info::<mri::direct_ladder_rows::MriLadderRotation<'static, Emulated>>(),
    info::<mri::direct_ladder_staged::MriLadderChunks<'static, Emulated>>(),
    info::<mri::direct_ladder_staged::MriLadderHardware<'static, Emulated>>(),
    info::<mri::direct_ladder_staged::MriLadderPack<'static, Emulated>>(),
    info::<mri::direct_ladder_staged::MriLadderStructs<'static, Emulated>>(),
    info::<mri::direct_ladder_staged::MriLadderVoxels<'static, Emulated>>(),
    info::<mri::direct_sum_parts::MriDirectSumParts<'static, Emulated>>(),
    info::<mri::fista_ahead::MriFistaAhead<'static, Emulated>>(),
    info::<mri::fista_point::MriFistaPoint<'static, Emulated>>(),
    info::<mri::nufft_gather::MriNufftGather<'static, Emulated>>(),
    info::<mri::nufft_gather::MriNufftMerge<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW2<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW3<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW4<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW5<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW6<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW7<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate2dW8<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW2<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW3<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW4<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW5<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW6<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW7<'static, Emulated>>(),
    info::<mri::nufft_interpolate::MriNufftInterpolate3dW8<'static, Emulated>>(),
    info::<mri::nufft_modes::MriNufftCrop<'static, Emulated>>(),
    info::<mri::nufft_modes::MriNufftPad<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW2<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW3<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW4<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW5<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW6<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW7<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread2dW8<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW2<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW3<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW4<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW5<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW6<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW7<'static, Emulated>>(),
    info::<mri::nufft_spread::MriNufftSpread3dW8<'static, Emulated>>(),
    info::<mri::scaled_copy::MriScaledCopy<'static, Emulated>>(),
    info::<mri::soft_threshold::MriSoftThreshold<'static, Emulated>>(),
    info::<mri::squares::MriSquares<'static, Emulated>>(),
    info::<mri::toeplitz::MriToeplitzCrop<'static, Emulated>>(),
    info::<mri::toeplitz::MriToeplitzMultiply<'static, Emulated>>(),
    info::<mri::toeplitz::MriToeplitzPad<'static, Emulated>>(),
    info::<mri::variation_ascend::MriVariationAscend<'static, Emulated>>(),
    info::<mri::variation_primal::MriVariationPrimal<'static, Emulated>>(),
    info::<mri::wavelet_pass::MriWaveletPass<'static, Emulated>>(),
    info::<mri::weigh_samples::MriWeighSamples<'static, Emulated>>(),
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
    info::<sas::finish::SasFinishCurveF64<'static, Emulated>>(),
    info::<sas::finish::SasFinishCurveF32<'static, Emulated>>(),
    info::<sas::finish::SasFinishImageF64<'static, Emulated>>(),
    info::<sas::finish::SasFinishImageF32<'static, Emulated>>(),
    info::<sas::smear::SasSmear<'static, Emulated>>(),
    info::<series::keep::SeriesKeepCount<'static, Emulated>>(),
    info::<series::keep::SeriesKeepMove<'static, Emulated>>(),
    info::<series::keep::SeriesKeepOffsets<'static, Emulated>>(),
    info::<series::ladder::SeriesLadderAtomic<'static, Emulated>>(),
    info::<series::ladder::SeriesLadderOneBlock<'static, Emulated>>(),
    info::<series::ladder::SeriesLadderStaged<'static, Emulated>>(),
    info::<series::order_block::SeriesOrderBlock<'static, Emulated>>(),
    info::<series::order_distinct::SeriesDistinct<'static, Emulated>>(),
    info::<series::order_distinct::SeriesDistinctClear<'static, Emulated>>(),
    info::<series::order_select::SeriesOrderSelect<'static, Emulated>>(),
    info::<series::order_short::SeriesOrder32<'static, Emulated>>(),
    info::<series::order_short::SeriesOrder8<'static, Emulated>>(),
    info::<series::order_warp::SeriesOrderWarp<'static, Emulated>>(),
    info::<series::reduce_long::SeriesDeviations<'static, Emulated>>(),
    info::<series::reduce_long::SeriesReduceLong<'static, Emulated>>(),
    info::<series::reduce_tiles::SeriesReduceCalendar<'static, Emulated>>(),
    info::<series::reduce_tiles::SeriesReduceFixed<'static, Emulated>>(),
    info::<series::scan::SeriesScanRows<'static, Emulated>>(),
    info::<series::sort::SeriesSortCount<'static, Emulated>>(),
    info::<series::sort::SeriesSortGather<'static, Emulated>>(),
    info::<series::sort::SeriesSortMove<'static, Emulated>>(),
    info::<series::starts::SeriesStarts<'static, Emulated>>(),
    info::<series::survey::SeriesSurvey<'static, Emulated>>(),
    info::<series::unpack::SeriesUnpack16<'static, Emulated>>(),
    info::<series::unpack::SeriesUnpack32<'static, Emulated>>(),
];

const COUNT: usize = {
    let (mut count, mut model) = (NAMED.len(), 0);
    while model < OF_MODELS.len() {
        count += OF_MODELS[model].len();
        model += 1;
    }
    count
};

const ALL: [KernelInfo; COUNT] = {
    let mut all = [NAMED[0]; COUNT];
    let (mut at, mut i) = (0, 0);
    while i < NAMED.len() {
        all[at] = NAMED[i];
        at += 1;
        i += 1;
    }
    let mut model = 0;
    while model < OF_MODELS.len() {
        let mut i = 0;
        while i < OF_MODELS[model].len() {
            all[at] = OF_MODELS[model][i];
            at += 1;
            i += 1;
        }
        model += 1;
    }
    all
};

/// Every kernel of the crate; those of the scattering models come last. `tests/registry.rs` compares it with the
/// built PTX.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    const { &ALL }
}
