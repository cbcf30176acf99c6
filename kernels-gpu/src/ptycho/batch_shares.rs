//! The shares of a batch: four parts of its frames that are summed apart, so that the sums do not depend on how many devices divide them.

use warpstride_device::prelude::*;

/// Shares of a batch.
pub const SHARES: usize = 4;

/// The places in a batch of `count` frames where its shares end.
#[inline(always)]
pub(super) unsafe fn ends_of(
    share_ends: *const [u32; SHARES],
    batch: u32,
    count: u32,
) -> [u32; SHARES] {
    let mut ends = *share_ends.add(batch as usize);
    for end in &mut ends {
        *end = (*end).min(count);
    }
    ends[SHARES - 1] = count;
    ends
}

/// The sums of shares s, one after the other: (s₀ + s₁) + (s₂ + s₃). Shares without frames add 0, which changes no bits.
pub(super) struct ShareSums {
    /// Sums of the present share.
    pub(super) numerator: Complex32,
    pub(super) weight: f32,
    share: u32,
    first: (Complex32, f32),
    second: (Complex32, f32),
}

impl ShareSums {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zero = (Complex32::ZERO, 0.0);
        Self {
            numerator: zero.0,
            weight: zero.1,
            share: 0,
            first: zero,
            second: zero,
        }
    }

    /// Ends the shares before `share`.
    #[inline(always)]
    pub(super) fn go_on_to(&mut self, share: u32) {
        while self.share < share {
            if self.share < 2 {
                self.first.0 += self.numerator;
                self.first.1 += self.weight;
            } else {
                self.second.0 += self.numerator;
                self.second.1 += self.weight;
            }
            (self.numerator, self.weight) = (Complex32::ZERO, 0.0);
            self.share += 1;
        }
    }

    #[inline(always)]
    pub(super) fn total(mut self) -> (Complex32, f32) {
        self.go_on_to(SHARES as u32);
        let mut sum = self.first.0;
        sum += self.second.0;
        (sum, self.first.1 + self.second.1)
    }
}
