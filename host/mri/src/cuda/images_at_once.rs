//! How many images are computed at once.

/// Largest scratch memory for images that are computed at once, in bytes.
const MAX_SCRATCH_BYTES: usize = 1 << 30;

/// Number of images computed at once: as many as the scratch memory allows, in batches of equal
/// size.
pub(super) fn images_at_once(max_batch: usize, bytes_per_image: usize) -> usize {
    let batch = max_batch.max(1);
    let most = (MAX_SCRATCH_BYTES / bytes_per_image.max(1)).clamp(1, batch);
    batch.div_ceil(batch.div_ceil(most))
}
