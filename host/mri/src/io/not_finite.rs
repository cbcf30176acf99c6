//! Readouts with values that are NaN or infinite, and readouts of zeros, which are left out.

use super::excluded_coils::ExcludedCoils;
use super::ismrmrd::LeftOut;
use crate::data::Readout;
use ndarray::{Array2, Axis};
use num_complex::Complex;
use warpstride_core::text::count;

/// The readouts that were removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Numbers of their acquisitions, sorted.
    pub(super) acquisitions: Vec<usize>,
    /// How many of them have positions that are NaN or infinite.
    positions: usize,
    /// How many of them have no sample other than 0, as if they had never been measured.
    zeros: usize,
    /// Samples that were removed from readouts whose other samples are kept.
    samples: usize,
    /// The coils with such samples, unless all coils that have samples are among them.
    coils: Vec<usize>,
    /// Whether these readouts are so many that leaving out the coils may be better.
    are_many: bool,
}

impl Removed {
    /// The kinds of these readouts, with their numbers; `noun` is what the file calls them.
    pub(super) fn left_out(&self, noun: &str) -> impl Iterator<Item = LeftOut> {
        let list = list(&self.coils);
        let of = match self.coils.len() {
            0 => String::new(),
            1 => format!(" of coil {list}"),
            _ => format!(" of coils {list}"),
        };
        let remedy = match self.coils.is_empty() || !self.are_many {
            true => String::new(),
            false => format!(" (--exclude-coils {list} keeps them with the other coils)"),
        };
        let samples = format!("samples{of} that are NaN or infinite{remedy}");
        let kinds = [
            (
                samples,
                self.acquisitions.len() - self.positions - self.zeros,
            ),
            (
                "positions that are NaN or infinite".to_owned(),
                self.positions,
            ),
            ("samples that are all 0".to_owned(), self.zeros),
        ];
        let some = kinds.into_iter().filter(|(_, number)| *number > 0);
        some.map(move |(values, acquisitions)| LeftOut {
            what: format!("{noun} with {values}"),
            acquisitions,
        })
    }

    /// A note on samples that were removed one by one.
    pub(super) fn note(&self) -> Option<String> {
        (self.samples > 0).then(|| {
            format!(
                "{} left out, as most readouts have values that are NaN or infinite: the other samples of these readouts are used",
                count(self.samples, ["sample", "samples"])
            )
        })
    }
}

/// The part of all readouts, one of this number, from which on a coil is better left out.
const MANY: usize = 10;

/// Removes the readouts that have a sample (coil, sample) or a position (sample, axis) that is NaN
/// or infinite, and those whose samples are 0 in every coil. If most readouts have such a sample,
/// these samples are removed and the rest of their readouts is kept, in parts. Nothing is removed
/// if no sample would remain.
pub(super) fn remove(
    positions: &mut Array2<f64>,
    samples: &mut Array2<Complex<f64>>,
    readouts: &mut Vec<Readout>,
) -> Removed {
    let is_placed = |sample: usize| positions.row(sample).iter().all(|k| k.is_finite());
    let is_finite = |sample: usize| samples.column(sample).iter().all(|v| v.is_finite());
    let is_zero = |sample: usize| samples.column(sample).iter().all(|v| v.norm_sqr() == 0.0);
    let is_sound = |sample: usize| is_placed(sample) && is_finite(sample);
    let is_broken = |coil: usize, readout: &Readout| {
        let mut range = readout.samples.clone();
        range.any(|sample| !samples[[coil, sample]].is_finite())
    };
    let broken_readouts = readouts.iter().filter(|r| !r.samples.clone().all(is_sound));
    let one_by_one = 2 * broken_readouts.count() > readouts.len();
    let mut broken = vec![false; samples.nrows()];
    let mut removed = Removed::default();
    let mut kept: Vec<Readout> = Vec::with_capacity(readouts.len());
    for readout in readouts.iter() {
        let range = readout.samples.clone();
        let sound = range.clone().filter(|sample| is_sound(*sample)).count();
        if sound > 0 && range.clone().filter(|s| is_sound(*s)).all(is_zero) {
            removed.acquisitions.push(readout.acquisition);
            removed.zeros += 1;
        } else if sound == range.len() {
            kept.push(readout.clone());
        } else if one_by_one && sound > 0 {
            removed.samples += range.len() - sound;
            kept.extend(sound_parts(readout, &is_sound));
        } else {
            removed.acquisitions.push(readout.acquisition);
            removed.positions += usize::from(!range.clone().all(is_placed));
            for (coil, found) in broken.iter_mut().enumerate() {
                *found |= is_broken(coil, readout);
            }
        }
    }
    if kept.is_empty() || removed == Removed::default() {
        return Removed::default();
    }
    let coils = 0..samples.nrows();
    let has_signal = |coil: &usize| samples.row(*coil).iter().any(|v| *v != Complex::default());
    if !coils.clone().filter(has_signal).all(|coil| broken[coil]) {
        removed.coils = coils.filter(|coil| broken[*coil]).collect();
    }
    removed.are_many = (removed.acquisitions.len() - removed.zeros) * MANY > readouts.len();
    let of_kept: Vec<usize> = kept.iter().flat_map(|r| r.samples.clone()).collect();
    *positions = positions.select(Axis(0), &of_kept);
    *samples = samples.select(Axis(1), &of_kept);
    let mut begin = 0;
    for readout in &mut kept {
        let end = begin + readout.samples.len();
        readout.samples = begin..end;
        begin = end;
    }
    *readouts = kept;
    removed
}

/// The parts of a readout between samples that are not sound, each with its time.
fn sound_parts(readout: &Readout, is_sound: &dyn Fn(usize) -> bool) -> Vec<Readout> {
    let mut parts: Vec<Readout> = Vec::new();
    for sample in readout.samples.clone().filter(|sample| is_sound(*sample)) {
        match parts.last_mut().filter(|part| part.samples.end == sample) {
            Some(part) => part.samples.end += 1,
            None => parts.push(Readout {
                samples: sample..sample + 1,
                discarded: readout.discarded + sample - readout.samples.start,
                ..readout.clone()
            }),
        }
    }
    parts
}

/// Sets the samples (coil, sample) of coils to 0 that are NaN or infinite in more than half of the
/// readouts, so that the others keep theirs; returns a note that names such coils. Nothing is done
/// if that is so of all coils that are not `excluded`.
pub(super) fn silence_coils(
    samples: &mut Array2<Complex<f64>>,
    readouts: &[Readout],
    excluded: &ExcludedCoils,
) -> Option<String> {
    let is_broken = |coil: &usize| {
        let row = samples.row(*coil);
        let broken = readouts.iter().filter(|readout| {
            let mut range = readout.samples.clone();
            range.any(|sample| !row[sample].is_finite())
        });
        2 * broken.count() > readouts.len()
    };
    let used = excluded.left();
    let coils: Vec<usize> = used.iter().copied().filter(is_broken).collect();
    if coils.is_empty() || coils.len() == used.len() {
        return None;
    }
    for coil in &coils {
        samples.row_mut(*coil).fill(Complex::default());
    }
    let noun = if coils.len() == 1 { "coil" } else { "coils" };
    let list = list(&coils);
    Some(format!(
        "{noun} {list}: NaN or infinite in most readouts; all samples are set to 0 \
         (--exclude-coils {list} leaves them out)"
    ))
}

/// Numbers of coils as `--exclude-coils` takes them.
fn list(coils: &[usize]) -> String {
    let each: Vec<String> = coils.iter().map(usize::to_string).collect();
    each.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readouts() -> Vec<Readout> {
        let readout = |number: usize| Readout {
            samples: 2 * number..2 * number + 2,
            acquisition: 10 + number,
            interval: 0.0,
            discarded: 0,
        };
        (0..3).map(readout).collect()
    }

    #[test]
    fn a_coil_without_numbers_is_silenced_and_named() {
        let mut samples = Array2::from_elem((3, 6), Complex::new(1.0, 0.0));
        samples[[1, 0]].re = f64::NAN;
        // Of one readout of three, that readout is wrong.
        let none = ExcludedCoils::new(&[], 3, "raw.h5").unwrap();
        assert_eq!(silence_coils(&mut samples, &readouts(), &none), None);
        samples[[1, 5]].im = f64::INFINITY;
        let note = silence_coils(&mut samples, &readouts(), &none).expect("a note");
        assert!(
            note.starts_with("coil 1: ") && note.contains("--exclude-coils 1 "),
            "{note}"
        );
        assert!(
            samples
                .row(1)
                .iter()
                .all(|value| *value == Complex::default())
        );
        assert!(samples.row(0).iter().all(|value| value.re == 1.0));
        samples.fill(Complex::new(f64::NAN, 0.0));
        assert_eq!(silence_coils(&mut samples, &readouts(), &none), None);
        // Coils that are excluded do not save those that are all NaN.
        let excluded = ExcludedCoils::new(&[0], 3, "raw.h5").unwrap();
        excluded.clear(&mut samples);
        assert_eq!(silence_coils(&mut samples, &readouts(), &excluded), None);
        assert!(samples[[1, 0]].re.is_nan());
    }

    #[test]
    fn readouts_without_numbers_are_removed_with_their_positions() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut positions = Array2::from_shape_fn((6, 2), |(sample, _)| sample as f64);
            let mut samples = Array2::from_elem((2, 6), Complex::new(1.0, 0.0));
            samples[[1, 3]].im = bad;
            let mut kept = readouts();
            let removed = remove(&mut positions, &mut samples, &mut kept);
            let what: Vec<String> = removed.left_out("readouts").map(|l| l.what).collect();
            assert_eq!(
                what,
                [
                    "readouts with samples of coil 1 that are NaN or infinite (--exclude-coils 1 keeps them with the other coils)"
                ]
            );
            assert_eq!((removed.acquisitions, removed.positions), (vec![11], 0));
            assert_eq!(positions.column(0).to_vec(), [0.0, 1.0, 4.0, 5.0]);
            assert_eq!(samples.dim(), (2, 4));
            let ranges: Vec<_> = kept.iter().map(|readout| readout.samples.clone()).collect();
            assert_eq!(ranges, [0..2, 2..4]);
            // Without any readout that remains, the error names a value.
            samples.fill(Complex::new(bad, 0.0));
            let removed = remove(&mut positions, &mut samples, &mut kept);
            assert_eq!(removed, Removed::default());
            assert_eq!(samples.dim(), (2, 4));
            // Positions count as samples do.
            samples.fill(Complex::new(1.0, 0.0));
            positions[[0, 1]] = bad;
            let removed = remove(&mut positions, &mut samples, &mut kept);
            assert_eq!((removed.acquisitions, removed.positions), (vec![10], 1));
            assert_eq!(positions.column(0).to_vec(), [4.0, 5.0]);
        }
    }

    #[test]
    fn readouts_of_zeros_are_removed_unless_all_are() {
        for zeros in [vec![0], vec![1], vec![0, 2]] {
            let mut positions = Array2::from_shape_fn((6, 2), |(sample, _)| sample as f64);
            let mut samples = Array2::from_elem((2, 6), Complex::new(1.0, 0.0));
            let mut kept = readouts();
            for readout in &zeros {
                let range = kept[*readout].samples.clone();
                for sample in range {
                    samples.column_mut(sample).fill(Complex::default());
                }
            }
            let removed = remove(&mut positions, &mut samples, &mut kept);
            let left_out: Vec<LeftOut> = removed.left_out("readouts").collect();
            assert_eq!(left_out.len(), 1);
            assert_eq!(left_out[0].what, "readouts with samples that are all 0");
            assert_eq!(left_out[0].acquisitions, zeros.len());
            assert_eq!(kept.len(), 3 - zeros.len());
            assert_eq!(samples.ncols(), 6 - 2 * zeros.len());
        }
        // One coil of zeros, or one sample, is not enough; and something must remain.
        let mut positions = Array2::zeros((6, 2));
        let mut samples = Array2::from_elem((2, 6), Complex::new(1.0, 0.0));
        samples.row_mut(0).fill(Complex::default());
        samples[[1, 2]] = Complex::default();
        let mut kept = readouts();
        let removed = remove(&mut positions, &mut samples, &mut kept);
        assert_eq!(removed, Removed::default());
        samples.fill(Complex::default());
        let removed = remove(&mut positions, &mut samples, &mut kept);
        assert_eq!((removed, kept.len()), (Removed::default(), 3));
    }

    #[test]
    fn a_sample_that_is_broken_in_most_readouts_is_removed_alone() {
        let mut positions = Array2::from_shape_fn((6, 2), |(sample, _)| sample as f64);
        let mut samples = Array2::from_elem((2, 6), Complex::new(1.0, 0.0));
        for sample in [1, 3, 5] {
            samples.column_mut(sample).fill(Complex::new(f64::NAN, 0.0));
        }
        let mut kept = readouts();
        let removed = remove(&mut positions, &mut samples, &mut kept);
        assert_eq!((removed.samples, removed.acquisitions.len()), (3, 0));
        assert!(removed.note().unwrap().starts_with("3 samples left out"));
        assert_eq!(positions.column(0).to_vec(), [0.0, 2.0, 4.0]);
        assert_eq!(kept.len(), 3);
        // A sample within a readout parts it, and the times stay.
        let whole = Readout {
            samples: 4..9,
            acquisition: 3,
            interval: 1e-6,
            discarded: 2,
        };
        let parts = sound_parts(&whole, &|sample| sample != 6);
        let found: Vec<_> = parts
            .iter()
            .map(|p| (p.samples.clone(), p.discarded))
            .collect();
        assert_eq!(found, [(4..6, 2), (7..9, 5)]);
    }
}
