//! Sorting networks over rows of eight: each lane is sorted by itself, all in the same steps.

use super::block::LANES;

/// Keys of a row; lane by lane.
pub(super) type Keys = [i64; LANES];

/// Sorts the lanes of a power of two of rows by merging odd and even places (K. Batcher, AFIPS Spring Joint Computer
/// Conference 32 (1968) 307).
#[inline(always)]
pub(super) fn sort(rows: &mut [Keys]) {
    let n = rows.len();
    debug_assert!(n.is_power_of_two());
    let mut run = 1;
    while run < n {
        // Sorted runs of `run` rows become sorted runs of twice as many.
        let mut apart = run;
        while apart > 0 {
            let mut first = apart % run;
            while first + apart < n {
                for row in first..(first + apart).min(n - apart) {
                    if row / (2 * run) == (row + apart) / (2 * run) {
                        exchange(rows, row, row + apart);
                    }
                }
                first += 2 * apart;
            }
            apart /= 2;
        }
        run *= 2;
    }
}

/// The lesser of each lane up, the greater down.
#[inline(always)]
fn exchange(rows: &mut [Keys], upper: usize, lower: usize) {
    let (a, b) = (rows[upper], rows[lower]);
    for lane in 0..LANES {
        rows[upper][lane] = a[lane].min(b[lane]);
        rows[lower][lane] = a[lane].max(b[lane]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_of_zeros_and_ones_is_sorted() {
        // Which proves it for all sequences (D. Knuth, The Art of Computer Programming 3, 5.3.4, theorem Z).
        for rows in [1_usize, 2, 4, 8, 16] {
            for pattern in 0..1_u32 << rows {
                let mut keys = vec![[0; LANES]; rows];
                for (row, key) in keys.iter_mut().enumerate() {
                    key[0] = i64::from(pattern >> row & 1);
                    key[1] = 1 - key[0];
                }
                sort(&mut keys);
                assert!(
                    keys.windows(2)
                        .all(|pair| (0..2).all(|l| pair[0][l] <= pair[1][l]))
                );
                let ones: i64 = keys.iter().map(|key| key[0]).sum();
                assert_eq!(ones, i64::from(pattern.count_ones()));
            }
        }
    }

    #[test]
    fn thresholds_of_32_rows_are_sorted() {
        // Zeros and ones again: merging 16 and 16 sorted rows, for every number of ones in each.
        for ones in 0..=16 {
            for of_other in 0..=16 {
                let mut keys = [[0; LANES]; 32];
                for (row, keys) in keys.iter_mut().enumerate() {
                    let of_half = if row < 16 { ones } else { of_other };
                    // Somewhere, not sorted.
                    keys[0] = i64::from((row * 7 + 3) % 16 < of_half);
                }
                sort(&mut keys);
                assert!(keys.windows(2).all(|pair| pair[0][0] <= pair[1][0]));
            }
        }
    }
}
