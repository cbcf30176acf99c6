//! Counts in 16 bits, for magnitudes that have the same bits when they are computed from them
//! again.

use crate::data::Scan;
use crate::quality::free_pixels::{FREE, free_magnitude};
use ndarray::{ArrayBase, Data, Ix3};
use rayon::prelude::*;
use warpstride_kernels::ptycho::frame_blocks::MASKED_COUNTS;

/// How the magnitudes of a scan are written as counts in 16 bits: a valid pixel as its counts, a
/// free one as its counts behind all valid ones, a masked one as [`MASKED_COUNTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountCodes {
    /// Code of a free pixel without counts.
    first_free: u32,
}

/// Counts of √counts, if they are an integer below [`MASKED_COUNTS`] whose root this is.
fn counts_of(root: f32) -> Option<u16> {
    let counts = (f64::from(root) * f64::from(root)).round();
    if !(0.0..f64::from(MASKED_COUNTS)).contains(&counts) {
        return None;
    }
    ((counts as f32).sqrt().to_bits() == root.to_bits()).then_some(counts as u16)
}

/// √counts of a free pixel, if it is one whose counts [`counts_of`] finds.
fn free_counts_of(magnitude: f32) -> Option<u16> {
    // The difference has lost the last bits of the root.
    let counts = f64::from(free_magnitude(magnitude)?).powi(2).round();
    let found = (counts < f64::from(MASKED_COUNTS)).then_some(counts as u16)?;
    let again = FREE - f32::from(found).sqrt();
    (again.to_bits() == magnitude.to_bits()).then_some(found)
}

/// The largest counts of valid and of free pixels plus 1, 0 without any; `None`: some do not fit.
type Largest = Option<[u32; 2]>;

fn largest_of(magnitudes: &[f32]) -> Largest {
    let mut largest = [0; 2];
    for magnitude in magnitudes {
        let (kind, counts) = if *magnitude >= 0.0 {
            (0, counts_of(*magnitude)?)
        } else if *magnitude <= FREE {
            (1, free_counts_of(*magnitude)?)
        } else {
            continue;
        };
        largest[kind] = largest[kind].max(u32::from(counts) + 1);
    }
    Some(largest)
}

impl CountCodes {
    /// The codes of `magnitudes` (√counts, −1 where masked, −2 − √counts where free); `None` if not
    /// every pixel has one.
    #[must_use]
    pub fn of<S: Data<Elem = f32> + Sync>(magnitudes: &ArrayBase<S, Ix3>) -> Option<Self> {
        let frames = magnitudes.as_slice()?;
        let both = |a: Largest, b: Largest| {
            let (a, b) = (a?, b?);
            Some([a[0].max(b[0]), a[1].max(b[1])])
        };
        let [valid, free] = (frames.par_chunks(1 << 16))
            .map(largest_of)
            .reduce(|| Some([0; 2]), both)?;
        (valid + free <= u32::from(MASKED_COUNTS)).then_some(Self { first_free: valid })
    }

    /// The codes of a scan whose magnitudes have not been computed, where some pixels are `free` or
    /// none is; `None` if not every pixel is sure to have one.
    #[must_use]
    pub fn of_scan(scan: &Scan, free: bool) -> Option<Self> {
        let sums = scan.sums();
        if !sums.whole || sums.largest >= f32::from(MASKED_COUNTS) {
            return None;
        }
        let largest = sums.largest as u32;
        let kinds = if free { 2 } else { 1 };
        let fits = kinds * (largest + 1) <= u32::from(MASKED_COUNTS);
        fits.then_some(Self {
            first_free: largest + 1,
        })
    }

    /// Code of a free pixel without counts.
    #[must_use]
    pub fn first_free(self) -> u32 {
        self.first_free
    }

    /// Writes the magnitudes of `codes`, as the kernel `ptycho_widen_counts` does.
    pub(crate) fn decode(self, codes: &[u16], magnitudes: &mut [f32]) {
        for (to, code) in magnitudes.iter_mut().zip(codes) {
            *to = match u32::from(*code).checked_sub(self.first_free) {
                _ if *code == MASKED_COUNTS => -1.0,
                Some(free) => FREE - (free as f32).sqrt(),
                None => f32::from(*code).sqrt(),
            };
        }
    }

    /// Writes the codes of `magnitudes`, which must be of the scan that the codes are for.
    pub(crate) fn encode(self, magnitudes: &[f32], codes: &mut [u16]) {
        let code = |magnitude: f32| {
            if magnitude >= 0.0 {
                counts_of(magnitude)
            } else {
                let counts = free_counts_of(magnitude);
                counts.map(|counts| counts.wrapping_add(self.first_free as u16))
            }
        };
        codes
            .par_chunks_mut(1 << 16)
            .zip(magnitudes.par_chunks(1 << 16))
            .for_each(|(codes, magnitudes)| {
                for (to, magnitude) in codes.iter_mut().zip(magnitudes) {
                    *to = code(*magnitude).unwrap_or(MASKED_COUNTS);
                }
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    fn scan(magnitudes: Vec<f32>) -> Array3<f32> {
        let pixels = magnitudes.len();
        Array3::from_shape_vec((1, 1, pixels), magnitudes).unwrap()
    }

    #[test]
    fn all_counts_have_their_magnitudes_again() {
        let valid = (0..40_000_u16).map(|n| f32::from(n).sqrt());
        let free = (0..25_535_u16).map(|n| FREE - f32::from(n).sqrt());
        let magnitudes: Vec<f32> = valid.chain(free).chain([-1.0]).collect();
        let codes = CountCodes::of(&scan(magnitudes.clone())).unwrap();
        assert_eq!(codes.first_free(), 40_000);
        let mut written = vec![0; magnitudes.len()];
        codes.encode(&magnitudes, &mut written);
        let mut again = vec![0.0; written.len()];
        codes.decode(&written, &mut again);
        for (magnitude, again) in magnitudes.iter().zip(again) {
            assert_eq!(again.to_bits(), magnitude.to_bits(), "{magnitude}");
        }
    }

    #[test]
    fn counts_that_do_not_fit_have_no_codes() {
        let root = |counts: f32| counts.sqrt();
        let of = |values: &[f32]| CountCodes::of(&scan(values.to_vec()));
        assert!(of(&[root(65_534.0), -1.0]).is_some());
        assert!(of(&[]).is_some());
        for refused in [
            &[root(65_535.0)][..],
            &[root(1e9)],
            &[root(0.5)],
            &[0.3],
            &[root(40_000.0), FREE - root(25_535.0)],
            &[FREE - 0.3],
            &[FREE - root(65_535.0)],
        ] {
            assert_eq!(of(refused), None, "{refused:?}");
        }
    }
}
