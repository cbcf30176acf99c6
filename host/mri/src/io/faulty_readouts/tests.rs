//! Tests of which readouts are left out.

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
    assert!(
        removed
            .notes()
            .next()
            .unwrap()
            .starts_with("3 samples left out")
    );
    assert_eq!(positions.column(0).to_vec(), [0.0, 2.0, 4.0]);
    assert_eq!(kept.len(), 3);
    // A sample within a readout parts it, and the times stay.
    let whole = Readout {
        samples: 4..9,
        acquisition: 3,
        interval: 1e-6,
        discarded: 2,
    };
    let parts = used_parts(&whole, &|sample| sample != 6);
    let found: Vec<_> = parts
        .iter()
        .map(|p| (p.samples.clone(), p.discarded))
        .collect();
    assert_eq!(found, [(4..6, 2), (7..9, 5)]);
}

fn reading() -> (Array2<f64>, Array2<Complex<f64>>, Vec<Readout>) {
    let positions = Array2::from_shape_fn((40, 2), |(at, axis)| 0.01 * (at % 8 + axis) as f64);
    let readout = |number: usize| Readout {
        samples: 8 * number..8 * number + 8,
        acquisition: number,
        interval: 1e-6,
        discarded: 0,
    };
    let samples = Array2::from_elem((2, 40), Complex::new(1.0, 0.0));
    (positions, samples, (0..5).map(readout).collect())
}

#[test]
fn readouts_far_beyond_the_others_are_removed() {
    for (spike, removed_ones) in [(1e6, 1), (-1e6, 1), (90.0, 1), (0.6, 0), (70.0, 0)] {
        let (mut positions, mut samples, mut readouts) = reading();
        positions[[13, 1]] = spike;
        let removed = remove(&mut positions, &mut samples, &mut readouts);
        assert_eq!(
            (removed.far, readouts.len()),
            (removed_ones, 5 - removed_ones),
            "{spike}"
        );
        assert_eq!(positions.nrows(), 40 - 8 * removed_ones);
        let what: Vec<String> = removed
            .left_out("readouts")
            .map(|l| l.to_string())
            .collect();
        let expected =
            "1 readout with positions over 1000 times as far out as those of most readouts";
        assert_eq!(what, vec![expected; removed_ones]);
    }
    // In most readouts it is a question of the unit, and a trajectory at the origin has no scale.
    let (mut positions, mut samples, mut readouts) = reading();
    positions.slice_mut(s![..24, ..]).fill(1e6);
    assert_eq!(remove(&mut positions, &mut samples, &mut readouts).far, 0);
    assert_eq!(far(vec![0.0, 0.0, 0.5], 0.5), 0.5);
    assert_eq!(far(Vec::new(), 0.5), 0.5);
}

#[test]
fn runs_of_zeros_in_a_few_readouts_are_removed() {
    let zero = |range: std::ops::Range<usize>, readouts: &[usize]| {
        let (mut positions, mut samples, mut kept) = reading();
        for readout in readouts {
            let (begin, end) = (8 * readout + range.start, 8 * readout + range.end);
            samples
                .slice_mut(s![.., begin..end])
                .fill(Complex::default());
        }
        let removed = remove(&mut positions, &mut samples, &mut kept);
        assert_eq!(positions.nrows(), samples.ncols());
        (samples.ncols(), kept, removed.notes().next())
    };
    let (left, kept, note) = zero(5..8, &[1, 3]);
    assert_eq!((left, kept.len()), (34, 5));
    let expected = "6 samples of 2 readouts left out, as they are 0 in every coil";
    assert!(note.unwrap().starts_with(expected));
    // In the middle it parts the readout, and the times stay.
    let (left, kept, note) = zero(2..4, &[2]);
    assert_eq!((left, kept.len(), kept[3].discarded), (38, 6, 4));
    assert!(note.unwrap().starts_with("2 samples of 1 readout left out"));
    // One alone may be chance.
    let (left, _, note) = zero(7..8, &[2]);
    assert_eq!((left, note), (40, None));
    // Most readouts are filled up with zeros.
    let (left, kept, note) = zero(5..8, &[0, 1, 2, 4]);
    assert_eq!((left, kept.len()), (40, 5));
    assert!(
        note.unwrap()
            .contains("12 samples of 4 readouts are 0 in every coil: most")
    );
}
