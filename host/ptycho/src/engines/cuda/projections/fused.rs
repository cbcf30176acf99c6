//! The fused step: a whole projection of every frame in one kernel, whose sums update the object.
//!
//! It is for whole-pixel positions. One probe mode and frames of 64² or 128² pixels take one
//! kernel; for several modes and other frames [`Passes`] has three. The exit waves stay in real
//! space, in `Buffers::waves` or, in bf16, `Buffers::packed_waves`; there are no spectra and no
//! second copy.

use super::fourier_projection;
use super::object_update::{clip_limits, probe_power};
use super::passes::{Passes, Sums};
use super::tile_windows::TileWindows;
use crate::engines::cuda::batches::fused_batches::roots;
use crate::engines::cuda::devices::exchange::Exchange;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::interleaved::Interleaved;
use crate::{GpuWaves, Problem, Step, StepPlan};
use std::mem::swap;
use std::ops::Range;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    fluence::{PtychoFluence, fluence_tiles},
    fused_metrics::{PtychoFusedMetrics64, PtychoFusedMetrics128},
    fused_step::{
        PtychoFusedStep64, PtychoFusedStep64Bf16, PtychoFusedStep64Moved,
        PtychoFusedStep64MovedBf16, PtychoFusedStep128, PtychoFusedStep128Bf16,
        PtychoFusedStep128Moved, PtychoFusedStep128MovedBf16,
    },
    object_from_sums::PtychoObjectFromSums,
    roll_frames::{PtychoRollFrames, PtychoRollFramesBf16},
    wave_limit::PtychoWaveLimit,
};

/// Nanoseconds between the first loads of blocks that keep the probe of 128². In a trial on an H200
/// (benches/runs/2026-11-25-h200), ms a step of 1457 frames:
/// 0.328 without, 0.312 with 2000, 0.309 with 3000, 0.318 with 4500; the other kernels only lose.
const PAUSE: u32 = 3000;

/// The frames of a scan whose steps are fused.
pub(in crate::engines::cuda) struct FusedScan {
    plan: StepPlan,
    /// 1/Σw of each frame, 0 without valid pixels.
    weights: Vec<f32>,
    /// Largest sum of a frame's counts.
    brightest: f32,
}

impl FusedScan {
    /// `None` if no step of `problem` is fused by `plan`; `frames` are those of this device.
    pub(in crate::engines::cuda) fn new(
        plan: StepPlan,
        problem: &Problem,
        frames: &Interleaved,
    ) -> Result<Option<Self>> {
        if !plan.is_fused() {
            return Ok(None);
        }
        let (valid, brightest) = problem.magnitudes.valid_pixels()?;
        let weight = |count: usize| if count > 0 { 1.0 / count as f32 } else { 0.0 };
        let weights: Vec<f32> = valid.into_iter().map(weight).collect();
        Ok(Some(Self {
            plan,
            weights: frames.pick(&weights),
            brightest: brightest as f32,
        }))
    }

    /// How the exit waves are stored.
    pub(in crate::engines::cuda) fn stored(&self) -> GpuWaves {
        self.plan.waves()
    }

    /// Whether `step` is fused.
    pub(in crate::engines::cuda) fn fuses(&self, step: &Step) -> bool {
        !step.subpixel && step.coefficients.ends_at_model()
    }
}

/// The kernels of a step.
enum Kernels<M: Device> {
    /// One for a frame of `side` rows and columns.
    Frame {
        side: u32,
        /// Whether a block keeps the probe in shared memory beside its transform.
        keeps: bool,
        /// exp(−2πi k/side).
        roots: M::Buffer<Complex32>,
    },
    Passes(Passes<M>),
}

/// Memory of the fused step.
pub(in crate::engines::cuda) struct Fused<M: Device> {
    kernels: Kernels<M>,
    brightest: f32,
    /// Largest number of windows over an object pixel.
    windows: u32,
    tiles: TileWindows<M>,
    /// Whether the fluence is that of the current probe and windows.
    fluence_current: bool,
    /// (row, column) of the object: Σ|P|².
    fluence: M::Buffer<f32>,
    pub(in crate::engines::cuda) sums: Sums<M>,
    /// (frame of the block): 1/Σw, for each block of frames; none if the exit waves of all frames
    /// are on the device.
    block_weights: Vec<M::Buffer<f32>>,
}

impl<M: Device> Fused<M> {
    /// Memory for steps of as many frames at a time as `step` has, of the scan of `layout`.
    pub(in crate::engines::cuda) fn new(
        device: &M,
        scan: &FusedScan,
        (layout, step): (&Layout, &Layout),
        corners: &[[u32; 2]],
    ) -> Result<Self> {
        let object = layout.object_elements();
        let kernels = match scan.plan {
            StepPlan::Fused { side, keeps, .. } => Kernels::Frame {
                side: side as u32,
                keeps,
                roots: roots(device, side as u32)?,
            },
            _ => Kernels::Passes(Passes::new(device, step)?),
        };
        let mut new = Self {
            kernels,
            brightest: scan.brightest,
            windows: most_windows(layout, corners).max(1),
            tiles: TileWindows::new(device, layout, corners)?,
            fluence_current: false,
            fluence: device.alloc("the fluence", object)?,
            sums: Sums {
                weights: device.alloc("the frames' weights", scan.weights.len())?,
                sums: device.alloc("the object's sums in fixed point", object)?,
                quanta: device.alloc("the units of the object's sums", object)?,
                limit: device.alloc("the largest exit wave", 1)?,
                exceeding: device.alloc("the number of large exit waves", 1)?,
            },
            block_weights: Vec::new(),
        };
        device.upload(&mut new.sums.weights, &scan.weights)?;
        Ok(new)
    }

    /// Sets the blocks of frames that steps have.
    pub(in crate::engines::cuda) fn set_blocks(
        &mut self,
        device: &M,
        scan: &FusedScan,
        blocks: &[Range<u32>],
    ) -> Result<()> {
        self.block_weights.clear();
        for block in blocks {
            let weights = &scan.weights[block.start as usize..block.end as usize];
            let mut buffer = device.alloc("the frames' weights", weights.len())?;
            device.upload(&mut buffer, weights)?;
            self.block_weights.push(buffer);
        }
        Ok(())
    }

    /// Exchanges the weights of a block with those that kernels read.
    pub(in crate::engines::cuda) fn swap_weights(&mut self, block: usize) {
        if let Some(weights) = self.block_weights.get_mut(block) {
            swap(weights, &mut self.sums.weights);
        }
    }

    /// Other windows of the frames.
    pub(in crate::engines::cuda) fn set_windows(
        &mut self,
        device: &M,
        layout: &Layout,
        corners: &[[u32; 2]],
    ) -> Result<()> {
        self.windows = most_windows(layout, corners).max(1);
        self.tiles = TileWindows::new(device, layout, corners)?;
        self.fluence_current = false;
        Ok(())
    }

    /// The probe has changed.
    pub(in crate::engines::cuda) fn forget_fluence(&mut self) {
        self.fluence_current = false;
    }

    /// Queues one projection of every frame: its sums, and `errors`, and the metrics that the step
    /// has.
    pub(in crate::engines::cuda) fn project(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        step: &Step,
        exchange: &mut Exchange<M>,
    ) -> Result<()> {
        self.update_fluence(device, layout, buffers, exchange)?;
        self.project_frames(device, layout, buffers, step)
    }

    /// [`Self::project`] of the frames of `layout`, after [`Self::update_fluence`].
    pub(in crate::engines::cuda) fn project_frames(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        step: &Step,
    ) -> Result<()> {
        let coefficients = step.coefficients;
        if step.metrics.start {
            self.model_metrics(device, layout, buffers)?;
        }
        let sums = &mut self.sums;
        let (side, keeps, roots) = match &mut self.kernels {
            Kernels::Passes(passes) => {
                return passes.project(device, layout, buffers, step, sums);
            }
            Kernels::Frame { side, keeps, roots } => (*side, *keeps, &*roots),
        };
        macro_rules! step {
            ($kernel:ident, $waves:ident, $pause:expr, $work:ident) => {
                device.launch(
                    &$kernel {
                        psi: buffers.$waves.write(),
                        probe: buffers.probe.read(),
                        object: buffers.object.read(),
                        magnitudes: buffers.magnitudes.read(),
                        weights: sums.weights.read(),
                        corners: buffers.corners.read(),
                        roots: roots.read(),
                        sums: sums.sums.write(),
                        quanta: sums.quanta.read(),
                        limit: sums.limit.read(),
                        exceeding: sums.exceeding.write(),
                        errors: buffers.errors.write(),
                        moved: buffers.moved.write(),
                        frames: layout.frames,
                        side,
                        object_rows: layout.object_rows,
                        object_columns: layout.object_columns,
                        pause: $pause,
                        bound: step.bound as f32,
                        b: coefficients.b as f32,
                        c: coefficients.c as f32,
                    },
                    Work::$work(layout.frames as usize),
                )
            };
        }
        match (side, keeps && !step.metrics.exit, buffers.packed()) {
            (64, true, false) => step!(PtychoFusedStep64, waves, 0, Turns),
            (64, false, false) => step!(PtychoFusedStep64Moved, waves, 0, Blocks),
            (_, true, false) => step!(PtychoFusedStep128, waves, PAUSE, Turns),
            (_, false, false) => step!(PtychoFusedStep128Moved, waves, 0, Blocks),
            (64, true, true) => step!(PtychoFusedStep64Bf16, packed_waves, 0, Turns),
            (64, false, true) => step!(PtychoFusedStep64MovedBf16, packed_waves, 0, Blocks),
            (_, true, true) => step!(PtychoFusedStep128Bf16, packed_waves, PAUSE, Turns),
            (_, false, true) => step!(PtychoFusedStep128MovedBf16, packed_waves, 0, Blocks),
        }
    }

    /// If a projection takes passes: one projection, and the milliseconds of each of its kernels.
    pub(in crate::engines::cuda) fn pass_times(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        step: &Step,
        exchange: &mut Exchange<M>,
    ) -> Result<Vec<(&'static str, f32)>> {
        self.update_fluence(device, layout, buffers, exchange)?;
        match &mut self.kernels {
            Kernels::Passes(passes) => {
                let times = passes.times(device, layout, buffers, step, &mut self.sums)?;
                Ok(times.to_vec())
            }
            Kernels::Frame { .. } => Ok(Vec::new()),
        }
    }

    /// Computes the fluence of the current probe and windows and the units of the object's sums,
    /// unless they are there, and how large an exit wave may be.
    pub(in crate::engines::cuda) fn update_fluence(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        exchange: &mut Exchange<M>,
    ) -> Result<()> {
        let sums = &mut self.sums;
        probe_power(device, layout, buffers)?;
        device.launch(
            &PtychoWaveLimit {
                power: buffers.power.read(),
                limit: sums.limit.write(),
                exceeding: sums.exceeding.write(),
                pixels: layout.pixels(),
                counts: self.brightest,
            },
            Work::Blocks(1),
        )?;
        if self.fluence_current {
            return Ok(());
        }
        let tiles = fluence_tiles(layout.object_rows, layout.object_columns);
        let [first, end] = exchange.own_tiles(layout);
        self.fluence_current = true;
        device.launch(
            &PtychoFluence {
                fluence: self.fluence.write(),
                quanta: sums.quanta.write(),
                limit: sums.limit.read(),
                power: buffers.power.read(),
                starts: self.tiles.starts.read(),
                corners: self.tiles.corners.read(),
                tiles,
                listed: self.tiles.corners.len() as u32,
                rows: layout.rows,
                columns: layout.columns,
                object_rows: layout.object_rows,
                object_columns: layout.object_columns,
                // Every mode adds its share.
                windows: self.windows.saturating_mul(layout.modes),
                first,
                end,
            },
            Work::Blocks((end - first) as usize),
        )?;
        // The fluence is needed for this device's part of the object only, the units for all of it.
        exchange.share(device, &mut sums.quanta)
    }

    /// Writes `photon`, `residual` and `free` of the current object and probe.
    pub(in crate::engines::cuda) fn model_metrics(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
    ) -> Result<()> {
        let (side, roots) = match &mut self.kernels {
            Kernels::Passes(passes) => return passes.model_metrics(device, layout, buffers),
            Kernels::Frame { side, roots, .. } => (*side, &*roots),
        };
        macro_rules! metrics {
            ($kernel:ident) => {
                device.launch(
                    &$kernel {
                        probe: buffers.probe.read(),
                        object: buffers.object.read(),
                        magnitudes: buffers.magnitudes.read(),
                        corners: buffers.corners.read(),
                        roots: roots.read(),
                        photon: buffers.photon.write(),
                        residual: buffers.residual.write(),
                        free: buffers.free.write(),
                        frames: layout.frames,
                        side,
                        object_rows: layout.object_rows,
                        object_columns: layout.object_columns,
                    },
                    Work::Blocks(layout.frames as usize),
                )
            };
        }
        if side == 64 {
            metrics!(PtychoFusedMetrics64)
        } else {
            metrics!(PtychoFusedMetrics128)
        }
    }

    /// Updates the object from the sums of the last projection on all devices, and sets these to
    /// zero; without `update` only the latter.
    pub(in crate::engines::cuda) fn object_update(
        &mut self,
        device: &M,
        layout: &Layout,
        buffers: &mut Buffers<M>,
        step: &Step,
        exchange: &mut Exchange<M>,
    ) -> Result<()> {
        let own = exchange.own_pixels();
        let (others, count) =
            exchange.fixed_of_others(device, &self.sums.sums, step.update_object)?;
        let [clip_low, clip_high] = clip_limits(step.clip_object);
        device.launch(
            &PtychoObjectFromSums {
                object: buffers.object.write(),
                sums: self.sums.sums.write(),
                fluence: self.fluence.read(),
                quanta: self.sums.quanta.read(),
                others: others.read(),
                pixels: layout.object_rows * layout.object_columns,
                first: own.start as u32,
                own: own.len() as u32,
                count: count as u32,
                update: u32::from(step.update_object),
                weight: step.object_weight as f32,
                clip_low,
                clip_high,
            },
            Work::Elements(layout.object_elements()),
        )?;
        if step.update_object {
            exchange.share(device, &mut buffers.object)?;
        }
        Ok(())
    }
}

/// Writes ψ, stored as `stored`; of it `spectra` holds the unnormalised transforms, which are lost.
pub(in crate::engines::cuda) fn to_real_space<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    fft: &M::Fft,
    stored: GpuWaves,
) -> Result<()> {
    device.fft(fft, &mut buffers.spectra, Direction::Inverse)?;
    buffers.alloc_real_waves(device, layout, stored)?;
    fourier_projection::mix(device, layout, buffers, [0.0, layout.scale()])
}

/// Shifts the exit waves cyclically by `shift`.
pub(in crate::engines::cuda) fn roll<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
) -> Result<()> {
    macro_rules! roll {
        ($kernel:ident, $waves:ident) => {
            device.launch(
                &$kernel {
                    waves: buffers.$waves.write(),
                    shift: buffers.shift.read(),
                    layers: layout.frames * layout.modes,
                    rows: layout.rows,
                    columns: layout.columns,
                },
                Work::Blocks(layout.frames as usize * layout.modes as usize),
            )
        };
    }
    if buffers.packed() {
        roll!(PtychoRollFramesBf16, packed_waves)
    } else {
        roll!(PtychoRollFrames, waves)
    }
}

/// The largest number of windows that contain one object pixel.
fn most_windows(layout: &Layout, corners: &[[u32; 2]]) -> u32 {
    let (height, width) = (
        layout.object_rows as usize + 1,
        layout.object_columns as usize + 1,
    );
    // Differences along both axes, then running sums.
    let mut counts = vec![0_i32; height * width];
    for [top, left] in corners {
        let [top, left] = [*top as usize, *left as usize];
        let [bottom, right] = [top + layout.rows as usize, left + layout.columns as usize];
        if bottom < height && right < width {
            counts[top * width + left] += 1;
            counts[bottom * width + right] += 1;
            counts[top * width + right] -= 1;
            counts[bottom * width + left] -= 1;
        }
    }
    let mut most = 0;
    for row in 0..height {
        let mut along = 0;
        for column in 0..width {
            along += counts[row * width + column];
            let above = if row > 0 {
                counts[(row - 1) * width + column]
            } else {
                0
            };
            counts[row * width + column] = along + above;
            most = most.max(along + above);
        }
    }
    most.max(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_counted_where_most_of_them_overlap() {
        let layout = Layout {
            frames: 4,
            scan_frames: 4,
            modes: 1,
            rows: 3,
            columns: 2,
            object_rows: 6,
            object_columns: 5,
            object_layers: 1,
            points: 1,
            parts: 1,
            slices: 1,
            shares: 4,
        };
        assert_eq!(most_windows(&layout, &[]), 0);
        assert_eq!(most_windows(&layout, &[[0, 0], [3, 0], [0, 2], [3, 3]]), 1);
        assert_eq!(most_windows(&layout, &[[0, 0], [2, 1], [3, 1], [1, 1]]), 3);
    }
}
