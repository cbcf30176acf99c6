//! Parts of the frames that a GPU sums apart in a probe update.

/// Blocks of a probe update that an H200 has at a time, six of 256 threads a multiprocessor.
const PROBE_BLOCKS: usize = 132 * 6;
/// Pixels of such a block.
const PROBE_PIXELS: usize = 256;
/// Largest useful number of slices: with more, adding them up costs more than they gain.
const MAX_SLICES: usize = 60;
/// Slices come in as many, if there are frames and memory enough, so that 2, 3, 4, 6 or 12 devices
/// can have whole ones.
const TOGETHER: usize = 12;
/// Most bytes of the sums of all slices.
const MOST_BYTES: usize = 256 << 20;
/// Bytes of the sums of a pixel: a complex number and a weight.
const BYTES: usize = 12;

/// Slices of the frames in a probe update of `pixels` pixels in all modes: the smallest multiple of
/// 12 whose blocks fill an H200 to 95 % whenever they run. In a trial there
/// (benches/runs/2026-11-25-h200), 1457 frames of 128², ms: 0.066 with 12 slices (0.97 of all
/// blocks at a time), 0.067 with 24 (0.97 twice), 0.071 with 18 and 25. Fewer if there are fewer
/// frames, or if they would take too much memory: a number that divides 12 then.
pub(crate) fn probe_slices(pixels: usize, frames: usize) -> usize {
    let blocks = pixels.div_ceil(PROBE_PIXELS).max(1);
    let fills = |slices: &usize| {
        let all = slices.saturating_mul(blocks);
        let times = all.div_ceil(PROBE_BLOCKS);
        all.saturating_mul(100) >= times.saturating_mul(PROBE_BLOCKS * 95)
    };
    let fits = |slices: &usize| {
        *slices <= frames && slices.saturating_mul(pixels).saturating_mul(BYTES) <= MOST_BYTES
    };
    let filling = (TOGETHER..=MAX_SLICES).step_by(TOGETHER).find(fills);
    let wanted = filling.unwrap_or(MAX_SLICES);
    let fewer = (1..=wanted / TOGETHER).rev().map(|n| n * TOGETHER);
    let parts = [6, 4, 3, 2].into_iter();
    fewer.chain(parts).find(fits).unwrap_or(1)
}

/// [`probe_slices`], so that each of `ranks` devices has as many.
pub(crate) fn probe_slices_for(pixels: usize, frames: usize, ranks: usize) -> usize {
    probe_slices(pixels, frames).next_multiple_of(ranks.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_probe_update_fill_the_device() {
        let slices = [64 * 64, 128 * 128, 256 * 256, 512 * 512, 4 * 128 * 128]
            .map(|pixels| probe_slices(pixels, 1457));
        assert_eq!(slices, [48, 12, 12, 12, 12]);
        assert_eq!(probe_slices(128 * 128, 5), 4);
        assert_eq!(probe_slices(128 * 128, 0), 1);
        assert_eq!(probe_slices(1, 1000), MAX_SLICES);
        assert_eq!(probe_slices(2048 * 2048, 1000), 4);
        assert_eq!(probe_slices(1 << 30, 1000), 1);
        assert_eq!(probe_slices_for(64 * 64, 1000, 5), 50);
        assert_eq!(probe_slices_for(128 * 128, 1, 3), 3);
    }
}
