//! The memory that a reconstruction needs.

use crate::data::{Mask, Scan};
use crate::engines::likelihood::BYTES_OF_ORDERS;
use crate::engines::step_plan::{group_of, slices_of};
use crate::model::variable_probe::MOST;
use crate::{EngineName, EngineSpec, GpuWaves, Noise, Precision, Recipe, StepPlan};
use warpstride_core::run::MemoryEstimate;

/// Values of a set of waves that the GPU holds together where an engine has no batches: 128 MiB.
const TOGETHER: usize = 1 << 24;

/// Frames that the GPU works on together where an engine has no batches, with `waves` values of
/// exit waves each.
pub(crate) fn frames_together(waves: usize) -> usize {
    (TOGETHER / waves.max(1)).max(1)
}

/// The memory of a run of `recipe` with `shape` (frames, modes, rows, columns) and the object's
/// (rows, columns). Host memory includes the scan.
#[must_use]
pub fn memory_estimate(
    [frames, modes, rows, columns]: [usize; 4],
    object_shape: [usize; 2],
    recipe: &Recipe,
) -> MemoryEstimate {
    let wide = |n: usize| n as u64;
    let frame = wide(rows).saturating_mul(wide(columns));
    let pixels = wide(frames).saturating_mul(frame);
    let object = wide(object_shape[0])
        .saturating_mul(wide(object_shape[1]))
        .saturating_mul(wide(recipe.object_layers()));
    let probe = wide(modes).saturating_mul(frame);
    let complex: u64 = if recipe.precision == Precision::F64 {
        16
    } else {
        8
    };
    // Only projection engines hold the exit waves of all frames; the others those of a batch.
    let projects = recipe.engines.iter().any(|e| e.name.projects());
    // Exit waves for each probe mode.
    let of_mode = recipe.waves_of_mode();
    let of_frame = modes.saturating_mul(rows.saturating_mul(columns));
    let together = frames_together(of_frame.saturating_mul(of_mode));
    let few = |e: &&EngineSpec| e.subpixel == Some(true) || !e.name.projects();
    let sizes = (recipe.engines.iter().filter(few)).map(|e| e.batch.unwrap_or(together));
    let batch = sizes.max().unwrap_or(0).min(frames);
    let all = if projects { pixels } else { 0 };
    let waves = (all.saturating_mul(wide(modes))).saturating_mul(wide(of_mode));
    let few = (wide(batch).saturating_mul(probe)).saturating_mul(wide(of_mode));
    // The waves of a batch at every slice, χ and its copy.
    let slices = if recipe.slices.are_on() {
        few.saturating_mul(wide(recipe.slices.count).saturating_add(3))
    } else {
        0
    };
    // Intensities along a line, of slices with Gaussian noise.
    let gaussian = |e: &EngineSpec| e.name == EngineName::Ml && e.noise == Some(Noise::Gaussian);
    let squares = if recipe.slices.are_on() && recipe.engines.iter().any(gaussian) {
        (wide(batch).saturating_mul(frame)).saturating_mul(BYTES_OF_ORDERS)
    } else {
        0
    };
    // Counts and magnitudes (4 bytes each), the magnitudes once more in the engine's order,
    // the exit waves and their spectra, the spectra once more while they are saved; start
    // values, fluence and result in double precision.
    let shared = pixels
        .saturating_mul(8)
        .saturating_add(object.saturating_mul(64))
        .saturating_add(probe.saturating_mul(64));
    // On the CPU regions have four copies of the object and its momentum; on a GPU they have those
    // of their parts, packed twice for a merge.
    let shape = [frames, modes, rows, columns];
    let uses_regions = |e: &EngineSpec| e.uses_regions(shape, object_shape);
    let regions = recipe.engines.iter().any(uses_regions);
    let copies = if regions { object } else { 0 };
    // The four parts of an object overlap by windows and some tiles, those of a small one have all
    // of it. Object and momentum, copied and packed.
    let wider =
        |of_object: usize, of_window: usize| 1.0 + 2.0 * of_window as f64 / of_object.max(1) as f64;
    let overlap = wider(object_shape[0], rows.saturating_add(48))
        * wider(object_shape[1], columns.saturating_add(192));
    let parts = (copies as f64 * 32.0 * overlap.min(4.0)) as u64;
    let cpu = shared
        .saturating_add(pixels.saturating_mul(4))
        .saturating_add(waves.saturating_mul(3 * complex))
        .saturating_add(few.saturating_mul(2 * complex))
        .saturating_add(slices.saturating_mul(complex))
        .saturating_add(object.saturating_mul(9 * complex))
        .saturating_add(copies.saturating_mul(10 * complex));
    // Shapes of variations, their changes, sums and spectra, coefficients and their changes; on the
    // CPU the sums of each eighth frame of a part of the batch besides, on a GPU the equations of
    // its frames.
    let varied = wide(recipe.opr_modes.min(MOST));
    let of_frames = varied.saturating_mul(wide(frames).saturating_mul(16));
    let groups = wide(batch).div_ceil(96).saturating_add(6);
    let cpu = (cpu.saturating_add(of_frames)).saturating_add(
        varied
            .saturating_mul(frame)
            .saturating_mul(groups * complex),
    );
    let equations = wide(batch).saturating_mul(varied * (varied + 1) * 4);
    let varied = (varied.saturating_mul(frame).saturating_mul(48))
        .saturating_add(of_frames.saturating_add(equations));
    // Exit waves, their work copy and cuFFT's work area, magnitudes; a batch's four sets of waves
    // and cuFFT's work area; object with sums, directions and momentum. The fused step has the exit
    // waves only, perhaps in bf16, in passes those of a group besides.
    let near = recipe.data.is_near_field();
    let ideal = recipe.detector.is_ideal();
    let plan = StepPlan::on_hopper(recipe.gpu.step, [frames, modes, rows, columns])
        .in_field(near)
        .with_exit_waves(of_mode)
        .with_detector(!ideal)
        .with_waves(recipe.gpu.waves);
    let separate = |e: &EngineSpec| e.name.projects() && e.subpixel == Some(true);
    let fused = plan.is_fused() && !recipe.engines.iter().any(separate);
    // Fused conjugate gradients keep the spectra and the gradients of all frames in all modes, for
    // several modes the slopes of the losses.
    let fuses = rows == columns && matches!(rows, 64 | 128) && !near && of_mode == 1 && ideal;
    let several = modes > 1;
    let of_pixel = wide(modes).saturating_mul(16) + if several { 4 } else { 0 };
    let searches = |e: &&EngineSpec| e.name == EngineName::Ml && e.noise != Some(Noise::Gaussian);
    let slices = wide(slices_of(u32::try_from(frames).unwrap_or(u32::MAX)) as usize);
    // At exact positions the shifted probes besides. There and for several modes, the waves of a
    // slice in all modes and those of one mode.
    let of_slices = slices.saturating_mul(probe.saturating_add(frame).saturating_mul(8));
    let of_search = |e: &EngineSpec| {
        let (shifted, sliced) = if e.subpixel == Some(false) {
            (0, if several { of_slices } else { 0 })
        } else {
            (wide(modes).saturating_mul(8), of_slices)
        };
        pixels
            .saturating_mul(of_pixel.saturating_add(shifted))
            .saturating_add(sliced)
    };
    let searched = (recipe.engines.iter())
        .filter(|e| fuses && searches(e))
        .map(of_search)
        .max();
    let group = if fused && projects && matches!(plan, StepPlan::Passes { .. }) {
        wide(group_of(
            frames,
            usize::try_from(probe).unwrap_or(usize::MAX),
        ))
        .saturating_mul(probe)
    } else {
        0
    };
    let wave = match plan.waves() {
        _ if !fused => 24,
        GpuWaves::F32 => 8,
        GpuWaves::Bf16 => 4,
    };
    // Where they are saved; in bf16 they are copied before they are widened.
    let saved = match plan.waves() {
        GpuWaves::F32 => 8,
        GpuWaves::Bf16 => 12,
    };
    // Intensities of some frames twice, with the orders of a line or derivatives by positions, and
    // sums of each pixel.
    let refines = recipe.fit_frame_scales || !recipe.positions.refine.is_empty();
    let searched_for = recipe.engines.iter().any(|e| e.name == EngineName::Ml);
    let arrays = match (searched_for, refines) {
        (true, _) => 5,
        (false, true) => 3,
        (false, false) => 1,
    };
    let at_a_time = if projects {
        batch.max(together.min(frames))
    } else {
        batch
    };
    let detected = match ideal {
        true => 0,
        false => (wide(at_a_time)
            .saturating_mul(8 * arrays)
            .saturating_add(128))
        .saturating_mul(frame),
    };
    let device = waves
        .saturating_mul(wave)
        .saturating_add(group.saturating_mul(8))
        .saturating_add(searched.unwrap_or(0))
        .saturating_add(few.saturating_mul(40))
        .saturating_add(slices.saturating_mul(8))
        .saturating_add(squares)
        .saturating_add(pixels.saturating_mul(4))
        .saturating_add(object.saturating_mul(92))
        .saturating_add(parts)
        .saturating_add(varied)
        .saturating_add(detected)
        .saturating_add(probe.saturating_mul(104));
    MemoryEstimate {
        cpu,
        gpu_host: shared.saturating_add(waves.saturating_mul(saved)),
        gpu_device: device,
        advice: match (of_mode > 1, recipe.opr_modes > 0) {
            (true, _) => {
                "take fewer probe modes (--probe-modes), object modes (--object-modes) or points of an exposure (--fly-points), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])"
            }
            (false, true) => {
                "take fewer probe modes (--probe-modes) or variations of them (--opr-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])"
            }
            (false, false) => {
                "take fewer probe modes (--probe-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])"
            }
        },
    }
}

/// Bytes of the masks of a scan, if it has one for each frame.
#[must_use]
pub fn mask_bytes(scan: &Scan) -> u64 {
    match scan.mask() {
        Mask::Shared(_) => 0,
        Mask::PerFrame(each) => each.len() as u64,
    }
}

/// Bytes of host memory that such a run with a GPU needs besides its counts and √counts, which may
/// be elsewhere.
#[must_use]
pub fn host_besides(shape: [usize; 4], object_shape: [usize; 2], recipe: &Recipe) -> u64 {
    let [frames, _, rows, columns] = shape.map(|n| n as u64);
    let pixels = frames.saturating_mul(rows.saturating_mul(columns));
    let all = memory_estimate(shape, object_shape, recipe).gpu_host;
    all.saturating_sub(pixels.saturating_mul(8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GpuStep, GpuWaves};

    #[test]
    fn absurd_sizes_saturate_instead_of_wrapping() {
        let recipe = Recipe {
            precision: Precision::F64,
            ..Recipe::default()
        };
        let estimate = memory_estimate([usize::MAX, 64, 9999, 9999], [usize::MAX, 2], &recipe);
        assert_eq!((estimate.cpu, estimate.gpu_device), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_second_mode_costs_its_exit_waves() {
        let of = |modes| memory_estimate([10, modes, 64, 64], [200, 200], &Recipe::default());
        let (one, two) = (of(1), of(2));
        // The waves, their spectra and the spectra in the checkpoint; with a GPU only the last of
        // them are on the host.
        let (waves, probe) = (10 * 4096 * 8, 4096 * 64);
        assert_eq!(two.cpu - one.cpu, 3 * waves + probe);
        assert_eq!(two.gpu_host - one.gpu_host, waves + probe);
        // Steps with two modes have a group's waves besides, here of all frames.
        assert_eq!(two.gpu_device - one.gpu_device, 3 * waves + 4096 * 104);
    }

    #[test]
    fn variations_cost_some_frames_each() {
        let of = |modes| {
            let recipe = Recipe {
                engines: vec![EngineSpec::parse("lsqml:50").unwrap()],
                opr_modes: modes,
                ..Recipe::default()
            };
            memory_estimate([1000, 1, 64, 64], [200, 200], &recipe)
        };
        let (none, four) = (of(0), of(4));
        let coefficients = 4 * 1000 * 16;
        assert_eq!(four.cpu - none.cpu, 4 * 4096 * 8 * 8 + coefficients);
        let equations = 100 * 4 * 5 * 4;
        assert_eq!(
            four.gpu_device - none.gpu_device,
            4 * 4096 * 48 + coefficients + equations
        );
    }

    #[test]
    fn mini_batches_need_no_exit_waves_of_all_frames() {
        let of = |engine, step| {
            let mut recipe = Recipe {
                engines: vec![EngineSpec::parse(engine).unwrap()],
                ..Recipe::default()
            };
            recipe.gpu.step = step;
            memory_estimate([10_000, 1, 64, 64], [200, 200], &recipe).gpu_device
        };
        let batches = of("lsqml:5", GpuStep::Auto);
        assert!(batches < of("dm:5", GpuStep::Unfused) / 4);
        // The fused step has one array of waves, not three.
        assert!(batches < of("dm:5", GpuStep::Auto) / 2);
    }

    #[test]
    fn exit_waves_in_bf16_take_half_the_memory_in_a_fused_step_only() {
        let of = |engines: &[&str], step, waves| {
            let mut recipe = Recipe {
                engines: (engines.iter())
                    .map(|engine| EngineSpec::parse(engine).unwrap())
                    .collect(),
                ..Recipe::default()
            };
            (recipe.gpu.step, recipe.gpu.waves) = (step, waves);
            memory_estimate([1000, 2, 64, 64], [200, 200], &recipe)
        };
        let pair = |engines: &[&str], step| {
            [GpuWaves::F32, GpuWaves::Bf16].map(|waves| of(engines, step, waves))
        };
        let [single, half] = pair(&["dm:5", "raar:5"], GpuStep::Auto);
        let difference = 4 * 2 * 1000 * 4096;
        assert_eq!(single.gpu_device - half.gpu_device, difference);
        // A checkpoint has them in single precision.
        assert_eq!(half.gpu_host - single.gpu_host, difference);
        assert_eq!(single.cpu, half.cpu);
        for (engines, step) in [(["dm:5"], GpuStep::Unfused), (["lsqml:5"], GpuStep::Auto)] {
            let [single, half] = pair(&engines, step);
            assert_eq!(single, half);
        }
    }

    #[test]
    fn fused_conjugate_gradients_keep_two_arrays_of_waves_or_three() {
        let of = |noise, subpixel, modes| {
            let mut recipe = Recipe {
                engines: vec![EngineSpec::parse("ml:5").unwrap()],
                ..Recipe::default()
            };
            recipe.engines[0].noise = Some(noise);
            recipe.engines[0].subpixel = Some(subpixel);
            memory_estimate([10_000, modes, 64, 64], [200, 200], &recipe).gpu_device
        };
        let fused = |modes| {
            let separate = of(Noise::Gaussian, true, modes);
            assert_eq!(of(Noise::Gaussian, false, modes), separate);
            [false, true].map(|exact| of(Noise::Amplitude, exact, modes) - separate)
        };
        let (slice, waves) = (132 * 64 * 64 * 8, 10_000 * 64 * 64);
        assert_eq!(fused(1), [waves * 16, waves * 24 + 2 * slice]);
        // D of each pixel, and the modes' sums of the slices.
        let several = [waves * (3 * 16 + 4), waves * (3 * 24 + 4)];
        assert_eq!(fused(3), several.map(|bytes| bytes + 4 * slice));
    }
}
