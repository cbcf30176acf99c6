//! Parts of the frames that a GPU sums apart in a probe update.

/// Blocks of a probe update that an H200 has at a time, six of 256 threads a multiprocessor.
const PROBE_BLOCKS: usize = 132 * 6;
/// Pixels of such a block.
const PROBE_PIXELS: usize = 256;
/// Largest useful number of slices: with more, adding them up costs more than they gain.
const MAX_SLICES: usize = 64;

/// Slices of the frames in a probe update of `pixels` pixels in all modes: the fewest whose blocks fill an H200 to 95 % whenever they
/// run. In a trial there (benches/runs/2026-11-25-h200), 1457 frames of 128², ms: 0.066 with 12 slices (0.97 of all blocks at a time), 0.067 with 24 (0.97 twice), 0.071 with 18 and 25.
pub(super) fn probe_slices(pixels: usize, frames: usize) -> usize {
    let blocks = pixels.div_ceil(PROBE_PIXELS);
    let fills = |slices: &usize| {
        let all = slices * blocks;
        let times = all.div_ceil(PROBE_BLOCKS);
        all * 100 >= times * PROBE_BLOCKS * 95
    };
    (1..=MAX_SLICES)
        .find(fills)
        .unwrap_or(MAX_SLICES)
        .min(frames)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_probe_update_fill_the_device() {
        let slices = [64 * 64, 128 * 128, 256 * 256, 512 * 512, 4 * 128 * 128]
            .map(|pixels| probe_slices(pixels, 1457));
        assert_eq!(slices, [48, 12, 3, 3, 3]);
        assert_eq!(probe_slices(128 * 128, 5), 5);
        assert_eq!(probe_slices(128 * 128, 0), 1);
        assert_eq!(probe_slices(1, 1000), MAX_SLICES);
        assert_eq!(probe_slices(1 << 30, 1000), 1);
    }
}
