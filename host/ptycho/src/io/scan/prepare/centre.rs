//! The zero frequency of far-field patterns, by their symmetry.
//!
//! The mean pattern over a scan is nearly the same as its image inverted at the zero frequency.
//! With amplitudes a (the square root of the mean counts above their background) and w = 1 on valid
//! pixels and 0 on others, the likeness of the pattern and its image inverted at t/2 is s(t) = Σ
//! w(x) a(x) w(t − x) a(t − x) / Σ w(x) a²(x) w(t − x), which is 1 if they are the same on the
//! pixels that both have, and smaller otherwise (Cauchy–Schwarz). The sums over all t are
//! convolutions of w a and w a² with w a and w.

use ndarray::{Array2, ArrayView2, s};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Fft2;

/// Rows or columns up to which the likeness is computed at all places at once.
const WHOLE: usize = 512;
/// Share of the light that a pattern and its inverted image must have in common pixels.
const COMMON: f64 = 0.5;
/// Share of the pixels that are taken for background.
const BACKGROUND: f64 = 0.1;
/// Likeness, relative to the largest one, of places that are looked at in full resolution, and
/// their greatest number.
const NEARLY: f64 = 0.9;
const STARTS: usize = 8;
/// Steps of the search among neighbouring places in full resolution.
const STEPS: usize = 200;
/// Likeness below which the centre is doubtful.
const ALIKE: f64 = 0.9;
/// Distance from the centre of mass, in sides of the frame, from which on the centre is doubtful.
const APART: f64 = 0.05;

/// A centre that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// Row and column of the zero frequency.
    pub(super) centre: [f64; 2],
    /// Likeness of the pattern and its image inverted there.
    pub(super) likeness: f64,
    /// Row and column of the centre of mass of the pixels with at least half of the largest counts.
    pub(super) mass: [f64; 2],
    /// Whether the likeness is small, or the centre of mass elsewhere.
    pub(super) doubtful: bool,
}

/// Bytes that the search takes for frames of so many rows and columns.
pub(super) fn bytes([rows, columns]: [usize; 2]) -> u128 {
    let reduced = (2 * WHOLE.min(rows.max(columns))) as u128;
    // Amplitudes, and four complex transforms of twice the size with their work space.
    rows as u128 * columns as u128 * 40 + reduced * reduced * 16 * 8
}

/// Finds the zero frequency of a mean pattern (row, column); `None` without light.
pub(super) fn find(mean: &Array2<f64>, valid: &Array2<bool>) -> Option<Found> {
    let smooth = smoothed(mean, valid);
    let background = background(&smooth, valid);
    let light = smooth.mapv(|counts| (counts - background).max(0.0));
    let amplitude = light.mapv(f64::sqrt);
    if !light.iter().any(|counts| *counts > 0.0) {
        return None;
    }
    let (rows, columns) = mean.dim();
    let factor = rows.max(columns).div_ceil(WHOLE);
    let (small, small_valid) = reduced(&amplitude, valid, factor);
    let search = Search {
        amplitude: &amplitude,
        valid,
        least: COMMON * light.sum(),
    };
    let reach = factor as i64;
    let starts = whole(&small, &small_valid).into_iter().map(|coarse| {
        // Twice the centre, in whole pixels of the detector.
        coarse.map(|at| at * reach + reach - 1)
    });
    let mut found = None;
    for start in starts {
        if let Some(climbed) = search.climbed(start, reach)
            && found.is_none_or(|(likeness, _)| climbed.0 > likeness)
        {
            found = Some(climbed);
        }
    }
    let (likeness, best) = found?;
    let fraction = |axis: usize| {
        let beside = |by: i64| {
            let mut at = best;
            at[axis] += by;
            search.at(at)
        };
        match (beside(-1), beside(1)) {
            (Some(below), Some(above)) => vertex(below, likeness, above),
            _ => 0.0,
        }
    };
    let last = [rows - 1, columns - 1].map(|last| last as f64);
    let centre =
        [0, 1].map(|axis| ((best[axis] as f64 + fraction(axis)) / 2.0).clamp(0.0, last[axis]));
    let mass = centre_of_mass(&light);
    let apart = (0..2).any(|axis| (centre[axis] - mass[axis]).abs() > APART * (last[axis] + 1.0));
    Some(Found {
        centre,
        likeness,
        mass,
        doubtful: likeness < ALIKE || apart,
    })
}

/// Where the parabola through three values at −1, 0 and 1 is largest, between −1/2 and 1/2.
fn vertex(below: f64, here: f64, above: f64) -> f64 {
    let bend = 2.0 * here - below - above;
    if bend > 0.0 {
        ((above - below) / (2.0 * bend)).clamp(-0.5, 0.5)
    } else {
        0.0
    }
}

/// Medians of 3 x 3 valid pixels, so that a hot pixel has no weight; 0 on pixels that are not
/// valid.
fn smoothed(mean: &Array2<f64>, valid: &Array2<bool>) -> Array2<f64> {
    let (rows, columns) = mean.dim();
    let mut smooth = Array2::zeros((rows, columns));
    let lines: Vec<_> = smooth.outer_iter_mut().enumerate().collect();
    lines.into_par_iter().for_each(|(row, mut line)| {
        let mut around = Vec::with_capacity(9);
        for (column, to) in line.iter_mut().enumerate() {
            if !valid[[row, column]] {
                continue;
            }
            around.clear();
            for r in row.saturating_sub(1)..(row + 2).min(rows) {
                for c in column.saturating_sub(1)..(column + 2).min(columns) {
                    if valid[[r, c]] {
                        around.push(mean[[r, c]]);
                    }
                }
            }
            around.sort_by(f64::total_cmp);
            let (low, high) = ((around.len() - 1) / 2, around.len() / 2);
            *to = f64::midpoint(around[low], around[high]);
        }
    });
    smooth
}

/// Counts below which a tenth of the valid pixels are.
fn background(counts: &Array2<f64>, valid: &Array2<bool>) -> f64 {
    let of_valid = counts.iter().zip(valid).filter(|(_, valid)| **valid);
    let mut values: Vec<f64> = of_valid.map(|(counts, _)| *counts).collect();
    values.sort_by(f64::total_cmp);
    let place = (BACKGROUND * values.len() as f64) as usize;
    values.get(place).copied().unwrap_or(0.0)
}

/// Means over squares of `factor` pixels, and whether half of their pixels are valid; pixels that
/// do not fill a square are left out.
fn reduced(
    amplitude: &Array2<f64>,
    valid: &Array2<bool>,
    factor: usize,
) -> (Array2<f64>, Array2<bool>) {
    let (rows, columns) = amplitude.dim();
    let shape = ((rows / factor).max(1), (columns / factor).max(1));
    let part = |r: usize, c: usize| {
        s![
            r * factor..((r + 1) * factor).min(rows),
            c * factor..((c + 1) * factor).min(columns)
        ]
    };
    let count = |r: usize, c: usize| {
        let valid = valid.slice(part(r, c));
        (valid.iter().filter(|valid| **valid).count(), valid.len())
    };
    let mask = Array2::from_shape_fn(shape, |(r, c)| {
        let (valid, all) = count(r, c);
        2 * valid >= all
    });
    let values = Array2::from_shape_fn(shape, |(r, c)| {
        if mask[[r, c]] {
            amplitude.slice(part(r, c)).sum() / count(r, c).0.max(1) as f64
        } else {
            0.0
        }
    });
    (values, mask)
}

/// Places, twice the centre in pixels, at which the likeness is larger than at those around and
/// nearly as large as anywhere; the largest first.
fn whole(amplitude: &Array2<f64>, valid: &Array2<bool>) -> Vec<[i64; 2]> {
    let (rows, columns) = amplitude.dim();
    let padded = [2 * rows, 2 * columns];
    let mut fft = Fft2::<f64>::new(padded[0], padded[1]);
    let mut transformed = |value: &dyn Fn(usize, usize) -> f64| {
        let mut wave = vec![Complex::default(); padded[0] * padded[1]];
        for (row, line) in wave.chunks_exact_mut(padded[1]).take(rows).enumerate() {
            for (column, to) in line.iter_mut().take(columns).enumerate() {
                *to = Complex::from(value(row, column));
            }
        }
        fft.forward(&mut wave);
        wave
    };
    let weighted = |row: usize, column: usize| {
        if valid[[row, column]] {
            amplitude[[row, column]]
        } else {
            0.0
        }
    };
    let waves = transformed(&weighted);
    let powers = transformed(&|r, c| weighted(r, c).powi(2));
    let weights = transformed(&|r, c| f64::from(u8::from(valid[[r, c]])));
    let mut product: Vec<_> = waves.iter().map(|wave| wave * wave).collect();
    let mut common: Vec<_> = (powers.iter().zip(&weights)).map(|(a, b)| a * b).collect();
    fft.inverse(&mut product);
    fft.inverse(&mut common);
    // The transforms are unitary.
    let scale = ((padded[0] * padded[1]) as f64).sqrt();
    let total: f64 = (0..rows)
        .flat_map(|r| (0..columns).map(move |c| (r, c)))
        .map(|(r, c)| weighted(r, c).powi(2))
        .sum();
    let values = product.iter().zip(&common).map(|(product, common)| {
        let common = common.re * scale;
        match common > 0.0 && common >= COMMON * total {
            true => product.re * scale / common,
            false => 0.0,
        }
    });
    let values = Array2::from_shape_vec(padded, values.collect()).unwrap_or_default();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let highest = |(row, column): (usize, usize), value: f64| {
        let range = |at: usize| at.saturating_sub(1)..at + 2;
        let around = range(row).flat_map(|r| range(column).map(move |c| [r, c]));
        !around
            .filter_map(|place| values.get(place))
            .any(|other| *other > value)
    };
    let mut places: Vec<(f64, [i64; 2])> = (values.indexed_iter())
        .filter(|(_, value)| **value > NEARLY * largest)
        .filter(|(place, value)| highest(*place, **value))
        .map(|((row, column), value)| (*value, [row as i64, column as i64]))
        .collect();
    places.sort_by(|a, b| b.0.total_cmp(&a.0));
    places.truncate(STARTS);
    places.into_iter().map(|(_, place)| place).collect()
}

/// The likeness at single places.
struct Search<'a> {
    amplitude: &'a Array2<f64>,
    valid: &'a Array2<bool>,
    /// Least light in common pixels.
    least: f64,
}

impl Search<'_> {
    /// The largest likeness that is found from a place within `reach` of it and then from neighbour
    /// to neighbour, and where.
    fn climbed(&self, start: [i64; 2], reach: i64) -> Option<(f64, [i64; 2])> {
        let mut best = self.around(start, reach)?;
        for _ in 0..STEPS {
            match self.around(best.1, 1) {
                Some(found) if found.0 > best.0 => best = found,
                _ => break,
            }
        }
        Some(best)
    }

    /// The largest likeness within `reach` of a place, and where.
    fn around(&self, place: [i64; 2], reach: i64) -> Option<(f64, [i64; 2])> {
        // Steps from there go to neighbours, so that every other place is enough of many.
        let step = if reach > 1 { 2 } else { 1 };
        let range = || (-reach..=reach).step_by(step);
        let around: Vec<[i64; 2]> = range().flat_map(|r| range().map(move |c| [r, c])).collect();
        (around.par_iter())
            .filter_map(|by| {
                let at = [place[0] + by[0], place[1] + by[1]];
                Some((self.at(at)?, at))
            })
            // The first of equal ones, whichever thread finds them.
            .reduce_with(|a, b| match b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) {
                true => b,
                false => a,
            })
    }

    /// The likeness of the pattern and its image inverted at half of this place; `None` if they
    /// have too little in common.
    fn at(&self, twice: [i64; 2]) -> Option<f64> {
        let (rows, columns) = self.amplitude.dim();
        let range = |twice: i64, side: usize| {
            let last = side as i64 - 1;
            let (first, end) = ((twice - last).max(0), twice.min(last) + 1);
            usize::try_from(first).ok().zip(usize::try_from(end).ok())
        };
        let (first_row, end_row) = range(twice[0], rows)?;
        let (first_column, end_column) = range(twice[1], columns)?;
        if first_row >= end_row || first_column >= end_column {
            return None;
        }
        // The range is mapped to itself, in the opposite order.
        let part = s![first_row..end_row, first_column..end_column];
        let opposite = s![first_row..end_row;-1, first_column..end_column;-1];
        let (a, valid) = (self.amplitude.slice(part), self.valid.slice(part));
        let (b, other) = (self.amplitude.slice(opposite), self.valid.slice(opposite));
        let sums = lines(&a, &b, &valid, &other);
        (sums[1] >= self.least && sums[1] > 0.0).then(|| sums[0] / sums[1])
    }
}

/// Σ a b, and Σ a², over pixels that are valid in both.
fn lines(
    a: &ArrayView2<'_, f64>,
    b: &ArrayView2<'_, f64>,
    valid: &ArrayView2<'_, bool>,
    other: &ArrayView2<'_, bool>,
) -> [f64; 2] {
    let mut sums = [0.0; 2];
    ndarray::Zip::from(a)
        .and(b)
        .and(valid)
        .and(other)
        .for_each(|a, b, valid, other| {
            if *valid && *other {
                sums[0] += a * b;
                sums[1] += a * a;
            }
        });
    sums
}

/// The centre of mass (row, column) of the pixels with at least half of the largest counts.
fn centre_of_mass(light: &Array2<f64>) -> [f64; 2] {
    let largest = light.iter().copied().fold(0.0, f64::max);
    let (mut sums, mut total) = ([0.0; 2], 0.0);
    for ((row, column), counts) in light.indexed_iter() {
        if *counts >= 0.5 * largest {
            total += counts;
            sums[0] += counts * row as f64;
            sums[1] += counts * column as f64;
        }
    }
    sums.map(|sum| sum / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disc with a soft edge and rings around, at a centre, and an uneven background of 1 %.
    fn pattern([rows, columns]: [usize; 2], centre: [f64; 2], radius: f64) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(r, c)| {
            let (y, x) = (r as f64 - centre[0], c as f64 - centre[1]);
            let distance = (y * y + x * x).sqrt();
            let disc = 1.0 / (1.0 + ((distance - radius) / 1.5).exp());
            let rings = 0.2 * (1.0 + (0.9 * distance).cos()) * (-distance / (2.0 * radius)).exp();
            1000.0 * (disc + rings) + 10.0 * (1.0 + (0.3 * y).sin() * (0.2 * x).cos())
        })
    }

    fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    #[test]
    fn the_centre_of_a_symmetric_pattern_is_found_within_a_fraction_of_a_pixel() {
        for (shape, centre, radius) in [
            ([64, 64], [32.0, 32.0], 9.0),
            ([64, 64], [36.3, 27.6], 9.0),
            ([61, 47], [24.5, 29.25], 7.0),
            ([40, 90], [17.2, 61.0], 8.0),
            ([1030, 700], [490.4, 361.7], 60.0),
        ] {
            let mean = pattern(shape, centre, radius);
            let valid = Array2::from_elem(mean.dim(), true);
            let found = find(&mean, &valid).unwrap();
            assert!(apart(found.centre, centre) < 0.1, "{shape:?} {found:?}");
            assert!(found.likeness > 0.95 && !found.doubtful, "{found:?}");
        }
    }

    /// A gap of the detector through the disc, a beam stop, and a hot pixel.
    #[test]
    fn masked_and_hot_pixels_do_not_move_it() {
        let centre = [29.4, 35.8];
        let mut mean = pattern([64, 64], centre, 10.0);
        let mut valid = Array2::from_elem((64, 64), true);
        for ((row, column), counts) in mean.indexed_iter_mut() {
            let stop = (row as f64 - 31.0).hypot(column as f64 - 34.0) < 4.0;
            if (22..26).contains(&row) || (40..43).contains(&column) || stop {
                valid[[row, column]] = false;
                *counts = f64::from(u32::MAX);
            }
        }
        mean[[5, 50]] = 1e7;
        let found = find(&mean, &valid).unwrap();
        assert!(apart(found.centre, centre) < 0.15, "{found:?}");
        assert!(found.likeness > 0.98, "{found:?}");
    }

    #[test]
    fn patterns_without_symmetry_are_doubtful_and_those_without_light_have_none() {
        let mean = Array2::from_shape_fn((48, 48), |(r, c)| {
            let steep = |at: f64, to: f64, width: f64| (-((at - to) / width).powi(2)).exp();
            let (y, x) = (r as f64, c as f64);
            1000.0 * steep(y, 10.0, 4.0) * steep(x, 12.0, 9.0)
                + 700.0 * steep(y, 30.0, 9.0) * steep(x, 38.0, 3.0)
                + 500.0 * steep(y, 38.0, 3.0) * steep(x, 6.0, 6.0)
        });
        let valid = Array2::from_elem((48, 48), true);
        let found = find(&mean, &valid).unwrap();
        assert!(found.doubtful, "{found:?}");
        assert_eq!(
            find(&Array2::zeros((5, 4)), &Array2::from_elem((5, 4), true)),
            None
        );
        let none = Array2::from_elem((48, 48), false);
        assert_eq!(find(&mean, &none), None);
        let one = find(&ndarray::arr2(&[[3.0]]), &ndarray::arr2(&[[true]]));
        assert!(one.is_none_or(|one| one.centre == [0.0, 0.0]));
    }
}
