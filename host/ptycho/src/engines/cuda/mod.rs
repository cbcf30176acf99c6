//! GPU back end; each file mirrors the file of the same name in [`super::cpu`]. It is written
//! against [`Device`](warpstride_cuda::gpu::Device), so that the same launches run on a GPU and in
//! the emulator.

mod batches;
mod devices;
mod engine;
mod likelihood;
mod memory;
mod metrics;
mod model;
mod positions;
mod projections;
mod step_arguments;
mod updates;

pub use devices::device_group::{DifferentGpus, GroupMember, failed_alone};
pub use devices::processes::{ProcessExchange, join_processes};
pub use engine::GpuEngine;

use crate::{
    Engine, EngineError, EngineName, EngineSpec, GpuWaves, Noise, Problem, Ranks, Recipe,
    StreamPlan, UpdateVersion,
};
use likelihood::SQUARES_OF_SLOPES;
use warpstride_cuda::cuda::{CudaPeers, DeviceBuffer};
use warpstride_cuda::gpu::{CudaDevice, EmulatedDevice};

/// [`GpuEngine::streamed`] on a CUDA device, as a boxed [`Engine`]. It is compiled once, in this
/// crate, and not again in every program that uses it.
///
/// # Errors
/// The same as those of [`GpuEngine::streamed`].
pub fn on_cuda(
    device: CudaDevice,
    problem: &Problem,
    version: UpdateVersion,
    stream: Option<StreamPlan>,
) -> Result<Box<dyn Engine>, EngineError> {
    on_cuda_among(device, problem, version, stream, (Ranks::alone(), None))
}

/// [`GpuEngine::with_magnitudes`] on a CUDA device, as a boxed [`Engine`].
///
/// # Errors
/// The same as those of [`GpuEngine::with_magnitudes`].
pub fn on_cuda_with_magnitudes(
    device: CudaDevice,
    problem: &Problem,
    version: UpdateVersion,
    magnitudes: DeviceBuffer<f32>,
) -> Result<Box<dyn Engine>, EngineError> {
    let engine = GpuEngine::with_magnitudes(device, problem, version, magnitudes)?;
    Ok(Box::new(engine))
}

/// [`GpuEngine::among`] on a CUDA device, as a boxed [`Engine`].
///
/// # Errors
/// The same as those of [`GpuEngine::among`].
pub fn on_cuda_among(
    device: CudaDevice,
    problem: &Problem,
    version: UpdateVersion,
    stream: Option<StreamPlan>,
    ranks: (Ranks, Option<CudaPeers>),
) -> Result<Box<dyn Engine>, EngineError> {
    let engine = GpuEngine::among(device, problem, version, stream, ranks)?;
    Ok(Box::new(engine))
}

/// Like [`on_cuda`], but on the emulator.
///
/// # Errors
/// The same as those of [`GpuEngine::streamed`].
pub fn on_emulator(
    device: EmulatedDevice,
    problem: &Problem,
    version: UpdateVersion,
    stream: Option<StreamPlan>,
) -> Result<Box<dyn Engine>, EngineError> {
    on_emulator_among(device, problem, version, stream, Ranks::alone())
}

/// Like [`on_cuda_among`], but on the emulator.
///
/// # Errors
/// The same as those of [`GpuEngine::among`].
pub fn on_emulator_among(
    device: EmulatedDevice,
    problem: &Problem,
    version: UpdateVersion,
    stream: Option<StreamPlan>,
    ranks: Ranks,
) -> Result<Box<dyn Engine>, EngineError> {
    let engine = GpuEngine::among(device, problem, version, stream, (ranks, None))?;
    // As GPUs do that copy directly.
    Ok(Box::new(engine.with_divided_batches()))
}

/// Kernels launched by the engines, for [`CudaDevice::new`](warpstride_cuda::gpu::CudaDevice::new).
#[must_use]
pub fn kernels() -> warpstride_cuda::cuda::Kernels {
    warpstride_core::kernels::unpacked(warpstride_ptx::PTYCHO)
}

/// Kernels that only projection engines launch.
const OF_PROJECTIONS: [&str; 3] = ["ptycho_fused_", "ptycho_columns_", "ptycho_rows_"];
/// Kernels that only engines with batches launch.
const OF_BATCHES: [&str; 13] = [
    "ptycho_add_sums",
    "ptycho_pack_sums",
    "ptycho_copy_region",
    "ptycho_pack_region",
    "ptycho_merge_regions",
    "ptycho_deferred_",
    "ptycho_frame_chi_",
    "ptycho_exact_chi_",
    "ptycho_exact_modes_",
    "ptycho_exact_step_sums_",
    "ptycho_exact_finish_",
    "ptycho_exact_advance_",
    "ptycho_pie_",
];
/// Kernels that only a detector with blur or background launches.
const OF_DETECTOR: [&str; 1] = ["ptycho_detector_"];
/// Kernels that only `ml` launches.
const OF_LIKELIHOOD: [&str; 6] = [
    "ptycho_frame_gradient_",
    "ptycho_frame_line_",
    "ptycho_exact_gradient_",
    "ptycho_exact_line_",
    "ptycho_modes_gradient_",
    "ptycho_modes_line_",
];

/// Those of [`kernels`] that a recipe's engines launch for frames of `shape` (rows, columns). The
/// driver compiles each of them in the first run, which takes half a minute for all.
#[must_use]
pub fn kernels_for(recipe: &Recipe, shape: [usize; 2]) -> warpstride_cuda::cuda::Kernels {
    kernels().only(launches(recipe, shape))
}

/// Whether a recipe's engines launch a kernel for frames of `shape`.
fn launches(recipe: &Recipe, shape: [usize; 2]) -> impl Fn(&str) -> bool {
    let any = |of: fn(EngineName) -> bool| recipe.engines.iter().any(|engine| of(engine.name));
    let families = [
        (any(EngineName::projects), &OF_PROJECTIONS[..]),
        (
            any(|name| !name.projects() && name != EngineName::Ml),
            &OF_BATCHES,
        ),
        (any(|name| name == EngineName::Ml), &OF_LIKELIHOOD),
        (!recipe.detector.is_ideal(), &OF_DETECTOR),
    ];
    let packed = recipe.gpu.waves == GpuWaves::Bf16;
    let gaussian = |engine: &EngineSpec| {
        engine.name == EngineName::Ml && engine.noise == Some(Noise::Gaussian)
    };
    let squares = recipe.slices.are_on() && recipe.engines.iter().any(gaussian);
    move |kernel| {
        // Kernels for frames of one size have it in their names.
        let mut sizes = kernel.split('_').filter_map(|part| part.parse().ok());
        let begins = |names: &[&str]| names.iter().any(|name| kernel.starts_with(name));
        (packed || !kernel.ends_with("_bf16"))
            && sizes.all(|size: usize| shape.contains(&size))
            && ((squares && SQUARES_OF_SLOPES.contains(&kernel))
                || (families.iter()).all(|(launched, names)| *launched || !begins(names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_of_the_engines_and_frames_are_compiled() {
        let all = kernels();
        let of = |engines: &[&str], shape, waves| {
            let engines = engines.iter().map(|text| EngineSpec::parse(text).unwrap());
            let mut recipe = Recipe {
                engines: engines.collect(),
                ..Recipe::default()
            };
            recipe.gpu.waves = waves;
            let launched = launches(&recipe, shape);
            let names = all.names().into_iter().filter(|name| launched(name));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let has = |names: &[String], name: &str| names.iter().any(|found| found == name);
        let dm = of(&["dm:1"], [128, 128], GpuWaves::F32);
        assert!(has(&dm, "ptycho_fused_step_128") && has(&dm, "ptycho_columns_reflect_128"));
        assert!(has(&dm, "ptycho_fourier_step") && has(&dm, "ptycho_probe_finish"));
        assert!(
            !dm.iter()
                .any(|name| name.contains("_64") || name.contains("exact_"))
        );
        assert!(!dm.iter().any(|name| name.ends_with("_bf16")));
        let passes = of(&["raar:1"], [512, 256], GpuWaves::Bf16);
        assert!(has(&passes, "ptycho_columns_finish_512_bf16"));
        assert!(has(&passes, "ptycho_rows_project_256"));
        let both = of(&["lsqml:1", "ml:1"], [64, 64], GpuWaves::F32);
        assert!(has(&both, "ptycho_exact_line_poisson_64") && has(&both, "ptycho_frame_chi_64"));
        assert!(has(&both, "ptycho_modes_line_64") && !has(&both, "ptycho_modes_line_128"));
        assert!(!both.iter().any(|name| name.starts_with("ptycho_fused_")));
        let mut thick = Recipe {
            engines: vec![EngineSpec::parse("ml:1").unwrap()],
            ..Recipe::default()
        };
        thick.slices.count = 2;
        for noise in [Noise::Gaussian, Noise::Poisson] {
            thick.engines[0].noise = Some(noise);
            let launched = launches(&thick, [64, 64]);
            for kernel in SQUARES_OF_SLOPES {
                assert!(all.names().into_iter().any(|name| name == kernel));
                assert_eq!(launched(kernel), noise == Noise::Gaussian);
            }
            assert!(!launched("ptycho_detector_step"));
        }
        let epie = of(&["epie:1"], [128, 128], GpuWaves::F32);
        assert!(has(&epie, "ptycho_pie_cluster_exact_128"));
        assert!(!has(&epie, "ptycho_frame_line_poisson_128"));
        assert!(!has(&epie, "ptycho_modes_gradient_128"));
    }
}
