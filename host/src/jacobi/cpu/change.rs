//! How much a sweep changed a row: Σ(new − old)², in an order that depends on columns alone.
//!
//! Groups of 16 bytes (four columns in single precision, two in double) are squared and summed in
//! the field's precision by fused multiply-adds, as the kernels do. The groups' sums are widened
//! and added in double precision: sixteen running sums per segment of columns, then the tree over
//! them, then the segments from left to right.

use crate::jacobi::Real;

/// Columns of a segment. Tiles begin at multiples of it.
pub(super) const SEGMENT: usize = 512;

/// Running sums of a segment: two registers of AVX-512, four of AVX.
const SUMS: usize = 16;

/// Bytes of a group.
const GROUP_BYTES: usize = 16;

/// Columns that one step adds to the running sums, in single precision; half of it in double.
const MOST_COLUMNS: usize = SUMS * GROUP_BYTES / size_of::<f32>();

/// Adds Σ(new − old)² of a tile's part of a row to `sum`. The part begins at a multiple of
/// [`SEGMENT`]; cells that do not count are the same in both.
#[inline(always)]
pub(super) fn add_change<T: Real>(new: &[T], old: &[T], sum: &mut f64) {
    for (new, old) in new.chunks(SEGMENT).zip(old.chunks(SEGMENT)) {
        *sum += segment(new, old);
    }
}

#[inline(always)]
fn segment<T: Real>(new: &[T], old: &[T]) -> f64 {
    let columns = SUMS * GROUP_BYTES / size_of::<T>();
    let mut sums = [0.0; SUMS];
    let (mut new, mut old) = (new.chunks_exact(columns), old.chunks_exact(columns));
    for (new, old) in new.by_ref().zip(old.by_ref()) {
        add_groups(new, old, &mut sums);
    }
    let (new, old) = (new.remainder(), old.remainder());
    if !new.is_empty() {
        let mut padded = [[T::zero(); MOST_COLUMNS]; 2];
        padded[0][..new.len()].copy_from_slice(new);
        padded[1][..old.len()].copy_from_slice(old);
        add_groups(&padded[0][..columns], &padded[1][..columns], &mut sums);
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

#[inline(always)]
fn add_groups<T: Real>(new: &[T], old: &[T], sums: &mut [f64; SUMS]) {
    let group = GROUP_BYTES / size_of::<T>();
    let (new, old) = (&new[..SUMS * group], &old[..SUMS * group]);
    for (i, sum) in sums.iter_mut().enumerate() {
        let change = |k: usize| new[group * i + k] - old[group * i + k];
        let mut squares = change(0) * change(0);
        for k in 1..group {
            squares = change(k).mul_add(change(k), squares);
        }
        *sum += squares.widened();
    }
}
