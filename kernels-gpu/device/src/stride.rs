//! Iteration over more work than there are threads.

/// Indices `first, first + step, …` below `len`.
///
/// Counts down the remainder instead of adding to an index, so that no length overflows.
#[derive(Debug, Clone)]
pub struct Stride<T> {
    len: T,
    remaining: T,
    step: T,
}

macro_rules! stride {
    ($t:ty) => {
        impl Stride<$t> {
            #[inline(always)]
            pub(crate) fn new(first: u64, step: u64, len: $t) -> Self {
                let clamp = |x: u64| <$t>::try_from(x).unwrap_or(<$t>::MAX);
                Self {
                    len,
                    remaining: len.saturating_sub(clamp(first)),
                    step: clamp(step),
                }
            }
        }

        impl Iterator for Stride<$t> {
            type Item = $t;

            #[inline(always)]
            fn next(&mut self) -> Option<$t> {
                if self.remaining == 0 {
                    return None;
                }
                let index = self.len - self.remaining;
                self.remaining = self.remaining.saturating_sub(self.step);
                Some(index)
            }
        }
    };
}

stride!(u32);
stride!(usize);
