//! The memory that a relaxation needs.

use super::Boundary;
use warpstride_core::run::MemoryEstimate;

/// Rows of its neighbours that a device holds at most on each side.
const HALO_ROWS: usize = 8;

/// Sizes that determine the memory of a relaxation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySizes {
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// What holds at the border.
    pub boundary: Boundary,
    /// Bytes of a number.
    pub bytes: usize,
    /// Whether the start field comes from a file.
    pub restart: bool,
    /// Whether there is a source.
    pub source: bool,
    /// Whether the field is needed on the host.
    pub output: bool,
}

impl MemorySizes {
    /// The memory with devices that compute `rows` rows each.
    #[must_use]
    pub fn estimate(&self, rows: usize) -> MemoryEstimate {
        let host = self.inputs() + self.output();
        MemoryEstimate {
            cpu: whole(host + self.engine(self.ny)),
            gpu_host: whole(host),
            gpu_device: whole(self.device(rows)),
            advice: if self.bytes > size_of::<f32>() {
                "take a smaller grid (--nx, --ny) or --precision f32"
            } else {
                "take a smaller grid (--nx, --ny)"
            },
        }
    }

    /// How to need less memory on each device, which more devices help with.
    #[must_use]
    pub fn device_advice(&self) -> &'static str {
        if self.bytes > size_of::<f32>() {
            "take more --devices, a smaller grid (--nx, --ny) or --precision f32"
        } else {
            "take more --devices or a smaller grid (--nx, --ny)"
        }
    }

    /// The memory with so many emulated devices, whose memory together is `gpu_device`.
    #[must_use]
    pub fn emulated(&self, devices: usize) -> MemoryEstimate {
        let others = (devices as u128).saturating_sub(1) * self.device(0);
        MemoryEstimate {
            gpu_device: whole(self.device(self.ny) + others),
            ..self.estimate(self.ny)
        }
    }

    fn device(&self, rows: usize) -> u128 {
        self.engine(rows + 2 * HALO_ROWS)
    }

    fn inputs(&self) -> u128 {
        (u128::from(self.restart) + u128::from(self.source)) * self.field(self.ny)
    }

    fn output(&self) -> u128 {
        u128::from(self.output) * self.field(self.ny)
    }

    /// A field before and one after a sweep, and the source.
    fn engine(&self, rows: usize) -> u128 {
        (2 + u128::from(self.source)) * self.field(rows)
    }

    fn field(&self, rows: usize) -> u128 {
        self.nx as u128 * rows as u128 * self.bytes as u128
    }
}

fn whole(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_grid_takes_two_gibibytes_and_outputs_take_more() {
        let plain = MemorySizes {
            nx: 16384,
            ny: 16384,
            boundary: Boundary::Textbook,
            bytes: 4,
            restart: false,
            source: false,
            output: false,
        };
        let estimate = plain.estimate(16384 - 16);
        assert_eq!((estimate.gpu_host, estimate.cpu), (0, 2 << 30));
        assert_eq!(estimate.gpu_device, 2 << 30);
        let all = MemorySizes {
            restart: true,
            source: true,
            output: true,
            ..plain
        };
        let estimate = all.estimate(1);
        assert_eq!((estimate.gpu_host, estimate.cpu), (3 << 30, 6 << 30));
        let (alone, two) = (plain.emulated(1), plain.emulated(2));
        assert_eq!(alone.gpu_device, plain.estimate(16384).gpu_device);
        assert_eq!(
            two.gpu_device - alone.gpu_device,
            plain.estimate(0).gpu_device
        );
    }
}
