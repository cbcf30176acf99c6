//! The choice of the update kernels by the sizes of a reconstruction.

use crate::Updates;
use warpstride_kernels::ptycho::tile_frames::{TILE_COLUMNS, TILE_ROWS};

/// How a GPU sums over overlapping windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateVersion {
    /// One block per frame, sums by atomics: fast where many frames spread over a large object,
    /// not the same bits every time.
    Atomic,
    /// One block per tile of the result, sums in the order of the frames: the same bits every time.
    Tiled,
}

/// Object pixels of a tile of the tiled object update.
pub(crate) const TILE: [usize; 2] = [TILE_ROWS as usize, TILE_COLUMNS as usize];
/// Corners that a block of it looks through at a time.
const CORNERS: usize = 256;
/// One such look costs as much time as that many pixels of waves. Measured on an H200, tiled
/// against atomic object update: 5000 frames of 64 × 64 (418 pixels a look) 0.132 against 0.141 ms,
/// 20 000 of 32 × 32 (115 pixels a look) 0.286 against 0.139 ms.
const LOOK_PIXELS: usize = 256;

impl UpdateVersion {
    /// The version for `updates`, with `shape` (frames, modes, rows, columns) and the object's
    /// (rows, columns).
    ///
    /// Every tile looks through the corners of all frames. That is negligible beside the waves
    /// themselves unless many small frames lie on a large object; then the atomic version, which
    /// goes frame by frame, is faster (see `LOOK_PIXELS`).
    #[must_use]
    pub fn choose(
        updates: Updates,
        [frames, modes, rows, columns]: [usize; 4],
        object_shape: [usize; 2],
    ) -> Self {
        let tiles = object_shape[0]
            .div_ceil(TILE[0])
            .saturating_mul(object_shape[1].div_ceil(TILE[1]));
        let looks = tiles.saturating_mul(frames.div_ceil(CORNERS));
        let pixels = frames.saturating_mul(rows.saturating_mul(columns));
        let waves = pixels.saturating_mul(modes);
        match updates {
            Updates::Tiled => Self::Tiled,
            Updates::Atomic => Self::Atomic,
            Updates::Fastest if looks.saturating_mul(LOOK_PIXELS) > waves => Self::Atomic,
            Updates::Fastest => Self::Tiled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_update_is_the_measured_one() {
        let faster = |frames, side, object| {
            UpdateVersion::choose(Updates::Fastest, [frames, 1, side, side], object)
        };
        assert_eq!(faster(1457, 128, [892, 912]), UpdateVersion::Tiled);
        assert_eq!(faster(5000, 64, [784, 784]), UpdateVersion::Tiled);
        assert_eq!(faster(20_000, 32, [750, 755]), UpdateVersion::Atomic);
        assert_eq!(faster(100_000, 32, [1646, 1651]), UpdateVersion::Atomic);
    }
}
