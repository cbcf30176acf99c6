//! Counts that a detector, or a program that scaled its data, gives for one photon.

use ndarray::{Array2, ArrayView2, CowArray, Ix2};

/// Fewest pixels with counts that are multiples of a number by more than chance.
const FEWEST: usize = 32;
/// Pixels that are looked at.
const MOST: usize = 4096;
/// Most photons of the faintest of them in all frames together, and of the others: single precision
/// rounds large counts.
const FAINTEST: u32 = 64;
const BRIGHTEST: f64 = 1e5;
/// Largest deviation from a multiple.
const CLOSE: f64 = 0.05;
/// Sums of all counts of a frame below which fractions are certainly no photons, and the photons
/// that a frame is taken to have then.
const NO_PHOTONS: f64 = 1e3;
const PHOTONS: f64 = 1e5;

/// Counts of one photon, from the sums of the counts of each pixel over so many frames: the largest
/// number of which all are multiples. 1 if there is none, but if the counts are far too small for
/// photons, as of frames that are divided by their maximum, a frame is taken to have 1e5 of them.
pub(crate) fn counts_of_photon(of_pixels: &Array2<f64>, frames: usize) -> f64 {
    let lit = || of_pixels.iter().copied().filter(|sum| *sum > 0.0);
    if lit().take(FEWEST).count() < FEWEST {
        return 1.0;
    }
    let smallest = lit().fold(f64::INFINITY, f64::min);
    let is_unit = |unit: &f64| {
        let mut faint = lit().filter(|sum| *sum < BRIGHTEST * unit).take(MOST);
        faint.clone().count() >= FEWEST
            && faint.all(|sum| (sum / unit - (sum / unit).round()).abs() < CLOSE)
    };
    let mut units = (1..=FAINTEST).map(|photons| smallest / f64::from(photons));
    if let Some(unit) = units.find(is_unit) {
        return unit;
    }
    if lit().all(|sum| sum.fract() == 0.0) {
        let divisor = |a: f64, b: f64| {
            let (mut a, mut b) = (a, b);
            while b > 0.0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let common = lit().try_fold(0.0, |all, sum| Some(divisor(sum, all)).filter(|d| *d > 1.0));
        return common.unwrap_or(1.0);
    }
    let of_frame = of_pixels.sum() / frames.max(1) as f64;
    if of_frame < NO_PHOTONS {
        of_frame / PHOTONS
    } else {
        1.0
    }
}

/// Counts of a frame in photons that have so many counts.
pub(crate) fn in_photons(counts: ArrayView2<'_, f32>, photon: f64) -> CowArray<'_, f32, Ix2> {
    if photon == 1.0 {
        return counts.into();
    }
    counts
        .mapv(|counts| (f64::from(counts) / photon) as f32)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of pixels, each with another number of photons.
    fn photons(factor: f64) -> Array2<f64> {
        Array2::from_shape_fn((13, 7), |(row, column)| {
            (row * 41 % 97 * column) as f64 * factor
        })
    }

    #[test]
    fn photons_have_the_counts_of_which_all_are_multiples() {
        for factor in [1.0, 2.0, 100.0, 16.0, 0.01, 33.3, 1.0 / 4095.0, 1e-7] {
            let found = counts_of_photon(&photons(factor), 3);
            assert!((found / factor - 1.0).abs() < 1e-9, "{factor} {found}");
        }
        let bright = photons(100.0).mapv(|sum| sum + 1e5);
        assert_eq!(counts_of_photon(&bright, 3), 100.0);
        let rounded = photons(1000.0).mapv(|sum| match sum > 3e5 {
            true => (sum / 64.0).round() * 64.0,
            false => sum,
        });
        assert_eq!(counts_of_photon(&rounded, 3), 1000.0);
        let rounded = photons(0.1).mapv(|sum| f64::from(sum as f32));
        assert!((counts_of_photon(&rounded, 3) - 0.1).abs() < 1e-6);
    }

    #[test]
    fn other_fractions_are_photons_unless_they_are_too_small() {
        let smooth = |factor: f64| photons(factor).mapv(|sum| sum.sqrt().exp());
        assert_eq!(counts_of_photon(&smooth(1.0), 3), 1.0);
        let small = smooth(1.0) / smooth(1.0).sum();
        assert!((counts_of_photon(&small, 10) - 1e-6).abs() < 1e-15);
        for few in [Array2::zeros((0, 3)), Array2::from_elem((5, 5), 7.0)] {
            assert_eq!(counts_of_photon(&few, 3), 1.0);
        }
    }

    #[test]
    fn frames_have_photons() {
        let counts = ndarray::array![[0.0_f32, 20.0], [40.0, 5.0]];
        let expected = ndarray::array![[0.0_f32, 2.0], [4.0, 0.5]];
        assert_eq!(in_photons(counts.view(), 10.0), expected);
        assert!(in_photons(counts.view(), 1.0).is_view());
    }
}
