//! Cyclic shifts of frames and masks.

use crate::data::Mask;
use ndarray::{ArrayViewMut, Axis, Dimension};

/// Shifts the last two axes cyclically by `offset`.
pub(super) fn roll<T: Clone, D: Dimension>(mut array: ArrayViewMut<'_, T, D>, offset: [isize; 2]) {
    let first = array.ndim().saturating_sub(2);
    for (axis, by) in offset.into_iter().enumerate() {
        if by == 0 {
            continue;
        }
        for mut line in array.lanes_mut(Axis(first + axis)) {
            let mut values = line.to_vec();
            if let Ok(length) = isize::try_from(values.len())
                && length > 0
            {
                values.rotate_right(by.rem_euclid(length) as usize);
            }
            line.iter_mut()
                .zip(values)
                .for_each(|(to, from)| *to = from);
        }
    }
}

/// Shifts a mask like frames.
pub(super) fn roll_mask(mask: &mut Mask, offset: [isize; 2]) {
    match mask {
        Mask::Shared(m) => roll(m.view_mut(), offset),
        Mask::PerFrame(m) => roll(m.view_mut(), offset),
    }
}
