//! Sorting networks over rows: every lane is sorted independently in the same steps.

use pulp::Simd;

/// Number of lanes, and of buckets in a block: doubles in the widest vector registers.
pub(super) const LANES: usize = 8;

/// The pairs of rows that a network for `rows` rows compares, in order; the smaller key goes to the
/// first row. K. Batcher's odd-even merge sort (AFIPS Spring Joint Computer Conference 32 (1968)
/// 307).
const fn pairs<const PAIRS: usize>(rows: usize) -> [(u8, u8); PAIRS] {
    let mut pairs = [(0, 0); PAIRS];
    let mut found = 0;
    let mut run = 1;
    while run < rows {
        // Sorted runs of `run` rows become sorted runs of twice as many.
        let mut apart = run;
        while apart > 0 {
            let mut upper = apart % run;
            while upper + apart < rows {
                let mut row = upper;
                while row < upper + apart && row + apart < rows {
                    if row / (2 * run) == (row + apart) / (2 * run) {
                        pairs[found] = (row as u8, (row + apart) as u8);
                        found += 1;
                    }
                    row += 1;
                }
                upper += 2 * apart;
            }
            apart /= 2;
        }
        run *= 2;
    }
    assert!(found == PAIRS);
    pairs
}

const OF_16: [(u8, u8); 63] = pairs(16);
const OF_32: [(u8, u8); 191] = pairs(32);

/// Largest number of rows.
pub(super) const ROWS: usize = 32;

/// Number of rows of the smallest network that sorts `rows` rows.
pub(super) fn size(rows: usize) -> usize {
    rows.next_power_of_two().max(4)
}

/// Sorts each lane of the first [`size`]`(rows)` rows.
#[inline(always)]
pub(super) fn sort<S: Simd>(simd: S, keys: &mut [[i64; LANES]; ROWS], rows: usize) {
    match rows {
        0..=4 => of_four(simd, keys),
        5..=8 => of_eight(simd, keys),
        9..=16 => of_pairs(simd, keys, &OF_16),
        _ => of_pairs(simd, keys, &OF_32),
    }
}

/// Number of vectors in a row.
const fn vectors<S: Simd>() -> usize {
    LANES / S::I64_LANES
}

#[inline(always)]
fn of_pairs<S: Simd>(simd: S, keys: &mut [[i64; LANES]; ROWS], pairs: &[(u8, u8)]) {
    let keys = S::as_mut_simd_i64s(keys.as_flattened_mut()).0;
    for (upper, lower) in pairs {
        for vector in 0..vectors::<S>() {
            let upper = usize::from(*upper) % ROWS * vectors::<S>() + vector;
            let lower = usize::from(*lower) % ROWS * vectors::<S>() + vector;
            let (a, b) = (keys[upper], keys[lower]);
            keys[upper] = simd.min_i64s(a, b);
            keys[lower] = simd.max_i64s(a, b);
        }
    }
}

/// Compares and exchanges rows in registers.
macro_rules! exchange {
    ($simd:ident, $row:ident: $($upper:literal $lower:literal),*) => {
        $(($row[$upper], $row[$lower]) = (
            $simd.min_i64s($row[$upper], $row[$lower]),
            $simd.max_i64s($row[$upper], $row[$lower]),
        );)*
    };
}

#[inline(always)]
fn of_four<S: Simd>(simd: S, keys: &mut [[i64; LANES]; ROWS]) {
    let keys = S::as_mut_simd_i64s(keys.as_flattened_mut()).0;
    for vector in 0..vectors::<S>() {
        let at = |row: usize| row * vectors::<S>() + vector;
        let mut row = [keys[at(0)], keys[at(1)], keys[at(2)], keys[at(3)]];
        exchange!(simd, row: 0 1, 2 3, 0 2, 1 3, 1 2);
        for (number, row) in row.into_iter().enumerate() {
            keys[at(number)] = row;
        }
    }
}

#[inline(always)]
fn of_eight<S: Simd>(simd: S, keys: &mut [[i64; LANES]; ROWS]) {
    let keys = S::as_mut_simd_i64s(keys.as_flattened_mut()).0;
    for vector in 0..vectors::<S>() {
        let at = |row: usize| row * vectors::<S>() + vector;
        let mut row = [
            keys[at(0)],
            keys[at(1)],
            keys[at(2)],
            keys[at(3)],
            keys[at(4)],
            keys[at(5)],
            keys[at(6)],
            keys[at(7)],
        ];
        exchange!(simd, row: 0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6);
        exchange!(simd, row: 0 4, 1 5, 2 6, 3 7, 2 4, 3 5, 1 2, 3 4, 5 6);
        for (number, row) in row.into_iter().enumerate() {
            keys[at(number)] = row;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, WithSimd};

    struct Sort<'a>(&'a mut [[i64; LANES]; ROWS], usize);

    impl WithSimd for Sort<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            sort(simd, self.0, self.1);
        }
    }

    /// Sorts a sequence of zeros and ones in the second lane, and its complement in the last.
    fn is_sorted(rows: usize, ones: impl Fn(usize) -> bool) -> bool {
        let mut keys = [[7; LANES]; ROWS];
        for (row, keys) in keys[..rows].iter_mut().enumerate() {
            keys[1] = i64::from(ones(row));
            keys[LANES - 1] = 1 - keys[1];
        }
        let count: i64 = keys[..rows].iter().map(|keys| keys[1]).sum();
        Arch::new().dispatch(Sort(&mut keys, rows));
        let rises = |lane: usize| keys.windows(2).all(|pair| pair[0][lane] <= pair[1][lane]);
        let after: i64 = keys[..rows].iter().map(|keys| keys[1]).sum();
        rises(1) && rises(LANES - 1) && after == count && keys[rows - 1][0] == 7
    }

    #[test]
    fn every_zero_one_sequence_is_sorted() {
        // By the zero-one principle, this proves it for all sequences (D. Knuth, The Art of
        // Computer Programming 3, 5.3.4, theorem Z).
        for rows in [4_usize, 8, 16] {
            for pattern in 0..1_u32 << rows {
                assert!(
                    is_sorted(rows, |row| pattern >> row & 1 == 1),
                    "{rows} rows, {pattern:b}"
                );
            }
        }
    }

    #[test]
    fn any_two_halves_of_32_rows_are_merged() {
        // Each half is sorted like 16 rows; after that only the numbers of ones matter.
        for upper in 0..=16 {
            for lower in 0..=16 {
                let ones = |row: usize| (row * 7 + 3) % 16 < if row < 16 { upper } else { lower };
                assert!(is_sorted(32, ones), "{upper} and {lower} ones");
            }
        }
    }
}
