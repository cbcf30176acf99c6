//! What a run in blocks needs of the device's memory, and the plan that uses it best.

use super::{AHEAD, BLOCK_PIXELS, LEAST_SLOTS, StreamPlan, WAVE_PIXELS};
use crate::engines::regions::REGIONS;
use crate::session::memory_estimate::frames_together;
use crate::{CountCodes, EngineName, GpuWaves, Noise, Recipe, StepPlan, memory_estimate};

/// What a run in blocks needs.
pub(super) struct BlockEstimate {
    /// (frames, modes, rows, columns)
    shape: [usize; 4],
    object_shape: [usize; 2],
    /// The recipe, with what `ml` has in blocks.
    recipe: Recipe,
    codes: Option<CountCodes>,
    /// Frames of the largest batch.
    batch: usize,
    /// How exit waves are stored, if there are any of all frames.
    stored: Option<GpuWaves>,
}

impl BlockEstimate {
    pub(super) fn new(
        shape: [usize; 4],
        object_shape: [usize; 2],
        recipe: &Recipe,
        codes: Option<CountCodes>,
    ) -> Self {
        let [frames, modes, rows, columns] = shape;
        // In blocks, `ml` has what it has for Gaussian noise, for which it keeps nothing of all
        // frames.
        let mut in_blocks = recipe.clone();
        for engine in &mut in_blocks.engines {
            if engine.name == EngineName::Ml {
                engine.noise = Some(Noise::Gaussian);
            }
            // Those of the scan, which a block is too small for.
            if !engine.name.projects() && engine.name != EngineName::Ml {
                let uses_regions = engine.uses_regions(shape, object_shape);
                engine.regions = Some(if uses_regions { REGIONS } else { 1 });
            }
        }
        // An engine without batches has as many frames together; projections as few as there is
        // memory for.
        let together = frames_together(modes.saturating_mul(rows.saturating_mul(columns)));
        let batched = recipe.engines.iter().filter(|e| !e.name.projects());
        let sizes = batched.map(|e| e.batch.unwrap_or(together));
        let plan = StepPlan::on_hopper(recipe.gpu.step, shape)
            .in_field(recipe.data.is_near_field())
            .with_detector(!recipe.detector.is_ideal())
            .with_waves(recipe.gpu.waves);
        let exact = (recipe.engines.iter()).any(|e| e.name.projects() && e.subpixel == Some(true));
        Self {
            shape,
            object_shape,
            recipe: in_blocks,
            codes,
            batch: sizes.max().unwrap_or(1).clamp(1, frames.max(1)),
            stored: StreamPlan::projects(recipe).then(|| match exact {
                // Separate kernels have them in single precision.
                true => GpuWaves::F32,
                false => plan.waves(),
            }),
        }
    }

    fn of(&self, block: usize, slots: usize, wave_slots: usize) -> StreamPlan {
        let [frames, modes, rows, columns] = self.shape;
        let plan = StreamPlan::new(
            [frames, rows.saturating_mul(columns)],
            block,
            slots,
            self.codes,
        );
        match self.stored {
            Some(stored) => plan.with_waves(modes, stored, wave_slots),
            None => plan,
        }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self, plan: &StreamPlan) -> u64 {
        let [frames, modes, rows, columns] = self.shape;
        // The run as if a block were all of its scan, whose exit waves and counts the plan has too;
        // metrics and positions are those of all frames.
        let block = [plan.block(), modes, rows, columns];
        let run = memory_estimate(block, self.object_shape, &self.recipe).gpu_device;
        let counts = (plan.block() as u64)
            .saturating_mul(plan.pixels as u64)
            .saturating_mul(4);
        let waves = plan.waves.map_or(0, |waves| {
            (plan.block() as u64).saturating_mul(waves.frame_bytes)
        });
        // The fused step lists the windows over each tile of the object.
        let tiles = (rows / 8)
            .saturating_add(2)
            .saturating_mul(columns / 32 + 2);
        let listed = self.stored.map_or(0, |_| tiles.saturating_mul(8) as u64);
        let of_frame = listed.saturating_add(64);
        run.saturating_sub(counts)
            .saturating_sub(waves)
            .saturating_add((frames as u64).saturating_mul(of_frame))
            .saturating_add(plan.device_bytes())
    }

    /// The least that can be done with.
    pub(super) fn least(&self) -> u64 {
        self.bytes(&self.of(self.batch, LEAST_SLOTS, LEAST_SLOTS))
    }

    /// The plan that uses `limit` bytes best; `None` if there is none.
    pub(super) fn plan(&self, limit: u64) -> Option<StreamPlan> {
        let [frames, modes, rows, columns] = self.shape;
        let pixels = rows.saturating_mul(columns).max(1);
        if self.least() > limit {
            return None;
        }
        let preferred = match self.stored {
            Some(_) => WAVE_PIXELS / pixels.saturating_mul(modes.max(1)),
            None => BLOCK_PIXELS / pixels,
        };
        // Halved until there is memory for blocks on their way beside the one that is worked on, so
        // that copies need not wait for the last use of their memory.
        let beside = LEAST_SLOTS + AHEAD;
        let fits = |block: usize, slots: usize| self.bytes(&self.of(block, slots, slots)) <= limit;
        let mut block = preferred.clamp(self.batch, frames.max(1));
        while block > self.batch && !fits(block, beside) {
            block = (block / 2).max(self.batch);
        }
        let slots = (LEAST_SLOTS..=beside).rev().find(|n| fits(block, *n))?;
        let plan = self.of(block, slots, slots);
        // Batches need not fill their blocks, so that there may be twice as many of those.
        let most = plan.blocks().saturating_mul(2).max(LEAST_SLOTS);
        let more = |plan: &StreamPlan, other: &StreamPlan| {
            let step = self.bytes(other).saturating_sub(self.bytes(plan)).max(1);
            let count = limit.saturating_sub(self.bytes(plan)) / step;
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        // Exit waves travel twice and back, counts once and in fewer bytes: what is left is for the
        // waves first.
        let (mut count_slots, mut wave_slots) = (slots, slots);
        if self.stored.is_some() {
            let other = self.of(block, slots, slots.saturating_add(1));
            let blocks = plan.all_wave_blocks().max(LEAST_SLOTS);
            wave_slots = slots.saturating_add(more(&plan, &other)).min(blocks);
        }
        let plan = self.of(block, count_slots, wave_slots);
        let other = self.of(block, slots.saturating_add(1), wave_slots);
        count_slots = slots.saturating_add(more(&plan, &other)).min(most);
        Some(self.of(block, count_slots, wave_slots))
    }
}
