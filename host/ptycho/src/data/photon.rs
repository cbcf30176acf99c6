//! Counts that a detector, or a program that scaled its data, gives for one photon.

use ndarray::{Array2, ArrayView2, CowArray, Ix2};
use std::ops::AddAssign as _;

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

/// Frames of which single photons are looked at, where a pixel has counts in one of `1 / RARE` at
/// most; fewest of its counts in these frames for one photon.
const FRAMES: usize = 32;
const RARE: usize = 4;
const LARGE: f64 = 8.0;

/// Counts of one photon, from the sums of the counts of each pixel over so many frames, and from
/// each of these.
///
/// The sums say the largest number of which all are multiples. If there is none, pixels of which
/// most counts are 0 say how many counts a photon of an integrating detector has. Else it is 1, but
/// if the counts are far too small for photons, as of frames that are divided by their maximum, a
/// frame is taken to have 1e5 of them.
///
/// # Errors
/// A frame cannot be read.
pub(crate) fn counts_of_photon<E>(
    of_pixels: &Array2<f64>,
    frames: usize,
    mut frame: impl FnMut(usize) -> Result<Array2<f32>, E>,
) -> Result<f64, E> {
    match of_sums(of_pixels) {
        Some(1.0) => {}
        Some(unit) => {
            let counts = frame(frames / 2)?.mapv(f64::from);
            let mut lit = counts.iter().filter(|counts| **counts > 0.0);
            if lit.all(|counts| is_multiple(*counts, unit)) {
                return Ok(unit);
            }
        }
        None => {
            let of_frame = of_pixels.sum() / frames.max(1) as f64;
            if of_frame > 0.0 && of_frame < NO_PHOTONS {
                return Ok(of_frame / PHOTONS);
            }
        }
    }
    let single = of_rare(of_pixels, frames, frame)?;
    Ok(single.filter(|single| *single >= LARGE).unwrap_or(1.0))
}

/// The median of the counts, apart from 0, of pixels that have them in a few frames only, in most
/// frames.
fn of_rare<E>(
    of_pixels: &Array2<f64>,
    frames: usize,
    mut frame: impl FnMut(usize) -> Result<Array2<f32>, E>,
) -> Result<Option<f64>, E> {
    let number = frames.min(FRAMES);
    let sample = || (0..number).map(|n| n * frames / number);
    let mut with_counts = Array2::<usize>::zeros(of_pixels.dim());
    for n in sample() {
        let has_counts = |all: &mut usize, counts: &f32| all.add_assign(usize::from(*counts > 0.0));
        with_counts.zip_mut_with(&frame(n)?, has_counts);
    }
    let is_rare = |with: &usize| *with > 0 && *with * RARE <= number;
    if with_counts.iter().filter(|with| is_rare(with)).count() < FEWEST {
        return Ok(None);
    }
    let median = |mut values: Vec<f32>| {
        values.sort_by(f32::total_cmp);
        values.get(values.len() / 2).copied()
    };
    // A few bright frames are no sign of single photons.
    let mut of_frames = Vec::new();
    for n in sample() {
        let counts = frame(n)?;
        let rare = counts.iter().zip(&with_counts);
        let rare = rare.filter(|(counts, with)| **counts > 0.0 && is_rare(with));
        of_frames.extend(median(rare.map(|(counts, _)| *counts).collect()));
    }
    let are_most = 2 * of_frames.len() > number;
    Ok(are_most.then(|| median(of_frames)).flatten().map(f64::from))
}

/// Whether counts, which are not 0, are a multiple of a number, as far as single precision can say
/// it.
fn is_multiple(counts: f64, of: f64) -> bool {
    let times = counts / of;
    times > BRIGHTEST || (times - times.round().max(1.0)).abs() < CLOSE
}

/// The largest number of which the sums of all pixels are multiples; `None` if there is none.
fn of_sums(of_pixels: &Array2<f64>) -> Option<f64> {
    let lit = || of_pixels.iter().copied().filter(|sum| *sum > 0.0);
    if lit().take(FEWEST).count() < FEWEST {
        return Some(1.0);
    }
    let smallest = lit().fold(f64::INFINITY, f64::min);
    let is_unit = |unit: &f64| {
        let mut faint = lit().filter(|sum| *sum < BRIGHTEST * unit).take(MOST);
        faint.clone().count() >= FEWEST && faint.all(|sum| is_multiple(sum, *unit))
    };
    let mut units = (1..=FAINTEST).map(|photons| smallest / f64::from(photons));
    if let Some(unit) = units.find(is_unit) {
        return Some(unit);
    }
    let are_whole = lit().all(|sum| sum.fract() == 0.0);
    are_whole.then(|| {
        let divisor = |a: f64, b: f64| {
            let (mut a, mut b) = (a, b);
            while b > 0.0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let common = lit().try_fold(0.0, |all, sum| Some(divisor(sum, all)).filter(|d| *d > 1.0));
        common.unwrap_or(1.0)
    })
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

    /// Counts of a photon if all frames are the same.
    fn of_same(frame: &Array2<f64>, frames: usize) -> f64 {
        let sums = frame * frames as f64;
        let frame = |_| Ok::<_, ()>(frame.mapv(|counts| counts as f32));
        counts_of_photon(&sums, frames, frame).unwrap()
    }

    #[test]
    fn photons_have_the_counts_of_which_all_are_multiples() {
        for factor in [1.0, 2.0, 100.0, 16.0, 0.01, 33.3, 1.0 / 4095.0, 1e-7] {
            let found = of_same(&photons(factor), 1);
            assert!((found / factor - 1.0).abs() < 1e-9, "{factor} {found}");
        }
        let bright = photons(100.0).mapv(|sum| sum + 1e5);
        assert_eq!(of_same(&bright, 1), 100.0);
        let rounded = photons(1000.0).mapv(|sum| match sum > 3e5 {
            true => (sum / 64.0).round() * 64.0,
            false => sum,
        });
        assert_eq!(of_sums(&rounded), Some(1000.0));
        let rounded = photons(0.1).mapv(|sum| f64::from(sum as f32));
        assert!((of_sums(&rounded).unwrap() - 0.1).abs() < 1e-6);
        // The sums of equal frames have their number as a divisor, the counts have not.
        assert_eq!(of_same(&photons(1.0), 40), 1.0);
    }

    #[test]
    fn other_fractions_are_photons_unless_they_are_too_small() {
        let smooth = |factor: f64| photons(factor).mapv(|sum| sum.sqrt().exp());
        assert_eq!(of_same(&smooth(1.0), 3), 1.0);
        let small = smooth(1.0) / smooth(1.0).sum();
        assert!((of_same(&small, 10) - 1e-5).abs() < 1e-14);
        for few in [Array2::zeros((0, 3)), Array2::from_elem((5, 5), 7.0)] {
            assert_eq!(of_same(&few, 3), 1.0);
        }
    }

    #[test]
    fn rare_counts_are_single_photons() {
        // A third of the pixels has counts in every sixteenth frame.
        let random = |row: usize, column: usize, frame: usize| {
            ((row * 31 + column * 17 + frame * 7) * 2_654_435_761) >> 9
        };
        let of = |photon: f32| {
            move |frame: usize| -> Result<_, ()> {
                Ok(Array2::from_shape_fn((13, 17), |(row, column)| {
                    let noise = ((row * 7 + column * 11 + frame * 5) % 9) as f32 / 19.0 * photon;
                    match (row + column) % 3 {
                        0 if random(row, column, frame).is_multiple_of(16) => {
                            (photon * 0.8 + noise).round()
                        }
                        0 => 0.0,
                        _ => (50.0 * photon + noise).round(),
                    }
                }))
            }
        };
        for (photon, expected) in [(100.0, 80.0..120.0), (30.0, 24.0..36.0), (1.0, 1.0..1.1)] {
            let sums = (0..64).fold(Array2::zeros((13, 17)), |sums, frame| {
                sums + of(photon)(frame).unwrap().mapv(f64::from)
            });
            let found = counts_of_photon(&sums, 64, of(photon)).unwrap();
            assert!(expected.contains(&found), "{photon} {found}");
        }
        let none = Array2::zeros((5, 0));
        let empty = |_: usize| Ok::<_, ()>(Array2::zeros((5, 0)));
        assert_eq!(counts_of_photon(&none, 0, empty), Ok(1.0));
        assert_eq!(counts_of_photon(&none, 3, empty), Ok(1.0));
    }

    #[test]
    fn frames_have_photons() {
        let counts = ndarray::array![[0.0_f32, 20.0], [40.0, 5.0]];
        let expected = ndarray::array![[0.0_f32, 2.0], [4.0, 0.5]];
        assert_eq!(in_photons(counts.view(), 10.0), expected);
        assert!(in_photons(counts.view(), 1.0).is_view());
    }
}
