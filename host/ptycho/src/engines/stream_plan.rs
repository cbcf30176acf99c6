//! How counts and exit waves of a scan that is too large for a GPU travel to it.

use super::probe_slices::probe_slices;
use crate::{CountCodes, EngineName, GpuWaves, Noise, Recipe};
use std::fmt;
use warpstride_core::system::{Bytes, Memory};
use warpstride_core::text::count;

mod advice;
mod block_estimate;
mod choose;

/// Pixels of a block of frames, if batches are smaller: 2 MB in 16 bits, 0.04 ms at 55 GB/s, as
/// long as the launches of a block take the host.
const BLOCK_PIXELS: usize = 1 << 20;

/// Pixels of all modes of a block of exit waves: 32 MiB, 0.6 ms at 55 GB/s, enough frames for all
/// multiprocessors.
const WAVE_PIXELS: usize = 1 << 22;

/// What large pieces of device memory are rounded up to, bytes.
const GRANULE: u64 = 2 << 20;

/// Blocks that are sent before they are needed, if there is memory for them beside the present one.
pub(crate) const AHEAD: usize = 2;

/// Blocks that are read, or put together from frames in host memory, before they can be sent.
pub(crate) const READ_AHEAD: usize = 2;

/// Blocks in host memory that are read or on their way to the device: those, the one that is needed
/// and one more.
pub(crate) const PIECES: usize = AHEAD + READ_AHEAD + 2;

/// Bytes of a frame on its way from which a copy of its own is fast enough: to queue one takes the
/// host about 6 µs.
pub(crate) const LARGE_FRAME: usize = 256 << 10;

/// Blocks on the device: at least the one that is worked on and the one that arrives.
const LEAST_SLOTS: usize = 2;

/// The exit waves of a scan in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WaveBlocks {
    /// Frames of a block.
    block: usize,
    /// Blocks that the device holds.
    slots: usize,
    /// Bytes of a frame in all modes.
    frame_bytes: u64,
}

/// The counts of a scan in page-locked host memory or in a temporary file, of which blocks of
/// frames are on the device; for projection engines (`dm`, `raar`, `ap`) the exit waves too. Their
/// results have the same bits as with everything on the device, but for those of
/// [`Self::changes_bits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlan {
    frames: usize,
    /// Pixels of a frame.
    pixels: usize,
    /// Frames of a block, at least those of a batch.
    block: usize,
    /// Blocks of counts that the device holds.
    slots: usize,
    codes: Option<CountCodes>,
    waves: Option<WaveBlocks>,
    /// Whether counts stay in a temporary file.
    in_file: bool,
}

impl StreamPlan {
    /// A plan for `frames` frames of `pixels` pixels each: blocks of `block` frames, `slots` of
    /// them on the device, as counts in 16 bits or, without `codes`, as √counts in 32 bits. Blocks
    /// have at least one frame, and there are at least two slots. A block must hold the largest
    /// batch of the engines, or their first iteration is refused.
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
            waves: None,
            in_file: false,
        }
    }

    /// The same plan with counts that stay in their temporary file, from which each block is read
    /// when it is needed. A scan whose counts are in memory has them in page-locked memory in any
    /// case.
    #[must_use]
    pub fn in_file(self) -> Self {
        Self {
            in_file: true,
            ..self
        }
    }

    /// The same plan, with counts that stay in their temporary file unless page-locked memory for
    /// them, for each of `devices` devices, fits into the memory of the host beside `besides`
    /// bytes.
    #[must_use]
    pub fn within(self, besides: u64, host: Memory, devices: usize) -> Self {
        let pinned = self.host_bytes().saturating_mul(devices as u64);
        if pinned.saturating_add(besides) > host.limit() {
            self.in_file()
        } else {
            self
        }
    }

    /// Whether counts stay in their temporary file.
    #[must_use]
    pub fn stays_in_file(&self) -> bool {
        self.in_file
    }

    /// The same plan with blocks of exit waves of `modes` modes, `slots` of them on the device, for
    /// projection engines. Their blocks are multiples of the parts that a probe update sums apart,
    /// so those of the counts may become larger.
    #[must_use]
    pub fn with_waves(self, modes: usize, stored: GpuWaves, slots: usize) -> Self {
        let slices = probe_slices(modes.saturating_mul(self.pixels), self.frames);
        let block = self.block.max(slices) / slices * slices;
        let value = match stored {
            GpuWaves::F32 => 8,
            GpuWaves::Bf16 => 4,
        };
        Self {
            block: self.block.max(block),
            waves: Some(WaveBlocks {
                block,
                slots: slots.max(LEAST_SLOTS),
                frame_bytes: (modes as u64)
                    .saturating_mul(self.pixels as u64)
                    .saturating_mul(value),
            }),
            ..self
        }
    }

    /// The same plan with blocks of exit waves that are multiples of `slices` frames.
    #[must_use]
    pub(crate) fn in_multiples_of(self, slices: usize) -> Self {
        let waves = self.waves.map(|waves| WaveBlocks {
            block: waves.block.max(slices) / slices.max(1) * slices.max(1),
            ..waves
        });
        Self {
            block: self.block.max(waves.map_or(0, |waves| waves.block)),
            waves,
            ..self
        }
    }

    /// Whether an engine of `recipe` gives other bits with blocks of frames of `shape` (rows,
    /// columns): `ml`, if it had kept spectra and gradients of all frames, and projections at exact
    /// positions, whose sums on the probe are those of some frames at a time.
    #[must_use]
    pub fn changes_bits(recipe: &Recipe, [rows, columns]: [usize; 2]) -> bool {
        let square = rows == columns && matches!(rows, 64 | 128);
        recipe.engines.iter().any(|e| {
            let keeps = e.name == EngineName::Ml && e.noise != Some(Noise::Gaussian);
            square && keeps && !recipe.data.is_near_field()
                || e.name.projects() && e.subpixel == Some(true)
        })
    }

    /// Whether an engine of `recipe` has exit waves of all frames.
    fn projects(recipe: &Recipe) -> bool {
        recipe.engines.iter().any(|e| e.name.projects())
    }

    /// Largest number of frames of a block.
    #[must_use]
    pub fn block(&self) -> usize {
        self.block
    }

    /// Frames of a block of exit waves, and blocks that the device holds; `None` if there are none.
    #[must_use]
    pub fn wave_blocks(&self) -> Option<[usize; 2]> {
        self.waves.map(|waves| [waves.block, waves.slots])
    }

    /// Blocks of counts that the device holds.
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

    /// Number of blocks of exit waves.
    fn all_wave_blocks(&self) -> usize {
        self.waves
            .map_or(0, |waves| self.frames.div_ceil(waves.block).max(1))
    }

    fn blocks(&self) -> usize {
        self.frames.div_ceil(self.block).max(1)
    }

    /// Bytes of page-locked host memory.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        let waves = self.waves.map_or(0, |waves| {
            (self.frames as u64).saturating_mul(waves.frame_bytes)
        });
        let pieces = self.block.saturating_mul(PIECES);
        let frames = if self.in_file {
            pieces
        } else if self.pixels.saturating_mul(self.pixel_bytes()) < LARGE_FRAME {
            self.frames.saturating_add(pieces)
        } else {
            self.frames
        };
        self.bytes_of(frames).saturating_add(waves)
    }

    /// Bytes of all counts on their way.
    #[must_use]
    pub fn count_bytes(&self) -> u64 {
        self.bytes_of(self.frames)
    }

    /// Bytes of `frames` frames on their way.
    fn bytes_of(&self, frames: usize) -> u64 {
        (frames as u64)
            .saturating_mul(self.pixels as u64)
            .saturating_mul(self.pixel_bytes() as u64)
    }

    /// Bytes of device memory for counts and exit waves: the slots, √counts of a block if they are
    /// made from codes, and what is gathered of its frames.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        let widened = if self.codes.is_some() { 4 } else { 0 };
        let block = self.block as u64;
        let of_frame = (self.pixels as u64).saturating_mul(widened) + 64;
        let waves = self.waves.map_or(0, |waves| {
            let bytes = (waves.block as u64).saturating_mul(waves.frame_bytes);
            granules(bytes).saturating_mul(waves.slots as u64)
        });
        granules(self.bytes_of(self.block))
            .saturating_mul(self.slots as u64)
            .saturating_add(block.saturating_mul(of_frame))
            .saturating_add(waves)
    }

    /// Bytes of counts that travel in a pass over the frames, if its blocks are those of the pass
    /// before, in any order: all but those of the blocks that stay. That is so for compact batches
    /// of which each is a block; otherwise up to all frames travel.
    #[must_use]
    pub fn pass_bytes(&self) -> u64 {
        if self.slots >= self.blocks() {
            return 0;
        }
        let stay = self.slots.saturating_sub(1 + AHEAD) * self.block;
        self.bytes_of(self.frames.saturating_sub(stay))
    }

    /// Bytes of exit waves that travel to the device and back in an iteration of a projection
    /// engine that updates object and probe: the waves go there two times, but for the blocks with
    /// which a pass begins, which the one before has left there, and back once.
    #[must_use]
    pub fn wave_bytes(&self) -> [u64; 2] {
        let Some(waves) = self.waves else {
            return [0; 2];
        };
        let blocks = self.all_wave_blocks();
        let moved = blocks.saturating_sub(waves.slots);
        let bytes = |blocks: usize| {
            let frames = blocks.saturating_mul(waves.block).min(self.frames) as u64;
            frames.saturating_mul(waves.frame_bytes)
        };
        let to_device = bytes(moved).saturating_mul(2);
        [to_device, to_device.min(bytes(blocks))]
    }
}

/// The bytes that a piece of device memory of `bytes` takes.
fn granules(bytes: u64) -> u64 {
    if bytes < GRANULE {
        bytes
    } else {
        bytes.div_ceil(GRANULE).saturating_mul(GRANULE)
    }
}

impl fmt::Display for StreamPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "counts stay in {} and travel in blocks of up to {}, {} bytes a pixel; the device holds {}, and up to {} travel in a pass over the scan",
            if self.in_file {
                "a temporary file"
            } else {
                "host memory"
            },
            count(self.block, ["frame", "frames"]),
            self.pixel_bytes(),
            count(self.slots, ["block", "blocks"]),
            Bytes(u128::from(self.count_bytes()))
        )?;
        let Some(waves) = self.waves else {
            return Ok(());
        };
        let [to_device, back] = self.wave_bytes().map(|bytes| Bytes(u128::from(bytes)));
        write!(
            f,
            "; exit waves travel in blocks of up to {}; the device holds {}, and in an iteration of a projection engine {to_device} travel there and {back} back",
            count(waves.block, ["frame", "frames"]),
            count(waves.slots, ["block", "blocks"]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::block_estimate::BlockEstimate;
    use super::*;
    use crate::{EngineSpec, memory_estimate};
    use ndarray::Array3;
    use warpstride_core::run::OutOfMemory;

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
        for limit in [rest + (200 << 20), needed / 4, needed / 3, needed / 2] {
            let plan = choose(&["lsqml:5"], limit).unwrap().unwrap();
            let needs = BlockEstimate::new(SHAPE, OBJECT, &recipe(&["lsqml:5"]), plan.codes());
            let used = needs.bytes(&plan);
            assert!(used >= rest && used <= limit, "{plan}");
            assert!(
                used + granules(plan.bytes_of(plan.block())) > limit,
                "{plan}"
            );
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
    fn exit_waves_travel_in_blocks_that_fit() {
        for engines in [&["dm:5"][..], &["lsqml:5", "raar:5"], &["ap:1", "ml:5"]] {
            let needed = memory_estimate(SHAPE, OBJECT, &recipe(engines)).gpu_device;
            let mut travelled = u64::MAX;
            for limit in [needed / 10, needed / 5, needed / 3, needed - 1] {
                let plan = choose(engines, limit).unwrap().unwrap();
                let needs = BlockEstimate::new(SHAPE, OBJECT, &recipe(engines), plan.codes());
                assert!(needs.bytes(&plan) <= limit, "{plan}");
                let [block, _] = plan.wave_blocks().unwrap();
                assert_eq!(block % probe_slices(256 * 256, 20_000), 0);
                assert!(block <= plan.block());
                let [to_device, back] = plan.wave_bytes();
                assert!(to_device < travelled && back <= to_device, "{plan}");
                travelled = to_device;
            }
        }
        let of_batches = choose(&["lsqml:5"], 2 << 30).unwrap().unwrap();
        assert_eq!(of_batches.wave_blocks(), None);
        assert_eq!(of_batches.wave_bytes(), [0, 0]);
    }

    /// One mode in f32: all waves there two times and back once, but for what stays.
    #[test]
    fn exit_waves_that_travel_are_counted() {
        let plan = StreamPlan::new([600, 64], 10, 2, None);
        let bytes = |slots| {
            let plan = plan.with_waves(1, GpuWaves::F32, slots);
            // 60 slices at most, so that a block has as many frames, and there are ten.
            assert_eq!(plan.wave_blocks(), Some([60, slots]));
            plan.wave_bytes()
        };
        assert_eq!(bytes(2), [2 * 8 * 60 * 64 * 8, 600 * 64 * 8]);
        assert_eq!(bytes(9), [2 * 60 * 64 * 8, 2 * 60 * 64 * 8]);
        assert_eq!(bytes(10), [0, 0]);
        let half = plan.with_waves(2, GpuWaves::Bf16, 2);
        assert_eq!(half.wave_bytes(), [2 * 8 * 60 * 64 * 8, 600 * 64 * 8]);
    }

    #[test]
    fn what_cannot_be_held_in_parts_is_refused() {
        for engines in [&["dm:5"][..], &["lsqml:5", "raar:5"], &["lsqml:5"]] {
            let error = choose(engines, 1 << 20).unwrap_err().to_string();
            assert!(error.contains("1.0 MiB is available"), "{error}");
        }
    }

    #[test]
    fn absurd_sizes_are_refused_without_overflow() {
        let shape = [usize::MAX, 1, 9999, 9999];
        let chosen =
            StreamPlan::choose(shape, [usize::MAX, 2], &recipe(&["epie:1"]), None, 1 << 40);
        assert!(chosen.is_err());
    }
}
