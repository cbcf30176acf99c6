//! Sizes decided before anything is computed: memory for each back end and the version of the
//! update kernels. Plain data, so that `info` can print it and tests can read it without a GPU.

use super::{Precision, Updates};
use warpstride_kernels::ptycho::object_update_tiled::{TILE_COLUMNS, TILE_ROWS};

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

/// A reconstruction's sizes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    /// Frames.
    pub frames: usize,
    /// Probe modes.
    pub modes: usize,
    /// Rows of a frame.
    pub rows: usize,
    /// Columns of a frame.
    pub columns: usize,
    /// Object (rows, columns).
    pub object_shape: [usize; 2],
    /// Host bytes of the CPU back end, the scan included.
    pub cpu_bytes: u64,
    /// Host bytes of the GPU back end, the scan included.
    pub gpu_host_bytes: u64,
    /// Device bytes of the GPU back end.
    pub gpu_device_bytes: u64,
}

impl Plan {
    /// Sizes of a run.
    #[must_use]
    pub fn new(
        [frames, modes, rows, columns]: [usize; 4],
        object_shape: [usize; 2],
        precision: Precision,
    ) -> Self {
        let wide = |n: usize| n as u64;
        let pixels = wide(frames).saturating_mul(wide(rows).saturating_mul(wide(columns)));
        let waves = pixels.saturating_mul(wide(modes));
        let object = wide(object_shape[0]).saturating_mul(wide(object_shape[1]));
        let probe = wide(modes).saturating_mul(wide(rows).saturating_mul(wide(columns)));
        let complex: u64 = if precision == Precision::F64 { 16 } else { 8 };
        // Counts and magnitudes (4 bytes each), the magnitudes once more in the engine's order,
        // the exit waves and their spectra, the spectra once more while they are saved; start
        // values, fluence and result in double precision.
        let shared = pixels
            .saturating_mul(8)
            .saturating_add(object.saturating_mul(64))
            .saturating_add(probe.saturating_mul(64));
        let cpu = shared
            .saturating_add(pixels.saturating_mul(4))
            .saturating_add(waves.saturating_mul(3 * complex));
        // Exit waves, their work copy and cuFFT's work area, magnitudes; object with sums.
        let device = waves
            .saturating_mul(24)
            .saturating_add(pixels.saturating_mul(4))
            .saturating_add(object.saturating_mul(32))
            .saturating_add(probe.saturating_mul(40));
        Self {
            frames,
            modes,
            rows,
            columns,
            object_shape,
            cpu_bytes: cpu,
            gpu_host_bytes: shared.saturating_add(waves.saturating_mul(8)),
            gpu_device_bytes: device,
        }
    }
}

/// Object pixels of a tile of the tiled object update.
pub(super) const TILE: [usize; 2] = [TILE_ROWS as usize, TILE_COLUMNS as usize];
/// Corners that a block of it looks through at a time.
const CORNERS: usize = 256;
/// One such look costs as much time as so many pixels of waves. Measured on an H200, tiled against
/// atomic object update: 5000 frames of 64 × 64 (418 pixels a look) 0.132 against 0.141 ms, 20 000 of
/// 32 × 32 (115 pixels a look) 0.286 against 0.139 ms.
const LOOK_PIXELS: usize = 256;

impl Plan {
    /// The version of the update kernels for `updates`.
    ///
    /// Every tile looks through the corners of all frames, which is nothing beside the waves
    /// themselves unless many small frames lie on a large object; then the atomic version, which
    /// goes frame by frame, is faster (see `LOOK_PIXELS`).
    #[must_use]
    pub fn update_version(&self, updates: Updates) -> UpdateVersion {
        let tiles = self.object_shape[0]
            .div_ceil(TILE[0])
            .saturating_mul(self.object_shape[1].div_ceil(TILE[1]));
        let looks = tiles.saturating_mul(self.frames.div_ceil(CORNERS));
        let pixels = self
            .frames
            .saturating_mul(self.rows.saturating_mul(self.columns));
        let waves = pixels.saturating_mul(self.modes);
        match updates {
            Updates::Tiled => UpdateVersion::Tiled,
            Updates::Atomic => UpdateVersion::Atomic,
            Updates::Fastest if looks.saturating_mul(LOOK_PIXELS) > waves => UpdateVersion::Atomic,
            Updates::Fastest => UpdateVersion::Tiled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_sizes_saturate_instead_of_wrapping() {
        let plan = Plan::new(
            [usize::MAX, 64, 9999, 9999],
            [usize::MAX, 2],
            Precision::F64,
        );
        assert_eq!(
            (plan.cpu_bytes, plan.gpu_device_bytes),
            (u64::MAX, u64::MAX)
        );
    }

    #[test]
    fn the_faster_update_is_the_measured_one() {
        let faster = |frames, side, object| {
            let plan = Plan::new([frames, 1, side, side], object, Precision::F32);
            plan.update_version(Updates::Fastest)
        };
        assert_eq!(faster(1457, 128, [892, 912]), UpdateVersion::Tiled);
        assert_eq!(faster(5000, 64, [784, 784]), UpdateVersion::Tiled);
        assert_eq!(faster(20_000, 32, [750, 755]), UpdateVersion::Atomic);
        assert_eq!(faster(100_000, 32, [1646, 1651]), UpdateVersion::Atomic);
    }

    #[test]
    fn a_second_mode_costs_its_exit_waves() {
        let of = |modes| Plan::new([10, modes, 64, 64], [200, 200], Precision::F32);
        let (one, two) = (of(1), of(2));
        // The waves, their spectra and the spectra in the checkpoint; on a GPU only the last of them
        // are on the host.
        let (waves, probe) = (10 * 4096 * 8, 4096 * 64);
        assert_eq!(two.cpu_bytes - one.cpu_bytes, 3 * waves + probe);
        assert_eq!(two.gpu_host_bytes - one.gpu_host_bytes, waves + probe);
    }
}
