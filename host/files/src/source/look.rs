//! A look at numbers as soon as they have been read, while they are in the processor's cache.

use rayon::prelude::*;

/// Sees the numbers that follow, and may change them.
pub type OfSome<'l, T> = Box<dyn FnMut(&mut [T]) + 'l>;

/// Sees numbers that are read, and may change them; several threads read.
pub trait Look<T>: Sync {
    /// Sees those from number `first` of all that are read on, a few at each call.
    fn at(&self, first: usize) -> OfSome<'_, T>;
}

/// The same look at numbers of which the first is number `first` of others.
pub struct LookFrom<'l, T> {
    /// Number of the first.
    pub first: usize,
    /// The look at all.
    pub look: &'l dyn Look<T>,
}

impl<T> Look<T> for LookFrom<'_, T> {
    fn at(&self, first: usize) -> OfSome<'_, T> {
        self.look.at(self.first + first)
    }
}

/// Looks at numbers that have been read, of which the first is number `first` of all, by several
/// threads: `lines` of equal length.
pub(super) fn look_at_lines<T: Send>(
    look: &dyn Look<T>,
    first: usize,
    lines: usize,
    numbers: &mut [T],
) {
    let line = (numbers.len() / lines.max(1)).max(1);
    let each = numbers.par_chunks_mut(line).enumerate();
    each.for_each(|(number, numbers)| look.at(first + number * line)(numbers));
}
