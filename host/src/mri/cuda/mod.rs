//! On a [`Machine`](crate::gpu::Machine): mirrors `cpu/`.

pub mod direct;
pub(crate) mod nufft;
#[cfg(test)]
mod plain_sums;
mod toeplitz;

pub use nufft::{Nufft, NufftSizes};
pub use toeplitz::Toeplitz;

/// Bytes of scratch that images done together may take.
const TOGETHER_BYTES: usize = 1 << 30;

/// Images that are done together: as many as the scratch allows, in parts of one size.
fn images_together(max_batch: usize, bytes_per_image: usize) -> usize {
    let batch = max_batch.max(1);
    let most = (TOGETHER_BYTES / bytes_per_image.max(1)).clamp(1, batch);
    batch.div_ceil(batch.div_ceil(most))
}
