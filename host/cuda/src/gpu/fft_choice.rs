//! The choice of what computes a transform: warpstride's own kernels or cuFFT.
//!
//! The two differ in the last bits, so the choice must be the same in every run on a device: it
//! follows from a table of measurements in the program, and not from a measurement at each start.
//! `warpstride devices` prints the table's part for a device. A shape that was not measured on a
//! device's architecture stays with cuFFT.

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
    /// (row, column) or (slice, row, column)
    pub shape: &'static [usize],
    /// The smallest batch for which they were faster.
    pub batch_from: usize,
}

/// The measurements of `benches/runs` in which warpstride's kernels were faster.
///
/// H200, driver 580. The powers of two up to 512²: `benches/runs/2026-11-24-h200/own-fft.txt`
/// (cuFFT 12.0); the others: `own-fft-mixed.txt` and `own-fft-mixed-kept.txt` of
/// `benches/runs/2026-11-25-h200` (CUDA 13.0), where these limits hold:
///
/// * Squares were measured with 1, 2, 4, 8, 16, 64 arrays and with 134 MB of them, in place and out
///   of place. From `batch_from` to 16 arrays the kernels were 9 % faster or more, at 134 MB 23 %
///   or more, except for 160² and 192²: 4 % and 18 % at 64 arrays, at 134 MB as fast as cuFFT out
///   of place and 3 % faster. 480² had no gain for one array.
/// * Shapes that are not square were measured with 1 and 16 arrays, 8 % to 51 % faster.
/// * Cubes were measured with one array, 4 % to 20 % faster. In MRI, `batch` is the number of coils
///   that fit into 1 GiB of scratch memory, so several arrays are an extrapolation. In its favour:
///   the kernels take three passes at the device's rate, and cuFFT's three were not seen to reach
///   more. One array of 256³ does not fit into the L2 cache, nor do source and target of 160³ or
///   192³, so that more of them are more of the same; batches of 96³ and 128³ leave the cache, as
///   did those of 96² and, in two passes, of 128², where the kernels stayed faster.
const TABLE: &[FasterThanCuFft] = &[
    hopper(&[64, 64], 1),
    hopper(&[96, 96], 1),
    hopper(&[128, 128], 1),
    hopper(&[160, 160], 1),
    hopper(&[192, 192], 1),
    hopper(&[240, 240], 1),
    hopper(&[256, 256], 4),
    hopper(&[320, 320], 1),
    hopper(&[384, 384], 1),
    hopper(&[480, 480], 2),
    hopper(&[512, 512], 4),
    hopper(&[192, 256], 1),
    hopper(&[320, 256], 1),
    hopper(&[480, 240], 1),
    hopper(&[96, 96, 96], 1),
    hopper(&[128, 128, 128], 1),
    hopper(&[160, 160, 160], 1),
    hopper(&[192, 192, 192], 1),
    hopper(&[256, 256, 256], 1),
];

const fn hopper(shape: &'static [usize], batch_from: usize) -> FasterThanCuFft {
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
        assert_eq!(chosen(None, 90, 100, 1000), FftChoice::CuFft);
        assert_eq!(chosen(None, 121, 128, 1000), FftChoice::CuFft);
        let choice = |shape: &[usize]| FftChoice::with(None, 90, shape, 4).expect("a choice");
        assert_eq!(choice(&[192, 256]), FftChoice::Own);
        assert_eq!(choice(&[256, 192]), FftChoice::CuFft);
        assert_eq!(choice(&[96, 96, 96]), FftChoice::Own);
        assert_eq!(choice(&[64, 64, 64]), FftChoice::CuFft);
    }

    #[test]
    fn batches_that_are_too_small_stay_with_cufft() {
        assert_eq!(chosen(None, 90, 480, 1), FftChoice::CuFft);
        assert_eq!(chosen(None, 90, 480, 2), FftChoice::Own);
    }

    #[test]
    fn the_table_has_shapes_that_the_kernels_serve() {
        for row in TABLE {
            let passes = super::super::FftPasses::new(row.shape, row.batch_from);
            assert!(passes.is_some(), "{row:?}");
        }
    }
}
