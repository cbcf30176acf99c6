//! The choice of what computes a transform: warpstride's own kernels or cuFFT.
//!
//! The two differ in the last bits, so the choice must be the same in every run on a device: it follows from a table of
//! measurements in the program, and not from a measurement at each start. `warpstride devices` prints the table's part
//! for a device. A shape that was not measured on a device's architecture stays with cuFFT.

use std::env;

use super::{GpuError, Result};

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
    ///
    /// # Errors
    /// [`GpuError::FftVariable`]: the variable has none of the three values.
    pub fn new(compute_capability: u32, shape: &[usize], batch: usize) -> Result<Self> {
        let requested = env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
        Self::with(requested.as_deref(), compute_capability, shape, batch)
    }

    fn with(requested: Option<&str>, cc: u32, shape: &[usize], batch: usize) -> Result<Self> {
        let measured = |row: FasterThanCuFft| row.shape == shape && batch >= row.batch_from;
        match requested {
            Some("own") => Ok(Self::Own),
            Some("cufft") => Ok(Self::CuFft),
            None | Some("auto") => Ok(if faster_than_cufft(cc).any(measured) {
                Self::Own
            } else {
                Self::CuFft
            }),
            Some(found) => Err(GpuError::FftVariable {
                found: found.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(requested: Option<&str>, cc: u32, side: usize, batch: usize) -> FftChoice {
        FftChoice::with(requested, cc, &[side, side], batch).expect("a choice")
    }

    #[test]
    fn a_request_replaces_the_table() {
        assert_eq!(chosen(Some("own"), 80, 128, 1), FftChoice::Own);
        assert_eq!(chosen(Some("cufft"), 90, 128, 9999), FftChoice::CuFft);
        assert_eq!(chosen(Some("auto"), 90, 128, 9999), FftChoice::Own);
    }

    #[test]
    fn another_request_is_an_error() {
        let error = FftChoice::with(Some("vkfft"), 90, &[128, 128], 1).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "the variable WARPSTRIDE_FFT: expected own, cufft or auto, found \"vkfft\""
        );
    }

    #[test]
    fn what_was_not_measured_stays_with_cufft() {
        assert_eq!(chosen(None, 90, 96, 1000), FftChoice::CuFft);
        assert_eq!(chosen(None, 121, 128, 1000), FftChoice::CuFft);
    }

    #[test]
    fn the_table_has_shapes_that_the_kernels_serve() {
        for row in TABLE {
            let passes = super::super::FftPasses::new(&row.shape, row.batch_from);
            assert!(passes.is_some(), "{row:?}");
        }
    }
}
