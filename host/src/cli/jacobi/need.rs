//! Memory that a run needs, before any is taken.

use crate::cli::failure::Failure;
use warpstride::io::Bytes;
use warpstride::jacobi::Boundary;

/// Rows of its neighbours that a device holds at most on each side.
const HALO_ROWS: usize = 8;

/// Sizes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) boundary: Boundary,
    /// Of a number.
    pub(super) bytes: usize,
    /// Starts from a file.
    pub(super) restart: bool,
    pub(super) source: bool,
    /// The field is wanted on the host.
    pub(super) output: bool,
}

impl Need {
    /// Bytes on the host for the CPU.
    pub(super) fn cpu(&self) -> u128 {
        self.inputs() + self.output() + self.engine(self.ny)
    }

    /// Bytes on the host for GPUs.
    pub(super) fn host(&self) -> u128 {
        self.inputs() + self.output()
    }

    /// Bytes on the host for so many emulated devices.
    pub(super) fn emulator(&self, devices: usize) -> u128 {
        self.host() + self.device(self.ny) + (devices as u128 - 1) * self.device(0)
    }

    /// Bytes of a device that computes so many rows.
    pub(super) fn device(&self, rows: usize) -> u128 {
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

/// Refuses what does not fit, with both figures.
pub(super) fn fits(who: &str, whose: &str, needed: u128, available: u64) -> Result<(), Failure> {
    let available = u128::from(available);
    if needed <= available {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "the relaxation needs {} of {whose} for {who}, but {} may be used; take a smaller grid (--nx, --ny), --precision f32 or more --devices",
        Bytes(needed),
        Bytes(available)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_grid_takes_two_gibibytes_and_outputs_take_more() {
        let plain = Need {
            nx: 16384,
            ny: 16384,
            boundary: Boundary::Textbook,
            bytes: 4,
            restart: false,
            source: false,
            output: false,
        };
        assert_eq!((plain.host(), plain.cpu()), (0, 2 << 30));
        let all = Need {
            restart: true,
            source: true,
            output: true,
            ..plain
        };
        assert_eq!((all.host(), all.cpu()), (3 << 30, 6 << 30));
        assert_eq!(plain.emulator(1), plain.device(16384));
        assert_eq!(plain.device(16384 - 16), 2 << 30);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        assert!(fits("the CPU", "host memory", 5, 5).is_ok());
        let Err(Failure::Failed(text)) = fits("the CPU", "host memory", 3 << 30, 1 << 30) else {
            panic!("fits");
        };
        assert!(
            text.contains("3.0 GiB of host memory") && text.contains("1.0 GiB"),
            "{text}"
        );
    }
}
