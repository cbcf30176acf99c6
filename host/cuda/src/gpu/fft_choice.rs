//! The choice of what computes a transform: warpstride's own kernels or cuFFT.
//!
//! The two differ in the last bits, so the choice must be the same in every run on a device: it follows from a table of
//! measurements in the program, and not from a measurement at each start. `warpstride devices` prints the table's part
//! for a device. A shape that was not measured on a device's architecture stays with cuFFT.

use std::env;

/// The variable that replaces the table: `own`, `cufft`, or `auto` for the table.
const VARIABLE: &str = "WARPSTRIDE_FFT";

/// What computes a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftChoice {
    /// warpstride's kernels, for the shapes that they serve.
    Own,
    /// NVIDIA's library.
    CuFft,
}

/// Transforms for which warpstride's kernels were measured to be faster than cuFFT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FasterThanCuFft {
    /// Compute capability, times ten.
    pub compute_capability: u32,
    /// (row, column)
    pub shape: [usize; 2],
    /// The smallest batch for which they were faster.
    pub batch_from: usize,
}

/// The measurements of `benches/runs` in which warpstride's kernels were faster.
///
/// H200, driver 580, cuFFT 12.0: `benches/runs/2026-11-24-h200/own-fft.txt`.
const TABLE: &[FasterThanCuFft] = &[
    hopper([64, 64], 1),
    hopper([128, 128], 1),
    hopper([256, 256], 4),
    hopper([512, 512], 4),
];

const fn hopper(shape: [usize; 2], batch_from: usize) -> FasterThanCuFft {
    FasterThanCuFft {
        compute_capability: 90,
        shape,
        batch_from,
    }
}

/// The table's part for a device.
pub fn faster_than_cufft(compute_capability: u32) -> impl Iterator<Item = FasterThanCuFft> {
    let of_device = move |row: &FasterThanCuFft| row.compute_capability == compute_capability;
    TABLE.iter().copied().filter(of_device)
}

impl FftChoice {
    /// The choice for `batch` transforms of `shape` on a device.
    #[must_use]
    pub fn new(compute_capability: u32, shape: &[usize], batch: usize) -> Self {
        Self::with(
            env::var(VARIABLE).ok().as_deref(),
            compute_capability,
            shape,
            batch,
        )
    }

    fn with(requested: Option<&str>, cc: u32, shape: &[usize], batch: usize) -> Self {
        match requested {
            Some("own") => Self::Own,
            Some("cufft") => Self::CuFft,
            _ if faster_than_cufft(cc).any(|row| row.shape == shape && batch >= row.batch_from) => {
                Self::Own
            }
            _ => Self::CuFft,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_replaces_the_table() {
        let shape = [128, 128];
        assert_eq!(FftChoice::with(Some("own"), 80, &shape, 1), FftChoice::Own);
        assert_eq!(
            FftChoice::with(Some("cufft"), 90, &shape, 9999),
            FftChoice::CuFft
        );
    }

    #[test]
    fn what_was_not_measured_stays_with_cufft() {
        assert_eq!(FftChoice::with(None, 90, &[96, 96], 1000), FftChoice::CuFft);
        assert_eq!(
            FftChoice::with(None, 121, &[128, 128], 1000),
            FftChoice::CuFft
        );
    }

    #[test]
    fn the_table_has_shapes_that_the_kernels_serve() {
        for row in TABLE {
            let passes = super::super::FftPasses::new(&row.shape, row.batch_from);
            assert!(passes.is_some(), "{row:?}");
        }
    }
}
