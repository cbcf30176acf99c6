//! How the counts of a scan that is too large for a GPU travel to it.

use super::memory_estimate::frames_together;
use super::{CountCodes, EngineName, EngineSpec, Noise, Recipe, memory_estimate};
use crate::run::OutOfMemory;
use crate::system::Bytes;
use crate::text::count;
use std::fmt;

/// Pixels of a block of frames, if batches are smaller: 2 MB in 16 bits, 0.04 ms at 55 GB/s, as long as the launches of a block
/// take the host.
const BLOCK_PIXELS: usize = 1 << 20;

/// What large pieces of device memory are rounded up to, bytes.
const GRANULE: u64 = 2 << 20;

/// Blocks that are sent before they are needed, if there is memory for them beside the present one.
pub(super) const AHEAD: usize = 2;

/// Blocks on the device: at least the one that is worked on and the one that arrives.
const LEAST_SLOTS: usize = 2;

/// The counts of a scan in page-locked host memory, of which blocks of frames are on the device. Engines that keep no exit waves
/// (`lsqml`, `rpie`, `epie`, `ml`) work so. Their results have the same bits as with all counts on the device, but for `ml`, which
/// then has separate kernels where it had kept spectra and gradients of all frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlan {
    frames: usize,
    /// Pixels of a frame.
    pixels: usize,
    /// Frames of a block, at least those of a batch.
    block: usize,
    /// Blocks that the device holds.
    slots: usize,
    codes: Option<CountCodes>,
}

impl StreamPlan {
    /// A plan for `frames` frames of `pixels` pixels each: blocks of `block` frames, `slots` of them on the device, as counts in
    /// 16 bits or, without `codes`, as √counts in 32 bits. Blocks have at least one frame, and there are at least two slots. A block must
    /// hold the largest batch of the engines, or their first iteration is refused.
    #[must_use]
    pub fn new(
        [frames, pixels]: [usize; 2],
        block: usize,
        slots: usize,
        codes: Option<CountCodes>,
    ) -> Self {
        Self {
            frames,
            pixels,
            block: block.clamp(1, frames.max(1)),
            slots: slots.max(LEAST_SLOTS),
            codes,
        }
    }

    /// Whether an engine of `recipe` gives other bits with blocks of frames of `shape` (rows, columns): `ml`, if it had kept
    /// spectra and gradients of all frames.
    #[must_use]
    pub fn changes_bits(recipe: &Recipe, [rows, columns]: [usize; 2]) -> bool {
        let keeps = |e: &EngineSpec| e.name == EngineName::Ml && e.noise != Some(Noise::Gaussian);
        rows == columns && matches!(rows, 64 | 128) && recipe.engines.iter().any(keeps)
    }

    /// Whether all engines of `recipe` work on blocks of frames.
    #[must_use]
    pub fn serves(recipe: &Recipe) -> bool {
        !recipe.engines.is_empty() && recipe.engines.iter().all(|e| !e.name.projects())
    }

    /// The plan for a run of `recipe` with `shape` (frames, modes, rows, columns) and the object's (rows, columns) that keeps to
    /// `limit` bytes of device memory by the estimate; `None` if all counts can be on the device.
    ///
    /// # Errors
    /// The run needs more in any case.
    pub fn choose(
        shape: [usize; 4],
        object_shape: [usize; 2],
        recipe: &Recipe,
        codes: Option<CountCodes>,
        limit: u64,
    ) -> Result<Option<Self>, OutOfMemory> {
        let [frames, modes, rows, columns] = shape;
        let estimate = memory_estimate(shape, object_shape, recipe);
        let serves = Self::serves(recipe);
        let out_of_memory = |needed: u64| OutOfMemory {
            what: "the reconstruction",
            needed: Bytes(u128::from(needed)),
            whose: "device".to_owned(),
            backend: "the GPU back end",
            available: Bytes(u128::from(limit)),
            advice: if serves {
                "take smaller batches (--set lsqml.batch=20), fewer probe modes (--probe-modes) or a smaller part of each frame (--set data.crop=[64,64])"
            } else {
                "take engines without exit waves of all frames (lsqml, rpie, epie, ml), fewer probe modes (--probe-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])"
            },
        };
        if estimate.gpu_device <= limit {
            return Ok(None);
        }
        // An estimate that is too large for its type has no parts.
        if !serves || estimate.gpu_device == u64::MAX {
            return Err(out_of_memory(estimate.gpu_device));
        }
        let pixels = rows.saturating_mul(columns);
        let all = [frames, pixels];
        let counts = (frames as u64)
            .saturating_mul(pixels as u64)
            .saturating_mul(4);
        // In blocks, `ml` has what it has for Gaussian noise, for which it keeps nothing of all frames.
        let mut in_blocks = recipe.clone();
        for engine in &mut in_blocks.engines {
            if engine.name == EngineName::Ml {
                engine.noise = Some(Noise::Gaussian);
            }
        }
        let rest = memory_estimate(shape, object_shape, &in_blocks)
            .gpu_device
            .saturating_sub(counts);
        // An engine without batches has as many frames together.
        let together = frames_together(modes.saturating_mul(pixels));
        let sizes = recipe.engines.iter().map(|e| e.batch.unwrap_or(together));
        let batch = sizes.max().unwrap_or(1).clamp(1, frames.max(1));
        let needs = |block: usize, slots: usize| {
            rest.saturating_add(Self::new(all, block, slots, codes).device_bytes())
        };
        let least = needs(batch, LEAST_SLOTS);
        if least > limit {
            return Err(out_of_memory(least));
        }
        let preferred = (BLOCK_PIXELS / pixels.max(1)).clamp(batch, frames.max(1));
        // Halved until a third block fits, so that copies need not wait for the last use of a block's memory.
        let mut block = preferred;
        while block > batch && needs(block, LEAST_SLOTS + 1) > limit {
            block = (block / 2).max(batch);
        }
        let of_slot = needs(block, LEAST_SLOTS + 1)
            .saturating_sub(needs(block, LEAST_SLOTS))
            .max(1);
        let more = limit.saturating_sub(needs(block, LEAST_SLOTS)) / of_slot;
        let slots = LEAST_SLOTS.saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
        let plan = Self::new(all, block, slots, codes);
        // Batches need not fill their blocks, so that there may be twice as many of those.
        let most = plan.blocks().saturating_mul(2).max(LEAST_SLOTS);
        Ok(Some(Self {
            slots: slots.min(most),
            ..plan
        }))
    }

    /// Largest number of frames of a block.
    #[must_use]
    pub fn block(&self) -> usize {
        self.block
    }

    /// Blocks that the device holds.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How counts are written in 16 bits; `None`: they are √counts in 32 bits.
    #[must_use]
    pub fn codes(&self) -> Option<CountCodes> {
        self.codes
    }

    /// Bytes of a pixel on its way.
    #[must_use]
    pub fn pixel_bytes(&self) -> usize {
        if self.codes.is_some() { 2 } else { 4 }
    }

    fn blocks(&self) -> usize {
        self.frames.div_ceil(self.block).max(1)
    }

    /// Bytes of page-locked host memory.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        self.bytes_of(self.frames)
    }

    /// Bytes of `frames` frames on their way.
    fn bytes_of(&self, frames: usize) -> u64 {
        (frames as u64)
            .saturating_mul(self.pixels as u64)
            .saturating_mul(self.pixel_bytes() as u64)
    }

    /// Bytes of device memory for the counts: the slots, √counts of a block if they are made from codes, and what is
    /// gathered of its frames.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        let widened = if self.codes.is_some() { 4 } else { 0 };
        let block = self.block as u64;
        let of_frame = (self.pixels as u64).saturating_mul(widened) + 64;
        let slot = self.bytes_of(self.block);
        let slot = if slot < GRANULE {
            slot
        } else {
            slot.div_ceil(GRANULE).saturating_mul(GRANULE)
        };
        slot.saturating_mul(self.slots as u64)
            .saturating_add(block.saturating_mul(of_frame))
    }

    /// Bytes that travel in a pass over the frames, if its blocks are those of the pass before, in any order: all but those of the
    /// blocks that stay. That is so for compact batches of which each is a block; otherwise up to all frames travel.
    #[must_use]
    pub fn pass_bytes(&self) -> u64 {
        if self.slots >= self.blocks() {
            return 0;
        }
        let stay = self.slots.saturating_sub(1 + AHEAD) * self.block;
        self.bytes_of(self.frames.saturating_sub(stay))
    }
}

impl fmt::Display for StreamPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "counts stay in host memory and travel in blocks of up to {}, {} bytes a pixel; the device holds {}, and up to {} travel in a pass over the scan",
            count(self.block, ["frame", "frames"]),
            self.pixel_bytes(),
            count(self.slots, ["block", "blocks"]),
            Bytes(u128::from(self.host_bytes()))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    fn recipe(engines: &[&str]) -> Recipe {
        let specs = engines.iter().map(|text| EngineSpec::parse(text).unwrap());
        Recipe {
            engines: specs.collect(),
            ..Recipe::default()
        }
    }

    const SHAPE: [usize; 4] = [20_000, 1, 256, 256];
    const OBJECT: [usize; 2] = [1500, 1500];

    fn choose(engines: &[&str], limit: u64) -> Result<Option<StreamPlan>, OutOfMemory> {
        let codes = CountCodes::of(&Array3::zeros((1, 1, 1)));
        StreamPlan::choose(SHAPE, OBJECT, &recipe(engines), codes, limit)
    }

    #[test]
    fn a_scan_that_fits_is_on_the_device() {
        let needed = memory_estimate(SHAPE, OBJECT, &recipe(&["lsqml:5"])).gpu_device;
        assert_eq!(choose(&["lsqml:5"], needed).unwrap(), None);
        assert!(choose(&["lsqml:5"], needed - 1).unwrap().is_some());
    }

    #[test]
    fn a_plan_keeps_to_its_limit_and_uses_it() {
        let needed = memory_estimate(SHAPE, OBJECT, &recipe(&["lsqml:5"])).gpu_device;
        let rest = needed - 20_000 * 65_536 * 4;
        let mut travelled = u64::MAX;
        for limit in [rest + (200 << 20), needed / 8, needed / 4, needed / 2] {
            let plan = choose(&["lsqml:5"], limit).unwrap().unwrap();
            let used = rest + plan.device_bytes();
            assert!(used <= limit, "{plan}");
            let of_slot = plan.bytes_of(plan.block()) + GRANULE;
            assert!(used + of_slot > limit, "{plan}");
            assert!(plan.pass_bytes() < travelled, "{plan}");
            travelled = plan.pass_bytes();
        }
    }

    #[test]
    fn conjugate_gradients_in_blocks_keep_nothing_of_all_frames() {
        let of = |side: usize, limit| {
            let shape = [20_000, 1, side, side];
            StreamPlan::choose(shape, OBJECT, &recipe(&["ml:5"]), None, limit)
        };
        let needed = |side: usize| {
            memory_estimate([20_000, 1, side, side], OBJECT, &recipe(&["ml:5"])).gpu_device
        };
        // Only frames of 64² and 128² have spectra and gradients of all frames.
        for (side, part) in [(128, 8), (256, 3)] {
            assert!(of(side, needed(side) / part).unwrap().is_some(), "{side}");
        }
        for (side, changes) in [(64, true), (128, true), (256, false)] {
            assert_eq!(
                StreamPlan::changes_bits(&recipe(&["ml:5"]), [side; 2]),
                changes
            );
            assert!(!StreamPlan::changes_bits(&recipe(&["lsqml:5"]), [side; 2]));
        }
    }

    #[test]
    fn what_cannot_be_held_in_parts_is_refused() {
        for engines in [&["dm:5"][..], &["lsqml:5", "raar:5"]] {
            let error = choose(engines, 1 << 30).unwrap_err().to_string();
            assert!(error.contains("1.0 GiB is available"), "{error}");
        }
        assert!(choose(&["lsqml:5"], 1 << 20).is_err());
    }

    #[test]
    fn absurd_sizes_are_refused_without_overflow() {
        let shape = [usize::MAX, 1, 9999, 9999];
        let chosen =
            StreamPlan::choose(shape, [usize::MAX, 2], &recipe(&["epie:1"]), None, 1 << 40);
        assert!(chosen.is_err());
    }
}
