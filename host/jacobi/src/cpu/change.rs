//! The change of a row by a sweep: Σ(new − old)², in an order that depends only on the columns.
//!
//! Groups of 16 bytes (four columns in single precision, two in double) are squared and summed in
//! the precision of the field by fused multiply-adds, as in the kernels. The sums of the groups are
//! converted to and added in double precision: sixteen running sums per segment of columns, then a
//! tree over them, then the segments from left to right.

use crate::Real;

/// Columns per segment. Tiles begin at multiples of it.
pub(super) const SEGMENT: usize = 1024;

/// Running sums per segment: two AVX-512 registers, or four AVX registers.
const SUMS: usize = 16;

/// Adds Σ(new − old)² of a tile's part of a row to `sum`. The part begins at a multiple of
/// [`SEGMENT`]; cells that do not count are equal in both.
#[inline(always)]
pub(super) fn add_change<T: Real>(new: &[T], old: &[T], sum: &mut f64) {
    for (new, old) in new.chunks(SEGMENT).zip(old.chunks(SEGMENT)) {
        *sum += if size_of::<T>() == size_of::<f32>() {
            segment::<T, 4>(new, old)
        } else {
            segment::<T, 2>(new, old)
        };
    }
}

/// Σ(new − old)² of one segment, in groups of `GROUP` columns.
#[inline(always)]
fn segment<T: Real, const GROUP: usize>(new: &[T], old: &[T]) -> f64 {
    let whole = new.len() - new.len() % (SUMS * GROUP);
    let (new, new_rest) = new.split_at(whole);
    let (old, old_rest) = old.split_at(whole);
    let steps = |values| <[T]>::as_chunks::<GROUP>(values).0.as_chunks::<SUMS>().0;
    let mut sums = [0.0; SUMS];
    for (new, old) in steps(new).iter().zip(steps(old)) {
        sums = add_groups(new, old, sums);
    }
    if !new_rest.is_empty() {
        let mut padded = [[[T::zero(); GROUP]; SUMS]; 2];
        padded[0].as_flattened_mut()[..new_rest.len()].copy_from_slice(new_rest);
        padded[1].as_flattened_mut()[..old_rest.len()].copy_from_slice(old_rest);
        sums = add_groups(&padded[0], &padded[1], sums);
    }
    let mut width = SUMS / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] += sums[i + width];
        }
        width /= 2;
    }
    sums[0]
}

/// The running sums after one step. By value, so that they stay in registers.
#[inline(always)]
fn add_groups<T: Real, const GROUP: usize>(
    new: &[[T; GROUP]; SUMS],
    old: &[[T; GROUP]; SUMS],
    sums: [f64; SUMS],
) -> [f64; SUMS] {
    std::array::from_fn(|i| {
        let change = |k: usize| new[i][k] - old[i][k];
        let mut squares = change(0) * change(0);
        for k in 1..GROUP {
            squares = change(k).mul_add(change(k), squares);
        }
        sums[i] + squares.widened()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The square of a group as it is defined, each product and sum rounded once.
    fn fused<T: Real>(changes: &[T]) -> f64 {
        let mut sum = changes[0] * changes[0];
        for change in &changes[1..] {
            sum = change.mul_add(*change, sum);
        }
        sum.widened()
    }

    fn values<T: Real>(len: usize, seed: f64) -> Vec<T> {
        let value = |i: usize| T::nearest((seed * (i as f64 + 1.0).powi(2)).sin());
        (0..len).map(value).collect()
    }

    fn a_group_is_fused_and_rows_are_its_sums<T: Real>(group: usize) {
        for len in [1, group, 63, 64, 65, SEGMENT, 2 * SEGMENT + 77] {
            let (new, old) = (values::<T>(len, 0.7), values::<T>(len, 1.3));
            let mut changes: Vec<T> = new.iter().zip(&old).map(|(n, o)| *n - *o).collect();
            changes.resize(len.next_multiple_of(group), T::zero());
            let groups: Vec<f64> = changes.chunks(group).map(fused).collect();
            let mut sum = 0.0;
            add_change(&new, &old, &mut sum);
            let expected: f64 = groups.iter().sum();
            assert!((sum / expected - 1.0).abs() < 1e-14, "{len}");
            for (i, expected) in groups.iter().enumerate().step_by(7) {
                // Only this group changes, so that the row's sum is its own, to the bit.
                let mut new_here = old.clone();
                let here = i * group..len.min((i + 1) * group);
                new_here[here.clone()].copy_from_slice(&new[here]);
                let mut sum = 0.0;
                add_change(&new_here, &old, &mut sum);
                assert_eq!(sum.to_bits(), expected.to_bits(), "{len} {i}");
            }
        }
    }

    #[test]
    fn groups_of_four_columns_in_single_precision_of_two_in_double() {
        a_group_is_fused_and_rows_are_its_sums::<f32>(4);
        a_group_is_fused_and_rows_are_its_sums::<f64>(2);
    }

    #[test]
    fn a_row_in_parts_has_the_sum_of_the_row() {
        let len = 5 * SEGMENT + 333;
        let (new, old) = (values::<f32>(len, 0.7), values::<f32>(len, 1.3));
        let mut whole = 0.0;
        add_change(&new, &old, &mut whole);
        for segments in [1, 2, 3] {
            let mut sum = 0.0;
            let parts = new.chunks(segments * SEGMENT);
            for (new, old) in parts.zip(old.chunks(segments * SEGMENT)) {
                add_change(new, old, &mut sum);
            }
            assert_eq!(sum.to_bits(), whole.to_bits());
        }
    }
}
